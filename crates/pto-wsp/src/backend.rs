//! The backends that there are, and the seam behind which they stand: for who selects one, or writes one.
//!
//! [`Program`](crate::Program) is a [`CompiledProgram`] with its sources, and so are [`Prepared`](crate::Prepared) and [`Run`](crate::Run) of
//! [`PreparedProgram`] and [`ProgramRun`].

use npu::{AscendBackend, HostBuilder};
use std::sync::Arc;
use wsp_diag::Diagnostics;

pub use wsp_backend::{
    ArrayForm, Backend, CheckedKernel, CheckedKernels, CheckedLaunch, ContentKey, EmitOptions, Emitted,
    Expansion, KernelsSource, LaunchTable, Lengths, MemoryUse, Package, PackagePart, Registry, Selection,
    TableArray, TableRow, TableTask, Transferred,
};
pub use wsp_backend::{Prepared as PreparedProgram, Program as CompiledProgram, Run as ProgramRun};
pub use wsp_core::ptow::interp::Ordered;
pub use wsp_core::{AxisId, CacheId, FuncId, ParamId};
pub use wsp_ir::workload::StatementKind;
pub use wsp_ir::{KernelEntry, LaunchArray, MetaKind, Module};
pub use wsp_kernel::{Engine, Mode};
pub use wsp_plan::{KernelFile, LoweredPlan, Needs, PlanSource, UnitSource};

/// The simulation on this machine, and what it tells of plans and runs beside what every backend does.
///
/// **Unstable**: the command line, the Python package and the benchmarks use it, and it changes as they do.
pub mod cpu {
    pub use wsp_cpu::tg::{Report, Session, SessionOptions};
    pub use wsp_cpu::workload::WorkloadOutcome;
    pub use wsp_cpu::{
        Balance, Capacity, CpuSimBackend, LaunchOptions, Metadata, Outcome, Plan, PlanDescriptor, PlanNeed,
        PlanReport, PlannedDescriptor, Program, RunStats,
    };
}

/// Ascend accelerators: files for them.
///
/// **Unstable**, as [`cpu`].
pub mod npu {
    pub use crate::hosted::HostBuilder;
    pub use wsp_ascend::{AscendBackend, Built, COMMON_SOURCES, HostRunner, OWN_SOURCES, Ran};
}

/// AMD AIE arrays: designs for them.
///
/// **Unstable**, as [`cpu`].
pub mod aie {
    pub use wsp_aie::run::Counts;
    pub use wsp_aie::{AieBackend, DesignArg, DesignFile, DesignRun, Simulation};
}

/// The simulation on this machine, for other backends.
struct Simulated;

impl aie::Simulation for Simulated {
    fn compile(&self, plan: &PlanSource) -> Result<Box<dyn CompiledProgram>, Diagnostics> {
        cpu::CpuSimBackend::default().compile(plan)
    }
}

/// The backends: those that need nothing to be given.
pub fn registry() -> Registry {
    registry_with(cpu::CpuSimBackend::default())
}

/// The backends, with this one for `cpu_sim`.
pub fn registry_with(cpu: cpu::CpuSimBackend) -> Registry {
    let mut registry = Registry::new();
    let ascend = AscendBackend { runner: Some(Arc::new(HostBuilder::default())) };
    let aie = aie::AieBackend { simulation: Arc::new(Simulated), steps: wsp_aie::place::STEPS };
    let backends: [Arc<dyn Backend>; 3] = [Arc::new(cpu), Arc::new(ascend), Arc::new(aie)];
    for backend in backends {
        registry.register(backend).expect("names of backends should be distinct");
    }
    registry
}
