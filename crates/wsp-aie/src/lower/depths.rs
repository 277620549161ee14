//! Fifos that are as deep as a design needs to go on: between cores first, then of the host to several cores.
//!
//! Upstream's lowering makes as many objects of a fifo as a core holds and one more, whatever number is declared; a list of depths, one for each end, it takes as it is. Lists
//! take memory and descriptors, so fifos have them where the design hangs without.

use super::deep::Deep;
use super::{Draft, Lowered};
use crate::device::Device;
use crate::run::foresee;

/// Depths that are tried.
const DEPTHS: [u32; 8] = [3, 4, 6, 8, 12, 16, 32, 64];

impl Draft<'_> {
    /// The design, or one whose fifos are deeper, where it hangs and that one does not.
    pub(super) fn alive(&mut self, lowered: Lowered, within: (Device, u32)) -> Lowered {
        let hangs = |at| matches!(foresee(&lowered.design, at), Some(Err(_)));
        if !(0..lowered.design.sequences.len()).any(hangs) {
            return lowered;
        }
        self.tiles.clone_from(&lowered.placed.tiles);
        for of_host in [false, true] {
            let streams = &self.parts[0].flows.streams;
            let most = streams.iter().map(|of| of.most(of_host)).max().unwrap_or(0);
            let shallow = DEPTHS.iter().filter(|deep| **deep < most).count();
            for objects in &DEPTHS[..DEPTHS.len().min(shallow + 1)] {
                self.deep = Deep { objects: *objects, of_host };
                if let Ok(deeper) = self.design(within)
                    && !crate::check(&deeper.design).iter().any(wsp_diag::Diagnostic::is_error)
                {
                    return deeper;
                }
            }
        }
        self.deep = Deep::default();
        lowered
    }
}
