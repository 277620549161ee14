//! From nodes and edges to the records of an image: levels in runs, successors in order, counts of edges.

use super::emit::Emit;
use crate::plan::{EdgeKind, GraphPlan};
use std::collections::HashSet;
use wsp_core::tg::image::{GangRecord, LevelRecord, NONE, NodeKind, NodeRecord};
use wsp_ordered::{Arrange, OrderedSet};

/// Finishes the graph.
pub(super) fn finish(mut emit: Emit<'_, '_>) -> GraphPlan {
    let places = places(&emit);
    let edges = edges(&emit, &places);
    let mut plan = std::mem::take(&mut emit.plan);
    plan.exprs = std::mem::take(&mut emit.pool.ops);
    levels(&mut plan, &emit);
    let gangs = gangs(&mut plan, &emit, &places);
    records(&mut plan, &emit, &places, &gangs);
    successors(&mut plan, edges);
    renumber(&mut plan, &places);
    plan.records.fingerprint = plan.records.image().fingerprint_of();
    if let Some(cycle) = cycle(&plan) {
        emit.faults.cycle(emit.unit.module, &plan, &cycle);
    }
    plan
}

/// Where each node goes: level by level, in the order in which they were added. Nodes of a batch go where the first of it is.
fn places(emit: &Emit<'_, '_>) -> Vec<u32> {
    let mut places = vec![0; emit.nodes.len()];
    let all = emit.levels.iter().flat_map(|level| level.nodes.iter());
    let own = all.filter(|&&node| emit.nodes[node as usize].merged == NONE);
    for (place, &node) in own.enumerate() {
        places[node as usize] = place as u32;
    }
    for (node, draft) in emit.nodes.iter().enumerate() {
        if draft.merged != NONE {
            places[node] = places[draft.merged as usize];
        }
    }
    places
}

/// All edges between places, by source and target, each once. A gate needs no edge to a node that has a predecessor behind the same gate.
fn edges(emit: &Emit<'_, '_>, places: &[u32]) -> Vec<(u32, u32, EdgeKind)> {
    let mut behind = vec![false; emit.nodes.len()];
    for &(from, to, _) in &emit.edges {
        let gate = emit.nodes[to as usize].gate;
        behind[to as usize] |= gate != NONE && (from == gate || emit.nodes[from as usize].gate == gate);
    }
    let gates = emit.nodes.iter().enumerate().filter(|(node, draft)| draft.gate != NONE && !behind[*node]);
    let gates = gates.map(|(node, draft)| (draft.gate, node as u32, draft.gate_kind));
    let all = emit.edges.iter().copied().chain(gates);
    let mut edges: Vec<_> =
        all.map(|(from, to, kind)| (places[from as usize], places[to as usize], kind)).collect();
    // Of several between two nodes one stays: one that makes something visible, if there is one.
    edges.sort_unstable_by_key(|&(from, to, kind)| (from, to, !kind.shows(), kind));
    edges.dedup_by_key(|(from, to, _)| (*from, *to));
    edges
}

fn levels(plan: &mut GraphPlan, emit: &Emit<'_, '_>) {
    let mut first = 0;
    for (at, level) in emit.levels.iter().enumerate() {
        let own = level.nodes.iter().filter(|&&node| emit.nodes[node as usize].merged == NONE);
        let len = own.count() as u32;
        let record = LevelRecord { first, len, ..LevelRecord::default() };
        match at {
            0 => plan.records.top = record,
            _ => plan.records.loops[at - 1].body = record,
        }
        first += len;
    }
}

/// Sorts gangs by level; gives the number of each.
fn gangs(plan: &mut GraphPlan, emit: &Emit<'_, '_>, places: &[u32]) -> Vec<u32> {
    let records = &mut plan.records;
    let level_of = |gang: &GangRecord| emit.nodes[records.members[gang.first as usize] as usize].level;
    let levels: Vec<u32> = records.gangs.iter().map(level_of).collect();
    let mut order: Vec<usize> = (0..levels.len()).collect();
    order.arrange_by_key(|&gang| levels[gang]);
    let mut numbers = vec![0; levels.len()];
    for (number, &gang) in order.iter().enumerate() {
        numbers[gang] = number as u32;
    }
    records.gangs = order.iter().map(|&gang| records.gangs[gang]).collect();
    records.members.iter_mut().for_each(|member| *member = places[*member as usize]);
    let mut first = 0;
    for at in 0..emit.levels.len() as u32 {
        let count = levels.iter().filter(|&&level| level == at).count() as u32;
        let record = match at {
            0 => &mut records.top,
            _ => &mut records.loops[at as usize - 1].body,
        };
        (record.first_gang, record.gangs) = (first, count);
        first += count;
    }
    numbers
}

fn records(plan: &mut GraphPlan, emit: &Emit<'_, '_>, places: &[u32], gangs: &[u32]) {
    let empty = NodeRecord { kind: 0, item: 0, guard: NONE, gang: NONE, first: 0, end: 0 };
    let own = emit.nodes.iter().filter(|draft| draft.merged == NONE).count();
    plan.records.nodes = vec![empty; own];
    for (node, draft) in emit.nodes.iter().enumerate().filter(|(_, draft)| draft.merged == NONE) {
        let gang = if draft.gang == NONE { NONE } else { gangs[draft.gang as usize] };
        let (kind, item, guard) = (draft.kind as u32, draft.item, draft.guard);
        plan.records.nodes[places[node] as usize] = NodeRecord { kind, item, guard, gang, ..empty };
    }
}

fn successors(plan: &mut GraphPlan, edges: Vec<(u32, u32, EdgeKind)>) {
    let records = &mut plan.records;
    records.needs = vec![0; records.nodes.len()];
    let mut at = 0;
    for (node, record) in records.nodes.iter_mut().enumerate() {
        record.first = at as u32;
        while edges.get(at).is_some_and(|edge| edge.0 == node as u32) {
            at += 1;
        }
        record.end = at as u32;
    }
    for &(_, to, kind) in &edges {
        records.needs[to as usize] += 1;
        records.succs.push(to);
        plan.edges.push(kind);
    }
}

/// Puts places where nodes were.
fn renumber(plan: &mut GraphPlan, places: &[u32]) {
    let place = |node: &mut u32| *node = places[*node as usize];
    plan.kernels.iter_mut().for_each(|item| place(&mut item.node));
    plan.copies.iter_mut().for_each(|item| place(&mut item.node));
    plan.frees.iter_mut().for_each(|item| place(&mut item.node));
    plan.notifies.iter_mut().for_each(|item| place(&mut item.node));
    plan.notify_waits.iter_mut().for_each(|item| place(&mut item.node));
    plan.event_waits.iter_mut().for_each(|item| place(&mut item.node));
    plan.signals.iter_mut().for_each(|item| place(&mut item.node));
    plan.checkpoints.iter_mut().for_each(|item| place(&mut item.node));
    plan.records.loops.iter_mut().for_each(|record| place(&mut record.node));
    if let Some(flows) = &mut plan.flows {
        flows.iter_mut().for_each(|flow| place(&mut flow.dst));
        flows.arrange();
        flows.dedup();
    }
    for (src, dst) in &mut plan.soft {
        place(src);
        place(dst);
    }
}

/// Nodes that wait for each other in a cycle, each for the one before it: by edges, and as members of gangs that may all run in one launch. A member that
/// is skipped waits for no other.
fn cycle(plan: &GraphPlan) -> Option<Vec<u32>> {
    let records = &plan.records;
    plan.cycle_where(|_| true)?;
    let guards: OrderedSet<u32> =
        records.members.iter().map(|member| records.nodes[*member as usize].guard).chain([NONE]).collect();
    guards.into_iter().find_map(|on| {
        let parent = |guard: &u32| Some(records.guards.get(*guard as usize)?.parent);
        let around: Vec<u32> = std::iter::successors(Some(on), parent).collect();
        plan.cycle_where(|guard| guard == NONE || around.contains(&guard))
    })
}

impl GraphPlan {
    /// Nodes that wait for each other in a cycle, each for the one before it, where members of gangs run whose guard `runs`.
    pub(crate) fn cycle_where(&self, runs: impl Fn(u32) -> bool) -> Option<Vec<u32>> {
        let records = &self.records;
        // Members that run are complete when every member is ready.
        let mut missing: Vec<u32> = records.gangs.iter().map(|gang| gang.len).collect();
        let mut open = records.needs.clone();
        let mut ready: Vec<u32> = (0..open.len() as u32).filter(|&node| open[node as usize] == 0).collect();
        let mut done = vec![false; open.len()];
        while let Some(node) = ready.pop() {
            let NodeRecord { gang, guard, .. } = records.nodes[node as usize];
            let mut complete = if gang == NONE || !runs(guard) { vec![node] } else { Vec::new() };
            if gang != NONE {
                missing[gang as usize] -= 1;
                let started = self.gang_of(node).iter().filter(|_| missing[gang as usize] == 0);
                complete.extend(started.filter(|of| runs(records.nodes[**of as usize].guard)));
            }
            for node in complete {
                done[node as usize] = true;
                for &to in self.succs_of(node) {
                    open[to as usize] -= 1;
                    if open[to as usize] == 0 {
                        ready.push(to);
                    }
                }
            }
        }
        let mut before = vec![NONE; open.len()];
        for node in (0..open.len() as u32).filter(|&node| !done[node as usize]) {
            self.succs_of(node).iter().for_each(|&to| before[to as usize] = node);
        }
        for node in (0..open.len() as u32).filter(|&node| !done[node as usize] && open[node as usize] == 0) {
            let late = self.gang_of(node).iter().find(|other| open[**other as usize] > 0);
            before[node as usize] = late.copied().unwrap_or(NONE);
        }
        let mut node = done.iter().position(|done| !done)? as u32;
        let mut seen = HashSet::new();
        while seen.insert(node) {
            node = before[node as usize];
        }
        let mut cycle = vec![node];
        let mut at = before[node as usize];
        while at != node {
            cycle.push(at);
            at = before[at as usize];
        }
        cycle.reverse();
        Some(cycle)
    }

    /// The successors of a node.
    pub fn succs_of(&self, node: u32) -> &[u32] {
        let record = self.records.nodes[node as usize];
        &self.records.succs[record.first as usize..record.end as usize]
    }

    /// The members of the gang of a node, itself among them; none if it is in no gang. They start together, so each starts behind all that one of them
    /// does.
    pub fn gang_of(&self, node: u32) -> &[u32] {
        let records = &self.records;
        let gang = records.gangs.get(records.nodes[node as usize].gang as usize);
        gang.map_or(&[], |gang| &records.members[gang.first as usize..(gang.first + gang.len) as usize])
    }

    /// What kind of node it is.
    pub fn kind_of(&self, node: u32) -> NodeKind {
        NodeKind::from_code(self.records.nodes[node as usize].kind).unwrap_or(NodeKind::Join)
    }

    /// The instruction that a node comes from, if it comes from one.
    pub fn instr_of(&self, node: u32) -> Option<u32> {
        let item = self.records.nodes[node as usize].item as usize;
        match self.kind_of(node) {
            NodeKind::Kernel => {
                let kernel = self.kernels.get(item)?;
                Some(self.defs.get(kernel.def as usize)?.instr)
            }
            NodeKind::Copy => Some(self.copies.get(item)?.instr),
            NodeKind::Free => Some(self.frees.get(item)?.instr),
            NodeKind::Notify => Some(self.notifies.get(item)?.instr),
            NodeKind::WaitNotify => Some(self.notify_waits.get(item)?.instr),
            NodeKind::Checkpoint => Some(self.checkpoints.get(item)?.instr),
            NodeKind::Decide | NodeKind::Break => {
                let decision = self.records.decisions.get(item)?;
                Some(self.conditions.get(decision.condition as usize)?.instr)
            }
            NodeKind::Loop | NodeKind::LoopEnd => Some(self.loops.get(item)?.instr),
            NodeKind::WaitEvent | NodeKind::Signal | NodeKind::Join => None,
        }
    }

    /// What a node is called in messages.
    pub fn node_name(&self, node: u32) -> String {
        let item = self.records.nodes[node as usize].item;
        let at = self.instr_of(node).unwrap_or_default();
        match self.kind_of(node) {
            NodeKind::Kernel => self.kernel_name(item),
            NodeKind::Copy => format!("copy.{}", self.copies[item as usize].copy),
            NodeKind::Free => format!("the release of instruction {at}"),
            NodeKind::Notify => format!("the notification of instruction {at}"),
            NodeKind::WaitNotify => format!("the wait for a notification of instruction {at}"),
            NodeKind::WaitEvent => format!("event {}", self.event_waits[item as usize].event.0),
            NodeKind::Checkpoint => format!("the checkpoint of instruction {at}"),
            NodeKind::Signal => format!("event {}", self.signals[item as usize].event.0),
            NodeKind::Join => "a barrier or event".to_owned(),
            NodeKind::Decide => format!("the CF_IF of instruction {at}"),
            NodeKind::Break => format!("the CF_BREAK of instruction {at}"),
            NodeKind::Loop | NodeKind::LoopEnd => format!("the loop of instruction {at}"),
        }
    }
}
