//! Which blocks of a graph run together in one launch, as their conditions, the counts of their loops and breaks go.

use super::super::Cx;
use super::super::access::Access;
use super::conditions::{Condition, Declared, Forms, Known};
use super::each_device::launched;
use super::meets::{launched_graphs, parts};
use super::runs::{need, round_of};
use super::{MOST_STEPS, Steps};
use crate::Certainty;
use std::collections::HashMap;
use wsp_core::tg::{ExprOp, Instr, Scalar};
use wsp_ir::tg::outline::{Block, BlockId};
use wsp_ordered::OrderedSet;

/// Iterations that are looked at one by one, and rounds of a loop of which is found out whether a break leaves it.
const MOST_NUMBERS: i64 = 256;

/// Answers so far.
pub(in super::super) struct Arms {
    forms: Forms,
    known: HashMap<(BlockId, u32, BlockId, u32), Certainty>,
    /// Of each graph the iterations with which it is launched, if all are known; once they were asked for.
    iterations: Option<Vec<Option<OrderedSet<i64>>>>,
    steps: Steps,
}

/// Two accesses of one launch, with its iteration if that is known.
struct Both<'a> {
    accesses: [&'a Access; 2],
    meet: BlockId,
    iteration: Option<i64>,
}

impl Both<'_> {
    fn now(&self, op: ExprOp) -> Option<i64> {
        self.iteration.filter(|_| op == ExprOp::Iteration)
    }
}

impl Arms {
    pub(in super::super) fn new() -> Arms {
        Arms {
            forms: Forms::of_one_launch(),
            known: HashMap::new(),
            iterations: None,
            steps: Steps::new(MOST_STEPS),
        }
    }

    /// Whether two accesses of a graph both take place, in one round of the loops around both; where no steps are left, they may.
    pub(in super::super) fn together(&mut self, cx: &Cx<'_>, a: &Access, b: &Access) -> Certainty {
        // Only in loops that breaks leave it matters where in its block something stands.
        let place = |of: &Access| {
            let breaks = cx.outline.blocks.outwards(of.block).any(|(_, block)| block.breaks);
            (of.block, if breaks { of.place } else { 0 })
        };
        let (first, second) = (place(a).min(place(b)), place(a).max(place(b)));
        let key = (first.0, first.1, second.0, second.1);
        if let Some(&together) = self.known.get(&key) {
            return together;
        }
        let together = self.decide(cx, a, b);
        self.known.insert(key, together);
        together
    }

    /// Whether two accesses may both take place in a launch with another iteration than those of the host's launches: a caller may make one.
    pub(in super::super) fn in_other_launches(&mut self, cx: &Cx<'_>, a: &Access, b: &Access) -> bool {
        if cx.accesses.exclude(cx.outline, a, b) {
            return false;
        }
        let (meet, ..) = cx.outline.blocks.meet(a.block, b.block);
        self.decide_in(cx, &Both { accesses: [a, b], meet, iteration: None }) != Certainty::Never
    }

    fn decide(&mut self, cx: &Cx<'_>, a: &Access, b: &Access) -> Certainty {
        let blocks = &cx.outline.blocks;
        // Whatever the conditions come to, what they load included: of arms that exclude each other one runs at most.
        if cx.accesses.exclude(cx.outline, a, b) {
            return Certainty::Never;
        }
        let (meet, ..) = blocks.meet(a.block, b.block);
        let accesses = [a, b];
        if !accesses.iter().any(|of| depends_on_iteration(cx, of.block)) {
            return self.decide_in(cx, &Both { accesses, meet, iteration: None });
        }
        let Some(all) = self.iterations(cx, a.graph) else {
            return self.decide_in(cx, &Both { accesses, meet, iteration: None });
        };
        let mut found = Certainty::Never;
        for iteration in all {
            match self.decide_in(cx, &Both { accesses, meet, iteration: Some(iteration) }) {
                Certainty::Never => {}
                Certainty::Maybe => found = Certainty::Maybe,
                Certainty::Surely => return Certainty::Surely,
            }
        }
        found
    }

    /// The iterations with which a graph is launched, if it is and all are known.
    fn iterations(&mut self, cx: &Cx<'_>, graph: u32) -> Option<OrderedSet<i64>> {
        let all = self.iterations.get_or_insert_with(|| iterations(cx));
        all[graph as usize].clone()
    }

    fn decide_in(&mut self, cx: &Cx<'_>, both: &Both<'_>) -> Certainty {
        let blocks = &cx.outline.blocks;
        let mut conditions = Vec::new();
        let mut is_sure = true;
        for access in both.accesses {
            for (id, block) in blocks.outwards(access.block) {
                if !self.steps.spend(1) {
                    return Certainty::Maybe;
                }
                conditions.extend(self.rounds(cx, both, (id, block), access));
                let Some((condition, goes)) = self.need(cx, both, block) else { continue };
                is_sure &= blocks.is_within(both.meet, id)
                    || (!block.breaks && matches!(condition, Condition::Known(holds) if holds == goes));
                conditions.push((condition, goes));
            }
        }
        let mut is_possible = Known::default().allows(&self.forms, &conditions, &mut self.steps);
        for access in both.accesses.into_iter().filter(|of| blocks.innermost_loop(of.block).is_some()) {
            is_possible &= self.forms.in_some_round(cx, access, both.iteration) != Certainty::Never;
        }
        match is_possible || self.steps.are_over() {
            true if is_sure => Certainty::Surely,
            true => Certainty::Maybe,
            false => Certainty::Never,
        }
    }

    /// What has to hold for an arm or a loop to run, in one round of the loops around both.
    fn need(&mut self, cx: &Cx<'_>, both: &Both<'_>, block: &Block) -> Option<(Condition, bool)> {
        let (condition, goes) = need(cx, &mut self.forms, block, &|op| both.now(op))?;
        let is_other = decides(cx, block).is_some_and(|scalar| differs(cx, both, block.parent, scalar, None));
        Some((if is_other { Condition::Open } else { condition }, goes))
    }

    /// In which rounds of a loop an access may take place: in as many as it has, until a break leaves it.
    fn rounds(
        &mut self,
        cx: &Cx<'_>,
        both: &Both<'_>,
        (id, block): (BlockId, &Block),
        access: &Access,
    ) -> Vec<(Condition, bool)> {
        let mut needed = Vec::new();
        if !block.kind.is_loop() {
            return needed;
        }
        let mut rounds = None::<i64>;
        for (at, scalar) in breaks_of(cx, (id, block)) {
            if differs(cx, both, id, scalar, Some(id)) {
                continue;
            }
            let is_behind = at < access.place;
            let most = cx.outline.count_of(cx.known, id).unwrap_or(1).min(MOST_NUMBERS);
            for round in 0..most {
                if !self.steps.spend(1) {
                    return needed;
                }
                let now = |op: ExprOp| round_of(cx, block, op, round).or_else(|| both.now(op));
                match self.forms.condition(cx, scalar, &now) {
                    Condition::Known(false) => continue,
                    Condition::Known(true) => {
                        let run = if is_behind { round } else { round + 1 };
                        rounds = Some(rounds.map_or(run, |rounds| rounds.min(run)));
                    }
                    // What stands behind the break runs in the first round, or in none.
                    open if is_behind && round == 0 => needed.push((open, false)),
                    _ => {}
                }
                break;
            }
        }
        if rounds == Some(0) {
            needed.push((Condition::Known(true), false));
        }
        let Some(&Instr::CfLoop { iterator, count, .. }) = cx.module.instrs.get(block.open as usize) else {
            return needed;
        };
        if cx.outline.blocks.is_within(both.meet, id) {
            let variable = [ExprOp::Iter(iterator)];
            let below = |end: &[ExprOp]| [&variable[..], end, &[ExprOp::Lt]].concat();
            let mut ends: Vec<Vec<ExprOp>> = rounds.iter().map(|end| below(&[ExprOp::Const(*end)])).collect();
            if !differs(cx, both, block.parent, count, None) {
                ends.push(match count {
                    Scalar::Const(count) => below(&[ExprOp::Const(count)]),
                    Scalar::Expr(_) => below(cx.known.scalar(count)),
                });
            }
            let now = |op| both.now(op);
            needed
                .extend(ends.iter().map(|ops| (self.forms.condition_of(Declared::of(cx), ops, &now), true)));
        }
        needed
    }
}

/// The iterations with which each graph is launched, if it is and all are known. A unit that launches nothing has each graph launched once.
pub(super) fn iterations(cx: &Cx<'_>) -> Vec<Option<OrderedSet<i64>>> {
    if launched_graphs(cx).next().is_none() {
        return vec![Some(OrderedSet::from([0])); cx.outline.graphs.len()];
    }
    let (parts, (_, launched, is_whole)) = (parts(cx), launched(cx));
    let of = |graph: u32| {
        let launches = launched.iter().filter(|(launch, _)| parts[*launch as usize].contains(&graph));
        let all: Option<OrderedSet<i64>> = launches.map(|(_, iteration)| *iteration).collect();
        all.filter(|all| is_whole && !all.is_empty() && all.len() as i64 <= MOST_NUMBERS)
    };
    (0..cx.outline.graphs.len() as u32).map(of).collect()
}

/// What decides whether a block runs.
fn decides(cx: &Cx<'_>, block: &Block) -> Option<Scalar> {
    let at = if block.kind.is_arm() { block.decided } else { block.open };
    match *cx.module.instrs.get(at as usize)? {
        Instr::CfIf { condition: scalar }
        | Instr::CfLoop { count: scalar, .. }
        | Instr::CfWhile { condition: scalar, .. } => Some(scalar),
        _ => None,
    }
}

/// Breaks that stand in a loop itself, and leave it where they are reached.
fn breaks_of(cx: &Cx<'_>, (id, block): (BlockId, &Block)) -> impl Iterator<Item = (u32, Scalar)> {
    let within = if block.breaks { block.open..block.close } else { 0..0 };
    within.filter_map(move |at| match cx.module.instrs[at as usize] {
        Instr::CfBreak { condition } if cx.outline.blocks.around(at) == id => Some((at, condition)),
        _ => None,
    })
}

/// Whether a scalar in a block names the variable of a loop which is not around both accesses, and so may have another value for each; the variable of
/// one loop may be left out.
fn differs(cx: &Cx<'_>, both: &Both<'_>, block: BlockId, scalar: Scalar, but: Option<BlockId>) -> bool {
    let differs = |op: &ExprOp| match *op {
        ExprOp::Iter(iter) => {
            let around = |of| cx.outline.loop_of(cx.module, of, iter);
            around(block) != around(both.meet) && (but.is_none() || around(block) != but)
        }
        _ => false,
    };
    cx.module.scalar(scalar).iter().any(differs)
}

/// Whether the iteration says which blocks around one run.
fn depends_on_iteration(cx: &Cx<'_>, block: BlockId) -> bool {
    cx.outline.blocks.outwards(block).any(|(id, block)| {
        let breaks = breaks_of(cx, (id, block)).map(|(_, scalar)| scalar);
        let mut all = decides(cx, block).into_iter().chain(breaks);
        all.any(|scalar| cx.module.scalar(scalar).contains(&ExprOp::Iteration))
    })
}
