//! Workloads on this backend: linked to kernels, listed as graphs, run.
//!
//! A [`WorkloadProgram`] is a workload with bodies for its kernels: those of a used library of kernels, functions
//! registered in a [`KernelRegistry`], which may be compiled, or, where kernels are only declared, a body that mixes what a
//! task reads into what it writes.

pub(crate) mod aicpu;
mod c_kernel;
mod cells;
mod channels;
pub(crate) mod codes;
mod declared;
mod declared_kernels;
mod equal;
mod faults;
mod graph;
mod implementation;
mod inputs;
mod kept;
mod kernel_cx;
mod layouts;
mod library;
mod list;
mod memory;
mod mixing;
mod outcome;
mod prepared;
mod prepared_run;
mod program;
mod records;
mod registry;
mod run;
pub(crate) mod settings;
mod simulated;
mod submit;
mod table;
mod tables;
mod tensors;
mod touch;
mod typed;
mod unit;
mod view_kernel;
mod watch;

pub(crate) use library::LibraryTasks;
pub(crate) use prepared_run::PreparedRun;

pub(crate) use aicpu::check_aicpus;
pub(crate) use c_kernel::call;
pub use c_kernel::{CKernel, CTask, CTensor};
pub(crate) use implementation::implementation;
pub use inputs::{WorkloadInputs, WorkloadOptions};
pub use kernel_cx::{KernelCx, KernelFault};
pub use outcome::WorkloadOutcome;
pub use prepared::PreparedWorkload;
pub use program::WorkloadProgram;
pub use registry::{AlreadyRegistered, KernelRegistry};
pub use simulated::SimulatedWorkload;
pub(crate) use simulated::failed as simulation_failed;
pub use typed::{KernelParam, KernelResult, Rows, RowsMut, TypedKernel};
pub use wsp_kernel::{Engine, Mode};
