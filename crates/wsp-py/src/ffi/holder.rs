//! What keeps memory from going away, as an object of Python.

use super::Owner;
use pyo3::ffi::{PyCapsule_GetPointer, PyCapsule_New, PyObject};
use pyo3::prelude::*;

/// An object that holds an owner until it goes: a capsule, which is made in a fraction of the time that an object of a class takes.
///
/// # Errors
/// There is no memory for it.
pub(crate) fn holder(py: Python<'_>, owner: Owner) -> PyResult<Bound<'_, PyAny>> {
    unsafe extern "C" fn free(capsule: *mut PyObject) {
        // SAFETY: the capsule was made below, of a box that it owns.
        unsafe {
            let held = PyCapsule_GetPointer(capsule, std::ptr::null());
            drop(Box::from_raw(held.cast::<Owner>()));
        }
    }
    let held = Box::into_raw(Box::new(owner));
    // SAFETY: the pointer is that of a box, which `free` gets back.
    let capsule = unsafe { PyCapsule_New(held.cast(), std::ptr::null(), Some(free)) };
    if capsule.is_null() {
        // SAFETY: no capsule has it.
        drop(unsafe { Box::from_raw(held) });
    }
    // SAFETY: a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}
