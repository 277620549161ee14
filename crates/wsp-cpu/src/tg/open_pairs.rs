//! Pairs of kernels of a graph whose bytes the checker could not compare before the run, and the order of their nodes.

use std::sync::{Mutex, PoisonError};
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedMap;
use wsp_tg::plan::GraphPlan;
use wsp_tg::{EventOrder, OpenPair};

/// Answers on the order of nodes that are kept: of so many pairs of nodes.
const MOST_KEPT: usize = 1 << 24;

/// The pairs of a graph.
#[derive(Debug, Default)]
pub(crate) struct OpenPairs {
    pub(super) pairs: Vec<OpenPair>,
    /// Of each kernel, as it runs, its pairs, and which end of them it is.
    pub(super) of_kernel: Vec<Vec<(u32, usize)>>,
    /// Of each kernel, as it runs, the loops that run at run time around it.
    pub(super) loops: Vec<Vec<u32>>,
    order: EventOrder,
    /// Of nodes for which it was asked.
    behind: Mutex<Behind>,
}

/// Which nodes come behind a node, by that and by guards of gangs that are on.
type Behind = OrderedMap<(u32, Vec<u32>), Vec<bool>>;

/// A graph, and the guards of members of gangs that are on in a launch of it.
pub(super) type Running<'p> = (&'p GraphPlan, &'p [u32]);

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

    /// What is to be said of the nodes of the two ends of a pair that have bytes in common.
    pub(super) fn finding(&self, of: Running<'_>, pair: &OpenPair, nodes: [u32; 2]) -> Option<Diagnostic> {
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
