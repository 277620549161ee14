//! The seam between plans and backends.
//!
//! A [`Backend`] compiles a plan ([`PlanSource`](wsp_plan::PlanSource)) of any front end to a [`Program`]. A program is
//! given [`Args`] and [`RunOptions`] and gives an [`Outcome`] or a [`RunError`]; [`Prepared`] runs any number of times, [`Run`] goes on
//! while its caller does other things. A [`Registry`] knows the backends and selects one for a plan.
//!
//! There is one call through a trait object for each run, and none for each task.
//!
//! **Boundary:** knows neither how anything runs nor any one backend.
#![forbid(unsafe_code)]

mod args;
mod backend;
mod checkpoint;
pub mod claims;
pub mod codes;
mod error;
mod graph;
mod growth;
mod options;
mod outcome;
mod package;
mod payload;
pub mod pending;
mod progress;
mod registry;
mod run;
mod shapes;
mod starts;
mod table;
mod transfer;

pub use args::{Arg, Args};
pub use backend::{Backend, Prepared, Program};
pub use checkpoint::{CheckpointKey, CheckpointStore, MemoryStore, RecordKind};
pub use error::{RunError, WindowOverflow};
pub use graph::{
    BARRIER_NODE, Coordinates, Detail, GraphAccess, GraphKernel, GraphListing, GraphOptions, MOST_LISTED,
    MissedHazard, Simulated, SimulatedAicpu, SimulatedAicpus, SimulatedTask,
};
pub use growth::{Advance, Growth};
pub use options::{
    Absent, Begin, Expand, KvLayout, Recording, Released, RunOptions, SpaceOptions, UnitOptions,
    WorkloadRunOptions,
};
pub use outcome::{
    AicpuOutcome, Bodies, BytesByLocation, Explanation, GridStats, KernelStats, Outcome, Peak, Stats,
    UnitResult, Unwritten, WorkloadResult, unravel,
};
pub use package::{
    ArrayForm, CheckedKernel, CheckedKernels, CheckedLaunch, ContentKey, EmitOptions, Emitted, KernelsSource,
    Lengths, MANIFEST, MemoryUse, Package, PackagePart, intact, listed_in, signed,
};
pub use payload::{Payload, PayloadSlot};
pub use progress::{Progress, RunningTask};
pub use registry::{Registry, Selection};
pub use run::Run;
pub use shapes::{wrong_extent, wrong_rank};
pub use starts::{StartOrder, Starts};
pub use table::{Expansion, LaunchTable, TableArray, TableRow, TableTask};
pub use transfer::Transferred;

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[codes::CODES];
