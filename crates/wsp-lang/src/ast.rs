//! The syntax tree of one `.pto` file.
//!
//! Every node has its span. A construct that does not parse is reported and absent: the tree has no error nodes. The
//! parser decides what is decidable from syntax alone (literals, policies, the members of a block form); names, types
//! and everything that compares two places of a file are left to `sema`.
//!
//! `PTO_` forms inside function bodies that look like calls (`PTO_SET_TILE(axis, e)`, `TLOAD(…)`,
//! `PTO_LAUNCH(…)`) are ordinary [`ExprKind::Call`]s; only the block forms have nodes of their own.
//!
//! **Invariant:** statements nest at most [`wsp_core::limits::MAX_NESTING`] deep, and so do the expressions of one, so recursion over
//! them is safe.

mod expr;
mod item;
mod member;
mod stmt;
mod ty;

use std::rc::Rc;
use wsp_diag::Span;

pub use expr::{Expr, ExprKind, FieldInit, FloatLit, IntLit, UnaryOp};
pub use item::{
    Const, Extent, FnParam, Function, Generator, Kernel, Param, Reference, Require, Resident, Role, Shape,
    Struct, StructField, TemplateParam, Tensor, Workspace,
};
pub use member::{
    Axis, AxisTile, Dependency, Graph, Said, Schedule, ScheduleMember, Space, SpaceMember, Stage, StageRef,
    Tier, TierDef, TileSize, Where,
};
pub use stmt::{AssignOp, Block, Decl, Declarator, Stmt, StmtKind};
pub use ty::{Indirection, TemplateArg, Type, TypeBase};
pub use wsp_core::int::BinOp;

/// A name and where it stands. Qualified names keep their `::` (`std::max_element`).
#[derive(Clone, PartialEq, Debug)]
pub struct Ident {
    /// The name.
    pub name: Rc<str>,
    /// Where it stands.
    pub span: Span,
}

impl Ident {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

/// One source file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct File {
    /// Its items in source order; `#include` and `#pragma` lines leave nothing here.
    pub items: Vec<Item>,
}

/// A top-level construct.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// `PTO_SHAPE(name, d0, d1, …)`
    Shape(Shape),
    /// `PTO_PARAM(type, name, default)`
    Param(Param),
    /// `const T name = expr;`, one item per name
    Const(Const),
    /// `PTO_TENSOR(name, type, d0, …)`
    Tensor(Tensor),
    /// `PTO_RESIDENT(name, type, d0, …)`
    Resident(Resident),
    /// `PTO_WORKSPACE(name, type, d0, …)`
    Workspace(Workspace),
    /// `PTO_SPACE(name) { … }`
    Space(Space),
    /// `PTO_TIER_DEF(name) { … }`
    TierDef(TierDef),
    /// `PTO_SCHEDULE(name) { … }`
    Schedule(Schedule),
    /// `struct Name { … };`
    Struct(Struct),
    /// `PTO_DESCRIPTOR_GEN(space) { … }`
    Generator(Generator),
    /// `PTO_KERNEL_IMPL(name) { … }`
    Kernel(Kernel),
    /// A function, template or not: helper, inline function or host entry
    Function(Function),
    /// `PTO_GRAPH(name) { … }`
    Graph(Graph),
    /// `PTO_REFERENCE(name, { .role = name, … })`
    Reference(Reference),
    /// `PTO_REQUIRE(condition)`
    Require(Require),
}
