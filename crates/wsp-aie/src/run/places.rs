//! The order of an object's elements in a stream.

use crate::mlir::Dim;

/// Most elements of an order.
const MOST: u64 = 1 << 22;

/// The places of an object's elements in the order of a stream; none where one is beyond the object, or there are more than 2²² of them.
pub(super) fn places(dims: &[Dim], elements: u64) -> Option<Vec<u32>> {
    let mut places = vec![0u64];
    for dim in dims {
        let count = (places.len() as u64).checked_mul(dim.size).filter(|count| *count <= MOST)?;
        let mut next = Vec::with_capacity(count as usize);
        for place in &places {
            next.extend((0..dim.size).map(|i| place.saturating_add(i.saturating_mul(dim.stride))));
        }
        places = next;
    }
    let fits = places.iter().all(|place| *place < elements);
    fits.then(|| places.into_iter().map(|place| place as u32).collect())
}
