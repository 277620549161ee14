//! The batches that are measured.

use crate::args::SetName;

/// Tokens of each request of a set.
pub(crate) fn lengths(set: SetName) -> Vec<u32> {
    let text = match set {
        SetName::A => include_str!("../../testdata/decode_cases/set_a.txt"),
        SetName::B => include_str!("../../testdata/decode_cases/set_b.txt"),
        SetName::C => include_str!("../../testdata/decode_cases/set_c.txt"),
        SetName::D => include_str!("../../testdata/decode_cases/set_d.txt"),
        SetName::E => return vec![16; 8],
    };
    text.lines().map(|line| line.trim().parse().expect("the set should list whole numbers")).collect()
}

/// What a set is, in a few words.
pub(crate) fn describe(set: SetName) -> &'static str {
    match set {
        SetName::A => "16 requests of 4096 tokens",
        SetName::B => "64 ragged requests",
        SetName::C => "one request of 131072 tokens",
        SetName::D => "256 requests of 128 tokens",
        SetName::E => "8 requests of 16 tokens, with which every program runs at once",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_what_is_said_of_them() {
        assert_eq!(lengths(SetName::A), [4096; 16]);
        assert_eq!(lengths(SetName::B).len(), 64);
        assert_eq!(lengths(SetName::C), [131_072]);
        assert_eq!(lengths(SetName::D), [128; 256]);
        assert_eq!(lengths(SetName::E), [16; 8]);
    }
}
