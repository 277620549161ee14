//! Expressions.

use super::{BinOp, Ident, TemplateArg, Type};
use std::rc::Rc;
use wsp_diag::Span;

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// All of it, enclosing parentheses included.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// An integer literal.
    Int(IntLit),
    /// A float literal.
    Float(FloatLit),
    /// `true`, `false`
    Bool(bool),
    /// A name: variable, constant, `INFINITY`, `PTO_SLOT_BYTES`, ….
    Name(Rc<str>),
    /// One operand.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// Operators of a sum, or of a product, from left to right: one that is longer than [`CHAINED`](wsp_ir::CHAINED) operators.
    Chain(Box<Expr>, Vec<(BinOp, Expr)>),
    /// `c ? a : b`
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `(T)e`, `static_cast<T>(e)`, `T(e)` for a scalar type
    Cast {
        /// The type.
        ty: Box<Type>,
        /// What is converted.
        expr: Box<Expr>,
    },
    /// `f(…)`, `f<64>(…)`, `std::max_element(…)`, `PTO_GET_DESCRIPTOR<T>()`
    Call {
        /// What is called.
        callee: Ident,
        /// What stands in `<…>`.
        template_args: Vec<TemplateArg>,
        /// What stands in `(…)`.
        args: Vec<Expr>,
    },
    /// `a[i]`
    Index {
        /// The array.
        base: Box<Expr>,
        /// Which element.
        index: Box<Expr>,
    },
    /// `d.f`
    Member {
        /// What has the member.
        base: Box<Expr>,
        /// The member.
        field: Ident,
    },
    /// `sizeof(T)`; a lone name may turn out to be a variable
    SizeOf(Box<Type>),
    /// `{a, b}`; empty braces are an empty list
    Braces(Vec<Expr>),
    /// `T{.f = e, …}` or `{.f = e, …}`; `T{}` has no fields
    Init {
        /// `T`, when it is there.
        ty: Option<Ident>,
        /// Its fields in source order.
        fields: Vec<FieldInit>,
    },
}

/// An integer literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntLit {
    /// Its value.
    pub value: u64,
    /// It has the suffix `u`.
    pub unsigned: bool,
    /// It has the suffix `l` or `ll`.
    pub long: bool,
}

/// A float literal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FloatLit {
    /// Its value; rounded to `f32` when `single`.
    pub value: f64,
    /// It has the suffix `f`.
    pub single: bool,
}

/// `.field = value`.
#[derive(Clone, PartialEq, Debug)]
pub struct FieldInit {
    /// The field.
    pub field: Ident,
    /// The index in `.field[2] = value`.
    pub index: Option<Expr>,
    /// Its value; a brace list gives all elements of an array field.
    pub value: Expr,
}

/// One-operand operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `+`
    Plus,
    /// `!`
    Not,
    /// `~`
    BitNot,
    /// `*`
    Deref,
}

impl Expr {
    /// The name when the expression is a lone name.
    pub fn as_name(&self) -> Option<Ident> {
        match &self.kind {
            ExprKind::Name(name) => Some(Ident { name: name.clone(), span: self.span }),
            _ => None,
        }
    }
}
