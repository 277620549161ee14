//! Runs the kernel of a task.

use crate::codes;
use crate::kernels::{Evaluator, KernelTable};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wsp_backend::{Progress, RunningTask};
use wsp_core::{AxisId, KernelId, TaskId};
use wsp_diag::Diagnostic;
use wsp_ir::Module;
use wsp_kernel::{Env, KernelCode, Scratch, Trap};
use wsp_runtime::{TaskRunner, clock};

/// The kernels of a launch with a scratch space per worker.
pub(crate) struct KernelRunner<'a> {
    kernels: &'a KernelTable,
    codes: &'a [KernelCode],
    /// How many tasks of each kernel are taken together at most.
    together: Vec<usize>,
    env: &'a Env,
    /// Where it says how far the run is.
    pub(crate) progress: Option<&'a Progress>,
    /// Each worker locks its own only, so that no lock is ever contended.
    workers: Vec<Mutex<Worker>>,
}

/// What one worker needs to itself.
#[derive(Debug, Default)]
struct Worker {
    scratch: Scratch,
    evaluator: Evaluator,
}

/// Compiles every kernel of a table for these surroundings. Memory of tensors may be exchanged afterwards, for such of the same layout.
///
/// # Errors
/// What is wrong with kernels, each fault once.
pub(crate) fn kernel_codes(
    module: &Module,
    kernels: &KernelTable,
    env: &Env,
) -> Result<Vec<KernelCode>, Vec<Diagnostic>> {
    let compiled = kernels.all().iter().map(|kernel| KernelCode::compile(module, kernel.func, env));
    let (codes, faults): (Vec<_>, Vec<_>) = compiled.partition(Result::is_ok);
    // Kernels that share an inline function share its faults.
    let mut different: Vec<Diagnostic> = Vec::new();
    for fault in faults.into_iter().filter_map(Result::err).map(Diagnostic::from) {
        if !different.contains(&fault) {
            different.push(fault);
        }
    }
    if different.is_empty() { Ok(codes.into_iter().filter_map(Result::ok).collect()) } else { Err(different) }
}

impl<'a> KernelRunner<'a> {
    /// Runs the kernels of the table, which were compiled for these surroundings.
    pub(crate) fn new(
        kernels: &'a KernelTable,
        codes: &'a [KernelCode],
        env: &'a Env,
        workers: usize,
    ) -> KernelRunner<'a> {
        let most = |code: &KernelCode| if code.gains_together(env) { KernelCode::MOST_TOGETHER } else { 1 };
        let together = codes.iter().map(most).collect();
        let workers = (0..workers).map(|_| Mutex::default()).collect();
        KernelRunner { kernels, codes, together, env, progress: None, workers }
    }
}

impl KernelRunner<'_> {
    /// A kernel sees one tile per axis: tasks that run while the generator goes on would see either of two.
    pub(crate) fn check_tiles(&self, module: &Module, changed: &[AxisId]) -> Result<(), Diagnostic> {
        for (kernel, code) in self.kernels.all().iter().zip(self.codes) {
            let Some(axis) = code.axes().find(|axis| changed.contains(axis)) else { continue };
            let axis = &module.axes[axis.index()];
            let message =
                format!("the tile of axis `{}` changes while kernel `{}` needs it", axis.name, kernel.name);
            return Err(Diagnostic::error(codes::TILE_CHANGES, message)
                .at(axis.span, "its tile is set again after a task was emitted")
                .help("give the size to the kernel as a field of its descriptor"));
        }
        Ok(())
    }

    /// Runs tasks of a kernel and tells how far the run is, where that is asked for.
    #[inline]
    fn seen<R>(&self, worker: usize, kernel: KernelId, tasks: usize, run: impl FnOnce() -> R) -> R {
        let Some(progress) = self.progress else { return run() };
        progress.starts(worker, RunningTask::new(kernel, &[], clock::now()));
        let ran = run();
        progress.ends(worker, tasks as u64);
        ran
    }

    fn worker(&self, worker: usize) -> MutexGuard<'_, Worker> {
        // A kernel that panicked left its scratch in an unknown state, but every kernel resets what it uses.
        self.workers[worker].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskRunner for KernelRunner<'_> {
    type Failure = Trap;

    fn run(&self, worker: usize, _: TaskId, kernel: KernelId, payload: &[u32]) -> Result<(), Trap> {
        let mut own = self.worker(worker);
        let run = || self.codes[kernel.index()].run(&mut own.scratch, self.env, payload);
        self.seen(worker, kernel, 1, run)
    }

    #[inline]
    fn takes_together(&self, kernel: KernelId) -> usize {
        self.together[kernel.index()]
    }

    fn are_mates(&self, _: KernelId, before: &[u32], payload: &[u32]) -> bool {
        are_neighbours(before, payload)
    }

    fn run_together(
        &self,
        worker: usize,
        kernel: KernelId,
        tasks: &[(TaskId, &[u32])],
        outcome: &mut dyn FnMut(Result<(), Trap>),
    ) {
        let mut own = self.worker(worker);
        let descriptors: Vec<&[u32]> = tasks.iter().map(|(_, payload)| *payload).collect();
        let code = &self.codes[kernel.index()];
        let run = || code.run_together(&mut own.scratch, self.env, &descriptors, outcome);
        self.seen(worker, kernel, tasks.len(), run);
    }

    fn prefetch(&self, worker: usize, kernel: KernelId, payload: &[u32]) {
        let mut own = self.worker(worker);
        let Worker { scratch, evaluator } = &mut *own;
        self.kernels.get(kernel).inputs(evaluator, self.env, payload, |region| {
            if let Some(memory) = &self.env.tensors[region.tensor.index()] {
                scratch.prefetch(memory, &region);
            }
        });
    }
}

/// Whether a descriptor is one step along one axis from another: one word counts up by one, and at most one more grows, as the slot of
/// workspace does that goes with it. From the end of an axis to its begin on the next, a word falls.
fn are_neighbours(before: &[u32], after: &[u32]) -> bool {
    let differing = || before.iter().zip(after).filter(|(b, a)| b != a);
    before.len() == after.len()
        && (1..=2).contains(&differing().count())
        && differing().all(|(b, a)| b < a)
        && differing().filter(|(b, a)| b.checked_add(1) == Some(**a)).count() == 1
}

#[cfg(test)]
mod tests {
    use super::are_neighbours;

    #[test]
    fn neighbours_are_one_step_apart_along_one_axis() {
        assert!(are_neighbours(&[0, 7, 1, 5], &[0, 7, 2, 5]));
        assert!(are_neighbours(&[0, 7, 1, 5], &[0, 7, 2, 4096]));
        assert!(!are_neighbours(&[0, 7, 1, 5], &[1, 0, 1, 5]));
        assert!(!are_neighbours(&[0, 7, 1, 5], &[0, 8, 2, 5]), "one step along each of two axes");
        assert!(!are_neighbours(&[0, 7, 1, 5], &[0, 7, 1, 5]));
        assert!(!are_neighbours(&[0, 7, 1, 5], &[0, 7, 3, 5]));
        assert!(!are_neighbours(&[0, 7, 2, 5], &[0, 7, 1, 5]));
        assert!(!are_neighbours(&[0, 0, 256, 512], &[1, 256, 512, 512]));
        assert!(!are_neighbours(&[0], &[0, 1]));
    }
}
