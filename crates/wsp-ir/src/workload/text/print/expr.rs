//! Expressions, with the parentheses that they need.

use super::{Printer, name_of};
use crate::workload::{IntExpr, IntExprKind};
use crate::{BinOp, UnOp};

/// How an operator is written: its sign and level, or the function's name.
enum Form {
    Infix(&'static str, u32),
    Function(&'static str),
}

/// Levels as in the parser: 0 holds everything, then `||`, `&&`, `==`, `<`, `+`, `*`, unary.
const EQUALITY: u32 = 3;
const ORDER: u32 = 4;
const UNARY: u32 = 7;

fn form(op: BinOp) -> Form {
    let level = match op {
        BinOp::Or => 1,
        BinOp::And => 2,
        BinOp::Eq | BinOp::Ne => EQUALITY,
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => ORDER,
        BinOp::Add | BinOp::Sub => 5,
        BinOp::Mul | BinOp::Div | BinOp::Rem => 6,
        // Functions; the verifier refuses operators of bits.
        _ => return Form::Function(op.sign()),
    };
    Form::Infix(op.sign(), level)
}

fn level_of(op: BinOp) -> u32 {
    match form(op) {
        Form::Infix(_, level) => level,
        Form::Function(_) => UNARY,
    }
}

impl Printer<'_> {
    /// Writes an expression as an operand of an operator of this level.
    pub(super) fn expr_at(&mut self, expr: &IntExpr, level: u32) {
        let own = match &expr.kind {
            IntExprKind::Choose(..) => 0,
            IntExprKind::Binary(op, ..) => level_of(*op),
            IntExprKind::Chain(_, rest) => rest.first().map_or(UNARY, |(op, _)| level_of(*op)),
            _ => UNARY,
        };
        if own < level {
            self.text("(");
            self.bare(expr);
            self.text(")");
        } else {
            self.bare(expr);
        }
    }

    fn bare(&mut self, expr: &IntExpr) {
        match &expr.kind {
            IntExprKind::Const(value) => self.text(&value.to_string()),
            IntExprKind::Param(id) => {
                let name = name_of(&self.module.params, id.index(), |p| &p.name);
                self.text(&name);
            }
            IntExprKind::Var(id) => {
                let name = self.names.var(*id);
                self.text(&name);
            }
            IntExprKind::Slot(id) => {
                let tensor = self.module.slots.get(id.index()).map_or(usize::MAX, |slot| slot.tensor.index());
                let name = name_of(&self.module.tensors, tensor, |t| &t.name);
                self.text(&name);
            }
            IntExprKind::Axis(id) => {
                let name = name_of(&self.module.axes, id.index(), |a| &a.name);
                self.text(&name);
            }
            IntExprKind::Table(id, index) => {
                let name = name_of(&self.module.tables, id.index(), |t| &t.name);
                self.text(&name);
                self.text("[");
                self.expr(index);
                self.text("]");
            }
            IntExprKind::TableLen(id) => {
                let name = name_of(&self.module.tables, id.index(), |t| &t.name);
                self.text(&format!("len({name})"));
            }
            IntExprKind::Unary(op, operand) => self.unary(*op, operand),
            IntExprKind::Binary(op, a, b) => self.binary(*op, a, b),
            IntExprKind::Chain(first, rest) => {
                let level = rest.first().map_or(0, |(op, _)| level_of(*op));
                self.expr_at(first, level);
                for (op, operand) in rest {
                    self.text(&format!(" {} ", op.sign()));
                    self.expr_at(operand, level + 1);
                }
            }
            IntExprKind::Choose(condition, then, otherwise) => {
                self.expr_at(condition, 1);
                self.text(" ? ");
                self.expr(then);
                self.text(" : ");
                self.expr(otherwise);
            }
        }
    }

    /// A number behind `-` would read as a negative number.
    fn unary(&mut self, op: UnOp, operand: &IntExpr) {
        self.text(if op == UnOp::Neg { "-" } else { "!" });
        match operand.as_const() {
            Some(value) if value >= 0 && op == UnOp::Neg => self.text(&format!("({value})")),
            _ => self.expr_at(operand, UNARY),
        }
    }

    /// Operators of one level group to the left; comparisons do not chain.
    fn binary(&mut self, op: BinOp, a: &IntExpr, b: &IntExpr) {
        match form(op) {
            Form::Function(name) => {
                self.text(name);
                self.text("(");
                self.expr(a);
                self.text(", ");
                self.expr(b);
                self.text(")");
            }
            Form::Infix(sign, level) => {
                let compares = matches!(level, EQUALITY | ORDER);
                self.expr_at(a, if compares { level + 1 } else { level });
                self.text(&format!(" {sign} "));
                self.expr_at(b, level + 1);
            }
        }
    }
}
