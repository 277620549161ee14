//! What looking for launches in no order may cost.

/// Steps after which launches are not compared any further.
pub(super) const MOST_STEPS: usize = 40_000_000;
/// What it costs of them to keep something.
pub(super) const STEPS_TO_KEEP: usize = 64;

/// Steps that are left.
pub(in super::super) struct Steps(usize);

impl Steps {
    pub(in super::super) fn new(most: usize) -> Steps {
        Steps(most)
    }

    /// Takes steps; `false` if there are too few, and then none are left.
    pub(in super::super) fn spend(&mut self, steps: usize) -> bool {
        self.0 = self.0.saturating_sub(steps);
        self.0 > 0
    }

    pub(in super::super) fn are_over(&self) -> bool {
        self.0 == 0
    }
}
