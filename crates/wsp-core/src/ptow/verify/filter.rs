//! The extension words of `DISPATCH_FILTER`.

use super::super::{MAX_LOOP_DEPTH, MAX_THRESHOLDS, POLICY_POOL, PolicyType, Program, Word};
use super::expr::{Over, check};
use super::instruction::Instruction;
use super::rule::{Allowed, Checked, Place, Rule, broken, zero};

/// Pools that a level of a threshold may name: vector, cube, any.
const POOLS: u16 = 3;

/// The policy with this code.
pub(super) fn policy(place: Place, code: u32) -> Checked<PolicyType> {
    match u16::try_from(code).ok().and_then(PolicyType::from_code) {
        Some(policy) => Ok(policy),
        None => broken(Rule::V24, place, code, Allowed::AtMost(PolicyType::Hash as i64)),
    }
}

/// Checks a filter.
pub(super) fn check_filter(program: &Program<'_>, filter: &Instruction<'_>) -> Checked {
    let policy = policy(filter.place(), u32::from(filter.word.operand1))?;
    match policy {
        PolicyType::RoundRobin => count(filter, 0),
        PolicyType::Affinity | PolicyType::Key | PolicyType::Hash => {
            count(filter, 1)?;
            for (index, ext) in filter.exts.iter().enumerate() {
                let place = filter.ext_place(index);
                zero(place, u32::from(ext.operand1))?;
                policy_operand(program, place, policy, ext.operand2)?;
            }
            Ok(())
        }
        PolicyType::Threshold => threshold(program, filter),
        PolicyType::StaticPartition => partition(filter),
    }
}

/// Checks the number of extension words.
fn count(filter: &Instruction<'_>, words: usize) -> Checked {
    if filter.exts.len() == words {
        return Ok(());
    }
    broken(Rule::V25, filter.place(), filter.word.flags, Allowed::Exactly(words as i64))
}

/// Checks the depth or key of a policy.
fn policy_operand(program: &Program<'_>, place: Place, policy: PolicyType, value: u32) -> Checked {
    match policy {
        PolicyType::Affinity if (value as usize) < MAX_LOOP_DEPTH => Ok(()),
        PolicyType::Affinity => broken(Rule::V23, place, value, Allowed::Below(MAX_LOOP_DEPTH as i64)),
        PolicyType::Key | PolicyType::Hash => check(program, place, value, Over::Axes),
        _ => zero(place, value),
    }
}

fn threshold(program: &Program<'_>, filter: &Instruction<'_>) -> Checked {
    let Some((first, rest)) = filter.exts.split_first() else {
        return broken(Rule::V25, filter.place(), filter.word.flags, Allowed::AtLeast(1));
    };
    let bounds = usize::from(first.operand1);
    if bounds == 0 || bounds > MAX_THRESHOLDS {
        let allowed = if bounds == 0 { Allowed::AtLeast(1) } else { Allowed::AtMost(MAX_THRESHOLDS as i64) };
        return broken(Rule::V25, filter.ext_place(0), first.operand1, allowed);
    }
    count(filter, bounds.saturating_mul(2).saturating_add(2))?;
    check(program, filter.ext_place(0), first.operand2, Over::Axes)?;
    let mut before = None;
    for (index, word) in rest.iter().enumerate() {
        let place = filter.ext_place(index.saturating_add(1));
        if index < bounds {
            zero(place, u32::from(word.operand1))?;
            let bound = i64::from(word.operand2 as i32);
            if before.is_some_and(|before| bound <= before) {
                return broken(
                    Rule::V26,
                    place,
                    bound,
                    Allowed::AtLeast(before.unwrap_or(0).saturating_add(1)),
                );
            }
            before = Some(bound);
        } else {
            level(program, place, word)?;
        }
    }
    Ok(())
}

/// Checks the policy of a level.
fn level(program: &Program<'_>, place: Place, word: &Word) -> Checked {
    if (POLICY_POOL..POLICY_POOL + POOLS).contains(&word.operand1) {
        return zero(place, word.operand2);
    }
    match policy(place, u32::from(word.operand1))? {
        PolicyType::Threshold | PolicyType::StaticPartition => {
            broken(Rule::V24, place, word.operand1, Allowed::Named)
        }
        policy => policy_operand(program, place, policy, word.operand2),
    }
}

fn partition(filter: &Instruction<'_>) -> Checked {
    if filter.exts.is_empty() {
        return broken(Rule::V25, filter.place(), filter.word.flags, Allowed::AtLeast(1));
    }
    let mut before = 0;
    for (index, ext) in filter.exts.iter().enumerate() {
        let place = filter.ext_place(index);
        zero(place, u32::from(ext.operand1))?;
        if ext.operand2 < before {
            return broken(Rule::V26, place, ext.operand2, Allowed::AtLeast(i64::from(before)));
        }
        before = ext.operand2;
    }
    Ok(())
}
