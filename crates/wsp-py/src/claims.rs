//! Arrays in use: of two runs at the same time, neither writes memory that the other one uses.

use crate::errors;
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wsp_cpu::workload::ArrayView;
use wsp_ir::diag::{Code, Diagnostic};

const IN_USE: Code = Code(1268);

/// An array that a run uses.
#[derive(Clone)]
pub(crate) struct Use {
    /// As the caller names it.
    pub(crate) name: String,
    /// Where it lies.
    pub(crate) view: ArrayView,
    /// Whether tasks may write it.
    pub(crate) written: bool,
}

/// The arrays of a run.
pub(crate) type Uses = Arc<[Use]>;

/// What a run has claimed.
struct Running {
    id: u64,
    process: u32,
    uses: Uses,
}

static RUNNING: Mutex<Vec<Running>> = Mutex::new(Vec::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The forks between the first process and this one. The child of a fork has the memory of the runs that go on, and none of their
/// threads.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// What tells this process from those that it was forked from.
pub(crate) fn process() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Python calls this in the child of a fork.
#[pyfunction]
pub(crate) fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

thread_local! {
    /// How many Python kernels this thread is in: what they run themselves is a part of their task, which has its boxes.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

fn running() -> MutexGuard<'static, Vec<Running>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Arrays that are claimed until this is dropped.
pub(crate) struct Claim {
    /// None for a run inside of a task.
    id: Option<u64>,
}

impl Claim {
    /// Claims the arrays of a run.
    ///
    /// # Errors
    /// A run that goes on writes one of them, or uses one that this run writes.
    pub(crate) fn of(uses: &Uses) -> Result<Claim, Diagnostic> {
        if INSIDE.get() != 0 || uses.is_empty() {
            return Ok(Claim { id: None });
        }
        let mut all = running();
        if !all.is_empty() {
            all.retain(|other| other.process == process());
            refused(&all, uses)?;
        }
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        all.push(Running { id, process: process(), uses: uses.clone() });
        Ok(Claim { id: Some(id) })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut all = running();
        let ended = all.iter().position(|other| other.id == id).map(|at| all.swap_remove(at));
        drop(all);
        // Giving arrays back may wait for the interpreter, which a thread that waits for the list may hold.
        drop(ended);
    }
}

/// Refuses arrays that are read at once, for a copy, and that a run writes.
///
/// # Errors
/// A run that goes on writes one of them.
pub(crate) fn may_read(uses: &[Use]) -> Result<(), Diagnostic> {
    if INSIDE.get() != 0 || uses.is_empty() {
        return Ok(());
    }
    refused(&running(), uses)
}

fn refused(all: &[Running], uses: &[Use]) -> Result<(), Diagnostic> {
    let others = all.iter().filter(|other| other.process == process());
    for other in others.flat_map(|other| other.uses.iter()) {
        let clash = |mine: &&Use| (mine.written || other.written) && mine.view.may_share_memory(&other.view);
        if let Some(mine) = uses.iter().find(clash) {
            return Err(shared(mine, other));
        }
    }
    Ok(())
}

fn shared(mine: &Use, other: &Use) -> Diagnostic {
    let message = format!("array `{}` is in use by a run that goes on", mine.name);
    let does = |one: &Use| if one.written { "writes" } else { "reads" };
    Diagnostic::error(IN_USE, message)
        .note(format!("that run {} it, as `{}`, and this one {} it", does(other), other.name, does(mine)))
        .help("wait for that run first, `run.synchronize()`, or give each run an array of its own")
}

/// The error of something that one thread at a time may use.
pub(crate) fn in_use(py: Python<'_>, message: &str, help: &str) -> PyErr {
    errors::fault(py, Diagnostic::error(IN_USE, message).help(help))
}

/// Runs a Python kernel on this thread.
pub(crate) fn inside<R>(kernel: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            INSIDE.set(INSIDE.get() - 1);
        }
    }
    INSIDE.set(INSIDE.get() + 1);
    let _leave = Leave;
    kernel()
}
