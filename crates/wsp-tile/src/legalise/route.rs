//! Transfers: the shortest way from one side to another, and the rule with the fewest transfers.

use crate::{Compute, Memories, MemoryId, Side};
use std::collections::VecDeque;

/// The sides on the way, the first and the last included; a way of one side is no transfer.
pub(super) fn route(memories: &Memories, from: Side, to: Side) -> Option<Vec<Side>> {
    let mut ways = VecDeque::from([vec![from]]);
    let mut seen = vec![from];
    while let Some(way) = ways.pop_front() {
        let at = *way.last()?;
        if at == to {
            return Some(way);
        }
        for step in memories.moves.iter().filter(|m| m.from == at) {
            // Global memory is no place to keep a tile.
            if seen.contains(&step.to) || (step.to == Side::Global && to != Side::Global) {
                continue;
            }
            seen.push(step.to);
            ways.push_back(way.iter().copied().chain([step.to]).collect());
        }
    }
    None
}

/// An operand of an operation: where it is, and whether it is read and written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub(super) home: MemoryId,
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// What stands in the way of an operation.
#[derive(Debug)]
pub(super) enum Hindrance {
    /// No rule names it.
    NoUnit,
    /// No way to or from where a rule wants an operand.
    NoWay(Side, Side),
}

/// The rule for an operation with the fewest transfers.
pub(super) fn choose<'a>(
    memories: &'a Memories,
    fits: impl Fn(&Compute) -> bool,
    operands: &[Operand],
) -> Result<&'a Compute, Hindrance> {
    let mut best: Option<(usize, &Compute)> = None;
    let mut hindrance = Hindrance::NoUnit;
    for rule in memories.computes.iter().filter(|rule| fits(rule)) {
        match transfers(memories, rule, operands) {
            Ok(count) if best.is_none_or(|(least, _)| count < least) => best = Some((count, rule)),
            Ok(_) => {}
            Err(why) => hindrance = why,
        }
    }
    best.map(|(_, rule)| rule).ok_or(hindrance)
}

fn transfers(memories: &Memories, rule: &Compute, operands: &[Operand]) -> Result<usize, Hindrance> {
    let mut count = 0;
    for (at, operand) in operands.iter().enumerate() {
        let (home, want) = (Side::Memory(operand.home), Side::Memory(rule.memory_of(at)));
        for (needed, from, to) in [(operand.reads, home, want), (operand.writes, want, home)] {
            if needed {
                let way = route(memories, from, to).ok_or(Hindrance::NoWay(from, to))?;
                count += way.len() - 1;
            }
        }
    }
    Ok(count)
}
