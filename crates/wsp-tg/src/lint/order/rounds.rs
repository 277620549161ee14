//! Edges that hold in some rounds only.
//!
//! A run lays the rounds of unrolled loops out one by one, with numbers in the place of their variables: a copy is then in order with a kernel in those
//! rounds in which they touch the same bytes, and what a number rules out is not there to be ordered by its bytes.

use super::super::access::Access;
use wsp_core::int::Range;
use wsp_core::tg::{ConstEnv, ExprOp, Instr, LoopMode, Scalar, TensorRef, UNROLL_LIMIT, eval};
use wsp_ir::tg::TgModule;
use wsp_ir::tg::outline::{Affine, Block, BlockId, BlockKind, Outline, Variable};
use wsp_ordered::OrderedMap;

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

    /// That number, if it is the same in each.
    fn number(&self, scalar: Scalar) -> Option<i64> {
        let Scalar::Expr(expr) = scalar else { return scalar.as_const() };
        eval(self.module.expr(expr), &ConstEnv).ok()
    }

    /// Blocks around one, and what decides in a run's layout whether anything of them is there.
    fn decided(&self, block: BlockId) -> impl Iterator<Item = (&Block, Scalar)> {
        let around = self.outline.blocks.outwards(block);
        around.filter_map(|(_, def)| {
            let at = if def.kind.is_arm() { def.decided } else { def.open };
            let scalar = match *self.module.instrs.get(at as usize)? {
                Instr::CfIf { condition } if def.kind.is_arm() => condition,
                Instr::CfLoop { count, .. } if def.kind.is_loop() => count,
                Instr::CfWhile { condition, .. } if def.kind.is_loop() => condition,
                _ => return None,
            };
            self.is_fixed(def.parent, scalar).then_some((def, scalar))
        })
    }

    /// Whether a block is ruled out in no round.
    fn stands(&self, (def, scalar): (&Block, Scalar)) -> bool {
        match self.number(scalar) {
            Some(number) => (number != 0) == (def.kind != BlockKind::Else),
            None => {
                def.kind.is_loop() && self.extremes(def.parent, scalar).is_some_and(|range| range.low > 0)
            }
        }
    }

    /// The least and the greatest number that a scalar is in any round.
    fn extremes(&self, block: BlockId, scalar: Scalar) -> Option<Range> {
        self.outline.extremes(self.module, block, &Affine::of(self.module, scalar)?)
    }

    /// Whether two accesses of some are there and touch the same bytes in every round.
    pub(super) fn meet_always(&self, meetings: &[(Access, Access)]) -> bool {
        let always = |(a, b): &(Access, Access)| {
            self.always_stands(a.block) && self.always_stands(b.block) && self.always_meet(a, b)
        };
        meetings.iter().any(always)
    }

    /// Whether nothing in a block is ever ruled out.
    pub(super) fn always_stands(&self, block: BlockId) -> bool {
        self.decided(block).all(|decided| self.stands(decided))
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
    fn bytes(&self, access: &Access, other: BlockId) -> Option<Bytes> {
        let Instr::McBind { ref tensor_id, offset, size, .. } = self.module.instrs[access.at as usize] else {
            let (start, end) = (i128::from(access.low), i128::from(access.high));
            return Some(Bytes::From { start, loops: Vec::new(), size: end - start });
        };
        if let TensorRef::Table { index, .. } = *tensor_id
            && self.is_fixed(access.block, Scalar::Expr(index))
        {
            let index = usize::try_from(self.number(Scalar::Expr(index))?).ok()?;
            let taken = self.module.tensors_of(tensor_id).get(index)?;
            if *taken != self.outline.tensors[access.tensor as usize].no {
                return None;
            }
        }
        if !self.is_fixed(access.block, offset) || !self.is_fixed(access.block, size) {
            return Some(Bytes::All);
        }
        let (start, loops) = self.sum(access.block, offset)?;
        let (size, of_size) = self.sum(access.block, size)?;
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

    /// A scalar as a number and multiples of the variables of loops.
    fn sum(&self, block: BlockId, scalar: Scalar) -> Option<(i128, Vec<(BlockId, i128)>)> {
        if let Some(number) = self.number(scalar) {
            return Some((i128::from(number), Vec::new()));
        }
        let sum = Affine::of(self.module, scalar)?;
        let counted = |(variable, factor): (Variable, i128)| match variable {
            Variable::Loop(iter) => Some((self.outline.loop_of(self.module, block, iter)?, factor)),
            _ => None,
        };
        let loops: Option<Vec<(BlockId, i128)>> = sum.terms.into_iter().map(counted).collect();
        Some((sum.constant, loops?))
    }

    /// The least and the greatest multiple of a loop's variable in any round.
    fn span(&self, counted: BlockId, factor: i128) -> Option<(i128, i128)> {
        let def = self.outline.blocks.get(counted);
        let Instr::CfLoop { count, .. } = self.module.instrs[def.open as usize] else { return None };
        let most = self.extremes(def.parent, count)?.high;
        let last = factor.checked_mul((most - 1).max(0))?;
        Some((last.min(0), last.max(0)))
    }

    /// Whether two accesses of one tensor touch the same bytes in every round, as a run orders them.
    fn always_meet(&self, a: &Access, b: &Access) -> bool {
        let apart = || {
            let (of_a, of_b) = (self.bytes(a, b.block)?, self.bytes(b, a.block)?);
            let (Bytes::From { start, loops, size }, Bytes::From { start: other, loops: others, size: of_b }) =
                (of_a, of_b)
            else {
                return Some(true);
            };
            let mut factors: OrderedMap<BlockId, i128> = OrderedMap::new();
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
}
