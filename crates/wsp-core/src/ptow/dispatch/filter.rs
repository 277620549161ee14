//! Filters as programs and configurations write them, in a form that is cheap to copy.

use super::{Ranges, Rule};
use crate::ExecPool;
use crate::ptow::{Op, POLICY_POOL, PolicyType, Program, ThresholdParams, Word};

/// Which AICPU takes a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filter<'a> {
    /// As a rule says.
    Rule(Rule<'a>),
    /// As the level of a metric says.
    Threshold(Threshold<'a>),
}

/// A metric and what its levels say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threshold<'a> {
    /// The metric: an expression over axes.
    pub metric: u32,
    levels: Levels<'a>,
}

/// What each level of a metric says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Levels<'a> {
    /// Extension words of a program: bounds, and one policy more.
    Words { bounds: &'a [Word], policies: &'a [Word] },
    /// A configuration's.
    Params(ThresholdParams),
}

/// What a level says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level<'a> {
    /// Which AICPU.
    Rule(Rule<'a>),
    /// Which pool; the filter outside decides on the AICPU, and where there is none, [`Rule::RoundRobin`].
    Pool(ExecPool),
}

impl<'a> Filter<'a> {
    /// The filter of the `DISPATCH_FILTER` at `word`; none when it is none of a verified program.
    pub fn parse(program: &Program<'a>, word: u32) -> Option<Filter<'a>> {
        let (instruction, rest) = program.words.get(word as usize..)?.split_first()?;
        if instruction.opcode != Op::DispatchFilter.code() {
            return None;
        }
        let ext = rest.get(..usize::from(instruction.flags))?;
        let first = ext.first();
        Some(match PolicyType::from_code(instruction.operand1)? {
            PolicyType::Threshold => {
                let (head, rest) = ext.split_first()?;
                let (bounds, policies) = rest.split_at_checked(usize::from(head.operand1))?;
                let levels = Levels::Words { bounds, policies };
                Filter::Threshold(Threshold { metric: head.operand2, levels })
            }
            PolicyType::StaticPartition => Filter::Rule(Rule::Ranges(Ranges::new(ext))),
            policy => Filter::Rule(simple(policy, first.map_or(0, |word| word.operand2))?),
        })
    }

    /// The filter of a configuration's threshold.
    pub(super) fn of_params(params: ThresholdParams) -> Filter<'a> {
        Filter::Threshold(Threshold { metric: u32::from(params.metric), levels: Levels::Params(params) })
    }
}

impl<'a> Threshold<'a> {
    /// What holds for a task with this metric: the level is the number of bounds that are not above it. Bounds of a program
    /// have a sign, those of a configuration have none.
    pub fn level(&self, metric: i64) -> Level<'a> {
        match &self.levels {
            Levels::Words { bounds, policies } => {
                let below = |word: &&Word| i64::from(word.operand2.cast_signed()) <= metric;
                let level = bounds.iter().take_while(below).count();
                policies.get(level).map_or(Level::ROUND_ROBIN, level_of_word)
            }
            Levels::Params(params) => {
                let bounds = params.thresholds.get(..usize::from(params.num_levels).saturating_sub(1));
                let below = |bound: &&u32| i64::from(**bound) <= metric;
                let level = bounds.unwrap_or(&[]).iter().take_while(below).count();
                let policy = params.policy_per_level.get(level).map_or(0, |policy| u16::from(*policy));
                pool_of(policy).map_or(Level::ROUND_ROBIN, Level::Pool)
            }
        }
    }

    /// What each level says, lowest first.
    pub fn levels(&self) -> impl Iterator<Item = Level<'a>> + use<'a> {
        let (words, params) = match self.levels {
            Levels::Words { policies, .. } => (policies, None),
            Levels::Params(params) => (&[][..], Some(params)),
        };
        let count = params.as_ref().map_or(0, |params| usize::from(params.num_levels));
        let bytes = params.map_or([0; 8], |params| params.policy_per_level);
        let of_params = bytes.into_iter().take(count);
        let of_params =
            of_params.map(|code| pool_of(u16::from(code)).map_or(Level::ROUND_ROBIN, Level::Pool));
        words.iter().map(level_of_word).chain(of_params)
    }
}

impl Level<'_> {
    const ROUND_ROBIN: Self = Level::Rule(Rule::RoundRobin);
}

/// What a level's word of a program says.
fn level_of_word<'a>(word: &Word) -> Level<'a> {
    if let Some(pool) = pool_of(word.operand1) {
        return Level::Pool(pool);
    }
    let rule = PolicyType::from_code(word.operand1).and_then(|policy| simple(policy, word.operand2));
    rule.map_or(Level::ROUND_ROBIN, Level::Rule)
}

/// A policy that needs no more than one operand.
fn simple<'a>(policy: PolicyType, operand: u32) -> Option<Rule<'a>> {
    match policy {
        PolicyType::RoundRobin => Some(Rule::RoundRobin),
        PolicyType::Affinity => Some(Rule::Affinity(u16::try_from(operand).unwrap_or(u16::MAX))),
        PolicyType::Key => Some(Rule::Key(operand)),
        PolicyType::Hash => Some(Rule::Hash(operand)),
        PolicyType::Threshold | PolicyType::StaticPartition => None,
    }
}

/// The pool of a policy that is one.
pub(super) fn pool_of(policy: u16) -> Option<ExecPool> {
    match policy.checked_sub(POLICY_POOL)? {
        0 => Some(ExecPool::Vector),
        1 => Some(ExecPool::Cube),
        2 => Some(ExecPool::Any),
        _ => None,
    }
}
