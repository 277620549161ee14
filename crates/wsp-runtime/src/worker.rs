//! A worker: takes ready tasks, runs them, and releases what waited for them.

mod group;
mod search;

use crate::finder::Finder;
use crate::gates::Gates;
use crate::placement::{Placement, Route};
use crate::ranked::Ranked;
use crate::shared::{Cause, Failed, Shared, Store, message};
use crate::sync::Ordering;
use crate::{AffinityStats, KernelStats, PrefetchStats, Ready, TaskRunner, TracePolicy, WorkerStats};
use crossbeam_deque::Worker as Deque;
use group::Group;
pub(crate) use search::{ROUNDS, pause};
use std::panic::{AssertUnwindSafe, catch_unwind};
use wsp_core::{KernelId, TaskId};

/// What a worker counted.
#[derive(Default)]
pub(crate) struct WorkerReport {
    /// Which it is.
    pub(crate) worker: u32,
    pub(crate) stats: WorkerStats,
    pub(crate) kernels: Vec<KernelStats>,
    pub(crate) prefetch: PrefetchStats,
    pub(crate) affinity: AffinityStats,
    pub(crate) cancelled: u64,
    pub(crate) overlapped: u64,
    pub(crate) first_start_ns: Option<u64>,
    pub(crate) trace: Vec<Ran>,
}

/// What a worker records of a task, with a trace. Times are readings of the clock.
#[derive(Clone, Copy)]
pub(crate) struct Ran {
    pub(crate) task: TaskId,
    pub(crate) kernel: KernelId,
    pub(crate) stalled: bool,
    pub(crate) submitted: u64,
    pub(crate) started: u64,
    pub(crate) finished: u64,
    /// These three are [`NO_TASK`](crate::shared::NO_TASK) where there is none.
    pub(crate) released_by: u32,
    pub(crate) released_with: u32,
    pub(crate) opened_by: u32,
}

const _: () = assert!(size_of::<Ran>() <= 48);

/// A task that is running, for when it panics.
#[derive(Clone, Copy)]
struct Running {
    node: u32,
    task: TaskId,
    started_ns: u64,
}

/// One worker thread.
pub(crate) struct Worker<'s, 'r, R: TaskRunner, S: Store> {
    shared: &'s Shared<'r, R, S>,
    index: u32,
    finder: Finder,
    report: WorkerReport,
    running: Option<Running>,
    /// When the last task ended, if the next one starts at once and only sums are kept: the clock is then read once per task.
    ended_ns: Option<u64>,
    /// What it runs next without asking the queues.
    next: Option<u32>,
    /// Completed nodes that were not released yet.
    gathered: Vec<u32>,
    /// Nodes completed since the store was last told.
    completed: u64,
    /// Scratch: tasks (with their ids) and barrier nodes that a completion released.
    released: Vec<(TaskId, u32)>,
    points: Vec<u32>,
    /// With a trace, the task whose completion releases barrier nodes at the moment.
    root: Option<TaskId>,
    /// Scratch: what is queued by priority.
    queued: Vec<(u32, Placement)>,
    /// Tasks that were taken together and are not complete.
    group: Group,
}

impl<'s, 'r, R: TaskRunner, S: Store> Worker<'s, 'r, R, S> {
    pub(crate) fn new(shared: &'s Shared<'r, R, S>, index: u32, deque: Option<Deque<u32>>) -> Self {
        let finder = Finder::new(&shared.queues, index, deque, shared.seed);
        let mut report = WorkerReport { worker: index, ..WorkerReport::default() };
        report.stats.busy_ns = shared.trace.times().then_some(0);
        Worker {
            shared,
            index,
            finder,
            report,
            running: None,
            ended_ns: None,
            next: None,
            gathered: Vec::new(),
            completed: 0,
            released: Vec::new(),
            points: Vec::new(),
            root: None,
            queued: Vec::new(),
            group: Group::default(),
        }
    }

    /// Works until the run is closed.
    pub(crate) fn work(mut self) -> WorkerReport {
        self.work_on(Worker::take);
        self.report
    }

    /// Works as long as `goes_on` says so and there is a task at once or soon.
    pub(crate) fn work_for_now(&mut self, goes_on: &mut impl FnMut() -> bool) {
        self.work_on(|worker| worker.take_soon(goes_on));
    }

    pub(crate) fn into_report(self) -> WorkerReport {
        self.report
    }

    /// Runs what `take` gives.
    fn work_on(&mut self, mut take: impl FnMut(&mut Self) -> Option<u32>) {
        let mut run_all = |worker: &mut Self| {
            while let Some(node) = take(worker) {
                worker.execute(node);
            }
        };
        // Entered anew only after a panic, so that tasks which do not panic pay nothing for it.
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| run_all(self))) {
            let Some(running) = self.running.take() else { std::panic::resume_unwind(panic) };
            let finished = if self.shared.trace.times() { self.shared.reading() } else { 0 };
            // A prefetch that panicked came before the start.
            self.shared.queues.pass(self.shared.store.placement(running.node));
            self.finish(running, finished);
            self.fail(running, Cause::Panic(message(panic)));
            self.conclude(running.node);
            self.leave_group(running, finished);
        }
    }

    #[inline]
    fn execute(&mut self, node: u32) {
        let shared = self.shared;
        if self.group.is_led_by(node) {
            return self.run_group();
        }
        let Some(task) = shared.store.task(node) else { return self.complete(node) };
        if shared.stop.refuses(task) {
            self.report.cancelled += 1;
            shared.queues.pass(shared.store.placement(node));
        } else if self.gathers(node) {
            return self.run_group();
        } else {
            self.run(node, task);
        }
        self.conclude(node);
    }

    #[inline]
    fn run(&mut self, node: u32, task: TaskId) {
        let shared = self.shared;
        let worker = self.index as usize;
        // Also if a prefetch panics.
        self.running = Some(Running { node, task, started_ns: 0 });
        self.start(node);
        let times = shared.trace.times();
        let running = Running { node, task, started_ns: if times { self.begins() } else { 0 } };
        self.running = Some(running);
        self.pass_turn(node);
        let result =
            shared.store.call(node, |kernel, payload| shared.runner.run(worker, task, kernel, payload));
        self.running = None;
        let finished_ns = if times { self.ends() } else { 0 };
        self.finish(running, finished_ns);
        if let Err(failure) = result {
            self.fail(running, Cause::Error(failure));
        }
    }

    /// When a task begins.
    #[inline]
    fn begins(&mut self) -> u64 {
        self.ended_ns.take().unwrap_or_else(|| self.shared.reading())
    }

    /// When a task ends.
    #[inline]
    fn ends(&mut self) -> u64 {
        let now = self.shared.reading();
        self.ended_ns = (self.shared.trace == TracePolicy::Totals).then_some(now);
        now
    }

    /// Lets the next task of its stream start, now that the time of the start is known.
    #[inline]
    fn pass_turn(&self, node: u32) {
        if self.shared.policy() == Ready::Priority {
            self.shared.queues.pass(self.shared.store.placement(node));
        }
        if let Some(gates) = &self.shared.gates
            && gates.orders_streams()
        {
            gates.with(|book| book.pass_turn(node, self.shared.store.placement(node)));
            gates.notify(&self.shared.queues.pools);
            self.shared.queues.tell_next();
        }
    }

    /// Marks a task as started, and prefetches for others.
    #[inline]
    fn start(&mut self, node: u32) {
        let (shared, worker) = (self.shared, self.index as usize);
        let prefetch = &mut self.report.prefetch;
        shared.store.start(node, |target| match target {
            Some((kernel, payload)) => {
                shared.runner.prefetch(worker, kernel, payload);
                prefetch.issued += 1;
            }
            None => prefetch.missed += 1,
        });
    }

    /// Counts a task that ran.
    #[inline]
    fn finish(&mut self, running: Running, finished_ns: u64) {
        let shared = self.shared;
        let report = &mut self.report;
        report.stats.tasks += 1;
        report.overlapped += u64::from(shared.stop.generating.load(Ordering::Relaxed));
        let placement = shared.store.placement(running.node);
        if placement.route != Route::Any && shared.queues.turns().is_none() {
            let topology = shared.queues.pools[self.finder.pool].topology;
            let hit = topology.is_target(placement.route, self.finder.worker);
            report.affinity.hits += u64::from(hit);
            report.affinity.misses += u64::from(!hit);
        }
        if shared.trace.times() {
            self.record(running, finished_ns);
        }
    }

    #[cold]
    fn record(&mut self, running: Running, finished_ns: u64) {
        let shared = self.shared;
        let Running { node, task, started_ns } = running;
        // A prefetch that panicked came before the start.
        let started_ns = if started_ns == 0 { finished_ns } else { started_ns };
        let busy = finished_ns - started_ns;
        let kernel = shared.store.call(node, |kernel, _| kernel);
        let report = &mut self.report;
        report.first_start_ns.get_or_insert(started_ns);
        *report.stats.busy_ns.get_or_insert(0) += busy;
        if report.kernels.len() <= kernel.index() {
            report.kernels.resize(kernel.index() + 1, KernelStats::default());
        }
        let of_kernel = &mut report.kernels[kernel.index()];
        of_kernel.tasks += 1;
        *of_kernel.busy_ns.get_or_insert(0) += busy;
        if shared.trace == TracePolicy::Measured {
            let (submitted_ns, stalled) = shared.store.submission(node);
            let [released_by, released_with, opened_by] = shared.store.notes(node).read();
            report.trace.push(Ran {
                task,
                kernel,
                stalled,
                submitted: submitted_ns,
                started: started_ns,
                finished: finished_ns,
                released_by,
                released_with,
                opened_by,
            });
        }
    }

    /// Completes a task that ran or was dropped, and gives its permits back after what it made ready is queued.
    #[inline]
    fn conclude(&mut self, node: u32) {
        match &self.shared.gates {
            None => self.complete(node),
            Some(gates) => self.conclude_behind(gates, node),
        }
    }

    #[cold]
    fn conclude_behind(&mut self, gates: &Gates, node: u32) {
        // Once it is complete, another task may be in its place. One that was dropped still has the turn of its stream.
        let placement = self.shared.store.placement(node);
        let task = self.shared.store.task(node).map_or(node, |task| task.0);
        if gates.orders_streams() {
            gates.with(|book| book.pass_turn(node, placement));
        }
        self.complete(node);
        gates.with(|book| book.leave(task, placement));
        gates.notify(&self.shared.queues.pools);
        self.shared.queues.tell_next();
    }

    #[cold]
    fn fail(&self, running: Running, cause: Cause<R::Failure>) {
        let shared = self.shared;
        let (kernel, payload): (KernelId, Vec<u32>) =
            shared.store.call(running.node, |kernel, payload| (kernel, payload.to_vec()));
        shared.fail(Failed { task: running.task, kernel, payload, cause });
    }

    /// Releases what waits for a node that ran or was dropped; not yet while completions are gathered.
    #[inline]
    fn complete(&mut self, node: u32) {
        if self.shared.batch == 1 {
            self.release(node);
            self.queue_released();
        } else {
            self.gathered.push(node);
            if self.gathered.len() as u32 >= self.shared.batch {
                self.flush();
            }
        }
    }

    #[cold]
    fn flush(&mut self) {
        while let Some(node) = self.gathered.pop() {
            self.release(node);
        }
        self.queue_released();
    }

    /// Closes the edges from a node and hands it back, with all barrier nodes that this completes.
    #[inline]
    fn release(&mut self, node: u32) {
        self.release_one(node);
        while let Some(point) = self.points.pop() {
            self.release_one(point);
        }
    }

    #[inline]
    fn release_one(&mut self, node: u32) {
        let Worker { shared, released, points, report, root, .. } = self;
        shared.store.release(node, |ready| {
            match shared.store.task(ready) {
                Some(task) => released.push((task, ready)),
                None => points.push(ready),
            }
            if shared.trace == TracePolicy::Measured {
                note(shared, report, root, (node, ready));
            }
        });
        shared.store.retire(self.index, node);
        self.completed += 1;
    }

    /// Queues what became ready, by task id.
    #[inline]
    fn queue_released(&mut self) {
        match self.released.len() {
            0 => return,
            1 => {}
            _ => self.released.sort_unstable(),
        }
        let shared = self.shared;
        if let Some(ranked) = &shared.queues.ranked {
            return self.queue_ranked(ranked);
        }
        let own = Some((self.finder.pool, self.finder.deque()));
        let mut rest = 0..self.released.len();
        if self.runs_at_once(self.released[0].1) {
            self.next = Some(self.released[0].1);
            rest.start = 1;
        }
        let stealing = shared.policy() == Ready::WorkSteal;
        for i in rest.clone() {
            // The owner of a deque pops what was pushed last.
            let at = if stealing { rest.start + rest.end - 1 - i } else { i };
            let node = self.released[at].1;
            let placement = shared.store.placement(node);
            shared.queues.push(node, placement, own);
            // Without a task at hand, this worker takes the last of them itself, if it may.
            let takes = self.next.is_none() && i + 1 == rest.end && self.takes(placement);
            if !takes {
                shared.queues.notify(placement);
            }
        }
        self.released.clear();
    }

    /// Queues what became ready by priority, all at once.
    fn queue_ranked(&mut self, ranked: &Ranked) {
        let shared = self.shared;
        // Before they are queued: once a task ran, another may be in its place.
        let mut tasks = std::mem::take(&mut self.queued);
        tasks.extend(self.released.drain(..).map(|(_, node)| (node, shared.store.placement(node))));
        ranked.push(tasks.iter().copied());
        for (at, (_, placement)) in tasks.iter().enumerate() {
            // This worker looks next: one task needs no other, if it may take it.
            let takes = at + 1 == tasks.len() && self.takes(*placement);
            if !takes {
                shared.queues.notify(*placement);
            }
        }
        tasks.clear();
        self.queued = tasks;
    }

    /// Whether the policy lets this worker run a node that it has just released, ahead of all queues.
    #[inline]
    fn runs_at_once(&self, node: u32) -> bool {
        // Older ones may wait at a gate, and go first when it opens.
        if self.next.is_some()
            || self.shared.gates.is_some()
            || !self.takes(self.shared.store.placement(node))
        {
            return false;
        }
        match self.shared.policy() {
            Ready::WorkSteal => true,
            // In and out of an empty queue.
            Ready::Fifo => self.shared.queues.pools[self.finder.pool].common.is_empty(),
            _ => false,
        }
    }

    /// Whether this worker, when it looks, finds a task of this kind with its first look.
    #[inline]
    fn takes(&self, placement: Placement) -> bool {
        if placement == Placement::default() && self.shared.queues.pools.len() == 1 {
            return true;
        }
        let queues = &self.shared.queues;
        queues.division.pool_of(placement.pool) == Some(self.finder.pool)
            && queues.pools[self.finder.pool].topology.is_target(placement.route, self.finder.worker)
    }
}

/// Notes which task's completion released a node, for the record of the one or of those behind the barrier node that it is.
#[cold]
fn note<R: TaskRunner, S: Store>(
    shared: &Shared<'_, R, S>,
    report: &WorkerReport,
    root: &mut Option<TaskId>,
    (node, ready): (u32, u32),
) {
    // A barrier node is released by what released it.
    *root = shared.store.task(node).or(*root);
    if let (Some(by), Some(newest)) = (*root, report.trace.last())
        && shared.store.task(ready).is_some()
    {
        shared.store.notes(ready).release(by, newest.task);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::clock::READINGS;
    use crate::{Deps, RunConfig, TaskGraph, TaskSpec};

    struct Nothing;

    impl TaskRunner for Nothing {
        type Failure = ();

        fn run(&self, _: usize, _: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
            Ok(())
        }
    }

    /// Readings of the clock and nanoseconds in tasks of a run of a chain on this thread.
    fn run(tasks: u32, trace: TracePolicy) -> (u64, Option<u64>) {
        let mut graph = TaskGraph::new(Deps::Explicit);
        for task in 0..tasks {
            let after: Vec<TaskId> = task.checked_sub(1).map(TaskId).into_iter().collect();
            assert!(graph.submit(TaskSpec { after: &after, ..TaskSpec::default() }).is_ok());
        }
        let before = READINGS.get();
        let stats = graph.run(&RunConfig { trace, ..RunConfig::default() }, &Nothing).expect("no task fails");
        (READINGS.get() - before, stats.workers[0].busy_ns)
    }

    #[test]
    fn sums_of_times_take_one_reading_of_the_clock_per_task_and_a_trace_two() {
        let more = |trace| run(150, trace).0 - run(50, trace).0;
        assert_eq!((more(TracePolicy::None), more(TracePolicy::Totals)), (0, 100));
        // Begin and end; when it became ready follows from the end of the one before it.
        assert_eq!(more(TracePolicy::Measured), 200);
        let (_, busy_ns) = run(50, TracePolicy::Totals);
        assert!(busy_ns.is_some_and(|ns| ns > 0));
    }
}
