//! Kernels of one block, of which a worker takes several at a time.
//!
//! Of a node with one block there is nothing to share, so that it needs no [`Dispatch`](super::launch::Dispatch): it waits as its number, and a worker
//! that comes takes as many as last for about [`SPELL`], but no more than leave the other workers their part. They run one after another on the
//! cores of one block, and are brought back together: so the lock is taken once for all of them. Long kernels are taken one by one.

use super::cores::Cores;
use super::graph::{Iterations, KernelInfo};

/// Nanoseconds for which a worker takes kernels at once.
const SPELL: u64 = 4_000;
/// Most kernels that are taken at once.
const MOST: usize = 64;
/// Of a kernel that has not run yet.
const UNKNOWN: u64 = u64::MAX;

/// Kernels of one block that a worker takes.
pub(crate) struct Singles {
    pub(crate) nodes: Vec<u32>,
    pub(crate) cores: Cores,
    pub(crate) iterations: Iterations,
    /// Whether others wait, so that it matters how long these take.
    pub(crate) is_timed: bool,
}

/// What of them is brought back.
pub(crate) struct SinglesDone {
    /// Those that have run.
    pub(crate) nodes: Vec<u32>,
    pub(crate) cores: Cores,
    /// Nanoseconds that all took, if it matters.
    pub(crate) nanos: Option<u64>,
}

/// How long kernels of one block take, once that was measured: decides how many are taken at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spell {
    /// Nanoseconds of a kernel, those of the last worker that brought some back.
    each: u64,
}

impl Spell {
    pub(crate) const NEW: Spell = Spell { each: UNKNOWN };

    /// How many of `ready` kernels a worker takes, at least one.
    pub(crate) fn most(self, ready: usize, threads: u32) -> usize {
        let others = ready / (2 * threads.max(1) as usize);
        let in_time = usize::try_from(SPELL / self.each.max(1)).unwrap_or(MOST);
        others.min(in_time).clamp(1, MOST)
    }

    pub(crate) fn measured(&mut self, nanos: u64, kernels: usize) {
        if let Some(each) = nanos.checked_div(kernels as u64) {
            self.each = each;
        }
    }
}

/// Whether a kernel can be one of several that a worker takes, on cores that all its launch may use alike.
pub(crate) fn is_single(kernel: &KernelInfo) -> bool {
    kernel.blocks == 1 && kernel.persistent.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_takes_what_lasts_a_spell_and_leaves_others_their_part() {
        let mut spell = Spell::NEW;
        assert_eq!(spell.most(1_000, 1), 1, "how long a kernel takes is not known");
        spell.measured(1_000, 10);
        assert_eq!(spell.most(1_000, 1), 40, "of 100 ns each");
        assert_eq!(spell.most(20, 1), 10);
        assert_eq!(spell.most(20, 4), 2);
        assert_eq!(spell.most(3, 4), 1);
        spell.measured(0, 10);
        assert_eq!(spell.most(100_000, 2), MOST, "of no time that the clock can tell");
        spell.measured(50_000, 10);
        assert_eq!(spell.most(1_000, 1), 1, "of 5 us each");
        spell.measured(7, 0);
        assert_eq!(spell.most(1_000, 1), 1, "none of them has run");
    }
}
