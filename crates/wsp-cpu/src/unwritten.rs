//! Elements of outputs that no task has stored.

use std::sync::Arc;
use wsp_kernel::{Missing, Stored};

/// Elements of an output that no task has stored, of a run that records what is stored ([`crate::Recording`]). Elements that some
/// task loads before one stores them are inputs as well, and do not count, unless tasks have stored none of the output: then these
/// are all of its elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unwritten {
    /// The output.
    pub tensor: String,
    /// How many elements were never stored; at least 1.
    pub elements: u64,
    /// How many it has.
    pub of: u64,
    /// Index of the first, in row-major order.
    pub first: Vec<u64>,
    /// Whether the launch was given the array that these elements still hold the values of.
    pub given: bool,
}

impl Unwritten {
    /// Elements of a tensor with these extents.
    pub(crate) fn new(tensor: &str, missing: Missing, shape: &[u64], given: bool) -> Unwritten {
        Unwritten {
            tensor: tensor.to_owned(),
            elements: missing.elements,
            of: shape.iter().product(),
            first: unravel(missing.first, shape),
            given,
        }
    }
}

/// What is stored to an output.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) tensor: String,
    pub(crate) stored: Arc<Stored>,
    /// Bytes of an element.
    pub(crate) size: usize,
    pub(crate) shape: Vec<u64>,
    pub(crate) given: bool,
}

impl Record {
    /// What was never stored; none where all was, or is an input.
    pub(crate) fn unwritten(&self) -> Option<Unwritten> {
        let missing = self.stored.missing(self.size)?;
        Some(Unwritten::new(&self.tensor, missing, &self.shape, self.given))
    }
}

/// The index of the element with this number, in row-major order, of an array with these extents. An extent of 0 counts as 1.
pub fn unravel(mut at: u64, shape: &[u64]) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (index, extent) in index.iter_mut().zip(shape).rev() {
        *index = at % extent.max(&1);
        at /= extent.max(&1);
    }
    index
}
