//! Dispatch configurations.

use super::{Choices, Temper};
use wsp_core::ptow::{DispatchConfig, PartitionParams, PolicyType, Program, ThresholdParams};
use zerocopy::IntoBytes as _;

/// A configuration for one of at most 16 AICPUs. A hostile one may be refused.
pub(crate) fn dispatch(choices: &mut Choices<'_>, program: &Program<'_>, temper: Temper) -> DispatchConfig {
    let num_aicpus = 1 + choices.below(16) as u16;
    let mut config = DispatchConfig::round_robin(num_aicpus, choices.below(usize::from(num_aicpus)) as u16);
    let policies = if temper == Temper::Hostile { 8 } else { 4 };
    config.policy_type = choices.below(policies) as u8;
    match PolicyType::from_code(u16::from(config.policy_type)) {
        Some(PolicyType::Affinity) => config.params[0] = choices.below(5) as u8,
        Some(PolicyType::Threshold) => {
            let params = threshold(choices, program);
            config.params.copy_from_slice(params.as_bytes());
        }
        Some(PolicyType::StaticPartition) => {
            let start = choices.below(100) as u32;
            let params = PartitionParams {
                task_range_start: start,
                task_range_end: start + choices.below(100) as u32,
            };
            config.params[..8].copy_from_slice(params.as_bytes());
        }
        _ => {}
    }
    if temper == Temper::Hostile && choices.once_in(4) {
        let at = choices.below(size_of::<DispatchConfig>());
        let byte = choices.byte();
        let mut bytes = [0; size_of::<DispatchConfig>()];
        bytes.copy_from_slice(config.as_bytes());
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        config = zerocopy::transmute!(bytes);
    }
    config
}

fn threshold(choices: &mut Choices<'_>, program: &Program<'_>) -> ThresholdParams {
    let num_levels = 1 + choices.below(8) as u16;
    let mut params = ThresholdParams { num_levels, ..ThresholdParams::default() };
    params.metric = choices.below(program.exprs.len()) as u16;
    let mut bound = 0;
    for place in params.thresholds.iter_mut().take(usize::from(num_levels) - 1) {
        bound += 1 + choices.below(9) as u32;
        *place = bound;
    }
    for place in params.policy_per_level.iter_mut().take(usize::from(num_levels)) {
        *place = choices.pick(&[0, 16, 17, 18]).copied().unwrap_or(0);
    }
    params
}
