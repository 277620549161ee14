//! Types.

use super::{Expr, Ident};
use std::borrow::Cow;
use wsp_diag::Span;

/// A type.
#[derive(Clone, PartialEq, Debug)]
pub struct Type {
    /// `const` or `constexpr` stands before it.
    pub is_const: bool,
    /// What it names.
    pub base: TypeBase,
    /// Template arguments: `VecTile<half, 1, HEAD_DIM>`.
    pub args: Vec<TemplateArg>,
    /// `*` or `&` after it.
    pub indirection: Indirection,
    /// All of it.
    pub span: Span,
}

/// The name part of a type.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeBase {
    /// `uint32_t`, `auto`, `VecTile`, `DecodeDescriptor`, …. C's own integer types have their fixed-width name (`int`
    /// is `int32_t`, `unsigned` is `uint32_t`, `long` and `long long` are `int64_t`, `size_t` is `uint64_t`); `std::`
    /// before a scalar type is dropped.
    Named(Ident),
    /// `PTO_DTYPE(tensor)`; the tensor is a name or `cache.k`.
    DtypeOf(Box<Expr>),
}

/// What follows the name of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Indirection {
    /// Nothing.
    None,
    /// `*`
    Pointer,
    /// `&`
    Reference,
}

/// A template argument: a type when it starts with a scalar type, a tile type, `const` or `PTO_DTYPE`, else an
/// expression.
#[derive(Clone, PartialEq, Debug)]
pub enum TemplateArg {
    /// A type.
    Type(Type),
    /// An expression; a lone name may also turn out to name a struct.
    Expr(Expr),
}

impl Type {
    /// The name of the type, unless it is `PTO_DTYPE(…)`.
    pub fn name(&self) -> Option<&str> {
        match &self.base {
            TypeBase::Named(ident) => Some(ident.as_str()),
            TypeBase::DtypeOf(_) => None,
        }
    }

    /// The only template argument, as the type of elements that stands there. A name alone is one too.
    pub fn element(&self) -> Option<Cow<'_, Type>> {
        match &self.args[..] {
            [TemplateArg::Type(ty)] => Some(Cow::Borrowed(ty)),
            [TemplateArg::Expr(expr)] => expr.as_name().map(|name| {
                Cow::Owned(Type {
                    is_const: false,
                    base: TypeBase::Named(name),
                    args: Vec::new(),
                    indirection: Indirection::None,
                    span: expr.span,
                })
            }),
            _ => None,
        }
    }
}
