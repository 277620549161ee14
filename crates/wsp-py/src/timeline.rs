//! When and where tasks ran, for files of traces.

use crate::outcome::Ran;
use std::io;
use wsp_backend::SimulatedTask;
use wsp_core::KernelId;
use wsp_runtime::timeline::{Edges, Form, Heading, Simulated, Timeline};

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
    (!runtime.trace.is_empty()).then(|| Timeline::measured(heading, &runtime.trace, &runtime.facts))
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
    for (name, spans) in simulated.aicpus.iter().flat_map(wsp_backend::SimulatedAicpus::rows) {
        timeline.add_row(name, &spans);
    }
    timeline
}

/// The bytes of a file whose name ends so; `None` where that is no form of traces.
pub(crate) fn written(timeline: &Timeline, extension: &str) -> Option<io::Result<Vec<u8>>> {
    let form = Form::of_extension(extension)?;
    let mut bytes = Vec::new();
    Some(timeline.write(form, Edges::Last, &mut bytes).map(|()| bytes))
}
