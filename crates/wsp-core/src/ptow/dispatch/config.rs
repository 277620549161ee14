//! Whether a configuration fits a program, and the filter that it makes.

use super::filter::pool_of;
use super::{Filter, Rule};
use crate::ptow::verify::Place;
use crate::ptow::{
    DispatchConfig, MAX_AICPUS, MAX_LOOP_DEPTH, MAX_THRESHOLDS, PartitionParams, PolicyType, ThresholdParams,
    Verified,
};
use crate::words::counted;
use core::fmt;
use zerocopy::FromBytes;

/// Why a configuration is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigFault {
    /// The number of AICPUs is 0 or above [`MAX_AICPUS`].
    Aicpus(u16),
    /// This AICPU is not one of them.
    Id {
        /// Its id.
        id: u16,
        /// How many there are.
        n: u16,
    },
    /// No such policy, or one of filters only.
    Policy(u8),
    /// A byte that should be 0 is not.
    Reserved {
        /// Where it is, from the beginning of the configuration.
        byte: usize,
        /// What it is.
        value: u8,
    },
    /// An affinity to a variable that cannot be.
    Depth(u8),
    /// The number of levels is 0 or above 8.
    Levels(u16),
    /// Bounds do not increase.
    Thresholds {
        /// The second of two that do not.
        index: usize,
        /// The first of them.
        before: u32,
        /// The second.
        bound: u32,
    },
    /// A level has a policy that is neither round robin nor a pool.
    LevelPolicy {
        /// The level.
        level: usize,
        /// Its policy.
        policy: u8,
    },
    /// The metric is no expression over axes.
    Metric {
        /// Its first word.
        metric: u16,
        /// The word that is wrong, or where words end.
        word: u32,
    },
    /// A range ends before it starts.
    Range {
        /// Where it starts.
        start: u32,
        /// Where it ends.
        end: u32,
    },
    /// Ranges of several AICPUs leave a gap or overlap.
    Tiling {
        /// The AICPU whose range is wrong.
        aicpu: u16,
        /// Where its range should start.
        expected: u64,
        /// Where it starts.
        start: u64,
    },
    /// Ranges end before or after the last task.
    Total {
        /// Where they end.
        end: u64,
        /// How many tasks there are.
        total: u64,
    },
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigFault::Aicpus(n) => write!(f, "{n} AICPUs: use 1 to {MAX_AICPUS}"),
            ConfigFault::Id { id, n } => {
                write!(f, "AICPU {id} is none of {n}: ids are 0 to {}", n.saturating_sub(1))
            }
            ConfigFault::Policy(policy) => write!(
                f,
                "policy {policy} is none of a configuration: use 0 (round robin), 1 (affinity), 2 (threshold) or 3 (static partition)"
            ),
            ConfigFault::Reserved { byte, value } => {
                write!(f, "byte {byte} of the configuration is {value}; it must be 0 under this policy")
            }
            ConfigFault::Depth(depth) => {
                write!(f, "affinity to the variable at depth {depth}: depths are 0 to {}", MAX_LOOP_DEPTH - 1)
            }
            ConfigFault::Levels(levels) => {
                write!(f, "{levels}: use 1 to {MAX_THRESHOLDS}", levels = counted(levels, "level"))
            }
            ConfigFault::Thresholds { index, before, bound } => {
                write!(f, "threshold {index} is {bound}, after {before}: thresholds must increase")
            }
            ConfigFault::LevelPolicy { level, policy } => write!(
                f,
                "level {level} has policy {policy}: use 0 (round robin), 16 (vector), 17 (cube) or 18 (any)"
            ),
            ConfigFault::Metric { metric, word } => write!(
                f,
                "the metric at expression word {metric} goes wrong at word {word}: name the first word of an expression over axes"
            ),
            ConfigFault::Range { start, end } => {
                write!(f, "the range of ordinals {start}..{end} ends before it starts")
            }
            ConfigFault::Tiling { aicpu, expected, start } => write!(
                f,
                "the range of AICPU {aicpu} starts at {start}, not at {expected}, where the one before ends"
            ),
            ConfigFault::Total { end, total } => {
                write!(
                    f,
                    "the ranges end at {end}, but there are {total}: give every task to one AICPU",
                    total = counted(total, "task")
                )
            }
        }
    }
}

impl core::error::Error for ConfigFault {}

/// Checks a configuration for a program; the filter that it makes.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn check<'a>(config: &DispatchConfig, program: &Verified<'a>) -> Result<Filter<'a>, ConfigFault> {
    let DispatchConfig { num_aicpus: n, my_aicpu_id: id, policy_type, reserved, params } = *config;
    if n == 0 || n > MAX_AICPUS {
        return Err(ConfigFault::Aicpus(n));
    }
    if id >= n {
        return Err(ConfigFault::Id { id, n });
    }
    zeros(&reserved, 5)?;
    match PolicyType::from_code(u16::from(policy_type)) {
        Some(PolicyType::RoundRobin) => {
            zeros(&params, 8)?;
            Ok(Filter::Rule(Rule::RoundRobin))
        }
        Some(PolicyType::Affinity) => {
            let [depth, rest @ ..] = params;
            zeros(&rest, 9)?;
            let inside = usize::from(depth) < MAX_LOOP_DEPTH;
            if inside {
                Ok(Filter::Rule(Rule::Affinity(u16::from(depth))))
            } else {
                Err(ConfigFault::Depth(depth))
            }
        }
        Some(PolicyType::Threshold) => {
            let params =
                ThresholdParams::read_from_prefix(&params).map(|(params, _)| params).unwrap_or_default();
            threshold(&params)?;
            metric(params.metric, program)?;
            Ok(Filter::of_params(params))
        }
        Some(PolicyType::StaticPartition) => {
            let (start, end) = range(config)?;
            Ok(Filter::Rule(Rule::Own { start: u64::from(start), end: u64::from(end) }))
        }
        Some(PolicyType::Key | PolicyType::Hash) | None => Err(ConfigFault::Policy(policy_type)),
    }
}

/// Whether the ranges of configurations with a static partition, in the order of their AICPUs, give each of `total` tasks to
/// exactly one of them. Configurations with other policies do so of themselves.
///
/// # Errors
/// The first gap or overlap.
pub fn check_tiling(configs: &[DispatchConfig], total: u64) -> Result<(), ConfigFault> {
    let partition = PolicyType::StaticPartition as u8;
    if configs.iter().all(|config| config.policy_type != partition) {
        return Ok(());
    }
    let mut expected = 0;
    for config in configs {
        if config.policy_type != partition {
            return Err(ConfigFault::Policy(config.policy_type));
        }
        let (start, end) = range(config)?;
        let (start, end) = (u64::from(start), u64::from(end));
        // An empty range owns nothing wherever it stands.
        if start == end {
            continue;
        }
        if start != expected {
            return Err(ConfigFault::Tiling { aicpu: config.my_aicpu_id, expected, start });
        }
        expected = end;
    }
    if expected == total { Ok(()) } else { Err(ConfigFault::Total { end: expected, total }) }
}

/// The range of a static partition.
fn range(config: &DispatchConfig) -> Result<(u32, u32), ConfigFault> {
    let (range, rest) = PartitionParams::read_from_prefix(&config.params).unwrap_or_default();
    zeros(rest, 16)?;
    let (start, end) = (range.task_range_start, range.task_range_end);
    if start <= end { Ok((start, end)) } else { Err(ConfigFault::Range { start, end }) }
}

/// Whether bytes are zeros; `at` is where they stand in the configuration.
fn zeros(bytes: &[u8], at: usize) -> Result<(), ConfigFault> {
    match bytes.iter().enumerate().find(|(_, byte)| **byte != 0) {
        Some((index, value)) => Err(ConfigFault::Reserved { byte: at.wrapping_add(index), value: *value }),
        None => Ok(()),
    }
}

/// Whether levels and bounds of a threshold are in order.
fn threshold(params: &ThresholdParams) -> Result<(), ConfigFault> {
    let levels = usize::from(params.num_levels);
    if levels == 0 || levels > MAX_THRESHOLDS {
        return Err(ConfigFault::Levels(params.num_levels));
    }
    let mut before = None;
    for (index, bound) in params.thresholds.iter().enumerate() {
        if index >= levels.saturating_sub(1) {
            if *bound != 0 {
                let byte = 12usize.wrapping_add(index.wrapping_mul(4));
                return Err(ConfigFault::Reserved {
                    byte,
                    value: bound.to_le_bytes().into_iter().max().unwrap_or(0),
                });
            }
            continue;
        }
        if let Some(before) = before.filter(|before| before >= bound) {
            return Err(ConfigFault::Thresholds { index, before, bound: *bound });
        }
        before = Some(*bound);
    }
    for (level, policy) in params.policy_per_level.iter().enumerate() {
        let known = *policy == 0 || pool_of(u16::from(*policy)).is_some();
        if level < levels && !known {
            return Err(ConfigFault::LevelPolicy { level, policy: *policy });
        }
        if level >= levels && *policy != 0 {
            return Err(ConfigFault::Reserved { byte: 44usize.wrapping_add(level), value: *policy });
        }
    }
    Ok(())
}

/// Whether a metric is an expression over axes.
fn metric(metric: u16, program: &Verified<'_>) -> Result<(), ConfigFault> {
    program.check_key(u32::from(metric)).map_err(|error| {
        let word = if let Place::Expr(word) = error.place { word } else { u32::from(metric) };
        ConfigFault::Metric { metric, word }
    })
}
