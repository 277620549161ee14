//! Tensors of one element, which hold slots.

use super::memory::SharedTensor;
use wsp_core::{Region, TensorId};

/// The region of a tensor of one element.
pub(crate) fn cell(tensor: TensorId) -> Region {
    Region::new(tensor, &[0], &[1]).expect("one dimension is within the limit")
}

/// The element of a slot's tensor.
pub(crate) fn slot_value(tensor: &SharedTensor, id: TensorId) -> i64 {
    let mut bytes = Vec::new();
    tensor.peek(&cell(id), &mut bytes);
    bytes.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
}
