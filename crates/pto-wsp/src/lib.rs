//! PTO-WSP: workloads, schedules and backends kept apart.
//!
//! A plan of any front end is compiled by the [`backend`] of its target: [`compile`]. [`workload`] is for programs whose tasks are
//! loops over kernels, [`task_graph`] for units of the task-graph instruction set; what follows runs a `.pto` source; [`runtime`] is
//! the task graph by itself. Everything that goes wrong is an [`Error`].
//!
//! Arguments are made of vectors, slices and arrays of numbers (one dimension), of [`Array`](memory::Array)s of any shape, of the bytes of `.npy` files ([`npy`]),
//! and of [`View`](memory::View)s, which are used where they lie. `half::f16` and `half::bf16` are numbers. With the feature `ndarray`, arrays and views of that crate are
//! arguments too; it is off, as the crate takes time to build.
//!
//! With the feature `native` scalar code that runs long is compiled for this machine, without it it is interpreted. Results are the same.
//!
//! ```
//! use pto_wsp::backend::{Args, RunOptions};
//! use pto_wsp::prelude::*;
//! use pto_wsp::{Error, compile};
//!
//! let source = "
//! PTO_SHAPE(x, n)
//! PTO_SHAPE(y, n)
//! PTO_SPACE(Twice) { PTO_AXIS(i, 0, n) PTO_TILE(i, 64) }
//! struct Part { uint32_t first; };
//! PTO_DESCRIPTOR_GEN(Twice) {
//!     PTO_SCHEDULED_FOR(tile) { PTO_EMIT_DESCRIPTOR(Part{ .first = tile * 64 }); }
//! }
//! PTO_KERNEL_IMPL(twice) {
//!     auto part = PTO_GET_DESCRIPTOR<Part>();
//!     VecTile<float, 64, 1> t;
//!     TLOAD(t, x, {part.first});
//!     TMULS(t, t, 2.0f);
//!     TSTORE(y, t, {part.first});
//! }
//! void run(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(Twice, { .x = x, .y = y }); }
//! ";
//! let mut sources = SourceMap::default();
//! let (module, findings) = pto_wsp::lang::compile("twice.pto", source, &mut sources);
//! let module = module.ok_or_else(|| Error::in_sources(findings, &sources))?;
//! let program = compile(lower(&module, &CompileOptions::default())?)?;
//!
//! let x = Array::of(&[100], &[1.5f32; 100])?;
//! let outcome = program.execute(Args::new().with("x", x), RunOptions::default())?;
//! assert_eq!(outcome.outputs["y"].as_slice::<f32>().unwrap(), [3.0f32; 100]);
//! println!("{} tasks in {} ms", outcome.stats.tasks, outcome.stats.elapsed_ms());
//! # Ok::<(), Error>(())
//! ```
#![forbid(unsafe_code)]

pub use wsp_core as core;
pub use wsp_cpu as cpu;
pub use wsp_diag as diag;
pub use wsp_ir as ir;
pub use wsp_lang as lang;
pub use wsp_memory as memory;
pub use wsp_plan as plan;
pub use wsp_runtime as runtime;

pub mod backend;
pub mod cache;
pub mod catalog;
pub mod codes;
mod error;
pub mod npy;
mod one_shot;
pub mod task_graph;
pub mod workload;

pub use backend::{compile, registry, registry_with};
pub use error::Error;

/// What a program that compiles and runs a source needs.
pub mod prelude {
    pub use wsp_backend::{KvLayout, Recording, Unwritten};
    pub use wsp_core::DType;
    pub use wsp_cpu::{
        Advance, Balance, Capacity, Growth, LaunchOptions, Metadata, Outcome, Plan, PlanDescriptor, PlanNeed,
        Program,
    };
    pub use wsp_diag::SourceMap;
    pub use wsp_diag::{Diagnostic, render_all};
    pub use wsp_ir::Module;
    pub use wsp_lang::{compile, compile_with};
    pub use wsp_memory::View;
    pub use wsp_plan::{Array, Arrays, CompileOptions, ParamValue, lower};
}

/// The code of the reference page on plans.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/plans.md")]
mod plans_page {}
