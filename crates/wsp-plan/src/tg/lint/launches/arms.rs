//! Which blocks of a graph run together in one launch, as their conditions go.

use super::super::Cx;
use super::super::access::Access;
use super::conditions::{Condition, Forms, Known, Now};
use super::{MOST_STEPS, Steps};
use std::collections::HashMap;
use wsp_core::tg::{ExprOp, Instr};
use wsp_ir::tg::outline::{Block, BlockId, BlockKind};

/// Whether two blocks run in one round of the loops around both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Together {
    Never,
    /// That depends on what is not known here.
    Maybe,
    /// Whenever what stands around both does.
    Surely,
}

/// Answers so far.
pub(in super::super) struct Arms {
    forms: Forms,
    known: HashMap<(BlockId, BlockId), Together>,
    steps: Steps,
}

impl Arms {
    pub(in super::super) fn new() -> Arms {
        Arms { forms: Forms::of_one_launch(), known: HashMap::new(), steps: Steps::new(MOST_STEPS) }
    }

    /// Whether two blocks run together; where no steps are left, they may.
    pub(in super::super) fn together(&mut self, cx: &Cx<'_>, a: BlockId, b: BlockId) -> Together {
        let key = (a.min(b), a.max(b));
        if let Some(&together) = self.known.get(&key) {
            return together;
        }
        let together = self.decide(cx, a, b);
        self.known.insert(key, together);
        together
    }

    fn decide(&mut self, cx: &Cx<'_>, a: BlockId, b: BlockId) -> Together {
        let blocks = &cx.outline.blocks;
        // Whatever the condition is: of both arms of one `CF_IF` one runs.
        if blocks.exclude(a, b) {
            return Together::Never;
        }
        let (meet, ..) = blocks.meet(a, b);
        let mut conditions = Vec::new();
        let mut is_sure = true;
        for (id, arm) in [a, b].into_iter().flat_map(|block| blocks.outwards(block)) {
            if !arm.kind.is_arm() {
                continue;
            }
            if !self.steps.spend(1) {
                return Together::Maybe;
            }
            let condition = self.condition(cx, id, arm, meet);
            let goes = arm.kind == BlockKind::Then;
            is_sure &=
                blocks.is_within(meet, id) || matches!(condition, Condition::Known(holds) if holds == goes);
            conditions.push((condition, goes));
        }
        let is_possible = Known::default().allows(&self.forms, &conditions, &mut self.steps);
        match is_possible || self.steps.are_over() {
            true if is_sure => Together::Surely,
            true => Together::Maybe,
            false => Together::Never,
        }
    }

    /// The condition of an arm, as it is in one round of the loops around `meet`.
    fn condition(&mut self, cx: &Cx<'_>, id: BlockId, arm: &Block, meet: BlockId) -> Condition {
        let Instr::CfIf { condition } = cx.module.instrs[arm.decided as usize] else {
            return Condition::Open;
        };
        let differs = |op: &ExprOp| match *op {
            ExprOp::Iter(iter) => {
                let around = |block| cx.outline.loop_of(cx.module, block, iter);
                around(id) != around(meet)
            }
            _ => false,
        };
        match cx.module.scalar(condition).iter().any(differs) {
            true => Condition::Open,
            false => self.forms.condition(cx, condition, &|_| None),
        }
    }
}

/// What has to hold, and what not, for an access of an iteration to take place.
pub(super) fn all(
    cx: &Cx<'_>,
    forms: &mut Forms,
    access: &Access,
    iteration: Option<i64>,
) -> Vec<(Condition, bool)> {
    let arms = cx.outline.blocks.outwards(access.block).filter(|(_, block)| block.kind.is_arm());
    let now = |op: ExprOp| iteration.filter(|_| op == ExprOp::Iteration);
    arms.filter_map(|(_, arm)| condition(cx, forms, arm, &now)).collect()
}

/// The condition of an arm, and whether it has to hold.
pub(super) fn condition(
    cx: &Cx<'_>,
    forms: &mut Forms,
    arm: &Block,
    now: &Now<'_>,
) -> Option<(Condition, bool)> {
    match cx.module.instrs[arm.decided as usize] {
        Instr::CfIf { condition } => Some((forms.condition(cx, condition, now), arm.kind == BlockKind::Then)),
        _ => None,
    }
}
