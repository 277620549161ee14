//! Damage.

use super::Choices;

/// Numbers that lie at limits of the format.
const EDGES: [u32; 12] =
    [0, 1, 2, 16, 255, 256, 65_535, 65_536, u32::MAX, 0x7FFF_FFFF, 0x8000_0000, 0x0001_0001];

/// Changes up to eight places of a program: bits, bytes, numbers, words copied, cut out or put in.
pub(crate) fn mutate(program: &mut Vec<u8>, choices: &mut Choices<'_>) {
    for _ in 0..=choices.below(8) {
        one(program, choices);
    }
}

fn one(program: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let words = program.len() / 8;
    match choices.below(8) {
        0 | 1 => {
            let (at, bit) = (choices.below(program.len()), choices.below(8));
            if let Some(byte) = program.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        2 | 3 => {
            let (at, value) = (choices.below(program.len()), choices.byte());
            if let Some(byte) = program.get_mut(at) {
                *byte = value;
            }
        }
        4 => {
            let (at, value) =
                (4 * choices.below(program.len() / 4), choices.pick(&EDGES).copied().unwrap_or(0));
            if let Some(place) = program.get_mut(at..at + 4) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
        5 => {
            let (from, to) = (8 * choices.below(words), 8 * choices.below(words));
            if from + 8 <= program.len() && to + 8 <= program.len() {
                program.copy_within(from..from + 8, to);
            }
        }
        6 => {
            let at = 8 * choices.below(words);
            if at + 8 <= program.len() {
                program.drain(at..at + 8);
            }
        }
        _ => {
            let (at, word) = (8 * choices.below(words), choices.wide().to_le_bytes());
            if at <= program.len() {
                program.splice(at..at, word);
            }
        }
    }
}
