//! Task-graph units from Rust: built or parsed, with kernels in Rust, run on simulated devices.
//!
//! ```
//! use pto_wsp::prelude::*;
//! use pto_wsp::task_graph::{CoreType, DependencyType, Session, SessionOptions, TgBuilder, TgKernels};
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
//! b.mc_bind("SQUARE", 0, "X").direction(pto_wsp::task_graph::Direction::In);
//! b.mc_bind("SQUARE", 1, "SQUARES").direction(pto_wsp::task_graph::Direction::Out);
//! b.mc_bind("SUM", 0, "SQUARES").direction(pto_wsp::task_graph::Direction::In);
//! b.mc_bind("SUM", 1, "TOTAL").direction(pto_wsp::task_graph::Direction::Out);
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
//! let mut x = Array::zeros(DType::F32, &[256]).unwrap();
//! x.as_slice_mut::<f32>().unwrap().fill(0.5);
//! let options = SessionOptions { inputs: Arrays::from([("X".to_owned(), x)]), ..SessionOptions::default() };
//! let mut session = Session::new(&unit, &kernels, options).unwrap();
//! let report = session.run().unwrap();
//! assert_eq!(session.tensor("TOTAL").unwrap().as_slice::<f32>().unwrap(), [64.0]);
//! assert_eq!((report.stats.kernels, report.stats.blocks), (2, 9));
//! ```

pub use wsp_backend::{CheckpointKey, CheckpointStore, MemoryStore, RecordKind, Released};
pub use wsp_backend::{Recording, Unwritten};
pub use wsp_core::tg::{
    AffinityType, CheckpointNo, CoreType, DependencyType, Direction, FenceScope, GraphNo, LoopMode,
    MemLocation, StreamNo,
};
pub use wsp_cpu::tg::{
    BoundArg, Prepared, Report, Session, SessionOptions, TensorRange, TgCx, TgKernels, check_unit,
};
pub use wsp_cpu::workload::KernelFault;
pub use wsp_ir::tg::{ArgSignature, Expr, KernelSignature, Signatures, Table, TgBuilder, TgModule, verify};
pub use wsp_plan::Element;
pub use wsp_runtime::tg::{CoreCounts, Hints, RuntimeConfig, Stats, Trace, Tracing};
pub use wsp_tg::lint;
