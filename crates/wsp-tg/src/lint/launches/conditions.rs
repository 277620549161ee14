//! Conditions of the host, and which of them hold together.
//!
//! A condition is made of comparisons. Each says that a *form*, a sum of multiples of values that stay as they are for the whole unit, lies between two
//! numbers; what is neither sum nor multiple, such as `N % 2`, is a value of its own. Of each form a way knows where it lies, and a decision leaves less
//! of that, so that conditions that exclude each other are never both taken. Forms are taken to be independent of each other, so more ways are left open
//! than there are, and never fewer.

use super::super::Cx;
pub(super) use super::items::Condition;
use super::items::{Choice, Clamped, FAR, Item, MOST_CHOICES, Sum, both, near, not, number, one_of};
use crate::Certainty;
use std::collections::HashMap;
use wsp_core::int::{BinOp, Range};
use wsp_core::tg::{ExprOp, Scalar, ScalarType, binary};
use wsp_ir::tg::outline::BlockId;
use wsp_ir::tg::{ArgDecl, ArgSource};

/// Operations of an expression that is looked into.
const LONGEST: usize = 256;

/// What the variable of a loop, or the iteration, is at the moment, if that is known.
pub(super) type Now<'n> = dyn Fn(ExprOp) -> Option<i64> + 'n;

/// Nothing is known of where something lies.
const ANYWHERE: Range = Range::new(-FAR, FAR);

/// What a unit says of its scalars.
#[derive(Clone, Copy)]
pub(super) struct Declared<'a> {
    pub(super) args: &'a [ArgDecl],
    /// How many devices run it, if that is known.
    pub(super) devices: Option<u32>,
}

/// Values and forms of expressions.
#[derive(Default)]
pub(super) struct Forms {
    /// Whether all are of one launch of a graph and one round of its loops, in which nothing but memory has another value each time.
    is_one_launch: bool,
    /// Values by the operations that give them.
    values: HashMap<Vec<ExprOp>, u32>,
    bounds: Vec<Range>,
    forms: HashMap<Vec<(u32, i128)>, u32>,
    /// Of each form, where it may lie.
    within: Vec<Range>,
    /// Of places in loops, with the iteration if that is known, whether some round runs them.
    pub(super) in_rounds: HashMap<(BlockId, u32, Option<i64>), Certainty>,
}

/// Where forms lie on a way: pieces apart from each other, in order. Those that are not named lie anywhere in their bounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    forms: HashMap<u32, Vec<Range>>,
}

impl Forms {
    /// Of expressions of one launch, in one round of the loops whose variables they name.
    pub(super) fn of_one_launch() -> Forms {
        Forms { is_one_launch: true, ..Forms::default() }
    }

    /// Whether a scalar is not 0.
    pub(super) fn condition(&mut self, cx: &Cx<'_>, scalar: Scalar, now: &Now<'_>) -> Condition {
        let item = self.item(cx, scalar, now);
        self.truth(item)
    }

    /// Whether what some operations make is not 0.
    pub(super) fn condition_of(&mut self, unit: Declared<'_>, ops: &[ExprOp], now: &Now<'_>) -> Condition {
        let item = self.item_of(unit, ops, now);
        self.truth(item)
    }

    /// Whether a scalar is 0 or less.
    pub(super) fn is_none(&mut self, cx: &Cx<'_>, scalar: Scalar, now: &Now<'_>) -> Condition {
        let item = self.item(cx, scalar, now);
        self.is_within(item, Range::new(-FAR, 0))
    }

    /// The number that a scalar is, if it is known.
    pub(super) fn number(&mut self, cx: &Cx<'_>, scalar: Scalar, now: &Now<'_>) -> Option<i64> {
        self.item(cx, scalar, now).known()
    }

    /// The same on a way of which something is known.
    pub(super) fn number_on(
        &mut self,
        cx: &Cx<'_>,
        scalar: Scalar,
        now: &Now<'_>,
        known: &Known,
    ) -> Option<i64> {
        match self.item(cx, scalar, now) {
            Item::Number(sum) => known.value(self, &sum),
            item => item.known(),
        }
    }

    /// The number that some operations make, if it is known.
    pub(super) fn number_of(&mut self, unit: Declared<'_>, ops: &[ExprOp], now: &Now<'_>) -> Option<i64> {
        self.item_of(unit, ops, now).known()
    }

    fn item(&mut self, cx: &Cx<'_>, scalar: Scalar, now: &Now<'_>) -> Item {
        if let Some(value) = scalar.as_const() {
            return number(value.into());
        }
        self.item_of(Declared::of(cx), cx.known.scalar(scalar), now)
    }

    fn item_of(&mut self, unit: Declared<'_>, ops: &[ExprOp], now: &Now<'_>) -> Item {
        if ops.len() > LONGEST {
            return Item::Open;
        }
        // Where the operations of each item begin.
        let mut stack: Vec<(usize, Item)> = Vec::new();
        for (at, op) in ops.iter().enumerate() {
            // What a skip looks at is the left side of the `and` or `or` that follows.
            if matches!(op, ExprOp::SkipZero(_) | ExprOp::SkipNonZero(_)) {
                continue;
            }
            let Some(rest) = stack.len().checked_sub(op.operands()) else { return Item::Open };
            let operands = stack.split_off(rest);
            let from = operands.first().map_or(at, |operand| operand.0);
            let items = operands.into_iter().map(|operand| operand.1).collect();
            let item = match *op {
                ExprOp::Iter(_) | ExprOp::Iteration => match now(*op) {
                    Some(value) => number(value.into()),
                    None => self.leaf(unit, *op),
                },
                op => self.apply(unit, op, items, &ops[from..=at]),
            };
            stack.push((from, item));
        }
        stack.pop().map_or(Item::Open, |(_, item)| item)
    }

    /// What an operation makes of its operands; `ops` are those of all of it.
    fn apply(&mut self, unit: Declared<'_>, op: ExprOp, mut items: Vec<Item>, ops: &[ExprOp]) -> Item {
        if !matches!(op, ExprOp::And | ExprOp::Or | ExprOp::Not) {
            items = items.into_iter().map(Item::into_number).collect();
            if let Some(at) = items.iter().position(|item| matches!(item, Item::Choice(_))) {
                return self.choose(unit, op, items, at, ops);
            }
        }
        let (b, a) = (items.pop(), items.pop());
        match (op, a, b) {
            (ExprOp::Const(value), ..) => number(value.into()),
            (ExprOp::Arg(_) | ExprOp::Device | ExprOp::Devices, ..) => self.leaf(unit, op),
            (ExprOp::And, Some(a), Some(b)) => Item::Truth(both(self.truth(a), self.truth(b))),
            (ExprOp::Or, Some(a), Some(b)) => Item::Truth(not(both(not(self.truth(a)), not(self.truth(b))))),
            (ExprOp::Not, _, Some(a)) => Item::Truth(not(self.truth(a))),
            (ExprOp::Load(..), ..) | (_, Some(Item::Open), _) | (_, _, Some(Item::Open)) => Item::Open,
            (ExprOp::Neg, _, Some(Item::Number(a))) => near(a.times(-1)).map_or(Item::Open, Item::Number),
            (ExprOp::Neg, _, Some(Item::Clamped(a))) => a.negative().map_or(Item::Open, Item::clamped),
            (op, Some(Item::Number(a)), Some(Item::Number(b))) => self.arithmetic(unit, op, &a, &b, ops),
            (op, Some(a @ Item::Clamped(_)), Some(b)) | (op, Some(a), Some(b @ Item::Clamped(_))) => {
                self.cut_off(op, &a, &b).unwrap_or_else(|| match (a.whole(), b.whole()) {
                    (Some(a), Some(b)) => self.arithmetic(unit, op, &a, &b, ops),
                    _ => self.value(unit, ops, ANYWHERE),
                })
            }
            _ => self.value(unit, ops, ANYWHERE),
        }
    }

    /// What an operation makes of operands of which one is one of two things.
    fn choose(
        &mut self,
        unit: Declared<'_>,
        op: ExprOp,
        mut items: Vec<Item>,
        at: usize,
        ops: &[ExprOp],
    ) -> Item {
        let choices = items.iter().fold(1usize, |all, item| all.saturating_mul(item.choices()));
        let Item::Choice(choice) = std::mem::replace(&mut items[at], Item::Open) else { return Item::Open };
        if choices > MOST_CHOICES {
            return self.value(unit, ops, ANYWHERE);
        }
        let Choice { condition, then, otherwise } = *choice;
        let [then, otherwise] = [(then, 1), (otherwise, 0)].map(|(item, which)| {
            items[at] = item;
            // What comes of each is a value of its own, with bounds of its own.
            let ops = [ops, &[ExprOp::Const(which)]].concat();
            self.apply(unit, op, items.clone(), &ops)
        });
        Item::chosen(condition, then, otherwise)
    }

    /// What an operation makes of a sum that is cut off and a constant, if it is again one or compares them.
    fn cut_off(&mut self, op: ExprOp, a: &Item, b: &Item) -> Option<Item> {
        let (cut, constant, is_first) = match (a, b) {
            (Item::Clamped(cut), Item::Number(other)) => (cut, other, true),
            (Item::Number(other), Item::Clamped(cut)) => (cut, other, false),
            _ => return None,
        };
        if !constant.terms.is_empty() {
            return None;
        }
        let constant = constant.constant;
        let apart = || match is_first {
            true => cut.plus(-constant),
            false => cut.negative()?.plus(constant),
        };
        match op {
            ExprOp::Add => cut.plus(constant).map(Item::clamped),
            ExprOp::Sub => apart().map(Item::clamped),
            ExprOp::Mul => cut.times(constant).map(Item::clamped),
            ExprOp::Min | ExprOp::Max => {
                let cut_at =
                    |end: i128| if op == ExprOp::Min { end.min(constant) } else { end.max(constant) };
                let within = Range::new(cut_at(cut.within.low), cut_at(cut.within.high));
                Some(Item::clamped(Clamped { of: cut.of.clone(), within, whole: None }))
            }
            op => {
                let (bounds, holds) = compares(op)?;
                let is_within = self.within_clamped(&apart()?, bounds);
                Some(Item::Truth(if holds { is_within } else { not(is_within) }))
            }
        }
    }

    /// Whether a sum that is cut off lies between two numbers.
    fn within_clamped(&mut self, cut: &Clamped, range: Range) -> Condition {
        if cut.within.meet(range).is_none() {
            return Condition::Known(false);
        }
        let low = if range.low <= cut.within.low { -FAR } else { range.low };
        let high = if range.high >= cut.within.high { FAR } else { range.high };
        self.within(&cut.of, Range { low, high })
    }

    fn arithmetic(&mut self, unit: Declared<'_>, op: ExprOp, a: &Sum, b: &Sum, ops: &[ExprOp]) -> Item {
        let apart = || near(b.times(-1)).and_then(|b| near(a.add(&b)));
        if let Some((bounds, holds)) = compares(op) {
            let is_within = apart().map_or(Condition::Open, |apart| self.within(&apart, bounds));
            return Item::Truth(if holds { is_within } else { not(is_within) });
        }
        let sum = match op {
            ExprOp::Add => near(a.add(b)),
            ExprOp::Sub => apart(),
            ExprOp::Mul if a.terms.is_empty() || b.terms.is_empty() => near(a.multiply(b)),
            _ => return self.other(unit, op, a, b, ops),
        };
        sum.map_or(Item::Open, Item::Number)
    }

    /// What is neither sum nor multiple.
    fn other(&mut self, unit: Declared<'_>, op: ExprOp, a: &Sum, b: &Sum, ops: &[ExprOp]) -> Item {
        let constant = |sum: &Sum| i64::try_from(sum.constant).ok().filter(|_| sum.terms.is_empty());
        if let (Some(a), Some(b)) = (constant(a), constant(b)) {
            return binary(op, a, b).map_or(Item::Open, |value| number(value.into()));
        }
        if let (ExprOp::Min | ExprOp::Max, Some((of, end))) =
            (op, constant(a).map(|end| (b, end)).or(constant(b).map(|end| (a, end))))
        {
            let (end, is_min) = (i128::from(end), op == ExprOp::Min);
            let within = if is_min { Range::new(-FAR, end) } else { Range::new(end, FAR) };
            let operator = if is_min { BinOp::Min } else { BinOp::Max };
            let bounds = Range::binary(operator, self.bounds_of(of), Range::point(end)).unwrap_or(ANYWHERE);
            let whole = self.value(unit, ops, bounds).whole();
            return Item::clamped(Clamped { of: of.clone(), within, whole });
        }
        let bounds = match (op, constant(b)) {
            (ExprOp::Rem, Some(of)) if of != 0 => {
                let most = i128::from(of).abs() - 1;
                Range::new(if self.bounds_of(a).low >= 0 { 0 } else { -most }, most)
            }
            _ => ANYWHERE,
        };
        self.value(unit, ops, bounds)
    }

    fn leaf(&mut self, unit: Declared<'_>, op: ExprOp) -> Item {
        let devices = unit.devices.map(i128::from);
        let bounds = match op {
            ExprOp::Device => Range::new(0, devices.map_or(FAR, |devices| devices - 1)),
            ExprOp::Devices => devices.map_or(Range::new(1, FAR), Range::point),
            ExprOp::Arg(arg) if self.is_one_launch || unit.is_of_launch(arg) => {
                unit.args.get(arg as usize).map_or(ANYWHERE, |arg| bounds_of(arg.ty))
            }
            ExprOp::Iter(_) if self.is_one_launch => Range::new(0, i64::MAX.into()),
            ExprOp::Iteration if self.is_one_launch => bounds_of(ScalarType::I64),
            _ => return Item::Open,
        };
        bounds.value().map_or_else(|| self.value(unit, &[op], bounds), number)
    }

    fn value(&mut self, unit: Declared<'_>, ops: &[ExprOp], bounds: Range) -> Item {
        // What holds a round, memory or a scalar of the host is another value each time.
        let moves = |op: &ExprOp| match *op {
            ExprOp::Load(..) => true,
            ExprOp::Iter(_) | ExprOp::Iteration => !self.is_one_launch,
            ExprOp::Arg(arg) => !self.is_one_launch && !unit.is_of_launch(arg),
            _ => false,
        };
        if ops.iter().any(moves) {
            return Item::Open;
        }
        let next = self.bounds.len() as u32;
        let value = *self.values.entry(ops.to_vec()).or_insert(next);
        if value == next {
            self.bounds.push(bounds);
        }
        Item::Number(Sum::variable(value))
    }

    fn truth(&mut self, item: Item) -> Condition {
        match item {
            Item::Truth(condition) => condition,
            item => not(self.is_within(item, Range::point(0))),
        }
    }

    /// Whether something lies between two numbers.
    fn is_within(&mut self, item: Item, range: Range) -> Condition {
        match item.into_number() {
            Item::Number(sum) => self.within(&sum, range),
            Item::Clamped(sum) => self.within_clamped(&sum, range),
            Item::Choice(choice) => {
                let Choice { condition, then, otherwise } = *choice;
                let (then, otherwise) = (self.is_within(then, range), self.is_within(otherwise, range));
                one_of(condition, then, otherwise)
            }
            Item::Truth(_) | Item::Open => Condition::Open,
        }
    }

    /// Where a sum may lie.
    fn bounds_of(&self, sum: &Sum) -> Range {
        let mut bounds = Some(Range::point(sum.constant));
        for &(value, factor) in &sum.terms {
            let reach = Range::binary(BinOp::Mul, self.bounds[value as usize], Range::point(factor));
            bounds = bounds.zip(reach).and_then(|(all, reach)| Range::binary(BinOp::Add, all, reach));
        }
        bounds.unwrap_or(Range::new(i128::MIN, i128::MAX))
    }

    /// Whether a sum lies between two numbers.
    fn within(&mut self, sum: &Sum, range: Range) -> Condition {
        let Some(&(_, first)) = sum.terms.first() else {
            return Condition::Known(range.contains(sum.constant));
        };
        let (common, terms) = form_of(sum, first);
        let ends = [range.low, range.high].map(|end| if end.abs() == FAR { end } else { end - sum.constant });
        let (low, high) = if common < 0 { (-ends[1], -ends[0]) } else { (ends[0], ends[1]) };
        let common = common.abs();
        let low = if low == -FAR { low } else { -(-low).div_euclid(common) };
        let high = if high == FAR { high } else { high.div_euclid(common) };
        let bounds = self.bounds_of(&Sum { constant: 0, terms: terms.clone() });
        let next = self.within.len() as u32;
        let form = *self.forms.entry(terms).or_insert(next);
        if form == next {
            self.within.push(Range::new(bounds.low.max(-FAR), bounds.high.min(FAR)));
        }
        if low > high { Condition::Known(false) } else { Condition::Within(form, Range { low, high }) }
    }
}

/// The form of a sum whose first factor this is, and what it is a multiple of: the form has no factor in common, and the first of its factors is
/// positive.
fn form_of(sum: &Sum, first: i128) -> (i128, Vec<(u32, i128)>) {
    let common = sum.terms.iter().fold(0, |common, term| gcd(common, term.1.abs())) * first.signum();
    (common, sum.terms.iter().map(|term| (term.0, term.1 / common)).collect())
}

impl Known {
    /// The number that a sum is, if nothing else is left of where its form may lie.
    fn value(&self, forms: &Forms, sum: &Sum) -> Option<i64> {
        let Some(&(_, first)) = sum.terms.first() else { return i64::try_from(sum.constant).ok() };
        let (common, terms) = form_of(sum, first);
        let [range] = self.forms.get(forms.forms.get(&terms)?)?.as_slice() else { return None };
        let value = range.value()?.checked_mul(common)?.checked_add(sum.constant)?;
        i64::try_from(value).ok()
    }

    /// Whether a condition holds; `choose` decides where it may or may not, and what follows is kept.
    pub(super) fn decide(
        &mut self,
        forms: &Forms,
        condition: &Condition,
        choose: &mut dyn FnMut() -> bool,
    ) -> bool {
        match condition {
            Condition::Known(holds) => *holds,
            Condition::Open => choose(),
            Condition::Not(condition) => !self.decide(forms, condition, choose),
            Condition::And(a, b) => self.decide(forms, a, choose) && self.decide(forms, b, choose),
            Condition::Within(form, range) => {
                let all = self.forms.entry(*form).or_insert_with(|| vec![forms.within[*form as usize]]);
                let (inside, outside) = cut(all, *range);
                let is_inside = match (inside.is_empty(), outside.is_empty()) {
                    (true, _) => false,
                    (_, true) => true,
                    _ => choose(),
                };
                *all = if is_inside { inside } else { outside };
                is_inside
            }
        }
    }
}

/// The parts of pieces that lie between two numbers, and those that do not.
fn cut(pieces: &[Range], Range { low, high }: Range) -> (Vec<Range>, Vec<Range>) {
    let inside = pieces.iter().filter_map(|piece| piece.meet(Range { low, high }));
    let around = [Range::new(i128::MIN, low - 1), Range::new(high + 1, i128::MAX)];
    let outside = pieces.iter().flat_map(|piece| around.into_iter().filter_map(|side| piece.meet(side)));
    (inside.collect(), outside.collect())
}

impl<'a> Declared<'a> {
    pub(super) fn of(cx: &Cx<'a>) -> Declared<'a> {
        Declared { args: &cx.module.args, devices: cx.options.devices }
    }

    /// Whether an argument is one of the launch, which has one value as long as the run goes.
    pub(super) fn is_of_launch(self, arg: u32) -> bool {
        self.args.get(arg as usize).is_some_and(|arg| arg.source == ArgSource::Launch)
    }
}

/// Where the difference of two operands lies if a comparison holds of them, or if it does not.
fn compares(op: ExprOp) -> Option<(Range, bool)> {
    Some(match op {
        ExprOp::Eq => (Range::point(0), true),
        ExprOp::Ne => (Range::point(0), false),
        ExprOp::Lt => (Range::new(-FAR, -1), true),
        ExprOp::Le => (Range::new(-FAR, 0), true),
        ExprOp::Gt => (Range::new(1, FAR), true),
        ExprOp::Ge => (Range::new(0, FAR), true),
        _ => return None,
    })
}

/// The values of a type.
fn bounds_of(ty: ScalarType) -> Range {
    match ty {
        ScalarType::U8 => Range::new(0, u8::MAX.into()),
        ScalarType::U32 => Range::new(0, u32::MAX.into()),
        ScalarType::I32 => Range::new(i32::MIN.into(), i32::MAX.into()),
        ScalarType::U64 => Range::new(0, i64::MAX.into()),
        ScalarType::I64 => Range::new(i64::MIN.into(), i64::MAX.into()),
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
