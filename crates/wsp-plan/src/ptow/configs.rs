//! What each AICPU gets beside the program.

use super::dispatch::{DispatchPlan, enough};
use super::{Lowered, codes};
use wsp_core::ptow::{DispatchConfig, MAX_AICPUS, PartitionParams, PolicyType};
use wsp_diag::Diagnostic;
use zerocopy::IntoBytes;

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
