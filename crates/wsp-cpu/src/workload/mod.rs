//! Workloads on this backend: linked to kernels, listed as graphs, run.
//!
//! A [`WorkloadProgram`] is a workload with bodies for its kernels: those of a used library of kernels, functions
//! registered in a [`KernelRegistry`], or, where kernels are only declared, a body that mixes what a task reads into what
//! it writes.

mod aicpu;
mod codes;
mod declared;
mod equal;
mod faults;
mod graph;
mod inputs;
mod library;
mod link;
mod list;
mod memory;
mod mixing;
mod outcome;
mod program;
mod records;
mod registry;
mod run;
pub(crate) mod settings;
mod simulated;
mod submit;
mod tables;
mod touch;

pub(crate) use library::LibraryTasks;

pub use aicpu::{AicpuFigures, Expand, WorkloadTransfer};
pub use graph::{
    Detail, GraphAccess, GraphDeps, GraphKernel, GraphListing, MOST_LISTED, MissedHazard, ORDER_POINT,
};
pub use inputs::{WorkloadInputs, WorkloadOptions};
pub use outcome::{Bodies, WorkloadOutcome};
pub use program::WorkloadProgram;
pub use registry::{AlreadyRegistered, Element, KernelCx, KernelFault, KernelRegistry};
pub use simulated::SimulatedWorkload;
