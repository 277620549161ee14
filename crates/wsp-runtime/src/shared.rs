//! What planner and workers share during one run.

use crate::completion::Completions;
use crate::edges::EdgePool;
use crate::ready::ReadyQueues;
use crate::segmented::Segmented;
use crate::sleep::Sleep;
use crate::slot::Slot;
use crate::{RunConfig, TaskRunner, clock};
use crossbeam_utils::CachePadded;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use wsp_core::{KernelId, TaskId};

/// No task is refused.
const NEVER: u32 = u32::MAX;

/// Times of a task that its worker does not take itself, in nanoseconds.
#[derive(Default)]
pub(crate) struct Moments {
    pub(crate) submitted: AtomicU64,
    pub(crate) ready: AtomicU64,
}

/// Why a task did not succeed.
pub(crate) enum Cause<F> {
    Error(F),
    Panic(String),
}

/// A failed task.
pub(crate) struct Failed<F> {
    pub(crate) task: TaskId,
    pub(crate) kernel: KernelId,
    pub(crate) payload: Vec<u32>,
    pub(crate) cause: Cause<F>,
}

/// State of one run.
pub(crate) struct Shared<'r, R: TaskRunner> {
    pub(crate) runner: &'r R,
    pub(crate) config: &'r RunConfig,
    pub(crate) start: Instant,
    pub(crate) slots: Segmented<Slot>,
    pub(crate) edges: EdgePool,
    /// Present with a trace.
    pub(crate) moments: Option<Segmented<Moments>>,
    pub(crate) queues: ReadyQueues,
    pub(crate) sleep: Sleep,
    pub(crate) completions: Completions,
    pub(crate) stop: CachePadded<Stop>,
    failed: Mutex<Option<Failed<R::Failure>>>,
}

impl<'r, R: TaskRunner> Shared<'r, R> {
    /// Slots in the first segment, as a power of two.
    const FIRST_SLOTS: u32 = 6;

    pub(crate) fn new(config: &'r RunConfig, runner: &'r R, queues: ReadyQueues) -> Shared<'r, R> {
        Shared {
            runner,
            config,
            start: clock::now(),
            slots: Segmented::new(Self::FIRST_SLOTS),
            edges: EdgePool::new(),
            moments: config.trace.then(|| Segmented::new(Self::FIRST_SLOTS)),
            sleep: Sleep::new(queues.topology),
            queues,
            completions: Completions::new(config.threads),
            stop: CachePadded::new(Stop::new(config.cancel.clone())),
            failed: Mutex::new(None),
        }
    }

    /// Nanoseconds since the run's start.
    pub(crate) fn now(&self) -> u64 {
        clock::nanos_since(self.start)
    }

    /// Notes the time at which a task became ready, if there is a trace. Before it is queued.
    pub(crate) fn mark_ready(&self, slot: u32) {
        if let Some(moments) = &self.moments {
            // Relaxed: the ready queue orders it.
            moments.get(slot).ready.store(self.now(), Ordering::Relaxed);
        }
    }

    /// Records a failed task and refuses all later ones.
    pub(crate) fn fail(&self, failed: Failed<R::Failure>) {
        self.stop.refuse_after(failed.task);
        let mut first = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let loser = match &*first {
            Some(earlier) if earlier.task < failed.task => Some(failed),
            _ => first.replace(failed),
        };
        drop(first);
        // The caller's type may panic when dropped, which must not take the worker along.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(loser)));
    }

    /// The failed task with the smallest id.
    pub(crate) fn into_failed(self) -> Option<Failed<R::Failure>> {
        self.failed.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the run is stopping.
///
/// All accesses are Relaxed: a task released by one that failed or was refused sees the mark, because the release orders
/// it; for others it only matters that they see it soon.
pub(crate) struct Stop {
    /// Tasks with this id or a larger one are not started.
    refused_from: AtomicU32,
    cancel: Option<Arc<AtomicBool>>,
    /// The caller's flag was seen set while there was work left.
    cancelled: AtomicBool,
    /// The source has not returned.
    pub(crate) generating: AtomicBool,
}

impl Stop {
    fn new(cancel: Option<Arc<AtomicBool>>) -> Stop {
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
    pub(crate) fn refuses(&self, task: u32) -> bool {
        self.poll();
        task >= self.refused_from.load(Ordering::Relaxed)
    }

    /// Whether the source should give up.
    pub(crate) fn stopping(&self) -> bool {
        self.poll();
        self.refused_from.load(Ordering::Relaxed) != NEVER
    }

    pub(crate) fn was_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Looks at the caller's flag.
    fn poll(&self) {
        if self.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            self.cancelled.store(true, Ordering::Relaxed);
            self.refuse_all();
        }
    }
}
