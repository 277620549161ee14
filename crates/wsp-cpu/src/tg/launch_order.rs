//! Which launches come before which others, as the host makes them.
//!
//! Each launch has a number, from 1 on. A point of the run, such as the begin of a launch or a wait in it for an event, *knows* of each stream
//! which launch is the last that is complete, and which events the one behind that has signalled: a vector clock by stream. What a point knows
//! follows from the statements of the host and from the graphs, never from how long anything took:
//! * the begin of a launch knows what the host knew when it was submitted, and what the end of the launch before it on its stream knew;
//! * a wait for an event knows what its launch knew at its begin, and what the launch knew that signals. A wait means the launch that signals and
//!   was submitted last before it, else the first that comes, as in the runtime;
//! * a signal knows what the begin of its launch knew and the waits before it; the end of a launch knows all of its waits;
//! * the host learns what the ends of launches know that it waits for.
//!
//! A kernel that is skipped waits for nothing, and only the run knows which are. So a wait of a kernel that may be skipped counts from the moment on in
//! which that starts, and as long as it may do so, not all of the order is known.
//!
//! Launches that a simulation runs one after another for want of memory are in no order.

use super::code::GraphCode;
use super::item::Item;
use std::sync::{Arc, Weak};
use wsp_core::tg::{EventNo, IterNo};
use wsp_diag::Span;
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_tg::{GraphEvents, OpenUse, UseWait};

/// What is known of a stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Progress {
    /// The last launch that is complete.
    done: u64,
    /// The launch behind it of which signals are known, and these.
    running: u64,
    signalled: OrderedSet<EventNo>,
}

/// What is known at a point, by stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Known(OrderedMap<u32, Progress>);

impl Known {
    fn join(&mut self, other: &Known) {
        for (&stream, of) in &other.0 {
            self.learn(stream, of);
        }
    }

    fn learn(&mut self, stream: u32, of: &Progress) {
        let mine = self.0.entry(stream).or_default();
        mine.done = mine.done.max(of.done);
        // Whoever knows a signal of a launch knows that those before it on its stream are complete.
        if of.running > mine.running {
            (mine.running, mine.signalled) = (of.running, of.signalled.clone());
        } else if of.running == mine.running {
            mine.signalled.extend(&of.signalled);
        }
        if mine.running <= mine.done {
            (mine.running, mine.signalled) = (0, OrderedSet::new());
        }
    }

    fn has_done(&self, stream: u32, launch: u64) -> bool {
        self.0.get(&stream).is_some_and(|of| of.done >= launch)
    }

    /// Events that a launch is known to have signalled.
    fn signalled(&self, stream: u32, launch: u64) -> Option<&OrderedSet<EventNo>> {
        self.0.get(&stream).filter(|of| of.running == launch).map(|of| &of.signalled)
    }
}

/// A launch as it is submitted.
#[derive(Clone, Debug)]
pub(super) struct Submitted {
    pub(super) code: Arc<GraphCode>,
    pub(super) stream: u32,
    /// The stream's name.
    pub(super) on: String,
    pub(super) iteration: i64,
    /// Where the launch stands.
    pub(super) span: Span,
    /// Events that it waits for and that have happened, if it goes on from a saved state.
    pub(super) fired: Vec<u32>,
    /// Whether it is one of a run that is resumed.
    pub(super) is_resumed: bool,
}

impl Submitted {
    fn graph(&self) -> u32 {
        self.code.plan.no.0
    }
}

/// A wait of a launch, by its place among those of the graph.
#[derive(Clone, Copy, Debug)]
struct Wait {
    event: EventNo,
    /// The launch that signals.
    by: Option<u64>,
    /// Whether the event had happened before the launch was entered.
    is_over: bool,
    /// Whether the kernel that waits may be skipped.
    may_skip: bool,
}

/// A use of bytes by a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct UseOf<'u> {
    pub(super) launch: u64,
    pub(super) of: &'u OpenUse,
    /// How many of the kernels that wait and may be skipped had started before.
    pub(super) started: u32,
    /// The kernel, copy or condition, where it matters in which round of unrolled loops it stands.
    pub(super) item: Option<Item>,
}

#[derive(Debug)]
struct Entry {
    launch: Submitted,
    /// As long as somebody has it, the launch has not ended.
    running: Weak<u64>,
    /// What the host knew.
    host: Known,
    /// The launch before it on its stream.
    before: Option<u64>,
    waits: Vec<Wait>,
    /// Waits of kernels that may be skipped and have started, in this order, each with the kernel as it runs.
    started: Vec<(u32, Item)>,
    /// The number of the first launch that is submitted when the host knows that this one is complete.
    waited_for: Option<u64>,
    begin: Known,
    /// By wait.
    behind: Vec<Known>,
    end: Known,
}

impl Entry {
    fn is_running(&self) -> bool {
        self.running.strong_count() > 0
    }

    /// Whether a wait counts: its kernel runs in every launch, or has started in some round.
    fn counts(&self, wait: u32) -> bool {
        let Wait { is_over, may_skip, .. } = self.waits[wait as usize];
        !is_over && (!may_skip || self.started.iter().any(|(of, _)| *of == wait))
    }

    /// Whether a wait counts for a use: that comes behind it in the plan. Of a kernel that may be skipped those that had started count.
    fn counts_for(&self, number: u32, of: UseOf<'_>) -> bool {
        let Wait { is_over, may_skip, event, .. } = self.waits[number as usize];
        let (plan, order) = (&self.launch.code.plan, self.launch.code.uses.order());
        let listed = of.of.waits.iter().find(|wait| wait.wait == number);
        let node = of.item.and_then(|item| item.node(plan));
        if is_over || !may_skip {
            return !is_over && (listed.is_some() || node.is_some_and(|node| order.is_behind(node, event)));
        }
        let round = |item: Item, wait: &UseWait| -> Vec<Option<i64>> {
            let numbers = plan.fixed_of(item.fixed(plan));
            let number =
                |iter: &IterNo| numbers.iter().rev().find(|(of, _)| of == iter).map(|(_, number)| *number);
            wait.iters.iter().map(number).collect()
        };
        let is_in_round = |kernel: Item, wait: &UseWait| {
            wait.iters.is_empty() || of.item.is_some_and(|item| round(kernel, wait) == round(item, wait))
        };
        let started = self.started.iter().take(of.started as usize);
        let started: Vec<Item> =
            started.filter(|(wait, _)| *wait == number).map(|(_, kernel)| *kernel).collect();
        let leads = |node: u32| {
            let started: Vec<u32> = started.iter().filter_map(|kernel| kernel.node(plan)).collect();
            order.leads(plan, &started, node)
        };
        listed.is_some_and(|wait| started.iter().any(|kernel| is_in_round(*kernel, wait)))
            || node.is_some_and(leads)
    }

    /// Whether a use is complete before its launch signals one of some events.
    fn signals_behind(&self, of: UseOf<'_>, events: &OrderedSet<EventNo>) -> bool {
        let (plan, order) = (&self.launch.code.plan, self.launch.code.uses.order());
        let node = of.item.and_then(|item| item.node(plan));
        let is_behind = |event: &EventNo| {
            of.of.signals.contains(event) || node.is_some_and(|node| order.is_before(node, *event))
        };
        events.iter().any(is_behind)
    }

    /// Waits of which it is not known whether they count.
    fn open_waits(&self) -> impl Iterator<Item = &Wait> {
        let is_open = |(at, wait): &(u32, &Wait)| wait.may_skip && !self.counts(*at) && !wait.is_over;
        (0..).zip(&self.waits).filter(is_open).map(|(_, wait)| wait).filter(|_| self.is_running())
    }
}

/// Events of graphs, by the graph's number.
pub(super) type Events = OrderedMap<u32, GraphEvents>;

/// The launches of a device.
#[derive(Debug, Default)]
pub(super) struct LaunchOrder {
    events: Arc<Events>,
    entries: OrderedMap<u64, Entry>,
    /// How many were submitted.
    count: u64,
    host: Known,
    /// The last launch on each stream, of each graph on each stream, and of those that signal each event.
    last: OrderedMap<u32, u64>,
    last_of: OrderedMap<(u32, u32), u64>,
    signalling: OrderedMap<EventNo, u64>,
    /// Launches that wait for an event which no launch signals yet.
    unbound: OrderedMap<EventNo, Vec<u64>>,
    /// Events that launches signalled which ended before the run was resumed.
    past: OrderedSet<EventNo>,
}

impl LaunchOrder {
    /// The order of a run in which launches have signalled some events before.
    pub(super) fn new(events: Arc<Events>, past: OrderedSet<EventNo>) -> LaunchOrder {
        LaunchOrder { events, past, ..LaunchOrder::default() }
    }

    /// Enters a launch. It has not ended as long as the caller keeps what is returned.
    pub(super) fn submit(&mut self, launch: Submitted) -> Arc<u64> {
        self.count += 1;
        let (number, stream, graph) = (Arc::new(self.count), launch.stream, launch.graph());
        let at = *number;
        let waits = self.bind(at, &launch);
        let before = self.last.insert(stream, at);
        self.last_of.insert((graph, stream), at);
        let entry = Entry {
            launch,
            running: Arc::downgrade(&number),
            host: self.host.clone(),
            before,
            behind: vec![Known::default(); waits.len()],
            waits,
            started: Vec::new(),
            waited_for: None,
            begin: Known::default(),
            end: Known::default(),
        };
        self.entries.insert(at, entry);
        let first = self.signal(at, graph);
        while self.learn_from(first) && first < at {}
        number
    }

    /// The waits of a launch, with who signals.
    fn bind(&mut self, at: u64, launch: &Submitted) -> Vec<Wait> {
        let events = Arc::clone(&self.events);
        let mut waits = Vec::new();
        for wait in events.get(&launch.graph()).map_or(&[][..], |events| &events.waits) {
            let event = wait.event;
            let by = self.signalling.get(&event).copied();
            let is_past = by.is_none() && !launch.is_resumed && self.past.contains(&event);
            let is_over = is_past || launch.fired.contains(&event.0);
            if by.is_none() && !is_over {
                self.unbound.entry(event).or_default().push(at);
            }
            waits.push(Wait { event, by, is_over, may_skip: wait.kernel.is_some() });
        }
        waits
    }

    /// A kernel of a launch starts that may be skipped, and waits: these are its waits.
    pub(super) fn start(&mut self, launch: u64, kernel: Item, waits: &[u32]) {
        let Some(entry) = self.entries.get_mut(&launch) else { return };
        let count = entry.started.len();
        for wait in waits {
            if !entry.started.contains(&(*wait, kernel)) {
                entry.started.push((*wait, kernel));
            }
        }
        let learns = entry.started.len() > count;
        while learns && self.learn_from(launch) {}
    }

    /// How many of the kernels of a launch that wait and may be skipped have started.
    pub(super) fn started(&self, launch: u64) -> u32 {
        self.entries.get(&launch).map_or(0, |entry| entry.started.len() as u32)
    }

    /// Binds the waits for what a launch signals and nobody did before. The first launch that learns something.
    fn signal(&mut self, at: u64, graph: u32) -> u64 {
        let (events, mut first) = (Arc::clone(&self.events), at);
        for &event in events.get(&graph).map_or(&[][..], |events| &events.signals) {
            self.signalling.insert(event, at);
            for waiter in self.unbound.remove(&event).into_iter().flatten() {
                first = first.min(waiter);
                let waits = self.entries.get_mut(&waiter).into_iter().flat_map(|entry| &mut entry.waits);
                waits.filter(|wait| wait.event == event).for_each(|wait| wait.by = Some(at));
            }
        }
        first
    }

    /// Works out what launches know from one on. Whether that changed anything.
    fn learn_from(&mut self, first: u64) -> bool {
        let all: Vec<u64> = self.entries.range(first..).map(|(at, _)| *at).collect();
        let mut changes = false;
        for at in all {
            let (begin, behind, end) = self.learned(at);
            let Some(entry) = self.entries.get_mut(&at) else { continue };
            changes |= (&entry.begin, &entry.behind, &entry.end) != (&begin, &behind, &end);
            (entry.begin, entry.behind, entry.end) = (begin, behind, end);
        }
        changes
    }

    /// What a launch knows at its begin, behind its waits and at its end. It forgets nothing, also where those it learned it from are gone.
    fn learned(&self, at: u64) -> (Known, Vec<Known>, Known) {
        let entry = &self.entries[&at];
        let mut begin = entry.begin.clone();
        begin.join(&entry.host);
        if let Some(before) = entry.before.and_then(|before| self.entries.get(&before)) {
            begin.join(&before.end);
        }
        let (mut behind, mut end) = (entry.behind.clone(), begin.clone());
        for (number, (wait, known)) in (0..).zip(entry.waits.iter().zip(&mut behind)) {
            known.join(&begin);
            let by = wait.by.filter(|_| entry.counts(number));
            by.into_iter().for_each(|by| self.learn_signal(known, by, wait.event));
            end.join(known);
        }
        end.learn(entry.launch.stream, &Progress { done: at, ..Progress::default() });
        (begin, behind, end)
    }

    fn learn_signal(&self, known: &mut Known, by: u64, event: EventNo) {
        let Some(entry) = self.entries.get(&by) else { return };
        known.join(&entry.begin);
        let events = self.events.get(&entry.launch.graph());
        let before = events.into_iter().flat_map(|events| &events.before);
        for (wait, _) in before.filter(|(_, signal)| *signal == event) {
            entry.behind.get(*wait as usize).into_iter().for_each(|of| known.join(of));
        }
        let signalled = OrderedSet::from([event]);
        known.learn(entry.launch.stream, &Progress { done: 0, running: by, signalled });
    }

    /// The host has waited for the launches of a graph, or for all.
    pub(super) fn waited(&mut self, graph: Option<u32>) {
        let is_of = |entry: &&Entry| graph.is_none_or(|graph| entry.launch.graph() == graph);
        for entry in self.entries.values().filter(is_of) {
            self.host.join(&entry.end);
        }
        for (&at, entry) in &mut self.entries {
            if entry.waited_for.is_none() && self.host.has_done(entry.launch.stream, at) {
                entry.waited_for = Some(self.count + 1);
            }
        }
    }

    /// Whether a use of bytes by one launch is known to be complete before a use by another begins.
    pub(super) fn is_before(&self, one: UseOf<'_>, other: UseOf<'_>) -> bool {
        let (Some(first), Some(second)) = (self.entries.get(&one.launch), self.entries.get(&other.launch))
        else {
            return true;
        };
        let (stream, at) = (first.launch.stream, one.launch);
        let knows = |known: &Known| {
            let signalled = known.signalled(stream, at);
            known.has_done(stream, at) || signalled.is_some_and(|events| first.signals_behind(one, events))
        };
        let mut behind = (0..).zip(&second.behind);
        knows(&second.begin) || behind.any(|(wait, known)| knows(known) && second.counts_for(wait, other))
    }

    /// A launch that is entered.
    pub(super) fn launch(&self, number: u64) -> Option<&Submitted> {
        self.entries.get(&number).map(|entry| &entry.launch)
    }

    /// How many launches are kept.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether a launch can still come before one that is entered already, or use bytes that it did not name: `uses_later` says of a graph whether
    /// its launches find out while they run which bytes they use.
    pub(super) fn is_open(&self, uses_later: &dyn Fn(&GraphCode) -> bool) -> bool {
        let later = |entry: &Entry| uses_later(&entry.launch.code) && entry.is_running();
        self.is_undecided() || self.entries.values().any(later)
    }

    /// Whether a launch waits for an event that no launch signals yet, or may skip a kernel that waits.
    pub(super) fn is_undecided(&self) -> bool {
        let is_running = |at: &u64| self.entries.get(at).is_some_and(Entry::is_running);
        self.unbound.values().flatten().any(is_running)
            || self.entries.values().any(|entry| entry.open_waits().next().is_some())
    }

    /// Whether every launch that is still to use bytes comes behind another.
    pub(super) fn is_over(&self, launch: u64, running: u64) -> bool {
        let waited_for = self.entries.get(&launch).map(|entry| entry.waited_for);
        waited_for.is_none_or(|waited_for| waited_for.is_some_and(|first| first <= running))
    }

    /// The first launch that has not ended, else the next.
    pub(super) fn running(&self) -> u64 {
        let mut running = self.entries.iter().filter(|(_, entry)| entry.is_running());
        running.next().map_or(self.count + 1, |(at, _)| *at)
    }

    /// Forgets launches of which nothing can follow any more; `is_used` are those of which bytes are kept.
    pub(super) fn forget(&mut self, is_used: &OrderedSet<u64>) {
        let mut kept: OrderedSet<u64> = is_used.clone();
        kept.extend(self.last.values().chain(self.last_of.values()).chain(self.signalling.values()));
        kept.extend(self.unbound.values().flatten());
        kept.extend(self.entries.values().flat_map(Entry::open_waits).filter_map(|wait| wait.by));
        self.entries.retain(|at, entry| kept.contains(at) || entry.is_running());
    }
}
