//! What parts of conditions are: sums, sums that are cut off, truths, and what is one of two things as a truth goes.

use wsp_core::int::Range;
use wsp_ir::tg::outline::Affine;

/// What stands for no bound. Sums of multiples that come near are not known.
pub(super) const FAR: i128 = 1 << 100;
/// Most things of which something is one.
pub(super) const MOST_CHOICES: usize = 16;

/// A condition.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    Known(bool),
    /// Goes either way, each time anew.
    Open,
    /// A form lies between two numbers, which it may be.
    Within(u32, Range),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
}

/// A sum of multiples of values, by the number of the value.
pub(super) type Sum = Affine<u32>;

/// A sum that is cut off on both sides, by `min` and `max` with constants.
#[derive(Clone, Debug)]
pub(super) struct Clamped {
    pub(super) of: Sum,
    /// The least and the most that it is; at [`FAR`] it is not cut off.
    pub(super) within: Range,
    /// The same as a value of its own, if it is one.
    pub(super) whole: Option<Sum>,
}

/// What stands on the stack of an expression.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Number(Sum),
    Clamped(Box<Clamped>),
    Truth(Condition),
    /// One of two, as a condition goes.
    Choice(Box<Choice>),
    /// Not known, each time anew.
    Open,
}

/// One of two things, as a condition goes.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) condition: Condition,
    pub(super) then: Item,
    pub(super) otherwise: Item,
}

pub(super) fn number(constant: i128) -> Item {
    Item::Number(Sum { constant, ..Sum::default() })
}

pub(super) fn not(condition: Condition) -> Condition {
    match condition {
        Condition::Known(holds) => Condition::Known(!holds),
        Condition::Open => Condition::Open,
        Condition::Not(condition) => *condition,
        other => Condition::Not(Box::new(other)),
    }
}

pub(super) fn both(a: Condition, b: Condition) -> Condition {
    match (a, b) {
        (Condition::Known(true), other) | (other, Condition::Known(true)) => other,
        (Condition::Known(false), _) | (_, Condition::Known(false)) => Condition::Known(false),
        (a, b) => Condition::And(Box::new(a), Box::new(b)),
    }
}

/// A condition if another holds, a second one if it does not.
pub(super) fn one_of(condition: Condition, then: Condition, otherwise: Condition) -> Condition {
    let first = both(condition.clone(), then);
    not(both(not(first), not(both(not(condition), otherwise))))
}

impl Item {
    /// The number that it is, if that is known.
    pub(super) fn known(&self) -> Option<i64> {
        match self {
            Item::Number(sum) if sum.terms.is_empty() => i64::try_from(sum.constant).ok(),
            Item::Truth(Condition::Known(is_true)) => Some(i64::from(*is_true)),
            _ => None,
        }
    }

    pub(super) fn clamped(cut: Clamped) -> Item {
        match cut.within.value() {
            Some(value) => number(value),
            None => Item::Clamped(Box::new(cut)),
        }
    }

    /// The sum that it is as a value of its own.
    pub(super) fn whole(&self) -> Option<Sum> {
        match self {
            Item::Number(sum) => Some(sum.clone()),
            Item::Clamped(cut) => cut.whole.clone(),
            Item::Truth(_) | Item::Choice(_) | Item::Open => None,
        }
    }

    /// The same as a number: a truth is 1 or 0.
    pub(super) fn into_number(self) -> Item {
        match self {
            Item::Truth(condition) => Item::chosen(condition, number(1), number(0)),
            other => other,
        }
    }

    /// One of two things, as a condition goes.
    pub(super) fn chosen(condition: Condition, then: Item, otherwise: Item) -> Item {
        let truth = |item| match item {
            Item::Truth(condition) => condition,
            _ => Condition::Open,
        };
        match (condition, then, otherwise) {
            (Condition::Known(holds), then, otherwise) => {
                if holds {
                    then
                } else {
                    otherwise
                }
            }
            (_, Item::Open, Item::Open) => Item::Open,
            (condition, then @ Item::Truth(_), otherwise) | (condition, then, otherwise @ Item::Truth(_)) => {
                Item::Truth(one_of(condition, truth(then), truth(otherwise)))
            }
            (condition, then, otherwise) => Item::Choice(Box::new(Choice { condition, then, otherwise })),
        }
    }

    /// Of how many things it is one.
    pub(super) fn choices(&self) -> usize {
        match self {
            Item::Choice(choice) => choice.then.choices() + choice.otherwise.choices(),
            _ => 1,
        }
    }
}

impl Clamped {
    /// It and a constant together; none if a number becomes too large.
    pub(super) fn plus(&self, constant: i128) -> Option<Clamped> {
        let more = Sum { constant, ..Sum::default() };
        let end = |end: i128| if end.abs() == FAR { Some(end) } else { in_reach(end.checked_add(constant)?) };
        Some(Clamped {
            of: near(self.of.add(&more))?,
            within: Range::new(end(self.within.low)?, end(self.within.high)?),
            whole: self.whole.as_ref().and_then(|whole| near(whole.add(&more))),
        })
    }

    pub(super) fn negative(&self) -> Option<Clamped> {
        self.times(-1)
    }

    /// It so many times; none if a number becomes too large.
    pub(super) fn times(&self, factor: i128) -> Option<Clamped> {
        let end = |end: i128| match end.abs() == FAR && factor != 0 {
            true => Some(end * factor.signum()),
            false => in_reach(end.checked_mul(factor)?),
        };
        let (low, high) = (end(self.within.low)?, end(self.within.high)?);
        Some(Clamped {
            of: near(self.of.times(factor))?,
            within: if factor < 0 { Range::new(high, low) } else { Range::new(low, high) },
            whole: self.whole.as_ref().and_then(|whole| near(whole.times(factor))),
        })
    }
}

/// A sum of numbers that bounds are compared with.
pub(super) fn near(sum: Option<Sum>) -> Option<Sum> {
    sum.filter(|sum| {
        in_reach(sum.constant).is_some() && sum.terms.iter().all(|term| in_reach(term.1).is_some())
    })
}

pub(super) fn in_reach(number: i128) -> Option<i128> {
    (number.abs() < FAR / 2).then_some(number)
}
