//! The grammar of messages that hold numbers and names.

use core::fmt;

/// A number and what it counts, as a message says it: `1 row`, `2 rows`, `0 axes`.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'a, N> {
    number: N,
    one: &'a str,
}

/// So many of a thing; `one` is its name in the singular, or ends with it.
///
/// ```
/// use wsp_core::words::{a, by_count, counted};
/// let rows = 1_u32;
/// assert_eq!(format!("{} {} read", counted(rows, "row"), by_count(rows, "is", "are")), "1 row is read");
/// assert_eq!(counted(3_usize, "entry").to_string(), "3 entries");
/// assert_eq!(a("`AccTile`").to_string(), "an `AccTile`");
/// ```
pub fn counted<N>(number: N, one: &str) -> Counted<'_, N> {
    Counted { number, one }
}

/// A number that counts.
pub trait Count: fmt::Display {
    /// Whether it is 1, which alone takes the singular.
    fn is_one(&self) -> bool;
}

macro_rules! counts {
    ($($number:ty)*) => {
        $(impl Count for $number {
            fn is_one(&self) -> bool {
                *self == 1
            }
        })*
    };
}

counts!(u8 u16 u32 u64 u128 usize i32 i64 i128);

impl<N: Count> Count for &N {
    fn is_one(&self) -> bool {
        N::is_one(self)
    }
}

/// The word for one, or that for any other number.
pub fn by_count(number: impl Count, one: &'static str, more: &'static str) -> &'static str {
    if number.is_one() { one } else { more }
}

impl<N: Count> fmt::Display for Counted<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.number)?;
        if self.number.is_one() {
            return f.write_str(self.one);
        }
        let (stem, end) = plural(self.one);
        write!(f, "{stem}{end}")
    }
}

/// The plural of a noun in two parts.
fn plural(one: &str) -> (&str, &'static str) {
    let vowel_before_y = ["ay", "ey", "oy"].iter().any(|end| one.ends_with(end));
    for (irregular, cut, end) in [("axis", "is", "es"), ("index", "ex", "ices")] {
        if one.ends_with(irregular) {
            return (one.strip_suffix(cut).unwrap_or(one), end);
        }
    }
    match one.strip_suffix('y') {
        Some(stem) if !vowel_before_y => (stem, "ies"),
        _ if ["s", "x", "ch", "sh"].iter().any(|end| one.ends_with(end)) => (one, "es"),
        _ => (one, "s"),
    }
}

/// A name after the article that its sound asks for.
#[derive(Clone, Copy, Debug)]
pub struct WithArticle<'a>(&'a str);

/// `a tile`, `an axis`, "an `AccTile`", `an f32`, `a u32`: the name with its article.
pub fn a(name: &str) -> WithArticle<'_> {
    WithArticle(name)
}

impl fmt::Display for WithArticle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let article = if begins_with_vowel(self.0.trim_start_matches('`')) { "an" } else { "a" };
        write!(f, "{article} {}", self.0)
    }
}

/// Whether a name is spoken with a vowel first. A letter before a digit is spoken by its own name: `f32`, `i64`, `u8`.
fn begins_with_vowel(name: &str) -> bool {
    let mut bytes = name.bytes().map(|b| b.to_ascii_lowercase());
    let (first, second) = (bytes.next(), bytes.next());
    let vowels: &[u8] = if second.is_some_and(|b| b.is_ascii_digit()) { b"aefhilmnorsx8" } else { b"aeio8" };
    first.is_some_and(|b| vowels.contains(&b))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn a_number_decides_the_form_of_what_it_counts() {
        for (n, one, text) in [
            (1, "element", "1 element"),
            (0, "element", "0 elements"),
            (2, "axis", "2 axes"),
            (2, "index", "2 indices"),
            (2, "entry", "2 entries"),
            (2, "array", "2 arrays"),
            (2, "access", "2 accesses"),
            (2, "vector core", "2 vector cores"),
        ] {
            assert_eq!(counted(n, one).to_string(), text);
        }
        assert_eq!((by_count(1_u64, "has", "have"), by_count(0_u64, "has", "have")), ("has", "have"));
    }

    #[test]
    fn an_article_goes_by_sound() {
        for text in [
            "an `AccTile`",
            "an integer",
            "an f32",
            "an i64",
            "a u32",
            "a `uint32_t`",
            "a unit",
            "a `LeftTile`",
        ] {
            let name = text.split_once(' ').unwrap().1;
            assert_eq!(a(name).to_string(), text);
        }
    }
}
