//! Expressions as postfix words.

use super::super::codes;
use super::super::emit::Postfix;
use super::Lowering;
use super::scope::{Binding, InlinedWorkload};
use wsp_core::ptow::{MAX_EXPR_STACK, MAX_EXPR_WORDS, XOp};
use wsp_core::{ParamId, SlotId, TableId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{IntExpr, IntExprKind};
use wsp_ir::{BinOp, UnOp};

impl<'m> Lowering<'m> {
    /// The first word of an expression of a statement.
    pub(super) fn expr(&mut self, expr: &IntExpr, scope: &InlinedWorkload<'m>) -> u32 {
        let (first, words) = self.written(expr, Some(scope));
        self.exprs_at.named(expr.span, first, words.spans());
        first
    }

    /// The first word of an expression of a schedule or of an axis, which names no variable.
    pub(super) fn key(&mut self, expr: &IntExpr) -> u32 {
        let (first, words) = self.written(expr, None);
        self.exprs_at.key(expr.span, first, words.spans());
        first
    }

    fn written(&mut self, expr: &IntExpr, scope: Option<&InlinedWorkload<'m>>) -> (u32, Postfix) {
        let mut words = Postfix::default();
        self.write(expr, scope, &mut words);
        let fault = if words.len() > MAX_EXPR_WORDS {
            let terms = MAX_EXPR_WORDS / 2;
            too_large(expr.span, words.len(), MAX_EXPR_WORDS, "words")
                .note(format!(
                    "a name, a small number and an operator are a word each: a sum of {terms} names has {}",
                    2 * terms - 1
                ))
                .help("name parts of parameters and numbers: `let part = a + b;`")
                .help("pass other parts on: `call rest(a + b);`, where `workload rest(part) { … }` goes on with `part`")
        } else if words.highest() > MAX_EXPR_STACK {
            too_large(expr.span, words.highest(), MAX_EXPR_STACK, "entries of the stack")
                .note("an operand on the right waits with all on its left: `a + (b + (c + d))` needs 4")
                .help("put what nests to the left: `((c + d) + b) + a` needs 2")
        } else {
            return (self.exprs.intern(&words), words);
        };
        self.report(fault);
        (0, words)
    }

    /// Appends an expression. Recursion is bounded by the verified nesting of expressions.
    fn write(&mut self, expr: &IntExpr, scope: Option<&InlinedWorkload<'m>>, words: &mut Postfix) {
        let at = expr.span;
        match &expr.kind {
            IntExprKind::Const(value) => words.constant(*value, at),
            IntExprKind::Param(param) => words.push(XOp::XValue, self.value(*param), at),
            IntExprKind::Var(var) => match scope.map_or(Binding::Const(0), |scope| scope.binding(*var)) {
                Binding::Depth(depth) => words.push(XOp::XVar, depth, at),
                Binding::Position(depth) => words.push(XOp::XPos, depth, at),
                Binding::Const(value) => words.constant(value, at),
                Binding::Param(param) => words.push(XOp::XValue, self.value(param), at),
                Binding::TableLen(table) => words.push(XOp::XLen, self.table(table), at),
            },
            IntExprKind::Slot(SlotId(slot)) => words.push(XOp::XSlot, *slot, at),
            IntExprKind::Axis(axis) => match self.named_axes.get(axis) {
                Some(row) => words.push(XOp::XAxis, *row, at),
                // No loop runs over it.
                None => words.constant(0, at),
            },
            IntExprKind::TableLen(table) => words.push(XOp::XLen, self.table(*table), at),
            IntExprKind::Table(table, index) => {
                self.write(index, scope, words);
                words.push(XOp::XTable, self.table(*table), at);
            }
            IntExprKind::Unary(op, operand) => {
                self.write(operand, scope, words);
                let op = match op {
                    UnOp::Neg => XOp::XNeg,
                    UnOp::Not => XOp::XNot,
                };
                words.push(op, 0, at);
            }
            IntExprKind::Binary(op, left, right) => {
                self.write(left, scope, words);
                if op.is_logic() {
                    return self.lazy(*op, right, scope, (words, at));
                }
                self.write(right, scope, words);
                words.push(word(*op), 0, at);
            }
            IntExprKind::Chain(first, rest) => {
                self.write(first, scope, words);
                for (op, operand) in rest {
                    self.write(operand, scope, words);
                    words.push(word(*op), 0, first.span.to(operand.span));
                }
            }
            IntExprKind::Choose(condition, then, otherwise) => {
                self.write(condition, scope, words);
                let no = words.skip(XOp::XSkipZero, at);
                self.write(then, scope, words);
                let end = words.skip(XOp::XSkip, at);
                words.other_way(&no);
                self.write(otherwise, scope, words);
                words.land(&end);
            }
        }
    }

    /// Appends `&& right` or `|| right`, behind the left operand.
    fn lazy(
        &mut self,
        op: BinOp,
        right: &IntExpr,
        scope: Option<&InlinedWorkload<'m>>,
        (words, at): (&mut Postfix, Span),
    ) {
        let left_is_zero = words.skip(XOp::XSkipZero, at);
        let end = if op == BinOp::And {
            self.truth(right, scope, words);
            let end = words.skip(XOp::XSkip, at);
            words.other_way(&left_is_zero);
            words.constant(0, at);
            end
        } else {
            words.constant(1, at);
            let end = words.skip(XOp::XSkip, at);
            words.other_way(&left_is_zero);
            self.truth(right, scope, words);
            end
        };
        words.land(&end);
    }

    /// Appends an expression as 0 or 1.
    fn truth(&mut self, expr: &IntExpr, scope: Option<&InlinedWorkload<'m>>, words: &mut Postfix) {
        self.write(expr, scope, words);
        if !is_truth(expr) {
            words.push(XOp::XNot, 0, expr.span);
            words.push(XOp::XNot, 0, expr.span);
        }
    }

    /// The number of a launch-time value.
    pub(super) fn value(&mut self, param: ParamId) -> u32 {
        row(&mut self.values, param)
    }

    /// The number of a launch-time table.
    pub(super) fn table(&mut self, table: TableId) -> u32 {
        row(&mut self.tables, table)
    }
}

/// The place of an id among those used so far, at whose end it is put if need be.
fn row<T: PartialEq>(used: &mut Vec<T>, id: T) -> u32 {
    let at = used.iter().position(|known| *known == id).unwrap_or_else(|| {
        used.push(id);
        used.len() - 1
    });
    at as u32
}

/// Whether an expression is always 0 or 1.
fn is_truth(expr: &IntExpr) -> bool {
    match &expr.kind {
        IntExprKind::Unary(op, _) => matches!(op, UnOp::Not),
        IntExprKind::Binary(op, _, _) => op.is_comparison() || op.is_logic(),
        _ => false,
    }
}

fn too_large(span: Span, needs: usize, most: usize, what: &str) -> Diagnostic {
    Diagnostic::error(codes::EXPRESSION, "an expression is too large for a program")
        .at(span, format!("{needs} {what}; at most {most} are allowed"))
        .python(
            "give a part of it to a called workload, or let the host generate the tasks: `expand=\"host\"`",
        )
}

/// The word of an operator.
fn word(op: BinOp) -> XOp {
    XOp::of(op).expect("the verifier should refuse operators that have no word")
}
