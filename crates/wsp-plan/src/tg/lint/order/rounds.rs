//! Edges that hold in some rounds only.
//!
//! A run lays the rounds of unrolled loops out one by one, with numbers in the place of their variables: a copy is then in order with a kernel in those
//! rounds in which they touch the same bytes, and what a number rules out is not there to be ordered by its bytes.

use super::super::access::Access;
use super::super::launches::Steps;
use super::super::overlap::{Overlap, overlap_where};
use super::{Edge, Node, Order};
use std::collections::{BTreeMap, HashSet};
use wsp_core::int::Range;
use wsp_core::tg::{ConstEnv, ExprOp, Instr, LoopMode, Scalar, TensorNo, TensorRef, UNROLL_LIMIT, eval};
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
}

/// Rounds of loops: the loop and its variable's number.
type Numbers = Vec<(BlockId, i64)>;

/// Which rounds of a loop are gone through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    All,
    First,
    Last,
}

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
    pub(super) fn is_unrolled(&self, block: BlockId) -> bool {
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
    fn number(&self, block: BlockId, scalar: Scalar, numbers: &Numbers) -> Option<i64> {
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
    fn decided(&self, block: BlockId) -> impl Iterator<Item = (BlockId, &Block, Scalar)> {
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
    fn stands(&self, (def, scalar): (&Block, Scalar), numbers: &Numbers) -> Option<bool> {
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
    fn holds(&self, needs: &Needs, pair: [&Access; 2], numbers: &Numbers) -> bool {
        let is_around_pair =
            |id: BlockId| pair.iter().any(|access| self.outline.blocks.is_within(access.block, id));
        let stands = |block: BlockId| {
            let mut decided = self.decided(block).filter(|(id, ..)| !is_around_pair(*id));
            decided.all(|(_, def, scalar)| self.stands((def, scalar), numbers) == Some(true))
        };
        match needs {
            Needs::Standing(block) => stands(*block),
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

    /// Whether the second of two accesses comes after the first in every round of the loops around them in which they run and touch the same bytes; of
    /// loops around both, in the same round. By a way that begins with an edge which shows a tensor, if one is given. Where no steps are left, the
    /// answer is `false`.
    pub(in super::super) fn is_behind(
        &self,
        (order, known): (&Order, &TgModule),
        pair: [&Access; 2],
        shown: Option<TensorNo>,
        steps: &mut Steps,
    ) -> bool {
        if order.needs.is_empty() {
            return false;
        }
        let (meet, ..) = self.outline.blocks.meet(pair[0].block, pair[1].block);
        let mut loops = self.rounds_around(meet, None, Which::All);
        for (access, nearest) in [(pair[0], Which::Last), (pair[1], Which::First)] {
            let which = if self.is_carried(access, meet) { nearest } else { Which::All };
            loops.extend(self.rounds_around(access.block, Some(meet), which));
        }
        let mut is_behind = |numbers: &Numbers| {
            self.is_apart(known, pair, numbers) || self.leads(order, pair, shown, numbers, steps)
        };
        self.each_round(&loops, &mut Vec::new(), &mut is_behind)
    }

    /// The unrolled loops around a block, as far as a block around it, the outermost first.
    fn rounds_around(&self, block: BlockId, end: Option<BlockId>, which: Which) -> Vec<(BlockId, Which)> {
        let around = self.outline.blocks.outwards(block).take_while(|(id, _)| Some(*id) != end);
        let unrolled = around.filter(|(id, def)| def.kind.is_loop() && self.is_unrolled(*id));
        let mut loops: Vec<(BlockId, Which)> = unrolled.map(|(id, _)| (id, which)).collect();
        loops.reverse();
        loops
    }

    /// Whether what an access does in a round comes behind what it does in the one before, in loops up to a block around it: it writes the same bytes in
    /// each, and runs in each.
    fn is_carried(&self, access: &Access, end: BlockId) -> bool {
        let mut around = self.outline.blocks.outwards(access.block).take_while(|(id, _)| *id != end);
        access.exact
            && access.writes()
            && access.is_known()
            && around.all(|(id, def)| def.kind.is_loop() && self.is_unrolled(id))
    }

    /// Whether something is so in rounds of some loops, the outermost first.
    fn each_round(
        &self,
        loops: &[(BlockId, Which)],
        numbers: &mut Numbers,
        is_so: &mut dyn FnMut(&Numbers) -> bool,
    ) -> bool {
        let Some((&(outermost, which), inner)) = loops.split_first() else { return is_so(numbers) };
        let def = self.outline.blocks.get(outermost);
        let count = match self.module.instrs[def.open as usize] {
            Instr::CfLoop { count, .. } => self.number(def.parent, count, numbers),
            _ => None,
        };
        count.is_some_and(|count| {
            let mut rounds = match which {
                Which::All => 0..count,
                Which::First => 0..count.min(1),
                Which::Last => (count - 1).max(0)..count,
            };
            rounds.all(|number| {
                numbers.push((outermost, number));
                let is_so = self.each_round(inner, numbers, is_so);
                numbers.pop();
                is_so
            })
        })
    }

    /// Whether two accesses do not both run in a round, or touch no bytes in common.
    fn is_apart(&self, known: &TgModule, pair: [&Access; 2], numbers: &Numbers) -> bool {
        let is_ruled_out = |access: &Access| {
            self.decided(access.block)
                .any(|(_, def, scalar)| self.stands((def, scalar), numbers) == Some(false))
        };
        let values = |access: &Access| -> Vec<(Variable, i64)> {
            let of = |&(counted, number): &(BlockId, i64)| {
                let open = self.outline.blocks.get(counted).open;
                let Instr::CfLoop { iterator, .. } = self.module.instrs[open as usize] else { return None };
                let is_its = self.outline.loop_of(self.module, access.block, iterator) == Some(counted);
                is_its.then_some((Variable::Loop(iterator), number))
            };
            numbers.iter().filter_map(of).collect()
        };
        let [of_first, of_second] = pair.map(values);
        pair.into_iter().any(is_ruled_out)
            || overlap_where(known, self.outline, (pair[0], &of_first), (pair[1], &of_second))
                == Overlap::Never
    }

    /// Whether one node leads to another with these numbers. Of loops around neither, a way goes through some round.
    fn leads(
        &self,
        order: &Order,
        pair: [&Access; 2],
        shown: Option<TensorNo>,
        numbers: &Numbers,
        steps: &mut Steps,
    ) -> bool {
        let [from, to] = pair.map(|access| access.node);
        let last = order.rank[to as usize];
        let mut seen = HashSet::new();
        let mut open = vec![(from, numbers.clone())];
        while let Some((node, here)) = open.pop() {
            for edge in order.from(Node(node)) {
                let Edge { to: next, why, needs, .. } = *edge;
                if !steps.spend(1) {
                    return false;
                }
                if order.rank[next as usize] > last
                    || (node == from && shown.is_some_and(|shown| !why.shows(shown)))
                {
                    continue;
                }
                let needs = needs.map(|needs| &order.needs[needs as usize]);
                let mut is_led = |there: &Numbers| {
                    if !steps.spend(1) {
                        return false;
                    }
                    let mut both = here.clone();
                    both.extend(there.iter().filter(|number| !here.contains(number)));
                    if seen.contains(&(next, there.clone()))
                        || needs.is_some_and(|needs| !self.holds(needs, pair, &both))
                    {
                        return true;
                    }
                    seen.insert((next, there.clone()));
                    open.push((next, there.clone()));
                    true
                };
                let block = order.block(self.outline, next);
                let (loops, mut there) = self.rounds_of(block, pair, numbers, &here);
                self.each_round(&loops, &mut there, &mut is_led);
                if seen.contains(&(to, numbers.clone())) {
                    return true;
                }
            }
        }
        false
    }

    /// Unrolled loops around a block, and around neither of a pair, whose numbers are not known where one comes from, and the numbers that are.
    fn rounds_of(
        &self,
        block: BlockId,
        pair: [&Access; 2],
        numbers: &Numbers,
        here: &Numbers,
    ) -> (Vec<(BlockId, Which)>, Numbers) {
        let (mut loops, mut known) = (Vec::new(), numbers.clone());
        for (id, def) in self.outline.blocks.outwards(block) {
            let is_around_pair = pair.iter().any(|access| self.outline.blocks.is_within(access.block, id));
            if is_around_pair || !def.kind.is_loop() || !self.is_unrolled(id) {
                continue;
            }
            match here.iter().find(|(of, _)| *of == id) {
                Some(number) => known.push(*number),
                None => loops.push((id, Which::All)),
            }
        }
        loops.reverse();
        (loops, known)
    }
}
