//! Elements of outputs that no task has stored.

use std::sync::Arc;
use wsp_kernel::{Missing, Stored, Unstored};
use wsp_memory::View;

/// Elements of an output that no task has stored, of a run that records what is stored ([`crate::Recording`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unwritten {
    /// The output.
    pub tensor: String,
    /// Whether some task has loaded each of them, which makes them inputs; else none has loaded any. Where tasks have stored none of the
    /// output, all of its elements count as not loaded.
    pub loaded: bool,
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
    /// What `missing` tells of a tensor with these extents.
    pub(crate) fn of(
        tensor: &str,
        shape: &[u64],
        given: bool,
        missing: impl Fn(Unstored) -> Option<Missing>,
    ) -> Vec<Unwritten> {
        let one = |(which, loaded)| {
            let missing = missing(which)?;
            Some(Unwritten {
                tensor: tensor.to_owned(),
                loaded,
                elements: missing.elements,
                of: shape.iter().product(),
                first: unravel(missing.first, shape),
                given,
            })
        };
        [(Unstored::Unused, false), (Unstored::Loaded, true)].into_iter().filter_map(one).collect()
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
    /// The array of the caller that it is, if it is one.
    pub(crate) view: Option<View>,
}

impl Record {
    /// Of an array of the caller.
    pub(crate) fn of_view(tensor: String, view: &View, stored: Arc<Stored>) -> Record {
        let (size, shape) = (view.dtype().size(), view.shape().to_vec());
        Record { tensor, stored, size, shape, given: true, view: Some(view.clone()) }
    }

    /// What was never stored.
    pub(crate) fn unwritten(&self) -> Vec<Unwritten> {
        let missing = |which| match &self.view {
            None => self.stored.missing(which, self.size),
            // What lies between the elements of an array does not count.
            Some(view) => self.stored.missing_in(which, self.size, |piece| {
                view.runs(&view.whole(), |offset, bytes| piece(view.ptr().wrapping_add(offset), bytes));
            }),
        };
        Unwritten::of(&self.tensor, &self.shape, self.given, missing)
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
