//! Waits of a graph for an event that it signals itself, but behind the wait.
//!
//! A wait in a graph that signals the event is for its own signal: an edge like others. Where the kernel that waits signals the event, or comes before one
//! that does by `TG_DEPEND`, that would be a cycle, so the wait is for another launch, as if the graph did not signal: the last before its own that
//! signals the event, of whichever graph.

use super::TgModule;
use std::collections::HashMap;
use wsp_core::tg::{DependencyType, EventNo, Instr, NodeNo};
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};

/// The instructions of these waits.
pub fn earlier_waits(module: &TgModule) -> OrderedSet<u32> {
    let mut found = OrderedSet::new();
    let mut graph = Graph::default();
    for (at, instr) in (0..).zip(&module.instrs) {
        match *instr {
            Instr::TgBegin { .. } => graph = Graph::default(),
            Instr::TgKernel { kernel_id, .. } => graph.define(kernel_id.into()),
            Instr::McCopy { .. } => {
                graph.define(NodeNo(NodeNo::COPY | graph.copies));
                graph.copies += 1;
            }
            Instr::TgDepend { src_kernel, dst_kernel, dep_type, .. } => match dep_type {
                DependencyType::Soft => {}
                DependencyType::Barrier => graph.barriers.push((src_kernel, dst_kernel)),
                DependencyType::After | DependencyType::Data => {
                    graph.before.entry(dst_kernel).or_default().push(src_kernel);
                }
            },
            Instr::SySignal { event_id, src_kernel } => {
                graph.events.entry(event_id).or_default().signals.push(src_kernel.into());
            }
            Instr::SyWait { event_id, dst_kernel } => {
                graph.events.entry(event_id).or_default().waits.push((dst_kernel.into(), at));
            }
            Instr::TgEnd { .. } => graph.waits(&mut found),
            _ => {}
        }
    }
    found
}

/// The part of a graph that is read.
#[derive(Default)]
struct Graph {
    /// Kernels and copies, with their places among these.
    places: HashMap<NodeNo, usize>,
    nodes: Vec<NodeNo>,
    copies: u32,
    /// What comes before a node by edges.
    before: HashMap<NodeNo, Vec<NodeNo>>,
    /// The last node before each barrier, and the first behind it.
    barriers: Vec<(NodeNo, NodeNo)>,
    events: OrderedMap<EventNo, Event>,
}

/// Who signals an event, and who waits for it by which instruction.
#[derive(Default)]
struct Event {
    signals: Vec<NodeNo>,
    waits: Vec<(NodeNo, u32)>,
}

impl Graph {
    fn define(&mut self, node: NodeNo) {
        self.places.insert(node, self.nodes.len());
        self.nodes.push(node);
    }

    fn waits(&self, found: &mut OrderedSet<u32>) {
        let joins = self.joins();
        for Event { signals, waits } in self.events.values() {
            if signals.is_empty() || waits.is_empty() {
                continue;
            }
            let before = self.up_to(signals, &joins);
            found.extend(waits.iter().filter(|(node, _)| before.contains(node)).map(|(_, at)| *at));
        }
    }

    /// By the place from which a barrier holds nodes back how many it and those before it hold them back behind.
    fn joins(&self) -> OrderedMap<usize, usize> {
        let place = |of: &NodeNo| self.places.get(of).copied();
        let ends = self.barriers.iter().filter_map(|(from, to)| Some((place(to)?, place(from)? + 1)));
        let mut ends: Vec<(usize, usize)> = ends.collect();
        ends.arrange();
        let mut most = 0;
        let so_far = ends.into_iter().map(|(to, count)| {
            most = most.max(count);
            (to, most)
        });
        so_far.collect()
    }

    /// Some nodes, and those that come before one of them.
    fn up_to(&self, nodes: &[NodeNo], joins: &OrderedMap<usize, usize>) -> OrderedSet<NodeNo> {
        let (mut seen, mut open, mut joined) = (OrderedSet::new(), nodes.to_vec(), 0);
        while let Some(node) = open.pop() {
            if !seen.insert(node) {
                continue;
            }
            open.extend(self.before.get(&node).into_iter().flatten());
            let join = self.places.get(&node).and_then(|place| joins.range(..=place).next_back());
            if let Some((_, &count)) = join.filter(|(_, count)| **count > joined) {
                open.extend(&self.nodes[joined..count]);
                joined = count;
            }
        }
        seen
    }
}
