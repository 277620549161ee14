//! Expressions: the words are run on a stack of trees.

use super::body::Scope;
use super::{Lifted, Lifting, refused};
use wsp_core::int::{BinOp, UnOp};
use wsp_core::ptow::{Word, XOp};
use wsp_core::{ParamId, SlotId, TableId, VarId};
use wsp_ir::workload::{IntExpr, IntExprKind};

/// Most words of expressions, those that are shared at each use.
const MOST_WORDS: usize = 1 << 20;

impl Lifting<'_> {
    /// The expression that begins at a word; those of axes and schedules have no scope.
    pub(super) fn expr(&self, first: u32, scope: Option<&Scope>) -> Lifted<IntExpr> {
        let words = self.words(first);
        self.written.set(self.written.get() + words.len());
        if self.written.get() > MOST_WORDS {
            return refused(
                first,
                format!("more than {MOST_WORDS} words of expressions, shared ones at each use"),
            );
        }
        self.value(words, first, scope)
    }

    /// The one value that these words leave on the stack. Recursion is bounded by their number, of which an expression has few.
    fn value(&self, words: &[Word], first: u32, scope: Option<&Scope>) -> Lifted<IntExpr> {
        let mut stack: Vec<IntExpr> = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let here = first + at as u32;
            let broken = || refused(here, "an expression whose ways do not nest");
            let Some(op) = XOp::from_code(word.opcode) else { return broken() };
            at += 1;
            let made = match op {
                XOp::XSkipZero => {
                    // `condition skipz then-part skip else-part`
                    let otherwise = at + word.operand2 as usize;
                    let Some((skip, then)) = words.get(at..otherwise).and_then(<[Word]>::split_last) else {
                        return broken();
                    };
                    let end = otherwise + skip.operand2 as usize;
                    let (Some(other), Some(condition)) = (words.get(otherwise..end), stack.pop()) else {
                        return broken();
                    };
                    if skip.opcode != XOp::XSkip.code() {
                        return broken();
                    }
                    let then = self.value(then, first + at as u32, scope)?;
                    let other = self.value(other, first + otherwise as u32, scope)?;
                    at = end;
                    choose(condition, then, other)
                }
                XOp::XConst => match words.get(at).filter(|next| next.opcode == XOp::XHigh.code()) {
                    None => IntExpr::from(i64::from(word.operand2 as i32)),
                    Some(high) => {
                        at += 1;
                        (i64::from(high.operand2 as i32) << 32 | i64::from(word.operand2)).into()
                    }
                },
                XOp::XSkip | XOp::XHigh => return broken(),
                op => match (op.info().pops, stack.pop()) {
                    (0, top) => {
                        stack.extend(top);
                        IntExpr::new(self.leaf(op, word.operand2, here, scope)?)
                    }
                    (1, Some(operand)) => IntExpr::new(one(op, word.operand2, operand)),
                    (_, Some(right)) => match (stack.pop(), op.operator()) {
                        (Some(left), Some(operator)) => IntExpr::joined(operator, left, right),
                        _ => return broken(),
                    },
                    (_, None) => return broken(),
                },
            };
            stack.push(made);
        }
        match (stack.pop(), stack.is_empty()) {
            (Some(value), true) => Ok(value),
            _ => refused(first, "an expression without one value"),
        }
    }

    fn leaf(&self, op: XOp, operand: u32, word: u32, scope: Option<&Scope>) -> Lifted<IntExprKind> {
        let var = |of: &dyn Fn(&Scope) -> Option<VarId>, what: &str| match scope.and_then(of) {
            Some(var) => Ok(IntExprKind::Var(var)),
            None => refused(word, format!("{what} {operand}, which no loop over an axis or a range has")),
        };
        let depth = operand as usize;
        Ok(match op {
            XOp::XValue => IntExprKind::Param(ParamId(operand)),
            XOp::XVar => var(&|scope| scope.depths.get(depth)?.0, "the variable at depth")?,
            // Of other loops the position is the variable.
            XOp::XPos => {
                var(&|scope| scope.depths.get(depth).and_then(|of| of.1.or(of.0)), "the position at depth")?
            }
            XOp::XAxis => match self.axes.get(depth).copied().flatten() {
                Some(axis) => IntExprKind::Axis(axis),
                None => return refused(word, "the index of an axis that is a range"),
            },
            XOp::XLen => IntExprKind::TableLen(TableId(operand)),
            _ => IntExprKind::Slot(SlotId(operand)),
        })
    }
}

/// An operation of one operand.
fn one(op: XOp, row: u32, operand: IntExpr) -> IntExprKind {
    let operand = Box::new(operand);
    match op {
        XOp::XTable => IntExprKind::Table(TableId(row), operand),
        XOp::XNeg => IntExprKind::Unary(UnOp::Neg, operand),
        _ => IntExprKind::Unary(UnOp::Not, operand),
    }
}

/// `c ? a : b`, as `&&` or `||` where it comes to that.
fn choose(condition: IntExpr, then: IntExpr, otherwise: IntExpr) -> IntExpr {
    match (then.as_const(), otherwise.as_const()) {
        (_, Some(0)) if is_truth(&then) => IntExpr::joined(BinOp::And, condition, stripped(then)),
        (Some(1), _) if is_truth(&otherwise) => IntExpr::joined(BinOp::Or, condition, stripped(otherwise)),
        _ => {
            let [condition, then, otherwise] = [condition, then, otherwise].map(Box::new);
            IntExpr::new(IntExprKind::Choose(condition, then, otherwise))
        }
    }
}

/// Whether an expression is always 0 or 1.
fn is_truth(expr: &IntExpr) -> bool {
    match &expr.kind {
        IntExprKind::Unary(op, _) => *op == UnOp::Not,
        IntExprKind::Binary(op, _, _) => op.is_comparison() || op.is_logic(),
        _ => false,
    }
}

/// What `!!x` makes 0 or 1.
fn stripped(expr: IntExpr) -> IntExpr {
    match expr.kind {
        IntExprKind::Unary(UnOp::Not, inner) => match inner.kind {
            IntExprKind::Unary(UnOp::Not, operand) if !is_truth(&operand) => *operand,
            kind => IntExpr::new(IntExprKind::Unary(UnOp::Not, Box::new(IntExpr::new(kind)))),
        },
        kind => IntExpr::new(kind),
    }
}
