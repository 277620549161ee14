//! What a schedule and the tasks of a launch come to together.

use super::super::eval::count as counted;
use super::super::{Bindings, codes, count};
use super::LoweredSchedule;
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::workload::{Start, Window, WindowMode, WorkloadModule};

/// Findings on a schedule that need the module's tasks: errors for combinations that cannot work, warnings and notes for
/// those that do something else than they say. `bindings` are those of the launch.
pub fn check_schedule(
    module: &WorkloadModule,
    bindings: &Bindings,
    schedule: &LoweredSchedule,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if let Some(tasks) = count(module, bindings) {
        found.extend(schedule.partitions().filter_map(|ranges| partition(schedule, ranges, tasks)));
        found.extend(start(schedule, tasks));
    }
    found
}

/// Where a directive whose primitive begins so stands.
fn place(schedule: &LoweredSchedule, primitive: &str) -> Span {
    let line = schedule.lines.iter().find(|line| line.primitive.starts_with(primitive));
    line.map(|line| line.span).unwrap_or_default()
}

/// A static partition that does not tile the tasks.
fn partition(schedule: &LoweredSchedule, ranges: &[(u64, u64)], tasks: u64) -> Option<Diagnostic> {
    let end = ranges.last().map_or(0, |(_, end)| *end);
    let at = schedule.lines.iter().find(|line| line.primitive.starts_with("dispatch")).map(|line| line.span);
    (end != tasks).then(|| {
        Diagnostic::error(codes::PARTITION, "a static partition does not tile the tasks")
            .at(at.unwrap_or_default(), format!("its ranges end at {end}"))
            .note(format!("the workload generates {}", counted(tasks, "task")))
            .help(format!("let the last range end at {tasks}"))
    })
}

/// A start that comes earlier than it says.
fn start(schedule: &LoweredSchedule, tasks: u64) -> Option<Diagnostic> {
    let waits_for = match schedule.policy.start {
        Start::Immediate => return None,
        Start::AfterOrchestration => tasks,
        Start::Threshold(threshold) => u64::from(threshold),
    };
    let at = place(schedule, "task_graph(start");
    if let Some(Window { capacity, mode }) =
        schedule.policy.window.filter(|window| u64::from(window.capacity) < waits_for.min(tasks))
    {
        let what = match mode {
            WindowMode::Abort => "the run fails: the window is full before tasks start",
            WindowMode::Stall | WindowMode::Benchmark => {
                "the window is full before tasks start, and forces the start"
            }
        };
        let diagnostic = Diagnostic::warning(codes::START_FORCED, what)
            .at(at, format!("waits for {}", counted(waits_for.min(tasks), "task")))
            .label(place(schedule, "task_graph(window"), format!("room for {capacity}"));
        let help = format!("a window of {} or more holds them all", waits_for.min(tasks));
        return Some(diagnostic.help(help));
    }
    (waits_for > tasks).then(|| {
        let what = "the end of generation starts the tasks";
        Diagnostic::new(codes::START_NOT_REACHED, Severity::Note, what)
            .at(at, format!("waits for {}", counted(waits_for, "task")))
            .note(format!("the workload generates {}", counted(tasks, "task")))
    })
}
