//! When and where tasks ran, in the trace event format that Perfetto and chrome://tracing read.

use crate::outcome::Ran;
use serde_json::json;
use std::fmt::Write;
use wsp_backend::{Simulated, SimulatedTask};
use wsp_runtime::clock::Clock;

/// When and where one task ran.
#[derive(Clone, Copy, Debug)]
struct Slice {
    task: u32,
    kernel: u32,
    worker: u32,
    ready: u64,
    start: u64,
    end: u64,
}

/// The tasks of one run.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    clock: Clock,
    workers: u32,
    kernels: Vec<String>,
    tasks: Vec<Slice>,
}

impl Timeline {
    /// That of a run; none of one that recorded no times.
    pub(crate) fn of_run(outcome: &Ran) -> Option<Timeline> {
        let trace = &outcome.runtime.trace;
        let slice = |t: &wsp_runtime::TaskTrace| Slice {
            task: t.task.0,
            kernel: t.kernel.0.into(),
            worker: t.worker,
            ready: t.ready_ns,
            start: t.started_ns,
            end: t.finished_ns,
        };
        (!trace.is_empty()).then(|| Timeline {
            clock: Clock::Nanoseconds,
            workers: outcome.threads,
            kernels: outcome.kernels.iter().map(|k| k.name.clone()).collect(),
            tasks: trace.iter().map(slice).collect(),
        })
    }

    /// That of a simulation.
    pub(crate) fn of_simulation(simulated: &Simulated) -> Timeline {
        let lived = (0u32..).zip(&simulated.listing.tasks).zip(&simulated.tasks);
        let slice = |((task, &kernel), life): ((u32, &u32), &SimulatedTask)| {
            let worker = life.worker?;
            Some(Slice { task, kernel, worker, ready: life.ready, start: life.start, end: life.end })
        };
        Timeline {
            clock: Clock::Cycles,
            workers: simulated.busy.len() as u32,
            kernels: simulated.listing.kernels.iter().map(|k| k.name.clone()).collect(),
            tasks: lived.filter_map(slice).collect(),
        }
    }

    /// One JSON object: a track per worker, a slice per task.
    pub(crate) fn json(&self) -> String {
        let mut text =
            format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{},", json!({ "clock": self.clock.name() }));
        text.push_str("\"traceEvents\":[\n");
        for worker in 0..self.workers {
            let name = json!({ "name": format!("worker {worker}") });
            let track = json!({ "name": "thread_name", "ph": "M", "pid": 0, "tid": worker, "args": name });
            text.push_str(&track.to_string());
            text.push_str(",\n");
        }
        let names: Vec<String> = self.kernels.iter().map(|name| json!(name).to_string()).collect();
        for task in &self.tasks {
            let name = names.get(task.kernel as usize).map_or("\"?\"", String::as_str);
            let (start, length) = (self.time(task.start), self.time(task.end.saturating_sub(task.start)));
            let waited = task.start.saturating_sub(task.ready);
            let Slice { task, worker, .. } = task;
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "{{\"name\":{name},\"ph\":\"X\",\"pid\":0,\"tid\":{worker},\"ts\":{start},\"dur\":{length},\
                 \"args\":{{\"task\":{task},\"waited\":{waited}}}}},"
            );
        }
        let process = json!({ "name": "process_name", "ph": "M", "pid": 0, "args": { "name": "pto_wsp" } });
        let _ = write!(text, "{process}\n]}}\n");
        text
    }

    /// A time in microseconds.
    fn time(&self, time: u64) -> String {
        match self.clock {
            Clock::Nanoseconds => format!("{}.{:03}", time / 1000, time % 1000),
            Clock::Cycles => time.to_string(),
        }
    }
}
