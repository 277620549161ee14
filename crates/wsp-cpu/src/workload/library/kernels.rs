//! Workloads whose kernels are those of a used file.

use super::LibraryTasks;
use crate::program::Program;
use wsp_kernel::{Engine, Mode};

/// A workload whose kernels are those of a used file.
#[derive(Debug)]
pub(crate) struct LibraryKernels {
    pub(crate) program: Program,
    pub(crate) tasks: LibraryTasks,
    /// Tile operations.
    pub(crate) mode: Mode,
    /// What runs scalar code.
    pub(crate) engine: Engine,
}
