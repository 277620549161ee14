//! An instruction as the verifier reads it.

use super::super::{OpInfo, Word};
use super::rule::Place;

/// An instruction with its extension words.
#[derive(Clone, Copy)]
pub(super) struct Instruction<'p> {
    pub(super) word: &'p Word,
    pub(super) info: &'static OpInfo,
    /// Its first word.
    pub(super) at: u32,
    pub(super) exts: &'p [Word],
}

impl Instruction<'_> {
    pub(super) fn place(&self) -> Place {
        Place::Word(self.at)
    }

    /// The place of an extension word.
    pub(super) fn ext_place(&self, index: usize) -> Place {
        Place::Word(self.at.saturating_add(1).saturating_add(index as u32))
    }

    /// The word behind it.
    pub(super) fn end(&self) -> u32 {
        self.at.saturating_add(1).saturating_add(self.exts.len() as u32)
    }
}
