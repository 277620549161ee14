//! What is done to every fuzz input of task graphs: the readers of both forms take it, and what they take goes through the
//! verifier, through the other form and back.
//!
//! An input is bytes and nothing else, so that a stored one is replayed by its bytes alone. Binary inputs have their checksum put
//! right first, since no damage would come further otherwise; text is whatever is UTF-8.

use crate::choices::Choices;
use std::collections::BTreeSet;
use wsp_core::tg::crc::crc32_without;
use wsp_core::tg::read::{CHECKSUM_OFFSET, Ptog, ReadError};
use wsp_core::tg::wire::{MAGIC, VERSION};
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::tg::{TgModule, verify};
use wsp_isa::tg::binary::{decode, encode};
use wsp_isa::tg::text::{parse, print};

/// What became of an input: names of outcomes, codes of diagnostics, and instructions with how far they came.
pub(crate) type Features = BTreeSet<u32>;

/// How much is done with an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    /// Everything.
    Full,
    /// The ways through the other form for one input in 64.
    Quick,
}

/// Kinds of features, in the upper half of each.
#[derive(Clone, Copy)]
enum Seen {
    Read = 1,
    Text = 2,
    Verified = 3,
    Binary = 4,
    Document = 5,
}

/// The binary reader takes the input.
pub(crate) const BINARY_TAKEN: u32 = 1;
/// The reader of text takes the input.
pub(crate) const TEXT_TAKEN: u32 = 2;
/// The verifier finds no error in the input.
pub(crate) const VALID: u32 = 3;

fn feature(seen: Seen, detail: u32) -> u32 {
    (seen as u32) << 16 | detail & 0xffff
}

/// The feature of an instruction in a text that was taken.
#[allow(dead_code, reason = "the test asks for it, the example does not")]
pub(crate) fn read_as_text(op: wsp_core::tg::Op) -> u32 {
    feature(Seen::Text, op as u32)
}

/// The feature of an instruction in a binary unit that was taken.
#[allow(dead_code, reason = "the test asks for it, the example does not")]
pub(crate) fn read_as_bytes(op: wsp_core::tg::Op) -> u32 {
    feature(Seen::Binary, op as u32)
}

/// Puts an input through everything. Panics when something is wrong.
pub(crate) fn exercise(input: &[u8], effort: Effort) -> Features {
    let mut features = Features::new();
    let far = effort == Effort::Full || wsp_core::tg::crc::crc32(input).is_multiple_of(64);
    if input.get(..4) == Some(&MAGIC.to_le_bytes()) {
        binary(input, far, &mut features);
    } else if let Ok(text) = std::str::from_utf8(input) {
        written(text, far, &mut features);
    } else {
        let error = Ptog::read(input).expect_err("a unit begins with its magic number");
        assert!(!error.to_string().is_empty());
    }
    features
}

/// Bytes that may be a unit.
fn binary(input: &[u8], far: bool, features: &mut Features) {
    let found = Ptog::read(input);
    let decoded = decode("input", input);
    assert!(found.is_ok() || decoded.is_err(), "what cannot be read is not decoded");
    match &found {
        Err(error) => {
            assert!(!error.to_string().is_empty());
            features.insert(feature(Seen::Read, fault(error)));
        }
        Ok(unit) => assert_eq!(unit.instrs().len(), unit.instrs().count()),
    }
    let Ok(unit) = decoded else { return };
    features.insert(BINARY_TAKEN);
    let version = found.map_or(0, |unit| unit.version);
    let seen = if version == 1 { Seen::Document } else { Seen::Binary };
    for instr in &unit.instrs {
        features.insert(feature(seen, instr.op() as u32));
    }
    let errors = rules(&unit, features);
    if far {
        let again = encode(&unit).expect("what was read can be written, or has too large a partition");
        assert!(decode("again", &again).is_ok_and(|again| again == unit), "the unit changes on the way");
        let text = print(&unit);
        let mut sources = SourceMap::default();
        let (module, found) = parse("printed", &text, &mut sources);
        assert!(errors || module.is_some(), "what was printed is not read:\n{text}\n{found:?}");
    }
}

/// The verifier, with the codes of what it finds; whether there is an error among them.
fn rules(unit: &TgModule, features: &mut Features) -> bool {
    let found = verify(unit);
    for diagnostic in &found {
        features.insert(feature(Seen::Verified, u32::from(diagnostic.code.0)));
    }
    let errors = found.iter().any(Diagnostic::is_error);
    if !errors {
        features.insert(VALID);
    }
    errors
}

/// Text that may be a unit.
fn written(text: &str, far: bool, features: &mut Features) {
    let mut sources = SourceMap::default();
    let (unit, found) = parse("input", text, &mut sources);
    assert_eq!(unit.is_none(), found.iter().any(Diagnostic::is_error), "no unit means an error");
    for diagnostic in &found {
        features.insert(feature(Seen::Text, u32::from(diagnostic.code.0)));
    }
    let Some(unit) = unit else { return };
    features.insert(TEXT_TAKEN);
    for instr in &unit.instrs {
        features.insert(feature(Seen::Text, instr.op() as u32));
    }
    let errors = rules(&unit, features);
    if far {
        let rendered = wsp_diag::render_all(&found, &sources, false);
        assert!(found.is_empty() || !rendered.is_empty());
        let bytes = encode(&unit);
        let again = bytes.map(|bytes| decode("again", &bytes));
        assert!(again.is_err() || again == Ok(Ok(unit.clone())), "the unit changes on the way through bytes");
        let printed = print(&unit);
        match parse("printed", &printed, &mut sources) {
            (Some(second), _) => {
                assert_eq!(print(&second), printed, "the printed text is not printed the same");
                assert_eq!(second.instrs.len(), unit.instrs.len());
            }
            (None, found) => assert!(errors, "not read again:\n{printed}\n{found:?}"),
        }
    }
}

/// A number for each kind of fault, so that inputs that find another one are kept.
fn fault(error: &ReadError) -> u32 {
    let text = format!("{error:?}");
    let kind = text.split([' ', '(']).next().unwrap_or("");
    let detail = match *error {
        ReadError::Row { section, .. } => format!("{section:?}"),
        ReadError::Directory { fault, .. } => format!("{fault:?}").chars().take(8).collect(),
        _ => String::new(),
    };
    wsp_core::tg::crc::crc32(format!("{kind}{detail}").as_bytes())
}

/// Puts the right checksum into bytes that are long enough to have one.
pub(crate) fn seal(input: &mut [u8]) {
    if input.len() >= CHECKSUM_OFFSET + 4 && input.get(4) == Some(&(VERSION as u8)) {
        let checksum = crc32_without(input, CHECKSUM_OFFSET);
        if let Some(place) = input.get_mut(CHECKSUM_OFFSET..CHECKSUM_OFFSET + 4) {
            place.copy_from_slice(&checksum.to_le_bytes());
        }
    }
}

/// Numbers that lie at limits.
const EDGES: [u32; 14] =
    [0, 1, 2, 3, 4, 5, 16, 255, 65_535, 65_536, u32::MAX, 0x7FFF_FFFF, 0x8000_0000, 0x0001_0001];

/// Changes one or two places of a unit in bytes: numbers and bytes of rows, rows put over others; now and then anything.
pub(crate) fn mutate_binary(input: &mut Vec<u8>, choices: &mut Choices<'_>) {
    if choices.once_in(8) || input.len() < 64 {
        return crate::random_programs::mutate(input, choices);
    }
    let rows = u32::from_le_bytes([input[36], input[37], input[38], input[39]]) as usize;
    let begin = if u32::from(input[4]) == VERSION {
        (48 + rows.min(input.len()) * 24).min(input.len() - 8)
    } else {
        20
    };
    let words = (input.len() - begin) / 4;
    for _ in 0..=choices.below(4) / 2 {
        let at = begin + 4 * choices.below(words);
        match choices.below(4) {
            0 | 1 => {
                let value = choices.pick(&EDGES).copied().unwrap_or(0);
                input[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
            2 => input[at + choices.below(4)] = choices.byte(),
            _ => {
                let from = begin + 4 * choices.below(words);
                input.copy_within(from..from + 4, at);
            }
        }
    }
}

/// Pieces that texts are made of.
const PIECES: [&str; 40] = [
    "(",
    ")",
    ",",
    "{",
    "}",
    "[",
    "]",
    "=",
    "==",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&&",
    "||",
    "!",
    "\n",
    ";",
    ":",
    "\"",
    "//",
    "/*",
    "*/",
    "0",
    "1",
    "4294967296",
    "18446744073709551616",
    "0x",
    "9_9",
    "copy.0",
    "iteration",
    "load(",
    "min(",
    "extern ",
    "const ",
    "arg ",
    "DATA",
    "default",
    "é",
];

/// Changes up to three places of a text: pieces of it, lines, instructions of the table, pieces of another text.
pub(crate) fn mutate_text(text: &mut String, other: &str, choices: &mut Choices<'_>) {
    for _ in 0..=choices.below(6) / 2 {
        let (from, to) = (place(text, choices), place(text, choices));
        let (from, to) = (from.min(to), from.max(to));
        match choices.below(7) {
            0 => text.replace_range(from..near(text, from, choices), ""),
            1 => text.insert_str(from, choices.pick(&PIECES).copied().unwrap_or("")),
            2 => {
                let info = choices.pick(wsp_core::tg::OPS).copied().expect("there are instructions");
                text.insert_str(from, info.mnemonic);
            }
            3 => {
                let piece = text[from..near(text, from, choices)].to_owned();
                text.insert_str(to, &piece);
            }
            4 => {
                let start = place(other, choices);
                text.insert_str(from, &other[start..near(other, start, choices)]);
            }
            5 => {
                let piece = choices.pick(&PIECES).copied().unwrap_or("");
                text.replace_range(from..near(text, from, choices), piece);
            }
            _ => {
                let line = text[..from].rfind('\n').map_or(0, |at| at + 1);
                let end = text[from..].find('\n').map_or(text.len(), |at| from + at + 1);
                text.replace_range(line..end, "");
            }
        }
    }
}

/// A place in a text, between two characters.
fn place(text: &str, choices: &mut Choices<'_>) -> usize {
    let mut at = choices.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A place not far behind another.
fn near(text: &str, from: usize, choices: &mut Choices<'_>) -> usize {
    let mut at = (from + choices.below(24)).min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
