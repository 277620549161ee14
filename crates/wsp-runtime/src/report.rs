//! Why a run cannot go on: who waits for whom.

use rustc_hash::FxHashMap;
use std::fmt;
use std::hash::Hash;
use wsp_core::words::counted;
use wsp_core::{EventId, KernelId, SlotId, TaskId};
use wsp_ordered::Arrange;

/// Most waiting parties that a report lists.
pub(crate) const MOST_LISTED: usize = 32;

/// Somebody who waits, or who is waited for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
    /// A task that an AICPU generated.
    Generated {
        /// Its number in elaboration order.
        ordinal: u64,
        /// Its kernel.
        kernel: KernelId,
        /// Its AICPU.
        aicpu: u32,
    },
    /// The generator of an AICPU, which has not finished.
    Generator {
        /// The AICPU.
        aicpu: u32,
        /// It has generated all its tasks below this ordinal.
        watermark: u64,
    },
    /// Earlier steps of an ordered scope of AICPUs.
    Step {
        /// The ordinal at which the scope begins.
        begin: u64,
        /// Tasks of the scope that are complete.
        complete: u64,
        /// Tasks of the scope that come before.
        needed: u64,
    },
    /// Accesses of a tile that AICPUs count.
    Counter {
        /// The tile.
        counter: u32,
        /// How many are complete.
        reached: u64,
        /// How many have to be.
        needed: u64,
    },
    /// A computed value.
    Slot(SlotId),
    /// A place in the window or in the map of an AICPU.
    Room {
        /// The AICPU.
        aicpu: u32,
        /// Its tasks in flight.
        in_flight: u32,
    },
    /// A gate, or an idle core.
    Core,
    /// A node, an event, a notification or a launch of task graphs, as it is called.
    Named(String),
}

/// A run in which tasks are left, none of them ready, none running, and nothing on its way that could change that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Tasks that were submitted and did not run; of launches, nodes that are not complete.
    pub unfinished: u64,
    /// Who waits for whom, the first of them: the source, then by id; of launches, node by node.
    pub waits: Vec<(Party, Vec<Party>)>,
    /// How many wait in all that may be listed.
    pub total: usize,
    /// Parties each of which waits for the next, and the last for the first; empty if nothing closes a cycle.
    pub cycle: Vec<Party>,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Party::Task { task, kernel } => write!(f, "task {} (kernel {})", task.0, kernel.0),
            Party::UnsignalledEvent(event) => write!(f, "event {}, which no task signals", event.0),
            Party::Event(event) => write!(f, "event {}", event.0),
            Party::BarrierNode(point) => write!(f, "barrier node {point}"),
            Party::Source => f.write_str("the source"),
            Party::Window { capacity } => write!(f, "a slot of the window of {capacity}"),
            Party::Generated { ordinal, kernel, aicpu } => {
                write!(f, "task {ordinal} (kernel {}, AICPU {aicpu})", kernel.0)
            }
            Party::Generator { aicpu, watermark } => {
                write!(f, "the generator of AICPU {aicpu} (at ordinal {watermark})")
            }
            Party::Step { begin, complete, needed } => {
                write!(
                    f,
                    "earlier steps of the scope that begins at ordinal {begin} ({complete} of {needed} complete)"
                )
            }
            Party::Counter { counter, reached, needed } => {
                write!(f, "counter {counter} (at {reached} of {needed})")
            }
            Party::Slot(slot) => write!(f, "the value of slot {}", slot.0),
            Party::Room { aicpu, in_flight } => {
                let tasks = counted(in_flight, "task");
                write!(f, "room on AICPU {aicpu} ({tasks} in flight)")
            }
            Party::Core => f.write_str("a gate or a core"),
            Party::Named(name) => f.write_str(name),
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
        if self.total > self.waits.len() {
            write!(f, "\n  and {} more wait", self.total - self.waits.len())?;
        }
        Ok(())
    }
}

/// Makes the report of who waits for whom. Waits of parties that are not listed close cycles only.
///
/// `name` says what a party is.
pub(crate) fn report<P: Ord + Hash>(
    unfinished: u64,
    mut waits: Vec<(P, P)>,
    is_listed: impl Fn(&P) -> bool,
    name: impl Fn(&P) -> Party,
) -> Report {
    waits.arrange();
    waits.dedup();
    let groups = || waits.chunk_by(|a, b| a.0 == b.0).filter(|group| is_listed(&group[0].0));
    let listed = groups()
        .take(MOST_LISTED)
        .map(|group| (name(&group[0].0), group.iter().take(MOST_LISTED).map(|(_, on)| name(on)).collect()));
    Report {
        unfinished,
        waits: listed.collect(),
        total: groups().count(),
        cycle: cycle(&waits).into_iter().map(&name).collect(),
    }
}

/// The parties of a cycle among the waits, which are sorted, in the order of waiting and from the smallest on.
fn cycle<P: Ord + Hash>(waits: &[(P, P)]) -> Vec<&P> {
    let first_of = |party: &P| waits.partition_point(|(waiting, _)| waiting < party);
    // Whether a party that the walk has reached is still on its path.
    let mut on_path = FxHashMap::default();
    for group in waits.chunk_by(|a, b| a.0 == b.0) {
        let start = &group[0].0;
        if on_path.contains_key(start) {
            continue;
        }
        // Each party with the next of its waits to follow.
        let mut path: Vec<(&P, usize)> = vec![(start, first_of(start))];
        on_path.insert(start, true);
        while let Some((party, next)) = path.last_mut() {
            let Some((_, on)) = waits.get(*next).filter(|(waiting, _)| waiting == *party) else {
                on_path.insert(*party, false);
                path.pop();
                continue;
            };
            *next += 1;
            match on_path.get(on) {
                Some(true) => return from_smallest(&path, on),
                Some(false) => {}
                None => {
                    on_path.insert(on, true);
                    path.push((on, first_of(on)));
                }
            }
        }
    }
    Vec::new()
}

/// The end of a path that begins at a party, turned so that its smallest party is first.
fn from_smallest<'p, P: Ord>(path: &[(&'p P, usize)], party: &P) -> Vec<&'p P> {
    let mut cycle: Vec<&P> =
        path.iter().map(|&(on_path, _)| on_path).skip_while(|&on_path| on_path != party).collect();
    let smallest = (0..cycle.len()).min_by_key(|&i| cycle[i]).unwrap_or(0);
    cycle.rotate_left(smallest);
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(node: &u32) -> Party {
        Party::Task { task: TaskId(*node), kernel: KernelId(7) }
    }

    fn all(unfinished: u64, waits: &[(u32, u32)]) -> Report {
        report(unfinished, waits.to_vec(), |_| true, name)
    }

    #[test]
    fn a_cycle_is_found_and_told_from_its_smallest_member() {
        let report = all(4, &[(9, 4), (4, 2), (2, 9), (11, 9), (3, 1)]);
        let ids: Vec<Party> = [2, 9, 4].map(|node| name(&node)).to_vec();
        assert_eq!(report.cycle, ids);
        let text = report.to_string();
        assert!(text.starts_with("no task can start, but 4 wait\n  a cycle: task 2 (kernel 7) waits for"));
        assert!(text.contains("\n  task 11 (kernel 7) waits for task 9 (kernel 7)"), "{text}");
    }

    #[test]
    fn waits_without_a_cycle_have_none() {
        assert_eq!(all(2, &[(3, 1), (2, 1), (3, 2), (3, 2)]).cycle, []);
    }

    #[test]
    fn a_node_that_waits_for_itself_is_a_cycle() {
        assert_eq!(all(1, &[(3, 3)]).cycle, [name(&3)]);
    }

    #[test]
    fn waits_that_are_not_listed_close_cycles_and_those_beyond_the_most_are_counted() {
        let beside = report(2, vec![(1, 2), (2, 1)], |node| *node != 2, name);
        assert_eq!((beside.waits.len(), beside.total, beside.cycle.len()), (1, 1, 2));
        let many: Vec<(u32, u32)> = (1..40).map(|node| (node, 0)).collect();
        assert!(all(39, &many).to_string().ends_with("\n  and 7 more wait"));
    }
}
