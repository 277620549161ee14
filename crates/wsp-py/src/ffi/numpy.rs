//! Arrays of NumPy over memory that an object holds, made by NumPy's interface in C: `numpy.asarray` takes a microsecond for each.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{PyCapsule_GetPointer, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::ffi::{c_int, c_uint, c_void};
use wsp_core::{DType, MAX_RANK};

/// `PyArray_GetNDArrayCVersion`.
type Version = unsafe extern "C" fn() -> c_uint;
/// `PyArray_NewFromDescr`: type, element type (whose reference it takes), rank, extents, strides, address, flags, prototype.
type New = unsafe extern "C" fn(
    *mut PyObject,
    *mut PyObject,
    c_int,
    *const isize,
    *const isize,
    *mut c_void,
    c_int,
    *mut PyObject,
) -> *mut PyObject;
/// `PyArray_SetBaseObject`: array, and what holds its memory (whose reference it takes).
type SetBase = unsafe extern "C" fn(*mut PyObject, *mut PyObject) -> c_int;

/// Places in the table `_ARRAY_API`, the same in NumPy 1 and 2.
const VERSION: usize = 0;
const ARRAY_TYPE: usize = 2;
const NEW: usize = 94;
const SET_BASE: usize = 282;

/// `NPY_ARRAY_WRITEABLE`.
const WRITEABLE: c_int = 0x0400;

/// What makes arrays.
pub(crate) struct NumPy {
    new: New,
    set_base: SetBase,
    /// The type `numpy.ndarray`.
    array: Py<PyAny>,
    /// Element types, in the order of [`DType::ALL`].
    types: [PyOnceLock<Py<PyAny>>; DType::ALL.len()],
}

impl NumPy {
    /// NumPy, where it is installed and its version has the interface.
    pub(crate) fn get(py: Python<'_>) -> Option<&'static NumPy> {
        static FOUND: PyOnceLock<NumPy> = PyOnceLock::new();
        FOUND.get_or_try_init(py, || NumPy::find(py).ok_or(())).ok()
    }

    fn find(py: Python<'_>) -> Option<NumPy> {
        let module = py.import("numpy._core._multiarray_umath");
        let module = module.or_else(|_| py.import("numpy.core._multiarray_umath")).ok()?;
        let capsule = module.getattr("_ARRAY_API").ok()?;
        // SAFETY: the object is alive; of what is no such capsule the answer is null, with an error set.
        let table = unsafe { PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()) }.cast::<*mut c_void>();
        if table.is_null() {
            drop(PyErr::take(py));
            return None;
        }
        // SAFETY: the table of NumPy lives as long as the process, and its first entry is this function in all versions.
        let version = unsafe { std::mem::transmute::<*mut c_void, Version>(*table.add(VERSION))() };
        if !matches!(version >> 24, 1 | 2) {
            return None;
        }
        // SAFETY: in versions 1 and 2 these entries are the type of arrays, which is alive, and functions of these types.
        unsafe {
            Some(NumPy {
                new: std::mem::transmute::<*mut c_void, New>(*table.add(NEW)),
                set_base: std::mem::transmute::<*mut c_void, SetBase>(*table.add(SET_BASE)),
                array: Bound::from_borrowed_ptr(py, (*table.add(ARRAY_TYPE)).cast()).unbind(),
                types: [const { PyOnceLock::new() }; DType::ALL.len()],
            })
        }
    }

    /// The element type, an instance of `numpy.dtype`.
    fn element<'s, 'py>(&'s self, py: Python<'py>, dtype: DType) -> PyResult<&'s Bound<'py, PyAny>> {
        let found = self.types[dtype as usize].get_or_try_init(py, || {
            let found = py.import("pto_wsp._arrays")?.call_method1("element_type", (dtype.name(),))?;
            let is_type = found.is_instance(&py.import("numpy")?.getattr("dtype")?)?;
            if !is_type || found.getattr("itemsize")?.extract::<usize>()? != dtype.size() {
                return Err(PyTypeError::new_err(format!("{found} is no type of {dtype}")));
            }
            Ok(found.unbind())
        })?;
        Ok(found.bind(py))
    }

    /// An array of elements at an address, which `holder` keeps alive: of [`MAX_RANK`] dimensions at most, `strides` bytes apart.
    ///
    /// # Errors
    /// NumPy's refusal.
    pub(crate) fn array<'py>(
        &self,
        holder: Bound<'py, PyAny>,
        (address, dtype): (usize, DType),
        dims: &[usize],
        strides: &[isize],
        writable: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = holder.py();
        let element = self.element(py, dtype)?.clone();
        let mut extents = [0; MAX_RANK];
        let rank = dims.len();
        assert!(rank == strides.len(), "an array should have as many strides as extents");
        for (extent, dim) in extents[..rank].iter_mut().zip(dims) {
            *extent = dim.cast_signed();
        }
        let (extents, strides, at) = (extents.as_ptr(), strides.as_ptr(), address as *mut c_void);
        let (of, flags) = (self.array.as_ptr(), if writable { WRITEABLE } else { 0 });
        // SAFETY: type and element type are what NumPy asks for, and there are `rank` extents and strides; the elements lie so while `holder`
        // is alive. The interpreter is attached.
        let array = unsafe {
            let element = element.into_ptr();
            let null = std::ptr::null_mut();
            let made = (self.new)(of, element, rank as c_int, extents, strides, at, flags, null);
            Bound::from_owned_ptr_or_err(py, made)?
        };
        // SAFETY: it is an array, made just now, without a base.
        if unsafe { (self.set_base)(array.as_ptr(), holder.into_ptr()) } != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array)
    }
}
