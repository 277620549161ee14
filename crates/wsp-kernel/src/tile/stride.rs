//! Where the next run of a kernel will load a tile, judged by the runs before it.

use crate::memory::MAX_INDICES;

/// Times in a row that a distance has to come back before it is given up only slowly.
const MOST_TRUST: u8 = 3;

/// From run to run, where a tile is loaded first: neighbouring tasks mostly differ by the same step.
///
/// As in the stride prefetchers of processors, a step that came back survives others in between: those from the last head of
/// one request to the first of the next.
#[derive(Clone, Copy, Default)]
pub(super) struct Stride {
    /// The first load of the last run that had one.
    first: Option<[u32; MAX_INDICES]>,
    /// From first load to first load, modulo 2³².
    step: [u32; MAX_INDICES],
    /// How often `step` came back, less how often it did not.
    trust: u8,
    /// Whether this run has loaded the tile.
    loaded: bool,
}

impl Stride {
    /// Another run begins.
    pub(super) fn begin(&mut self) {
        self.loaded = false;
    }

    /// The tile is loaded; only a run's first load counts.
    #[inline]
    pub(super) fn observe(&mut self, index: &[u32]) {
        if !self.loaded {
            self.loaded = true;
            self.learn(index);
        }
    }

    fn learn(&mut self, index: &[u32]) {
        let mut first = [0; MAX_INDICES];
        for (to, from) in first.iter_mut().zip(index) {
            *to = *from;
        }
        let Some(last) = self.first.replace(first) else { return };
        let mut step = first;
        for (to, from) in step.iter_mut().zip(last) {
            *to = to.wrapping_sub(from);
        }
        if step == self.step {
            self.trust = MOST_TRUST.min(self.trust + 1);
        } else if self.trust > 0 {
            self.trust -= 1;
        } else {
            self.step = step;
        }
    }

    /// Where the next run loads the tile first, if the step from run to run came back before.
    pub(super) fn next(&self) -> Option<[u32; MAX_INDICES]> {
        let mut next = self.first.filter(|_| self.trust > 0)?;
        for (to, step) in next.iter_mut().zip(self.step) {
            *to = to.wrapping_add(step);
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The foreseen begin of an index after each of several runs.
    fn foreseen(runs: &[[u32; 2]]) -> Vec<Option<[u32; 2]>> {
        let mut stride = Stride::default();
        let after = runs.iter().map(|first| {
            stride.begin();
            stride.observe(first);
            stride.observe(&[77, 77]);
            stride.next().map(|next| [next[0], next[1]])
        });
        after.collect()
    }

    #[test]
    fn a_step_is_believed_when_it_comes_back() {
        let seen = foreseen(&[[0, 0], [0, 1], [0, 2], [0, 3]]);
        assert_eq!(seen, [None, None, Some([0, 3]), Some([0, 4])]);
    }

    #[test]
    fn a_step_that_came_back_survives_another_one() {
        let seen = foreseen(&[[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]]);
        assert_eq!(seen[4..], [Some([1, 1]), Some([1, 2])]);
    }

    #[test]
    fn steps_back_are_steps() {
        assert_eq!(foreseen(&[[9, 5], [8, 5], [7, 5]])[2], Some([6, 5]));
    }

    #[test]
    fn places_without_a_step_foresee_nothing() {
        assert_eq!(foreseen(&[[5, 1], [2, 8], [9, 4], [1, 1], [3, 0]]), [None; 5]);
    }
}
