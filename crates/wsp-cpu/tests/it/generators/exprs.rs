//! Random expressions: mostly of small values, so that most of them have a result.

use super::ast::{Arr, Ex, Func, Op, Ty};
use super::numbers::{Types, has_no_value, never_fits};
use super::rng::Rng;

/// What expressions may use.
#[derive(Clone, Debug, Default)]
pub(super) struct ExprNames {
    /// Types of launch values.
    pub(super) known: Vec<Ty>,
    pub(super) vars: Vec<(usize, Ty)>,
    /// Variables that are not to be assigned.
    pub(super) fixed: Vec<usize>,
    pub(super) arrays: Vec<Arr>,
    /// Tier sets there are to select from.
    pub(super) sets: usize,
    /// Whether the words of a descriptor may be read.
    pub(super) fields: bool,
    /// Whether there is a value that a tier condition tests.
    pub(super) selector: bool,
    /// Whether the number of cores may be asked for.
    pub(super) blocks: bool,
}

/// A literal from 0 to 8.
pub(super) fn small(r: &mut Rng) -> Ex {
    Ex::Lit([Ty::I32, Ty::U32][r.below(2)], r.below(9) as i128)
}

fn literal(r: &mut Rng) -> Ex {
    match r.below(12) {
        0 => Ex::Lit(Ty::U32, [2048, 8192, 65536, 1 << 31, u32::MAX.into()][r.below(5)]),
        1 => Ex::Lit(Ty::I32, [i32::MAX.into(), 4096, 255][r.below(3)]),
        2 => Ex::Lit(Ty::I64, [1 << 40, 5, 1 << 31][r.below(3)]),
        3 => Ex::Lit(Ty::U64, [1 << 40, 7, 1 << 33][r.below(3)]),
        _ => small(r),
    }
}

fn leaf(r: &mut Rng, s: &ExprNames) -> Ex {
    for _ in 0..6 {
        match r.below(7) {
            0 | 1 if !s.vars.is_empty() => return Ex::Var(s.vars[r.below(s.vars.len())].0),
            2 if !s.known.is_empty() => return Ex::Known(r.below(s.known.len())),
            3 if s.selector => return Ex::Selector,
            4 if s.fields => return Ex::Field([0, 1, 3, 4, 5, 6][r.below(6)]),
            5 if s.blocks => return Ex::Blocks,
            6 => return literal(r),
            _ => {}
        }
    }
    small(r)
}

/// An index that exists, for the most part.
fn index(r: &mut Rng, s: &ExprNames, funcs: &[Func], depth: u32) -> Ex {
    match r.below(8) {
        0 => {
            let value = leaf(r, s);
            fitting(r, value, Ty::U32)
        }
        1 | 2 => {
            let inner = expr(r, s, funcs, depth);
            let inner = fitting(r, inner, Ty::U32);
            Ex::Bin(Op::Rem, Box::new(Ex::Cast(Ty::U32, Box::new(inner))), Box::new(Ex::Lit(Ty::U32, 1)))
        }
        _ => Ex::Lit(Ty::I32, 0),
    }
}

/// The expression, or a literal where it is made of literals and not of the type: the front end refuses those.
pub(super) fn fitting(r: &mut Rng, e: Ex, ty: Ty) -> Ex {
    if never_fits(&e, ty) { small(r) } else { e }
}

/// The expression, with literals in place of parts that the front end refuses.
pub(super) fn mended(r: &mut Rng, s: &ExprNames, funcs: &[Func], mut e: Ex) -> Ex {
    if has_no_value(&e) {
        return small(r);
    }
    let vars = (0..=s.vars.iter().map(|v| v.0).max().unwrap_or(0))
        .map(|v| s.vars.iter().rev().find(|var| var.0 == v).map_or(Ty::U32, |var| var.1))
        .collect::<Vec<_>>();
    let types = Types { vars: &vars, known: &s.known, funcs };
    let Some(ty) = types.together(&e) else { return e };
    match &mut e {
        Ex::Bin(_, a, b) => {
            for side in [a, b] {
                if never_fits(side, ty) {
                    **side = Ex::Lit(Ty::I32, 3);
                }
            }
        }
        Ex::Cond(parts) => {
            for side in &mut parts[1..] {
                if never_fits(side, ty) {
                    *side = Ex::Lit(Ty::I32, 2);
                }
            }
        }
        _ => {}
    }
    if has_no_value(&e) { small(r) } else { e }
}

/// An expression of some type.
pub(super) fn expr(r: &mut Rng, s: &ExprNames, funcs: &[Func], depth: u32) -> Ex {
    if depth == 0 {
        return leaf(r, s);
    }
    let e = any(r, s, funcs, depth);
    mended(r, s, funcs, e)
}

fn any(r: &mut Rng, s: &ExprNames, funcs: &[Func], depth: u32) -> Ex {
    let sub = |r: &mut Rng| Box::new(expr(r, s, funcs, depth - 1));
    match r.below(20) {
        0..=2 => leaf(r, s),
        3..=5 => {
            let most = if r.one_in(3) { 4 } else { 2 };
            let op = [Op::Add, Op::Add, Op::Mul, Op::Sub][r.below(most)];
            Ex::Bin(op, sub(r), sub(r))
        }
        6 => Ex::Bin([Op::Min, Op::Max][r.below(2)], sub(r), sub(r)),
        7 | 8 => {
            let by = Ex::Lit([Ty::I32, Ty::U32][r.below(2)], 1 + r.below(40) as i128);
            Ex::Bin([Op::Div, Op::Rem, Op::Rem, Op::CeilDiv][r.below(4)], sub(r), Box::new(by))
        }
        9 => Ex::Bin([Op::BitAnd, Op::BitOr, Op::BitXor][r.below(3)], sub(r), sub(r)),
        10 => {
            let most = if r.one_in(8) { 70 } else { 5 };
            let by = Ex::Lit(Ty::I32, r.below(most) as i128);
            Ex::Bin([Op::Shl, Op::Shr][r.below(2)], sub(r), Box::new(by))
        }
        11 => {
            let op = [Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne][r.below(6)];
            Ex::Bin(op, sub(r), sub(r))
        }
        12 => Ex::Bin([Op::And, Op::Or][r.below(2)], sub(r), sub(r)),
        13 => Ex::Cond(Box::new([*sub(r), *sub(r), *sub(r)])),
        14 => Ex::Cast([Ty::Bool, Ty::I32, Ty::U32, Ty::I64, Ty::U64][r.below(5)], sub(r)),
        15 => match r.below(4) {
            0 => Ex::Neg(sub(r)),
            1 => Ex::Flip(sub(r)),
            _ => Ex::Not(sub(r)),
        },
        16 if !s.arrays.is_empty() => {
            let array = s.arrays[r.below(s.arrays.len())];
            match r.below(5) {
                0 => Ex::MaxOf(array, Box::new(Ex::Lit(Ty::U32, r.below(2) as i128))),
                1 => Ex::SumOf(array, Box::new(Ex::Lit(Ty::U32, r.below(2) as i128))),
                _ => Ex::Elem(array, Box::new(index(r, s, funcs, depth - 1))),
            }
        }
        17 | 18 if s.sets > 0 => {
            let value = *sub(r);
            Ex::Select(r.below(s.sets), Box::new(fitting(r, value, Ty::U32)))
        }
        19 if !funcs.is_empty() => {
            let f = r.below(funcs.len());
            let func = &funcs[f];
            if func.ret.is_none() || (func.arrays > 0 && s.arrays.is_empty()) {
                return leaf(r, s);
            }
            let arrays = (0..func.arrays).map(|_| s.arrays[r.below(s.arrays.len())]).collect();
            let args = func.locals[..func.params].iter().map(|ty| {
                let value = *sub(r);
                fitting(r, value, *ty)
            });
            let args = args.collect();
            Ex::Call(f, arrays, args)
        }
        _ => match s.arrays.is_empty() {
            true => leaf(r, s),
            false => Ex::Elem(s.arrays[r.below(s.arrays.len())], Box::new(index(r, s, funcs, depth - 1))),
        },
    }
}
