//! The dispatch configuration: which AICPU a task belongs to, for a whole program.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// How tasks are given to AICPUs. The first four are those of [`DispatchConfig`]; all are those of `DISPATCH_FILTER`, whose
/// extension words the table tells.
///
/// | policy | owner of a task | extension words of the filter |
/// |---|---|---|
/// | `RoundRobin` | `ordinal % n` | none |
/// | `Affinity` | variable of the loop at this depth, modulo `n`; 0 where there is none | one: depth in `operand2` |
/// | `Threshold` | as the policy of its level says | number of bounds `k` (at most 8) in `operand1` and the metric's key in `operand2`; `k` bounds with sign in `operand2`, increasing; `k + 1` policies in `operand1`, with depth or key in `operand2` |
/// | `StaticPartition` | the `r`-th range of ordinals belongs to `r % n` | one per range: its end in `operand2`; ends never decrease |
/// | `Key` | `key mod n`, never negative | one: key in `operand2` |
/// | `Hash` | `mix(key) % n` | one: key in `operand2` |
///
/// The level of a task is the number of bounds that are not above the metric. Policies of a threshold are `RoundRobin`,
/// `Affinity`, `Key` and `Hash`, or a pool ([`POLICY_POOL`] plus 0 for vector, 1 for cube, 2 for any): then the
/// filter or configuration outside decides on the AICPU, where there is none in turn, and the task goes to that pool.
/// A task past the last range of a filter is a fault; one outside the range of a configuration belongs to another AICPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum PolicyType {
    /// In turn.
    RoundRobin = 0,
    /// By a loop variable.
    Affinity = 1,
    /// By thresholds of a metric.
    Threshold = 2,
    /// By ranges of ordinals.
    StaticPartition = 3,
    /// By an expression.
    Key = 4,
    /// By the hash of an expression.
    Hash = 5,
}

/// Policies from here on are pools; see [`PolicyType`].
pub const POLICY_POOL: u16 = 16;

impl PolicyType {
    /// The policy with this code.
    pub const fn from_code(code: u16) -> Option<PolicyType> {
        Some(match code {
            0 => PolicyType::RoundRobin,
            1 => PolicyType::Affinity,
            2 => PolicyType::Threshold,
            3 => PolicyType::StaticPartition,
            4 => PolicyType::Key,
            5 => PolicyType::Hash,
            _ => return None,
        })
    }
}

/// What every AICPU is told beside the program: the same for all but `my_aicpu_id` and, of a static partition, the range.
///
/// `params` is a union, by policy: of `Affinity` byte 0 is the depth of the loop; of `Threshold` [`ThresholdParams`]; of
/// `StaticPartition` [`PartitionParams`]; else zeros. Filters of the program come before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct DispatchConfig {
    /// AICPUs in all, at least 1.
    pub num_aicpus: u16,
    /// This one.
    pub my_aicpu_id: u16,
    /// [`PolicyType`], one of the first four.
    pub policy_type: u8,
    /// Zero.
    pub reserved: [u8; 3],
    /// As the policy says.
    pub params: [u8; 44],
}

/// Parameters of `Threshold`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ThresholdParams {
    /// Levels: one more than thresholds, at most 8.
    pub num_levels: u16,
    /// The metric: an expression of the program.
    pub metric: u16,
    /// Increasing; the last `9 - num_levels` are 0.
    pub thresholds: [u32; 8],
    /// [`PolicyType::RoundRobin`], or [`POLICY_POOL`] plus a pool.
    pub policy_per_level: [u8; 8],
}

/// Parameters of `StaticPartition`: the ordinals of this AICPU, half-open.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PartitionParams {
    /// First ordinal.
    pub task_range_start: u32,
    /// One past the last.
    pub task_range_end: u32,
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<DispatchConfig>() == 52);
    assert!(offset_of!(DispatchConfig, policy_type) == 4 && offset_of!(DispatchConfig, params) == 8);
    assert!(size_of::<ThresholdParams>() == 44 && offset_of!(ThresholdParams, thresholds) == 4);
    assert!(offset_of!(ThresholdParams, policy_per_level) == 36);
    assert!(size_of::<PartitionParams>() == 8);
};

impl DispatchConfig {
    /// Tasks in turn.
    pub const fn round_robin(num_aicpus: u16, my_aicpu_id: u16) -> DispatchConfig {
        DispatchConfig { num_aicpus, my_aicpu_id, policy_type: 0, reserved: [0; 3], params: [0; 44] }
    }
}
