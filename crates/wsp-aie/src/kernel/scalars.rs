//! Scalar expressions.

use super::writer::{Kind, Writer};
use super::{Number, Reason};
use crate::mlir::{Attr, Type, Value};
use wsp_core::LocalId;
use wsp_ir::{BinOp, Const, Expr, ExprKind, LocalTy, MathFn, ScalarTy, UnOp, UnaryTileOp};

impl Kind {
    /// As the type of a variable.
    pub(super) fn scalar_ty(self) -> ScalarTy {
        if self == Kind::Real { ScalarTy::F32 } else { ScalarTy::I32 }
    }
}

/// The type of variables in a body.
pub(super) fn type_of(ty: ScalarTy) -> Type {
    match ty {
        ScalarTy::Bool => Type::Int(1),
        ScalarTy::I32 | ScalarTy::U32 => Type::Int(32),
        ScalarTy::I64 | ScalarTy::U64 => Type::Int(64),
        ScalarTy::F32 => Type::F32,
        ScalarTy::F64 => Type::F64,
    }
}

fn has_no_sign(ty: ScalarTy) -> bool {
    matches!(ty, ScalarTy::U32 | ScalarTy::U64 | ScalarTy::Bool)
}

impl Writer<'_> {
    /// The value of a variable; 0 before it has one.
    pub(super) fn variable(&mut self, local: LocalId) -> Value {
        if let Some(value) = self.values.get(&local) {
            return *value;
        }
        match self.program.locals[local.index()].ty {
            LocalTy::Scalar(ty) => self.literal(Const::Int(0), ty),
            _ => self.index(0),
        }
    }

    fn literal(&mut self, value: Const, ty: ScalarTy) -> Value {
        let to = type_of(ty);
        let attr = match (value, &to) {
            (Const::Bool(truth), _) => Attr::Bool(truth),
            (Const::Int(n), Type::Int(1)) => Attr::Bool(n != 0),
            (Const::Int(n), Type::Int(32)) => Attr::Int(i64::from(n as i32), to.clone()),
            (Const::Int(n), Type::Int(_)) => Attr::Int(n as i64, to.clone()),
            (Const::Int(n), _) => Attr::Float(n as f64, to.clone()),
            (Const::Float(x), Type::F32) => Attr::Float(f64::from(x as f32), to.clone()),
            (Const::Float(x), _) => Attr::Float(x, to.clone()),
        };
        self.constant(attr, to)
    }

    /// A number that the body is given.
    fn given(&mut self, number: Number, ty: ScalarTy) -> Value {
        if let Some(value) = self.numbers.get(&number) {
            return *value;
        }
        let name = match number {
            Number::Field(at) => format!("field{at}"),
            Number::Param(id) => format!("param{}", id.0),
            Number::Extent(axis) => format!("extent{}", axis.0),
        };
        let value = self.text.value(name, type_of(ty));
        self.numbers.insert(number, value);
        value
    }

    /// An expression of one lane.
    pub(super) fn scalar(&mut self, e: &Expr) -> Value {
        let lanes = std::mem::replace(&mut self.lanes, 1);
        let value = self.expression(e);
        self.lanes = lanes;
        value
    }

    fn expression(&mut self, e: &Expr) -> Value {
        if e.ty == ScalarTy::F64 && !matches!(e.kind, ExprKind::Const(_)) {
            self.refuse(Reason::Elements, "a number of `double`");
        }
        match &e.kind {
            ExprKind::Const(value) => self.literal(*value, e.ty),
            ExprKind::Local(local) => self.variable(*local),
            ExprKind::Param(id) => self.given(Number::Param(*id), e.ty),
            ExprKind::Field(_, at) => self.given(Number::Field(*at), e.ty),
            ExprKind::AxisExtent(axis) => self.given(Number::Extent(*axis), e.ty),
            ExprKind::Unary(op, a) => self.negated(*op, a),
            ExprKind::Binary(op, a, b) => {
                let (left, right) = (self.expression(a), self.expression(b));
                self.operator(*op, a.ty, left, right)
            }
            ExprKind::Chain(first, rest) => {
                let mut value = self.expression(first);
                for (op, operand) in rest {
                    let right = self.expression(operand);
                    value = self.operator(*op, e.ty, value, right);
                }
                value
            }
            ExprKind::Cast(a) => {
                let value = self.expression(a);
                self.cast(value, a.ty, e.ty)
            }
            ExprKind::Select(condition, a, b) => {
                let [condition, a, b] = [condition, a, b].map(|e| self.expression(e));
                self.select(condition, a, b)
            }
            ExprKind::Math(f, a) => {
                let value = self.expression(a);
                match f {
                    MathFn::Abs => self.same("math.absf", &[value]),
                    MathFn::Exp => self.function(UnaryTileOp::Exp, value),
                    MathFn::Exp2 => self.function(UnaryTileOp::Exp2, value),
                    MathFn::Sqrt => self.function(UnaryTileOp::Sqrt, value),
                    MathFn::Log => self.function(UnaryTileOp::Log, value),
                    MathFn::Log2 => self.function(UnaryTileOp::Log2, value),
                    MathFn::Sin => self.function(UnaryTileOp::Sin, value),
                    MathFn::Cos => self.function(UnaryTileOp::Cos, value),
                }
            }
            _ => {
                self.span = e.span;
                self.refuse(Reason::Host, "an expression of the host");
                self.literal(Const::Int(0), e.ty)
            }
        }
    }

    fn negated(&mut self, op: UnOp, a: &Expr) -> Value {
        let value = self.expression(a);
        match (op, a.ty.is_float()) {
            (UnOp::Not, _) => {
                let yes = self.literal(Const::Bool(true), ScalarTy::Bool);
                self.same("arith.xori", &[value, yes])
            }
            (UnOp::Neg, true) => self.same("arith.negf", &[value]),
            (UnOp::Neg, false) => {
                let zero = self.literal(Const::Int(0), a.ty);
                self.same("arith.subi", &[zero, value])
            }
        }
    }

    /// `a op b` of operands of a type.
    pub(super) fn operator(&mut self, op: BinOp, ty: ScalarTy, a: Value, b: Value) -> Value {
        if ty.is_float() {
            return self.of_numbers(op, a, b);
        }
        let bare = has_no_sign(ty);
        // Two names, with a sign and without.
        let names = match op {
            BinOp::Add => ["arith.addi"; 2],
            BinOp::Sub => ["arith.subi"; 2],
            BinOp::Mul => ["arith.muli"; 2],
            BinOp::Div => ["arith.divsi", "arith.divui"],
            BinOp::Rem => ["arith.remsi", "arith.remui"],
            BinOp::Min => ["arith.minsi", "arith.minui"],
            BinOp::Max => ["arith.maxsi", "arith.maxui"],
            BinOp::And | BinOp::BitAnd => ["arith.andi"; 2],
            BinOp::Or | BinOp::BitOr => ["arith.ori"; 2],
            BinOp::BitXor => ["arith.xori"; 2],
            BinOp::Shl => ["arith.shli"; 2],
            BinOp::Shr => ["arith.shrsi", "arith.shrui"],
            BinOp::CeilDiv if bare => {
                let one = self.literal(Const::Int(1), ty);
                let sum = self.same("arith.addi", &[a, b]);
                let sum = self.same("arith.subi", &[sum, one]);
                return self.same("arith.divui", &[sum, b]);
            }
            BinOp::CeilDiv => ["arith.ceildivsi"; 2],
            BinOp::Eq => return self.compare([0, 0], Kind::Int(32), a, b),
            BinOp::Ne => return self.compare([0, 1], Kind::Int(32), a, b),
            BinOp::Lt => return self.compare([0, if bare { 6 } else { 2 }], Kind::Int(32), a, b),
            BinOp::Le => return self.compare([0, if bare { 7 } else { 3 }], Kind::Int(32), a, b),
            BinOp::Gt => return self.compare([0, if bare { 8 } else { 4 }], Kind::Int(32), a, b),
            BinOp::Ge => return self.compare([0, if bare { 9 } else { 5 }], Kind::Int(32), a, b),
        };
        self.same(names[usize::from(bare)], &[a, b])
    }

    fn of_numbers(&mut self, op: BinOp, a: Value, b: Value) -> Value {
        let name = match op {
            BinOp::Add => "arith.addf",
            BinOp::Sub => "arith.subf",
            BinOp::Mul => "arith.mulf",
            BinOp::Div => "arith.divf",
            BinOp::Min => "arith.minimumf",
            BinOp::Max => "arith.maximumf",
            BinOp::CeilDiv => {
                let quotient = self.same("arith.divf", &[a, b]);
                return self.function(UnaryTileOp::Ceil, quotient);
            }
            BinOp::Lt => return self.compare([4, 0], Kind::Real, a, b),
            BinOp::Le => return self.compare([5, 0], Kind::Real, a, b),
            BinOp::Gt => return self.compare([2, 0], Kind::Real, a, b),
            BinOp::Ge => return self.compare([3, 0], Kind::Real, a, b),
            BinOp::Eq => return self.compare([1, 0], Kind::Real, a, b),
            _ => return self.compare([13, 0], Kind::Real, a, b),
        };
        self.same(name, &[a, b])
    }

    /// A value of another type: numbers lose their fraction.
    pub(super) fn cast(&mut self, value: Value, from: ScalarTy, to: ScalarTy) -> Value {
        let (have, want) = (self.text.ty(value).clone(), type_of(to));
        if to == ScalarTy::Bool && from != ScalarTy::Bool {
            let zero = self.literal(Const::Int(0), from);
            let numbers = [13, 1];
            let kind = if from.is_float() { Kind::Real } else { Kind::Int(32) };
            return self.compare(numbers, kind, value, zero);
        }
        let name = match (&have, &want) {
            _ if have == want => return value,
            (Type::Int(a), Type::Int(b)) if a > b => "arith.trunci",
            (Type::Int(_), Type::Int(_)) if has_no_sign(from) => "arith.extui",
            (Type::Int(_), Type::Int(_)) => "arith.extsi",
            (Type::Int(_), _) if has_no_sign(from) => "arith.uitofp",
            (Type::Int(_), _) => "arith.sitofp",
            (Type::F64, Type::F32) => "arith.truncf",
            (_, Type::F64) => "arith.extf",
            (_, Type::Int(32)) if to == ScalarTy::U32 => {
                let wide = self.op("arith.fptosi", &[value], Type::Int(64));
                return self.op("arith.trunci", &[wide], want);
            }
            _ => "arith.fptosi",
        };
        self.op(name, &[value], want)
    }
}
