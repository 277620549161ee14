//! Edges that hold in some rounds only.
//!
//! A run lays the rounds of unrolled loops out one by one, with numbers in the place of their variables: a copy is then in order with a kernel in those
//! rounds in which they touch the same bytes, and what a number rules out is not there to be ordered by its bytes.

use super::super::Cx;
use super::super::access::Access;
use super::super::launches::{Steps, runs_with};
use std::collections::BTreeMap;
use wsp_core::int::Range;
use wsp_core::tg::{ConstEnv, ExprOp, Instr, LoopMode, Scalar, TensorRef, UNROLL_LIMIT, eval};
use wsp_ir::tg::TgModule;
use wsp_ir::tg::outline::{Affine, Block, BlockId, BlockKind, Outline, Variable};

/// What an edge needs to hold.
#[derive(Clone, Debug)]
pub(super) enum Needs {
    /// That two accesses of some touch the same bytes, and that neither is ruled out.
    Meeting(Vec<(Access, Access)>),
    /// That a break may leave its loop: its instruction.
    Leaving(u32),
    /// That what stands in this block is not ruled out.
    Standing(BlockId),
    /// That this arm is taken.
    Running(BlockId),
}

/// Rounds of loops: the loop and its variable's number.
pub(super) type Numbers = Vec<(BlockId, i64)>;

/// Bytes of an access as a run lays it out.
enum Bytes {
    /// All of the tensor, since only the run knows which.
    All,
    /// `size` bytes from `start` and multiples of the variables of loops on.
    From { start: i128, loops: Vec<(BlockId, i128)>, size: i128 },
}

/// A unit, as a run lays it out.
#[derive(Clone, Copy)]
pub(in super::super) struct Rounds<'a> {
    pub(in super::super) module: &'a TgModule,
    pub(in super::super) outline: &'a Outline,
}

impl Rounds<'_> {
    /// Whether the rounds of a loop are laid out one by one, without a border around them, unless there are too many.
    pub(in super::super) fn is_unrolled(&self, block: BlockId) -> bool {
        let def = self.outline.blocks.get(block);
        let Some(Instr::CfLoop { count, mode: LoopMode::Auto, .. }) =
            self.module.instrs.get(def.open as usize)
        else {
            return false;
        };
        let is_short = |count: i64| u64::try_from(count).is_ok_and(|count| count <= UNROLL_LIMIT);
        !def.breaks
            && self.is_fixed(def.parent, *count)
            && self.outline.count_of(self.module, block).is_none_or(is_short)
    }

    /// Whether a scalar is a number in each round that is laid out.
    fn is_fixed(&self, block: BlockId, scalar: Scalar) -> bool {
        self.module.scalar(scalar).iter().all(|op| match *op {
            ExprOp::Iter(iter) => self
                .outline
                .loop_of(self.module, block, iter)
                .is_some_and(|counted| self.is_unrolled(counted)),
            op => !op.varies(),
        })
    }

    /// That number, where the variables that it depends on are known.
    pub(super) fn number(&self, block: BlockId, scalar: Scalar, numbers: &Numbers) -> Option<i64> {
        let Scalar::Expr(expr) = scalar else { return scalar.as_const() };
        let known = |op: &ExprOp| match *op {
            ExprOp::Iter(iter) => {
                let counted = self.outline.loop_of(self.module, block, iter)?;
                let number = numbers.iter().find(|(of, _)| *of == counted)?;
                Some(ExprOp::Const(number.1))
            }
            op => (!op.varies()).then_some(op),
        };
        let ops: Option<Vec<ExprOp>> = self.module.expr(expr).iter().map(known).collect();
        eval(&ops?, &ConstEnv).ok()
    }

    /// Blocks around one, and what decides in a run's layout whether anything of them is there.
    pub(super) fn decided(&self, block: BlockId) -> impl Iterator<Item = (BlockId, &Block, Scalar)> {
        let around = self.outline.blocks.outwards(block);
        around.filter_map(|(id, def)| {
            let at = if def.kind.is_arm() { def.decided } else { def.open };
            let scalar = match *self.module.instrs.get(at as usize)? {
                Instr::CfIf { condition } if def.kind.is_arm() => condition,
                Instr::CfLoop { count, .. } if def.kind.is_loop() => count,
                Instr::CfWhile { condition, .. } if def.kind.is_loop() => condition,
                _ => return None,
            };
            self.is_fixed(def.parent, scalar).then_some((id, def, scalar))
        })
    }

    /// Whether a block is not ruled out by numbers. `None` if those it depends on are not known.
    pub(super) fn stands(&self, (def, scalar): (&Block, Scalar), numbers: &Numbers) -> Option<bool> {
        match self.number(def.parent, scalar, numbers) {
            Some(number) => Some((number != 0) == (def.kind != BlockKind::Else)),
            None if def.kind.is_loop() => (self.extremes(def.parent, scalar)?.low > 0).then_some(true),
            None => None,
        }
    }

    /// The least and the greatest number that a scalar is in any round.
    fn extremes(&self, block: BlockId, scalar: Scalar) -> Option<Range> {
        self.outline.extremes(self.module, block, &Affine::of(self.module, scalar)?)
    }

    /// What an edge needs that is there when something in a block is; nothing if that always is.
    pub(super) fn standing(&self, block: BlockId) -> Option<Needs> {
        (!self.always_stands(block)).then_some(Needs::Standing(block))
    }

    /// What an edge needs that is there where two accesses of some meet; nothing if two always do.
    pub(super) fn meeting(&self, meetings: Vec<(Access, Access)>) -> Option<Needs> {
        let always = |(a, b): &(Access, Access)| {
            self.always_stands(a.block) && self.always_stands(b.block) && self.always_meet(a, b, &Vec::new())
        };
        (!meetings.iter().any(always)).then_some(Needs::Meeting(meetings))
    }

    /// Whether nothing in a block is ever ruled out.
    fn always_stands(&self, block: BlockId) -> bool {
        self.decided(block).all(|(_, def, scalar)| self.stands((def, scalar), &Vec::new()) == Some(true))
    }

    /// Whether a condition is the same number in every round, or another in each: then it leaves nothing to the run.
    pub(super) fn is_settled(&self, at: u32) -> bool {
        let Some(Instr::CfBreak { condition }) = self.module.instrs.get(at as usize) else { return false };
        self.is_fixed(self.outline.blocks.around(at), *condition)
    }

    /// The outermost loop with borders around a block that is not around another.
    fn border(&self, inner: BlockId, other: BlockId) -> Option<BlockId> {
        let around = self.outline.blocks.outwards(inner);
        let apart = around.take_while(|(id, _)| !self.outline.blocks.is_within(other, *id));
        apart.filter(|(id, def)| def.kind.is_loop() && !self.is_unrolled(*id)).map(|(id, _)| id).last()
    }

    /// What a run takes an access to touch when it orders it with something in another block. `None` if that is not known.
    fn bytes(&self, access: &Access, other: BlockId, numbers: &Numbers) -> Option<Bytes> {
        let Instr::McBind { ref tensor_id, offset, size, .. } = self.module.instrs[access.at as usize] else {
            let (start, end) = (i128::from(access.low), i128::from(access.high));
            return Some(Bytes::From { start, loops: Vec::new(), size: end - start });
        };
        if let TensorRef::Table { index, .. } = *tensor_id
            && self.is_fixed(access.block, Scalar::Expr(index))
        {
            let index = usize::try_from(self.number(access.block, Scalar::Expr(index), numbers)?).ok()?;
            let taken = self.module.tensors_of(tensor_id).get(index)?;
            if *taken != self.outline.tensors[access.tensor as usize].no {
                return None;
            }
        }
        if !self.is_fixed(access.block, offset) || !self.is_fixed(access.block, size) {
            return Some(Bytes::All);
        }
        let (start, loops) = self.sum(access.block, offset, numbers)?;
        let (size, of_size) = self.sum(access.block, size, numbers)?;
        let end = self.outline.tensors[access.tensor as usize].bytes.map_or(i128::from(u64::MAX), i128::from);
        let size = match size {
            0 if loops.is_empty() => end - start,
            size => size,
        };
        if !of_size.is_empty() || size <= 0 {
            return None;
        }
        let mut bytes = (start, Vec::new(), size);
        let border = self.border(access.block, other);
        for (counted, factor) in loops {
            // Of a loop with borders a run orders the whole, from its first byte to its last.
            match border {
                Some(border) if self.outline.blocks.is_within(counted, border) => {
                    let (low, high) = self.span(counted, factor)?;
                    bytes = (bytes.0 + low, bytes.1, bytes.2 + (high - low));
                }
                _ => bytes.1.push((counted, factor)),
            }
        }
        Some(Bytes::From { start: bytes.0, loops: bytes.1, size: bytes.2 })
    }

    /// A scalar as a number and multiples of the variables of loops that are not known.
    fn sum(&self, block: BlockId, scalar: Scalar, numbers: &Numbers) -> Option<(i128, Vec<(BlockId, i128)>)> {
        if let Some(number) = self.number(block, scalar, numbers) {
            return Some((i128::from(number), Vec::new()));
        }
        let sum = Affine::of(self.module, scalar)?;
        let (mut start, mut loops) = (sum.constant, Vec::new());
        for (variable, factor) in sum.terms {
            let Variable::Loop(iter) = variable else { return None };
            let counted = self.outline.loop_of(self.module, block, iter)?;
            match numbers.iter().find(|(of, _)| *of == counted) {
                Some((_, number)) => {
                    start = start.checked_add(factor.checked_mul(i128::from(*number))?)?;
                }
                None => loops.push((counted, factor)),
            }
        }
        Some((start, loops))
    }

    /// The least and the greatest multiple of a loop's variable in any round.
    fn span(&self, counted: BlockId, factor: i128) -> Option<(i128, i128)> {
        let def = self.outline.blocks.get(counted);
        let Instr::CfLoop { count, .. } = self.module.instrs[def.open as usize] else { return None };
        let most = self.extremes(def.parent, count)?.high;
        let last = factor.checked_mul((most - 1).max(0))?;
        Some((last.min(0), last.max(0)))
    }

    /// Whether two accesses of one tensor touch the same bytes in every round with these numbers, as a run orders them.
    fn always_meet(&self, a: &Access, b: &Access, numbers: &Numbers) -> bool {
        let apart = || {
            let (of_a, of_b) = (self.bytes(a, b.block, numbers)?, self.bytes(b, a.block, numbers)?);
            let (Bytes::From { start, loops, size }, Bytes::From { start: other, loops: others, size: of_b }) =
                (of_a, of_b)
            else {
                return Some(true);
            };
            let mut factors: BTreeMap<BlockId, i128> = BTreeMap::new();
            let minus = loops.into_iter().map(|(counted, factor)| (counted, -factor));
            for (counted, factor) in minus.chain(others) {
                *factors.entry(counted).or_default() += factor;
            }
            let (mut low, mut high) = (other.checked_sub(start)?, other.checked_sub(start)?);
            for (counted, factor) in factors {
                let span = self.span(counted, factor)?;
                (low, high) = (low.checked_add(span.0)?, high.checked_add(span.1)?);
            }
            Some(-of_b < low && high < size)
        };
        apart() == Some(true)
    }

    /// Whether an edge holds in a round where both ends of a pair run.
    pub(super) fn holds(
        &self,
        cx: &Cx<'_>,
        needs: &Needs,
        pair: [&Access; 2],
        numbers: &Numbers,
        steps: &mut Steps,
    ) -> bool {
        let is_around_pair =
            |id: BlockId| pair.iter().any(|access| self.outline.blocks.is_within(access.block, id));
        let stands = |block: BlockId| {
            let mut decided = self.decided(block).filter(|(id, ..)| !is_around_pair(*id));
            decided.all(|(_, def, scalar)| self.stands((def, scalar), numbers) == Some(true))
        };
        match needs {
            Needs::Standing(block) => stands(*block),
            Needs::Running(arm) => is_around_pair(*arm) || runs_with(cx, *arm, pair, steps),
            Needs::Leaving(at) => {
                let block = self.outline.blocks.around(*at);
                let number = match self.module.instrs[*at as usize] {
                    Instr::CfBreak { condition } => self.number(block, condition, numbers),
                    _ => None,
                };
                stands(block) && number.is_some_and(|number| number != 0)
            }
            Needs::Meeting(meetings) => meetings
                .iter()
                .any(|(a, b)| stands(a.block) && stands(b.block) && self.always_meet(a, b, numbers)),
        }
    }
}
