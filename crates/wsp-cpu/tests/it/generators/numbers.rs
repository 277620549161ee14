//! Numbers by the rules of C, with checked integers.

use super::ast::{Ex, Func, Op, Ty};

/// Why there is no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// The run is to end with a fault.
    Fault,
    /// Tasks load slots that no task has stored, and all else is well.
    Unstored,
    /// Too long, or nothing is promised of it: not a test.
    NoTest,
}

pub(super) type Res<T> = Result<T, Stop>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Num(pub(super) Ty, pub(super) i128);

fn range(ty: Ty) -> (i128, i128) {
    match ty {
        Ty::Bool => (0, 1),
        Ty::I32 => (i32::MIN.into(), i32::MAX.into()),
        Ty::U32 => (0, u32::MAX.into()),
        Ty::I64 => (i64::MIN.into(), i64::MAX.into()),
        Ty::U64 => (0, u64::MAX.into()),
    }
}

pub(super) fn checked(ty: Ty, value: i128) -> Res<Num> {
    let (low, high) = range(ty);
    if (low..=high).contains(&value) { Ok(Num(ty, value)) } else { Err(Stop::Fault) }
}

pub(super) fn convert(n: Num, ty: Ty) -> Res<Num> {
    if ty == Ty::Bool { Ok(Num(Ty::Bool, i128::from(n.1 != 0))) } else { checked(ty, n.1) }
}

pub(super) fn promote(n: Num) -> Num {
    if n.0 == Ty::Bool { Num(Ty::I32, n.1) } else { n }
}

/// C's usual arithmetic conversions.
pub(super) fn common(a: Ty, b: Ty) -> Ty {
    match (a, b) {
        (Ty::U64, _) | (_, Ty::U64) => Ty::U64,
        (Ty::I64, _) | (_, Ty::I64) => Ty::I64,
        (Ty::U32, _) | (_, Ty::U32) => Ty::U32,
        _ => Ty::I32,
    }
}

pub(super) fn binary(op: Op, a: Num, b: Num) -> Res<Num> {
    let (a, b) = (promote(a), promote(b));
    let ty = if matches!(op, Op::Shl | Op::Shr) { a.0 } else { common(a.0, b.0) };
    let (a, b) = (convert(a, ty)?.1, convert(b, ty)?.1);
    let bits = if matches!(ty, Ty::I32 | Ty::U32) { 32 } else { 64 };
    let truth = |v: bool| Ok(Num(Ty::Bool, v.into()));
    if matches!(op, Op::Div | Op::Rem | Op::CeilDiv) && b == 0 {
        return Err(Stop::Fault);
    }
    if matches!(op, Op::Shl | Op::Shr) && !(0..bits).contains(&b) {
        return Err(Stop::Fault);
    }
    let value = match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a.checked_mul(b).ok_or(Stop::Fault)?,
        Op::Div => a / b,
        Op::Rem => a % b,
        Op::Shl => a << b,
        Op::Shr => a >> b,
        Op::BitAnd => a & b,
        Op::BitOr => a | b,
        Op::BitXor => a ^ b,
        Op::Min => a.min(b),
        Op::Max => a.max(b),
        Op::CeilDiv => a / b + i128::from(a % b != 0 && (a < 0) == (b < 0)),
        Op::Lt => return truth(a < b),
        Op::Le => return truth(a <= b),
        Op::Gt => return truth(a > b),
        Op::Ge => return truth(a >= b),
        Op::Eq => return truth(a == b),
        Op::Ne => return truth(a != b),
        Op::And | Op::Or => unreachable!("decided by the left side first"),
    };
    checked(ty, value)
}

/// The types of what an expression is made of.
pub(super) struct Types<'t> {
    /// By variable.
    pub(super) vars: &'t [Ty],
    pub(super) known: &'t [Ty],
    pub(super) funcs: &'t [Func],
}

impl Types<'_> {
    /// The type that C gives an expression.
    pub(super) fn of(&self, e: &Ex) -> Ty {
        let promoted = |ty: Ty| if ty == Ty::Bool { Ty::I32 } else { ty };
        match e {
            Ex::Lit(ty, _) | Ex::Cast(ty, _) => *ty,
            Ex::Var(v) => self.vars[*v],
            Ex::Known(n) => self.known[*n],
            Ex::Selector
            | Ex::Elem(..)
            | Ex::Field(_)
            | Ex::Select(..)
            | Ex::Alloc(..)
            | Ex::MaxOf(..)
            | Ex::Blocks
            | Ex::Count => Ty::U32,
            Ex::SumOf(..) => Ty::U64,
            Ex::Neg(a) | Ex::Flip(a) => promoted(self.of(a)),
            Ex::Not(_) => Ty::Bool,
            Ex::Bin(op, a, b) => match op {
                Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne | Op::And | Op::Or => Ty::Bool,
                Op::Shl | Op::Shr => promoted(self.of(a)),
                _ => common(self.of(a), self.of(b)),
            },
            Ex::Cond(parts) => match (self.of(&parts[1]), self.of(&parts[2])) {
                (a, b) if a == b => a,
                (a, b) => common(a, b),
            },
            Ex::Call(f, ..) => self.funcs[*f].ret.unwrap_or(Ty::I32),
        }
    }

    /// The type in which an operator other than a logical one, or a choice, takes its operands.
    pub(super) fn together(&self, e: &Ex) -> Option<Ty> {
        match e {
            Ex::Bin(Op::And | Op::Or, ..) => None,
            Ex::Bin(Op::Shl | Op::Shr, ..) | Ex::Cond(_) => Some(self.of(e)),
            Ex::Bin(_, a, b) => Some(common(self.of(a), self.of(b))),
            _ => None,
        }
    }
}

/// The value of an expression of literals, or that it has none.
fn constant(e: &Ex) -> Option<Res<Num>> {
    let both = |a: &Ex, b: &Ex| Some((constant(a)?, constant(b)?));
    Some(match e {
        Ex::Lit(ty, v) => Ok(Num(*ty, *v)),
        Ex::Neg(a) => constant(a)?.map(promote).and_then(|a| checked(a.0, -a.1)),
        Ex::Flip(a) => constant(a)?.map(promote).map(flipped),
        Ex::Not(a) => constant(a)?.map(|a| Num(Ty::Bool, i128::from(a.1 == 0))),
        Ex::Cast(ty, a) => constant(a)?.and_then(|a| convert(a, *ty)),
        Ex::Bin(Op::And | Op::Or, a, b) => both(a, b)?.0.map(|a| Num(Ty::Bool, a.1)),
        Ex::Bin(op, a, b) => {
            let (a, b) = both(a, b)?;
            a.and_then(|a| binary(*op, a, b?))
        }
        Ex::Cond(parts) => {
            constant(&parts[0])?.ok();
            let (a, b) = both(&parts[1], &parts[2])?;
            a.and(b)
        }
        _ => return None,
    })
}

pub(super) fn flipped(a: Num) -> Num {
    Num(a.0, if matches!(a.0, Ty::U32 | Ty::U64) { range(a.0).1 - a.1 } else { -1 - a.1 })
}

/// Whether an expression of literals has no value of a type, which the front end refuses; others have one for all that it knows.
pub(super) fn never_fits(e: &Ex, ty: Ty) -> bool {
    constant(e).is_some_and(|value| value.and_then(|value| convert(value, ty)).is_err())
}

/// As [`never_fits`], for any type.
pub(super) fn has_no_value(e: &Ex) -> bool {
    constant(e).is_some_and(|value| value.is_err())
}
