//! The PTO-WSP intermediate representation.
//!
//! A [`Module`] holds what a front end read: parameters, tensors, spaces, tiers, schedules, descriptors and functions.
//! It knows no front end and no backend. [`workload`] holds the trees that generate tasks.
#![forbid(unsafe_code)]

pub mod affine;
mod capability;
mod expr;
mod func;
mod kernel_entry;
mod layout;
mod module;
mod schedule;
mod stmt;
pub mod text;
pub mod tg;
mod tile;
mod types;
pub mod verify;
pub mod walk;
pub mod workload;

pub use capability::{Capability, CapabilityRow, Support};
pub use expr::{
    Arg, ArrayRef, CHAINED, Const, Derivation, DerivedArray, Expr, ExprKind, LaunchArray, MathFn, MetaKind,
    WsSlot,
};
pub use func::{FuncKind, Function, Local, LocalTy};
pub use kernel_entry::{KernelEntry, KernelParam};
pub use layout::{Layout, dim_text};
pub use module::{
    Axis, AxisEnd, AxisTile, Binding, BindingSource, Cache, Consumer, DependencyRef, Dim, Entry, EntryParam,
    EntryTy, Field, Graph, KernelUnit, Launch, LaunchTarget, Module, Param, ParamSource, Reference,
    Requirement, ShapeOwner, Space, Stage, Storage, StructDef, Tensor, Tier, TierSet, TileSize,
};
pub use schedule::{AxisPolicy, AxisStatement, LaunchStatement, LayoutStatement, Schedule, SplitPolicy};
pub use stmt::{Block, EmitHints, ExtentSource, PrefetchHint, Stmt, StmtKind};
pub use tile::{
    BinaryTileOp, CostClass, ElementFault, Operand, Part, Place, PtoWord, PythonForm, ReduceOp, TILE_OPS,
    TileExtent, TileMap, TileOp, TileOpKind, TileOpRow, TilePart, TilePartMut, TileRole, TileSource, TileTy,
    TileUse, TileWork, UnaryTileOp, check_elements, find_pto,
};
pub use types::{Elem, ScalarTy};
pub use verify::{Verified, into_verified, verify};
pub use wsp_core::int::{BinOp, UnOp};
pub use wsp_core::policy::{AffinityPolicy, Grid, LaunchPolicy, LayoutDim, MeshAxis, OrderPolicy};

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[
    text::CODES,
    verify::rule::CODES,
    workload::text::codes::CODES,
    workload::verify::rule::CODES,
    tg::verify::rule::CODES,
];
