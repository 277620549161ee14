//! Reads what a graph says of its kernels: edges, bindings, events, gangs, requests.

use super::reader::Reader;
use super::source::{
    BarrierSource, BindSource, DeclaredEdge, DefSource, EventSource, GangSource, TOP, WorkKind, WorkScope,
};
use crate::plan::EdgeKind;
use wsp_core::tg::{DependencyType, Direction, EventNo, Instr, KernelNo, KernelSet, NodeNo};
use wsp_ir::tg::Signatures;
use wsp_ordered::{Arrange, OrderedMap};

impl Reader<'_, '_> {
    fn kernel(&mut self, at: usize, kernel: KernelNo) -> Option<u32> {
        let found = self.kernels.get(&kernel).copied();
        if found.is_none() {
            self.fault(at, "names a kernel that this graph does not define");
        }
        found
    }

    fn node(&mut self, at: usize, node: NodeNo) -> Option<u32> {
        match node.kernel() {
            Some(kernel) => self.kernel(at, kernel),
            None => {
                let found = node.copy().and_then(|copy| self.copies.get(copy as usize).copied());
                if found.is_none() {
                    self.fault(at, "names a copy that this graph does not have");
                }
                found
            }
        }
    }

    fn def(&mut self, at: usize, kernel: KernelNo) -> Option<&mut DefSource> {
        let work = self.kernel(at, kernel)?;
        let WorkKind::Kernel(def) = self.source.works[work as usize].kind else { return None };
        self.source.defs.get_mut(def as usize)
    }

    /// Reads what is said of kernels, now that all are known.
    pub(super) fn attributes(&mut self, signatures: &Signatures) {
        let mut events: OrderedMap<EventNo, EventSource> = OrderedMap::new();
        let mut default_after = None;
        for (at, work) in std::mem::take(&mut self.later) {
            if at == usize::MAX {
                default_after = Some(work);
                continue;
            }
            self.attribute(at, work, default_after.take(), &mut events);
        }
        for event in events.into_values() {
            self.event(event);
        }
        for def in &mut self.source.defs {
            def.binds.arrange_by_key(|bind| bind.arg);
            let signature = signatures.get(&def.def.entry);
            for bind in &mut def.binds {
                if bind.direction == Direction::Auto {
                    let known =
                        signature.and_then(|s| s.args.get(bind.arg as usize)).map(|arg| arg.direction);
                    bind.direction =
                        known.filter(|known| *known != Direction::Auto).unwrap_or(Direction::InOut);
                }
            }
        }
        for orders in &mut self.source.orders {
            reduce(&mut orders.barriers);
        }
    }

    fn attribute(
        &mut self,
        at: usize,
        work: u32,
        after_last: Option<u32>,
        events: &mut OrderedMap<EventNo, EventSource>,
    ) {
        match self.unit.module.instrs[at] {
            Instr::TgDepend { src_kernel, dst_kernel, dep_type, .. } => {
                self.depend(at, src_kernel, dst_kernel, dep_type);
            }
            Instr::McBind { kernel_id, arg_index, tensor_id, offset, size, direction } => {
                let (arg, tensor, instr) = (arg_index, tensor_id, at as u32);
                if let Some(def) = self.def(at, kernel_id) {
                    def.binds.push(BindSource { arg, tensor, offset, size, direction, instr });
                }
            }
            Instr::TgPersistent { kernel_id, duration } => {
                if let Some(def) = self.def(at, kernel_id) {
                    def.def.persistent = Some(duration);
                }
            }
            Instr::CaRequest { kernel_id, aic_count, aiv_count, aicpu_count } => {
                if let Some(def) = self.def(at, kernel_id) {
                    def.def.request = Some([aic_count, aiv_count, aicpu_count]);
                }
            }
            Instr::CaAffinity { kernel_set, affinity_type } => {
                let works = self.set(at, kernel_set);
                let defs = works.iter().filter_map(|&work| match self.source.works[work as usize].kind {
                    WorkKind::Kernel(def) => Some(def),
                    _ => None,
                });
                let defs = defs.collect();
                self.source.affinities.push((affinity_type, defs));
            }
            Instr::SyBarrier { kernel_set, .. } => self.gang(at, kernel_set),
            Instr::SySignal { event_id, src_kernel } => {
                if let Some(work) = self.kernel(at, src_kernel) {
                    of_event(events, event_id).signals.push(work);
                }
            }
            Instr::SyWait { event_id, dst_kernel } => {
                if let Some(work) = self.kernel(at, dst_kernel) {
                    let event = of_event(events, event_id);
                    let is_earlier = self.unit.earlier.contains(&(at as u32));
                    if is_earlier { &mut event.earlier } else { &mut event.waits }.push(work);
                }
            }
            Instr::SyNotify { after, .. } => {
                let src = if after == KernelNo::NONE { after_last } else { self.kernel(at, after) };
                if let Some(src) = src {
                    self.edge(src, work, EdgeKind::Notify);
                }
            }
            Instr::SyWaitNotify { before, .. } => {
                if before != KernelNo::NONE
                    && let Some(dst) = self.kernel(at, before)
                {
                    self.edge(work, dst, EdgeKind::Notify);
                }
            }
            // Allocations and partitions are found for the whole unit; fences order nothing.
            Instr::McAlloc { .. } | Instr::CaPartition { .. } | Instr::McFence { .. } => {}
            _ => self.fault(at, "does not belong into a graph"),
        }
    }

    fn set(&mut self, at: usize, set: KernelSet) -> Vec<u32> {
        let kernels = self.unit.module.set(set).to_vec();
        let mut works: Vec<u32> = kernels.iter().filter_map(|&kernel| self.kernel(at, kernel)).collect();
        works.arrange();
        works.dedup();
        works
    }

    fn depend(&mut self, at: usize, src: NodeNo, dst: NodeNo, ty: DependencyType) {
        let (Some(src), Some(dst)) = (self.node(at, src), self.node(at, dst)) else { return };
        match ty {
            DependencyType::After => self.edge(src, dst, EdgeKind::After),
            DependencyType::Data => self.edge(src, dst, EdgeKind::Data),
            DependencyType::Soft => {
                let scope = self.source.around_all([src, dst].into_iter());
                self.source.orders[scope as usize].soft.push((src, dst));
            }
            DependencyType::Barrier if src < dst => self.barrier(src + 1, dst),
            DependencyType::Barrier => {
                self.fault(at, "is a barrier whose second kernel is not defined after its first")
            }
        }
    }

    fn edge(&mut self, src: u32, dst: u32, kind: EdgeKind) {
        let scope = self.source.around_all([src, dst].into_iter());
        self.source.orders[scope as usize].edges.push(DeclaredEdge { src, dst, kind });
    }

    /// A barrier in a loop also orders the loop as a whole against what stands before and behind it.
    fn barrier(&mut self, end: u32, start: u32) {
        let mut scope = self.source.around_all([end - 1, start].into_iter());
        self.source.orders[scope as usize].barriers.push(BarrierSource { end, start });
        while scope != TOP {
            let WorkScope { parent, first, end, .. } = self.source.scopes[scope as usize];
            let barriers = &mut self.source.orders[parent as usize].barriers;
            barriers.extend([BarrierSource { end: first, start: first }, BarrierSource { end, start: end }]);
            scope = parent;
        }
    }

    fn gang(&mut self, at: usize, set: KernelSet) {
        let members = self.set(at, set);
        let scope = self.source.around_all(members.iter().copied());
        if members.iter().any(|&member| self.source.works[member as usize].scope != scope) {
            self.faults.gang(self.unit.module, at, "they stand in different loops");
        } else if members.len() > 1 {
            self.source.orders[scope as usize].gangs.push(GangSource { members });
        }
    }

    fn event(&mut self, mut event: EventSource) {
        let (no, earlier) = (self.source.no, std::mem::take(&mut event.earlier));
        let others = self.unit.events.get(&event.event);
        let is_told = others.is_some_and(|uses| uses.waits.iter().any(|&graph| graph != no));
        if (is_told || !earlier.is_empty()) && !event.signals.is_empty() {
            self.source.told.push(event.clone());
        }
        if !earlier.is_empty() {
            let (event, waits) = (event.event, earlier);
            self.source.foreign.push(EventSource { event, waits, ..EventSource::default() });
        }
        if event.waits.is_empty() {
            return;
        }
        if event.signals.is_empty() {
            self.source.foreign.push(event);
        } else {
            self.own_event(&event);
        }
    }

    /// Signals come before waits of the same graph as by an edge from each to each: in every round of the loops around both.
    fn own_event(&mut self, event: &EventSource) {
        let mut waits_in: OrderedMap<u32, Vec<u32>> = OrderedMap::new();
        for &wait in &event.waits {
            waits_in.entry(self.source.works[wait as usize].scope).or_default().push(wait);
        }
        let mut groups: OrderedMap<(u32, Vec<u32>), Vec<u32>> = OrderedMap::new();
        for (scope, waits) in waits_in {
            let mut signals: OrderedMap<u32, Vec<u32>> = OrderedMap::new();
            for &signal in &event.signals {
                let around = self.source.around(scope, self.source.works[signal as usize].scope);
                signals.entry(around).or_default().push(signal);
            }
            for group in signals {
                groups.entry(group).or_default().extend(&waits);
            }
        }
        for ((scope, signals), waits) in groups {
            let event = EventSource { event: event.event, signals, waits, ..EventSource::default() };
            self.source.orders[scope as usize].events.push(event);
        }
    }
}

fn of_event(events: &mut OrderedMap<EventNo, EventSource>, event: EventNo) -> &mut EventSource {
    events.entry(event).or_insert_with(|| EventSource { event, ..EventSource::default() })
}

/// Leaves out barriers that follow from others, so that both ends increase.
fn reduce(barriers: &mut Vec<BarrierSource>) {
    barriers.arrange_by_key(|barrier| (barrier.end, std::cmp::Reverse(barrier.start)));
    let mut kept: Vec<BarrierSource> = Vec::new();
    for &barrier in barriers.iter() {
        while kept.last().is_some_and(|last| last.start >= barrier.start) {
            kept.pop();
        }
        kept.push(barrier);
    }
    *barriers = kept;
}
