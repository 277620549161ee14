//! The table of plans.

use super::{Micros, Row};
use serde_json::{Value, json};

/// Planning takes at most so many microseconds of so many requests.
const PLAN_TARGETS: [(usize, f64); 2] = [(256, 20.0), (4096, 300.0)];
/// An update by one token of so many requests takes at most so many microseconds.
const UPDATE_TARGET: (usize, f64) = (4096, 30.0);
/// The fullest core has at most so much more than a core on average, where there are so many tokens per core.
const BALANCE_TARGET: (f64, f64) = (512.0, 1.03);

/// The heading.
pub(crate) fn heading() -> String {
    format!(
        "{:<9}{:<23}{:>5}{:>7}{:>7}{:>9}{:>9}{:>8}{:>9}{:>8}{:>9}{:>9}  {}\n",
        "schedule",
        "lengths",
        "cores",
        "pieces",
        "tasks",
        "plan us",
        "least",
        "ns/task",
        "library",
        "balance",
        "+1 us",
        "patched",
        "targets"
    )
}

/// A row for people.
pub(crate) fn line(row: &Row) -> String {
    let library = row.library.map_or_else(|| "-".to_owned(), |library| format!("{:.1}", library.median));
    format!(
        "{:<9}{:<23}{:>5}{:>7}{:>7}{:>9.1}{:>9.1}{:>8.1}{:>9}{:>8.3}{:>9.1}{:>9}  {}\n",
        row.case.name,
        row.batch,
        row.cores,
        row.pieces,
        row.descriptors,
        row.plan.median,
        row.plan.least,
        row.plan.median * 1e3 / row.descriptors.max(1) as f64,
        library,
        row.balance,
        row.updates.micros.median,
        format!("{}/{}", row.updates.patched, row.updates.advances),
        verdicts(row).join(", "),
    )
}

/// What of the targets holds for a row.
fn verdicts(row: &Row) -> Vec<String> {
    let verdict = |what: &str, have: f64, most: f64| {
        format!("{what} {} {most}", if have <= most { "pass" } else { "over" })
    };
    let mut all = Vec::new();
    if let Some((_, most)) = PLAN_TARGETS.iter().find(|(requests, _)| *requests == row.requests) {
        all.push(verdict("plan", row.plan.median, *most));
    }
    if row.case.name == "balanced" && row.tokens_per_core >= BALANCE_TARGET.0 {
        all.push(verdict("balance", row.balance, BALANCE_TARGET.1));
    }
    if row.requests == UPDATE_TARGET.0 {
        all.push(verdict("update", row.updates.micros.median, UPDATE_TARGET.1));
    }
    all
}

/// What stands below the table.
pub(crate) fn notes() -> &'static str {
    "plan: lengths in, descriptors in the buffer, generator compiled; library: `wsp_plan::split` for the same cuts; +1: an update by \
     one token.\ndocument: BinarySearchChunkSize. FlashInfer, as published with the issue: its decode planner takes 1.4 us at 256 \
     requests with a balance of 8.7 (one128k_rest512; 15.6 at 16 requests), its persistent scheduler 190-230 us with 1.0-1.7.\n"
}

/// The rows for machines.
pub(crate) fn json(rows: &[Row]) -> Value {
    let micros = |micros: Micros| json!({ "median_us": micros.median, "least_us": micros.least });
    let row = |row: &Row| {
        json!({
            "schedule": row.case.name, "lengths": row.batch, "cores": row.cores, "requests": row.requests,
            "tokens_per_core": row.tokens_per_core, "pieces": row.pieces, "descriptors": row.descriptors,
            "workspace_bytes": row.workspace_bytes, "plan": micros(row.plan), "library": row.library.map(micros),
            "balance": row.balance, "targets": verdicts(row),
            "update": {
                "time": micros(row.updates.micros),
                "patched": row.updates.patched,
                "advances": row.updates.advances,
            },
        })
    };
    rows.iter().map(row).collect()
}
