//! What `wsp plan` prints: descriptors in issue order, and what they add up to.

use super::json;
use super::lines::Lines;
use super::text::tiers;
use super::units::{bytes, millis};
use super::{DataSummary, Sources, TaskGroup, planned_balance};
use pto_wsp::cache::CacheUse;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ordered::Arrange;

/// A type of descriptors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescriptorType {
    /// Its name.
    pub name: String,
    /// Its fields, in order.
    pub fields: Vec<String>,
}

/// One descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// Index into [`PlanReport::types`].
    pub ty: usize,
    /// What takes it.
    pub kernel: String,
    /// The kernel's place in its tier set, if it is in one.
    pub tier: Option<u32>,
    /// What it is estimated to cost, in any one unit.
    pub cost: u64,
    /// Its fields' values.
    pub words: Vec<u32>,
}

/// What a plan came to.
#[derive(Clone, Debug, Default)]
pub struct PlanReport {
    /// The program's file.
    pub program: String,
    /// Where the arrays come from.
    pub sources: Sources,
    /// What the data amount to.
    pub data: Option<DataSummary>,
    /// Types of descriptors.
    pub types: Vec<DescriptorType>,
    /// Descriptors in issue order.
    pub descriptors: Vec<Descriptor>,
    /// Elements per tile of each tiled axis.
    pub tiles: Vec<(String, u64)>,
    /// Workspace slots handed out.
    pub workspace_slots: u64,
    /// Bytes of workspace.
    pub workspace_bytes: u64,
    /// Cores of the machine model.
    pub max_blocks: u32,
    /// The schedule that was applied.
    pub schedule: Option<String>,
    /// What the target does with each of its statements.
    pub schedule_lines: Vec<String>,
    /// What would run them, part by part.
    pub implementation: Vec<(&'static str, String)>,
    /// How long the generators took.
    pub plan: Duration,
    /// Warnings and notes.
    pub warnings: Vec<Diagnostic>,
    /// What a cache had of it, where one was asked for.
    pub cache: Option<CacheUse>,
}

impl PlanReport {
    /// Descriptors per type and kernel, in order of first issue; tiers first and in their order.
    pub fn groups(&self) -> Vec<TaskGroup> {
        let mut groups: Vec<TaskGroup> = Vec::new();
        for d in &self.descriptors {
            let name = self.type_name(d.ty);
            match groups.iter_mut().find(|g| g.kernel == d.kernel && g.tier == d.tier && g.descriptor == name)
            {
                Some(group) => group.tasks += 1,
                None => groups.push(TaskGroup {
                    descriptor: name.to_owned(),
                    kernel: d.kernel.clone(),
                    tier: d.tier,
                    tasks: 1,
                }),
            }
        }
        groups.arrange_by_key(|g| (g.tier.is_none(), g.tier));
        groups
    }

    /// Largest load over mean load when the descriptors of tiers are dealt to the blocks of the machine model.
    pub fn planned_balance(&self) -> Option<f64> {
        let costs: Vec<u64> = self.descriptors.iter().filter(|d| d.tier.is_some()).map(|d| d.cost).collect();
        planned_balance(&costs, self.max_blocks)
    }

    /// Bytes of all descriptors: what would be sent to a device.
    pub fn descriptor_bytes(&self) -> u64 {
        self.descriptors.iter().map(|d| 4 * d.words.len() as u64).sum()
    }

    fn type_name(&self, ty: usize) -> &str {
        self.types.get(ty).map_or("?", |t| t.name.as_str())
    }

    /// For people, with at most `limit` descriptors.
    pub fn text(&self, limit: usize) -> String {
        let mut lines = Lines::default();
        self.sources.add_to(&mut lines);
        if let Some(data) = &self.data {
            let text = format!(
                "{} with {}, the longest {}",
                data.sequences,
                counted(data.tokens, "token"),
                data.longest
            );
            lines.add("sequences", &text);
        }
        let groups = self.groups();
        let axes: Vec<String> = self.tiles.iter().map(|(axis, n)| format!("{axis} by {n}")).collect();
        lines.add("tiles", &if axes.is_empty() { "none".to_owned() } else { axes.join(", ") });
        lines.add(
            "issued",
            &format!(
                "{} ({}) in {}",
                counted(self.descriptors.len() as u64, "descriptor"),
                bytes(self.descriptor_bytes()),
                millis(self.plan)
            ),
        );
        lines.add(
            "tiers",
            &tiers(groups.iter().filter(|g| g.tier.is_some()).map(|g| (g.kernel.as_str(), g.tasks))),
        );
        lines.add(
            "others",
            &tiers(groups.iter().filter(|g| g.tier.is_none()).map(|g| (g.kernel.as_str(), g.tasks))),
        );
        lines.add(
            "workspace",
            &format!("{} in {}", bytes(self.workspace_bytes), counted(self.workspace_slots, "slot")),
        );
        lines.add("schedule", self.schedule.as_deref().unwrap_or("none"));
        for line in &self.schedule_lines {
            lines.add("", line);
        }
        for (part, by) in &self.implementation {
            lines.add(part, by);
        }
        if let Some(balance) = self.planned_balance() {
            lines.add(
                "balance",
                &format!("{balance:.2} on {} (longest / mean)", counted(self.max_blocks, "block")),
            );
        }
        lines.cache(self.cache.as_ref());
        let mut text = lines.finish(&self.program);
        self.table(limit, &mut text);
        text
    }

    fn table(&self, limit: usize, text: &mut String) {
        for (ty, descriptor_type) in self.types.iter().enumerate() {
            let all = self.descriptors.iter().enumerate().filter(|(_, d)| d.ty == ty);
            let rows: Vec<(usize, &Descriptor)> = all.clone().take(limit).collect();
            if rows.is_empty() {
                continue;
            }
            let mut widths: Vec<usize> = descriptor_type.fields.iter().map(String::len).collect();
            for (_, d) in &rows {
                for (width, word) in widths.iter_mut().zip(&d.words) {
                    *width = (*width).max(word.to_string().len());
                }
            }
            let _ = write!(text, "\n{}\n  {:>6}", descriptor_type.name, "#");
            for (field, width) in descriptor_type.fields.iter().zip(&widths) {
                let _ = write!(text, "  {field:>width$}");
            }
            let _ = writeln!(text, "  kernel");
            for (at, d) in &rows {
                let _ = write!(text, "  {at:>6}");
                for (word, width) in d.words.iter().zip(&widths) {
                    let _ = write!(text, "  {word:>width$}");
                }
                let _ = writeln!(text, "  {}", d.kernel);
            }
            let hidden = all.count() - rows.len();
            if hidden > 0 {
                let _ = writeln!(text, "  … and {hidden} more (`--limit`)");
            }
        }
    }

    /// For machines, with every descriptor.
    pub fn json(&self) -> Value {
        let types: Vec<Value> =
            self.types.iter().map(|t| json!({ "name": t.name, "fields": t.fields })).collect();
        let descriptors: Vec<Value> = self
            .descriptors
            .iter()
            .map(|d| {
                json!({
                    "type": self.type_name(d.ty),
                    "kernel": d.kernel,
                    "tier": d.tier,
                    "cost": d.cost,
                    "words": d.words,
                })
            })
            .collect();
        let mut report = json!({
            "program": self.program,
            "data": self.data.map(|d| json!({
                "sequences": d.sequences, "tokens": d.tokens, "longest": d.longest, "kv_bytes": d.kv_bytes,
            })),
            "max_blocks": self.max_blocks,
            "schedule": self.schedule,
            "schedule_lines": self.schedule_lines,
            "implementation": self.implementation.iter().map(|(part, by)| json!([part, by])).collect::<Value>(),
            "tiles": json::tiles(&self.tiles),
            "tasks": json::tasks(&self.groups()),
            "workspace": { "slots": self.workspace_slots, "bytes": self.workspace_bytes },
            "balance": self.planned_balance(),
            "plan_ms": json::ms(&self.plan),
            "types": types,
            "descriptors": descriptors,
        });
        json::add_cache(&mut report, self.cache.as_ref());
        self.sources.with_json(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn sample() -> PlanReport {
        let chunk = |tier: u32, kernel: &str, words: [u32; 3]| Descriptor {
            ty: 0,
            kernel: kernel.to_owned(),
            tier: Some(tier),
            cost: u64::from(words[2]),
            words: words.to_vec(),
        };
        PlanReport {
            program: "a.pto".to_owned(),
            types: vec![
                DescriptorType {
                    name: "Chunk".to_owned(),
                    fields: vec!["tier".to_owned(), "b".to_owned(), "end".to_owned()],
                },
                DescriptorType { name: "Merge".to_owned(), fields: vec!["b".to_owned()] },
            ],
            descriptors: vec![
                chunk(1, "big", [1, 0, 16_384]),
                chunk(0, "small", [0, 1, 100]),
                Descriptor { ty: 1, kernel: "merge".to_owned(), tier: None, cost: 1, words: vec![0] },
                chunk(0, "small", [0, 2, 7]),
            ],
            tiles: vec![("kv_chunk".to_owned(), 16_384)],
            workspace_slots: 2,
            workspace_bytes: 1024,
            max_blocks: 2,
            schedule: Some("S".to_owned()),
            schedule_lines: vec!["PTO_ORDER(b, PTO_PARALLEL): enforced".to_owned()],
            implementation: vec![("policy", "fifo".to_owned()), ("tile ops", "plain".to_owned())],
            plan: Duration::from_micros(31),
            ..PlanReport::default()
        }
    }

    #[test]
    fn a_plan_is_printed_as_a_table() {
        expect![[r#"
            a.pto
              tiles      kv_chunk by 16384
              issued     4 descriptors (40 bytes) in 0.031 ms
              tiers      2 small, 1 big
              others     1 merge
              workspace  1.0 KB in 2 slots
              schedule   S
                         PTO_ORDER(b, PTO_PARALLEL): enforced
              policy     fifo
              tile ops   plain
              balance    1.99 on 2 blocks (longest / mean)

            Chunk
                   #  tier  b    end  kernel
                   0     1  0  16384  big
                   1     0  1    100  small
              … and 1 more (`--limit`)

            Merge
                   #  b  kernel
                   2  0  merge
        "#]]
        .assert_eq(&sample().text(2));
    }

    #[test]
    fn json_holds_every_descriptor() {
        let json = sample().json();
        assert_eq!(json["descriptors"].as_array().unwrap().len(), 4);
        assert_eq!(json["tasks"][0]["kernel"], "small");
        assert_eq!(json["descriptors"][0]["words"][2], 16_384);
    }
}
