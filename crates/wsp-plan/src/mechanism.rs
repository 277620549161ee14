//! What decides when tasks start, by target: a row for each mechanism of a runtime of task graphs.

use std::fmt::Write;

/// A mechanism, and what it is on each of [`MECHANISM_TARGETS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mechanism {
    /// What it is called.
    pub name: &'static str,
    /// The statements of a schedule that it obeys.
    pub primitives: &'static [&'static str],
    /// What it does, by target.
    pub cells: [&'static str; 3],
}

/// The columns of [`MECHANISMS`]. An NPU is an accelerator of cores behind AICPUs, which run the executor of an emitted package; its tasks are in one
/// stream or in several (`streams(n)`).
pub const MECHANISM_TARGETS: [&str; 3] = ["cpu_sim", "NPU, one stream", "NPU, several streams"];

/// Every mechanism.
pub const MECHANISMS: &[Mechanism] = &[
    Mechanism {
        name: "tensor map",
        primitives: &["task_graph(deps = overlap)"],
        cells: [
            "tasks that share an element which one of them writes, by regions of up to 6 dimensions",
            "the same, by boxes of buffers; a task of more than 64 waits for all before it, and all later ones for it",
            "one map for all streams",
        ],
    },
    Mechanism {
        name: "FIFO queue",
        primitives: &["task_graph(ready = fifo)", "streams(n)"],
        cells: [
            "a queue for each pool",
            "queues for vector cores, for cube cores and for either",
            "the same queues; a task of a stream enters when the one before it is complete, or, under a gate of more than one, has started",
        ],
    },
    Mechanism {
        name: "window",
        primitives: &["task_graph(window = (n, stall))"],
        cells: [
            "generation waits while `n` tasks are unfinished; `abort` fails, `benchmark` records",
            "submission waits while `n` tasks are unfinished, and starts and completes tasks meanwhile",
            "one window for all streams",
        ],
    },
    Mechanism {
        name: "issue gate",
        primitives: &[
            "pipeline_depth(n, global)",
            "pipeline_depth(n, per_stream)",
            "pipeline_depth(n, per_pool)",
        ],
        cells: [
            "of all tasks, of each stream and of each pool",
            "of all tasks and of each pool: with 2 the next task is at a core while one runs",
            "of each stream, too: the next in its order starts when fewer run",
        ],
    },
    Mechanism {
        name: "dependence batcher",
        primitives: &["batch_deps(n)"],
        cells: [
            "a worker releases successors after `n` completions, or when it runs out of tasks",
            "edges are gathered until `n` tasks were submitted, or an AICPU waits",
            "one batch for all streams",
        ],
    },
];

/// The table as Markdown, as the reference prints it; ends with a newline.
pub fn mechanisms_markdown() -> String {
    let [first, one, several] = MECHANISM_TARGETS;
    let mut out = format!("| mechanism | by | `{first}` | {one} | {several} |\n|---|---|---|---|---|\n");
    for Mechanism { name, primitives, cells: [first, one, several] } in MECHANISMS {
        let primitives: Vec<String> = primitives.iter().map(|primitive| format!("`{primitive}`")).collect();
        let _ = writeln!(out, "| {name} | {} | {first} | {one} | {several} |", primitives.join(", "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Support, workload_capabilities};

    #[test]
    fn the_reference_page_prints_the_table_of_mechanisms() {
        let page = include_str!("../../../docs/reference/schedules.md");
        let table = mechanisms_markdown();
        assert!(page.contains(&table), "the page should hold:\n{table}");
    }

    #[test]
    fn mechanisms_obey_primitives_that_there_are() {
        for primitive in MECHANISMS.iter().flat_map(|mechanism| mechanism.primitives) {
            let row = workload_capabilities().find(|row| row.primitive == *primitive);
            assert!(row.is_some_and(|row| row.support == Support::Enforced), "{primitive}");
        }
    }
}
