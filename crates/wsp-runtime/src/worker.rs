//! A worker: takes ready tasks, runs them, and releases what waited for them.

use crate::finder::{Finder, Found, TAKES_ANYTHING};
use crate::ready::Route;
use crate::shared::{Cause, Failed, Shared};
use crate::slot::{CLOSED, FENCE, NIL, Slot};
use crate::{AffinityStats, KernelStats, PrefetchStats, ReadyPolicy, TaskRunner, TaskTrace, WorkerStats};
use crossbeam_deque::Worker as Deque;
use std::any::Any;
use std::hint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::thread;
use wsp_core::{KernelId, TaskId};

/// Rounds of looking before a worker sleeps: some ten microseconds, about what a wake-up costs.
const ROUNDS: u32 = 40;
/// Rounds with growing pauses; after these a worker yields its core between looks.
const PAUSING_ROUNDS: u32 = 7;

/// What a worker counted.
#[derive(Default)]
pub(crate) struct WorkerReport {
    pub(crate) stats: WorkerStats,
    pub(crate) kernels: Vec<KernelStats>,
    pub(crate) prefetch: PrefetchStats,
    pub(crate) affinity: AffinityStats,
    pub(crate) cancelled: u64,
    pub(crate) overlapped: u64,
    pub(crate) first_start_ns: Option<u64>,
    /// Predecessors are the planner's to add.
    pub(crate) trace: Vec<TaskTrace>,
}

/// One worker thread.
pub(crate) struct Worker<'r, R: TaskRunner> {
    shared: &'r Shared<'r, R>,
    index: u32,
    finder: Finder,
    report: WorkerReport,
    /// Scratch: tasks (with their ids) and fences that the present completion released.
    released: Vec<(u32, u32)>,
    fences: Vec<u32>,
}

impl<'r, R: TaskRunner> Worker<'r, R> {
    pub(crate) fn new(shared: &'r Shared<'r, R>, index: u32, deque: Option<Deque<u32>>) -> Worker<'r, R> {
        let finder = Finder::new(&shared.queues, index, deque);
        Worker {
            shared,
            index,
            finder,
            report: WorkerReport::default(),
            released: Vec::new(),
            fences: Vec::new(),
        }
    }

    /// Works until the run is closed.
    pub(crate) fn work(mut self) -> WorkerReport {
        while let Some(found) = self.next() {
            if found.brought_more {
                // They were out of sight while they moved.
                self.shared.sleep.notify(Route::Any);
            }
            self.report.stats.steals += u64::from(found.stolen);
            self.execute(found.slot);
        }
        self.report
    }

    /// The next task; waits for one. `None` when the run is closed and nothing is left.
    fn next(&mut self) -> Option<Found> {
        let shared = self.shared;
        if let Some(found) = self.finder.look(&shared.queues, 0) {
            return Some(found);
        }
        shared.sleep.start_search(self.index);
        let mut round = 1;
        loop {
            if let Some(found) = self.finder.look(&shared.queues, round) {
                shared.sleep.leave(self.index, || shared.queues.any());
                return Some(found);
            }
            if shared.sleep.is_closed() {
                return None;
            }
            if round < ROUNDS {
                pause(round);
                round += 1;
            } else if shared.sleep.sleep(self.index, || shared.queues.any()) {
                self.report.stats.parks += 1;
                round = 1;
            } else {
                round = TAKES_ANYTHING;
            }
        }
    }

    fn execute(&mut self, index: u32) {
        let slot = self.shared.slots.get(index);
        let task = slot.task();
        if self.shared.stop.refuses(task) {
            self.report.cancelled += 1;
        } else {
            self.run(index, slot, TaskId(task));
        }
        self.retire(index, slot);
    }

    fn run(&mut self, index: u32, slot: &Slot, task: TaskId) {
        let shared = self.shared;
        let call = slot.call();
        let mut started = None;
        let prefetch = &mut self.report.prefetch;
        let worker = self.index as usize;
        let result = catch_unwind(AssertUnwindSafe(|| {
            for (target, at) in slot.start() {
                match shared.slots.get(at).peek(target) {
                    Some(call) => {
                        shared.runner.prefetch(worker, call.kernel, call.payload());
                        prefetch.issued += 1;
                    }
                    None => prefetch.missed += 1,
                }
            }
            started = Some(shared.now());
            shared.runner.run(worker, task, call.kernel, call.payload())
        }));
        let finished = shared.now();
        let started = started.unwrap_or(finished);
        let cause = match result {
            Ok(Ok(())) => None,
            Ok(Err(failure)) => Some(Cause::Error(failure)),
            Err(panic) => Some(Cause::Panic(message(panic))),
        };
        self.count(slot, call.kernel, started, finished);
        if let Some(moments) = &shared.moments {
            let moments = moments.get(index);
            self.report.trace.push(TaskTrace {
                task,
                kernel: call.kernel,
                worker: self.index,
                // Relaxed: the ready queue ordered both.
                submitted_ns: moments.submitted.load(Ordering::Relaxed),
                ready_ns: moments.ready.load(Ordering::Relaxed),
                started_ns: started,
                finished_ns: finished,
                preds: Vec::new(),
                fences: 0,
            });
        }
        if let Some(cause) = cause {
            shared.fail(Failed { task, kernel: call.kernel, payload: call.payload().to_vec(), cause });
        }
    }

    fn count(&mut self, slot: &Slot, kernel: KernelId, started: u64, finished: u64) {
        let busy = finished - started;
        let report = &mut self.report;
        report.stats.tasks += 1;
        report.stats.busy_ns += busy;
        report.first_start_ns.get_or_insert(started);
        if report.kernels.len() <= kernel.index() {
            report.kernels.resize(kernel.index() + 1, KernelStats::default());
        }
        report.kernels[kernel.index()].tasks += 1;
        report.kernels[kernel.index()].busy_ns += busy;
        report.overlapped += u64::from(self.shared.stop.generating.load(Ordering::Relaxed));
        let route = Route::decode(slot.route.load(Ordering::Relaxed));
        if route != Route::Any {
            let hit = self.shared.queues.topology.is_target(route, self.index);
            report.affinity.hits += u64::from(hit);
            report.affinity.misses += u64::from(!hit);
        }
    }

    /// Releases the successors of a task that ran or was refused, and hands its slot back.
    fn retire(&mut self, index: u32, slot: &Slot) {
        self.release(slot);
        while let Some(fence) = self.fences.pop() {
            let slot = self.shared.slots.get(fence);
            self.release(slot);
            self.shared.completions.push(self.index, fence, slot);
        }
        if !self.released.is_empty() {
            self.queue_released();
        }
        self.shared.completions.push(self.index, index, slot);
    }

    /// Closes the edges from a slot and collects what that makes ready.
    fn release(&mut self, slot: &Slot) {
        let shared = self.shared;
        // AcqRel: takes over the list, and publishes the task's writes to whoever finds it closed.
        let mut edge = slot.successors.swap(CLOSED, Ordering::AcqRel);
        while edge != NIL {
            // The edge may be reused once its successor is counted down, so `next` is read before.
            let (next, successor) = shared.edges.get(edge);
            let waiting = shared.slots.get(successor);
            // AcqRel: passes on this task's writes, and at zero takes over those of all the others.
            if waiting.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
                match waiting.task() {
                    FENCE => self.fences.push(successor),
                    task => self.released.push((task, successor)),
                }
            }
            edge = next;
        }
    }

    /// Queues what became ready, by task id.
    fn queue_released(&mut self) {
        let shared = self.shared;
        self.released.sort_unstable();
        if shared.config.ready == ReadyPolicy::WorkSteal {
            // The owner pops what was pushed last.
            self.released.reverse();
        }
        let mut own = 0;
        for (_, slot) in self.released.drain(..) {
            let route = Route::decode(shared.slots.get(slot).route.load(Ordering::Relaxed));
            shared.mark_ready(slot);
            shared.queues.push(slot, route, self.finder.deque());
            if self.finder.takes(&shared.queues, route) {
                own += 1;
            } else {
                shared.sleep.notify(route);
            }
        }
        // One of them this worker takes itself.
        if own > 1 {
            shared.sleep.notify(Route::Any);
        }
    }
}

fn pause(round: u32) {
    if round <= PAUSING_ROUNDS {
        (0..1 << round).for_each(|_| hint::spin_loop());
    } else {
        thread::yield_now();
    }
}

/// The text of a panic.
fn message(panic: Box<dyn Any + Send>) -> String {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic without a message".to_owned(),
    };
    // Its payload may itself panic when dropped.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(panic)));
    text
}
