//! C's conversions, made explicit, and operators on what they yield.

use super::Sema;
use super::codes;
use super::consts::{self, Fault};
use super::diags::Res;
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::{BinOp, Const, Expr, ExprKind, ScalarTy, UnOp};

/// A constant of the given type.
pub(crate) fn constant(value: Const, ty: ScalarTy, span: Span) -> Expr {
    Expr::new(ExprKind::Const(value), ty, span)
}

/// The type in which C does arithmetic on two numbers.
pub(crate) fn common_type(a: ScalarTy, b: ScalarTy) -> ScalarTy {
    let order = [ScalarTy::F64, ScalarTy::F32, ScalarTy::U64, ScalarTy::I64, ScalarTy::U32];
    order.into_iter().find(|ty| a == *ty || b == *ty).unwrap_or(ScalarTy::I32)
}

fn as_const(e: &Expr) -> Option<Const> {
    match e.kind {
        ExprKind::Const(value) => Some(value),
        _ => None,
    }
}

/// The truth value of a constant.
fn decided(e: &Expr) -> Option<bool> {
    match as_const(e)? {
        Const::Bool(v) => Some(v),
        Const::Int(v) => Some(v != 0),
        Const::Float(v) => Some(v != 0.0),
    }
}

impl Sema<'_> {
    /// Lowers code with `f`, of which values are asked for where `test` is `wanted`. Where `test` is a constant that is not, none is: types
    /// count, and constants may have no value. Where it is no constant, those that have none are faults of a run that asks for them.
    pub(crate) fn evaluated_if<T>(
        &mut self,
        test: &Res<Expr>,
        wanted: bool,
        f: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.evaluated_where(test.as_ref().ok().and_then(decided).map(|value| value == wanted), f)
    }

    /// Lowers code with `f`, of which values are asked for as a constant says, or by some runs only where none does.
    pub(crate) fn evaluated_where<T>(&mut self, asked: Option<bool>, f: impl FnOnce(&mut Self) -> T) -> T {
        let (never, perhaps) = (asked == Some(false), asked.is_none());
        self.unevaluated += u32::from(never);
        self.perhaps += u32::from(perhaps);
        let value = f(self);
        self.unevaluated -= u32::from(never);
        self.perhaps -= u32::from(perhaps);
        value
    }

    /// Converts to `ty`. A constant that does not fit is an error; anything else is checked at run time.
    pub(crate) fn convert(&mut self, e: Expr, ty: ScalarTy) -> Res<Expr> {
        if e.ty == ty {
            return Ok(e);
        }
        if ty == ScalarTy::Bool {
            return self.truth(e);
        }
        let span = e.span;
        let value = as_const(&e).map(|value| consts::cast(value, ty));
        let cast = Expr::new(ExprKind::Cast(Box::new(e)), ty, span);
        match value {
            Some(Ok(value)) => Ok(constant(value, ty, span)),
            Some(Err(fault)) => self.const_fault(fault, cast),
            None => Ok(cast),
        }
    }

    /// `e != 0`, unless `e` is a truth value already.
    pub(crate) fn truth(&mut self, e: Expr) -> Res<Expr> {
        if e.ty == ScalarTy::Bool {
            return Ok(e);
        }
        let zero = if e.ty.is_float() { Const::Float(0.0) } else { Const::Int(0) };
        let (ty, span) = (e.ty, e.span);
        self.operation(BinOp::Ne, e, constant(zero, ty, span), span)
    }

    /// `!e`
    pub(crate) fn not(&mut self, e: Expr, span: Span) -> Res<Expr> {
        let e = self.truth(e)?;
        Ok(match as_const(&e) {
            Some(Const::Bool(v)) => constant(Const::Bool(!v), ScalarTy::Bool, span),
            _ => Expr::new(ExprKind::Unary(UnOp::Not, Box::new(e)), ScalarTy::Bool, span),
        })
    }

    /// `-e`
    pub(crate) fn negate(&mut self, e: Expr, span: Span) -> Res<Expr> {
        let e = self.promote(e)?;
        let ty = e.ty;
        match as_const(&e) {
            // Not `0 - x`, whose result has the wrong sign for 0.
            Some(Const::Float(v)) => Ok(constant(Const::Float(-v), ty, span)),
            Some(Const::Int(v)) => match consts::cast(Const::Int(-v), ty) {
                Ok(value) => Ok(constant(value, ty, span)),
                Err(_) => {
                    let negated = Expr::new(ExprKind::Unary(UnOp::Neg, Box::new(e)), ty, span);
                    self.const_fault(Fault::Overflow(Some(-v)), negated)
                }
            },
            _ => Ok(Expr::new(ExprKind::Unary(UnOp::Neg, Box::new(e)), ty, span)),
        }
    }

    /// `~e`, written with the operators the IR has.
    pub(crate) fn invert(&mut self, e: Expr, span: Span) -> Res<Expr> {
        let e = self.promote(e)?;
        let ones = match e.ty {
            ScalarTy::U32 => u32::MAX.into(),
            ScalarTy::U64 => u64::MAX.into(),
            _ => -1,
        };
        let ones = constant(Const::Int(ones), e.ty, span);
        self.arithmetic(BinOp::BitXor, e, ones, "~", span)
    }

    /// Truth values take part in arithmetic as `int`.
    pub(crate) fn promote(&mut self, e: Expr) -> Res<Expr> {
        if e.ty == ScalarTy::Bool { self.convert(e, ScalarTy::I32) } else { Ok(e) }
    }

    /// `a op b` for any arithmetic, bit or comparison operator, `min`, `max` and `ceil_div`; `symbol` is its spelling.
    pub(crate) fn arithmetic(&mut self, op: BinOp, a: Expr, b: Expr, symbol: &str, span: Span) -> Res<Expr> {
        let (a, b) = (self.promote(a)?, self.promote(b)?);
        let shift = matches!(op, BinOp::Shl | BinOp::Shr);
        let ty = if shift { a.ty } else { common_type(a.ty, b.ty) };
        let integers_only = matches!(
            op,
            BinOp::Rem
                | BinOp::BitAnd
                | BinOp::BitOr
                | BinOp::BitXor
                | BinOp::Shl
                | BinOp::Shr
                | BinOp::CeilDiv
        );
        if integers_only && (ty.is_float() || b.ty.is_float()) {
            let (left, right) = (a.ty.c_name(), b.ty.c_name());
            let message = format!("`{symbol}` needs integers");
            return Err(self.fail(
                Diagnostic::error(codes::BAD_OPERANDS, message)
                    .at(span, format!("operands are `{left}` and `{right}`"))
                    .help("convert the operands first, for instance `uint32_t(x)`"),
            ));
        }
        let (a, b) = (self.convert(a, ty)?, self.convert(b, ty)?);
        self.operation(op, a, b, span)
    }

    /// `a && b`, `a || b`. A constant left side decides.
    pub(crate) fn logic(&mut self, op: BinOp, a: Expr, b: Expr, span: Span) -> Res<Expr> {
        let (a, b) = (self.truth(a)?, self.truth(b)?);
        match as_const(&a) {
            Some(Const::Bool(v)) if v == (op == BinOp::Or) => {
                Ok(constant(Const::Bool(v), ScalarTy::Bool, span))
            }
            Some(Const::Bool(_)) => Ok(b),
            _ => self.operation(op, a, b, span),
        }
    }

    /// An operation on operands of one type, folded when both are constants.
    fn operation(&mut self, op: BinOp, a: Expr, b: Expr, span: Span) -> Res<Expr> {
        let divides = matches!(op, BinOp::Div | BinOp::Rem | BinOp::CeilDiv);
        let value = match (as_const(&a), as_const(&b)) {
            _ if divides && b.as_const_int() == Some(0) => Err(Fault::DivisionByZero),
            (Some(x), Some(y)) => consts::binary(op, x, y, a.ty),
            _ => Ok(None),
        };
        let (ty, at) = (a.ty, b.span);
        let mut e = Expr::joined(op, a, b);
        e.span = span;
        match value {
            Ok(Some(value)) => {
                let ty = if matches!(value, Const::Bool(_)) { ScalarTy::Bool } else { ty };
                Ok(constant(value, ty, span))
            }
            Ok(None) => Ok(e),
            Err(Fault::DivisionByZero) => self.const_fault_at(Fault::DivisionByZero, at, e),
            Err(fault) => self.const_fault(fault, e),
        }
    }

    /// A constant expression without a value: an error, unless no value of it is asked for, or perhaps none.
    fn const_fault(&mut self, fault: Fault, e: Expr) -> Res<Expr> {
        let span = e.span;
        self.const_fault_at(fault, span, e)
    }

    fn const_fault_at(&mut self, fault: Fault, at: Span, e: Expr) -> Res<Expr> {
        if self.unevaluated > 0 {
            let zero = if e.ty.is_float() { Const::Float(0.0) } else { Const::Int(0) };
            return Ok(constant(zero, e.ty, e.span));
        }
        let found = no_value(fault, e.ty, at);
        if self.perhaps == 0 {
            return Err(self.fail(found));
        }
        let warning = Diagnostic { severity: Severity::Warning, ..found };
        self.diags.warn(warning.note("it is a fault of a run that comes to it"));
        Ok(e)
    }
}

/// Why a constant expression of type `ty` has no value.
fn no_value(fault: Fault, ty: ScalarTy, span: Span) -> Diagnostic {
    let name = ty.c_name();
    let (message, label) = match fault {
        Fault::DivisionByZero => ("division by zero".to_owned(), "this is 0".to_owned()),
        Fault::Overflow(v) => {
            let label = v.map_or_else(
                || "this does not fit 128 bits with a sign".to_owned(),
                |v| format!("this is {v}"),
            );
            (format!("constant overflows `{name}`"), label)
        }
        Fault::Shift(v) => {
            let label = "the shift must be less than the width of the type";
            (format!("shift by {v} of a value of type `{name}`"), label.to_owned())
        }
        Fault::Lossy(v) => {
            (format!("`{}` does not fit `{name}`", consts::text(v)), format!("converted to `{name}` here"))
        }
    };
    let found = Diagnostic::error(codes::CONST_FAULT, message).at(span, label);
    match ty.range() {
        Some(all) if !matches!(fault, Fault::DivisionByZero) => {
            let (lo, hi) = (all.low, all.high);
            found.note(format!("`{name}` holds {lo} to {hi}; arithmetic is checked, it does not wrap"))
        }
        _ => found,
    }
}
