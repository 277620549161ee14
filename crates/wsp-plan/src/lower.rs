//! The straight line of passes from a module to a plan.

use crate::{Access, CompileOptions};
use wsp_core::{FuncId, SpaceId};
use wsp_ir::Module;
use wsp_ir::diag::Diagnostic;

/// How ready tasks are picked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReadyOrder {
    /// In issue order.
    Issue,
    /// As is fastest.
    Free,
}

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
}

/// What a schedule came to.
#[derive(Clone, PartialEq, Debug)]
pub struct ScheduleSummary {
    /// Its name, if one is applied.
    pub name: Option<String>,
    /// How ready tasks are picked.
    pub ready: ReadyOrder,
    /// One line per statement: what the target does with it.
    pub lines: Vec<String>,
}

/// How the program uses a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TensorUse {
    /// Some kernel loads from it.
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
    /// Accesses of each function of the module; empty for those that are not kernels.
    pub accesses: Vec<Vec<Access>>,
    /// Use of each tensor of the module.
    pub tensors: Vec<TensorUse>,
    /// Options the plan was made with.
    pub options: CompileOptions,
    /// Warnings and notes.
    pub notes: Vec<Diagnostic>,
}

/// Lowers a verified module.
///
/// # Errors
/// Diagnostics when the module has no entry, a schedule does not fit its space, or the target refuses something.
pub fn lower(module: &Module, options: &CompileOptions) -> Result<LoweredPlan, Vec<Diagnostic>> {
    let _ = (module, options);
    Err(Vec::new())
}
