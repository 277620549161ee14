//! How expressions are written: infix with as few parentheses as can be, or as `postfix(…)` where reading them infix would not give the same
//! operations.

use super::Printer;
use super::operand::Show;
use crate::tg::text::parse::MAX_NESTING;
use crate::tg::text::words::{Form, OPERATORS, PREFIX, PREFIX_OPERATORS, SKIPS, form};
use wsp_core::tg::{ExprId, ExprOp, MAX_EXPR_OPS, ScalarType, Shape};
use wsp_ir::tg::Namespace;

/// How strongly what stands alone binds.
const ATOM: u8 = 8;

/// A part of an expression that is written.
struct Part {
    /// Where it begins in the text.
    start: usize,
    binds: u8,
    /// Whether it is a constant: operations on constants are computed when they are read.
    constant: Option<i64>,
    /// Expressions inside each other when it is read.
    depth: u32,
}

impl Printer<'_> {
    /// A scalar operand that is an expression.
    pub(super) fn expression(&mut self, expr: ExprId) {
        let ops = self.unit.expr(expr);
        // A constant that is stored as an expression stays one.
        if matches!(ops, [ExprOp::Const(_)]) || self.infix(ops).is_none() {
            self.postfix(ops);
        }
    }

    /// The index of a table, which is always an expression.
    pub(super) fn index(&mut self, expr: ExprId) {
        let ops = self.unit.expr(expr);
        if self.infix(ops).is_none() {
            self.postfix(ops);
        }
    }

    /// Writes operations infix; nothing if they have no such form.
    fn infix(&mut self, ops: &[ExprOp]) -> Option<()> {
        if ops.len() > MAX_EXPR_OPS || Shape::check(ops).is_err() {
            return None;
        }
        let start = self.text.len();
        let mut parts = Vec::new();
        let whole = ops.iter().try_for_each(|op| self.part(*op, &mut parts));
        if whole.is_none() || !matches!(parts[..], [Part { depth: 0..MAX_NESTING, .. }]) {
            self.text.truncate(start);
            return None;
        }
        Some(())
    }

    fn part(&mut self, op: ExprOp, parts: &mut Vec<Part>) -> Option<()> {
        let part = match form(op) {
            Form::Infix(binds, sign) => {
                let (mut right, left) = (parts.pop()?, parts.pop()?);
                if left.constant.is_some() && right.constant.is_some() {
                    return None;
                }
                self.enclose(&mut right, binds + 1, usize::MAX);
                self.text.insert_str(right.start, &format!(" {sign} "));
                let mut left = left;
                self.enclose(&mut left, binds, right.start);
                let depth = left.depth.max(right.depth + 1);
                Part { start: left.start, binds, constant: None, depth }
            }
            Form::Prefix(sign) => {
                let mut operand = parts.pop()?;
                if operand.constant.is_some() {
                    return None;
                }
                // Two signs in a row are hard to read.
                self.enclose(&mut operand, PREFIX + 1, usize::MAX);
                self.text.insert_str(operand.start, sign);
                let depth = operand.depth + 1;
                Part { start: operand.start, binds: PREFIX, constant: None, depth }
            }
            Form::Call(name) => {
                let (right, left) = (parts.pop()?, parts.pop()?);
                if left.constant.is_some() && right.constant.is_some() {
                    return None;
                }
                self.text.push(')');
                self.text.insert_str(right.start, ", ");
                self.text.insert_str(left.start, &format!("{name}("));
                let depth = left.depth.max(right.depth) + 1;
                Part { start: left.start, binds: ATOM, constant: None, depth }
            }
            // The operator that it belongs to says it.
            Form::Other if matches!(op, ExprOp::SkipZero(_) | ExprOp::SkipNonZero(_)) => return Some(()),
            Form::Other => self.leaf(op, parts)?,
        };
        parts.push(part);
        Some(())
    }

    /// Puts parentheses around a part that binds less strongly than what is around it. It ends at `end`, or with the text.
    fn enclose(&mut self, part: &mut Part, binds: u8, end: usize) {
        if part.binds >= binds {
            return;
        }
        self.text.insert(end.min(self.text.len()), ')');
        self.text.insert(part.start, '(');
        part.binds = ATOM;
        part.depth += 1;
    }

    fn leaf(&mut self, op: ExprOp, parts: &mut Vec<Part>) -> Option<Part> {
        if let ExprOp::Load(tensor, ty) = op {
            let offset = parts.pop()?;
            let written = self.text.split_off(offset.start);
            self.text.push_str("load(");
            tensor.show(self);
            let is_typed = ty != ScalarType::I32 || self.typed.contains(&tensor);
            if offset.constant != Some(0) || is_typed {
                self.text.push_str(", ");
                self.text.push_str(&written);
            }
            if is_typed {
                self.text.push_str(", ");
                self.text.push_str(ScalarType::ALL[ty as usize].1);
            }
            self.text.push(')');
            let depth = offset.depth + 1;
            return Some(Part { start: offset.start, binds: ATOM, constant: None, depth });
        }
        let (start, mut binds, mut constant) = (self.text.len(), ATOM, None);
        match op {
            ExprOp::Const(value) => {
                constant = Some(value);
                if value < 0 {
                    binds = PREFIX;
                }
                self.number(value);
            }
            _ => self.variable(op),
        }
        Some(Part { start, binds, constant, depth: 0 })
    }

    /// An operand that is no number in the text.
    fn variable(&mut self, op: ExprOp) {
        match op {
            ExprOp::Iter(iter) => match self.naming.iter(iter) {
                Some(name) => self.text.push_str(self.unit.str(name)),
                None => {
                    self.text.push_str("iter.");
                    self.number(iter.0);
                }
            },
            ExprOp::Arg(arg) => self.arg(arg),
            ExprOp::Iteration => self.text.push_str("iteration"),
            ExprOp::Device => self.text.push_str("device"),
            ExprOp::Devices => self.text.push_str("devices"),
            _ => {}
        }
    }

    /// A scalar from outside.
    pub(super) fn arg(&mut self, arg: u32) {
        match self.naming.arg(arg) {
            Some(name) => self.text.push_str(self.unit.str(name)),
            None => {
                self.text.push_str("arg.");
                self.number(arg);
            }
        }
    }

    fn postfix(&mut self, ops: &[ExprOp]) {
        self.text.push_str("postfix(");
        for (at, op) in ops.iter().enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            let operators = OPERATORS.iter().chain(&PREFIX_OPERATORS);
            match *op {
                ExprOp::Const(value) => self.number(value),
                ExprOp::Load(tensor, ty) => {
                    self.text.push_str("load(");
                    self.name(Namespace::Tensor, tensor.0);
                    self.text.push_str(", ");
                    self.text.push_str(ScalarType::ALL[ty as usize].1);
                    self.text.push(')');
                }
                ExprOp::Iter(iter) => {
                    self.text.push_str("iter.");
                    self.number(iter.0);
                }
                ExprOp::Arg(arg) => {
                    self.text.push_str("arg.");
                    self.number(arg);
                }
                ExprOp::SkipZero(past) | ExprOp::SkipNonZero(past) => {
                    let word = SKIPS.iter().find(|(skip, _)| skip(past) == *op).map_or("", |(_, word)| word);
                    self.text.push_str(word);
                    self.text.push('(');
                    self.number(past);
                    self.text.push(')');
                }
                op => match operators.clone().find(|(other, _)| *other == op) {
                    Some((_, word)) => self.text.push_str(word),
                    None => self.variable(op),
                },
            }
        }
        self.text.push(')');
    }
}
