//! The backends that there are, and the seam behind which they stand.

use crate::Error;
use npu::AscendBackend;
use std::sync::Arc;
use wsp_plan::PlanSource;

pub use crate::one_shot::OneShot;
pub use wsp_backend::{
    Absent, AicpuOutcome, Arg, Args, Backend, Begin, Bodies, EmitOptions, Emitted, Expand, Explanation,
    KernelStats, KvLayout, Outcome, Package, Peak, Prepared, Program, Recording, Registry, Released, Run,
    RunError, RunOptions, Selection, SpaceOptions, Stats, UnitOptions, UnitResult, Unwritten, WorkloadResult,
    WorkloadRunOptions,
};
pub use wsp_ir::workload::StatementKind;
pub use wsp_plan::{KernelFile, ProgramKind, Target, UnitSource};

/// The simulation on this machine, and what it tells of plans and runs beside what every backend does.
pub mod cpu {
    pub use wsp_cpu::tg::Report;
    pub use wsp_cpu::workload::WorkloadOutcome;
    pub use wsp_cpu::{CpuSimBackend, PlanReport, PlannedDescriptor, RunStats};
}

/// Ascend accelerators: files for them.
pub mod npu {
    pub use wsp_ascend::AscendBackend;
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

/// Compiles a plan by the backend that takes it.
///
/// # Errors
/// No backend runs its target or takes all of it, kernels without a body.
pub fn compile(plan: impl Into<PlanSource>) -> Result<Box<dyn Program>, Error> {
    let plan = plan.into();
    let selection = registry().select(&plan)?;
    Ok(selection.backend().compile(&plan)?)
}
