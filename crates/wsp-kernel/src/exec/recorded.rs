//! What tiles are stored to and loaded from, in runs that record it.

use crate::memory::{Fault, RowsView, Shape};
use wsp_memory::Stored;

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
    let (starts, row) = (rows.starts(), rows.row_bytes());
    let Some(&any) = starts.first() else { return false };
    let ends = |(low, high): (usize, usize), of: &*mut u8| (low.min(of.addr()), high.max(of.addr()));
    let (low, high) = starts.iter().fold((any.addr(), any.addr()), ends);
    let bytes = high - low + row;
    rows.is_contiguous() && bytes / 2 <= starts.len() * row && stored.is_stored(any.with_addr(low), bytes)
}
