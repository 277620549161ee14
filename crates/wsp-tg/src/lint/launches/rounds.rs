//! Whether what stands in loops of a graph runs in some round of them.

use super::super::Cx;
use super::super::access::Access;
use super::Steps;
use super::conditions::{Condition, Forms, Known};
use super::runs::need;
use crate::Certainty;
use wsp_core::tg::{ExprOp, Instr, IterNo};
use wsp_ir::tg::outline::{Block, BlockId};

/// Rounds that are gone through, those of all loops around a place together.
const MOST_ROUNDS: usize = 1024;
/// Steps in which conditions are held against what is known.
const MOST_STEPS: usize = 1 << 16;

impl Forms {
    /// Whether an access takes place in some round of the loops around it.
    pub(super) fn in_some_round(
        &mut self,
        cx: &Cx<'_>,
        access: &Access,
        iteration: Option<i64>,
    ) -> Certainty {
        let key = (access.block, access.place, iteration);
        if let Some(&known) = self.in_rounds.get(&key) {
            return known;
        }
        let known = Known::default();
        let found = in_some_round(cx, (&known, self), (access.block, access.place), iteration, &[]);
        self.in_rounds.insert(key, found);
        found
    }
}

/// Whether what stands at an instruction in a block runs in some round of the loops around it, in a launch with an iteration, if that is known, and where
/// forms lie so; of loops whose variables have numbers in `fixed` only that round counts.
pub(super) fn in_some_round(
    cx: &Cx<'_>,
    (known, forms): (&Known, &mut Forms),
    (block, place): (BlockId, u32),
    iteration: Option<i64>,
    fixed: &[(IterNo, i64)],
) -> Certainty {
    let mut around: Vec<BlockId> = cx.outline.blocks.outwards(block).map(|(id, _)| id).collect();
    around.reverse();
    let (values, steps) = (Vec::new(), Steps::new(MOST_STEPS));
    Rounds { cx, known, forms, around, place, iteration, fixed, values, left: MOST_ROUNDS, steps }.within(0)
}

struct Rounds<'r, 'm> {
    cx: &'r Cx<'m>,
    known: &'r Known,
    forms: &'r mut Forms,
    /// From the outside in.
    around: Vec<BlockId>,
    place: u32,
    iteration: Option<i64>,
    fixed: &'r [(IterNo, i64)],
    /// Of each variable of the loops that are entered the round, if it is known, from the outside in.
    values: Vec<(IterNo, Option<i64>)>,
    /// Rounds that may still be gone through.
    left: usize,
    steps: Steps,
}

/// What the breaks of a loop say in one round.
struct Breaks {
    /// Whether none leaves the loop before the place.
    before: Certainty,
    /// Whether none leaves it at all.
    all: Certainty,
}

impl Rounds<'_, '_> {
    /// Whether the place is reached from inside of the blocks before one.
    fn within(&mut self, at: usize) -> Certainty {
        let Some(&id) = self.around.get(at) else { return Certainty::Surely };
        let block = *self.cx.outline.blocks.get(id);
        let runs = self.need(&block);
        if runs == Certainty::Never {
            return runs;
        }
        if !block.kind.is_loop() {
            return runs.min(self.within(at + 1));
        }
        runs.min(self.in_loop(at, (id, &block)))
    }

    fn in_loop(&mut self, at: usize, (id, block): (BlockId, &Block)) -> Certainty {
        let Instr::CfLoop { iterator, count, .. } = self.cx.module.instrs[block.open as usize] else {
            // Nothing that is known changes from round to round.
            return self.breaks(id, block).before.min(self.within(at + 1));
        };
        let count = self.evaluate(|forms, cx, now| forms.number(cx, count, now));
        let fixed = self.fixed.iter().find(|(iter, _)| *iter == iterator).map(|(_, number)| *number);
        let is_meant = |round: i64| fixed.is_none_or(|fixed| fixed == round);
        let (mut found, mut goes_on) = (Certainty::Never, Certainty::Surely);
        for round in 0..count.unwrap_or(1) {
            if self.left == 0 {
                return found.max(Certainty::Maybe);
            }
            self.left -= 1;
            self.values.push((iterator, count.map(|_| round)));
            let breaks = self.breaks(id, block);
            if breaks.before != Certainty::Never && is_meant(round) {
                found = found.max(goes_on.min(breaks.before).min(self.within(at + 1)));
            }
            self.values.pop();
            goes_on = goes_on.min(breaks.all);
            if found == Certainty::Surely || goes_on == Certainty::Never {
                break;
            }
        }
        found
    }

    /// Whether a block runs where what is around it does; of a loop whether it has a round.
    fn need(&mut self, block: &Block) -> Certainty {
        match self.evaluate(|forms, cx, now| need(cx, forms, block, now)) {
            None => Certainty::Surely,
            Some((Condition::Known(holds), goes)) if holds == goes => Certainty::Surely,
            Some((Condition::Known(_), _)) => Certainty::Never,
            Some((condition, goes)) => {
                let mut may =
                    |goes| self.known.allows(self.forms, &[(condition.clone(), goes)], &mut self.steps);
                match (may(goes), may(!goes)) {
                    (true, false) => Certainty::Surely,
                    (false, true) => Certainty::Never,
                    _ => Certainty::Maybe,
                }
            }
        }
    }

    fn breaks(&mut self, id: BlockId, block: &Block) -> Breaks {
        let mut found = Breaks { before: Certainty::Surely, all: Certainty::Surely };
        let (cx, within) = (self.cx, if block.breaks { block.open..block.close } else { 0..0 });
        for at in within {
            let Instr::CfBreak { condition } = cx.module.instrs[at as usize] else { continue };
            let around = cx.outline.blocks.around(at);
            if cx.outline.blocks.innermost_loop(around) != Some(id) {
                continue;
            }
            let goes_on = match self.evaluate(|forms, cx, now| forms.condition(cx, condition, now)) {
                Condition::Known(false) => continue,
                Condition::Known(true) if around == id => Certainty::Never,
                _ => Certainty::Maybe,
            };
            found.all = found.all.min(goes_on);
            if at < self.place {
                found.before = found.before.min(goes_on);
            }
        }
        found
    }

    fn evaluate<T>(&mut self, of: impl FnOnce(&mut Forms, &Cx<'_>, &super::conditions::Now<'_>) -> T) -> T {
        let (values, iteration) = (&self.values, self.iteration);
        let now = |op: ExprOp| match op {
            ExprOp::Iteration => iteration,
            ExprOp::Iter(of) => {
                values.iter().rev().find(|(iter, _)| *iter == of).and_then(|(_, value)| *value)
            }
            _ => None,
        };
        of(self.forms, self.cx, &now)
    }
}
