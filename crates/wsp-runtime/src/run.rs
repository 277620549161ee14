//! One run from start to end.

use crate::ready::ReadyQueues;
use crate::shared::{Cause, Failed, Shared};
use crate::sleep::Sleep;
use crate::submit::{PlannerReport, Submitter};
use crate::worker::{Worker, WorkerReport};
use crate::{Failure, KernelStats, Outcome, RunConfig, StartError, Stats, TaskRunner};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;
use std::thread;

/// Runs the tasks that `source` submits.
///
/// `source` runs on the calling thread while [`RunConfig::threads`] workers execute; the call returns when everything
/// submitted has completed, or has been dropped after a failure. The runner can be used again afterwards.
///
/// # Errors
/// See [`Failure`]. Of several reasons the first of this list counts: a failed task, a cancelled run, the source's error.
///
/// # Panics
/// When `source` panics, with its panic, after the workers have stopped. Panics of tasks become [`Failure::Panic`].
pub fn run<R: TaskRunner, E>(
    config: &RunConfig,
    runner: &R,
    source: impl FnOnce(&mut Submitter<'_, R>) -> Result<(), E>,
) -> Outcome<R::Failure, E> {
    config.validate().map_err(|error| Failure::Start(StartError::Config(error)))?;
    let (queues, deques) = ReadyQueues::new(config);
    let shared = Shared::new(config, runner, queues);
    let (planned, reports, returned, generation_ns) = thread::scope(|scope| {
        // Also when the planner panics: the scope waits for the workers.
        let closer = Closer(&shared.sleep);
        let mut threads = Vec::with_capacity(deques.len());
        for (deque, index) in deques.into_iter().zip(0..) {
            let worker = Worker::new(&shared, index, deque);
            let named = thread::Builder::new().name(format!("wsp-worker-{index}"));
            let thread = named.spawn_scoped(scope, move || worker.work());
            threads.push(thread.map_err(|error| StartError::Threads {
                wanted: config.threads,
                started: index,
                reason: error.to_string(),
            })?);
        }
        let mut submitter = Submitter::new(&shared);
        let returned = catch_unwind(AssertUnwindSafe(|| source(&mut submitter)));
        let generation_ns = shared.now();
        shared.stop.generating.store(false, Ordering::Relaxed);
        // After a failed task the source's error only repeats it, and earlier tasks still decide which failure counts.
        if !matches!(returned, Ok(Ok(()))) && !shared.stop.stopping() {
            shared.stop.refuse_all();
        }
        submitter.drain();
        drop(closer);
        let reports: Vec<WorkerReport> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect();
        Ok((submitter.into_report(), reports, returned, generation_ns))
    })
    .map_err(Failure::Start)?;
    let returned = returned.unwrap_or_else(|panic| resume_unwind(panic));

    let wall_ns = shared.now();
    let cancelled = reports.iter().map(|report| report.cancelled).sum();
    let stopped = shared.stop.was_cancelled();
    if let Some(failed) = shared.into_failed() {
        return Err(failure(failed, cancelled));
    }
    if stopped {
        return Err(Failure::Cancelled);
    }
    returned.map_err(Failure::Source)?;
    Ok(Stats { generation_ns, wall_ns, ..merge(planned, reports) })
}

/// Sends the workers home when dropped.
struct Closer<'s>(&'s Sleep);

impl Drop for Closer<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn failure<F, E>(failed: Failed<F>, cancelled: u64) -> Failure<F, E> {
    let Failed { task, kernel, payload, cause } = failed;
    match cause {
        Cause::Error(failure) => Failure::Task { task, kernel, payload, failure, cancelled },
        Cause::Panic(message) => Failure::Panic { task, kernel, payload, message, cancelled },
    }
}

/// The run's figures from those of its threads.
fn merge(planned: PlannerReport, reports: Vec<WorkerReport>) -> Stats {
    let mut stats = Stats {
        tasks: planned.tasks,
        edges: planned.edges,
        roots: planned.roots,
        max_in_flight: planned.max_in_flight,
        window_stalls: planned.window_stalls,
        edge_stalls: planned.edge_stalls,
        prefetch: planned.prefetch,
        ..Stats::default()
    };
    for report in reports {
        let kernels = stats.kernels.len().max(report.kernels.len());
        stats.kernels.resize(kernels, KernelStats::default());
        for (sum, kernel) in stats.kernels.iter_mut().zip(&report.kernels) {
            sum.tasks += kernel.tasks;
            sum.busy_ns += kernel.busy_ns;
        }
        stats.workers.push(report.stats);
        stats.prefetch.issued += report.prefetch.issued;
        stats.prefetch.missed += report.prefetch.missed;
        stats.affinity.hits += report.affinity.hits;
        stats.affinity.misses += report.affinity.misses;
        stats.overlapped += report.overlapped;
        stats.first_start_ns = [stats.first_start_ns, report.first_start_ns].into_iter().flatten().min();
        stats.trace.extend(report.trace);
    }
    stats.trace.sort_unstable_by_key(|entry| entry.task);
    for entry in &mut stats.trace {
        let (preds, fences) = planned.lineage.of(entry.task);
        entry.preds = preds.to_vec();
        entry.fences = fences;
    }
    stats
}
