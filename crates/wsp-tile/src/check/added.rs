//! Synchronisations beside those of a program, by the gap of a block where they stand: a program is analysed with them and not copied.

use crate::{LoopId, Node, Sync};

/// A block; blocks are numbered in the order of the text.
pub(crate) type BlockId = usize;

/// Synchronisations by where they stand: in a gap sets first, then waits, then barriers.
#[derive(Default)]
pub(crate) struct Added {
    /// By block and by the node behind the gap, sorted.
    gaps: Vec<Vec<Vec<Sync>>>,
    /// By loop: what is set before it, and waited for behind it.
    around: Vec<[Vec<Sync>; 2]>,
}

/// A gap of a block: before the node of this number, with the loops that are the nodes on its two sides.
#[derive(Clone, Copy)]
pub(crate) struct Gap {
    pub(crate) block: BlockId,
    pub(crate) node: usize,
    pub(crate) behind: Option<LoopId>,
    pub(crate) ahead: Option<LoopId>,
}

impl Added {
    /// Takes all out, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        let gaps = self.gaps.iter_mut().flatten();
        gaps.chain(self.around.iter_mut().flatten()).for_each(Vec::clear);
    }

    /// Puts one before a node of a block.
    pub(crate) fn insert(&mut self, block: BlockId, node: usize, sync: Sync) {
        put(entry(entry(&mut self.gaps, block), node), sync);
    }

    /// Puts a set before a loop and a wait behind it.
    pub(crate) fn insert_around(&mut self, of: LoopId, set: Sync, wait: Sync) {
        let [before, after] = entry(&mut self.around, of.index());
        put(before, set);
        put(after, wait);
    }

    /// Calls `f` on what stands in a gap, in order: sets, the waits of a loop behind, waits and barriers, the sets of a loop ahead.
    pub(crate) fn each(&self, gap: Gap, f: &mut dyn FnMut(Sync)) {
        let here =
            self.gaps.get(gap.block).and_then(|block| block.get(gap.node)).map_or(&[][..], Vec::as_slice);
        if here.is_empty() && gap.behind.is_none() && gap.ahead.is_none() {
            return;
        }
        let sets = here.iter().take_while(|sync| matches!(sync, Sync::Set(_))).count();
        let side = |of: Option<LoopId>, side: usize| {
            of.and_then(|of| self.around.get(of.index())).map_or(&[][..], |around| around[side].as_slice())
        };
        let parts = [&here[..sets], side(gap.behind, 1), &here[sets..], side(gap.ahead, 0)];
        for part in parts {
            part.iter().for_each(|sync| f(*sync));
        }
    }

    /// Calls `f` on all, in any order.
    pub(crate) fn all(&self, f: &mut dyn FnMut(Sync)) {
        let gaps = self.gaps.iter().flatten();
        gaps.chain(self.around.iter().flatten()).flatten().for_each(|sync| f(*sync));
    }
}

impl Node {
    /// The loop that it is.
    pub(crate) fn as_loop(&self) -> Option<LoopId> {
        if let Node::Loop(inner) = self { Some(inner.id) } else { None }
    }
}

fn entry<T: Default>(all: &mut Vec<T>, at: usize) -> &mut T {
    if all.len() <= at {
        all.resize_with(at + 1, T::default);
    }
    &mut all[at]
}

fn put(sorted: &mut Vec<Sync>, sync: Sync) {
    if let Err(at) = sorted.binary_search(&sync) {
        sorted.insert(at, sync);
    }
}
