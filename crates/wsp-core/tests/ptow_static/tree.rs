//! Expressions as trees: what they compute, written down once more, and their postfix words.

use proptest::prelude::*;
use wsp_core::ptow::{Word, X_LAST, XOp};

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Const(i64),
    Value(u32),
    Var(u32),
    Axis(u32),
    Slot(u32),
    Len(u32),
    Table(u32, Box<Tree>),
    Not(Box<Tree>),
    Neg(Box<Tree>),
    Binary(XOp, Box<Tree>, Box<Tree>),
    And(Box<Tree>, Box<Tree>),
    Or(Box<Tree>, Box<Tree>),
    Choose(Box<Tree>, Box<Tree>, Box<Tree>),
}

/// What names stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) values: Vec<i64>,
    pub(crate) tables: Vec<Vec<i64>>,
    pub(crate) vars: Vec<i64>,
    pub(crate) axes: Vec<i64>,
    pub(crate) slots: Vec<Option<i64>>,
}

/// Why there is no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    Overflow(XOp, i64, i64),
    Neg,
    Zero(i64),
    Index(i64),
    Waits(u32),
}

pub(crate) const BINARY: [XOp; 14] = [
    XOp::XAdd,
    XOp::XSub,
    XOp::XMul,
    XOp::XDiv,
    XOp::XRem,
    XOp::XCeilDiv,
    XOp::XMin,
    XOp::XMax,
    XOp::XEq,
    XOp::XNe,
    XOp::XLt,
    XOp::XLe,
    XOp::XGt,
    XOp::XGe,
];

impl Tree {
    pub(crate) fn binary(op: XOp, left: impl Into<Tree>, right: impl Into<Tree>) -> Tree {
        Tree::Binary(op, Box::new(left.into()), Box::new(right.into()))
    }

    /// Its value, in arithmetic of 128 bits.
    pub(crate) fn value(&self, names: &Names) -> Result<i64, Why> {
        Ok(match self {
            Tree::Const(value) => *value,
            Tree::Value(value) => names.values[*value as usize],
            Tree::Var(depth) => names.vars.get(*depth as usize).copied().unwrap_or(0),
            Tree::Axis(axis) => names.axes.get(*axis as usize).copied().unwrap_or(0),
            Tree::Slot(slot) => names.slots[*slot as usize].ok_or(Why::Waits(*slot))?,
            Tree::Len(table) => names.tables[*table as usize].len() as i64,
            Tree::Table(table, index) => {
                let index = index.value(names)?;
                let found = usize::try_from(index).ok().and_then(|at| names.tables[*table as usize].get(at));
                *found.ok_or(Why::Index(index))?
            }
            Tree::Not(operand) => i64::from(operand.value(names)? == 0),
            Tree::Neg(operand) => i64::try_from(-i128::from(operand.value(names)?)).map_err(|_| Why::Neg)?,
            Tree::Binary(op, left, right) => computed(*op, left.value(names)?, right.value(names)?)?,
            Tree::And(left, right) => i64::from(left.value(names)? != 0 && right.value(names)? != 0),
            Tree::Or(left, right) => i64::from(left.value(names)? != 0 || right.value(names)? != 0),
            Tree::Choose(condition, then, otherwise) => {
                if condition.value(names)? != 0 {
                    then.value(names)?
                } else {
                    otherwise.value(names)?
                }
            }
        })
    }

    /// Appends its words to a pool; the first of them.
    pub(crate) fn emit(&self, pool: &mut Vec<Word>) -> u32 {
        let first = pool.len() as u32;
        self.words(pool);
        pool.last_mut().expect("a word").flags |= X_LAST;
        first
    }

    fn words(&self, pool: &mut Vec<Word>) {
        let mut push = |op: XOp, operand| pool.push(word(op, operand));
        match self {
            Tree::Const(value) => {
                push(XOp::XConst, *value as u32);
                if i64::from(*value as i32) != *value {
                    push(XOp::XHigh, (*value >> 32) as u32);
                }
            }
            Tree::Value(value) => push(XOp::XValue, *value),
            Tree::Var(depth) => push(XOp::XVar, *depth),
            Tree::Axis(axis) => push(XOp::XAxis, *axis),
            Tree::Slot(slot) => push(XOp::XSlot, *slot),
            Tree::Len(table) => push(XOp::XLen, *table),
            Tree::Table(table, index) => {
                index.words(pool);
                pool.push(word(XOp::XTable, *table));
            }
            Tree::Not(operand) => {
                operand.words(pool);
                pool.push(word(XOp::XNot, 0));
            }
            Tree::Neg(operand) => {
                operand.words(pool);
                pool.push(word(XOp::XNeg, 0));
            }
            Tree::Binary(op, left, right) => {
                left.words(pool);
                right.words(pool);
                pool.push(word(*op, 0));
            }
            Tree::And(left, right) => {
                left.words(pool);
                choose(pool, |pool| truth(right, pool), |pool| pool.push(word(XOp::XConst, 0)));
            }
            Tree::Or(left, right) => {
                left.words(pool);
                choose(pool, |pool| pool.push(word(XOp::XConst, 1)), |pool| truth(right, pool));
            }
            Tree::Choose(condition, then, otherwise) => {
                condition.words(pool);
                choose(pool, |pool| then.words(pool), |pool| otherwise.words(pool));
            }
        }
    }
}

fn word(op: XOp, operand2: u32) -> Word {
    Word { opcode: op.code(), flags: 0, operand1: 0, operand2 }
}

/// 0 or 1 for a tree's value.
fn truth(tree: &Tree, pool: &mut Vec<Word>) {
    tree.words(pool);
    pool.extend([word(XOp::XNot, 0), word(XOp::XNot, 0)]);
}

/// One of two ways, by the value on the stack.
fn choose(pool: &mut Vec<Word>, then: impl FnOnce(&mut Vec<Word>), otherwise: impl FnOnce(&mut Vec<Word>)) {
    let skip = pool.len();
    pool.push(word(XOp::XSkipZero, 0));
    then(pool);
    let past = pool.len();
    pool.push(word(XOp::XSkip, 0));
    otherwise(pool);
    pool[skip].operand2 = (past - skip) as u32;
    pool[past].operand2 = (pool.len() - past - 1) as u32;
}

fn computed(op: XOp, left: i64, right: i64) -> Result<i64, Why> {
    let (l, r) = (i128::from(left), i128::from(right));
    if r == 0 && matches!(op, XOp::XDiv | XOp::XRem | XOp::XCeilDiv) {
        return Err(Why::Zero(left));
    }
    let value = match op {
        XOp::XAdd => l + r,
        XOp::XSub => l - r,
        XOp::XMul => l * r,
        XOp::XDiv => l / r,
        XOp::XRem => l % r,
        XOp::XCeilDiv => ceil(l, r),
        XOp::XMin => l.min(r),
        XOp::XMax => l.max(r),
        XOp::XEq => (l == r).into(),
        XOp::XNe => (l != r).into(),
        XOp::XLt => (l < r).into(),
        XOp::XLe => (l <= r).into(),
        XOp::XGt => (l > r).into(),
        XOp::XGe => (l >= r).into(),
        _ => unreachable!("an operation with two operands"),
    };
    i64::try_from(value).map_err(|_| Why::Overflow(op, left, right))
}

/// The smallest integer that is not below the quotient.
fn ceil(left: i128, right: i128) -> i128 {
    let (left, right) = if right < 0 { (-left, -right) } else { (left, right) };
    -((-left).div_euclid(right))
}

impl From<i64> for Tree {
    fn from(value: i64) -> Tree {
        Tree::Const(value)
    }
}

pub(crate) fn var(depth: u32) -> Tree {
    Tree::Var(depth)
}

/// Integers that are small, large or at an end.
pub(crate) fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -4i64..10,
        1 => any::<i64>(),
        1 => prop::sample::select(vec![
            i64::MIN, i64::MIN + 1, i64::MAX, -1, 0, 1, 1 << 31, -(1 << 31), (1 << 31) - 1, 1 << 32, 1 << 62,
        ]),
    ]
}

/// Trees over these leaves.
pub(crate) fn trees(leaf: impl Strategy<Value = Tree> + 'static) -> impl Strategy<Value = Tree> {
    leaf.prop_recursive(5, 24, 3, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            1 => boxed().prop_map(Tree::Not),
            1 => boxed().prop_map(Tree::Neg),
            1 => (0..2u32, boxed()).prop_map(|(table, index)| Tree::Table(table, index)),
            8 => (prop::sample::select(BINARY.to_vec()), boxed(), boxed()).prop_map(|(op, l, r)| Tree::Binary(op, l, r)),
            1 => (boxed(), boxed()).prop_map(|(l, r)| Tree::And(l, r)),
            1 => (boxed(), boxed()).prop_map(|(l, r)| Tree::Or(l, r)),
            1 => (boxed(), boxed(), boxed()).prop_map(|(c, t, o)| Tree::Choose(c, t, o)),
        ]
    })
}
