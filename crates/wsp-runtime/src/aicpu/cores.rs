//! What a core does when its thread comes by.

use super::queue::CoreTask;
use super::shared::Shared;
use super::stats::CoreStats;
use super::topology::Link;
use crate::shared::{Cause, Failed, message};
use crate::sync::Ordering;
use crate::{KernelStats, TaskRunner, clock};
use std::panic::{AssertUnwindSafe, catch_unwind};
use wsp_core::handshake::CoreOrder;
use wsp_core::{KernelId, TaskId};

/// A core, as the thread that drives it keeps it.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) id: u32,
    links: Vec<usize>,
    next: usize,
    pub(super) stats: CoreStats,
    pub(super) kernels: Vec<KernelStats>,
}

impl Core {
    pub(super) fn new(shared: &Shared, id: u32) -> Core {
        let links = shared.links.iter().enumerate().filter(|(_, link)| link.core == id).map(|(at, _)| at);
        Core { id, links: links.collect(), next: 0, stats: CoreStats::default(), kernels: Vec::new() }
    }

    /// Runs at most one task, of its AICPUs in turn; whether there was one.
    ///
    /// # Errors
    /// The task failed. It counts as complete, and those after it in elaboration order are dropped.
    pub(super) fn run_one<R: TaskRunner>(
        &mut self,
        shared: &Shared,
        runner: &R,
        thread: usize,
    ) -> Result<bool, Failed<R::Failure, u64>> {
        let Some((link, task)) = self.take(shared, |_| true) else { return Ok(false) };
        let link = &shared.links[link];
        let outcome = self.run(shared, runner, thread, link, &task);
        if outcome.is_err() {
            // Before the completion, so that those after it are dropped by what sees the task complete.
            shared.drop_from(task.ordinal.saturating_add(1));
        }
        link.handshake.complete();
        let (ordinal, kernel) = (task.ordinal, task.kernel);
        let failed = |cause| Failed { task: ordinal, kernel, payload: task.payload().to_vec(), cause };
        outcome.map(|()| true).map_err(failed)
    }

    /// The next task that may start here, of its AICPUs in turn, and the link over which it was handed; of links that the core `sees`.
    #[inline]
    pub(super) fn take(
        &mut self,
        shared: &Shared,
        sees: impl Fn(usize) -> bool,
    ) -> Option<(usize, CoreTask)> {
        for i in 0..self.links.len() {
            let at = (self.next + i) % self.links.len();
            let number = self.links[at];
            let link = &shared.links[number];
            if !sees(number) {
                continue;
            }
            let CoreOrder::Run(slot) = link.handshake.poll() else { continue };
            let task = shared.queues[usize::from(link.aicpu)].slot(slot as u16).task.read();
            if shared.gates.may_start(task.stream, task.ordinal) {
                self.next = (at + 1) % self.links.len();
                return Some((number, task));
            }
        }
        None
    }

    fn run<R: TaskRunner>(
        &mut self,
        shared: &Shared,
        runner: &R,
        thread: usize,
        link: &Link,
        task: &CoreTask,
    ) -> Result<(), Cause<R::Failure>> {
        if task.ordinal >= shared.limit() || shared.stopped().is_some() {
            shared.gates.note_start(task.stream);
            shared.pass_turn(task.ordinal);
            return Ok(());
        }
        shared.note_start();
        let times = shared.config.trace.times();
        let started = times.then(clock::now);
        // After the time is taken: the next of the stream starts no earlier.
        shared.gates.note_start(task.stream);
        shared.pass_turn(task.ordinal);
        let id = TaskId(task.ordinal as u32);
        let outcome = catch_unwind(AssertUnwindSafe(|| runner.run(thread, id, task.kernel, task.payload())));
        if let Some(started) = started {
            let finished = clock::now();
            link.started_ns.store(clock::nanos_between(shared.origin, started), Ordering::Relaxed);
            link.finished_ns.store(clock::nanos_between(shared.origin, finished), Ordering::Relaxed);
            self.count(task.kernel, Some(clock::nanos_between(started, finished)));
        } else {
            self.count(task.kernel, None);
        }
        match outcome {
            Ok(outcome) => outcome.map_err(Cause::Error),
            Err(panic) => Err(Cause::Panic(message(panic))),
        }
    }

    fn count(&mut self, kernel: KernelId, busy_ns: Option<u64>) {
        if self.kernels.len() <= kernel.index() {
            self.kernels.resize(kernel.index() + 1, KernelStats::default());
        }
        let of_kernel = &mut self.kernels[kernel.index()];
        of_kernel.tasks += 1;
        self.stats.tasks += 1;
        if let Some(busy_ns) = busy_ns {
            *of_kernel.busy_ns.get_or_insert(0) += busy_ns;
            *self.stats.busy_ns.get_or_insert(0) += busy_ns;
        }
    }
}
