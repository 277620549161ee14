//! What AICPUs are told beside the program.

use super::{Lowered, codes};
use crate::workload::LoweredSchedule;
use wsp_core::ptow::{DispatchConfig, MAX_AICPUS, PartitionParams, PolicyType};
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::workload::Dispatch;
use zerocopy::IntoBytes;

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

/// The configurations of `n` AICPUs, in their order.
///
/// # Errors
/// No AICPU, more than [`MAX_AICPUS`], and fewer than a static partition has ranges.
pub fn dispatch_configs(lowered: &Lowered, n: u16) -> Result<Vec<DispatchConfig>, Vec<Diagnostic>> {
    if !(1..=MAX_AICPUS).contains(&n) {
        let fault = Diagnostic::error(codes::AICPUS, format!("{n} AICPUs are asked for"));
        return Err(vec![fault.note(format!("there are 1 to {MAX_AICPUS}"))]);
    }
    if let DispatchPlan::StaticPartition(ranges) = &lowered.dispatch {
        enough(ranges.len(), n).map_err(|fault| vec![fault])?;
    }
    Ok((0..n).map(|id| config(&lowered.dispatch, n, id)).collect())
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

fn enough(ranges: usize, n: u16) -> Result<(), Diagnostic> {
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

fn config(plan: &DispatchPlan, n: u16, id: u16) -> DispatchConfig {
    let mut config = DispatchConfig::round_robin(n, id);
    match plan {
        DispatchPlan::RoundRobin => {}
        DispatchPlan::Affinity { depth } => {
            config.policy_type = PolicyType::Affinity as u8;
            config.params[0] = *depth;
        }
        DispatchPlan::StaticPartition(ranges) => {
            let end = ranges.last().map_or(0, |(_, end)| *end);
            let (start, end) = ranges.get(usize::from(id)).copied().unwrap_or((end, end));
            let params = PartitionParams { task_range_start: start, task_range_end: end };
            config.policy_type = PolicyType::StaticPartition as u8;
            config.params[..size_of::<PartitionParams>()].copy_from_slice(params.as_bytes());
        }
    }
    config
}
