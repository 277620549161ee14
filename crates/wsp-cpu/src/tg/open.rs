//! Kernels whose bytes the checker could not compare before the run: each launch compares them as soon as both are known.
//!
//! The checker hands over pairs of bindings that nothing orders, or of which the second may not see what the first wrote, if they have bytes in
//! common. Bindings that depend on nothing but declared scalars and the iteration are compared before the launch begins; the others when a kernel
//! is dispatched, with all that was dispatched before in the same round of the loops around both.
//!
//! Where two have bytes in common, the graph as it is laid out decides: rounds of unrolled loops and copies that touch the same bytes bring kernels
//! into an order that the text does not say.

use super::binding::locate;
use super::item::When;
use super::open_pairs::OpenPairs;
use super::shared::Shared;
use super::values::Values;
use std::sync::{Mutex, PoisonError};
use wsp_core::tg::image::NONE;
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedMap;
use wsp_tg::EventOrder;

/// Addresses that kernels were bound to: first and one past the last, apart from each other.
type Addresses = OrderedMap<usize, usize>;

/// What the two ends of a pair were bound to.
#[derive(Debug, Default)]
struct Met {
    /// Rounds of the loops around both that run at run time. They run one after another, so the last is enough.
    rounds: Vec<u32>,
    /// By node.
    ends: [OrderedMap<u32, Addresses>; 2],
}

/// What kernels of a launch were bound to so far: by pair, and by the numbers of unrolled loops around both.
#[derive(Debug, Default)]
pub(crate) struct Bindings(Mutex<OrderedMap<(u32, Vec<i64>), Met>>);

impl OpenPairs {
    /// Compares a kernel that is about to run with those before it.
    ///
    /// # Errors
    /// It has bytes in common with a kernel that nothing orders with it; or it cannot be bound.
    pub(crate) fn compare(
        &self,
        item: u32,
        values: &Values<'_>,
        bindings: &Bindings,
        shared: &Shared,
    ) -> Result<(), Box<Diagnostic>> {
        let Some(of) = self.of_kernel.get(item as usize).filter(|of| !of.is_empty()) else { return Ok(()) };
        let plan = &values.code.plan;
        let kernel = &plan.kernels[item as usize];
        for &(at, end) in of {
            let pair = &self.pairs[at as usize];
            let arg = pair.ends[end].arg;
            let Some(bind) = plan.binds_of(kernel).iter().find(|bind| bind.arg == arg) else { continue };
            let (tensor, bytes) = locate(item, bind, values, shared)?;
            let base = values.range(tensor, shared)?.ptr().addr();
            let (first, last) = (base + bytes.start as usize, base + bytes.end as usize);
            let fixed = plan.fixed_of(kernel.fixed).iter().filter(|(iter, _)| pair.iters.contains(iter));
            let key = (at, fixed.map(|(_, number)| *number).collect());
            let is_around = |of: &&u32| pair.loops.contains(&plan.loops[**of as usize].instr);
            let around = self.loops[item as usize].iter().filter(is_around);
            let round = |of: &u32| values.iterations.get(*of as usize).copied().unwrap_or(0);
            let rounds: Vec<u32> = around.map(round).collect();
            let mut all = bindings.0.lock().unwrap_or_else(PoisonError::into_inner);
            let met = all.entry(key).or_default();
            if met.rounds != rounds {
                *met = Met { rounds, ..Met::default() };
            }
            let meets = met.ends[1 - end].iter().filter_map(|(&other, addresses)| {
                let nodes = if end == 0 { [kernel.node, other] } else { [other, kernel.node] };
                Some((nodes, common(addresses, first, last)?))
            });
            let mut meets = meets.peekable();
            let on = match meets.peek() {
                Some(_) => EventOrder::guards_on(plan, |condition| values.value(condition).ok()),
                None => Vec::new(),
            };
            let meeting = meets.filter_map(|(nodes, (low, high))| {
                Some((self.finding((plan, &on), pair, nodes)?, low, high))
            });
            // An error counts more than a warning.
            let worst = meeting.max_by_key(|(found, ..)| found.is_error());
            insert(met.ends[end].entry(kernel.node).or_default(), first, last);
            drop(all);
            if let Some((found, low, high)) = worst {
                let name = &shared.table[tensor as usize].name;
                let found = found.note(format!(
                    "this launch binds them to bytes in common: {} to {} of `{name}`",
                    low - base,
                    high - base
                ));
                shared.found(values.facts().into_iter().fold(found, Diagnostic::note))?;
            }
        }
        Ok(())
    }

    /// Compares all kernels of a launch that surely run and whose bytes are known before it begins.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub(crate) fn compare_known(&self, values: &Values<'_>, shared: &Shared) -> Result<(), Box<Diagnostic>> {
        let (plan, bindings) = (&values.code.plan, Bindings::default());
        for (item, kernel) in (0u32..).zip(&plan.kernels) {
            let runs = plan.records.nodes[kernel.node as usize].guard == NONE
                && self.loops.get(item as usize).is_some_and(Vec::is_empty);
            if runs && values.code.whens[item as usize] != When::Dispatch {
                self.compare(item, values, &bindings, shared)?;
            }
        }
        Ok(())
    }
}

/// The last of the addresses that lie between two, as far as they do.
fn common(addresses: &Addresses, first: usize, last: usize) -> Option<(usize, usize)> {
    let (&start, &end) = addresses.range(..last).next_back()?;
    let (low, high) = (start.max(first), end.min(last));
    (low < high).then_some((low, high))
}

fn insert(addresses: &mut Addresses, mut first: usize, mut last: usize) {
    if first >= last {
        return;
    }
    while let Some((&start, &end)) = addresses.range(..=last).next_back().filter(|(_, end)| **end >= first) {
        (first, last) = (first.min(start), last.max(end));
        addresses.remove(&start);
    }
    addresses.insert(first, last);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_touch_become_one() {
        let mut all = Addresses::new();
        for (first, last) in [(10, 20), (30, 40), (20, 30), (50, 50), (5, 7), (0, 6)] {
            insert(&mut all, first, last);
        }
        assert_eq!(all.into_iter().collect::<Vec<_>>(), [(0, 7), (10, 40)]);
    }

    #[test]
    fn only_bytes_in_common_meet() {
        let all = Addresses::from([(10, 20), (30, 40)]);
        for (first, last, meets) in
            [(0, 10, None), (20, 30, None), (19, 21, Some((19, 20))), (0, 50, Some((30, 40))), (15, 15, None)]
        {
            assert_eq!(common(&all, first, last), meets, "{first} {last}");
        }
    }
}
