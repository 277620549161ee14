//! Arrays as NumPy asks for them in C.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use std::ffi::{c_char, c_int, c_void};

/// `PyArrayInterface` of NumPy, with what it points to.
#[repr(C)]
struct ArrayStruct {
    two: c_int,
    nd: c_int,
    typekind: c_char,
    itemsize: c_int,
    flags: c_int,
    shape: *const isize,
    strides: *const isize,
    data: *mut c_void,
    descr: *mut PyObject,
    extents: Vec<isize>,
    steps: Vec<isize>,
}

/// Flags of NumPy: elements at multiples of their size, in the byte order of this machine; to be written.
const ALIGNED: c_int = 0x0100 | 0x0200;
const WRITEABLE: c_int = 0x0400;

/// What `__array_struct__` gives: elements of `itemsize` bytes at an address, whose kind is a letter of NumPy.
///
/// # Errors
/// There is no memory for it.
pub(crate) fn array_struct<'py>(
    py: Python<'py>,
    (address, typekind, itemsize): (usize, u8, usize),
    dims: &[usize],
    strides: &[isize],
    writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    unsafe extern "C" fn free(capsule: *mut PyObject) {
        // SAFETY: the capsule was made below, of a box that it owns.
        unsafe {
            let made = pyo3::ffi::PyCapsule_GetPointer(capsule, std::ptr::null());
            drop(Box::from_raw(made.cast::<ArrayStruct>()));
        }
    }
    let extents: Vec<isize> = dims.iter().map(|&extent| extent.cast_signed()).collect();
    let mut made = Box::new(ArrayStruct {
        two: 2,
        nd: dims.len() as c_int,
        typekind: typekind as c_char,
        itemsize: itemsize as c_int,
        flags: ALIGNED | if writable { WRITEABLE } else { 0 },
        shape: std::ptr::null(),
        strides: std::ptr::null(),
        data: address as *mut c_void,
        descr: std::ptr::null_mut(),
        extents,
        steps: strides.to_vec(),
    });
    made.shape = made.extents.as_ptr();
    made.strides = made.steps.as_ptr();
    let made = Box::into_raw(made);
    // SAFETY: the pointer is that of a box, which `free` gets back.
    let capsule = unsafe { pyo3::ffi::PyCapsule_New(made.cast(), std::ptr::null(), Some(free)) };
    if capsule.is_null() {
        // SAFETY: no capsule has it.
        drop(unsafe { Box::from_raw(made) });
    }
    // SAFETY: a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}
