//! What binding looks at of the arrays of a launch: element types, shapes, and the elements of integers.

use std::borrow::Cow;
use wsp_core::DType;
use wsp_ordered::OrderedMap;
use wsp_plan::{Array, Arrays};

/// Arrays by the names of the host entry's parameters, as far as planning looks at them: whole arrays, and such of which only
/// element type and shape are known. Planners run before tensors exist, so the latter is enough for all but the integers that
/// generators read: page tables, lengths and other integer arrays of one dimension.
///
/// [`Arrays`] are metadata of themselves.
#[derive(Clone, Debug, Default)]
pub struct Metadata<'a> {
    facts: OrderedMap<Cow<'a, str>, ArrayFact<'a>>,
}

/// An array as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct ArrayFact<'a> {
    dtype: DType,
    shape: Cow<'a, [u64]>,
    elements: Option<&'a Array>,
}

impl<'a> Metadata<'a> {
    /// No arrays.
    pub fn new() -> Metadata<'a> {
        Metadata::default()
    }

    /// With an array of which no more is known than element type and extents, outermost first. It replaces one of the same name.
    #[must_use]
    pub fn with_shape(
        mut self,
        name: impl Into<Cow<'a, str>>,
        dtype: DType,
        shape: impl Into<Cow<'a, [u64]>>,
    ) -> Metadata<'a> {
        self.facts.insert(name.into(), ArrayFact { dtype, shape: shape.into(), elements: None });
        self
    }

    /// With a whole array. It replaces one of the same name.
    #[must_use]
    pub fn with_array(mut self, name: impl Into<Cow<'a, str>>, array: &'a Array) -> Metadata<'a> {
        self.facts.insert(name.into(), ArrayFact::of(array));
        self
    }

    /// What is known of an array.
    pub(crate) fn get(&self, name: &str) -> Option<&ArrayFact<'a>> {
        self.facts.get(name)
    }

    /// Names of all arrays, in alphabetical order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.facts.keys().map(|name| &**name)
    }
}

impl<'a> From<&'a Arrays> for Metadata<'a> {
    fn from(arrays: &'a Arrays) -> Metadata<'a> {
        let facts = arrays.iter().map(|(name, array)| (Cow::from(name.as_str()), ArrayFact::of(array)));
        Metadata { facts: facts.collect() }
    }
}

impl<'a> ArrayFact<'a> {
    fn of(array: &'a Array) -> ArrayFact<'a> {
        ArrayFact { dtype: array.dtype(), shape: array.shape().into(), elements: Some(array) }
    }

    /// Element type.
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// Extents, outermost first.
    pub(crate) fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The whole array, if there is one.
    pub(crate) fn elements(&self) -> Option<&'a Array> {
        self.elements
    }
}
