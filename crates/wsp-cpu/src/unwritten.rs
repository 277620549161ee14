//! Elements of outputs that no task has stored.

use wsp_backend::{Unwritten, unravel};
use wsp_memory::{Missing, Unstored, View};

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

/// An array of a launch to which what is stored is recorded.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) tensor: String,
    pub(crate) view: View,
    pub(crate) given: bool,
}

impl Record {
    /// What was never stored.
    pub(crate) fn unwritten(&self) -> Vec<Unwritten> {
        unwritten(&self.tensor, self.view.shape(), self.given, |which| self.view.missing(which))
    }
}
