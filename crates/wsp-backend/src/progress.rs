//! How far a run is, for others to look at while it goes on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;
use wsp_core::KernelId;

/// No number of tasks is known.
const UNKNOWN: u64 = u64::MAX;
/// Indices of loops that are kept of a running task.
const INDICES: usize = 4;

/// How far a run is. The run writes it, and any thread may look at it.
#[derive(Debug)]
pub struct Progress {
    total: AtomicU64,
    /// None before the run has threads.
    run: OnceLock<Run>,
}

/// What is known as soon as a run has threads.
#[derive(Debug)]
struct Run {
    /// Names of kernels by number.
    kernels: Vec<String>,
    /// One for each thread that runs tasks.
    workers: Vec<Worker>,
}

/// What a thread has done and does. Each lies in cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Worker {
    done: AtomicU64,
    running: Mutex<Option<RunningTask>>,
}

/// A task that runs at present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunningTask {
    /// Its kernel.
    pub kernel: KernelId,
    /// When it was started.
    pub since: Instant,
    indices: [i64; INDICES],
    depth: u8,
}

impl RunningTask {
    /// A task that starts now; `indices` are those of the loops around it, outermost first.
    pub fn new(kernel: KernelId, indices: &[i64], now: Instant) -> RunningTask {
        let mut kept = [0; INDICES];
        let depth = indices.len().min(INDICES);
        kept[..depth].copy_from_slice(&indices[..depth]);
        RunningTask { kernel, since: now, indices: kept, depth: depth as u8 }
    }

    /// The indices of the first four loops around it, outermost first.
    pub fn indices(&self) -> &[i64] {
        &self.indices[..self.depth.into()]
    }
}

impl Default for Progress {
    fn default() -> Progress {
        Progress { total: AtomicU64::new(UNKNOWN), run: OnceLock::new() }
    }
}

// Relaxed throughout: what is looked at is a figure, and orders nothing.
impl Progress {
    /// Says how many tasks the run has, as soon as that is known.
    pub fn expect(&self, tasks: u64) {
        self.total.store(tasks, Ordering::Relaxed);
    }

    /// Makes room for so many threads that run tasks of these kernels. A run that has more counts the last of them together.
    pub fn begin<'n>(&self, threads: usize, kernels: impl IntoIterator<Item = &'n str>) {
        self.run.get_or_init(|| Run {
            kernels: kernels.into_iter().map(ToOwned::to_owned).collect(),
            workers: (0..threads.max(1)).map(|_| Worker::default()).collect(),
        });
    }

    /// A thread starts a task.
    pub fn starts(&self, thread: usize, task: RunningTask) {
        if let Some(worker) = self.worker(thread) {
            *worker.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        }
    }

    /// A thread has ended so many tasks.
    pub fn ends(&self, thread: usize, tasks: u64) {
        if let Some(worker) = self.worker(thread) {
            *worker.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
            worker.done.fetch_add(tasks, Ordering::Relaxed);
        }
    }

    fn worker(&self, thread: usize) -> Option<&Worker> {
        let workers = &self.run.get()?.workers;
        workers.get(thread).or(workers.last())
    }

    fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.run.get().into_iter().flat_map(|run| &run.workers)
    }

    /// The name of a kernel, once the run has threads.
    pub fn kernel(&self, kernel: KernelId) -> Option<&str> {
        self.run.get()?.kernels.get(kernel.index()).map(String::as_str)
    }

    /// Tasks that have ended.
    pub fn done(&self) -> u64 {
        self.workers().map(|worker| worker.done.load(Ordering::Relaxed)).sum()
    }

    /// All tasks of the run, where that is known.
    pub fn total(&self) -> Option<u64> {
        Some(self.total.load(Ordering::Relaxed)).filter(|total| *total != UNKNOWN)
    }

    /// The tasks that run at present.
    pub fn running(&self) -> Vec<RunningTask> {
        let task = |worker: &Worker| *worker.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.workers().filter_map(task).collect()
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a task has a start")]
mod tests {
    use super::*;

    #[test]
    fn what_threads_do_is_counted_and_what_they_run_is_seen() {
        let progress = Progress::default();
        progress.ends(0, 1);
        assert_eq!((progress.done(), progress.total(), progress.running()), (0, None, Vec::new()));
        progress.begin(2, ["a", "b", "c", "d"]);
        progress.expect(7);
        let task = RunningTask::new(KernelId(3), &[5, 6, 7, 8, 9], Instant::now());
        progress.starts(1, task);
        progress.ends(0, 2);
        progress.ends(9, 1);
        assert_eq!((progress.done(), progress.total()), (3, Some(7)));
        assert_eq!((progress.running(), task.indices()), (Vec::new(), &[5, 6, 7, 8][..]));
        progress.starts(1, task);
        assert_eq!((progress.running(), progress.kernel(task.kernel)), (vec![task], Some("d")));
    }
}
