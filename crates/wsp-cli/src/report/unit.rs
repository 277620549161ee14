//! What a run of a unit of task graphs came to.

use super::lines::Lines;
use super::units::{bytes, millis};
use super::{Check, Findings, Sources, Summary, json};
use pto_wsp::Peak;
use serde_json::{Value, json};
use std::time::Duration;
use wsp_backend::Begin;
use wsp_core::tg::MemLocation;
use wsp_core::words::counted;
use wsp_runtime::tg::Stats;

/// Everything that `wsp run FILE.tg` prints.
#[derive(Clone, PartialEq, Debug)]
pub struct UnitReport {
    /// The unit's file.
    pub program: String,
    /// Worker threads.
    pub threads: u32,
    /// Simulated devices.
    pub devices: u32,
    /// Where its tensors come from.
    pub sources: Sources,
    /// Declared scalars that were set.
    pub scalars: Vec<(String, i64)>,
    /// Whether checkpoints stay when the run has ended.
    pub keeps: bool,
    /// How the run began.
    pub begin: Begin,
    /// Counts and times.
    pub stats: UnitStats,
    /// Against a reference, or a run on one thread.
    pub check: Check,
    /// What else was found.
    pub findings: Findings,
}

/// Counts and times of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UnitStats {
    /// Launches, kernels, dispatches and blocks.
    pub counts: Stats,
    /// Copies and releases; none where a backend does not count them.
    pub copies: Option<u64>,
    /// From checked instructions to finished graphs, with memory.
    pub prepare: Duration,
    /// From the first statement of the host to the last.
    pub run: Duration,
    /// What each device held at most; nothing where a backend does not measure it.
    pub peak: Vec<Peak>,
}

impl Summary for UnitReport {
    fn text(&self) -> String {
        let (stats, counts) = (&self.stats, &self.stats.counts);
        let mut lines = Lines::default();
        lines.add("inputs", &self.sources.text());
        if !self.scalars.is_empty() {
            let scalars: Vec<String> = self.scalars.iter().map(|(name, n)| format!("{name} = {n}")).collect();
            lines.add("values", &scalars.join(", "));
        }
        let resumed = if self.begin == Begin::Resume { ", from a checkpoint" } else { "" };
        lines.add("launches", &format!("{}{resumed}", counts.launches));
        let again = match counts.kernels.saturating_sub(counts.dispatches) {
            0 => String::new(),
            resident => format!(", {resident} of them resident"),
        };
        let blocks = counted(counts.blocks, "block");
        lines.add("kernels", &format!("{}{again}, {blocks}", counted(counts.kernels, "invocation")));
        if counts.checkpoints > 0 {
            let kept =
                if self.keeps { "" } else { ", which end with the run: `--checkpoints DIR` keeps them" };
            lines.add("saved", &format!("{}{kept}", counted(counts.checkpoints, "checkpoint")));
        }
        let on = match self.devices {
            1 => counted(self.threads, "thread").to_string(),
            devices => {
                format!("{} for {}", counted(self.threads, "thread"), counted(devices, "device"))
            }
        };
        lines.add(
            "time",
            &format!("run {} on {on}; prepared in {}", millis(stats.run), millis(stats.prepare)),
        );
        // A package does not measure it.
        if !stats.peak.is_empty() {
            lines.add("memory", &self.memory_text());
        }
        self.check.add_to(&self.findings, &mut lines);
        lines.finish(&self.program)
    }

    fn json(&self) -> Value {
        let stats = &self.stats;
        let peak = |peak: &Peak| {
            let places = MemLocation::ALL.iter().zip(peak.by_location);
            let places: serde_json::Map<String, Value> =
                places.map(|((_, name, _), n)| ((*name).to_owned(), json!(n))).collect();
            json!({ "total": peak.total, "by_location": places })
        };
        let all = json!({
            "program": self.program,
            "values": self.scalars.iter().map(|(name, n)| json!({ "name": name, "value": n })).collect::<Vec<_>>(),
            "threads": self.threads,
            "devices": self.devices,
            "resumed": self.begin == Begin::Resume,
            "launches": stats.counts.launches,
            "kernels": stats.counts.kernels,
            "dispatches": stats.counts.dispatches,
            "blocks": stats.counts.blocks,
            "copies": stats.copies,
            "checkpoints": stats.counts.checkpoints,
            "checkpoints_kept": self.keeps,
            "time_ms": { "prepare": json::ms(&stats.prepare), "run": json::ms(&stats.run) },
            "memory": (!stats.peak.is_empty()).then(|| stats.peak.iter().map(peak).collect::<Vec<_>>()),
            "check": self.check.json(&self.findings),
        });
        let mut all = self.sources.with_json(all);
        self.findings.add_json(&mut all);
        all
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}

impl UnitReport {
    fn memory_text(&self) -> String {
        let one = |peak: &Peak| {
            let places = MemLocation::ALL.iter().zip(peak.by_location);
            let parts: Vec<String> = places
                .filter(|(_, n)| *n > 0)
                .map(|((_, name, _), n)| format!("{name} {}", bytes(n)))
                .collect();
            match parts.len() {
                0 | 1 => parts.concat(),
                _ => format!("{} ({})", bytes(peak.total), parts.join(", ")),
            }
        };
        let all: Vec<String> = self.stats.peak.iter().map(one).filter(|text| !text.is_empty()).collect();
        if all.is_empty() { "none".to_owned() } else { format!("{} at most", all.join("; ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn report() -> UnitReport {
        UnitReport {
            program: "steps.tg".to_owned(),
            threads: 2,
            devices: 1,
            sources: Sources { given: Vec::new(), made: vec!["X".to_owned()], seed: 1 },
            scalars: vec![("STEPS".to_owned(), 10)],
            keeps: false,
            begin: Begin::Start,
            stats: UnitStats {
                counts: Stats { launches: 10, kernels: 40, dispatches: 31, blocks: 960, ..Stats::default() },
                copies: Some(3),
                prepare: Duration::from_micros(120),
                run: Duration::from_millis(12),
                peak: vec![Peak { by_location: [4_000_000, 0, 0, 500_000], total: 4_500_000 }],
            },
            check: Check::Same { tensors: 1, bytes: 4096 },
            findings: Findings::default(),
        }
    }

    #[test]
    fn a_summary_fits_a_screen() {
        expect![[r#"
            steps.tg
              inputs     X made up from seed 1
              values     STEPS = 10
              launches   10
              kernels    40 invocations, 9 of them resident, 960 blocks
              time       run 12.0 ms on 2 threads; prepared in 0.120 ms
              memory     4.5 MB (GM 4.0 MB, SHARED 500.0 KB) at most
              check      ok: 1 tensor (4.1 KB) bit for bit as a sequential run writes; against the same program on one thread: not an independent check
        "#]]
        .assert_eq(&report().text());
    }

    #[test]
    fn numbers_are_where_scripts_look_for_them() {
        let json = report().json();
        assert_eq!((&json["launches"], &json["check"]["passed"]), (&json!(10), &json!(true)));
        assert_eq!(json["memory"][0]["by_location"]["SHARED"], 500_000);
        assert_eq!(json["time_ms"]["run"], 12.0);
        assert_eq!(json["copies"], 3);
        let mut package = report();
        (package.stats.copies, package.stats.peak) = (None, Vec::new());
        let json = package.json();
        assert_eq!(
            (&json["copies"], &json["memory"]),
            (&Value::Null, &Value::Null),
            "a package counts neither"
        );
    }
}
