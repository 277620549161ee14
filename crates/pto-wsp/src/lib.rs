//! PTO-WSP: workloads, schedules and backends kept apart.
//!
//! A [`Source`] is a file of any kind, or what a builder made, with the functions of its kernels. It compiles to a [`Program`], which takes
//! [`Args`] and [`RunOptions`] and gives an [`Outcome`]: at once ([`Program::execute`]), again and again ([`Prepared`]), or while its caller does
//! other things ([`Run`]). [`workload`] has the builder of programs whose tasks are loops over kernels, [`task_graph`] that of units of the
//! task-graph instruction set, and [`graph`] runs closures that wait for each other, without a program. Everything that goes wrong is an
//! [`Error`].
//!
//! Arguments are made of vectors, slices and arrays of numbers (one dimension), of [`Array`]s of any shape, of the bytes of `.npy` files ([`npy`]),
//! and of [`View`]s, which are used where they lie. `half::f16` and `half::bf16` are numbers.
//!
//! # What may grow
//!
//! What runs give ([`Outcome`], [`Stats`], [`Explanation`], [`GraphListing`], [`Simulated`]) may get fields, and errors ([`RunError`],
//! [`graph::GraphError`], [`ArrayError`], [`ViewFault`]) kinds: they are `non_exhaustive`. Options get fields too, and are written with the rest of the
//! defaults: `RunOptions { threads: 4, ..RunOptions::default() }`. A backend names each option, so that none is passed over.
//!
//! # Features
//!
//! * `native`: scalar code that runs long is compiled for this machine; without it, it is interpreted. Results are the same.
//! * `ndarray`: arrays and views of the crate `ndarray` are arguments.
//!
//! Both are off: they take time to build.
//!
//! ```
//! use pto_wsp::{Args, Array, Program, RunOptions};
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
//! let program = Program::from_source("twice.pto", source)?;
//!
//! let x = Array::of(&[100], &[1.5f32; 100])?;
//! let outcome = program.execute(Args::new().with("x", x), RunOptions::default())?;
//! assert_eq!(outcome.outputs["y"].as_slice::<f32>().unwrap(), [3.0f32; 100]);
//! println!("{} tasks in {} ms", outcome.stats.tasks, outcome.stats.elapsed_ms());
//! # Ok::<(), pto_wsp::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod backend;
pub mod cache;
pub mod catalog;
pub mod codes;
mod error;
mod generator;
pub mod graph;
mod hosted;
pub mod npy;
mod one_shot;
mod program;
mod source;
pub mod task_graph;
pub mod trace;
pub mod workload;

/// What the command line and the Python package share.
///
/// **Unstable**: it changes as they do.
pub mod shared {
    pub mod leftover;
    pub mod shell;
    pub mod work_folder;

    pub use crate::source::{only_used, read_source};
}

pub use backend::{registry, registry_with};
pub use error::Error;
pub use generator::{OnDeviceGenerator, WorkloadBytecode};
pub use one_shot::OneShot;
pub use program::{Prepared, Program, Run};
pub use source::Source;
pub use wsp_backend::{
    Absent, Advance, AicpuOutcome, Arg, Args, Begin, Bodies, BytesByLocation, Coordinates, Detail, Expand,
    Explanation, GraphAccess, GraphKernel, GraphListing, GraphOptions, GridStats, Growth, KernelStats,
    KvLayout, MissedHazard, Outcome, Payload, PayloadSlot, Peak, Progress, Recording, Released, RunError,
    RunOptions, RunningTask, Simulated, SimulatedAicpu, SimulatedAicpus, SimulatedTask, SpaceOptions,
    StartOrder, Starts, Stats, UnitOptions, UnitResult, Unwritten, WindowOverflow, WorkloadResult,
    WorkloadRunOptions,
};
pub use wsp_core::policy::Hints;
pub use wsp_core::ptow::{AicpuStats, DispatchConfig, Header as BytecodeHeader};
pub use wsp_core::{
    BlockStart, ChannelFigures, DType, KernelId, MAX_RANK, Poll, Region, Started, TaskId, TensorId, WhyLate,
};
pub use wsp_diag::{
    Code, Diagnostic, Diagnostics, FileId, Label, Severity, SourceFile, SourceMap, Span, render_all,
};
pub use wsp_ir::workload::AccessMode;
pub use wsp_memory::{
    Buffer, ByteRange, Bytes, Claim, Claimed, Conflict, EarlyLoads, Missing, Owner, Sharing, Space, Stored,
    StoredState, Unstored, Unusable, Use, Uses, View, ViewAccess, ViewFault,
};
pub use wsp_plan::cost::Work;
pub use wsp_plan::ptow::Transfer;
pub use wsp_plan::workload::ChannelUse;
pub use wsp_plan::{
    Array, ArrayError, Arrays, CompileOptions, DeviceModel, Element, ParamValue, ProgramKind, Target,
};

/// The code of the reference page on plans.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/plans.md")]
mod plans_page {}
