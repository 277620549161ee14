//! Why a run cannot go on: who waits for whom.

use rustc_hash::FxHashMap;
use std::fmt;
use wsp_core::{EventId, KernelId, TaskId};

/// Most waiting parties that a report lists.
pub(crate) const MOST_LISTED: usize = 32;

/// Somebody who waits, or who is waited for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Party {
    /// A task.
    Task {
        /// The task.
        task: TaskId,
        /// Its kernel.
        kernel: KernelId,
    },
    /// An event for which no task that signals it was submitted.
    UnsignalledEvent(EventId),
    /// An event.
    Event(EventId),
    /// A fence, or a step of an ordered scope.
    BarrierNode(u32),
    /// The source, which has a task to submit.
    Source,
    /// The window, all of whose tasks wait.
    Window {
        /// Its capacity.
        capacity: u32,
    },
}

/// A run in which tasks are left, none of them ready, none running, and nothing on its way that could change that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Tasks that were submitted and did not run.
    pub unfinished: u64,
    /// Who waits for whom, the first of them: the source, then by id.
    pub waits: Vec<(Party, Vec<Party>)>,
    /// Parties each of which waits for the next, and the last for the first; empty if nothing closes a cycle.
    pub cycle: Vec<Party>,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Party::Task { task, kernel } => write!(f, "task {} (kernel {})", task.0, kernel.0),
            Party::UnsignalledEvent(event) => write!(f, "event {}, which no task signals", event.0),
            Party::Event(event) => write!(f, "event {}", event.0),
            Party::BarrierNode(point) => write!(f, "order point {point}"),
            Party::Source => f.write_str("the source"),
            Party::Window { capacity } => write!(f, "a slot of the window of {capacity}"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no task can start, but {} wait", self.unfinished)?;
        if let Some(first) = self.cycle.first() {
            write!(f, "\n  a cycle:")?;
            for party in &self.cycle {
                write!(f, " {party} waits for")?;
            }
            write!(f, " {first}")?;
        }
        for (waiting, on) in &self.waits {
            write!(f, "\n  {waiting} waits for ")?;
            for (i, party) in on.iter().enumerate() {
                write!(f, "{}{party}", if i == 0 { "" } else { ", " })?;
            }
        }
        Ok(())
    }
}

/// One open edge of a run that is stuck.
pub(crate) struct Wait {
    pub(crate) waiting: u32,
    pub(crate) on: u32,
}

/// Makes the report from every open edge between nodes, and from those that wait for nobody but should have run.
///
/// `name` tells what a node is.
pub(crate) fn report(unfinished: u64, mut waits: Vec<Wait>, name: impl Fn(u32) -> Party) -> Report {
    waits.sort_unstable_by_key(|wait| (wait.waiting, wait.on));
    waits.dedup_by_key(|wait| (wait.waiting, wait.on));
    let cycle = cycle(&waits).into_iter().map(&name).collect();
    let groups = waits.chunk_by(|a, b| a.waiting == b.waiting).take(MOST_LISTED);
    let listed = groups
        .map(|group| {
            let on = group.iter().take(MOST_LISTED).map(|wait| name(wait.on)).collect();
            (name(group[0].waiting), on)
        })
        .collect();
    Report { unfinished, waits: listed, cycle }
}

/// The nodes of a cycle among the waits, which are sorted, in the order of waiting and from the smallest on.
pub(crate) fn cycle(waits: &[Wait]) -> Vec<u32> {
    let first_of = |node: u32| waits.partition_point(|wait| wait.waiting < node);
    // Whether a node that the walk has reached is still on its path.
    let mut on_path = FxHashMap::default();
    for group in waits.chunk_by(|a, b| a.waiting == b.waiting) {
        let start = group[0].waiting;
        if on_path.contains_key(&start) {
            continue;
        }
        // Each node with the next of its waits to follow.
        let mut path: Vec<(u32, usize)> = vec![(start, first_of(start))];
        on_path.insert(start, true);
        while let Some((node, next)) = path.last_mut() {
            let Some(wait) = waits.get(*next).filter(|wait| wait.waiting == *node) else {
                on_path.insert(*node, false);
                path.pop();
                continue;
            };
            *next += 1;
            match on_path.get(&wait.on) {
                Some(true) => return from_smallest(&path, wait.on),
                Some(false) => {}
                None => {
                    on_path.insert(wait.on, true);
                    path.push((wait.on, first_of(wait.on)));
                }
            }
        }
    }
    Vec::new()
}

/// The end of a path that begins at `node`, turned so that its smallest node is first.
fn from_smallest(path: &[(u32, usize)], node: u32) -> Vec<u32> {
    let mut cycle: Vec<u32> =
        path.iter().map(|&(on_path, _)| on_path).skip_while(|&on_path| on_path != node).collect();
    let smallest = (0..cycle.len()).min_by_key(|&i| cycle[i]).unwrap_or(0);
    cycle.rotate_left(smallest);
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(node: u32) -> Party {
        Party::Task { task: TaskId(node), kernel: KernelId(7) }
    }

    fn waits(list: &[(u32, u32)]) -> Vec<Wait> {
        list.iter().map(|&(waiting, on)| Wait { waiting, on }).collect()
    }

    #[test]
    fn a_cycle_is_found_and_told_from_its_smallest_member() {
        let report = report(4, waits(&[(9, 4), (4, 2), (2, 9), (11, 9), (3, 1)]), name);
        let ids: Vec<Party> = [2, 9, 4].map(name).to_vec();
        assert_eq!(report.cycle, ids);
        let text = report.to_string();
        assert!(text.starts_with("no task can start, but 4 wait\n  a cycle: task 2 (kernel 7) waits for"));
        assert!(text.contains("\n  task 11 (kernel 7) waits for task 9 (kernel 7)"), "{text}");
    }

    #[test]
    fn waits_without_a_cycle_have_none() {
        assert_eq!(report(2, waits(&[(3, 1), (2, 1), (3, 2), (3, 2)]), name).cycle, []);
    }

    #[test]
    fn a_node_that_waits_for_itself_is_a_cycle() {
        assert_eq!(report(1, waits(&[(3, 3)]), name).cycle, [name(3)]);
    }
}
