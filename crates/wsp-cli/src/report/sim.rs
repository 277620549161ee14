//! What a simulation on a machine came to, as text and JSON.

use super::lines::Lines;
use super::units::bytes;
use super::{RunTime, Sources, aicpus, waits};
use crate::engine::TasksOutcome;
use serde_json::{Value, json};
use wsp_backend::SimulatedAicpus;
use wsp_core::ExecPool;
use wsp_core::words::counted;
use wsp_plan::target::model::Model;
use wsp_runtime::timeline::Timeline;

/// Everything that `wsp sim` prints.
pub(crate) struct SimReport<'a> {
    pub(crate) outcome: &'a TasksOutcome,
    pub(crate) timeline: &'a Timeline,
    /// Where the arrays come from.
    pub(crate) sources: Sources,
    pub(crate) machine: &'a Model,
}

/// Workers of one kind.
struct Busy {
    kind: ExecPool,
    count: usize,
    /// Cycles in tasks, of all together.
    busy: u64,
}

impl SimReport<'_> {
    /// Cycles until the last task was complete, and what each worker had of them.
    fn cycles(&self) -> (u64, &[u64]) {
        match &self.outcome.time {
            RunTime::Cycles { makespan, busy, .. } => (*makespan, busy),
            RunTime::Measured { .. } => (0, &[]),
        }
    }

    /// What AICPUs did, where tasks were theirs.
    fn aicpus(&self) -> Option<&SimulatedAicpus> {
        match &self.outcome.time {
            RunTime::Cycles { aicpus, .. } => aicpus.as_deref(),
            RunTime::Measured { .. } => None,
        }
    }

    /// How long tasks waited on average since they were ready.
    fn handing(&self) -> f64 {
        let tasks = &self.timeline.tasks;
        let all: f64 = tasks.iter().map(|task| task.started.saturating_sub(task.ready) as f64).sum();
        if tasks.is_empty() { 0.0 } else { all / tasks.len() as f64 }
    }

    fn micros(&self, cycles: u64) -> f64 {
        cycles as f64 / self.machine.clock * 1e6
    }

    /// Workers by kind: where there is one for each unit of the machine, of its kinds.
    fn units(&self) -> Vec<Busy> {
        let (_, busy) = self.cycles();
        let kinds: Vec<ExecPool> = self.machine.cores().map(|(_, kind)| kind).collect();
        if kinds.len() > busy.len() || kinds.iter().all(|kind| *kind == ExecPool::Any) {
            return vec![Busy { kind: ExecPool::Any, count: busy.len(), busy: busy.iter().sum() }];
        }
        let of = |kind: ExecPool| {
            let all: Vec<u64> =
                kinds.iter().zip(busy).filter(|(of, _)| **of == kind).map(|(_, n)| *n).collect();
            (!all.is_empty()).then(|| Busy { kind, count: all.len(), busy: all.iter().sum() })
        };
        // What needs no unit is beyond them: copies, and tasks of AICPUs.
        let beyond = busy.get(kinds.len()..).filter(|beyond| !beyond.is_empty());
        let beyond = beyond.map(|of| Busy { kind: ExecPool::Any, count: of.len(), busy: of.iter().sum() });
        let of_kinds = [ExecPool::Cube, ExecPool::Vector, ExecPool::Any].into_iter().filter_map(of);
        of_kinds.chain(beyond).collect()
    }

    /// Cycles in tasks over those that there were.
    fn share(&self, of: &Busy) -> f64 {
        let available = self.cycles().0 as f64 * of.count as f64;
        if available > 0.0 { of.busy as f64 / available } else { 0.0 }
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let Model { name, title, clock, .. } = self.machine;
        let mut lines = Lines::default();
        lines.add("machine", &format!("{name}, {title}, at {:.4} GHz", clock / 1e9));
        self.sources.add_to(&mut lines);
        lines.add_all("schedule", &self.outcome.schedule_lines);
        let tasks: u64 = self.outcome.kernels.iter().map(|(_, tasks)| tasks).sum();
        lines.add("tasks", &tasks.to_string());
        for (kernel, tasks) in &self.outcome.kernels {
            lines.add("", &format!("{tasks} {kernel}"));
        }
        let (makespan, _) = self.cycles();
        let cycles = counted(makespan, "cycle");
        lines.add("time", &format!("{cycles} of virtual time, {:.3} us", self.micros(makespan)));
        let unit = |of: &Busy| {
            let name = match of.kind {
                ExecPool::Any => "worker".to_owned(),
                kind => format!("{} unit", kind.word()),
            };
            format!("{} {:.1} %", counted(of.count, &name), self.share(of) * 100.0)
        };
        lines.add("busy", &self.units().iter().map(unit).collect::<Vec<_>>().join(", "));
        if let Some(aicpus) = self.aicpus() {
            aicpus::add_simulated(aicpus, makespan, &mut lines);
            let mean = self.handing();
            lines.add("handing", &format!("{mean:.1} cycles of each task from ready to started"));
            let launch = counted(aicpus.launch, "cycle");
            lines.add("launch", &format!("{launch}, {:.3} us", self.micros(aicpus.launch)));
            let (bytes, transfer) = (bytes(aicpus.bytes), counted(aicpus.transfer, "cycle"));
            lines.add("transfer", &format!("{bytes} in {transfer}, {:.3} us", self.micros(aicpus.transfer)));
        }
        self.outcome.channels().add_to(&mut lines);
        lines.finish(&self.timeline.processes.concat()) + &waits::text(self.timeline)
    }

    /// For machines.
    pub(crate) fn json(&self) -> Value {
        let (makespan, busy) = self.cycles();
        let kernel = |(name, tasks): &(String, u64)| json!({ "name": name, "tasks": tasks });
        let unit = |of: &Busy| json!({ "kind": of.kind.word(), "count": of.count, "busy_cycles": of.busy, "busy": self.share(of) });
        let mut report = json!({
            "program": self.timeline.processes.concat(),
            "model": self.machine.name,
            "clock_hz": self.machine.clock,
            "made_up": self.sources.made,
            "schedule_lines": self.outcome.schedule_lines,
            "kernels": self.outcome.kernels.iter().map(kernel).collect::<Vec<_>>(),
            "makespan_cycles": makespan,
            "makespan_us": self.micros(makespan),
            "units": self.units().iter().map(unit).collect::<Vec<_>>(),
            "busy_cycles": busy,
            "aicpus": self.aicpus().map(|found| aicpus::simulated_json(found, makespan)),
            "channels": self.outcome.channels().json(),
            "handing_cycles": self.aicpus().map(|_| self.handing()),
        });
        waits::add_json(self.timeline, &mut report);
        report
    }
}
