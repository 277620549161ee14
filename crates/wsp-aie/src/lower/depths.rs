//! Fifos between cores that are as deep as a design needs to go on.
//!
//! Upstream's lowering makes as many objects of a fifo as a core holds and one more, whatever number is declared; a list of depths, one for each end, it takes as it is. Lists
//! take memory and descriptors, so fifos have them where the design hangs without.

use super::flow::{End, Stream};
use super::{Draft, Lowered};
use crate::device::Device;
use crate::run::foresee;

/// Depths that are tried.
const DEPTHS: [u32; 8] = [3, 4, 6, 8, 12, 16, 32, 64];

impl Draft<'_> {
    /// The design, or one whose fifos between cores are deeper, where it hangs and that one does not.
    pub(super) fn alive(&mut self, lowered: Lowered, within: (Device, u32)) -> Lowered {
        let hangs = |at| matches!(foresee(&lowered.design, at), Some(Err(_)));
        let streams = &self.parts[0].flows.streams;
        let most = streams.iter().filter(|of| of.is_between_cores()).map(|of| of.flying).max().unwrap_or(0);
        if !(0..lowered.design.sequences.len()).any(hangs) {
            return lowered;
        }
        self.tiles.clone_from(&lowered.placed.tiles);
        let shallow = DEPTHS.iter().filter(|deep| **deep < most).count();
        for deep in &DEPTHS[..DEPTHS.len().min(shallow + 1)] {
            self.deep = *deep;
            if let Ok(deeper) = self.design(within)
                && !crate::check(&deeper.design).iter().any(wsp_diag::Diagnostic::is_error)
            {
                return deeper;
            }
        }
        self.deep = 0;
        lowered
    }
}

impl Stream {
    fn is_between_cores(&self) -> bool {
        self.from != End::Host && !self.to.contains(&End::Host)
    }

    /// What a design declares: a number, or depths for each end, where fifos are to be so deep and more objects than that number gives are in flight.
    pub(super) fn depths(&self, deep: u32) -> Vec<u32> {
        let deep = deep.min(self.flying);
        match self.is_between_cores() && deep > self.held + 1 {
            true => vec![deep; self.to.len() + 1],
            false => vec![self.depth],
        }
    }

    /// Objects in memory at one end.
    pub(super) fn room(&self, deep: u32) -> u32 {
        self.depths(deep)[0]
    }
}
