//! How tasks are dealt to AICPUs.

use super::codes;
use crate::workload::LoweredSchedule;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::workload::Dispatch;

/// The policy of the configuration. Filters of the program come before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DispatchPlan {
    /// Tasks in turn.
    RoundRobin,
    /// By the variable at a depth.
    Affinity {
        /// The depth of the loop.
        depth: u8,
    },
    /// The ordinals of each AICPU, half-open; those that are left have none.
    StaticPartition(Vec<(u32, u32)>),
}

/// Whether `n` AICPUs are enough for the static partition of a schedule, if that is its dispatch.
///
/// # Errors
/// Fewer AICPUs than ranges.
pub fn check_ranges(schedule: &LoweredSchedule, n: u16) -> Result<(), Diagnostic> {
    match &schedule.policy.dispatch {
        Some(Dispatch::StaticPartition(ranges)) => enough(ranges.len(), n),
        _ => Ok(()),
    }
}

/// Whether `n` AICPUs are enough for a static partition of so many ranges.
///
/// # Errors
/// Fewer AICPUs than ranges.
pub(super) fn enough(ranges: usize, n: u16) -> Result<(), Diagnostic> {
    if ranges <= usize::from(n) {
        return Ok(());
    }
    let message =
        format!("a static partition of {ranges} needs as many AICPUs", ranges = counted(ranges, "range"));
    let fault = Diagnostic::error(codes::AICPUS, message).note(format!("{n} are asked for"));
    Err(fault
        .help(format!("run with `--aicpus {ranges}` or more"))
        .python(format!("compile with `num_aicpus={ranges}` or more")))
}
