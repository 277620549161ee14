//! When and where tasks ran, in the trace event format that Perfetto and chrome://tracing read.

use crate::graph::Rows;
use serde_json::json;
use wsp_runtime::clock::Clock;

/// When and where one task ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedTask {
    /// The task.
    pub task: u32,
    /// Index into [`Timeline::kernels`].
    pub kernel: u32,
    /// The worker that ran it.
    pub worker: u32,
    /// When it could have started.
    pub ready: u64,
    /// When it started.
    pub start: u64,
    /// When it was complete.
    pub end: u64,
}

/// The tasks of one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    /// The workload's file.
    pub program: String,
    /// What times are counted in.
    pub clock: Clock,
    /// Workers.
    pub workers: u32,
    /// Names of kernels.
    pub kernels: Vec<String>,
    /// Tasks in any order.
    pub tasks: Vec<TimedTask>,
}

impl Timeline {
    /// Writes one JSON object: a track per worker, a slice per task.
    ///
    /// # Errors
    /// What the writer says, or that the work is to stop.
    pub fn write(&self, rows: &mut Rows<'_>) -> std::io::Result<()> {
        rows.text(&format!(
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{},",
            json!({ "clock": self.clock.name() })
        ));
        rows.text("\"traceEvents\":[").end()?;
        let process =
            json!({ "name": "process_name", "ph": "M", "pid": 0, "args": { "name": self.program } });
        rows.text(&process.to_string());
        for worker in 0..self.workers {
            let name = json!({ "name": format!("worker {worker}") });
            let track = json!({ "name": "thread_name", "ph": "M", "pid": 0, "tid": worker, "args": name });
            rows.text(",").end()?;
            rows.text(&track.to_string());
        }
        let heads: Vec<String> = self
            .kernels
            .iter()
            .map(|name| format!("{{\"name\":{},\"ph\":\"X\",\"pid\":0,\"tid\":", json!(name)))
            .collect();
        for task in &self.tasks {
            rows.text(",").end()?;
            rows.text(&heads[task.kernel as usize]).number(task.worker);
            self.time(rows.text(",\"ts\":"), task.start);
            self.time(rows.text(",\"dur\":"), task.end.saturating_sub(task.start));
            rows.text(",\"args\":{\"task\":").number(task.task);
            rows.text(",\"waited\":").number(task.start.saturating_sub(task.ready)).text("}}");
        }
        rows.end()?;
        rows.text("]}").end()?;
        rows.flush()
    }

    /// A time in the format's microseconds.
    fn time(&self, rows: &mut Rows<'_>, time: u64) {
        match self.clock {
            Clock::Cycles => {
                rows.number(time);
            }
            Clock::Nanoseconds => {
                let (whole, part) = (time / 1000, time % 1000);
                rows.number(whole).text(&format!(".{part:03}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn written(clock: Clock) -> Value {
        let task =
            |task, kernel, worker, ready, start, end| TimedTask { task, kernel, worker, ready, start, end };
        let timeline = Timeline {
            program: "a \"b\".wsp".to_owned(),
            clock,
            workers: 2,
            kernels: vec!["norm".to_owned(), "gemm".to_owned()],
            tasks: vec![task(0, 1, 0, 0, 0, 1005), task(1, 0, 1, 1005, 1007, 2_000_000)],
        };
        let mut out = Vec::new();
        timeline.write(&mut Rows::new(&mut out)).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn every_worker_has_a_track_and_every_task_a_slice() {
        let trace = written(Clock::Nanoseconds);
        let events = trace["traceEvents"].as_array().unwrap();
        let of = |phase: &str| events.iter().filter(|e| e["ph"] == phase).collect::<Vec<_>>();
        assert_eq!((of("M").len(), of("X").len()), (3, 2));
        let last = of("X")[1];
        assert_eq!((&last["name"], &last["tid"]), (&json!("norm"), &json!(1)));
        assert_eq!((&last["ts"], &last["dur"]), (&json!(1.007), &json!(1998.993)));
        assert_eq!(last["args"], json!({ "task": 1, "waited": 2 }));
        assert_eq!(of("M")[0]["args"]["name"], "a \"b\".wsp");
    }

    #[test]
    fn a_cycle_is_a_microsecond() {
        let trace = written(Clock::Cycles);
        assert_eq!(trace["otherData"]["clock"], "cycles, shown as microseconds");
        assert_eq!(trace["traceEvents"][3]["dur"], 1005);
    }
}
