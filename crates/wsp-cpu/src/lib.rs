//! The `cpu_sim` backend: runs a plan with real threads and real numbers.
//!
//! [`Program::execute`] binds arrays, runs the generators once to learn every size, and then again on the planner thread
//! while workers execute the tasks that it emits.

mod aicpus;
mod backend;
mod bind;
mod codes;
mod dealt;
mod defaults;
mod derived;
mod extents;
mod host;
mod in_place;
mod integers;
mod kernels;
mod listing;
mod machine;
mod memory;
mod metadata;
mod options;
mod pattern;
mod plan;
mod planner;
mod prefetch;
mod prepared;
mod program;
mod runner;
mod sizes;
mod sizing;
mod stats;
mod submit;
pub mod tg;
mod tiles;
mod tiling;
mod traps;
mod unwritten;
pub mod workload;

pub use backend::CpuSimBackend;
pub use metadata::Metadata;
pub use options::LaunchOptions;
pub use plan::{Balance, Capacity, Plan, PlanDescriptor, PlanNeed};
pub use program::Program;
pub use sizes::PlannedDescriptor;
pub use stats::{DescriptorStats, Outcome, PlanReport, RunStats, TileStats, Times};
pub use wsp_backend::{Advance, Growth};

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[codes::CODES, workload::codes::CODES, tg::codes::CODES];
