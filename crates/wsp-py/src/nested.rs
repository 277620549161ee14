//! Runs within tasks of runs, all on one thread: each takes a part of its stack.

use crate::errors;
use pyo3::prelude::*;
use std::cell::Cell;
use wsp_diag::Diagnostic;
use wsp_trace::python::arrays::NESTED;

/// Most runs on one thread, each in a task of the one before. One takes about 70 KiB of stack, of which the threads of teams have 2 MiB.
const MOST_RUNS: u32 = 16;

thread_local! {
    /// Runs of this thread that have not ended.
    static RUNS: Cell<u32> = const { Cell::new(0) };
}

/// A run on this thread, until it is dropped.
pub(crate) struct Nested(());

impl Nested {
    /// Begins a run.
    ///
    /// # Errors
    /// It would be one too many.
    pub(crate) fn begin(py: Python<'_>) -> PyResult<Nested> {
        let runs = RUNS.get();
        if runs >= MOST_RUNS {
            let fault = Diagnostic::error(
                NESTED,
                format!("{MOST_RUNS} runs are within each other on one thread"),
            )
            .note("each is called in a Python kernel of the run before")
            .help(
                "call `execute` when the run has ended, in a loop of Python: `while …: program.execute(X=x)`",
            );
            return Err(errors::fault(py, fault));
        }
        RUNS.set(runs + 1);
        Ok(Nested(()))
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        RUNS.set(RUNS.get() - 1);
    }
}
