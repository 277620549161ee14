//! What a device is given to generate tasks, beside a list of them.

use super::Sources;
use super::lines::Lines;
use super::units::bytes;
use serde_json::{Value, json};
use wsp_backend::Transferred;
use wsp_core::words::counted;

/// Everything that `wsp plan --bytes` prints.
#[derive(Debug)]
pub struct TransferReport {
    /// The workload's file.
    pub file: String,
    /// Where the arrays come from.
    pub sources: Sources,
    /// AICPUs that get a configuration each.
    pub aicpus: u16,
    /// What was found.
    pub found: Transferred,
}

impl TransferReport {
    /// For people.
    pub fn text(&self) -> String {
        let Transferred { transfer, list, rows_only, .. } = &self.found;
        let [instructions, words, axes, kernels, tensors] = self.counts();
        let mut lines = Lines::default();
        self.sources.add_to(&mut lines);
        lines.add(
            "program",
            &format!(
                "{}: {}, {} of expressions, {}, {}, {}",
                exact(transfer.program),
                counted(instructions, "instruction word"),
                counted(words, "word"),
                counted(axes, "range"),
                counted(kernels, "kernel"),
                counted(tensors, "tensor")
            ),
        );
        lines.add("names", &format!("{}, which stay on the host", exact(transfer.names)));
        lines.add("config", &format!("{} for {}", exact(transfer.configs), counted(self.aicpus, "AICPU")));
        let launch = [
            (transfer.values, "values"),
            (transfer.extents, "extents"),
            (transfer.table_rows, "table addresses"),
            (transfer.tables, "tables"),
        ];
        let launch: Vec<String> = launch
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{} of {what}", exact(*n)))
            .collect();
        lines.add("launch", &if launch.is_empty() { "nothing".to_owned() } else { launch.join(", ") });
        lines.add("in all", &exact(transfer.total()));
        match list {
            None => lines.add(
                "host list",
                "not counted: what tasks compute decides on its length, or it is very long",
            ),
            Some(list) => {
                lines.add("tasks", &list.tasks.to_string());
                lines.add(
                    "host list",
                    &format!(
                        "{}{} as rows of a task graph, {} as records with room for 512 successors",
                        if *rows_only { "more than " } else { "" },
                        bytes(list.rows),
                        bytes(list.pending_tasks)
                    ),
                );
                if transfer.total() > 0 {
                    lines.add(
                        "ratio",
                        &format!(
                            "{:.3e} and {:.3e} times as much",
                            times(list.rows, transfer.total()),
                            times(list.pending_tasks, transfer.total())
                        ),
                    );
                }
            }
        }
        lines.finish(&self.file)
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let Transferred { transfer, list, .. } = &self.found;
        let [instructions, words, axes, kernels, tensors] = self.counts();
        let report = json!({
            "program": self.file,
            "aicpus": self.aicpus,
            "bytes": {
                "program": transfer.program,
                "names": transfer.names,
                "configs": transfer.configs,
                "values": transfer.values,
                "extents": transfer.extents,
                "table_rows": transfer.table_rows,
                "tables": transfer.tables,
                "total": transfer.total(),
                "program_and_config": transfer.program_and_config(),
            },
            "counts": {
                "instructions": instructions,
                "expression_words": words,
                "axes": axes,
                "kernels": kernels,
                "tensors": tensors,
            },
            "host_list": list.map(|l| json!({ "tasks": l.tasks, "rows": l.rows, "pending_tasks": l.pending_tasks })),
        });
        self.sources.with_json(report)
    }

    /// Words of bodies and of expressions, and rows of the tables of axes, kernels and tensors.
    fn counts(&self) -> [usize; 5] {
        let verified = self.found.program.verified();
        let program = verified.program();
        [
            program.words.len(),
            program.exprs.len(),
            program.axes.len(),
            program.kernels.len(),
            program.tensors.len(),
        ]
    }
}

/// Bytes to the last one, and rounded where there are many.
fn exact(n: u64) -> String {
    if n < 10_000 {
        counted(n, "byte").to_string()
    } else {
        format!("{n} ({})", bytes(n), n = counted(n, "byte"))
    }
}

fn times(all: u64, part: u64) -> f64 {
    all as f64 / part as f64
}
