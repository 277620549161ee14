//! What tiles and scalars are stored to and loaded from, in runs that record it.

use crate::memory::{Clip, Fault, RowsView, Shape, TensorMem, Window};
use wsp_memory::Stored;

/// A tile of this shape was stored.
#[cold]
pub(super) fn store(stored: &Stored, memory: &TensorMem, at: Window<'_>, shape: Shape) -> Result<(), Fault> {
    let mut view = RowsView::empty();
    memory.locate(at, shape, Clip::Strict, &mut view)?;
    view.runs(|_, ptr, bytes| {
        stored.store(ptr, bytes);
        true
    });
    Ok(())
}

/// A tile of this shape was loaded.
///
/// # Errors
/// Elements of it have no value: no task has stored them.
#[cold]
pub(super) fn load(stored: &Stored, memory: &TensorMem, at: Window<'_>, shape: Shape) -> Result<(), Fault> {
    let mut view = RowsView::empty();
    memory.locate(at, shape, Clip::Clamp, &mut view)?;
    let mut missing = None;
    view.runs(|place, ptr, bytes| {
        if !stored.may_load(ptr, bytes) {
            let first = stored.first_gap(ptr, bytes).map_or(0, |first| first / view.dtype.size());
            missing = Some(Shape::new(place.rows, place.cols + first as u32));
        }
        missing.is_none()
    });
    match missing {
        Some(at) => Err(Fault::NeverStored { at }),
        None => Ok(()),
    }
}
