//! Workloads from Rust: built or parsed, with kernels in Rust, run on the task-graph runtime.
//!
//! ```
//! use pto_wsp::workload::{ModuleBuilder, Rows, sized};
//! use pto_wsp::{Args, Array, DType, RunOptions, Source};
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
//! let sum = |x: Rows<f32>, s: &mut [f32]| s[0] = x.iter().flatten().sum();
//! let program = Source::workload(m.finish()?).kernel("sum", sum).compile()?;
//!
//! let x = Array::of(&[256, 8], &[0.5f32; 2048])?;
//! let outcome = program.execute(Args::new().with("x", x), RunOptions::default())?;
//! assert_eq!(outcome.outputs["total"].as_slice::<f32>().unwrap(), [1024.0]);
//! assert_eq!(outcome.stats.tasks, 17);
//! # Ok(())
//! # }
//! ```

pub use wsp_core::{ParamId, SlotId, TableId, WorkloadId};
pub use wsp_cpu::kernels;
pub use wsp_cpu::workload::{
    AlreadyRegistered, CKernel, CTask, CTensor, KernelCx, KernelFault, KernelParam, KernelRegistry,
    KernelResult, Rows, RowsMut, TypedKernel,
};
pub use wsp_ir::workload::build::{
    self, ModuleBuilder, TaskGraphPolicy, affinity, between, hash, range, range_step, round_robin, sized,
    static_partition, work_steal,
};
pub use wsp_ir::workload::text::{parse, print};
pub use wsp_ir::workload::{
    Deps, ExecPool, Gate, GateScope, LayoutDim, MeshAxis, PoolSizes, Ready, Start, Timing, Trace, Window,
    WindowMode, WorkloadModule, verify::VerifiedWorkload,
};
pub use wsp_plan::ViewKernelSource;
pub use wsp_plan::workload::{FirstReads, WorkloadPlan};
