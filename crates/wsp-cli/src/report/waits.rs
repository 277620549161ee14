//! What a traced run waited for: waits by cause and the critical path, as lines and JSON.

use super::lines::Lines;
use super::units::span;
use serde_json::{Value, json};
use wsp_core::words::counted;
use wsp_runtime::timeline::Timeline;

/// Kernels of the critical path that are named.
const MOST_KERNELS: usize = 4;

/// Lines to follow a summary.
pub(crate) fn text(timeline: &Timeline) -> String {
    let time = |time: u64| span(timeline.clock, time);
    let mut lines = Lines::default();
    let waits = timeline.waits();
    let one = |waits: &wsp_runtime::timeline::Waits| match waits.waited {
        0 => format!("{} {}", waits.cause, waits.tasks),
        waited => format!("{} {} ({})", waits.cause, waits.tasks, time(waited)),
    };
    if waits.is_empty() {
        return String::new();
    }
    lines.add("waits", &waits.iter().map(one).collect::<Vec<_>>().join(", "));
    let path = timeline.critical_path();
    let of = |(kernel, tasks, busy): &(u16, u64, u64)| {
        let name = timeline.kernels.get(usize::from(*kernel)).map_or("?", String::as_str);
        format!("{name} {tasks} ({})", time(*busy))
    };
    let mut kernels: Vec<String> = path.kernels.iter().take(MOST_KERNELS).map(of).collect();
    if path.kernels.len() > MOST_KERNELS {
        kernels.push(format!("and {} more", counted(path.kernels.len() - MOST_KERNELS, "kernel")));
    }
    let tasks = counted(path.tasks.len(), "task");
    let busy =
        format!("{tasks}, {} of {} in them: {}", time(path.busy), time(timeline.end()), kernels.join(", "));
    lines.add("critical", &busy);
    lines.without_title()
}

/// The same for machines, added to a summary. Times are in the unit of the clock.
pub(crate) fn add_json(timeline: &Timeline, summary: &mut Value) {
    let waits = timeline.waits();
    let waits = waits.iter().map(|of| json!({ "cause": of.cause, "tasks": of.tasks, "waited": of.waited }));
    summary["waits"] = waits.collect();
    let path = timeline.critical_path();
    let kernels = path.kernels.iter().map(|(kernel, tasks, busy)| {
        let name = timeline.kernels.get(usize::from(*kernel));
        json!({ "kernel": name, "tasks": tasks, "busy": busy })
    });
    summary["critical_path"] = json!({
        "tasks": path.tasks.len(),
        "busy": path.busy,
        "end": timeline.end(),
        "unit": timeline.clock.word(),
        "kernels": kernels.collect::<Vec<_>>(),
    });
}
