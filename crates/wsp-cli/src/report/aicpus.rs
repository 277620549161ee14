//! What AICPUs did in a run.

use super::lines::Lines;
use super::units::bytes;
use serde_json::{Map, Value, json};
use wsp_backend::{AicpuOutcome, SimulatedAicpu, SimulatedAicpus};
use wsp_core::ptow::AicpuStats;
use wsp_core::words::counted;

/// Adds what AICPUs did; `given` is what they had where that was no program.
pub(super) fn add(outcome: &AicpuOutcome, given: &str, overlapped: u64, lines: &mut Lines) {
    let tasks: Vec<u64> = outcome.aicpus.iter().map(|aicpu| aicpu.tasks).collect();
    let each = match (tasks.iter().min(), tasks.iter().max()) {
        (Some(least), Some(most)) if least != most => {
            format!("{least} to {most} each", most = counted(most, "task"))
        }
        (Some(all), _) => format!("{} each", counted(*all, "task")),
        _ => String::new(),
    };
    let number = counted(tasks.len() as u64, "AICPU");
    lines.add("aicpus", &format!("{number} on {}, {each}", counted(outcome.cores, "core")));
    match &outcome.transfer {
        Some(transfer) => {
            let launch = transfer.total() - transfer.program - transfer.configs;
            let [program, configs, launch] = [transfer.program, transfer.configs, launch].map(bytes);
            lines.add(
                "given",
                &format!("{program} of program, {configs} of configuration, {launch} of values and tables"),
            );
        }
        None => lines.add("given", given),
    }
    let total = |number: fn(&AicpuStats) -> u64| total(outcome, number);
    let mut text = format!(
        "{} within AICPUs, {} across, {overlapped} done while generating",
        counted(total(|a| a.local_edges), "edge"),
        total(|a| a.cross_edges),
        overlapped = counted(overlapped, "task")
    );
    for (n, what) in [
        (total(|a| a.counter_waits), "waits for counters"),
        (total(|a| a.scope_waits), "waits for steps"),
        (total(|a| a.window_stalls), "full windows"),
        (total(|a| a.map_stalls), "waits for the map"),
        (total(|a| a.ring_stalls), "full rings"),
        (total(|a| a.ready_overflows), "full ready queues"),
    ] {
        if n > 0 {
            text.push_str(&format!(", {n} {what}"));
        }
    }
    lines.add("graph", &text);
}

/// Cycles in work over those until the run ended, and the AICPU's own work, the last of which may come after the last task.
fn share(aicpu: &SimulatedAicpu, makespan: u64) -> f64 {
    let busy: u64 = aicpu.busy.iter().map(|(_, cycles)| cycles).sum();
    let end = aicpu.spans.last().map_or(0, |span| span.2).max(makespan);
    if end == 0 { 0.0 } else { busy as f64 / end as f64 }
}

/// Adds what AICPUs did in virtual time.
pub(super) fn add_simulated(outcome: &SimulatedAicpus, makespan: u64, lines: &mut Lines) {
    for (at, aicpu) in outcome.each.iter().enumerate() {
        let work = aicpu.busy.iter().filter(|(_, cycles)| *cycles > 0);
        let work: Vec<String> = work.map(|(word, cycles)| format!("{word} {cycles}")).collect();
        let of = if work.is_empty() { String::new() } else { format!(" ({} cycles)", work.join(", ")) };
        let (tasks, share) = (counted(aicpu.tasks, "task"), share(aicpu, makespan) * 100.0);
        lines.add(if at == 0 { "aicpus" } else { "" }, &format!("{at}: {tasks}, {share:.1} %{of}"));
    }
}

/// The same for machines.
pub(super) fn simulated_json(outcome: &SimulatedAicpus, makespan: u64) -> Value {
    let each = |aicpu: &SimulatedAicpu| {
        let work: Map<String, Value> =
            aicpu.busy.iter().map(|(word, cycles)| ((*word).to_owned(), json!(cycles))).collect();
        json!({ "tasks": aicpu.tasks, "busy": share(aicpu, makespan), "work_cycles": work })
    };
    json!({
        "launch_cycles": outcome.launch,
        "transfer_cycles": outcome.transfer,
        "transfer_bytes": outcome.bytes,
        "each": outcome.each.iter().map(each).collect::<Vec<_>>(),
    })
}

/// The same for machines.
pub(super) fn json(outcome: &AicpuOutcome) -> Value {
    let each = |aicpu: &AicpuStats| {
        json!({
            "tasks": aicpu.tasks,
            "local_edges": aicpu.local_edges,
            "cross_edges": aicpu.cross_edges,
            "scope_waits": aicpu.scope_waits,
            "counter_waits": aicpu.counter_waits,
            "notices": aicpu.notices,
            "ring_stalls": aicpu.ring_stalls,
            "window_stalls": aicpu.window_stalls,
            "map_stalls": aicpu.map_stalls,
            "ready_overflows": aicpu.ready_overflows,
            "deferred": aicpu.deferred,
            "max_in_flight": aicpu.max_in_flight,
        })
    };
    json!({
        "cores": outcome.cores,
        "bytes": outcome.transfer.map(|t| json!({
            "program": t.program,
            "configs": t.configs,
            "values": t.values,
            "extents": t.extents,
            "tables": t.table_rows + t.tables,
        })),
        "each": outcome.aicpus.iter().map(each).collect::<Vec<_>>(),
    })
}

fn total(outcome: &AicpuOutcome, number: fn(&AicpuStats) -> u64) -> u64 {
    outcome.aicpus.iter().map(number).sum()
}
