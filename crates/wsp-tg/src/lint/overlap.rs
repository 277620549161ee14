//! Whether two accesses touch the same bytes.
//!
//! Bytes that are sums of multiples of variables are compared as such. Others, such as `16 * (i * i % 4)`, are compared in each round of the loops whose
//! variables they name; which bytes an access touches in the rounds of the loops around it alone is found out once for all others that it is compared with.

use super::super::Certainty;
use super::super::progression::Progression;
use super::access::{Access, Load};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use wsp_core::tg::{ExprOp, Instr, Scalar, TensorRef};
use wsp_ir::tg::TgModule;
use wsp_ir::tg::outline::{Affine, BlockId, BlockKind, Outline, Variable};
use wsp_ordered::{Arrange, OrderedSet};

/// Rounds in which two accesses are compared, those of all loops together.
const MOST_ROUNDS: usize = 1024;
/// Rounds of a loop in which it is looked whether a break leaves it.
const MOST_ROUNDS_OF_BREAKS: i64 = 64;
/// Accesses with values whose bytes are kept.
const MOST_KEPT: usize = 1 << 17;

/// Values that variables have where an access takes place.
pub(super) type Values<'v> = &'v [(Variable, i64)];
/// An access with them.
type Where<'v> = (&'v Access, Values<'v>);

/// Bytes from the first to behind the last.
type Bytes = (i128, i128);

/// An access, by instruction, tensor, bytes and what loads them; loops around it; values of other variables.
type Key = ((u32, u32, u64, u64, Option<Load>), Vec<BlockId>, Vec<(Variable, i64)>);
/// The bytes of an access in each round of some loops, and how many rounds these are; none where they are not known, or too many.
type InRounds = Option<(Rc<[Bytes]>, usize)>;

/// Whether accesses of a unit touch the same bytes.
pub(super) struct Overlaps<'m> {
    module: &'m TgModule,
    outline: &'m Outline,
    kept: RefCell<HashMap<Key, InRounds>>,
}

/// [`Overlaps::of`] of two accesses alone.
pub(super) fn overlap(module: &TgModule, outline: &Outline, a: &Access, b: &Access) -> Certainty {
    Overlaps::new(module, outline).of(a, b)
}

/// [`Overlaps::of_where`] of two accesses alone.
pub(super) fn overlap_where(module: &TgModule, outline: &Outline, a: Where<'_>, b: Where<'_>) -> Certainty {
    Overlaps::new(module, outline).of_where(a, b)
}

impl<'m> Overlaps<'m> {
    pub(super) fn new(module: &'m TgModule, outline: &'m Outline) -> Overlaps<'m> {
        Overlaps { module, outline, kept: RefCell::default() }
    }

    /// Whether two accesses of one tensor touch a byte in common.
    pub(super) fn of(&self, a: &Access, b: &Access) -> Certainty {
        if a.low >= b.high || b.low >= a.high {
            return Certainty::Never;
        }
        match (table_index(self.module, a.at), table_index(self.module, b.at)) {
            (Some(x), Some(y)) if x == y => {}
            (None, None) => {}
            _ => return self.in_rounds((a, &[]), (b, &[])),
        }
        match overlap_of_ranges(self.module, self.outline, (a, &[]), (b, &[])) {
            Certainty::Maybe => self.in_rounds((a, &[]), (b, &[])),
            known => known,
        }
    }

    /// The same where both take place with values of their own.
    pub(super) fn of_where(&self, a: Where<'_>, b: Where<'_>) -> Certainty {
        match overlap_of_taken(self.module, self.outline, a, b) {
            Certainty::Maybe => self.in_rounds(a, b),
            known => known,
        }
    }

    /// The same in each round of the loops that the bytes, the tensors and the conditions of both depend on, but for rounds in which one of the two does not
    /// run; [`Certainty::Maybe`] if those are not known, or too many.
    pub(super) fn in_rounds(&self, a: Where<'_>, b: Where<'_>) -> Certainty {
        let found = self.in_loops(a, b, false);
        let breaks = || [a, b].iter().any(|of| breaks(self.module, self.outline, of.0).next().is_some());
        match found != Certainty::Never && breaks() && self.in_loops(a, b, true) == Certainty::Never {
            true => Certainty::Never,
            false => found,
        }
    }

    /// The same with or without looking at breaks, which may take more rounds.
    fn in_loops(&self, a: Where<'_>, b: Where<'_>, looks_at_breaks: bool) -> Certainty {
        let Overlaps { module, outline, kept } = self;
        let mut loops = OrderedSet::new();
        for (access, values) in [a, b] {
            let Instr::McBind { ref tensor_id, offset, size, .. } = module.instrs[access.at as usize] else {
                continue;
            };
            let index = match *tensor_id {
                TensorRef::Table { index, .. } => Scalar::Expr(index),
                _ => Scalar::Const(0),
            };
            for scalar in [offset, size, index] {
                loops_of(module, outline, (access.block, scalar), values, &mut loops);
            }
        }
        for (access, values) in [a, b] {
            for (block, condition, _) in conditions(module, outline, access) {
                loops_of(module, outline, (block, condition), values, &mut loops);
            }
            for (block, _, condition) in breaks(module, outline, access).filter(|_| looks_at_breaks) {
                loops_of(module, outline, (block, condition), values, &mut loops);
            }
        }
        if loops.is_empty() {
            return Certainty::Maybe;
        }
        let is_around = |access: &Access, counted: &BlockId| outline.blocks.is_within(access.block, *counted);
        let (shared, own): (Vec<BlockId>, Vec<BlockId>) =
            loops.into_iter().partition(|counted| is_around(a.0, counted) && is_around(b.0, counted));
        let (of_a, of_b): (Vec<BlockId>, Vec<BlockId>) =
            own.into_iter().partition(|counted| is_around(a.0, counted));
        let mut meets = false;
        let mut rounds = EachRound { module, outline, left: MOST_ROUNDS, kept };
        let is_known = rounds.each(&shared, a.1.to_vec(), &mut |rounds, values| {
            let number = &values[..values.len() - a.1.len()];
            let ranges_a = rounds.ranges(a.0, &of_a, values.to_vec())?;
            let ranges_b = rounds.ranges(b.0, &of_b, [number, b.1].concat())?;
            meets = have_common(&ranges_a, &ranges_b);
            (!meets).then_some(())
        });
        match (meets, is_known) {
            (true, _) => Certainty::Surely,
            (false, Some(())) => Certainty::Never,
            (false, None) => Certainty::Maybe,
        }
    }
}

/// Whether two lists of bytes, each in order and apart from each other, have some in common.
fn have_common(mut a: &[Bytes], mut b: &[Bytes]) -> bool {
    while let ([first, rest_of_a @ ..], [second, rest_of_b @ ..]) = (a, b) {
        if first.0 < second.1 && second.0 < first.1 {
            return true;
        }
        if first.1 <= second.1 {
            a = rest_of_a;
        } else {
            b = rest_of_b;
        }
    }
    false
}

/// The conditions of the arms around an access: where each stands, and whether it has to be 0.
fn conditions<'o>(
    module: &'o TgModule,
    outline: &'o Outline,
    access: &Access,
) -> impl Iterator<Item = (BlockId, Scalar, bool)> + use<'o> {
    let arms = outline.blocks.outwards(access.block).filter(|(_, def)| def.kind.is_arm());
    arms.filter_map(|(_, def)| match module.instrs.get(def.decided as usize) {
        Some(Instr::CfIf { condition }) => Some((def.parent, *condition, def.kind == BlockKind::Else)),
        _ => None,
    })
}

/// Breaks that stand in the loops around an access themselves: the loop, the instruction and the condition.
fn breaks<'o>(
    module: &'o TgModule,
    outline: &'o Outline,
    access: &Access,
) -> impl Iterator<Item = (BlockId, u32, Scalar)> + use<'o> {
    let loops = outline.blocks.outwards(access.block).filter(|(_, def)| def.breaks);
    loops.flat_map(move |(id, def)| {
        (def.open..def.close).filter_map(move |at| match module.instrs[at as usize] {
            Instr::CfBreak { condition } if outline.blocks.around(at) == id => Some((id, at, condition)),
            _ => None,
        })
    })
}

/// Whether values say that an access does not take place: by a condition around it, or since a break leaves a loop in its round or in an earlier one.
fn is_skipped(module: &TgModule, outline: &Outline, (access, values): Where<'_>) -> bool {
    let number = |scalar: Scalar, values: Values<'_>| {
        Affine::of_where(module, scalar, values).and_then(|value| value.as_constant())
    };
    let is_left = |(id, at, condition): (BlockId, u32, Scalar)| {
        let def = outline.blocks.get(id);
        let Instr::CfLoop { iterator, .. } = module.instrs[def.open as usize] else { return false };
        let variable = Variable::Loop(iterator);
        let Some((_, round)) = values.iter().find(|(of, _)| *of == variable) else { return false };
        let rounds = if at < access.place { round + 1 } else { *round };
        (0..rounds.min(MOST_ROUNDS_OF_BREAKS)).any(|round| {
            let values = [&[(variable, round)], values].concat();
            number(condition, &values).is_some_and(|value| value != 0)
        })
    };
    conditions(module, outline, access)
        .any(|(_, condition, is_zero)| number(condition, values).is_some_and(|value| (value == 0) != is_zero))
        || breaks(module, outline, access).any(is_left)
}

/// Enters the loops that give a scalar in a block its values, those among them that count for others.
fn loops_of(
    module: &TgModule,
    outline: &Outline,
    (block, scalar): (BlockId, Scalar),
    values: Values<'_>,
    loops: &mut OrderedSet<BlockId>,
) {
    for op in module.scalar(scalar) {
        let ExprOp::Iter(iter) = *op else { continue };
        let Some(counted) = outline.loop_of(module, block, iter) else { continue };
        if values.iter().any(|(of, _)| *of == Variable::Loop(iter)) || !loops.insert(counted) {
            continue;
        }
        let def = outline.blocks.get(counted);
        if let Instr::CfLoop { count, .. } = module.instrs[def.open as usize] {
            loops_of(module, outline, (def.parent, count), values, loops);
        }
    }
}

/// What is done in a round, with the values in it; `None` ends it.
type InRound<'f, 'r> = dyn FnMut(&mut EachRound<'r>, &[(Variable, i64)]) -> Option<()> + 'f;

/// Goes through rounds of loops.
struct EachRound<'r> {
    module: &'r TgModule,
    outline: &'r Outline,
    /// Rounds that may still be gone through.
    left: usize,
    kept: &'r RefCell<HashMap<Key, InRounds>>,
}

impl<'r> EachRound<'r> {
    /// Does something in each round of some loops, the outermost first, to whose values those of their variables are added in front: of loops that count with
    /// one variable the innermost gives its value. `None` if that is not done in all.
    fn each(
        &mut self,
        loops: &[BlockId],
        values: Vec<(Variable, i64)>,
        done: &mut InRound<'_, 'r>,
    ) -> Option<()> {
        let Some((&counted, inner)) = loops.split_first() else { return done(self, &values) };
        let def = self.outline.blocks.get(counted);
        let Instr::CfLoop { count, iterator, .. } = self.module.instrs[def.open as usize] else {
            return None;
        };
        let count = Affine::of_where(self.module, count, &values)?.as_constant()?;
        for number in (0i64..).take_while(|number| i128::from(*number) < count) {
            self.left = self.left.checked_sub(1)?;
            let mut values = values.clone();
            values.insert(0, (Variable::Loop(iterator), number));
            self.each(inner, values, done)?;
        }
        Some(())
    }

    /// The bytes of an access in each round of some loops in which it takes place, in order and apart from each other.
    fn ranges(
        &mut self,
        access: &Access,
        loops: &[BlockId],
        values: Vec<(Variable, i64)>,
    ) -> Option<Rc<[Bytes]>> {
        let Access { at, tensor, low, high, load, .. } = *access;
        let key = ((at, tensor, low, high, load), loops.to_vec(), values);
        let known = self.kept.borrow().get(&key).cloned();
        let (ranges, rounds) = known.unwrap_or_else(|| {
            let mut all = EachRound { left: MOST_ROUNDS, ..*self };
            let ranges = all.all_ranges(access, loops, key.2.clone());
            let found = ranges.map(|ranges| (ranges.into(), MOST_ROUNDS - all.left));
            let mut kept = self.kept.borrow_mut();
            if kept.len() == MOST_KEPT {
                kept.clear();
            }
            kept.insert(key, found.clone());
            found
        })?;
        self.left = self.left.checked_sub(rounds)?;
        Some(ranges)
    }

    fn all_ranges(
        &mut self,
        access: &Access,
        loops: &[BlockId],
        values: Vec<(Variable, i64)>,
    ) -> Option<Vec<Bytes>> {
        let mut ranges = Vec::new();
        self.each(loops, values, &mut |of, values| {
            let (module, outline) = (of.module, of.outline);
            if is_skipped(module, outline, (access, values)) || !takes(module, outline, (access, values))? {
                return Some(());
            }
            let (first, size) = range_where(module, outline, access, values)?;
            let first = first.as_constant()?;
            ranges.push((first, first.checked_add(size)?));
            Some(())
        })?;
        ranges.arrange();
        let mut apart: Vec<Bytes> = Vec::new();
        for (first, end) in ranges {
            match apart.last_mut() {
                Some(last) if first <= last.1 => last.1 = last.1.max(end),
                _ => apart.push((first, end)),
            }
        }
        Some(apart)
    }
}

fn overlap_of_taken(module: &TgModule, outline: &Outline, a: Where<'_>, b: Where<'_>) -> Certainty {
    match (takes(module, outline, a), takes(module, outline, b)) {
        (Some(false), _) | (_, Some(false)) => Certainty::Never,
        (Some(true), Some(true)) => overlap_of_ranges(module, outline, a, b),
        _ => Certainty::Maybe,
    }
}

/// The same where each is in whatever round of the loops around it; they surely touch the same bytes if they do so in one round.
pub(super) fn overlap_in_any_round(
    module: &TgModule,
    outline: &Outline,
    a: Where<'_>,
    b: Where<'_>,
) -> Certainty {
    let hull = |(access, values): Where<'_>| {
        let (offset, size) = range_where(module, outline, access, values)?;
        let ends = outline.extremes(module, access.block, &offset)?;
        Some((ends.low, ends.high.checked_add(size)?))
    };
    let is_apart = match (hull(a), hull(b)) {
        (Some((low_a, high_a)), Some((low_b, high_b))) => high_a <= low_b || high_b <= low_a,
        _ => a.0.high <= b.0.low || b.0.high <= a.0.low,
    };
    match overlap_where(module, outline, a, b) {
        _ if is_apart => Certainty::Never,
        Certainty::Never if [a, b].iter().any(|of| takes(module, outline, *of) == Some(false)) => {
            Certainty::Never
        }
        Certainty::Never => Certainty::Maybe,
        other => other,
    }
}

/// Whether an access is one to its tensor: a binding to one of several tensors may be one to another.
pub(super) fn takes(module: &TgModule, outline: &Outline, (access, values): Where<'_>) -> Option<bool> {
    match &module.instrs[access.at as usize] {
        Instr::McBind { tensor_id: tensor_id @ TensorRef::Table { index, .. }, .. } => {
            let index = Affine::of_where(module, Scalar::Expr(*index), values);
            let index = index.filter(|index| index.terms.is_empty())?.constant;
            let taken = usize::try_from(index).ok().and_then(|index| module.tensors_of(tensor_id).get(index));
            Some(taken == Some(&outline.tensors[access.tensor as usize].no))
        }
        _ => Some(true),
    }
}

fn overlap_of_ranges(
    module: &TgModule,
    outline: &Outline,
    (a, of_a): Where<'_>,
    (b, of_b): Where<'_>,
) -> Certainty {
    if a.low >= b.high || b.low >= a.high {
        return Certainty::Never;
    }
    if a.exact && b.exact {
        return Certainty::Surely;
    }
    let range = |access: &Access, values| range_where(module, outline, access, values);
    let (Some((from_a, size_a)), Some((from_b, size_b))) = (range(a, of_a), range(b, of_b)) else {
        return Certainty::Maybe;
    };
    let Some(apart) = difference(outline, module, (&from_a, a.block), (&from_b, b.block)) else {
        return Certainty::Maybe;
    };
    // b begins `apart` bytes behind a: they meet if -size_b < apart < size_a.
    let numbers = match apart.as_slice() {
        [Term { factor: start, values: 1 }] => Progression { start: *start, step: 0, values: 1 },
        [Term { factor: start, values: 1 }, Term { factor: step, values }] => {
            Progression { start: *start, step: *step, values: *values }
        }
        _ => return Certainty::Maybe,
    };
    match numbers.has_between(-size_b, size_a) {
        Some(true) => Certainty::Surely,
        Some(false) => Certainty::Never,
        None => Certainty::Maybe,
    }
}

/// The table and the index of a binding to one of several tensors.
fn table_index(module: &TgModule, at: u32) -> Option<(Vec<u32>, Vec<ExprOp>)> {
    match &module.instrs[at as usize] {
        Instr::McBind { tensor_id: tensor_id @ TensorRef::Table { index, .. }, .. } => {
            let tensors = module.tensors_of(tensor_id).iter().map(|tensor| tensor.0).collect();
            Some((tensors, module.expr(*index).to_vec()))
        }
        _ => None,
    }
}

/// The first byte of an access and how many there are, if that is the same number each time.
pub(super) fn range_of(module: &TgModule, outline: &Outline, access: &Access) -> Option<(Affine, i128)> {
    range_where(module, outline, access, &[])
}

/// The same with values in the place of some variables.
pub(super) fn range_where(
    module: &TgModule,
    outline: &Outline,
    access: &Access,
    values: Values<'_>,
) -> Option<(Affine, i128)> {
    if access.exact {
        let low = Affine { constant: i128::from(access.low), terms: Vec::new() };
        return Some((low, i128::from(access.high) - i128::from(access.low)));
    }
    if let Some(load) = access.load {
        return Some((Affine::on_top(load.offset(module), values)?, i128::from(load.size)));
    }
    let Instr::McBind { offset, size, .. } = module.instrs[access.at as usize] else { return None };
    let of = |scalar| Affine::of_where(module, scalar, values);
    let (offset, size) = (of(offset)?, of(size)?);
    let bytes = outline.tensors[access.tensor as usize].bytes;
    match (size.terms.is_empty(), size.constant) {
        (true, 0) if offset.terms.is_empty() => {
            let size = bytes.map_or(i128::from(u64::MAX), i128::from).saturating_sub(offset.constant);
            (size > 0).then_some((offset, size))
        }
        (true, size) if size > 0 => Some((offset, size)),
        _ => None,
    }
}

/// A multiple of a number from 0 up; a constant takes one value, itself.
struct Term {
    factor: i128,
    values: i128,
}

/// How far apart two ranges begin in one round of the loops around both: a constant, and multiples of the variables of loops
/// around one of them. `None` if other values matter.
fn difference(
    outline: &Outline,
    module: &TgModule,
    (a, block_a): (&Affine, BlockId),
    (b, block_b): (&Affine, BlockId),
) -> Option<Vec<Term>> {
    let (meet, ..) = outline.blocks.meet(block_a, block_b);
    let mut shared = Affine { constant: b.constant.checked_sub(a.constant)?, terms: Vec::new() };
    let mut own = Vec::new();
    for (value, block, sign) in [(a, block_a, -1), (b, block_b, 1)] {
        for &(variable, factor) in &value.terms {
            let counted = match variable {
                Variable::Loop(iter) => outline.loop_of(module, block, iter)?,
                _ => meet,
            };
            let factor = factor.checked_mul(sign)?;
            if outline.blocks.is_within(meet, counted) {
                shared = shared.add(&Affine { constant: 0, terms: vec![(variable, factor)] })?;
            } else {
                let count = outline.count_of(module, counted).filter(|count| *count > 0)?;
                own.push(Term { factor, values: i128::from(count) });
            }
        }
    }
    for &(variable, factor) in &shared.terms {
        let Variable::Loop(iter) = variable else { return None };
        let counted = outline.loop_of(module, meet, iter)?;
        let count = outline.count_of(module, counted).filter(|count| *count > 0)?;
        own.push(Term { factor, values: i128::from(count) });
    }
    own.retain(|term| term.values > 1);
    own.insert(0, Term { factor: shared.constant, values: 1 });
    Some(own)
}
