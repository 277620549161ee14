//! A plan: what lowering makes of a module.

use crate::{CompileOptions, KernelAccess};
use std::sync::Arc;
use wsp_core::{AxisId, FuncId, SpaceId, TensorId};
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::workload::SchedulePolicy;
use wsp_ir::{DerivedArray, Expr, LaunchArray, Module};

/// One generator to run.
#[derive(Clone, Debug)]
pub struct PlanStage {
    /// The stage's name; of a plain launch that of the space.
    pub name: String,
    /// Its space.
    pub space: SpaceId,
    /// Its generator, lowered to plain loops.
    pub generator: FuncId,
    /// Its schedule.
    pub schedule: ScheduleSummary,
    /// Kernels that may run for what it emits, by id.
    pub kernels: Vec<FuncId>,
}

/// What a schedule came to.
#[derive(Clone, PartialEq, Debug)]
pub struct ScheduleSummary {
    /// Its name, if one is applied.
    pub name: Option<String>,
    /// What it says of the launch, and how ready tasks are picked.
    pub policy: SchedulePolicy,
    /// One line per statement: what the target does with it.
    pub lines: Vec<String>,
    /// The line that a balanced split cuts, where indices have lengths.
    pub balanced: Option<BalancedLine>,
}

/// What the cuts of a balanced split follow from: the line of the elements of all index tuples. Expressions are over
/// parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct BalancedLine {
    /// Elements per index of the first axis.
    pub lengths: LaunchArray,
    /// Of these, as many last ones as this axis has ([`LoweredPlan::last`]).
    pub last: Option<AxisId>,
    /// The first index of that axis, `u32`.
    pub start: Expr,
    /// How many indices it has, `u32`.
    pub count: Expr,
    /// Ranges per index, one behind the other, `u64`.
    pub ranges: Expr,
    /// Cuts are at multiples of so many elements of a range.
    pub align: u32,
}

/// How the program uses a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TensorUse {
    /// Some kernel loads from it, or would where no task comes to.
    pub read: bool,
    /// Some kernel stores to it.
    pub written: bool,
}

/// What a backend runs.
#[derive(Clone, Debug)]
pub struct LoweredPlan {
    /// The module with lowered generators.
    pub module: Module,
    /// What runs, in elaboration order.
    pub stages: Vec<PlanStage>,
    /// What the schedules of all stages say of the launch.
    pub policy: SchedulePolicy,
    /// Accesses of each function of the module; empty for those that are not kernels.
    pub accesses: Vec<Vec<KernelAccess>>,
    /// Use of each tensor of the module by the kernels of the stages.
    pub tensors: Vec<TensorUse>,
    /// The tensor whose memory each tensor of the module has: itself, or the first that the launch binds to the same
    /// argument. Functions name that one, and it and the others have one [`TensorUse`].
    pub memory: Vec<TensorId>,
    /// Arrays that its generators read and that the host derives from those of a launch; none twice.
    pub derived: Vec<DerivedArray>,
    /// How many last elements of an axis there are at most, where `PTO_SET_EXTENT` says so; expressions over parameters.
    pub last: Vec<(AxisId, Expr)>,
    /// Of a library, the kernels that are called; none when any may be whose descriptor some stage emits.
    pub called: Option<Vec<FuncId>>,
    /// Options the plan was made with.
    pub options: CompileOptions,
    /// Warnings and notes.
    pub notes: Vec<Diagnostic>,
    /// The texts that its spans are of, where they are known ([`PlanSource::with_sources`](crate::PlanSource::with_sources)).
    pub sources: Option<Arc<SourceMap>>,
}
