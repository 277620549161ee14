//! What a run that goes on shows.

use crate::errors;
use crate::inner::Inner;
use crate::signature::Role;
use pyo3::prelude::*;
use serde_json::json;
use std::time::Duration;
use wsp_backend::{Progress, RunningTask};
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_runtime::clock;
use wsp_trace::python::arrays::TIMED_OUT;

/// Most running tasks that an error lists.
const LISTED: usize = 4;

/// Tasks that have ended, all tasks where their number is known, those that run: name, seconds; whether the run `stops` when these have ended.
pub(crate) fn figures<'py>(
    py: Python<'py>,
    progress: &Progress,
    inner: &Inner,
    stops: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let now = clock::now();
    let running = progress.running().into_iter().map(|task| {
        json!([shown(&task, progress, inner), now.saturating_duration_since(task.since).as_secs_f64()])
    });
    errors::python(py, &json!([progress.done(), progress.total(), running.collect::<Vec<_>>(), stops]))
}

/// A task as people write it: `k[3, 0]`.
fn shown(task: &RunningTask, progress: &Progress, inner: &Inner) -> String {
    let index = task.kernel.index();
    let given = inner.bodies.get(index).map(|(name, _)| name.as_str()).filter(|_| inner.has_functions());
    let name = given.or_else(|| progress.kernel(task.kernel)).unwrap_or("a kernel");
    let indices: Vec<String> = task.indices().iter().map(ToString::to_string).collect();
    if indices.is_empty() { name.to_owned() } else { format!("{name}[{}]", indices.join(", ")) }
}

/// The failure of a run whose time was over while these tasks were running. `all` says that none of its tasks was left out all the same.
pub(crate) fn over_time(
    (limit, running): (Duration, &[RunningTask]),
    all: bool,
    progress: &Progress,
    inner: &Inner,
) -> Diagnostic {
    let message = format!("the run took longer than its `timeout` of {} s", limit.as_secs_f64());
    let mut fault = Diagnostic::error(TIMED_OUT, message);
    fault = fault.note(done(progress));
    let waited: Vec<String> =
        running.iter().take(LISTED).map(|task| format!("`{}`", shown(task, progress, inner))).collect();
    if !waited.is_empty() {
        let more = running.len().saturating_sub(LISTED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        fault = fault.note(format!("it waited for {}{more}", waited.join(", ")));
    }
    if all {
        fault = fault.note("all of its tasks have ended by now, so that what it writes is complete");
    } else {
        fault.notes.extend(incomplete(inner));
    }
    fault.help("give it more time, `timeout=…` in seconds, or none")
}

/// The failure of a run that its caller has stopped, with how far it was.
pub(crate) fn stopped(fault: Diagnostic, progress: &Progress, inner: &Inner) -> Diagnostic {
    let mut fault = fault.note(done(progress));
    fault.notes.extend(incomplete(inner));
    if fault.help.is_empty() {
        fault = fault.help(
            "start it again for what is missing: `cancel()`, or the end of a coroutine, has stopped it",
        );
    }
    fault
}

/// How many tasks have ended.
fn done(progress: &Progress) -> String {
    let done = progress.done();
    match progress.total() {
        Some(total) => format!("{done} of {} were done", counted(total, "task")),
        None => format!("{} were done", counted(done, "task")),
    }
}

/// That what tasks write is not complete; none where they write nothing.
fn incomplete(inner: &Inner) -> Option<String> {
    let written: Vec<String> = written(inner).map(|name| format!("`{name}`")).collect();
    (!written.is_empty()).then(|| format!("what it writes is not complete: {}", written.join(", ")))
}

/// Arrays of the caller that tasks write.
fn written(inner: &Inner) -> impl Iterator<Item = &str> {
    let signature = &inner.signature;
    let tensors = signature.tensors.iter().filter(|tensor| tensor.written && tensor.role == Role::Argument);
    let arrays = signature.library.arrays.iter().filter(|array| array.written);
    tensors.map(|tensor| tensor.given.as_str()).chain(arrays.map(|array| array.name.as_str()))
}
