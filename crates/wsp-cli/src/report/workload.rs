//! What a run of a workload came to.

use super::lines::Lines;
use super::units::{bytes, millis};
use super::{Channels, Findings, GraphStats, Sources, Summary, aicpus, json, longest_over_mean, text};
use pto_wsp::cache::CacheUse;
use pto_wsp::codes;
use serde_json::{Value, json};
use std::time::Duration;
use wsp_backend::{AicpuOutcome, Bodies, SimulatedAicpus};
use wsp_check::reference::{Comparison, SAME_PROGRAM};
use wsp_core::words::counted;
use wsp_diag::Diagnostic;

/// Everything that `wsp run FILE.wsp` prints.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkloadReport {
    /// The workload's file.
    pub program: String,
    /// What ran in its tasks; nothing in virtual time.
    pub bodies: Option<Bodies>,
    /// Where its arrays come from.
    pub sources: Sources,
    /// Values of parameters.
    pub params: Vec<(String, i64)>,
    /// The schedule that was applied, if it has a name.
    pub schedule: Option<String>,
    /// What was done with each of its directives.
    pub schedule_lines: Vec<String>,
    /// Tasks by tile, where it has a grid.
    pub grid: Vec<String>,
    /// Tasks by kernel, in the order of the program.
    pub kernels: Vec<(String, u64)>,
    /// How long it took.
    pub time: RunTime,
    /// What went through channels of pipelines.
    pub channels: Channels,
    /// Against a sequential run.
    pub check: Check,
    /// What else was found.
    pub findings: Findings,
    /// What a cache had of it, where one was asked for.
    pub cache: Option<CacheUse>,
}

/// How long a run took.
#[derive(Clone, PartialEq, Debug)]
pub enum RunTime {
    /// On threads.
    Measured {
        /// How many.
        threads: u32,
        /// From the start of generation to the end of the last task.
        run: Duration,
        /// To the start of the first task, where that is known.
        first_task: Option<Duration>,
        /// In tasks, per worker.
        busy: Vec<Duration>,
        /// What the task graph did.
        graph: GraphStats,
        /// What AICPUs did, where they generated the tasks.
        aicpus: Option<Box<AicpuOutcome>>,
    },
    /// In virtual time: no kernel ran.
    Cycles {
        /// When the last task was complete.
        makespan: u64,
        /// In tasks, per worker.
        busy: Vec<u64>,
        /// What AICPUs did, where tasks were theirs.
        aicpus: Option<Box<SimulatedAicpus>>,
    },
}

/// Whether a run wrote what a sequential run writes.
#[derive(Clone, PartialEq, Debug)]
pub enum Check {
    /// Nobody looked.
    NotDone,
    /// There was no task whose outputs could be compared.
    NothingRan,
    /// Bit by bit.
    Same {
        /// Tensors compared.
        tensors: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// It did not.
    Differs(Vec<Difference>),
    /// The sequential run used plain tile operations, so that bits may differ: how far outputs are apart.
    Close(Vec<Comparison>),
}

/// A tensor that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The tensor.
    pub name: String,
    /// Its elements.
    pub elements: u64,
    /// Those that differ.
    pub differing: u64,
    /// Index of the first that differs; empty when the shapes do.
    pub first: Vec<u64>,
}

impl Check {
    /// The comparisons that were made, but for those bit by bit; none where nothing was compared.
    pub fn comparisons(&self) -> Option<&[Comparison]> {
        match self {
            Check::NotDone | Check::NothingRan => None,
            Check::Close(all) => Some(all),
            Check::Same { .. } | Check::Differs(_) => Some(&[]),
        }
    }

    /// What is wrong, one for each tensor.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let all = match self {
            Check::NotDone | Check::NothingRan | Check::Same { .. } => return Vec::new(),
            Check::Close(all) => return all.iter().filter_map(Comparison::diagnostic).collect(),
            Check::Differs(all) => all,
        };
        let fault = |d: &Difference| {
            Diagnostic::error(
                codes::NOT_SEQUENTIAL,
                format!("`{}` differs from what a sequential run writes", d.name),
            )
            .note(format!("{} of {}, the first at {:?}", d.differing, counted(d.elements, "element"), d.first))
            .help("every pair of tasks that share elements one of them writes must be ordered: use `deps = overlap`")
        };
        all.iter().map(fault).collect()
    }

    pub(super) fn add_to(&self, findings: &Findings, lines: &mut Lines) {
        match self {
            Check::Close(all) if !all.is_empty() => {
                all.iter().for_each(|check| lines.add("check", &findings.comparison(check)));
            }
            other => lines.add("check", &other.text(findings.any_wrong())),
        }
        findings.add_to(lines);
    }

    /// Whether it was done, and there was no element to compare.
    pub fn compares_nothing(&self) -> bool {
        match self {
            Check::Same { bytes, .. } => *bytes == 0,
            Check::Close(all) => all.iter().all(|one| one.elements == 0),
            Check::NotDone | Check::NothingRan | Check::Differs(_) => false,
        }
    }

    /// `wrong` says what is, apart from values that differ.
    fn text(&self, wrong: Option<&str>) -> String {
        match self {
            _ if self.compares_nothing() => "nothing was compared: no task writes an element".to_owned(),
            Check::NotDone | Check::Close(_) => "not done".to_owned(),
            Check::NothingRan => "nothing ran".to_owned(),
            Check::Same { tensors, bytes: n } => {
                let verdict = match wrong {
                    None => "ok".to_owned(),
                    Some(wrong) => format!("WRONG: {wrong}; what is compared agrees"),
                };
                format!(
                    "{verdict}: {} ({}) bit for bit as a sequential run writes; against {SAME_PROGRAM}",
                    counted(*tensors, "tensor"),
                    bytes(*n)
                )
            }
            Check::Differs(all) => {
                let names: Vec<String> = all.iter().map(|d| format!("`{}`", d.name)).collect();
                format!("WRONG: {} not as a sequential run writes", names.join(", "))
            }
        }
    }

    pub(super) fn json(&self, findings: &Findings) -> Value {
        match self {
            Check::NotDone => Value::Null,
            Check::NothingRan => json!({ "passed": false, "nothing_ran": true }),
            Check::Same { tensors, bytes } => json!({
                "passed": !self.compares_nothing() && findings.are_right(), "tensors": tensors, "bytes": bytes,
                "against": SAME_PROGRAM, "independent": false,
            }),
            Check::Close(all) => json!({
                "passed": !self.compares_nothing() && all.iter().all(Comparison::passed) && findings.are_right(),
                "outputs": all.iter().map(|check| findings.comparison_json(check)).collect::<Vec<_>>(),
            }),
            Check::Differs(all) => json!({
                "passed": false,
                "against": SAME_PROGRAM,
                "independent": false,
                "differing": all.iter().map(|d| json!({
                    "name": d.name, "elements": d.elements, "differing": d.differing, "first": d.first,
                })).collect::<Vec<_>>(),
            }),
        }
    }
}

impl Summary for WorkloadReport {
    fn text(&self) -> String {
        let mut lines = Lines::default();
        lines.add("kernels", self.kernels_text());
        match self.bodies {
            Some(_) => lines.add("inputs", &self.sources.text()),
            None => self.sources.add_to(&mut lines),
        }
        if !self.params.is_empty() {
            let params: Vec<String> = self.params.iter().map(|(name, n)| format!("{name} = {n}")).collect();
            lines.add("params", &params.join(", "));
        }
        let groups = self.kernels.iter().map(|(name, tasks)| (name.as_str(), *tasks));
        lines.add("tasks", &text::tiers(groups));
        lines.add("schedule", self.schedule_text());
        lines.add_all("grid", &self.grid);
        self.time_text(&mut lines);
        self.channels.add_to(&mut lines);
        lines.cache(self.cache.as_ref());
        self.check.add_to(&self.findings, &mut lines);
        lines.finish(&self.program)
    }

    fn json(&self) -> Value {
        let all = json!({
            "program": self.program,
            "bodies": self.bodies.map(bodies),
            "params": self.params.iter().map(|(name, n)| json!({ "name": name, "value": n })).collect::<Vec<_>>(),
            "schedule": self.schedule,
            "schedule_lines": self.schedule_lines,
            "grid": self.grid,
            "tasks": self.kernels.iter().map(|(name, n)| json!({ "kernel": name, "tasks": n })).collect::<Vec<_>>(),
            "channels": self.channels.json(),
            "check": self.check.json(&self.findings),
        });
        let mut all = self.sources.with_json(all);
        self.findings.add_json(&mut all);
        json::add_cache(&mut all, self.cache.as_ref());
        let time = match &self.time {
            RunTime::Cycles { makespan, busy, aicpus } => json!({
                "aicpus": aicpus.as_deref().map(|aicpus| aicpus::simulated_json(aicpus, *makespan)),
                "virtual_time": { "cycles": makespan, "worker_busy": busy },
            }),
            RunTime::Measured { threads, run, first_task, busy, graph, aicpus } => json!({
                "aicpus": aicpus.as_deref().map(aicpus::json),
                "threads": threads,
                "time_ms": { "run": json::ms(run), "first_task": first_task.as_ref().map(json::ms) },
                // Those of AICPUs are with each.
                "edges": if aicpus.is_none() { json::edges(graph) } else { Value::Null },
                "affinity": (aicpus.is_none() && graph.is_counted()).then(|| json!({ "hits": graph.affinity_hits, "misses": graph.affinity_misses })),
                "worker_busy_ms": busy.iter().map(json::ms).collect::<Vec<_>>(),
            }),
        };
        if let (Value::Object(all), Value::Object(time)) = (&mut all, time) {
            all.extend(time);
        }
        if let RunTime::Measured { graph, .. } = &self.time {
            json::add_counts(&mut all, graph);
        }
        all
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}

impl WorkloadReport {
    fn kernels_text(&self) -> &'static str {
        match self.bodies {
            None => "not run: each task takes the cycles that its kernel costs",
            Some(Bodies::Library) => "those of the used file",
            Some(Bodies::Registered) => "registered functions",
            Some(Bodies::Mixing) => "without bodies: each task mixes what it reads into what it writes",
            Some(Bodies::Mixed) => {
                "registered functions; those without mix what they read into what they write"
            }
        }
    }

    fn schedule_text(&self) -> &str {
        match &self.schedule {
            Some(name) => name,
            None if self.schedule_lines.is_empty() => "none",
            None => "that of the file",
        }
    }

    fn time_text(&self, lines: &mut Lines) {
        match &self.time {
            RunTime::Measured { threads, run, first_task, busy, graph, aicpus } => {
                let first = first_task.map_or(String::new(), |t| format!("; first task after {}", millis(t)));
                let on = counted(u64::from(*threads), "thread");
                lines.add("time", &format!("run {} on {on}{first}", millis(*run)));
                match aicpus {
                    Some(outcome) => {
                        aicpus::add(
                            outcome,
                            "a list of all tasks, made by the host",
                            graph.overlapped,
                            lines,
                        );
                    }
                    None if graph.is_counted() => lines.add("graph", &text::graph(graph)),
                    None => {}
                }
                if let Some(balance) = longest_over_mean(busy.iter().map(Duration::as_secs_f64)) {
                    let over = match aicpus {
                        Some(outcome) => counted(outcome.cores.into(), "core"),
                        None => on,
                    };
                    lines.add("balance", &format!("{balance:.2} measured on {over} (longest / mean)"));
                }
            }
            RunTime::Cycles { makespan, busy, aicpus } => {
                let on = counted(busy.len() as u64, "worker");
                lines.add("time", &format!("{makespan} cycles of virtual time on {on}"));
                let share = |n: u64| if *makespan == 0 { 0.0 } else { n as f64 * 100.0 / *makespan as f64 };
                let each: Vec<String> =
                    busy.iter().enumerate().map(|(i, &n)| format!("{i}: {n} ({:.0}%)", share(n))).collect();
                lines.add("busy", &each.join(", "));
                if let Some(aicpus) = aicpus {
                    aicpus::add_simulated(aicpus, *makespan, lines);
                }
            }
        }
    }
}

fn bodies(bodies: Bodies) -> &'static str {
    match bodies {
        Bodies::Library => "library",
        Bodies::Registered => "registered",
        Bodies::Mixing => "mixing",
        Bodies::Mixed => "mixed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn report(time: RunTime, check: Check) -> WorkloadReport {
        let bodies = matches!(time, RunTime::Measured { .. }).then_some(Bodies::Mixing);
        WorkloadReport {
            program: "layer.wsp".to_owned(),
            bodies,
            sources: Sources { given: Vec::new(), made: vec!["x".to_owned()], seed: 1 },
            params: vec![("seq".to_owned(), 1024), ("m".to_owned(), 16)],
            schedule: None,
            schedule_lines: Vec::new(),
            grid: Vec::new(),
            kernels: vec![("norm".to_owned(), 16), ("gemm".to_owned(), 48)],
            time,
            channels: Channels::default(),
            check,
            findings: Findings::default(),
            cache: None,
        }
    }

    fn measured() -> RunTime {
        RunTime::Measured {
            threads: 2,
            run: Duration::from_micros(1400),
            first_task: Some(Duration::from_micros(41)),
            busy: vec![Duration::from_millis(3), Duration::from_millis(1)],
            graph: GraphStats { raw: 30, war: 2, ..GraphStats::default() },
            aicpus: None,
        }
    }

    #[test]
    fn a_run_of_kernels_without_bodies_says_so() {
        expect![[r#"
            layer.wsp
              kernels    without bodies: each task mixes what it reads into what it writes
              inputs     x made up from seed 1
              params     seq = 1024, m = 16
              tasks      16 norm, 48 gemm
              schedule   none
              time       run 1.40 ms on 2 threads; first task after 0.041 ms
              graph      32 edges, 0 tasks done while generating
              balance    1.50 measured on 2 threads (longest / mean)
              check      ok: 9 tensors (4.1 KB) bit for bit as a sequential run writes; against the same program on one thread: not an independent check
        "#]]
        .assert_eq(&report(measured(), Check::Same { tensors: 9, bytes: 4096 }).text());
    }

    #[test]
    fn virtual_time_is_counted_in_cycles() {
        let report =
            report(RunTime::Cycles { makespan: 800, busy: vec![800, 400], aicpus: None }, Check::NotDone);
        expect![[r#"
            layer.wsp
              kernels    not run: each task takes the cycles that its kernel costs
              inputs     x made up from seed 1
              params     seq = 1024, m = 16
              tasks      16 norm, 48 gemm
              schedule   none
              time       800 cycles of virtual time on 2 workers
              busy       0: 800 (100%), 1: 400 (50%)
              check      not done
        "#]]
        .assert_eq(&report.text());
        assert_eq!(report.json()["virtual_time"], json!({ "cycles": 800, "worker_busy": [800, 400] }));
        assert!(report.json()["check"].is_null());
    }

    #[test]
    fn numbers_are_where_scripts_look_for_them() {
        let json = report(measured(), Check::Same { tensors: 9, bytes: 4096 }).json();
        assert_eq!((&json["time_ms"]["run"], &json["edges"]["raw"]), (&json!(1.4), &json!(30)));
        assert_eq!((&json["bodies"], &json["check"]["passed"]), (&json!("mixing"), &json!(true)));
        let first = Difference { name: "y".to_owned(), elements: 6, differing: 2, first: vec![1, 1] };
        let wrong = report(measured(), Check::Differs(vec![first]));
        assert_eq!(wrong.json()["check"]["differing"][0]["first"], json!([1, 1]));
        assert!(wrong.text().contains("WRONG: `y`"));
    }
}
