//! Workloads: programs that generate tasks, as trees of loops, choices and task statements.
//!
//! A [`WorkloadModule`] is what a `.wsp` file says, and what builders make. Elaborating it with values for its
//! parameters and tables yields tasks in *elaboration order*: the order of a depth-first, left-to-right walk. That order
//! defines the result: two tasks whose accesses conflict behave as if they ran in it.
//!
//! | node | its tasks |
//! |---|---|
//! | [`NodeKind::ParallelFor`] | of all iterations, ordered by their data only |
//! | [`NodeKind::ForEach`] | an iteration's tasks start after all tasks of the iteration before |
//! | [`NodeKind::Select`] | as `ParallelFor`, over the columns of one row of a sparse axis |
//! | [`NodeKind::Cond`] | of one branch |
//! | [`NodeKind::While`] | as `ForEach`, as long as the condition holds |
//! | [`NodeKind::Combine`] | of all branches, ordered by their data only |
//! | [`NodeKind::Sequential`] | a step's tasks start after all tasks of the step before |
//! | [`NodeKind::Call`] | of another workload of the module |
//! | [`NodeKind::Pipeline`] | of processes that take turns, ordered by their data only |
//! | [`NodeKind::Send`], [`NodeKind::Consume`] | of their bodies, with a slot of a channel |
//!
//! Statements of one block are ordered by their data only.

pub mod build;
mod directive;
mod expr;
mod lint;
mod model;
mod statement;
pub mod text;
pub mod verify;
mod walk;

pub use crate::layout::Layout;
pub use directive::*;
pub use expr::{IntExpr, IntExprKind};
pub use lint::{is_param_used, warnings};
pub use model::{
    Access, Arg, ArgValue, Arm, Axis, AxisKind, Block, Channel, DimRange, Iteration, Kernel, KernelParam,
    Label, Node, NodeKind, Param, ParamKind, ParamSource, Process, Signature, Slot, Table, Task, Tensor, Use,
    Var, Workload, WorkloadModule,
};
pub use statement::{StatementKind, each_node};
pub use wsp_core::ExecPool;
pub use wsp_core::policy::{
    Deps, Gate, GateScope, Grid, LayoutDim, MeshAxis, PoolSizes, Ready, Start, Trace, Window, WindowMode,
};
pub use wsp_core::ptow::interp::AccessMode;
