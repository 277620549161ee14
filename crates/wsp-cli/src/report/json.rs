//! The summary of a run for machines.

use super::{GraphStats, RunReport, RunStats, TaskGroup, aicpus};
use pto_wsp::cache::{CacheUse, Miss};
use serde_json::{Value, json};
use std::time::Duration;
use wsp_check::reference::Comparison;

pub(super) fn run(report: &RunReport) -> Value {
    let stats = &report.stats;
    let graph = &stats.graph;
    let mut all = json!({
        "program": report.program,
        "seed": report.seed,
        "made_up": report.made,
        "data": report.data.map(|d| json!({
            "sequences": d.sequences,
            "tokens": d.tokens,
            "longest": d.longest,
            "kv_bytes": d.kv_bytes,
        })),
        "threads": stats.threads,
        "max_blocks": stats.max_blocks,
        "schedule": stats.schedule,
        "schedule_lines": stats.schedule_lines,
        "grid": stats.grid,
        "tiles": tiles(&stats.tiles),
        "chunks": stats.chunks(),
        "merges": stats.merges(),
        "tasks": tasks(&stats.tasks),
        "workspace": { "slots": stats.workspace_slots, "bytes": stats.workspace_bytes },
        "time_ms": times(stats),
        "kv_gb_per_s": report.kv_gb_per_s(),
        "balance": { "planned": report.planned_balance(), "measured": report.measured_balance() },
        "aicpus": stats.aicpus.as_deref().map(aicpus::json),
        "edges": edges(graph),
        "affinity": graph.is_counted().then(|| json!({ "hits": graph.affinity_hits, "misses": graph.affinity_misses })),
        "prefetch": graph.is_counted().then(|| json!({ "issued": graph.prefetch_issued, "missed": graph.prefetch_missed })),
        "worker_busy_ms": stats.worker_busy.iter().map(ms).collect::<Vec<_>>(),
        "checks": report.check.comparisons().unwrap_or_default().iter().map(|check| report.findings.comparison_json(check)).collect::<Vec<_>>(),
        "untouched": report.findings.untouched,
    });
    add_counts(&mut all, graph);
    report.findings.add_json(&mut all);
    add_cache(&mut all, report.cache.as_ref());
    all
}

/// What a cache had of a program, where one was asked for: `miss` is null for a hit.
pub(super) fn add_cache(all: &mut Value, cache: Option<&CacheUse>) {
    let Some(CacheUse { miss, taken, compiled }) = cache else { return };
    let differs: Vec<&str> = match miss {
        Some(Miss::Differs(parts)) => parts.iter().map(|part| part.word()).collect(),
        _ => Vec::new(),
    };
    let miss = miss.as_ref().map(Miss::word);
    all["cache"] = json!({ "miss": miss, "differs": differs, "taken": taken, "compiled": compiled });
}

pub(super) fn tiles(tiles: &[(String, u64)]) -> Value {
    tiles.iter().map(|(axis, n)| json!({ "axis": axis, "elements": n })).collect()
}

pub(super) fn tasks(groups: &[TaskGroup]) -> Value {
    let one = |g: &TaskGroup| json!({ "descriptor": g.descriptor, "kernel": g.kernel, "tier": g.tier, "tasks": g.tasks });
    groups.iter().map(one).collect()
}

fn times(stats: &RunStats) -> Value {
    json!({
        "compile": ms(&stats.compile),
        "plan": ms(&stats.plan),
        "first_task": ms(&stats.first_task),
        "run": ms(&stats.run),
    })
}

/// How far generation ran ahead of tasks; null where the run counted none of this.
pub(super) fn add_counts(all: &mut Value, graph: &GraphStats) {
    for (name, count) in [
        ("max_in_flight", graph.max_in_flight.into()),
        ("window_stalls", graph.window_stalls),
        ("overlapped_tasks", graph.overlapped),
        ("steals", graph.steals),
    ] {
        all[name] = graph.is_counted().then_some(count).into();
    }
}

/// Edges by kind; null where the run counted none of this.
pub(super) fn edges(graph: &GraphStats) -> Value {
    if !graph.is_counted() {
        return Value::Null;
    }
    json!({
        "raw": graph.raw, "war": graph.war, "waw": graph.waw, "fence": graph.fence,
        "explicit": graph.explicit, "stream": graph.stream,
    })
}

pub(super) fn ms(time: &Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// `right` is false for an output with a finding that is an error. An output without elements neither passed nor failed.
pub(super) fn comparison(check: &Comparison, right: bool) -> Value {
    // JSON has no infinities: what is not finite is null, and `outside` tells.
    json!({
        "name": check.name,
        "passed": (check.elements > 0).then_some(check.passed() && right),
        "against": check.against.text(),
        "independent": check.against.is_independent(),
        "elements": check.elements,
        "outside": check.outside,
        "nans": check.nans,
        "wrong_nans": check.wrong_nans,
        "max_abs_error": check.max_abs,
        "max_error_over_tolerance": check.max_ratio,
        "tolerance": { "abs": check.tolerance.abs, "rel": check.tolerance.rel },
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_where_scripts_look_for_them() {
        let mut report = super::super::sample();
        if let super::super::Check::Close(all) = &mut report.check {
            all[0].max_abs = f64::INFINITY;
        }
        let json = super::run(&report);
        assert_eq!(json["chunks"], 72);
        assert_eq!(json["merges"], 2);
        assert_eq!(json["tasks"][2]["kernel"], "decode_kernel_64k");
        assert_eq!(json["time_ms"]["run"], 14.2);
        assert_eq!(json["balance"]["planned"], 1.0);
        assert_eq!(json["checks"][0]["passed"], true);
        assert!(json["checks"][0]["max_abs_error"].is_null());
        // Without tiers no task is a merge.
        report.stats.tasks.iter_mut().for_each(|group| group.tier = None);
        assert_eq!(super::run(&report)["merges"], 0);
    }
}
