//! What went through the channels of a run's pipelines, from when its tasks ran.

use wsp_core::SlotId;
use wsp_ir::workload::WorkloadModule;
use wsp_plan::workload::{Bindings, ChannelUse, SpanOfTask, channels};
use wsp_runtime::Stats;
use wsp_runtime::simulate::Simulation;

/// Values of slots, as they were read: tasks generated before, the slot, the value.
pub(crate) type SlotsRead = Vec<(u64, SlotId, i64)>;

/// Of a run on threads or AICPUs; none where it recorded no times.
pub(crate) fn of_run(
    (module, bindings): (&WorkloadModule, &Bindings),
    stats: &Stats,
    slots: &[(u64, SlotId, i64)],
) -> Vec<ChannelUse> {
    // Tasks of workloads are numbered by ordinals.
    let span = |ordinal: u64| -> Option<SpanOfTask> {
        let task = stats.trace.get(usize::try_from(ordinal).ok()?)?;
        (u64::from(task.task.0) == ordinal).then_some((task.started_ns, task.finished_ns))
    };
    let slot = |slot: SlotId, ordinal: u64| {
        let at = slots.partition_point(|(before, of, _)| (*before, *of) < (ordinal, slot));
        let read = slots.get(at).filter(|(before, of, _)| (*before, *of) == (ordinal, slot));
        read.map(|(.., value)| *value)
    };
    if stats.trace.is_empty() {
        return Vec::new();
    }
    channels(module, bindings, &span, &slot).unwrap_or_default()
}

/// Of a run in virtual time, in cycles. Slots have the values that they begin with, as no task has another one written.
pub(crate) fn of_simulation(
    (module, bindings): (&WorkloadModule, &Bindings),
    simulation: &Simulation,
    slots: &[i64],
) -> Vec<ChannelUse> {
    let tasks = simulation.tasks.iter().filter(|task| task.worker.is_some());
    let spans: Vec<SpanOfTask> = tasks.map(|task| (task.start, task.end)).collect();
    let span = |ordinal: u64| spans.get(usize::try_from(ordinal).ok()?).copied();
    channels(module, bindings, &span, &|slot, _| slots.get(slot.index()).copied()).unwrap_or_default()
}
