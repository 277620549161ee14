//! Kernels over views of their tasks' regions, before compilation.
//!
//! A task of a workload gives its kernel scalars and regions of tensors. A view kernel is a function that sees each region as a
//! tensor of its own, a *view*: index 0 is where the region begins, and nothing outside it can be reached. Front ends make
//! [`ViewKernelSource`]s; a backend checks and compiles them.

use wsp_core::DType;
use wsp_ir::Module;

/// A kernel over views of its task's regions, before compilation.
#[derive(Clone, Debug)]
pub struct ViewKernelSource {
    /// Exactly one kernel function; tensor `v` of the module is view `v`, with storage `Launch` and as many dimensions as
    /// the view keeps. Local 0 of the function is the descriptor.
    pub module: Module,
    /// One per tensor parameter of the kernel (`in`, `out`, `inout`), in declared order.
    pub views: Vec<ViewShape>,
    /// Where each 32-bit word of the descriptor comes from, in the order of its fields.
    pub fields: Vec<FieldSource>,
}

/// What a view kernel was compiled for, of one of its views.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewShape {
    /// The dimensions of the region that the view keeps, in rising order; the region has one element along every other.
    pub keep: Vec<u8>,
    /// Type of the elements.
    pub dtype: DType,
    /// Elements along each kept dimension where the kernel was compiled for a number of them; checked for each task.
    pub extents: Vec<Option<u32>>,
}

/// Where a word of a view kernel's descriptor comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldSource {
    /// The value of a scalar parameter, counted among the scalars; a task whose value does not fit 32 bits fails.
    Scalar(u32),
    /// The extent of a kept dimension of a view.
    Extent {
        /// The view.
        view: u32,
        /// The dimension, counted among those that the view keeps.
        dim: u32,
    },
}
