//! Random integer expressions: what they are worth, and how the languages write them.

use std::fmt::Write as _;
use wsp_core::int::BinOp;
use wsp_diag::Span;
use wsp_ir::{Const, Expr, ExprKind, ScalarTy, UnOp};

/// Why an expression has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    Overflow,
    DivisionByZero,
    ShiftRange,
}

/// The language of fewest operators that has all of an expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Language {
    Tg,
    Wsp,
    Pto,
}

/// How quotients of whole numbers are rounded, and with them remainders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rounding {
    TowardsZero,
    /// As in Python.
    Down,
}

impl Language {
    /// Whether the language has an operator.
    fn has(self, op: BinOp) -> bool {
        match self {
            Language::Tg => !op.is_bitwise() && op != BinOp::CeilDiv,
            Language::Wsp => !op.is_bitwise(),
            Language::Pto => true,
        }
    }
}

/// An expression over the variables `a`, `b` and `c`.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Var(usize),
    Literal(i64),
    Binary(BinOp, Box<[Tree; 2]>),
    Negative(Box<Tree>),
    Not(Box<Tree>),
    Choice(Box<[Tree; 3]>),
}

/// Numbers that follow from a seed.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A value of a variable: at a limit, small, or any.
    pub(crate) fn value(&mut self) -> i64 {
        const EDGES: [i64; 12] =
            [i64::MIN, i64::MIN + 1, -(1 << 31), -1, 0, 1, 2, 63, 1 << 31, 1 << 62, i64::MAX - 1, i64::MAX];
        match self.below(8) {
            0..4 => EDGES[self.below(EDGES.len())],
            4 => self.next().cast_signed(),
            _ => self.below(19) as i64 - 9,
        }
    }
}

/// Expressions at whose edges languages differ most: the smallest integer by -1, divisors of 0, and divisions that another part keeps
/// from being evaluated.
pub(crate) fn edges(language: Language) -> Vec<Tree> {
    let var = Tree::Var;
    let two = |op, left, right| Tree::Binary(op, Box::new([left, right]));
    let choice = |condition, then, otherwise| Tree::Choice(Box::new([condition, then, otherwise]));
    let quotient = || two(BinOp::Gt, two(BinOp::Div, var(0), var(1)), Tree::Literal(0));
    let nonzero = || two(BinOp::Ne, var(1), Tree::Literal(0));
    let mut all = vec![
        two(BinOp::Div, var(0), var(1)),
        two(BinOp::Rem, var(0), var(1)),
        Tree::Negative(Box::new(var(0))),
        two(BinOp::And, nonzero(), quotient()),
        two(BinOp::Or, Tree::Not(Box::new(var(1))), quotient()),
        two(BinOp::And, var(2), two(BinOp::Rem, var(0), var(1))),
        two(BinOp::Or, var(2), two(BinOp::Div, var(0), var(1))),
    ];
    if language >= Language::Wsp {
        all.push(two(BinOp::CeilDiv, var(0), var(1)));
        all.push(choice(nonzero(), two(BinOp::Div, var(0), var(1)), var(2)));
        all.push(choice(two(BinOp::Eq, var(1), Tree::Literal(0)), var(2), two(BinOp::Rem, var(0), var(1))));
    }
    all
}

/// Every operator of a language, of two variables.
pub(crate) fn operators(language: Language) -> Vec<Tree> {
    let all = BinOp::ALL.iter().copied().filter(|op| language.has(*op));
    all.map(|op| Tree::Binary(op, Box::new([Tree::Var(0), Tree::Var(1)]))).collect()
}

/// Every three of these values.
pub(crate) fn at_the_edges() -> Vec<[i64; 3]> {
    const VALUES: [i64; 6] = [i64::MIN, -7, -1, 0, 1, i64::MAX];
    let pairs = VALUES.into_iter().flat_map(|a| VALUES.map(|b| [a, b]));
    pairs.flat_map(|[a, b]| [-1, 0].map(|c| [a, b, c])).collect()
}

/// An expression of a language, with an operator at its top.
pub(crate) fn tree(rng: &mut Rng, language: Language) -> Tree {
    let (depth, mut made) = (2 + rng.below(4), Tree::Literal(0));
    while matches!(made, Tree::Literal(_) | Tree::Var(_)) {
        made = part(rng, language, depth);
    }
    made
}

fn part(rng: &mut Rng, language: Language, depth: usize) -> Tree {
    if depth == 0 || rng.below(8) == 0 {
        return if rng.below(4) == 0 { Tree::Literal(rng.below(5) as i64) } else { Tree::Var(rng.below(3)) };
    }
    // No part is made of literals only: compilers refuse those without a value.
    let known = |tree: Tree, rng: &mut Rng| match tree {
        Tree::Literal(_) => Tree::Var(rng.below(3)),
        tree => tree,
    };
    let sub = |rng: &mut Rng| part(rng, language, depth - 1);
    match rng.below(12) {
        0 => {
            let of = sub(rng);
            Tree::Negative(Box::new(known(of, rng)))
        }
        1 => {
            let of = sub(rng);
            Tree::Not(Box::new(known(of, rng)))
        }
        2 if language >= Language::Wsp => {
            let condition = sub(rng);
            Tree::Choice(Box::new([known(condition, rng), sub(rng), sub(rng)]))
        }
        _ => {
            // A third join truth values, so that they stand in each other.
            let mut op = [BinOp::And, BinOp::Or][rng.below(2)];
            if rng.below(3) > 0 {
                op = BinOp::ALL[rng.below(BinOp::ALL.len())];
                while !language.has(op) {
                    op = BinOp::ALL[rng.below(BinOp::ALL.len())];
                }
            }
            let left = sub(rng);
            Tree::Binary(op, Box::new([known(left, rng), sub(rng)]))
        }
    }
}

impl Tree {
    /// The value, computed in 128 bits.
    pub(crate) fn value(&self, vars: [i64; 3]) -> Result<i64, Fault> {
        self.rounded(vars, Rounding::TowardsZero)
    }

    /// The value with quotients rounded so.
    pub(crate) fn rounded(&self, vars: [i64; 3], rounding: Rounding) -> Result<i64, Fault> {
        let fitting = |value: i128| i64::try_from(value).map_err(|_| Fault::Overflow);
        let of = |tree: &Tree| tree.rounded(vars, rounding);
        match self {
            Tree::Var(var) => Ok(vars[*var]),
            Tree::Literal(value) => Ok(*value),
            Tree::Negative(inner) => fitting(-i128::from(of(inner)?)),
            Tree::Not(inner) => Ok(i64::from(of(inner)? == 0)),
            Tree::Choice(parts) => of(&parts[if of(&parts[0])? != 0 { 1 } else { 2 }]),
            Tree::Binary(BinOp::And, sides) => Ok(i64::from(of(&sides[0])? != 0 && of(&sides[1])? != 0)),
            Tree::Binary(BinOp::Or, sides) => Ok(i64::from(of(&sides[0])? != 0 || of(&sides[1])? != 0)),
            Tree::Binary(op, sides) => {
                let [left, right] = [i128::from(of(&sides[0])?), i128::from(of(&sides[1])?)];
                fitting(exact(*op, left, right, rounding)?)
            }
        }
    }

    /// Whether a division by the number 0 is in it, which Python's tracer refuses.
    pub(crate) fn divides_by_zero(&self) -> bool {
        match self {
            Tree::Var(_) | Tree::Literal(_) => false,
            Tree::Negative(of) | Tree::Not(of) => of.divides_by_zero(),
            Tree::Choice(parts) => parts.iter().any(Tree::divides_by_zero),
            Tree::Binary(op, sides) => {
                let by_zero = op.is_division() && matches!(sides[1], Tree::Literal(0));
                by_zero || sides.iter().any(Tree::divides_by_zero)
            }
        }
    }

    /// As a workload in Python writes it.
    pub(crate) fn python(&self) -> String {
        match self {
            Tree::Var(_) | Tree::Literal(_) => self.text(),
            Tree::Negative(of) => format!("(-{})", of.python()),
            Tree::Choice(parts) => {
                format!("P.select({}, {}, {})", parts[0].python_truth(), parts[1].python(), parts[2].python())
            }
            Tree::Binary(op, sides) if !op.is_comparison() && !op.is_logic() => {
                let [left, right] = [sides[0].python(), sides[1].python()];
                match op {
                    BinOp::Min | BinOp::Max | BinOp::CeilDiv => format!("P.{}({left}, {right})", op.sign()),
                    BinOp::Div => format!("({left} // {right})"),
                    _ => format!("({left} {} {right})", op.sign()),
                }
            }
            Tree::Not(_) | Tree::Binary(..) => format!("P.select({}, 1, 0)", self.python_truth()),
        }
    }

    fn python_truth(&self) -> String {
        match self {
            Tree::Not(of) => format!("(~{})", of.python_truth()),
            Tree::Binary(op, sides) if op.is_logic() => {
                let sign = if *op == BinOp::And { "&" } else { "|" };
                format!("({} {sign} {})", sides[0].python_truth(), sides[1].python_truth())
            }
            Tree::Binary(op, sides) if op.is_comparison() => {
                format!("({} {} {})", sides[0].python(), op.sign(), sides[1].python())
            }
            other => format!("({} != 0)", other.python()),
        }
    }

    /// As `.tg` and `.wsp` write it.
    pub(crate) fn text(&self) -> String {
        match self {
            Tree::Var(var) => ["a", "b", "c"][*var].to_owned(),
            Tree::Literal(value) => value.to_string(),
            Tree::Negative(of) => format!("(-{})", of.text()),
            Tree::Not(of) => format!("(!{})", of.text()),
            Tree::Choice(parts) => {
                format!("({} ? {} : {})", parts[0].text(), parts[1].text(), parts[2].text())
            }
            Tree::Binary(op, sides) => {
                let [left, right] = [sides[0].text(), sides[1].text()];
                let sign = op.sign();
                if matches!(op, BinOp::Min | BinOp::Max | BinOp::CeilDiv) {
                    return format!("{sign}({left}, {right})");
                }
                format!("({left} {sign} {right})")
            }
        }
    }

    /// As IR of `.pto`, of type `i64`, with an expression of that type for each variable.
    pub(crate) fn number(&self, leaf: &dyn Fn(u32) -> ExprKind) -> Expr {
        let kind = match self {
            Tree::Var(var) => leaf(*var as u32),
            Tree::Literal(value) => ExprKind::Const(Const::Int((*value).into())),
            Tree::Negative(of) => ExprKind::Unary(UnOp::Neg, Box::new(of.number(leaf))),
            Tree::Choice(parts) => ExprKind::Select(
                Box::new(parts[0].truth(leaf)),
                Box::new(parts[1].number(leaf)),
                Box::new(parts[2].number(leaf)),
            ),
            Tree::Binary(op, sides) if !op.is_comparison() && !op.is_logic() => {
                ExprKind::Binary(*op, Box::new(sides[0].number(leaf)), Box::new(sides[1].number(leaf)))
            }
            Tree::Not(_) | Tree::Binary(..) => ExprKind::Cast(Box::new(self.truth(leaf))),
        };
        Expr::new(kind, ScalarTy::I64, Span::default())
    }

    fn truth(&self, leaf: &dyn Fn(u32) -> ExprKind) -> Expr {
        let kind = match self {
            Tree::Not(of) => ExprKind::Unary(UnOp::Not, Box::new(of.truth(leaf))),
            Tree::Binary(op, sides) if op.is_logic() => {
                ExprKind::Binary(*op, Box::new(sides[0].truth(leaf)), Box::new(sides[1].truth(leaf)))
            }
            Tree::Binary(op, sides) if op.is_comparison() => {
                ExprKind::Binary(*op, Box::new(sides[0].number(leaf)), Box::new(sides[1].number(leaf)))
            }
            other => {
                let zero = Tree::Literal(0).number(leaf);
                ExprKind::Binary(BinOp::Ne, Box::new(other.number(leaf)), Box::new(zero))
            }
        };
        Expr::new(kind, ScalarTy::Bool, Span::default())
    }
}

/// The exact result of an operator that evaluates both sides.
fn exact(op: BinOp, left: i128, right: i128, rounding: Rounding) -> Result<i128, Fault> {
    if right == 0 && matches!(op, BinOp::Div | BinOp::Rem | BinOp::CeilDiv) {
        return Err(Fault::DivisionByZero);
    }
    if !(0..64).contains(&right) && matches!(op, BinOp::Shl | BinOp::Shr) {
        return Err(Fault::ShiftRange);
    }
    // What rounding down takes off a quotient that is rounded towards zero.
    let less = i128::from(
        rounding == Rounding::Down && right != 0 && left % right != 0 && (left < 0) != (right < 0),
    );
    Ok(match op {
        BinOp::Add => left + right,
        BinOp::Sub => left - right,
        BinOp::Mul => left * right,
        BinOp::Div => left / right - less,
        BinOp::Rem => left % right + less * right,
        // The quotient of what is negated is the largest integer that is not above it.
        BinOp::CeilDiv if right > 0 => -(-left).div_euclid(right),
        BinOp::CeilDiv => -left.div_euclid(-right),
        BinOp::Min => left.min(right),
        BinOp::Max => left.max(right),
        BinOp::BitAnd => left & right,
        BinOp::BitOr => left | right,
        BinOp::BitXor => left ^ right,
        BinOp::Shl => left << right,
        BinOp::Shr => left >> right,
        BinOp::Lt => i128::from(left < right),
        BinOp::Le => i128::from(left <= right),
        BinOp::Gt => i128::from(left > right),
        BinOp::Ge => i128::from(left >= right),
        BinOp::Eq => i128::from(left == right),
        BinOp::Ne => i128::from(left != right),
        BinOp::And | BinOp::Or => 0,
    })
}

/// What is written to standard input of a compiled program: words.
pub(crate) fn words(out: &mut String, values: &[i64]) {
    for value in values {
        let _ = write!(out, "{value} ");
    }
    out.push('\n');
}
