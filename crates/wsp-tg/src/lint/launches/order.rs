//! The order of the launches of one way.
//!
//! Its places are the begin and the end of each launch, the waits of the host, and the events that launches signal and wait for. A launch comes
//! behind the launch before it on its stream, and behind those that the host waited for before it. Events join kernels of launches as the
//! runtime joins them: a wait means the launch that signals and was submitted last before it, else the first that comes.
//!
//! A kernel that is skipped waits for nothing, and neither does a restored launch for what had fired when it was saved. Where that is not known here,
//! the edge from the signal to the wait is one that *may* hold.

use super::super::Cx;
use super::super::access::Access;
use super::conditions::Forms;
use super::events::Events;
use super::laid::Use;
use super::skips::runs;
use super::way::{Launch, Way};
use super::{STEPS_TO_KEEP, Steps};
use crate::Certainty;
use std::collections::HashMap;
use wsp_core::tg::EventNo;
use wsp_ordered::OrderedMap;

/// Places and the edges between them.
pub(super) struct LaunchOrder {
    graphs: Vec<u32>,
    host_waits: usize,
    edges: Vec<Vec<u32>>,
    /// Those that may hold, by the place that they come from.
    open: OrderedMap<u32, Vec<u32>>,
    /// Places of signals, by launch and event.
    signals: OrderedMap<(usize, EventNo), u32>,
    /// Waits, by launch and place among those of its graph.
    waits: OrderedMap<(usize, u32), Waits>,
    /// Places of waits that surely take place in some round, of kernels that others may skip: launches, and places among the waits of their graphs.
    of_rounds: Vec<(u32, (usize, u32))>,
    /// Waits for what no launch signals, and whether they surely take place.
    unsignalled: Vec<((usize, u32), bool)>,
    /// Of some places, which others come behind: a bit each. With the edges that may hold, and without.
    behind: HashMap<(u32, bool), Vec<u64>>,
}

/// A wait of a launch.
#[derive(Clone, Copy)]
struct Waits {
    place: u32,
    /// The place of the signal, and the kernel that waits, if nothing but that it may be skipped makes the order open.
    skips: Option<(u32, u32)>,
}

/// The begin of a launch; its end is the place after it.
fn begin(launch: usize) -> u32 {
    2 * launch as u32
}

impl LaunchOrder {
    pub(super) fn new(
        cx: &Cx<'_>,
        (way, forms): (&Way, &mut Forms),
        events: &mut Events<'_>,
        steps: &mut Steps,
    ) -> LaunchOrder {
        let (count, graphs) = (way.launches.len(), way.launches.iter().map(|launch| launch.graph).collect());
        let mut made = LaunchOrder {
            graphs,
            host_waits: way.waits.len(),
            edges: vec![Vec::new(); 2 * count + way.waits.len()],
            open: OrderedMap::new(),
            signals: OrderedMap::new(),
            waits: OrderedMap::new(),
            of_rounds: Vec::new(),
            unsignalled: Vec::new(),
            behind: HashMap::new(),
        };
        let wait = |at: usize| (2 * count + at) as u32;
        for (at, launch) in way.launches.iter().enumerate() {
            made.edge(begin(at), begin(at) + 1);
            launch.before.into_iter().for_each(|before| made.edge(begin(before) + 1, begin(at)));
            launch.over.into_iter().for_each(|over| made.edge(begin(at) + 1, wait(over)));
            launch.waits.checked_sub(1).into_iter().for_each(|last| made.edge(wait(last), begin(at)));
        }
        (1..way.waits.len()).for_each(|at| made.edge(wait(at - 1), wait(at)));
        made.events(cx, (way, forms), events, steps);
        made
    }

    fn events(
        &mut self,
        cx: &Cx<'_>,
        (way, forms): (&Way, &mut Forms),
        events: &mut Events<'_>,
        steps: &mut Steps,
    ) {
        let mut signalling: OrderedMap<EventNo, Vec<usize>> = OrderedMap::new();
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
        for (at, launch) in way.launches.iter().enumerate() {
            for number in 0..events.waits_of(launch.graph).len() as u32 {
                if !steps.spend(STEPS_TO_KEEP) {
                    return;
                }
                let wait = &events.waits_of(launch.graph)[number as usize];
                // What a restored launch had behind it when it was saved does not wait again.
                if wait.nodes.iter().all(|node| cx.outline.kernels[*node as usize].at < launch.from) {
                    continue;
                }
                let open = wait.nodes.first().filter(|_| !wait.is_sure).copied();
                let takes_place = open.map_or(Certainty::Surely, |kernel| {
                    runs(cx, (Some(way), &mut *forms), (kernel, launch.iteration), None, steps)
                });
                let by = signalling.get(&wait.event).map_or(&[][..], Vec::as_slice);
                let has_fired = has_fired(way, at, by, steps);
                if takes_place == Certainty::Never || has_fired == Certainty::Surely {
                    continue;
                }
                let (place, of_launch) = (self.place(), (launch.graph, number));
                self.edge(place, begin(at) + 1);
                let signal =
                    bound(by, at).and_then(|signal| self.signals.get(&(signal, wait.event)).copied());
                let is_sure = (takes_place, has_fired) == (Certainty::Surely, Certainty::Never);
                match signal {
                    Some(signal) if is_sure => self.edge(signal, place),
                    Some(signal) => self.open.entry(signal).or_default().push(place),
                    None => self.unsignalled.push(((at, number), is_sure)),
                }
                let skips = signal.zip(open).filter(|_| has_fired == Certainty::Never);
                self.waits.insert((at, number), Waits { place, skips });
                let is_known = wait.is_of_rounds;
                let least = if is_known { Certainty::Surely } else { Certainty::Maybe };
                self.signals_behind(cx, (at, place), (of_launch, launch.iteration, least), events, steps);
                // That some round waits holds the launch back, but not what comes behind other rounds.
                if takes_place == Certainty::Maybe
                    && has_fired == Certainty::Never
                    && events.surely_waits(cx, (way.known(), &mut *forms), of_launch, launch.iteration)
                {
                    let place = self.place();
                    self.edge(place, begin(at) + 1);
                    match signal {
                        Some(signal) => self.edge(signal, place),
                        None => self.unsignalled.push(((at, number), true)),
                    }
                    self.of_rounds.push((place, (at, number)));
                    let of = (of_launch, launch.iteration, Certainty::Surely);
                    self.signals_behind(cx, (at, place), of, events, steps);
                }
            }
        }
    }

    /// Edges from a wait of a launch, at a place, to what the launch signals behind it, in rounds in which it takes place so surely at least.
    fn signals_behind(
        &mut self,
        cx: &Cx<'_>,
        (at, place): (usize, u32),
        (wait, iteration, least): ((u32, u32), Option<i64>, Certainty),
        events: &mut Events<'_>,
        steps: &mut Steps,
    ) {
        for signalled in events.signalled_by(wait.0) {
            if !steps.spend(1) {
                return;
            }
            if events.waits_before(cx, wait, (signalled, iteration, least), steps)
                && let Some(&signal) = self.signals.get(&(at, signalled))
            {
                self.edge(place, signal);
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

    /// Waits for what no launch signals, and whether they surely take place: launches, and places among the waits of their graphs.
    pub(super) fn unsignalled(&self) -> &[((usize, u32), bool)] {
        &self.unsignalled
    }

    /// Places of waits for events: launches, and places among the waits of their graphs.
    pub(super) fn places_of_waits(&self) -> impl Iterator<Item = (u32, (usize, u32))> {
        self.waits.iter().map(|(wait, of)| (of.place, *wait)).chain(self.of_rounds.iter().copied())
    }

    /// The launch whose begin a place is.
    pub(super) fn begun(&self, place: u32) -> Option<usize> {
        let launch = place as usize / 2;
        (launch < self.graphs.len() && place.is_multiple_of(2)).then_some(launch)
    }

    /// The launch whose end a place is.
    pub(super) fn launch_of_end(&self, place: u32) -> Option<usize> {
        place.checked_sub(1).and_then(|begin| self.begun(begin))
    }

    /// The wait of the host that a place is.
    pub(super) fn host_wait(&self, place: u32) -> Option<usize> {
        (place as usize).checked_sub(2 * self.graphs.len()).filter(|wait| *wait < self.host_waits)
    }

    /// Places in a cycle of edges that surely hold, and of those that may and lead to places that are `taken`, in this order, if there is one.
    pub(super) fn cycle(&self, taken: impl Fn(u32) -> bool) -> Option<Vec<u32>> {
        let next = |place: u32| {
            let open = self.open.get(&place).into_iter().flatten().filter(|to| taken(**to));
            self.edges[place as usize].iter().chain(open).copied()
        };
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); self.edges.len()];
        let mut waiting = vec![0u32; self.edges.len()];
        for from in 0..self.edges.len() as u32 {
            for to in next(from) {
                before[to as usize].push(from);
                waiting[to as usize] += 1;
            }
        }
        let mut ready: Vec<usize> = (0..waiting.len()).filter(|place| waiting[*place] == 0).collect();
        while let Some(place) = ready.pop() {
            for to in next(place as u32) {
                waiting[to as usize] -= 1;
                if waiting[to as usize] == 0 {
                    ready.push(to as usize);
                }
            }
        }
        // What is left waits for something that is left.
        let mut place = waiting.iter().position(|waiting| *waiting > 0)? as u32;
        let mut walked: Vec<u32> = Vec::new();
        while !walked.contains(&place) {
            walked.push(place);
            place = *before[place as usize].iter().find(|before| waiting[**before as usize] > 0)?;
        }
        let first = walked.iter().position(|of| *of == place)?;
        let mut cycle = walked.split_off(first);
        cycle.reverse();
        Some(cycle)
    }

    /// Whether there are edges that may hold.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether a place is another one or comes behind it; `may` counts the edges that may hold. Where no steps are left, the answer is `true`.
    fn reaches(&mut self, from: u32, to: u32, may: bool, steps: &mut Steps) -> bool {
        let key = (from, may && self.is_open());
        if !self.behind.contains_key(&key) {
            if !steps.spend(self.edges.len()) {
                return true;
            }
            let row = self.row(key, steps);
            self.behind.insert(key, row);
        }
        self.behind.get(&key).is_some_and(|row| row[to as usize / 64] >> (to % 64) & 1 == 1)
    }

    fn row(&self, (from, may): (u32, bool), steps: &mut Steps) -> Vec<u64> {
        let mut row = vec![0u64; self.edges.len().div_ceil(64)];
        let mut open = vec![from];
        while let Some(place) = open.pop() {
            let (word, bit) = (place as usize / 64, 1 << (place % 64));
            if row[word] & bit == 0 {
                row[word] |= bit;
                steps.spend(self.edges[place as usize].len());
                open.extend_from_slice(&self.edges[place as usize]);
                open.extend(self.open.get(&place).filter(|_| may).into_iter().flatten());
            }
        }
        row
    }

    /// Whether a launch as a whole comes behind another.
    pub(super) fn is_behind(&mut self, first: usize, second: usize, steps: &mut Steps) -> bool {
        self.reaches(begin(first) + 1, begin(second), false, steps)
    }

    /// Whether a launch is, or may be, over behind so many waits of the host.
    pub(super) fn is_over(&mut self, launch: usize, waits: usize, steps: &mut Steps) -> bool {
        let wait = |last: usize| (2 * self.graphs.len() + last) as u32;
        let last = waits.checked_sub(1).map(wait);
        last.is_some_and(|last| self.reaches(begin(launch) + 1, last, true, steps))
    }

    /// Whether an access of one launch comes before an access of another, `may` if also where that is open. Where no steps are left, the answer means
    /// nothing.
    pub(super) fn is_ordered(
        &mut self,
        cx: &Cx<'_>,
        (way, forms): (&Way, &mut Forms),
        events: &mut Events<'_>,
        [(first, a), (second, b)]: [(usize, &Access); 2],
        may: bool,
        steps: &mut Steps,
    ) -> bool {
        let [of_a, of_b] = [(first, a), (second, b)].map(|(launch, access)| {
            let Launch { graph, iteration, .. } = way.launches[launch];
            Use { graph, access, iteration }
        });
        let mut from = vec![begin(first) + 1];
        let signals = (first, EventNo(0))..=(first, EventNo(u32::MAX));
        for (&(_, event), &place) in self.signals.range(signals) {
            if steps.spend(1) && events.is_before_signal(cx, (of_a, Some(of_b)), event, steps) {
                from.push(place);
            }
        }
        let mut to = vec![begin(second)];
        for (&(_, wait), of) in self.waits.range((second, 0)..=(second, u32::MAX)) {
            if steps.spend(1) && events.is_behind_wait(cx, wait, (of_b, Some(of_a)), steps) {
                to.push(of.place);
                // Whatever makes the access take place may make the kernel run that waits.
                let kernel = |kernel| (kernel, way.launches[second].iteration);
                let is_run = |of: u32, steps: &mut Steps, forms: &mut Forms| {
                    runs(cx, (Some(way), forms), kernel(of), Some(b), steps) == Certainty::Surely
                };
                let skips = of.skips.filter(|(_, of)| is_run(*of, steps, forms));
                to.extend(skips.map(|(signal, _)| signal));
            }
        }
        let mut reaches = |from: u32, to: u32| steps.spend(1) && self.reaches(from, to, may, steps);
        from.iter().any(|&from| to.iter().any(|&to| reaches(from, to)))
    }
}

/// The launch that a wait means, of those that signal: the last before the launch that waits, else the first.
fn bound(by: &[usize], at: usize) -> Option<usize> {
    let earlier = by.partition_point(|signal| *signal < at).checked_sub(1);
    by.get(earlier.unwrap_or(0)).copied()
}

/// Whether an event had fired for a restored launch when it was saved; `by` are the launches that signal it.
fn has_fired(way: &Way, at: usize, by: &[usize], steps: &mut Steps) -> Certainty {
    let launch = &way.launches[at];
    if !launch.is_restored || by.first().is_none_or(|first| *first > at) {
        return Certainty::Never;
    }
    steps.spend(at);
    let is_of = |of: &usize| {
        let earlier = &way.launches[*of];
        (earlier.graph, earlier.stream) == (launch.graph, launch.stream)
    };
    // It was one of these.
    let mut saved = (0..at).filter(is_of);
    let was_over = |saved: usize| {
        let signal = bound(by, saved).filter(|signal| *signal < saved);
        let over = signal.and_then(|signal| way.launches[signal].over);
        over.is_some_and(|over| over < way.launches[saved].waits)
    };
    match saved.all(was_over) {
        true => Certainty::Surely,
        false => Certainty::Maybe,
    }
}
