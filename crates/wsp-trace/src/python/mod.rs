//! Codes of what the Python package reports: workloads and kernels by itself, arrays through its extension module.

pub mod arrays;
pub(crate) mod kernel;
pub(crate) mod workload;
