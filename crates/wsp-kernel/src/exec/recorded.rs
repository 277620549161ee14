//! What tiles and scalars are stored to and loaded from, in runs that record it.

use crate::memory::{Fault, RowsView, Shape, TensorMem};
use wsp_memory::Stored;

/// An element was stored.
pub(super) fn store_scalar(stored: &Stored, memory: &TensorMem, index: &[u32]) -> Result<(), Fault> {
    stored.store(memory.locate_element(index)?, memory.dtype().size());
    Ok(())
}

/// An element was loaded.
///
/// # Errors
/// It has no value: no task has stored it.
pub(super) fn load_scalar(stored: &Stored, memory: &TensorMem, index: &[u32]) -> Result<(), Fault> {
    match stored.may_load(memory.locate_element(index)?, memory.dtype().size()) {
        true => Ok(()),
        false => Err(Fault::NeverStored { at: Shape::new(0, 0) }),
    }
}

/// The rows of a tile were stored.
pub(super) fn store(stored: &Stored, rows: &RowsView) {
    if !is_stored(stored, rows) {
        rows.runs(|_, ptr, bytes| {
            stored.store(ptr, bytes);
            true
        });
    }
}

/// The rows of a tile were loaded.
///
/// # Errors
/// Elements of it have no value: no task has stored them.
pub(super) fn load(stored: &Stored, rows: &RowsView) -> Result<(), Fault> {
    if is_stored(stored, rows) {
        return Ok(());
    }
    let mut missing = None;
    rows.runs(|place, ptr, bytes| {
        if !stored.may_load(ptr, bytes) {
            let first = stored.first_gap(ptr, bytes).map_or(0, |first| first / rows.dtype.size());
            missing = Some(Shape::new(place.rows, place.cols + first as u32));
        }
        missing.is_none()
    });
    match missing {
        Some(at) => Err(Fault::NeverStored { at }),
        None => Ok(()),
    }
}

/// Whether all from the first row in memory to the last was stored, which spares going through the rows; `false` for rows that lie far apart.
fn is_stored(stored: &Stored, rows: &RowsView) -> bool {
    let starts = rows.starts();
    let (Some(&first), Some(last)) = (starts.iter().min(), starts.iter().max()) else { return false };
    let bytes = last.addr() - first.addr() + rows.row_bytes();
    let is_close = rows.is_contiguous() && bytes / 2 <= starts.len() * rows.row_bytes();
    is_close && stored.is_stored(first, bytes)
}
