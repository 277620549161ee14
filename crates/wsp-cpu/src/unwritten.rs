//! Elements of outputs that no task has stored.

use std::sync::Arc;
use wsp_backend::{Unwritten, unravel};
use wsp_kernel::{Missing, Stored, Unstored};
use wsp_memory::View;

/// What `missing` tells of a tensor with these extents.
pub(crate) fn unwritten(
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
        unwritten(&self.tensor, &self.shape, self.given, missing)
    }
}
