//! Which nodes of a graph can never run, found without running any.

use super::Event;
use super::core::Core;
use crate::report::{Party, Report, report};
use wsp_core::{EventId, TaskId};

/// Who waits for whom among the nodes that no order of execution reaches.
pub(super) fn explain(core: &Core, events: &[Event]) -> Report {
    let mut open: Vec<u32> = (0..core.len()).map(|node| core.fan_in(node)).collect();
    let mut reached: Vec<u32> = (0..core.len()).filter(|&node| open[node as usize] == 0).collect();
    while let Some(node) = reached.pop() {
        core.each_successor(node, |to| {
            open[to as usize] -= 1;
            if open[to as usize] == 0 {
                reached.push(to);
            }
        });
    }
    let left = || (0..core.len()).filter(|&node| open[node as usize] > 0);
    let mut waits = Vec::new();
    for on in left() {
        core.each_successor(on, |waiting| waits.push((waiting, on)));
    }
    let unfinished = left().filter(|&node| !core.is_barrier_node(node)).count() as u64;
    report(unfinished, waits, |_| true, |&node| party(core, events, node))
}

fn party(core: &Core, events: &[Event], node: u32) -> Party {
    if !core.is_barrier_node(node) {
        return Party::Task { task: TaskId(node), kernel: core.kernel(node) };
    }
    match events.iter().position(|event| event.node == node) {
        Some(i) if events[i].signalled => Party::Event(EventId(i as u32)),
        Some(i) => Party::UnsignalledEvent(EventId(i as u32)),
        None => Party::BarrierNode(node),
    }
}
