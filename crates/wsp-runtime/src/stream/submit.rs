//! The planner's side: submits tasks in elaboration order.

use super::known::KnownRegions;
use super::recent::Recent;
use super::slot::NIL;
use super::store::Stream;
use super::waits::{Event, Origin, Pred, SourceWait};
use super::window::Window;
use crate::infer::{MapError, SlotTask};
use crate::inference::Inference;
use crate::placement::Placement;
use crate::replay::Replay;
use crate::scopes::{Scopes, Unfinished};
use crate::shared::Shared;
use crate::sync::Ordering;
use crate::team::Unstarted;
use crate::timeline::RunFacts;
use crate::worker::{Worker, WorkerReport};
use crate::{
    Deps, Gate, NotReplayed, Overflow, Report, RunConfig, Start, Stats, Stopped, TaskRunner, TaskSpec,
    WindowMode,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use wsp_core::{EventId, StreamId, TaskId, limits};

/// Takes tasks from the source of a run.
pub struct Submitter<'r, R: TaskRunner> {
    pub(super) shared: &'r Shared<'r, R, Stream>,
    pub(super) window: Window<'r, R>,
    pub(super) inference: Inference<SlotTask>,
    pub(super) capacity: u32,
    mode: WindowMode,
    pub(super) deps: Deps,
    start: Start,
    next_task: u32,
    /// Whose turn it is among the workers, for tasks to spread.
    turn: u32,
    /// Scratch: predecessors of the task at hand.
    pub(super) preds: Vec<Pred>,
    /// Ready tasks that the start policy holds back; `None` when it has let them go.
    held: Option<Vec<(u32, Placement)>>,
    /// The last fence, while it has not completed.
    pub(super) fence: Option<SlotTask>,
    /// Tasks since then.
    pub(super) since_fence: Unfinished<SlotTask>,
    pub(super) fences: u32,
    /// Whether an ordered scope has begun.
    pub(super) ordered: bool,
    pub(super) scopes: Scopes<SlotTask>,
    pub(super) events: Vec<Event>,
    /// The last task of each stream.
    streams: FxHashMap<StreamId, SlotTask>,
    /// Whether a gate lets several tasks of one stream be in flight: then gates keep their order, and edges do not.
    streams_overlap: bool,
    recent: Recent,
    /// The order in which tasks start, and among how many workers.
    replay: Option<(Arc<Replay>, u32)>,
    pub(super) stuck: Option<Report>,
    /// Whether the source waited for the window since the last task.
    stalled: bool,
    /// The last reading of the clock, and for how many tasks more it stands.
    stamp: (u64, u32),
    stats: Stats,
    lineage: Lineage,
}

/// Tasks for which one reading of the clock stands, unless the source waits.
const STAMPED: u32 = 16;

/// Predecessors of every task, for the trace.
#[derive(Default)]
pub(super) struct Lineage {
    /// Where each task's predecessors end, and the fences before it.
    ends: Vec<(usize, u32)>,
    preds: Vec<TaskId>,
}

impl Lineage {
    /// Predecessors of a task and the number of fences before it.
    pub(super) fn of(&self, task: TaskId) -> (&[TaskId], u32) {
        let begin = task.index().checked_sub(1).map_or(0, |before| self.ends[before].0);
        let (end, fences) = self.ends[task.index()];
        (&self.preds[begin..end], fences)
    }
}

/// What the planner knows at the end of a run.
pub(super) struct PlannerReport {
    pub(super) stats: Stats,
    pub(super) lineage: Lineage,
    /// Tasks that were submitted and will never be ready.
    pub(super) unfinished: u32,
}

impl<'r, R: TaskRunner> Submitter<'r, R> {
    pub(super) fn new(
        shared: &'r Shared<'r, R, Stream>,
        config: &RunConfig,
        known: &mut KnownRegions,
    ) -> Submitter<'r, R> {
        let held = config.start != Start::Immediate;
        Submitter {
            shared,
            window: Window::new(shared, config.window.capacity),
            inference: Inference::with(config.deps, known.take()),
            capacity: config.window.capacity,
            mode: config.window.mode,
            deps: config.deps,
            start: config.start,
            next_task: 0,
            turn: 0,
            preds: Vec::new(),
            held: held.then(Vec::new),
            fence: None,
            since_fence: Unfinished::default(),
            fences: 0,
            ordered: false,
            scopes: Scopes::default(),
            events: Vec::new(),
            streams: FxHashMap::default(),
            streams_overlap: Gate::stream_depth(&config.gates) > 1,
            recent: Recent::new(config),
            replay: config.replay.clone().map(|replay| (replay, config.threads)),
            stuck: None,
            stalled: false,
            stamp: (0, 0),
            stats: Stats {
                facts: RunFacts {
                    window: config.window.capacity,
                    opened_ns: 0,
                    in_order: config.replay.is_some(),
                },
                ..Stats::default()
            },
            lineage: Lineage::default(),
        }
    }

    /// Submits a task: it starts once all that it must wait for is complete, see [`TaskSpec`] and [`Deps`]. While the
    /// window is full, does what its mode says. Ids count up from 0.
    ///
    /// # Errors
    /// The run is stopping, or the task cannot be: see [`Stopped`]. The task is then not submitted.
    pub fn submit(&mut self, spec: TaskSpec<'_>) -> Result<TaskId, Stopped> {
        let plain = spec.is_plain();
        self.check(&spec, plain)?;
        let task = self.next_task;
        if self.window.is_full() {
            self.wait_for_slot(task)?;
        }
        let token = if self.ordered { self.scope_token() } else { None };
        let access = SlotTask { task, slot: self.window.take(task) };
        if let Err(error) = self.find_predecessors(access, &spec, plain, token) {
            self.window.release(access.slot);
            return Err(Stopped::Map(error));
        }
        self.next_task += 1;
        self.reserve_edges(usize::from(spec.signals.is_some()));
        let placement = self.placement(&spec, plain);
        if self.shared.store.moments.is_some() {
            self.begin_record(access.slot);
        }
        let pending = self.preds.len() as u32 + 1;
        self.window.slot(access.slot).fill(task, spec.kernel, spec.payload, placement, pending);
        if self.streams_overlap {
            self.announce(access.slot, placement);
        }
        let open = self.link(access.slot);
        self.remember(access);
        if !plain || self.ordered {
            self.order(access, &spec);
        }
        self.stats.roots += u64::from(open == 0);
        if self.close_pending(access.slot, pending - open) {
            self.make_ready(access.slot, placement);
        }
        if self.start == Start::Threshold(self.next_task) {
            self.release_held();
        }
        Ok(TaskId(task))
    }

    /// Whether the window has room, so that [`submit`](Self::submit) would not have to wait for it: document 003's `can_submit`. Room that
    /// there is stays until a task is submitted.
    pub fn can_submit(&mut self) -> bool {
        !self.cancelled() && !self.window.is_full()
    }

    /// Submits a task if the window has room, whatever its mode; `None` when it is full. What is to be done until there is room, the source
    /// decides: [`wait_for_space`](Self::wait_for_space), or something else.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), but for a full window.
    pub fn try_submit(&mut self, spec: TaskSpec<'_>) -> Result<Option<TaskId>, Stopped> {
        if !self.cancelled() && self.window.is_full() {
            return Ok(None);
        }
        self.submit(spec).map(Some)
    }

    /// Waits until the window has room, whatever its mode. Tasks that wait for the start of the run may start then, as they do when
    /// [`submit`](Self::submit) waits.
    ///
    /// # Errors
    /// [`Stopped::Stopping`]: the run is stopping, or nothing that runs could make room.
    pub fn wait_for_space(&mut self) -> Result<(), Stopped> {
        if self.cancelled() {
            return Err(Stopped::Stopping);
        }
        if self.window.is_full() { self.wait_until_room() } else { Ok(()) }
    }

    /// Asks that the inputs of `target` be brought near by the worker that starts `starting`, just before it does. Never
    /// changes a result. If it is too late for that the request is counted as missed.
    pub fn prefetch_when_starts(&mut self, starting: TaskId, target: TaskId) {
        let added = match (self.live(starting), self.live(target)) {
            (Some(first), Some(second)) => self.window.slot(first.slot).add_target(target, second.slot),
            _ => false,
        };
        self.stats.prefetch.missed += u64::from(!added);
    }

    /// Counts a prefetch that comes too late: the task to start with is known to have completed.
    pub fn prefetch_missed(&mut self) {
        self.stats.prefetch.missed += 1;
    }

    /// Whether a task may still wait or run: not yet known to be complete.
    pub fn is_in_flight(&self, task: TaskId) -> bool {
        self.live(task).is_some()
    }

    /// Tasks submitted so far.
    pub(super) fn submitted(&self) -> u32 {
        self.next_task
    }

    /// Whether the run is stopping, because a task failed, the caller asked for it, or it cannot go on.
    #[inline]
    pub fn cancelled(&self) -> bool {
        self.stuck.is_some() || self.shared.stop.stopping()
    }

    /// Lets everything start and waits until it has been retired, as one of the workers where a thread has not come to be that one yet.
    /// Tells if some of it never will, and what this worker did.
    pub(super) fn drain(
        &mut self,
        unstarted: Option<&Unstarted<'_, Worker<'_, '_, R, Stream>>>,
    ) -> (Option<Report>, Option<WorkerReport>) {
        self.release_held();
        let own = unstarted.and_then(|unstarted| self.work_for_now(unstarted));
        let left = match self.window.drain() {
            Ok(()) => None,
            Err(_) => Some(self.explain(SourceWait::End)),
        };
        (left, own)
    }

    /// Works as the last worker that no thread is yet, until all is complete; then its report is returned. When there is nothing to do for a
    /// while, a thread becomes that worker: this one sleeps.
    fn work_for_now(&mut self, unstarted: &Unstarted<'_, Worker<'_, '_, R, Stream>>) -> Option<WorkerReport> {
        let (at, mut worker) = unstarted.take()?;
        worker.work_for_now(&mut || !self.window.is_empty());
        if self.window.is_empty() {
            return Some(worker.into_report());
        }
        unstarted.put((at, worker));
        None
    }

    pub(super) fn into_report(self, known: &mut KnownRegions) -> PlannerReport {
        let stats = Stats {
            tasks: u64::from(self.next_task),
            max_in_flight: self.window.peak,
            edge_stalls: self.window.edge_stalls,
            ..self.stats
        };
        known.keep(self.inference.into_map());
        PlannerReport { stats, lineage: self.lineage, unfinished: self.window.in_use() }
    }

    /// Checks a task before anything is changed.
    #[inline]
    fn check(&self, spec: &TaskSpec<'_>, plain: bool) -> Result<(), Stopped> {
        if self.cancelled() {
            return Err(Stopped::Stopping);
        }
        if spec.payload.len() > limits::MAX_PAYLOAD_WORDS as usize {
            return Err(Stopped::PayloadTooLong { words: spec.payload.len() });
        }
        if self.next_task >= limits::MAX_TASKS {
            return Err(Stopped::TooManyTasks);
        }
        if !spec.after.is_empty() && !self.deps.takes_edges() {
            return Err(Stopped::EdgeNotTaken);
        }
        if let Some(&unknown) = spec.after.iter().find(|task| task.0 >= self.next_task) {
            return Err(Stopped::UnknownTask(unknown));
        }
        if let Some((replay, threads)) = &self.replay {
            replay.check(self.next_task, spec.kernel)?;
            let (worker, _) = replay.place(self.next_task, *threads);
            if !self.shared.queues.division.runs(worker, spec.pool) {
                let (task, why) = (TaskId(self.next_task), NotReplayed::Pool { worker });
                return Err(Stopped::NotReplayed { task, why });
            }
        }
        if plain { Ok(()) } else { self.check_events(spec) }
    }

    #[cold]
    fn check_events(&self, spec: &TaskSpec<'_>) -> Result<(), Stopped> {
        let known = |event: &EventId| event.index() < self.events.len();
        if let Some(&unknown) = spec.waits.iter().chain(&spec.signals).find(|event| !known(event)) {
            return Err(Stopped::UnknownEvent(unknown));
        }
        match spec.signals {
            Some(event) if self.events[event.index()].signalled => Err(Stopped::SignalledTwice(event)),
            _ => Ok(()),
        }
    }

    /// The window is full: waits, or refuses the task.
    #[cold]
    fn wait_for_slot(&mut self, task: u32) -> Result<(), Stopped> {
        let active = self.window.in_use();
        if self.mode == WindowMode::Abort {
            return Err(Stopped::WindowOverflow { capacity: self.capacity, active, task: TaskId(task) });
        }
        let since = if self.mode == WindowMode::Benchmark { self.shared.now() } else { 0 };
        self.wait_until_room()?;
        if self.mode == WindowMode::Benchmark {
            let waited_ns = self.shared.now() - since;
            let high_water = self.window.peak;
            self.stats.overflows.push(Overflow { task: TaskId(task), waited_ns, high_water });
        }
        Ok(())
    }

    #[cold]
    fn wait_until_room(&mut self) -> Result<(), Stopped> {
        self.stats.window_stalls += 1;
        self.stalled = true;
        self.force_start();
        while self.window.is_full() {
            if self.window.wait_for_some().is_err() {
                self.stuck = Some(self.explain(SourceWait::Window));
                return Err(Stopped::Stopping);
            }
        }
        // What stopped the run may have made the room.
        if self.cancelled() { Err(Stopped::Stopping) } else { Ok(()) }
    }

    /// Fills `preds`.
    #[inline]
    fn find_predecessors(
        &mut self,
        access: SlotTask,
        spec: &TaskSpec<'_>,
        plain: bool,
        token: Option<SlotTask>,
    ) -> Result<(), MapError> {
        let Submitter { window, preds, inference, .. } = self;
        preds.clear();
        if spec.has_accesses() {
            inference.infer(
                access,
                spec.accesses(),
                |earlier| window.is_live(earlier),
                |earlier, hazard| preds.push(Pred { access: earlier, origin: Origin::Hazard(hazard) }),
            )?;
        }
        for &task in spec.after {
            if let Some(access) = self.live(task) {
                self.preds.push(Pred { access, origin: Origin::Explicit });
            }
        }
        if let Some(fence) = self.fence {
            if self.window.is_complete(fence) {
                self.fence = None;
            } else {
                self.preds.push(Pred::order(fence));
            }
        }
        if !plain || self.ordered {
            self.find_order(access, spec, token);
        }
        Ok(())
    }

    /// Tells the gates that a task is the next of its stream, before it can become ready.
    #[cold]
    fn announce(&self, slot: u32, placement: Placement) {
        if let (Some(gates), Some(stream)) = (&self.shared.gates, placement.stream) {
            gates.with(|book| book.announce(stream, slot));
        }
    }

    #[cold]
    fn find_order(&mut self, access: SlotTask, spec: &TaskSpec<'_>, token: Option<SlotTask>) {
        let stream = spec.stream.filter(|_| !self.streams_overlap);
        let before = stream.and_then(|stream| self.streams.insert(stream, access));
        if let Some(access) = before.filter(|&access| self.window.is_live(access)) {
            self.preds.push(Pred { access, origin: Origin::Stream });
        }
        let events = spec.waits.iter().map(|event| self.events[event.index()].point);
        let window = &self.window;
        let points = events.chain(token).filter(|&point| window.is_live(point));
        self.preds.extend(points.map(Pred::order));
    }

    /// Adds the edges from a task that order what comes later.
    #[cold]
    fn order(&mut self, access: SlotTask, spec: &TaskSpec<'_>) {
        if let Some(event) = spec.signals {
            let event = &mut self.events[event.index()];
            event.signalled = true;
            self.window.signal(access.slot, event.point);
            self.stats.edges.fence += 1;
        }
        self.add_to_step(access);
    }

    /// Makes sure that there is an edge for each of `preds` and `more`; while it waits, predecessors complete.
    pub(super) fn reserve_edges(&mut self, more: usize) {
        if self.preds.len() + more > self.window.edges.available() {
            self.wait_for_edges(more);
        }
    }

    #[cold]
    fn wait_for_edges(&mut self, more: usize) {
        self.window.collect();
        let mut waited = false;
        loop {
            let window = &self.window;
            self.preds.retain(|pred| !window.is_complete(pred.access));
            let needed = self.preds.len() + more;
            if needed <= self.window.edges.available() {
                break;
            }
            waited = true;
            self.force_start();
            if self.window.wait_for_one().is_err() {
                // What holds the edges waits for tasks yet to come.
                self.window.edges.reserve(needed);
            }
        }
        self.window.edge_stalls += u64::from(waited);
        if waited {
            self.restamp();
        }
    }

    /// Has the next task's submission stamped anew: the source has waited.
    pub(super) fn restamp(&mut self) {
        self.stamp.1 = 0;
    }

    /// Adds an edge from each of `preds` that has not completed, and returns how many.
    #[inline]
    pub(super) fn link(&mut self, slot: u32) -> u32 {
        let pool = &self.shared.store.edges;
        let (mut chain, mut open) = (NIL, 0);
        for pred in &self.preds {
            chain = self.window.edges.take(pool, chain);
            if pool.link(self.window.slot(pred.access.slot), chain, slot) {
                open += 1;
                let edges = &mut self.stats.edges;
                match pred.origin {
                    Origin::Hazard(hazard) => edges.count(hazard),
                    Origin::Explicit => edges.explicit += 1,
                    Origin::Stream => edges.stream += 1,
                    Origin::Order => edges.fence += 1,
                }
            } else {
                chain = self.window.edges.release_first(chain);
            }
        }
        self.window.set_edges(slot, chain);
        open
    }

    /// Takes the planner's share off `pending`; true if nothing is left.
    #[inline]
    pub(super) fn close_pending(&self, slot: u32, share: u32) -> bool {
        let pending = &self.window.slot(slot).pending;
        // AcqRel: passes on the writes of predecessors found complete, and takes over those of the others.
        pending.fetch_sub(share, Ordering::AcqRel) == share
    }

    #[inline]
    fn make_ready(&mut self, slot: u32, placement: Placement) {
        match &mut self.held {
            Some(held) => held.push((slot, placement)),
            None => queue(self.shared, slot, placement),
        }
    }

    /// The source has to wait, so tasks must start.
    pub(super) fn force_start(&mut self) {
        if self.held.is_some() {
            self.stats.forced_starts += 1;
            self.release_held();
        }
    }

    /// Lets tasks start.
    fn release_held(&mut self) {
        let Some(held) = self.held.take() else { return };
        if self.shared.store.moments.is_some() {
            self.stats.facts.opened_ns = self.shared.reading();
        }
        self.shared.queues.push_all(&held);
        held.iter().for_each(|(_, placement)| self.shared.queues.notify(*placement));
    }

    #[inline]
    fn placement(&mut self, spec: &TaskSpec<'_>, plain: bool) -> Placement {
        if let Some((replay, threads)) = &self.replay {
            let (worker, priority) = replay.place(self.next_task - 1, *threads);
            return self.shared.queues.division.on(worker, spec.stream, priority);
        }
        if plain {
            return Placement::default();
        }
        let route = self.shared.queues.division.route(spec.affinity, spec.pool, &mut self.turn);
        Placement { route, pool: spec.pool, stream: spec.stream, priority: spec.priority }
    }

    /// Remembers a task for later ones.
    #[inline]
    fn remember(&mut self, access: SlotTask) {
        let window = &self.window;
        self.since_fence.push(access, |earlier| window.is_live(earlier));
        self.recent.add(access, |earlier| window.is_live(earlier));
    }

    /// A task that is not known to be complete.
    fn live(&self, task: TaskId) -> Option<SlotTask> {
        self.recent.find(task, |access| self.window.is_live(access))
    }

    /// Stamps a task's submission and remembers what it waits for.
    fn begin_record(&mut self, slot: u32) {
        let stalled = std::mem::take(&mut self.stalled);
        if stalled || self.stamp.1 == 0 {
            self.stamp = (self.shared.reading(), STAMPED);
        }
        self.stamp.1 -= 1;
        if let Some(moments) = &self.shared.store.moments {
            moments.get(slot).submit(self.stamp.0, stalled);
        }
        self.remember_lineage();
    }

    fn remember_lineage(&mut self) {
        let begin = self.lineage.preds.len();
        let tasks = self.preds.iter().filter(|pred| pred.origin != Origin::Order);
        self.lineage.preds.extend(tasks.map(|pred| TaskId(pred.access.task)));
        self.lineage.preds[begin..].sort_unstable();
        self.lineage.ends.push((self.lineage.preds.len(), self.fences));
    }
}

/// Queues a ready task.
#[inline]
fn queue<R: TaskRunner>(shared: &Shared<'_, R, Stream>, slot: u32, placement: Placement) {
    shared.queues.push(slot, placement, None);
    shared.queues.notify(placement);
}
