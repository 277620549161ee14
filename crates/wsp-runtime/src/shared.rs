//! What the threads of one run share, whatever its tasks are stored in.

use crate::clock::{RunClock, Scale};
use crate::gates::Gates;
use crate::placement::{Division, Placement};
use crate::places::Places;
use crate::ready::Queues;
use crate::replay::Turns;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Mutex, Ordering};
use crate::{Ready, RunConfig, TaskRunner, TracePolicy, clock};
use crossbeam_deque::Worker as Deque;
use crossbeam_utils::CachePadded;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool as Flag;
use std::sync::{Arc, PoisonError};
use std::time::Instant;
use wsp_core::{KernelId, TaskId};

/// No task is refused.
const NEVER: u32 = u32::MAX;

/// Why a task did not succeed.
#[derive(Debug)]
pub(crate) enum Cause<F> {
    Error(F),
    Panic(String),
}

/// A failed task; `T` is what it is known by.
#[derive(Debug)]
pub(crate) struct Failed<F, T = TaskId> {
    pub(crate) task: T,
    pub(crate) kernel: KernelId,
    pub(crate) payload: Vec<u32>,
    pub(crate) cause: Cause<F>,
}

/// What others than its own worker know of a task, for its record.
#[derive(Debug)]
pub(crate) struct Notes {
    /// The task that closed its last edge, and the one upon whose completion the worker of that one released it.
    released: AtomicU64,
    /// The task that opened its gate.
    opened_by: AtomicU32,
}

/// Instead of a task.
pub(crate) const NO_TASK: u32 = u32::MAX;

impl Default for Notes {
    fn default() -> Notes {
        Notes { released: AtomicU64::new(u64::MAX), opened_by: AtomicU32::new(NO_TASK) }
    }
}

// Relaxed throughout: the ready queue or the gates' lock orders what is noted before the worker that reads it.
impl Notes {
    pub(crate) fn clear(&self) {
        self.released.store(u64::MAX, Ordering::Relaxed);
        self.opened_by.store(NO_TASK, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, by: TaskId, with: TaskId) {
        self.released.store(u64::from(with.0) << 32 | u64::from(by.0), Ordering::Relaxed);
    }

    pub(crate) fn open(&self, by: u32) {
        self.opened_by.store(by, Ordering::Relaxed);
    }

    /// By which task it was released, with which, and which opened its gate; [`NO_TASK`] for none.
    pub(crate) fn read(&self) -> [u32; 3] {
        let released = self.released.load(Ordering::Relaxed);
        [released as u32, (released >> 32) as u32, self.opened_by.load(Ordering::Relaxed)]
    }
}

/// Where tasks and edges are stored: what a worker needs to run a task and to release those that wait for it.
pub(crate) trait Store: Sync {
    /// The task in a node; `None` for a barrier node, which completes without running.
    fn task(&self, node: u32) -> Option<TaskId>;

    /// Shows kernel and payload.
    fn call<T>(&self, node: u32, run: impl FnOnce(KernelId, &[u32]) -> T) -> T;

    /// Where it is to run.
    fn placement(&self, node: u32) -> Placement;

    /// Marks the task as started, and shows kernel and payload of each task to prefetch for, or `None` if it is too late
    /// for that one.
    fn start(&self, node: u32, prefetch: impl FnMut(Option<(KernelId, &[u32])>));

    /// Closes the edges from a completed node, and shows each node that has none open to it then.
    fn release(&self, node: u32, ready: impl FnMut(u32));

    /// Takes a completed node back after [`release`](Self::release).
    fn retire(&self, worker: u32, node: u32);

    /// Whether a task that failed may have been waited for by tasks with smaller ids.
    fn has_backward_edges(&self) -> bool;

    /// What is noted of a task for its record; only with a trace.
    fn notes(&self, node: u32) -> &Notes;

    /// When a task was submitted, and whether the source waited for the window before.
    fn submission(&self, node: u32) -> (u64, bool);

    /// A worker has found nothing to do; `completed` is what it completed since it last said so. True if all is done.
    fn idle(&self, worker: u32, completed: u64) -> bool;

    /// Every worker sleeps and no queue holds a task. True if the run cannot go on and is to end.
    fn quiet(&self) -> bool;
}

/// State of one run.
pub(crate) struct Shared<'r, R: TaskRunner, S> {
    pub(crate) runner: &'r R,
    pub(crate) start: Instant,
    /// What is read for every task of a traced run.
    ticks: Option<RunClock>,
    pub(crate) store: S,
    pub(crate) queues: Queues,
    pub(crate) gates: Option<Gates>,
    pub(crate) batch: u32,
    pub(crate) trace: TracePolicy,
    pub(crate) seed: u64,
    pub(crate) stop: CachePadded<Stop>,
    failed: Mutex<Option<Failed<R::Failure>>>,
}

impl<'r, R: TaskRunner, S: Store> Shared<'r, R, S> {
    /// The state, and each worker's own deque under work stealing. `roots` are ready.
    pub(crate) fn new(
        config: &RunConfig,
        runner: &'r R,
        store: S,
        roots: Box<[u32]>,
    ) -> (Shared<'r, R, S>, Vec<Option<Deque<u32>>>) {
        let division = Division::new(config);
        let turns = config.replay.clone().map(|replay| Turns::new(replay, config.threads));
        let (queues, deques) = Queues::new(division, config.ready_policy(), turns, roots);
        let gates = (!config.gates.is_empty()).then(|| Gates::new(&config.gates, Places::new(division)));
        let ticks = (config.trace == TracePolicy::Measured).then(RunClock::begin);
        let shared = Shared {
            runner,
            start: ticks.as_ref().map_or_else(clock::now, RunClock::start),
            ticks,
            store,
            queues,
            gates,
            batch: config.batch,
            trace: config.trace,
            seed: config.seed,
            stop: CachePadded::new(Stop::new(config.cancel.clone())),
            failed: Mutex::new(None),
        };
        (shared, deques)
    }

    pub(crate) fn policy(&self) -> Ready {
        self.queues.policy
    }

    /// Nanoseconds since the run's start.
    pub(crate) fn now(&self) -> u64 {
        clock::nanos_since(self.start)
    }

    /// A reading of the clock for the times of tasks: ticks since the run's start.
    #[inline]
    pub(crate) fn reading(&self) -> u64 {
        self.ticks.as_ref().map_or_else(|| self.now(), RunClock::read)
    }

    /// What readings up to now are in nanoseconds.
    pub(crate) fn scale(&self) -> Scale {
        self.ticks.as_ref().map(RunClock::scale).unwrap_or_default()
    }

    /// Whether a worker, by its pool and its number within, could take a task.
    pub(crate) fn any_for(&self, seat: (usize, u32)) -> bool {
        self.queues.any_for(seat) || self.gates.as_ref().is_some_and(|gates| gates.any_for(seat.0))
    }

    /// A worker is about to sleep: ends the run if nothing can happen any more.
    pub(crate) fn check_quiet(&self) {
        if self.is_quiet() && self.store.quiet() {
            self.queues.close();
        }
    }

    /// Whether every worker sleeps, and no queue and no gate holds a task that may start.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.gates.as_ref().is_some_and(Gates::any) && self.queues.all_quiet()
    }

    /// Records a failed task and refuses all later ones.
    pub(crate) fn fail(&self, failed: Failed<R::Failure>) {
        if self.store.has_backward_edges() {
            self.stop.refuse_all();
        } else {
            self.stop.refuse_after(failed.task);
        }
        let mut first = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let loser = match &*first {
            Some(earlier) if earlier.task < failed.task => Some(failed),
            _ => first.replace(failed),
        };
        drop(first);
        // The caller's type may panic when dropped, which must not take the worker along.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(loser)));
    }

    /// The store, and the failed task with the smallest id.
    pub(crate) fn into_parts(self) -> (S, Option<Failed<R::Failure>>) {
        (self.store, self.failed.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether the run is stopping.
///
/// All accesses are Relaxed: a task released by one that failed or was refused sees the mark, because the release orders
/// it; for others it only matters that they see it soon.
pub(crate) struct Stop {
    /// Tasks with this id or a larger one are not started.
    refused_from: AtomicU32,
    cancel: Option<Arc<Flag>>,
    /// The caller's flag was seen set while there was work left.
    cancelled: AtomicBool,
    /// The source has not returned.
    pub(crate) generating: AtomicBool,
}

impl Stop {
    fn new(cancel: Option<Arc<Flag>>) -> Stop {
        Stop {
            refused_from: AtomicU32::new(NEVER),
            cancel,
            cancelled: AtomicBool::new(false),
            generating: AtomicBool::new(true),
        }
    }

    fn refuse_after(&self, task: TaskId) {
        self.refused_from.fetch_min(task.0 + 1, Ordering::Relaxed);
    }

    /// Refuses every task that has not started.
    pub(crate) fn refuse_all(&self) {
        self.refused_from.store(0, Ordering::Relaxed);
    }

    /// Whether a task must not be started.
    #[inline]
    pub(crate) fn refuses(&self, task: TaskId) -> bool {
        self.poll();
        task.0 >= self.refused_from.load(Ordering::Relaxed)
    }

    /// Whether the source should give up.
    #[inline]
    pub(crate) fn stopping(&self) -> bool {
        self.poll();
        self.refused_from.load(Ordering::Relaxed) != NEVER
    }

    pub(crate) fn was_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Looks at the caller's flag.
    #[inline]
    fn poll(&self) {
        if self.cancel.as_ref().is_some_and(|flag| flag.load(std::sync::atomic::Ordering::Relaxed)) {
            self.cancelled.store(true, Ordering::Relaxed);
            self.refuse_all();
        }
    }
}

/// The text of a panic.
pub(crate) fn message(panic: Box<dyn Any + Send>) -> String {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic without a message".to_owned(),
    };
    // Its payload may itself panic when dropped.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(panic)));
    text
}
