//! Orders that the program declares, in one copy of a body: edges, events, barriers, gangs.

use super::emit::Emit;
use super::source::{BarrierSource, EventSource, Source, TOP, WorkKind};
use crate::plan::{AffinityItem, EdgeKind, EventItem};
use wsp_core::tg::EventNo;
use wsp_core::tg::image::{GangRecord, NONE, NodeKind};
use wsp_ordered::OrderedMap;

/// Most hints that one `SOFT` edge becomes where loops are unrolled.
const MOST_HINTS: usize = 64;

impl Emit<'_, '_> {
    pub(super) fn orders(&mut self, source: &Source, scope: u32) {
        let orders = &source.orders[scope as usize];
        for edge in &orders.edges {
            let (src, dst) = (self.nodes_of([edge.src]), self.nodes_of([edge.dst]));
            self.connect(&src, &dst, edge.kind);
            self.flow(source, &[edge.src], &[edge.dst], edge.kind);
        }
        for &(src, dst) in &orders.soft {
            let (src, dst) = (self.nodes_of([src]), self.nodes_of([dst]));
            let pairs = src.iter().flat_map(|&a| dst.iter().map(move |&b| (a, b)));
            self.plan.soft.extend(pairs.take(MOST_HINTS));
        }
        for event in &orders.events {
            let src = self.nodes_of(event.signals.iter().copied());
            let dst = self.nodes_of(event.waits.iter().copied());
            self.connect(&src, &dst, EdgeKind::Event);
            self.flow(source, &event.signals, &event.waits, EdgeKind::Event);
        }
        self.barriers(source, scope, &orders.barriers);
        for gang in &orders.gangs {
            self.gang(source, &gang.members);
        }
        if scope == TOP {
            self.outside(source);
        }
    }

    fn nodes_of(&self, works: impl IntoIterator<Item = u32>) -> Vec<u32> {
        works.into_iter().flat_map(|work| self.cur[work as usize].iter().copied()).collect()
    }

    /// A point for each barrier, each behind the one before, so that no work has more than one edge to or from them.
    fn barriers(&mut self, source: &Source, scope: u32, barriers: &[BarrierSource]) {
        let all = source.scopes[scope as usize];
        let (mut done, mut last) = (all.first, None);
        for (at, barrier) in barriers.iter().enumerate() {
            let until = barriers.get(at + 1).map_or(all.end, |next| next.start);
            let before = self.ordered(source, done, barrier.end);
            let after = self.ordered(source, barrier.start, until);
            if (before.is_empty() && last.is_none()) || barrier.start >= all.end {
                continue;
            }
            let join = self.free_node(NodeKind::Join, 0);
            before.into_iter().chain(last).for_each(|node| self.edge(node, join, EdgeKind::Barrier));
            after.into_iter().for_each(|node| self.edge(join, node, EdgeKind::Barrier));
            self.barrier_flow(source, barrier.end, barrier.start..until);
            (done, last) = (barrier.end, Some(join));
        }
    }

    /// Nodes of those of these works that barriers order.
    fn ordered(&self, source: &Source, first: u32, end: u32) -> Vec<u32> {
        let kind = |work: u32| source.works[work as usize].kind;
        let is_ordered = |&work: &u32| {
            matches!(kind(work), WorkKind::Kernel(_) | WorkKind::Copy { .. } | WorkKind::Free(_))
        };
        let mut nodes = self.nodes_of((first..end).filter(is_ordered));
        nodes.dedup();
        nodes
    }

    fn gang(&mut self, source: &Source, members: &[u32]) {
        let nodes = self.nodes_of(members.iter().copied());
        let kernels: Vec<u32> =
            nodes.into_iter().filter(|&node| self.nodes[node as usize].kind == NodeKind::Kernel).collect();
        if let Some(&twice) = kernels.iter().find(|&&node| self.nodes[node as usize].gang != NONE) {
            let def = self.plan.kernels[self.nodes[twice as usize].item as usize].def;
            let instr = self.plan.defs[def as usize].instr as usize;
            self.faults.gang(self.unit.module, instr, "it is a member of another one as well");
            return;
        }
        if kernels.len() < 2 || source.works.is_empty() {
            return;
        }
        let records = &mut self.plan.records;
        let gang = records.gangs.len() as u32;
        records.gangs.push(GangRecord { first: records.members.len() as u32, len: kernels.len() as u32 });
        for &node in &kernels {
            self.nodes[node as usize].gang = gang;
        }
        records.members.extend(kernels);
    }

    /// Waits of a graph, or of the body of a loop that runs at run time, for events of others.
    pub(super) fn waits(&mut self, source: &Source, scope: u32) {
        let works = source.scopes[scope as usize].first..source.scopes[scope as usize].end;
        for EventSource { event, waits, .. } in &source.foreign {
            let waits: Vec<u32> = waits.iter().copied().filter(|work| works.contains(work)).collect();
            self.foreign(*event, &waits);
        }
    }

    /// Waits for an event of others: one for each arm in which there is a kernel that needs it, so that an arm that is not taken waits for
    /// nothing. Kernels in loops of this level wait there, so that the loop itself waits for nothing.
    fn foreign(&mut self, event: EventNo, waits: &[u32]) {
        let mut arms: OrderedMap<(u32, u32), Vec<u32>> = OrderedMap::new();
        for node in self.nodes_of(waits.iter().copied()) {
            let draft = self.nodes[node as usize];
            if draft.kind == NodeKind::Kernel && draft.level == self.level {
                arms.entry((draft.guard, draft.gate)).or_default().push(node);
            }
        }
        for ((guard, gate), waits) in arms {
            let node = self.free_node(NodeKind::WaitEvent, self.plan.event_waits.len() as u32);
            self.plan.event_waits.push(EventItem { event, node });
            let draft = &mut self.nodes[node as usize];
            (draft.guard, draft.gate) = (guard, gate);
            self.connect(&[node], &waits, EdgeKind::Event);
        }
    }

    /// Events of and for others, and hints for all of the graph.
    fn outside(&mut self, source: &Source) {
        self.waits(source, TOP);
        for EventSource { event, signals, .. } in &source.told {
            let item = self.plan.signals.len() as u32;
            let node = self.free_node(NodeKind::Signal, item);
            self.plan.signals.push(EventItem { event: *event, node });
            let signals = self.nodes_of(signals.iter().copied());
            self.connect(&signals, &[node], EdgeKind::Event);
        }
        for (kind, members) in &source.affinities {
            let members = members.iter().map(|def| self.first_def + def).collect();
            self.plan.affinities.push(AffinityItem { kind: *kind, members });
        }
    }
}
