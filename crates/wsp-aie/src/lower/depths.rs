//! Fifos that are as deep as a design needs to go on: between cores first, then of the host to several cores.
//!
//! Upstream's lowering makes as many objects of a fifo as a core holds and one more, whatever number is declared; a list of depths, one for each end, it takes as it is. Lists
//! take memory and descriptors, so fifos have them where the design hangs without.

use super::flow::{End, Stream};
use super::{Draft, Lowered};
use crate::device::Device;
use crate::run::foresee;

/// How deep fifos are to be that need it, 0 where none is known to; and whether those that the host fills for several cores are.
#[derive(Clone, Copy, Default)]
pub(super) struct Deep {
    objects: u32,
    of_host: bool,
}

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

impl Stream {
    /// The most objects that a deeper fifo has use for; 0 of one that does not become deeper.
    fn most(&self, of_host: bool) -> u32 {
        match (self.from == End::Host, self.to.contains(&End::Host)) {
            (false, false) => self.flying,
            // A core may need a box of it long before another one does.
            (true, false) if of_host && self.to.len() > 1 => self.boxes.len() as u32,
            _ => 0,
        }
    }

    /// What a design declares: a number, or depths for each end, where fifos are to be so deep and more objects than that number gives have use.
    pub(super) fn depths(&self, deep: Deep) -> Vec<u32> {
        let objects = deep.objects.min(self.most(deep.of_host));
        match objects > self.held + 1 {
            true => vec![objects; self.to.len() + 1],
            false => vec![self.depth],
        }
    }

    /// Objects in memory at one end.
    pub(super) fn room(&self, deep: Deep) -> u32 {
        self.depths(deep)[0]
    }
}
