//! Integer expressions: what they compute, and what goes wrong when they do not.

use super::codes;
use wsp_core::int::{self, BinOp, Int as _, UnOp};
use wsp_core::{AxisId, SlotId, TableId, VarId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{IntExpr, IntExprKind, WorkloadModule};

/// What names stand for while an expression is evaluated.
pub(crate) trait Environment {
    /// Why a slot has no value.
    type Stop;

    /// The values of parameters and tables.
    fn values(&self) -> &Values;

    /// The value of a variable.
    fn var(&self, var: VarId) -> i64;

    /// The index of the innermost loop over an axis.
    fn axis(&self, axis: AxisId) -> i64;

    /// The value of a slot.
    fn slot(&mut self, slot: SlotId) -> Result<i64, Self::Stop>;
}

/// Values of parameters and tables, by id.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Values {
    pub(crate) params: Vec<i64>,
    pub(crate) tables: Vec<Vec<i64>>,
}

/// Why an expression has no value.
#[derive(Debug)]
pub(crate) enum Halt<Stop> {
    /// It is at fault.
    Fault(Fault),
    /// A slot has no value.
    Stop(Stop),
}

/// An expression at fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fault {
    /// The operation at fault.
    pub(crate) span: Span,
    /// What is wrong.
    pub(crate) kind: FaultKind,
}

/// What is wrong with an expression.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum FaultKind {
    /// The result of an operation does not fit.
    Overflow { op: BinOp, left: i64, right: i64 },
    /// The negation of the smallest integer.
    NegOverflow,
    /// `op` by zero.
    DivisionByZero { left: i64 },
    /// An index outside its table.
    TableIndex { table: TableId, index: i64 },
}

/// Evaluates an expression. Recursion is bounded by the verified nesting of expressions.
pub(crate) fn eval<S: Environment>(expr: &IntExpr, scope: &mut S) -> Result<i64, Halt<S::Stop>> {
    let fault = |kind| Halt::Fault(Fault { span: expr.span, kind });
    match &expr.kind {
        IntExprKind::Const(value) => Ok(*value),
        IntExprKind::Param(param) => Ok(scope.values().params[param.index()]),
        IntExprKind::Var(var) => Ok(scope.var(*var)),
        IntExprKind::Slot(slot) => scope.slot(*slot).map_err(Halt::Stop),
        IntExprKind::Axis(axis) => Ok(scope.axis(*axis)),
        IntExprKind::TableLen(table) => Ok(scope.values().tables[table.index()].len() as i64),
        IntExprKind::Table(table, index) => {
            let index = eval(index, scope)?;
            let elements = &scope.values().tables[table.index()];
            let found = usize::try_from(index).ok().and_then(|i| elements.get(i));
            found.copied().ok_or_else(|| fault(FaultKind::TableIndex { table: *table, index }))
        }
        IntExprKind::Unary(UnOp::Not, operand) => Ok(i64::from(eval(operand, scope)? == 0)),
        IntExprKind::Unary(UnOp::Neg, operand) => {
            eval(operand, scope)?.negated().map_err(|_| fault(FaultKind::NegOverflow))
        }
        IntExprKind::Binary(BinOp::And, left, right) => {
            Ok(i64::from(eval(left, scope)? != 0 && eval(right, scope)? != 0))
        }
        IntExprKind::Binary(BinOp::Or, left, right) => {
            Ok(i64::from(eval(left, scope)? != 0 || eval(right, scope)? != 0))
        }
        IntExprKind::Binary(op, left, right) => {
            let (left, right) = (eval(left, scope)?, eval(right, scope)?);
            binary(*op, left, right).map_err(fault)
        }
        IntExprKind::Chain(first, rest) => {
            let mut value = eval(first, scope)?;
            for (op, operand) in rest {
                let right = eval(operand, scope)?;
                let span = first.span.to(operand.span);
                value = binary(*op, value, right).map_err(|kind| Halt::Fault(Fault { span, kind }))?;
            }
            Ok(value)
        }
        IntExprKind::Choose(condition, then, otherwise) => {
            let taken = if eval(condition, scope)? != 0 { then } else { otherwise };
            eval(taken, scope)
        }
    }
}

/// An operation whose operands are both evaluated.
fn binary(op: BinOp, left: i64, right: i64) -> Result<i64, FaultKind> {
    i64::binary(op, left, right).map_err(|fault| match fault {
        int::Fault::DivisionByZero => FaultKind::DivisionByZero { left },
        int::Fault::Overflow | int::Fault::ShiftRange => FaultKind::Overflow { op, left, right },
    })
}

/// The value of an expression that names nothing; none for others, and for one at fault.
pub fn constant(expr: &IntExpr) -> Option<i64> {
    let mut is_closed = true;
    expr.each(&mut |kind| {
        is_closed &= matches!(
            kind,
            IntExprKind::Const(_)
                | IntExprKind::Unary(..)
                | IntExprKind::Binary(..)
                | IntExprKind::Chain(..)
                | IntExprKind::Choose(..)
        );
    });
    if is_closed { eval(expr, &mut Closed(&Values::default())).ok() } else { None }
}

/// A scope without variables, axes and slots: launch-time expressions.
pub(super) struct Closed<'a>(pub(super) &'a Values);

/// A launch-time expression that names something else; the verifier refuses such modules.
#[derive(Debug)]
pub(crate) struct NotClosed;

impl Environment for Closed<'_> {
    type Stop = NotClosed;

    fn values(&self) -> &Values {
        self.0
    }

    fn var(&self, _: VarId) -> i64 {
        0
    }

    fn axis(&self, _: AxisId) -> i64 {
        0
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, NotClosed> {
        Err(NotClosed)
    }
}

/// A scope of given variables.
pub(super) struct Given<'a> {
    pub(super) values: &'a Values,
    pub(super) vars: &'a [i64],
}

impl Environment for Given<'_> {
    type Stop = NotClosed;

    fn values(&self) -> &Values {
        self.values
    }

    fn var(&self, var: VarId) -> i64 {
        self.vars.get(var.index()).copied().unwrap_or(0)
    }

    fn axis(&self, _: AxisId) -> i64 {
        0
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, NotClosed> {
        Err(NotClosed)
    }
}

impl Fault {
    /// As the user sees it.
    pub(crate) fn diagnostic(&self, module: &WorkloadModule, values: &Values) -> Diagnostic {
        let error = |code, message: String| Diagnostic::error(code, message);
        match self.kind {
            FaultKind::Overflow { op, left, right } => {
                error(codes::OVERFLOW, format!("`{}` overflows", op.sign()))
                    .at(self.span, "does not fit into 64 bits")
                    .note(format!("the operands are {left} and {right}"))
                    .python("give smaller sizes, or compute in another order")
            }
            FaultKind::NegOverflow => error(codes::OVERFLOW, "`-` overflows".to_owned())
                .at(self.span, "does not fit into 64 bits")
                .note(format!("the operand is {}", i64::MIN))
                .python("give smaller sizes, or compute in another order"),
            FaultKind::DivisionByZero { left } => {
                error(codes::DIVISION_BY_ZERO, "division by zero".to_owned())
                    .at(self.span, "the divisor is 0")
                    .note(format!("the dividend is {left}"))
                    .python("keep the divisor from being 0, for instance with `P.max(n, 1)`")
            }
            FaultKind::TableIndex { table, index } => {
                let decl = &module.tables[table.index()];
                let len = values.tables[table.index()].len();
                let message = format!("index {index} is outside table `{}`", decl.name);
                error(codes::TABLE_INDEX, message)
                    .at(self.span, format!("the table has {}", count(len as u64, "element")))
                    .label(decl.span, "the table")
                    .help("let the loop end earlier, bind a longer table, or bound the index")
                    .python(format!(
                        "keep the index inside the table: `{}.size` is the number of its elements",
                        decl.name
                    ))
            }
        }
    }
}

/// `1 task`, `2 tasks`.
pub(crate) fn count(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
