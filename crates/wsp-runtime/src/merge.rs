//! The statistics of a run from those of its threads.

use crate::shared::{Cause, Failed};
use crate::worker::WorkerReport;
use crate::{FailedTask, Failure, KernelStats, Stats};

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
pub(crate) fn merge(mut stats: Stats, reports: impl IntoIterator<Item = WorkerReport>) -> Stats {
    for report in reports {
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
        stats.trace.extend(report.trace);
    }
    stats.trace.sort_unstable_by_key(|entry| entry.task);
    stats
}
