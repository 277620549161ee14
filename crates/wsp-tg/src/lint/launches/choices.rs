//! Decisions that are made one way, and then the other.

use super::Steps;
use super::conditions::{Condition, Forms, Known};

/// Ways that are followed one after the other. If there are more, as many are drawn of all, so that each decision goes both ways.
pub(super) const MOST_WAYS: u64 = 64;
/// What it costs of the steps of all ways to decide a condition.
const STEPS_TO_DECIDE: usize = 16;

impl Known {
    /// Whether conditions may go so, all of them.
    pub(super) fn allows(&self, forms: &Forms, conditions: &[(Condition, bool)], steps: &mut Steps) -> bool {
        let mut choices = Choices::default();
        for _ in 0..MOST_WAYS {
            let (mut known, mut choose) = (self.clone(), || choices.take());
            let goes = |(condition, goes): &(Condition, bool)| {
                steps.spend(STEPS_TO_DECIDE) && known.decide(forms, condition, &mut choose) == *goes
            };
            let is_allowed = conditions.iter().all(goes);
            if is_allowed || !choices.advance() {
                return is_allowed;
            }
        }
        true
    }
}

/// Decisions on a way, and those that are still to be made the other way.
#[derive(Default)]
pub(super) struct Choices {
    taken: Vec<bool>,
    next: usize,
    /// Where decisions are drawn, the last number drawn.
    drawn: Option<u64>,
}

impl Choices {
    /// Decisions that are drawn, from this number on.
    pub(super) fn drawn(from: u64) -> Choices {
        Choices { drawn: Some(from), ..Choices::default() }
    }

    pub(super) fn take(&mut self) -> bool {
        if let Some(number) = &mut self.drawn {
            *number = number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            return *number >> 63 == 1;
        }
        if self.next == self.taken.len() {
            self.taken.push(false);
        }
        self.next += 1;
        self.taken[self.next - 1]
    }

    /// Goes to the next way; `false` if there is none.
    pub(super) fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some(last) = self.taken.pop() {
            if !last {
                self.taken.push(true);
                return true;
            }
        }
        false
    }
}
