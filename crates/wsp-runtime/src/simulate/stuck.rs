//! Who waits for whom when nothing can go on.

use super::engine::{Engine, STARTED};
use super::graph::{Node, Point};
use crate::report::{MOST_LISTED, Party, Report, report};
use wsp_core::TaskId;

impl Engine<'_> {
    /// The report on a run whose tasks wait for each other.
    ///
    /// A party that waits for many names some of them, which is enough: each waits for another in turn, so that a cycle
    /// closes whichever way one goes.
    pub(super) fn report(&self) -> Report {
        let graph = self.graph;
        let nodes = graph.len() as u32;
        let (source, window) = (nodes, nodes + 1);
        let submitted = self.source.submitted();
        let is_left = |node: u32| self.open_edges[node as usize] != STARTED;
        let mut waits = Vec::new();
        let mut named = vec![0; graph.len()];
        for before in (0..nodes).filter(|&node| is_left(node)) {
            for &after in graph.successors(before) {
                if named[after as usize] < MOST_LISTED {
                    named[after as usize] += 1;
                    waits.push((after, before));
                }
            }
        }
        waits.extend((submitted..nodes).map(|node| (node, source)));
        let waiting = |&node: &u32| is_left(node) && matches!(graph.nodes[node as usize], Node::Task(_));
        if self.source.is_blocked() {
            waits.push((source, window));
            let held = (0..submitted).filter(waiting).take(MOST_LISTED);
            waits.extend(held.map(|node| (window, node)));
        }
        let unfinished = (0..submitted).filter(waiting).count() as u64;
        let name = |&node: &u32| match graph.nodes.get(node as usize) {
            Some(Node::Task(spec)) => Party::Task { task: TaskId(node), kernel: spec.kernel },
            Some(Node::Point(Point::Order)) => Party::BarrierNode(node),
            Some(&Node::Point(Point::Event(event))) => Party::Event(event),
            Some(&Node::Point(Point::UnsignalledEvent(event))) => Party::UnsignalledEvent(event),
            None if node == source => Party::Source,
            None => Party::Window { capacity: self.config.window.capacity },
        };
        report(unfinished, waits, |_| true, name)
    }
}
