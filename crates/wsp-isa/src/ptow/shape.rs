//! What an instruction consists of: its word and the words that extend it, or why it has no form but its numbers.

use wsp_core::ptow::{DimKind, Ext, Group, OPS, Op, OpInfo, Operand, POLICY_POOL, PolicyType, Word};

/// An instruction and the words that extend it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction<'p> {
    pub(super) info: &'static OpInfo,
    pub(super) word: &'p Word,
    pub(super) exts: &'p [Word],
}

/// The instruction at the beginning of `words`, when text can express it: the table knows it, its extension words are there
/// and as many as the table allows, and what is not used is 0.
pub(super) fn instruction(words: &[Word]) -> Option<Instruction<'_>> {
    let (word, rest) = words.split_first()?;
    let info = info(word.opcode)?;
    let exts = rest.get(..usize::from(word.flags))?;
    let extends = |ext: &Word| ext.opcode == Op::ExtWord.code();
    let fits = info.group != Group::Extension
        && unused(info.operand1, u32::from(word.operand1))
        && unused(info.operand2, word.operand2)
        && exts.iter().all(extends)
        && extended(info, word, exts)
        && (info.op != Op::Task || word.operand2 == task_counts(rest.get(exts.len()..).unwrap_or_default()));
    fits.then_some(Instruction { info, word, exts })
}

/// The row of a code.
pub(super) fn info(code: u8) -> Option<&'static OpInfo> {
    let op = Op::from_code(code)?;
    OPS.iter().find(|row| row.op == op)
}

/// What `operand2` of a `TASK` says of the words behind it.
pub(super) fn task_counts(mut rest: &[Word]) -> u32 {
    let mut counts = 0u32;
    while let Some(word) = rest.first() {
        let Some(shift) = Op::from_code(word.opcode).and_then(count_shift) else { break };
        counts = counts.wrapping_add(1 << shift);
        rest = rest.get(1 + usize::from(word.flags)..).unwrap_or_default();
    }
    counts
}

/// The lowest bit of the count, in `operand2` of a `TASK`, of arguments like this one.
pub(super) fn count_shift(op: Op) -> Option<u32> {
    match op {
        Op::ParamConst | Op::ParamLoopvar | Op::ParamExpr => Some(0),
        Op::IoInput | Op::IoOutput | Op::IoInout => Some(8),
        Op::After => Some(16),
        _ => None,
    }
}

fn unused(kind: Operand, value: u32) -> bool {
    kind != Operand::None || value == 0
}

fn extended(info: &OpInfo, word: &Word, exts: &[Word]) -> bool {
    let plain = |one: Operand, two: Operand| {
        exts.iter().all(|e| e.flags == 0 && unused(one, u32::from(e.operand1)) && unused(two, e.operand2))
    };
    match info.ext {
        Ext::None => exts.is_empty(),
        Ext::Optional(one, two) => exts.len() <= 1 && plain(one, two),
        Ext::One(one, two) => exts.len() == 1 && plain(one, two),
        Ext::Counted(one, two) => exts.len() == usize::from(word.operand1) && plain(one, two),
        Ext::Dims => exts.iter().all(dimension),
        Ext::Policy => exts.iter().all(|e| e.flags == 0) && policy(word.operand1, exts),
    }
}

fn dimension(ext: &Word) -> bool {
    match DimKind::from_flags(ext.flags) {
        Some((DimKind::Whole, _)) => ext.operand1 == 0 && ext.operand2 == 0,
        Some((DimKind::Index, _)) => ext.operand2 == 0,
        Some((DimKind::Range | DimKind::Sized, _)) => true,
        None => false,
    }
}

fn policy(code: u16, exts: &[Word]) -> bool {
    let alone = exts.len() == 1 && exts.iter().all(|e| e.operand1 == 0);
    match PolicyType::from_code(code) {
        Some(PolicyType::RoundRobin) => exts.is_empty(),
        Some(PolicyType::Affinity | PolicyType::Key | PolicyType::Hash) => alone,
        Some(PolicyType::StaticPartition) => exts.iter().all(|e| e.operand1 == 0),
        Some(PolicyType::Threshold) => threshold(exts),
        None => false,
    }
}

/// The metric and the number of bounds, bounds, and one policy more than bounds.
fn threshold(exts: &[Word]) -> bool {
    let Some((metric, rest)) = exts.split_first() else { return false };
    let bounds = usize::from(metric.operand1);
    rest.len() == 2 * bounds + 1
        && rest.iter().take(bounds).all(|e| e.operand1 == 0)
        && rest
            .iter()
            .skip(bounds)
            .all(|e| level_policy(e.operand1) && (has_operand(e.operand1) || e.operand2 == 0))
}

/// Whether a policy can be that of a level.
fn level_policy(code: u16) -> bool {
    let pool = (POLICY_POOL..POLICY_POOL + 3).contains(&code);
    let ordinary = PolicyType::from_code(code)
        .is_some_and(|policy| !matches!(policy, PolicyType::Threshold | PolicyType::StaticPartition));
    pool || ordinary
}

fn has_operand(code: u16) -> bool {
    matches!(PolicyType::from_code(code), Some(PolicyType::Affinity | PolicyType::Key | PolicyType::Hash))
}

/// Policies by name.
pub(super) const POLICIES: [(&str, PolicyType); 6] = [
    ("round_robin", PolicyType::RoundRobin),
    ("affinity", PolicyType::Affinity),
    ("threshold", PolicyType::Threshold),
    ("static_partition", PolicyType::StaticPartition),
    ("key", PolicyType::Key),
    ("hash", PolicyType::Hash),
];

/// Pools of a level by name, and their distance from [`POLICY_POOL`].
pub(super) const LEVEL_POOLS: [(&str, u16); 3] = [("vector", 0), ("cube", 1), ("any", 2)];

/// The name of a policy or of a pool of a level.
pub(super) fn policy_name(code: u16) -> &'static str {
    let policy = POLICIES.iter().find(|(_, policy)| *policy as u16 == code).map(|(name, _)| *name);
    let pool = || LEVEL_POOLS.iter().find(|(_, pool)| pool + POLICY_POOL == code).map(|(name, _)| *name);
    policy.or_else(pool).unwrap_or("")
}

/// What the operand of a policy is.
pub(super) fn policy_operand(code: u16) -> Operand {
    match PolicyType::from_code(code) {
        Some(PolicyType::Affinity) => Operand::Depth,
        Some(PolicyType::Key | PolicyType::Hash) => Operand::Key,
        _ => Operand::None,
    }
}
