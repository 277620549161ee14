//! For how long the cuts of a plan are kept while its requests grow.
//!
//! The cuts of a balanced split follow from all lengths, so with every token they would be others. A plan that is patched keeps
//! those that it was generated with: each last item grows, and its core with it, and the plan is generated anew when cores
//! have become uneven.

use super::Plan;
use crate::derived;
use crate::planner::launch_u32;
use wsp_core::AxisId;
use wsp_ir::{ArrayRef, Derivation, DerivedArray, MetaKind};
use wsp_plan::BalancedLine;
use wsp_plan::split::{Work, tokens_in_balance};

impl Plan {
    /// For how many tokens cuts are good, and orders by length stay; the plan's surroundings must be up to date.
    pub(super) fn kept_for(&self) -> u64 {
        let lines = self.lowered.stages.iter().filter_map(|stage| stage.schedule.balanced.as_ref());
        // A line that cannot be told from parameters, as tiles of other axes cannot, is cut anew every time.
        let cuts = lines.map(|line| self.line_kept_for(line).unwrap_or(0));
        let orders = self.lowered.derived.iter().filter(|array| array.kind == Derivation::LongestFirst);
        let orders = orders.map(|array| self.order_kept_for(array).unwrap_or(0));
        cuts.chain(orders).min().unwrap_or(u64::MAX)
    }

    fn line_kept_for(&self, line: &BalancedLine) -> Option<u64> {
        if !self.grows(line.lengths.into()) {
            return Some(u64::MAX);
        }
        let source = (line.lengths, line.last);
        let lengths = derived::elements(&self.lowered, &self.bound, source, &self.env).ok()?;
        let number = |expr| launch_u32(&self.lowered.module, &self.bound, expr).ok();
        let start = number(&line.start)? as usize;
        let end = start.checked_add(number(&line.count)? as usize)?;
        let lengths = lengths.get(start..end)?;
        let most = self.most(line.last);
        let work = Work { lengths, heads: number(&line.ranges)?, cores: self.env.max_blocks };
        // A window that is full goes on as it is.
        Some(tokens_in_balance(&work, line.align, |request| lengths[request as usize] < most))
    }

    /// Requests grow alike, so that their order stays, until one has as many elements as count.
    fn order_kept_for(&self, array: &DerivedArray) -> Option<u64> {
        let most = self.most(array.last);
        if most == u32::MAX || !self.grows(array.of.into()) {
            return Some(u64::MAX);
        }
        let source = (array.of, array.last);
        let lengths = derived::elements(&self.lowered, &self.bound, source, &self.env).ok()?;
        let longest = lengths.iter().filter(|length| **length < most).max();
        Some(longest.map_or(u64::MAX, |length| u64::from(most - length - 1)))
    }

    /// How many elements of a range count at most.
    fn most(&self, axis: Option<AxisId>) -> u32 {
        axis.map_or(u32::MAX, |axis| self.bound.last(axis))
    }

    /// Whether an array holds the lengths of the requests that grow.
    pub(super) fn grows(&self, array: ArrayRef) -> bool {
        match array {
            ArrayRef::Tensor(id) => self.following() == Some(id),
            ArrayRef::Meta(_, kind) => kind == MetaKind::Lengths,
            ArrayRef::Local(_) | ArrayRef::Derived(_) => false,
        }
    }
}
