//! The backends that there are, and the seam behind which they stand.

use crate::Error;
use std::sync::Arc;
use wsp_ascend::AscendBackend;
use wsp_ir::workload::WorkloadModule;
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{CompileOptions, PlanSource};

pub use wsp_backend::{
    Absent, Arg, Args, Backend, Begin, EmitOptions, Emitted, Expand, Explanation, KernelStats, KvLayout,
    Outcome, Package, Prepared, Program, Recording, Registry, Released, Run, RunError, RunOptions, Selection,
    SpaceOptions, Stats, UnitOptions, Unwritten, WorkloadRunOptions,
};
pub use wsp_plan::{KernelFile, ProgramKind, Target, UnitSource};

/// The simulation on this machine, and what it tells of plans and runs beside what every backend does.
pub mod cpu {
    pub use wsp_cpu::tg::{CANNOT_RESUME, Peak, Report};
    pub use wsp_cpu::workload::{AicpuOutcome, Bodies, WorkloadOutcome, check_aicpus};
    pub use wsp_cpu::{CpuSimBackend, PlanReport, PlannedDescriptor, RunStats};
}

/// The backends: those that need nothing to be given.
pub fn registry() -> Registry {
    registry_with(cpu::CpuSimBackend::default())
}

/// The backends, with this one for `cpu_sim`.
pub fn registry_with(cpu: cpu::CpuSimBackend) -> Registry {
    let mut registry = Registry::new();
    let backends: [Arc<dyn Backend>; 2] = [Arc::new(cpu), Arc::new(AscendBackend)];
    for backend in backends {
        registry.register(backend).expect("names of backends should be distinct");
    }
    registry
}

/// Compiles a workload of declared kernels under one of its schedules, or under that which it applies, by a backend: document 004's
/// `compile(workload, schedule)`.
///
/// # Errors
/// A workload that breaks a rule, a schedule that the target cannot keep, kernels of the backend that do not fit.
pub fn compile_workload(
    backend: &dyn Backend,
    workload: WorkloadModule,
    schedule: Option<&str>,
) -> Result<Box<dyn Program>, Error> {
    let options = CompileOptions { schedule: schedule.map(str::to_owned), ..CompileOptions::default() };
    let plan = WorkloadPlan::new(workload, None, &options)?;
    Ok(backend.compile(&plan.into())?)
}

/// Compiles a plan by the backend that takes it.
///
/// # Errors
/// No backend runs its target or takes all of it, kernels without a body.
pub fn compile(plan: impl Into<PlanSource>) -> Result<Box<dyn Program>, Error> {
    let plan = plan.into();
    let selection = registry().select(&plan)?;
    Ok(selection.backend().compile(&plan)?)
}
