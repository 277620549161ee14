//! What comes behind a node of a plan, in the loops that run round by round around it and outside of them.

use crate::plan::GraphPlan;
use wsp_core::tg::image::{LoopKind, NONE, NodeKind};
use wsp_core::tg::{IterNo, Scalar};

/// The levels of a plan: its own, and the bodies of loops that run round by round.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// Of each node the loop in whose body it stands, by place among the loops.
    around: Vec<Option<u32>>,
}

impl Levels {
    pub(super) fn new(plan: &GraphPlan) -> Levels {
        let mut around = vec![None; plan.records.nodes.len()];
        for (at, record) in (0..).zip(&plan.records.loops) {
            let body = record.body.first as usize..(record.body.first + record.body.len) as usize;
            around[body].fill(Some(at));
        }
        Levels { around }
    }

    /// The node of the loop in whose body a node stands.
    pub(super) fn parent(&self, plan: &GraphPlan, node: u32) -> Option<u32> {
        self.around[node as usize].map(|at| plan.records.loops[at as usize].node)
    }

    /// The outermost loop around a node, by place and variable, if it is one of a count.
    pub(super) fn turn(&self, plan: &GraphPlan, node: u32) -> Option<(u32, IterNo)> {
        let loop_of = |node: u32| self.around[node as usize];
        let around =
            std::iter::successors(loop_of(node), |at| loop_of(plan.records.loops[*at as usize].node));
        let at = around.last()?;
        Some((at, plan.loops[at as usize].iter?))
    }

    /// Whether a node runs in every launch, by what the plan says without values of scalars.
    pub(super) fn is_certain(&self, plan: &GraphPlan, node: u32) -> bool {
        let parent = |of: &u32| self.parent(plan, *of);
        std::iter::successors(Some(node), parent).all(|of| is_certain_in_level(plan, of))
    }

    /// Whether nodes come behind one. In the loops around that, also in the same round, as long as it runs in each, which `in_each` says of the
    /// node and then of each loop.
    pub(super) fn behind(&self, plan: &GraphPlan, node: u32, in_each: impl Fn(u32) -> bool) -> Vec<bool> {
        self.behind_by(plan, node, in_each, |_| true, |member, other| starts_with_gang(plan, member, other))
    }

    /// The same by ways whose first edge `may_begin`, by place among the edges; `starts` says whether a member of a gang starts with it where the node, or a
    /// loop around it, runs.
    pub(super) fn behind_by(
        &self,
        plan: &GraphPlan,
        node: u32,
        in_each: impl Fn(u32) -> bool,
        may_begin: impl Fn(u32) -> bool,
        starts: impl Fn(u32, u32) -> bool,
    ) -> Vec<bool> {
        let mut seen = vec![false; self.around.len()];
        let mut skipped = Vec::new();
        let mut add = |of: u32, next: u32, open: &mut Vec<u32>| {
            open.push(next);
            let with = if starts(next, of) { open } else { &mut skipped };
            with.extend_from_slice(plan.gang_of(next));
        };
        let (mut at, mut is_in_each) = (node, in_each(node));
        loop {
            let parent = self.parent(plan, at);
            if is_in_each || parent.is_none() {
                seen[at as usize] |= at == node;
                let mut from = Vec::new();
                let record = plan.records.nodes[at as usize];
                for edge in (record.first..record.end).filter(|edge| may_begin(*edge)) {
                    add(at, plan.records.succs[edge as usize], &mut from);
                }
                reach(&mut seen, from, |node, open| {
                    plan.succs_of(node).iter().for_each(|next| add(at, *next, open));
                });
            }
            let Some(parent) = parent else { break };
            is_in_each &= in_each(parent);
            at = parent;
        }
        skipped.into_iter().for_each(|node| seen[node as usize] = true);
        self.with_bodies(plan, seen)
    }

    /// With the bodies of the loops among some nodes.
    pub(super) fn with_bodies(&self, plan: &GraphPlan, mut seen: Vec<bool>) -> Vec<bool> {
        for node in 0..seen.len() as u32 {
            let mut around = std::iter::successors(Some(node), |of| self.parent(plan, *of));
            seen[node as usize] = around.any(|of| seen[of as usize]);
        }
        seen
    }
}

/// Whether a node runs in every round of the loop in whose body it stands, and has a round if it is a loop, by what the plan says.
pub(super) fn is_certain_in_level(plan: &GraphPlan, node: u32) -> bool {
    let record = plan.records.nodes[node as usize];
    let has_rounds = || {
        let of = &plan.records.loops[record.item as usize];
        let count = plan.conditions[of.condition as usize].value;
        of.kind == LoopKind::Count as u32 && matches!(count, Scalar::Const(count) if count > 0)
    };
    record.guard == NONE && (record.kind != NodeKind::Loop as u32 || has_rounds())
}

/// Adds nodes that some steps lead to from one of some nodes, and these.
pub(super) fn reach(seen: &mut [bool], from: Vec<u32>, mut next: impl FnMut(u32, &mut Vec<u32>)) {
    let mut open = from;
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut seen[node as usize], true) {
            next(node, &mut open);
        }
    }
}

/// Whether a member of a gang starts with it where another node runs. One that is skipped is complete without the others, so what comes behind it
/// does not come behind what they wait for.
pub(super) fn starts_with_gang(plan: &GraphPlan, member: u32, other: u32) -> bool {
    let [member, other] = [member, other].map(|node| plan.records.nodes[node as usize].guard);
    member == NONE || member == other
}
