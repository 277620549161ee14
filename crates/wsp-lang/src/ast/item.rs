//! Top-level constructs other than block forms.

use super::{Block, Expr, Ident, Type};
use wsp_core::ExecPool;
use wsp_diag::Span;

/// An extent: an expression or `PTO_DYNAMIC`.
#[derive(Clone, PartialEq, Debug)]
pub enum Extent {
    /// Known at launch.
    Expr(Expr),
    /// `PTO_DYNAMIC`.
    Dynamic(Span),
}

/// `PTO_SHAPE(name, d0, d1, …)`; at least one dimension.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    /// The launch tensor, array or cache.
    pub name: Ident,
    /// Its dimensions.
    pub dims: Vec<Extent>,
    /// The whole form.
    pub span: Span,
}

/// `PTO_PARAM(type, name, default)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Ident,
    /// Its value when the user says nothing.
    pub default: Expr,
    /// The whole form.
    pub span: Span,
}

/// A file-scope constant.
#[derive(Clone, PartialEq, Debug)]
pub struct Const {
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Ident,
    /// Its value.
    pub value: Expr,
    /// The whole declaration.
    pub span: Span,
}

/// `PTO_TENSOR(name, type, d0, …)`; at least one dimension.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    /// Its name.
    pub name: Ident,
    /// Element type.
    pub elem: Type,
    /// Its dimensions; a lone name may be an axis.
    pub dims: Vec<Expr>,
    /// The whole form.
    pub span: Span,
}

/// `PTO_WORKSPACE(name, type, d0, …)`; at least one dimension.
#[derive(Clone, PartialEq, Debug)]
pub struct Workspace {
    /// Its name.
    pub name: Ident,
    /// Element type.
    pub elem: Type,
    /// Dimensions of one slot.
    pub dims: Vec<Expr>,
    /// The whole form.
    pub span: Span,
}

/// `struct Name { … };`.
#[derive(Clone, PartialEq, Debug)]
pub struct Struct {
    /// Its name.
    pub name: Ident,
    /// Its fields in source order.
    pub fields: Vec<StructField>,
    /// The whole form.
    pub span: Span,
}

/// A field of a struct.
#[derive(Clone, PartialEq, Debug)]
pub struct StructField {
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Ident,
    /// The length of an array field.
    pub len: Option<Expr>,
    /// `[[maybe_unused]]` stands before it: no kernel need read it.
    pub unused: bool,
    /// Type and name.
    pub span: Span,
}

/// `PTO_DESCRIPTOR_GEN(space) { … }`.
#[derive(Clone, PartialEq, Debug)]
pub struct Generator {
    /// The space.
    pub space: Ident,
    /// Its statements.
    pub body: Block,
    /// The whole form.
    pub span: Span,
}

/// `PTO_RESIDENT(name, type, d0, …)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Resident {
    /// Element type.
    pub elem: Type,
    /// Its name and dimensions, and the whole form.
    pub shape: Shape,
}

/// `PTO_KERNEL_IMPL(name) { … }`, `PTO_KERNEL_IMPL(name) on unit { … }`, or `PTO_KERNEL_IMPL(name, type param, …) { … }`.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: Ident,
    /// Its parameters; a kernel that has some is an entry of task graphs.
    pub params: Vec<FnParam>,
    /// `on unit` behind them.
    pub unit: Option<(ExecPool, Span)>,
    /// Its statements.
    pub body: Block,
    /// The whole form.
    pub span: Span,
}

/// `template <…> T name(…) { … }`.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Template parameters; empty without `template`.
    pub template: Vec<TemplateParam>,
    /// The result type.
    pub ret: Type,
    /// Its name.
    pub name: Ident,
    /// Its parameters.
    pub params: Vec<FnParam>,
    /// Its statements.
    pub body: Block,
    /// The whole definition.
    pub span: Span,
}

/// `uint32_t N` of a `template <…>`.
#[derive(Clone, PartialEq, Debug)]
pub struct TemplateParam {
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Ident,
}

/// A function parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct FnParam {
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Ident,
    /// Type and name.
    pub span: Span,
}

/// `PTO_REQUIRE(condition)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Require {
    /// What must hold.
    pub cond: Expr,
    /// The whole form.
    pub span: Span,
}

/// `PTO_REFERENCE(name, { .role = name, … })`.
#[derive(Clone, PartialEq, Debug)]
pub struct Reference {
    /// Which reference.
    pub name: Ident,
    /// What plays which role.
    pub roles: Vec<Role>,
    /// The whole form.
    pub span: Span,
}

/// `.role = name`.
#[derive(Clone, PartialEq, Debug)]
pub struct Role {
    /// The role.
    pub role: Ident,
    /// A parameter of the entry or of the file.
    pub value: Ident,
}
