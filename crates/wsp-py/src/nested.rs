//! Runs within tasks of runs: each takes a part of the stack of its thread, or threads of its own.

use crate::{errors, turns};
use pyo3::prelude::*;
use wsp_diag::Diagnostic;
use wsp_runtime::nested::{Within, depth};
use wsp_trace::python::arrays::NESTED;

/// Most runs, each in a task of the one before. One takes about 70 KiB of stack, of which the threads of teams have 2 MiB, or up to a team of threads.
const MOST_RUNS: u32 = 16;

/// Begins a run, without a turn of the kernel that it is called in: what this thread does, and what it gives to others, is within it until that is dropped.
///
/// # Errors
/// It would be one too many.
pub(crate) fn begin(py: Python<'_>) -> PyResult<Within> {
    turns::leave();
    let runs = depth();
    if runs >= MOST_RUNS {
        let fault = Diagnostic::error(NESTED, format!("{MOST_RUNS} runs are within each other"))
            .note("each is called in a Python kernel of the run before")
            .help(
                "call `execute` when the run has ended, in a loop of Python: `while …: program.execute(X=x)`",
            );
        return Err(errors::fault(py, fault));
    }
    Ok(Within::runs(runs + 1))
}
