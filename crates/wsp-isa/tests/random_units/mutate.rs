//! Damage to texts.

use super::Choices;

/// Pieces that mean something.
const PIECES: [&str; 30] = [
    "TG_BEGIN(G)",
    "TG_END(G)\n",
    "TG_KERNEL(",
    "MC_BIND(K, 0, {A, B}[i % 2])\n",
    "CF_IF(",
    "CF_LOOP(4, i)\n",
    "CF_ENDLOOP",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    "=",
    ";",
    "\n",
    "\"",
    "/*",
    "//",
    "extern ",
    "const N = ",
    "arg n: i64",
    "name kernel K = 7 in 3",
    "postfix(",
    "load(T, 8, u8)",
    "copy.0",
    "18446744073709551615",
    "-9223372036854775808",
    "é",
];

/// Changes up to eight places of a text: pieces put in, cut out or copied, characters replaced.
pub(crate) fn mutate_text(text: &mut String, choices: &mut Choices<'_>) {
    for _ in 0..=choices.below(8) {
        let at = place(text, choices);
        match choices.below(5) {
            0 | 1 => text.insert_str(at, choices.pick(&PIECES).copied().unwrap_or("")),
            2 => {
                let end = boundary(text, at + choices.below(40));
                text.replace_range(at..end, "");
            }
            3 => {
                let end = boundary(text, at + choices.below(60));
                let piece = text[at..end].to_owned();
                let to = place(text, choices);
                text.insert_str(to, &piece);
            }
            _ => {
                let end = boundary(text, at + 1);
                let byte = char::from(choices.byte() & 0x7F);
                text.replace_range(at..end, byte.encode_utf8(&mut [0; 4]));
            }
        }
    }
}

fn place(text: &str, choices: &mut Choices<'_>) -> usize {
    let wide = choices.below(65_536);
    boundary(text, wide.checked_rem(text.len() + 1).unwrap_or(0))
}

/// The first place between characters from here on.
fn boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}
