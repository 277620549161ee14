//! What runs, graphs and simulations give, as Python sees it.

use crate::errors;
use crate::inner::Inner;
use crate::outcome::Ran;
use crate::signature::{Role, Signature};
use pto_wsp::codes::{NEVER_WRITTEN, NOTHING_RAN};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde_json::json;
use std::sync::Arc;
use wsp_backend::{AicpuOutcome, GraphListing, Simulated, SimulatedTask, Transferred, Unwritten};
use wsp_core::words::by_count;
use wsp_diag::{Diagnostic, SourceMap};
use wsp_plan::Arrays;
use wsp_plan::workload::ChannelUse;

/// Stands for no worker in lists of workers.
const NO_WORKER: u32 = u32::MAX;

/// The warnings as text.
pub(crate) fn notes(found: &[Diagnostic], sources: &SourceMap) -> Vec<String> {
    let text = |note: &Diagnostic| wsp_diag::render(&note.clone().in_python(), sources, false);
    found.iter().map(|note| text(note).trim_end().to_owned()).collect()
}

/// A dictionary of Python by names that are made once.
macro_rules! dictionary {
    ($py:expr, { $($key:literal: $value:expr),* $(,)? }) => {{
        let dict = PyDict::new($py);
        $(dict.set_item(intern!($py, $key), $value)?;)*
        dict
    }};
}

/// The figures of a run. Most of them become objects of Python when they are looked at: making all takes as long as a task.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct Figures {
    ran: Ran,
    /// Last values of the slots that the program kept itself.
    slots: Vec<(String, i64)>,
    inner: Arc<Inner>,
}

impl Figures {
    pub(crate) fn new(mut ran: Ran, inner: &Arc<Inner>) -> Figures {
        let slots = slots(&inner.signature, &ran.outputs);
        // Figures may be kept for long, and are not what is large.
        ran.outputs = Arrays::new();
        ran.runtime.trace = Vec::new();
        ran.runtime.facts = Default::default();
        Figures { ran, slots, inner: inner.clone() }
    }
}

#[pymethods]
impl Figures {
    /// Tasks that ran.
    #[getter]
    fn tasks(&self) -> u64 {
        self.ran.runtime.tasks
    }

    /// Threads that ran tasks; 0 where the caller's did.
    #[getter]
    fn threads(&self) -> u32 {
        self.ran.threads
    }

    /// From the start of the run to the end of its last task.
    #[getter]
    fn run_ns(&self) -> u64 {
        self.ran.run_ns
    }

    /// Nanoseconds that the compilation of its program took.
    #[getter]
    fn compile_ns(&self) -> u64 {
        self.inner.compile_ns
    }

    /// Streams of the schedule; 0 without.
    #[getter]
    fn streams(&self) -> u32 {
        self.inner.streams().unwrap_or(0)
    }

    /// All of them by name.
    fn details<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        details(py, &self.ran, &self.slots, &self.inner)
    }
}

fn details<'py>(
    py: Python<'py>,
    outcome: &Ran,
    last: &[(String, i64)],
    Inner { signature, sources, .. }: &Inner,
) -> PyResult<Bound<'py, PyAny>> {
    let slots = PyDict::new(py);
    last.iter().try_for_each(|(name, value)| slots.set_item(name, value))?;
    let runtime = &outcome.runtime;
    let edges = &runtime.edges;
    let params = PyDict::new(py);
    for (name, value) in &outcome.params {
        let given = signature.params.iter().find(|p| p.name == *name).map_or(name, |p| &p.given);
        params.set_item(given, value)?;
    }
    let kernels = outcome.kernels.iter().map(|kernel| {
        let counts =
            [kernel.tasks.into_pyobject(py)?.into_any(), kernel.busy_ns.into_pyobject(py)?.into_any()];
        let name = kernel.name.as_str().into_pyobject(py)?.into_any();
        PyList::new(py, std::iter::once(name).chain(counts).collect::<Vec<_>>())
    });
    let edges = dictionary!(py, {
        "raw": edges.raw, "waw": edges.waw, "war": edges.war, "fence": edges.fence, "explicit": edges.explicit,
        "stream": edges.stream,
    });
    let said = [outcome.notes.clone(), nothing_ran(outcome), unwritten(outcome, signature)].concat();
    let stats = dictionary!(py, {
        "tasks": runtime.tasks,
        "threads": outcome.threads,
        "run_ns": outcome.run_ns,
        "kernels": kernels.collect::<PyResult<Vec<_>>>()?,
        "params": params,
        "slots": slots,
        "schedule": &outcome.schedule,
        "edges": edges,
        "grid": &outcome.grid,
        "roots": runtime.roots,
        "max_in_flight": runtime.max_in_flight,
        "window_stalls": runtime.window_stalls,
        "edge_stalls": runtime.edge_stalls,
        "forced_starts": runtime.forced_starts,
        "deferred": runtime.deferred,
        "overflows": runtime.overflows.len(),
        "steals": runtime.workers.iter().map(|w| w.steals).sum::<u64>(),
        "tasks_by_worker": runtime.workers.iter().map(|w| w.tasks).collect::<Vec<_>>(),
        "busy_ns": runtime.workers.iter().map(|w| w.busy_ns).collect::<Vec<_>>(),
        "first_start_ns": runtime.first_start_ns,
        "generation_ns": runtime.generation_ns,
        "aicpus": outcome.aicpus.as_ref().map(|of| errors::python(py, &aicpus(of))).transpose()?,
        "channels": errors::python(py, &channels(&outcome.channels))?,
        "notes": notes(&said, sources),
    });
    Ok(stats.into_any())
}

/// What to say of a run without tasks.
fn nothing_ran(outcome: &Ran) -> Vec<Diagnostic> {
    if outcome.runtime.tasks > 0 {
        return Vec::new();
    }
    let fault = Diagnostic::warning(NOTHING_RAN, "nothing ran: the program has no task for these sizes");
    vec![fault.help("call kernels in the workload, `k[i](x, y)`, and give sizes that are not 0")]
}

/// What to say of arrays of the caller of which a run that records it has not written a part.
fn unwritten(outcome: &Ran, signature: &Signature) -> Vec<Diagnostic> {
    let note = |left: &Unwritten| {
        let fact = signature.tensors.iter().find(|tensor| tensor.name == left.tensor);
        if left.loaded || fact.is_some_and(|tensor| tensor.role != Role::Argument) {
            return None;
        }
        Some(never_written(fact.map_or(&left.tensor, |tensor| &tensor.given), left))
    };
    outcome.unwritten.iter().filter_map(note).collect()
}

/// What to say of an array of which a part was not written.
pub(crate) fn never_written(name: &str, left: &Unwritten) -> Diagnostic {
    let were = by_count(left.elements, "was", "were");
    let message = format!("{} of {} elements of `{name}` {were} never written", left.elements, left.of);
    let first = format!("the first is `{name}{:?}`; they are as they were before the run", left.first);
    Diagnostic::warning(NEVER_WRITTEN, message).note(first)
}

/// Last values of the slots that the program kept itself.
fn slots(signature: &Signature, outputs: &Arrays) -> Vec<(String, i64)> {
    let slots = signature.tensors.iter().filter(|t| t.role == Role::Slot);
    let value = |name| outputs.get(name).and_then(|array| array.as_slice::<i64>()?.first().copied());
    slots.filter_map(|slot| Some((slot.given.clone(), value(&slot.name)?))).collect()
}

fn aicpus(outcome: &AicpuOutcome) -> serde_json::Value {
    let each = outcome.aicpus.iter().map(|a| {
        json!({
            "tasks": a.tasks, "local_edges": a.local_edges, "cross_edges": a.cross_edges, "notices": a.notices,
            "window_stalls": a.window_stalls, "max_in_flight": a.max_in_flight,
        })
    });
    json!({
        "each": each.collect::<Vec<_>>(),
        "cores": outcome.cores,
        "transfer_bytes": outcome.transfer.as_ref().map(|transfer| transfer.total()),
    })
}

/// What went through channels of pipelines.
fn channels(channels: &[ChannelUse]) -> serde_json::Value {
    let each = channels.iter().map(|ChannelUse { name, ends: [sender, receiver], figures: of, .. }| {
        json!({
            "name": name, "sender": sender, "receiver": receiver, "depth": of.depth, "tokens": of.tokens,
            "fullest": of.fullest, "sender_waited": of.sender_waited, "receiver_waited": of.receiver_waited,
        })
    });
    each.collect()
}

/// The tasks and edges of a graph.
pub(crate) fn graph<'py>(py: Python<'py>, listing: &GraphListing) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let kernels = listing.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.unit.word()));
    dict.set_item("kernels", kernels.collect::<Vec<_>>())?;
    dict.set_item("tasks", words(py, listing.tasks.iter().copied()))?;
    dict.set_item("edges", words(py, listing.edges.iter().flat_map(|&(a, b)| [a, b])))?;
    dict.set_item("tensors", &listing.tensors)?;
    dict.set_item("coordinate_ends", words(py, listing.coordinates.ends.iter().copied()))?;
    dict.set_item(
        "coordinates",
        longs(py, listing.coordinates.values.iter().map(|value| value.cast_unsigned())),
    )?;
    dict.set_item("missed", listing.missed.iter().map(|m| (m.earlier, m.later)).collect::<Vec<_>>())?;
    dict.set_item("missed_count", listing.missed_count)?;
    Ok(dict)
}

/// What a simulation shows.
pub(crate) fn simulation<'py>(
    py: Python<'py>,
    simulated: &Simulated,
    sources: &SourceMap,
) -> PyResult<Bound<'py, PyDict>> {
    let Simulated {
        listing,
        makespan,
        tasks,
        busy,
        max_in_flight,
        window_stalls,
        aicpus,
        channels: of_channels,
        notes: found,
        ..
    } = simulated;
    let dict = graph(py, listing)?;
    let times = |of: fn(&SimulatedTask) -> u64| longs(py, tasks.iter().map(of));
    dict.set_item("makespan", makespan)?;
    dict.set_item("workers", busy.len())?;
    dict.set_item("busy", busy)?;
    dict.set_item("worker", words(py, tasks.iter().map(|t| t.worker.unwrap_or(NO_WORKER))))?;
    dict.set_item("ready", times(|t| t.ready))?;
    dict.set_item("start", times(|t| t.start))?;
    dict.set_item("end", times(|t| t.end))?;
    dict.set_item("max_in_flight", max_in_flight)?;
    dict.set_item("window_stalls", window_stalls)?;
    dict.set_item("notes", notes(found, sources))?;
    dict.set_item("channels", errors::python(py, &channels(of_channels))?)?;
    let Some(aicpus) = aicpus else { return Ok(dict) };
    let each = aicpus.each.iter().map(|aicpu| -> PyResult<_> {
        let of = PyDict::new(py);
        of.set_item("tasks", aicpu.tasks)?;
        aicpu.busy.iter().try_for_each(|(work, cycles)| of.set_item(work, cycles))?;
        Ok(of)
    });
    dict.set_item("aicpus", each.collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("launch", aicpus.launch)?;
    dict.set_item("transfer", aicpus.transfer)?;
    dict.set_item("transfer_bytes", aicpus.bytes)?;
    Ok(dict)
}

/// What a launch on AICPUs transfers.
pub(crate) fn transfer<'py>(
    py: Python<'py>,
    moved: &Transferred,
    sources: &SourceMap,
) -> PyResult<Bound<'py, PyAny>> {
    let transfer = &moved.transfer;
    let list = moved.list.as_ref();
    let stats = json!({
        "total": transfer.total(),
        "program": transfer.program,
        "names": transfer.names,
        "configs": transfer.configs,
        "values": transfer.values,
        "extents": transfer.extents,
        "tables": transfer.table_rows + transfer.tables,
        "program_and_config": transfer.program_and_config(),
        "list": list.map(|list| json!({
            "tasks": list.tasks, "pending_tasks": list.pending_tasks, "rows": list.rows,
        })),
        "notes": notes(&moved.notes, sources),
    });
    errors::python(py, &stats)
}

fn words<'py>(py: Python<'py>, values: impl Iterator<Item = u32>) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &values.flat_map(u32::to_ne_bytes).collect::<Vec<u8>>())
}

fn longs<'py>(py: Python<'py>, values: impl Iterator<Item = u64>) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &values.flat_map(u64::to_ne_bytes).collect::<Vec<u8>>())
}
