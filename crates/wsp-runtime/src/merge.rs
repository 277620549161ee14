//! The statistics of a run from those of its threads.

use crate::clock::Scale;
use crate::shared::{Cause, Failed, NO_TASK};
use crate::worker::{Ran, WorkerReport};
use crate::{FailedTask, Failure, KernelStats, Stats, TaskTrace};
use wsp_core::TaskId;

/// A failed task as the run's failure.
pub(crate) fn failure<F, E, T>(failed: Failed<F, T>, cancelled: u64) -> Failure<F, E, FailedTask<T>> {
    let Failed { task, kernel, payload, cause } = failed;
    let task = FailedTask { id: task, kernel, payload, cancelled };
    match cause {
        Cause::Error(failure) => Failure::Task { task, failure },
        Cause::Panic(message) => Failure::Panic { task, message },
    }
}

/// Adds what the workers counted, in their order.
pub(crate) fn merge(
    mut stats: Stats,
    reports: impl IntoIterator<Item = WorkerReport>,
    scale: Scale,
) -> Stats {
    let nanos = |ticks: Option<u64>| ticks.map(|ticks| scale.nanos(ticks));
    stats.facts.opened_ns = scale.nanos(stats.facts.opened_ns);
    for mut report in reports {
        if !report.trace.is_empty() {
            count_busy(&mut report, scale);
        }
        report.first_start_ns = nanos(report.first_start_ns);
        let kernels = stats.kernels.len().max(report.kernels.len());
        stats.kernels.resize(kernels, KernelStats::default());
        for (sum, kernel) in stats.kernels.iter_mut().zip(&report.kernels) {
            sum.tasks += kernel.tasks;
            sum.busy_ns = sum.busy_ns.max(kernel.busy_ns.map(|ns| ns + sum.busy_ns.unwrap_or(0)));
        }
        stats.workers.push(report.stats);
        stats.prefetch.issued += report.prefetch.issued;
        stats.prefetch.missed += report.prefetch.missed;
        stats.affinity.hits += report.affinity.hits;
        stats.affinity.misses += report.affinity.misses;
        stats.overlapped += report.overlapped;
        stats.first_start_ns = [stats.first_start_ns, report.first_start_ns].into_iter().flatten().min();
        stats.trace.extend(report.trace.iter().map(|ran| traced(ran, report.worker, scale)));
    }
    stats.trace.sort_unstable_by_key(|entry| entry.task);
    stats
}

/// Sums of times of a worker whose tasks are recorded: those of the tasks, each rounded by itself.
fn count_busy(report: &mut WorkerReport, scale: Scale) {
    let mut all = 0;
    report.kernels.iter_mut().filter_map(|kernel| kernel.busy_ns.as_mut()).for_each(|busy| *busy = 0);
    for ran in &report.trace {
        let busy = scale.nanos(ran.finished) - scale.nanos(ran.started);
        all += busy;
        if let Some(kernel) = report.kernels.get_mut(ran.kernel.index()) {
            *kernel.busy_ns.get_or_insert(0) += busy;
        }
    }
    report.stats.busy_ns = Some(all);
}

/// What a worker recorded of a task. Predecessors and when it was ready are to be added.
fn traced(ran: &Ran, worker: u32, scale: Scale) -> TaskTrace {
    let [released_by, released_with, opened_by] = [ran.released_by, ran.released_with, ran.opened_by]
        .map(|task| (task != NO_TASK).then_some(TaskId(task)));
    TaskTrace {
        task: ran.task,
        kernel: ran.kernel,
        worker,
        submitted_ns: scale.nanos(ran.submitted),
        // Follows from the ends of others.
        ready_ns: 0,
        started_ns: scale.nanos(ran.started),
        finished_ns: scale.nanos(ran.finished),
        preds: Vec::new(),
        fences: 0,
        released_by,
        released_with,
        opened_by,
        stalled: ran.stalled,
    }
}
