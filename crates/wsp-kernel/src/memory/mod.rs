//! Arrays of a launch as kernels see them: where an element lies, and which bytes a tile covers.
//!
//! [`TensorMem`] is an array with a [`Layout`]. [`TensorMem::locate`] turns a [`Window`] (first element and the two dimensions
//! a tile follows) into a [`RowsView`]: runs of rows in memory, clamped to the array or refused, and never outside its bytes.
#![allow(
    unsafe_code,
    reason = "the one place that turns indices into addresses; every run of rows is checked against the array's bytes"
)]

mod fault;
mod ints;
mod layout;
mod locate;
mod prefetch;
mod scalar;
mod tensor;
mod view;

#[cfg(test)]
mod tests;

pub use fault::{Fault, Shape};
pub use ints::Series;
pub use layout::{Layout, Paged};
pub(crate) use locate::{Clip, MAX_INDICES, Window};
pub(crate) use prefetch::prefetch_bytes;
pub(crate) use scalar::{read_integer, write_integer};
pub use tensor::TensorMem;
pub(crate) use view::RowsView;
use view::Segment;
