//! The order of the launches of one way.
//!
//! Its places are the begin and the end of each launch, the waits of the host, and the events that launches signal and wait for. A launch comes
//! behind the launch before it on its stream, and behind those that the host waited for before it. Events join kernels of launches as the
//! runtime joins them: a wait means the launch that signals and was submitted last before it, else the first that comes.

use super::events::Events;
use super::ways::Way;
use super::{STEPS_TO_KEEP, Steps};
use std::collections::{BTreeMap, HashMap};
use wsp_core::tg::EventNo;

/// Places and the edges between them.
pub(super) struct LaunchOrder {
    graphs: Vec<u32>,
    edges: Vec<Vec<u32>>,
    /// Places of signals and of waits, by launch and event.
    signals: BTreeMap<(usize, EventNo), u32>,
    waits: BTreeMap<(usize, EventNo), u32>,
    /// Of some places, which others come behind: a bit each.
    behind: HashMap<u32, Vec<u64>>,
}

/// The begin of a launch; its end is the place after it.
fn begin(launch: usize) -> u32 {
    2 * launch as u32
}

impl LaunchOrder {
    pub(super) fn new(way: &Way, events: &mut Events<'_>, steps: &mut Steps) -> LaunchOrder {
        let (count, graphs) = (way.launches.len(), way.launches.iter().map(|launch| launch.graph).collect());
        let edges = vec![Vec::new(); 2 * count + way.waits];
        let (signals, waits) = (BTreeMap::new(), BTreeMap::new());
        let mut made = LaunchOrder { graphs, edges, signals, waits, behind: HashMap::new() };
        let wait = |at: usize| (2 * count + at) as u32;
        for (at, launch) in way.launches.iter().enumerate() {
            made.edge(begin(at), begin(at) + 1);
            launch.before.into_iter().for_each(|before| made.edge(begin(before) + 1, begin(at)));
            launch.over.into_iter().for_each(|over| made.edge(begin(at) + 1, wait(over)));
            launch.waits.checked_sub(1).into_iter().for_each(|last| made.edge(wait(last), begin(at)));
        }
        (1..way.waits).for_each(|at| made.edge(wait(at - 1), wait(at)));
        made.events(events, steps);
        made
    }

    fn events(&mut self, events: &mut Events<'_>, steps: &mut Steps) {
        let mut signalling: BTreeMap<EventNo, Vec<usize>> = BTreeMap::new();
        for at in 0..self.graphs.len() {
            for event in events.signalled_by(self.graphs[at]) {
                if !steps.spend(STEPS_TO_KEEP) {
                    return;
                }
                signalling.entry(event).or_default().push(at);
                let place = self.place();
                self.edge(begin(at), place);
                self.signals.insert((at, event), place);
            }
        }
        for at in 0..self.graphs.len() {
            let graph = self.graphs[at];
            for event in events.waited_for_by(graph) {
                if !steps.spend(STEPS_TO_KEEP) {
                    return;
                }
                let place = self.place();
                self.edge(place, begin(at) + 1);
                self.waits.insert((at, event), place);
                let by = signalling.get(&event).map_or(&[][..], Vec::as_slice);
                let earlier = by.partition_point(|signal| *signal < at).checked_sub(1);
                let bound =
                    by.get(earlier.unwrap_or(0)).and_then(|signal| self.signals.get(&(*signal, event)));
                bound.copied().into_iter().for_each(|signal| self.edge(signal, place));
                for signalled in events.signalled_by(graph) {
                    if !steps.spend(1) {
                        return;
                    }
                    if events.waits_before(graph, event, signalled, steps)
                        && let Some(&signal) = self.signals.get(&(at, signalled))
                    {
                        self.edge(place, signal);
                    }
                }
            }
        }
    }

    fn place(&mut self) -> u32 {
        self.edges.push(Vec::new());
        self.edges.len() as u32 - 1
    }

    fn edge(&mut self, from: u32, to: u32) {
        self.edges[from as usize].push(to);
    }

    /// Whether a place is another one or comes behind it. Where no steps are left, the answer is `true`.
    fn reaches(&mut self, from: u32, to: u32, steps: &mut Steps) -> bool {
        if !self.behind.contains_key(&from) {
            if !steps.spend(self.edges.len()) {
                return true;
            }
            let row = self.row(from, steps);
            self.behind.insert(from, row);
        }
        self.behind.get(&from).is_some_and(|row| row[to as usize / 64] >> (to % 64) & 1 == 1)
    }

    fn row(&self, from: u32, steps: &mut Steps) -> Vec<u64> {
        let mut row = vec![0u64; self.edges.len().div_ceil(64)];
        let mut open = vec![from];
        while let Some(place) = open.pop() {
            let (word, bit) = (place as usize / 64, 1 << (place % 64));
            if row[word] & bit == 0 {
                row[word] |= bit;
                steps.spend(self.edges[place as usize].len());
                open.extend_from_slice(&self.edges[place as usize]);
            }
        }
        row
    }

    /// Whether a launch as a whole comes behind another.
    pub(super) fn is_behind(&mut self, first: usize, second: usize, steps: &mut Steps) -> bool {
        self.reaches(begin(first) + 1, begin(second), steps)
    }

    /// Whether a launch is over behind so many waits of the host.
    pub(super) fn is_over(&mut self, launch: usize, waits: usize, steps: &mut Steps) -> bool {
        let wait = |last: usize| (2 * self.graphs.len() + last) as u32;
        let last = waits.checked_sub(1).map(wait);
        last.is_some_and(|last| self.reaches(begin(launch) + 1, last, steps))
    }

    /// Whether a node of one launch comes before a node of another. Where no steps are left, the answer means nothing.
    pub(super) fn is_ordered(
        &mut self,
        events: &mut Events<'_>,
        (first, a): (usize, u32),
        (second, b): (usize, u32),
        steps: &mut Steps,
    ) -> bool {
        let all = |at: usize| (at, EventNo(0))..=(at, EventNo(u32::MAX));
        let mut from = vec![begin(first) + 1];
        for (&(_, event), &place) in self.signals.range(all(first)) {
            if steps.spend(1) && events.is_before_signal(self.graphs[first], a, event, steps) {
                from.push(place);
            }
        }
        let mut to = vec![begin(second)];
        for (&(_, event), &place) in self.waits.range(all(second)) {
            if steps.spend(1) && events.is_behind_wait(self.graphs[second], event, b, steps) {
                to.push(place);
            }
        }
        let mut reaches = |from: u32, to: u32| steps.spend(1) && self.reaches(from, to, steps);
        from.iter().any(|&from| to.iter().any(|&to| reaches(from, to)))
    }
}
