//! Workloads from Rust: built or parsed, with kernels in Rust, run on the task-graph runtime.
//!
//! ```
//! use pto_wsp::backend::cpu::CpuSimBackend;
//! use pto_wsp::backend::{Args, Backend, RunOptions};
//! use pto_wsp::prelude::*;
//! use pto_wsp::workload::{KernelRegistry, ModuleBuilder, sized};
//!
//! # fn main() -> Result<(), pto_wsp::Error> {
//! // Partial sums of a matrix by tiles of rows, then their total. The second kernel waits for the first by its data.
//! let mut m = ModuleBuilder::new();
//! let rows = m.param("rows", 256);
//! let x = m.tensor("x", DType::F32, [rows.into(), 8.into()]);
//! let part = m.tensor("part", DType::F32, [rows / 16]);
//! let total = m.tensor("total", DType::F32, [1.into()]);
//! let sum = m.kernel("sum").input("x").output("s").finish();
//! m.workload("main", |w| {
//!     w.parallel_for("i", ..rows / 16, |w, i| {
//!         w.task(sum).arg(x.at((sized(i * 16, 16), ..))).arg(part.at(i));
//!     });
//!     w.task(sum).arg(part).arg(total);
//! });
//!
//! let mut kernels = KernelRegistry::new();
//! kernels.register("sum", |cx| {
//!     let total: f32 = cx.load::<f32>(0)?.iter().sum();
//!     cx.store(1, &[total])
//! })?;
//! let backend = CpuSimBackend { kernels, ..CpuSimBackend::default() };
//! let program = backend.compile_workload(m.finish()?.into_inner(), None)?;
//!
//! let x = Array::of(&[256, 8], &[0.5f32; 2048])?;
//! let outcome = program.execute(Args::new().with("x", x), RunOptions::default())?;
//! assert_eq!(outcome.outputs["total"].as_slice::<f32>().unwrap(), [1024.0]);
//! assert_eq!(outcome.stats.tasks, 17);
//! # Ok(())
//! # }
//! ```

pub use wsp_backend::{Bodies, Detail, GraphListing, Recording, Unwritten};
pub use wsp_cpu::workload::{
    KernelCx, KernelFault, KernelRegistry, WorkloadInputs, WorkloadOptions, WorkloadOutcome, WorkloadProgram,
};
pub use wsp_ir::workload::build::{
    ModuleBuilder, TaskGraphPolicy, affinity, between, hash, range, range_step, round_robin, sized,
    static_partition, work_steal,
};
pub use wsp_ir::workload::text::{parse, print};
pub use wsp_ir::workload::{
    Deps, ExecPool, Gate, GateScope, PoolSizes, Ready, Start, Trace, Window, WindowMode, WorkloadModule,
};
pub use wsp_plan::Element;
pub use wsp_plan::workload::{WorkloadLibrary, WorkloadPlan};
