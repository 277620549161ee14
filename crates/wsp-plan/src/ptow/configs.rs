//! What each AICPU gets beside the program.

use super::dispatch::{DispatchPlan, enough};
use super::{Lowered, codes};
use wsp_core::ptow::schedule::{Policy, Schedule};
use wsp_core::ptow::{DispatchConfig, MAX_AICPUS, PartitionParams, PolicyType};
use wsp_diag::Diagnostic;

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
    let (policy, depth, ranges) = match &lowered.dispatch {
        DispatchPlan::RoundRobin => (PolicyType::RoundRobin, 0, &[][..]),
        DispatchPlan::Affinity { depth } => (PolicyType::Affinity, *depth, &[][..]),
        DispatchPlan::StaticPartition(ranges) => (PolicyType::StaticPartition, 0, &ranges[..]),
    };
    let range = |(task_range_start, task_range_end): &(u32, u32)| PartitionParams {
        task_range_start: *task_range_start,
        task_range_end: *task_range_end,
    };
    let ranges: Vec<PartitionParams> = ranges.iter().map(range).collect();
    let dispatch = Policy { code: policy as u16, depth: depth.into(), key: &[] };
    let schedule = Schedule { dispatch, ranges: &ranges, ..Schedule::default() };
    Ok((0..n).map(|id| schedule.config(n, id)).collect())
}
