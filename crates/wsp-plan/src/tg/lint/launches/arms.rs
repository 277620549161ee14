//! Which blocks of a graph run together in one launch, as their conditions and the counts of their loops go.

use super::super::Cx;
use super::conditions::{Condition, Forms, Known};
use super::runs::need;
use super::{MOST_STEPS, Steps};
use crate::tg::Certainty;
use std::collections::HashMap;
use wsp_core::tg::{ExprOp, Instr};
use wsp_ir::tg::outline::{Block, BlockId};

/// Answers so far.
pub(in super::super) struct Arms {
    forms: Forms,
    known: HashMap<(BlockId, BlockId), Certainty>,
    steps: Steps,
}

impl Arms {
    pub(in super::super) fn new() -> Arms {
        Arms { forms: Forms::of_one_launch(), known: HashMap::new(), steps: Steps::new(MOST_STEPS) }
    }

    /// Whether two blocks run together; where no steps are left, they may.
    pub(in super::super) fn together(&mut self, cx: &Cx<'_>, a: BlockId, b: BlockId) -> Certainty {
        let key = (a.min(b), a.max(b));
        if let Some(&together) = self.known.get(&key) {
            return together;
        }
        let together = self.decide(cx, a, b);
        self.known.insert(key, together);
        together
    }

    fn decide(&mut self, cx: &Cx<'_>, a: BlockId, b: BlockId) -> Certainty {
        let blocks = &cx.outline.blocks;
        // Whatever the condition is: of both arms of one `CF_IF` one runs.
        if blocks.exclude(a, b) {
            return Certainty::Never;
        }
        let (meet, ..) = blocks.meet(a, b);
        let mut conditions = Vec::new();
        let mut is_sure = true;
        for (id, arm) in [a, b].into_iter().flat_map(|block| blocks.outwards(block)) {
            if !self.steps.spend(1) {
                return Certainty::Maybe;
            }
            let Some((condition, goes)) = self.need(cx, arm, meet) else { continue };
            is_sure &= blocks.is_within(meet, id)
                || (!arm.breaks && matches!(condition, Condition::Known(holds) if holds == goes));
            conditions.push((condition, goes));
        }
        let is_possible = Known::default().allows(&self.forms, &conditions, &mut self.steps);
        match is_possible || self.steps.are_over() {
            true if is_sure => Certainty::Surely,
            true => Certainty::Maybe,
            false => Certainty::Never,
        }
    }

    /// What has to hold for an arm or a loop to run, in one round of the loops around `meet`.
    fn need(&mut self, cx: &Cx<'_>, block: &Block, meet: BlockId) -> Option<(Condition, bool)> {
        let (condition, goes) = need(cx, &mut self.forms, block, &|_| None)?;
        let differs = |op: &ExprOp| match *op {
            ExprOp::Iter(iter) => {
                let around = |of| cx.outline.loop_of(cx.module, of, iter);
                around(block.parent) != around(meet)
            }
            _ => false,
        };
        let decides = if block.kind.is_arm() { block.decided } else { block.open };
        let is_other = match cx.module.instrs[decides as usize] {
            Instr::CfIf { condition: scalar }
            | Instr::CfLoop { count: scalar, .. }
            | Instr::CfWhile { condition: scalar, .. } => cx.module.scalar(scalar).iter().any(differs),
            _ => false,
        };
        Some((if is_other { Condition::Open } else { condition }, goes))
    }
}
