//! Kernels whose bytes the checker could not compare before the run: each launch compares them as soon as both are known.
//!
//! The checker hands over pairs of bindings that nothing orders, or of which the second may not see what the first wrote, if they have bytes in
//! common. Bindings that depend on nothing but declared scalars and the iteration are compared before the launch begins; the others when a kernel
//! is dispatched, with all that was dispatched before in the same round of the loops around both.
//!
//! Where two have bytes in common, the graph as it is laid out decides: rounds of unrolled loops and copies that touch the same bytes bring kernels
//! into an order that the text does not say.

use super::binding::locate;
use super::code::When;
use super::shared::Shared;
use super::values::Values;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use wsp_core::tg::image::NONE;
use wsp_diag::Diagnostic;
use wsp_tg::plan::GraphPlan;
use wsp_tg::{EventOrder, OpenPair};

/// Answers on the order of nodes that are kept: of so many pairs of nodes.
const MOST_KEPT: usize = 1 << 24;

/// The pairs of a graph.
#[derive(Debug, Default)]
pub(crate) struct OpenPairs {
    pairs: Vec<OpenPair>,
    /// Of each kernel, as it runs, its pairs, and which end of them it is.
    of_kernel: Vec<Vec<(u32, usize)>>,
    /// Of each kernel, as it runs, the loops that run at run time around it.
    loops: Vec<Vec<u32>>,
    order: EventOrder,
    /// Of nodes for which it was asked.
    behind: Mutex<Behind>,
}

/// Addresses that kernels were bound to: first and one past the last, apart from each other.
type Addresses = BTreeMap<usize, usize>;

/// Which nodes come behind a node, by that and by guards of gangs that are on.
type Behind = BTreeMap<(u32, Vec<u32>), Vec<bool>>;

/// A graph, and the guards of members of gangs that are on in a launch of it.
type Running<'p> = (&'p GraphPlan, &'p [u32]);

/// What the two ends of a pair were bound to.
#[derive(Debug, Default)]
struct Met {
    /// Rounds of the loops around both that run at run time. They run one after another, so the last is enough.
    rounds: Vec<u32>,
    /// By node.
    ends: [BTreeMap<u32, Addresses>; 2],
}

/// What kernels of a launch were bound to so far: by pair, and by the numbers of unrolled loops around both.
#[derive(Debug, Default)]
pub(crate) struct Bindings(Mutex<BTreeMap<(u32, Vec<i64>), Met>>);

impl OpenPairs {
    /// Those of `pairs` that are of this graph, or of graphs that it is made of.
    pub(crate) fn new(plan: &GraphPlan, pairs: &[OpenPair]) -> OpenPairs {
        let is_here = |pair: &&OpenPair| {
            let defines =
                |kernel: u32| plan.defs.iter().any(|def| def.graph == pair.graph && def.instr == kernel);
            pair.ends.iter().all(|end| defines(end.kernel))
        };
        let pairs: Vec<OpenPair> = pairs.iter().filter(is_here).cloned().collect();
        if pairs.is_empty() {
            return OpenPairs::default();
        }
        let mut of_kernel = vec![Vec::new(); plan.kernels.len()];
        for (kernel, of) in plan.kernels.iter().zip(&mut of_kernel) {
            let instr = plan.defs[kernel.def as usize].instr;
            for (at, pair) in (0u32..).zip(&pairs) {
                let ends = pair.ends.iter().enumerate().filter(|(_, end)| end.kernel == instr);
                of.extend(ends.map(|(end, _)| (at, end)));
            }
        }
        let loops = plan.kernels.iter().map(|kernel| loops_around(plan, kernel.node)).collect();
        OpenPairs { pairs, of_kernel, loops, order: EventOrder::new(plan), behind: Mutex::default() }
    }

    /// Whether no kernel has to be compared.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

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

    /// What is to be said of the nodes of the two ends of a pair that have bytes in common.
    fn finding(&self, of: Running<'_>, pair: &OpenPair, nodes: [u32; 2]) -> Option<Diagnostic> {
        if !pair.is_race {
            return pair.unseen(0);
        }
        let [a, b] = nodes;
        let first = match (self.leads(of, a, b), self.leads(of, b, a)) {
            // Kernels of one dispatch are one node.
            _ if a == b => return Some(pair.race()),
            (false, false) => return Some(pair.race()),
            (is_first, _) => usize::from(!is_first),
        };
        let is_seen = pair.is_fenced || self.shows(of, nodes[first], nodes[1 - first]);
        if is_seen { None } else { pair.unseen(first) }
    }

    /// Whether a node is another one or comes behind it, in the same round of loops that run at run time.
    fn leads(&self, (plan, on): Running<'_>, from: u32, to: u32) -> bool {
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        if behind.len() * plan.records.nodes.len() > MOST_KEPT {
            behind.clear();
        }
        let behind = behind.entry((from, on.to_vec()));
        behind.or_insert_with(|| self.order.led_to_where(plan, from, on))[to as usize]
    }

    /// Whether a node comes behind another by an edge that makes visible what that, or a loop around it, wrote.
    fn shows(&self, of: Running<'_>, from: u32, to: u32) -> bool {
        let plan = of.0;
        let around = loops_around(plan, from).into_iter().map(|of| plan.records.loops[of as usize].node);
        std::iter::once(from).chain(around).any(|node| {
            let record = plan.records.nodes[node as usize];
            let edges = &plan.edges[record.first as usize..record.end as usize];
            let shown = plan.succs_of(node).iter().zip(edges).filter(|(_, kind)| kind.shows());
            shown.into_iter().any(|(&next, _)| self.leads(of, next, to))
        })
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

/// The loops that run at run time around a node.
pub(super) fn loops_around(plan: &GraphPlan, mut node: u32) -> Vec<u32> {
    let mut loops = Vec::new();
    let records = &plan.records;
    let around = |node: u32| {
        records.loops.iter().position(|of| (of.body.first..of.body.first + of.body.len).contains(&node))
    };
    while let Some(at) = around(node) {
        loops.push(at as u32);
        node = records.loops[at].node;
    }
    loops
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
