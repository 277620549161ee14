//! When and where tasks ran, for files of traces.

use crate::errors;
use crate::inner::Inner;
use crate::inputs::Arguments;
use crate::outcome::Ran;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;
use wsp_backend::{BARRIER_NODE, Detail, GraphListing, GraphOptions, SimulatedTask};
use wsp_core::KernelId;
use wsp_core::policy::Deps;
use wsp_diag::{Diagnostic, SourceMap};
use wsp_plan::workload::ChannelUse;
use wsp_report::{Edges, Form, write_trace};
use wsp_runtime::timeline::{Channel, Heading, Simulated, Timeline};

/// What a trace calls the process.
const PROCESS: &str = "pto_wsp";

/// The timeline of a run; none of one that recorded no times.
pub(crate) fn of_run(outcome: &Ran) -> Option<Timeline> {
    let heading = Heading {
        program: PROCESS.to_owned(),
        workers: outcome.threads,
        kernels: outcome.kernels.iter().map(|kernel| kernel.name.clone()).collect(),
    };
    let runtime = &outcome.runtime;
    (!runtime.trace.is_empty()).then(|| {
        let timeline = Timeline::measured(heading, &runtime.trace, &runtime.facts);
        Timeline { channels: shown(&outcome.channels), ..timeline }
    })
}

/// Channels, as timelines have them.
fn shown(channels: &[ChannelUse]) -> Vec<Channel> {
    let of = |ChannelUse { name, ends, figures, levels }: ChannelUse| Channel { name, ends, figures, levels };
    channels.iter().cloned().map(of).collect()
}

/// The timeline of a simulation.
pub(crate) fn of_simulation(simulated: &wsp_backend::Simulated) -> Timeline {
    let node = |(task, &kernel): (&SimulatedTask, &u32)| Simulated {
        kernel: KernelId(u16::try_from(kernel).unwrap_or(u16::MAX)),
        worker: task.worker,
        times: [task.submitted, task.ready, task.start, task.end],
        cause: task.cause,
    };
    let listing = &simulated.listing;
    let nodes: Vec<Simulated> = simulated.tasks.iter().zip(&listing.tasks).map(node).collect();
    let heading = Heading {
        program: PROCESS.to_owned(),
        workers: simulated.busy.len() as u32,
        kernels: listing.kernels.iter().map(|kernel| kernel.name.clone()).collect(),
    };
    let mut timeline = Timeline::simulated(heading, &nodes, &listing.edges);
    place(&mut timeline, listing);
    timeline.channels = shown(&simulated.channels);
    timeline
}

/// Gives the tasks of a profiled run their coordinates, where which tasks there are does not depend on the run.
pub(crate) fn with_coordinates(
    timeline: Option<Timeline>,
    inner: &Inner,
    arguments: &Arguments,
) -> Option<Timeline> {
    let mut timeline = timeline?;
    // Which tasks wait for which is known of the run.
    let (deps, detail) = (Some(Deps::Explicit), Detail { coordinates: true, ..Detail::default() });
    if let Ok(listing) =
        inner.program.graph(&arguments.args, &GraphOptions { deps, detail, ..GraphOptions::default() })
    {
        place(&mut timeline, &listing);
    }
    Some(timeline)
}

/// Gives tasks the coordinates that a listing of them has.
fn place(timeline: &mut Timeline, listing: &GraphListing) {
    let is_task = |&at: &usize| {
        let kernel = listing.tasks.get(at).and_then(|&kernel| listing.kernels.get(kernel as usize));
        kernel.is_none_or(|kernel| kernel.name != BARRIER_NODE)
    };
    let tasks: Vec<usize> = (0..listing.coordinates.ends.len()).filter(is_task).collect();
    if tasks.len() != timeline.tasks.len() {
        return;
    }
    for at in tasks {
        // Files of traces have indices from 0.
        let known = listing.coordinates.of(at).iter().map(|&value| u32::try_from(value));
        timeline.indices.push(known.collect::<Result<Vec<u32>, _>>().unwrap_or_default());
    }
}

/// When and where the tasks of a run ran, and what they waited for.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct Recorded {
    pub(crate) timeline: Arc<Timeline>,
}

#[pymethods]
impl Recorded {
    /// How many tasks.
    #[getter]
    fn tasks(&self) -> usize {
        self.timeline.tasks.len()
    }

    /// As a file whose name ends in `extension`; none where that is no form of traces.
    fn file(&self, py: Python<'_>, extension: &str) -> PyResult<Option<Py<PyBytes>>> {
        let Some(form) = Form::of_extension(extension) else { return Ok(None) };
        let mut bytes = Vec::new();
        py.detach(|| write_trace(&self.timeline, form, Edges::Last, &mut bytes))?;
        Ok(Some(PyBytes::new(py, &bytes).unbind()))
    }

    /// As a page, with the trace of another run beside it: its name and the bytes of its file. `name` is what this one is called.
    #[pyo3(signature = (name, other=None))]
    fn page(&self, py: Python<'_>, name: &str, other: Option<(String, Vec<u8>)>) -> PyResult<Py<PyBytes>> {
        let mut bytes = Vec::new();
        let done = py.detach(|| {
            let read = |(name, file): (String, Vec<u8>)| {
                wsp_report::read(&name, &file).map(|timeline| (timeline, name))
            };
            let other = other.map(read).transpose()?;
            let mut traces: Vec<(&str, &Timeline)> = vec![(name, &self.timeline)];
            if let Some((timeline, of)) = &other {
                wsp_report::pair([&self.timeline, timeline], [name, of])?;
                traces.push((of, timeline));
            }
            // What is written into memory is written.
            drop(wsp_report::write(&traces, &mut bytes));
            Ok::<(), Diagnostic>(())
        });
        done.map_err(|fault| errors::exception(py, &[fault], &SourceMap::default()))?;
        Ok(PyBytes::new(py, &bytes).unbind())
    }
}
