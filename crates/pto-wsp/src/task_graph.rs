//! Task-graph units from Rust: built or parsed, with kernels in Rust, run on simulated devices.
//!
//! ```
//! use pto_wsp::task_graph::{CoreType, DependencyType, Direction, TgBuilder, TgKernels};
//! use pto_wsp::{Args, DType, RunOptions, Source};
//!
//! // Two kernels: the second sees what the first wrote.
//! let mut b = TgBuilder::new();
//! b.extern_tensor("X", DType::F32, &[256]);
//! b.extern_tensor("TOTAL", DType::F32, &[1]);
//! b.tg_begin("G");
//! b.mc_alloc("SQUARES", 256 * 4);
//! b.tg_kernel("SQUARE", "square_entry", 8, CoreType::Aiv, 0);
//! b.tg_kernel("SUM", "sum_entry", 1, CoreType::Aiv, 0);
//! b.tg_depend("SQUARE", "SUM").dep_type(DependencyType::Data).tensor_id("SQUARES");
//! b.mc_bind("SQUARE", 0, "X").direction(Direction::In);
//! b.mc_bind("SQUARE", 1, "SQUARES").direction(Direction::Out);
//! b.mc_bind("SUM", 0, "SQUARES").direction(Direction::In);
//! b.mc_bind("SUM", 1, "TOTAL").direction(Direction::Out);
//! b.tg_end("G");
//! b.tg_launch("G", "stream");
//! b.tg_sync("G");
//! let unit = b.finish().unwrap();
//!
//! let mut kernels = TgKernels::new();
//! kernels.register("square_entry", None, |cx| {
//!     // Each of the 8 blocks has 32 elements.
//!     let (first, mut part) = (cx.block() as usize * 32, [0f32; 32]);
//!     cx.load_at(0, first, &mut part)?;
//!     cx.store(1, first, &part.map(|x| x * x))
//! }).unwrap();
//! kernels.register("sum_entry", None, |cx| {
//!     let total: f32 = cx.load::<f32>(0)?.iter().sum();
//!     cx.store(1, 0, &[total])
//! }).unwrap();
//!
//! let program = Source::unit(unit).unit_kernels(kernels).compile()?;
//! let outcome = program.execute(Args::new().with("X", vec![0.5f32; 256]), RunOptions::default())?;
//! assert_eq!(outcome.outputs["TOTAL"].as_slice::<f32>().unwrap(), [64.0]);
//! assert_eq!(outcome.stats.tasks, 2);
//! # Ok::<(), pto_wsp::Error>(())
//! ```

pub use wsp_backend::{CheckpointKey, CheckpointStore, MemoryStore, RecordKind};
pub use wsp_core::int::BinOp;
pub use wsp_core::tg::{
    AffinityType, CheckpointNo, CoreType, DependencyType, Direction, EventNo, ExprId, ExprOp, FenceScope,
    GraphNo, Instr, KernelNo, KernelSet, LoopMode, MemLocation, Platform, Scalar, ScalarType, StreamNo,
    Symbol, TensorNo, TensorRef,
};
pub use wsp_cpu::tg::{BoundArg, TensorRange, TgCx, TgKernels};
pub use wsp_ir::tg::{
    ArgRef, ArgSignature, Expr, KernelSignature, Namespace, RefValue, Signatures, Table, TgBuilder, TgModule,
    verify,
};
pub use wsp_tg::{LintOptions, lint};
