//! Kernels that are Python functions: called for each task with views of its regions.

use crate::direct::Direct;
use crate::ffi::{NumPy, Owner, array_struct, holder, stay_known, within_task};
use crate::turns::Turn;
use pto_wsp::workload::{KernelCx, KernelFault};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;
use wsp_core::DType;
use wsp_memory::{View, ViewAccess};
use wsp_plan::Array;

/// Regions of a task, dimensions of one and coordinates for which no memory is taken.
pub(crate) const INLINE: usize = 4;

/// Elements in memory: the region of a tensor that a task was given, where it lies, or an array that a run made.
///
/// It has `__array_interface__`, so that `numpy.asarray` makes an array of it without a copy. It holds the memory.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct KernelArray {
    address: usize,
    dtype: DType,
    dims: SmallVec<[usize; INLINE]>,
    strides: SmallVec<[isize; INLINE]>,
    writable: bool,
    /// Keeps the memory from going away while Python holds this.
    owner: Owner,
}

impl KernelArray {
    /// The elements of a view. Of its dimensions those of `keep` are seen, where that is given: the others have one index.
    fn new(view: View, keep: Option<&Vec<usize>>) -> KernelArray {
        let (shape, strides) = (view.shape(), view.strides());
        let seen = || (0..shape.len()).filter(|d| keep.is_none_or(|keep| keep.contains(d)));
        KernelArray {
            address: view.ptr() as usize,
            dtype: view.dtype(),
            dims: seen().map(|d| shape[d] as usize).collect(),
            // No stride exceeds the span of its array, which is at most `isize::MAX`.
            strides: seen().map(|d| strides[d].cast_signed()).collect(),
            writable: view.access() == ViewAccess::ReadWrite,
            owner: view.into_buffer(),
        }
    }

    /// The array of NumPy over it, which holds the memory.
    ///
    /// # Errors
    /// NumPy's refusal.
    pub(crate) fn numpy<'py>(self, py: Python<'py>, numpy: &NumPy) -> PyResult<Bound<'py, PyAny>> {
        let KernelArray { address, dtype, dims, strides, writable, owner } = self;
        numpy.array(holder(py, owner)?, (address, dtype), &dims, &strides, writable)
    }

    /// An array that nobody else has.
    pub(crate) fn owning(mut array: Array) -> KernelArray {
        let address = array.bytes_mut().as_mut_ptr() as usize;
        let dtype = array.dtype();
        let dims: Vec<usize> = array.shape().iter().map(|&n| n as usize).collect();
        KernelArray::dense(address, dtype, dims, true, Arc::new(array))
    }

    /// Elements that lie next to each other, in row-major order, in memory of `owner`.
    pub(crate) fn dense(
        address: usize,
        dtype: DType,
        dims: Vec<usize>,
        writable: bool,
        owner: Owner,
    ) -> KernelArray {
        let mut strides = vec![dtype.size() as isize; dims.len()];
        for d in (1..dims.len()).rev() {
            strides[d - 1] = strides[d] * dims[d] as isize;
        }
        let (dims, strides) = (dims.into(), strides.into());
        KernelArray { address, dtype, dims, strides, writable, owner }
    }
}

#[pymethods]
impl KernelArray {
    /// What NumPy asks for: version 3 of the array interface. Elements of bf16 are opaque there (`<V2`).
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, &self.dims)?)?;
        interface.set_item("typestr", typestr(self.dtype))?;
        interface.set_item("data", (self.address, !self.writable))?;
        interface.set_item("strides", PyTuple::new(py, &self.strides)?)?;
        Ok(interface)
    }

    /// The same as a structure of C, which NumPy asks for first.
    #[getter]
    fn __array_struct__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let kind = typestr(self.dtype).as_bytes()[1];
        array_struct(py, (self.address, kind, self.dtype.size()), &self.dims, &self.strides, self.writable)
    }

    /// Name of the element type, such as `f32`.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.dtype.name()
    }

    /// Elements along each dimension.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.dims)
    }

    /// Bytes between neighbours along each dimension.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.strides)
    }

    /// Whether the kernel may only read it.
    #[getter]
    fn readonly(&self) -> bool {
        !self.writable
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.dims.iter().product::<usize>() * self.dtype.size()
    }

    /// Address of the first element.
    #[getter]
    fn address(&self) -> usize {
        self.address
    }

    fn __repr__(&self) -> String {
        format!("KernelArray({}{:?})", self.dtype, self.dims)
    }
}

/// The type as the array interface writes it.
fn typestr(dtype: DType) -> &'static str {
    match (dtype, cfg!(target_endian = "big")) {
        (DType::F32, false) => "<f4",
        (DType::F64, false) => "<f8",
        (DType::F16, false) => "<f2",
        (DType::Bf16, _) => "|V2",
        (DType::F8E4m3 | DType::F8E5m2, _) => "|V1",
        (DType::U8, _) => "|u1",
        (DType::I8, _) => "|i1",
        (DType::Bool, _) => "|b1",
        (DType::I16, false) => "<i2",
        (DType::I16, true) => ">i2",
        (DType::U16, false) => "<u2",
        (DType::I32, false) => "<i4",
        (DType::U32, false) => "<u4",
        (DType::I64, false) => "<i8",
        (DType::U64, false) => "<u8",
        (DType::F32, true) => ">f4",
        (DType::F64, true) => ">f8",
        (DType::F16, true) => ">f2",
        (DType::U16, true) => ">u2",
        (DType::I32, true) => ">i4",
        (DType::U32, true) => ">u4",
        (DType::I64, true) => ">i8",
        (DType::U64, true) => ">u8",
    }
}

thread_local! {
    /// Coordinates of the task whose function runs on this thread.
    static COORDINATES: RefCell<Option<Coords>> = const { RefCell::new(None) };
}

type Coords = SmallVec<[i64; INLINE]>;

/// A task has its coordinates until this is dropped; then the task around it has its own again.
struct Coordinates(Option<Coords>);

impl Coordinates {
    fn begin(coordinates: &[i64]) -> Coordinates {
        Coordinates(COORDINATES.replace(Some(coordinates.into())))
    }
}

impl Drop for Coordinates {
    fn drop(&mut self) {
        COORDINATES.set(self.0.take());
    }
}

/// Coordinates of the task whose Python kernel runs on this thread; none outside of tasks.
#[pyfunction]
pub(crate) fn task_coords() -> Option<Vec<i64>> {
    COORDINATES.with_borrow(|coordinates| coordinates.as_ref().map(|given| given.to_vec()))
}

/// A function that runs the tasks of a kernel.
pub(crate) struct Function {
    callable: Py<PyAny>,
    /// Dimensions of each array that it sees; all where it does not say.
    keep: Vec<Vec<usize>>,
    /// Coordinates of its tasks, the first of its scalars.
    ncoords: usize,
    /// The function of the user, where it can be called with arrays of NumPy.
    direct: Option<Direct>,
}

impl<'py> FromPyObject<'_, 'py> for Function {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Function> {
        let keep = object.getattr_opt("keep")?.map(|keep| keep.extract()).transpose()?;
        let ncoords = object.getattr_opt("ncoords")?.map(|ncoords| ncoords.extract()).transpose()?;
        let direct = object.getattr_opt("direct")?.filter(|direct| !direct.is_none());
        Ok(Function {
            callable: object.to_owned().unbind(),
            keep: keep.unwrap_or_default(),
            ncoords: ncoords.unwrap_or_default(),
            direct: direct.map(|direct| direct.extract()).transpose()?,
        })
    }
}

impl Function {
    /// Shows what it holds to Python's collector of cycles.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.callable)?;
        self.direct.iter().try_for_each(|direct| direct.traverse(visit))
    }
}

/// What a function is given of the regions of a task.
type Views = SmallVec<[KernelArray; INLINE]>;

/// Calls a function for a task: `callable(views, scalars)`, two tuples in declared order, or the function of the user itself.
///
/// # Errors
/// What the function raises, as the payload of the fault.
pub(crate) fn call(function: &Function, cx: &KernelCx<'_>) -> Result<(), KernelFault> {
    let Function { callable, keep, ncoords, direct } = function;
    // The package calls a function twice that may look at what an `Out` of integers holds.
    let view = |n| Ok(KernelArray::new(cx.view_unread(n)?, keep.get(n)));
    let views: Views = (0..cx.regions().len()).map(view).collect::<Result<_, KernelFault>>()?;
    let _turn = Turn::wait();
    let called = Python::try_attach(|py| {
        stay_known(py);
        let _coordinates = Coordinates::begin(cx.scalars().get(..*ncoords).unwrap_or_default());
        within_task(|| {
            let run = || -> PyResult<()> {
                let views = views.into_iter();
                if let Some((direct, numpy)) = direct.as_ref().zip(NumPy::get(py)) {
                    let arrays = views.map(|view| view.numpy(py, numpy)).collect::<PyResult<_>>()?;
                    return direct.call(py, arrays, cx.scalars());
                }
                let views = views.map(|view| Bound::new(py, view)).collect::<PyResult<Vec<_>>>()?;
                let views = PyTuple::new(py, views)?;
                callable.call1(py, (views, PyTuple::new(py, cx.scalars())?))?;
                Ok(())
            };
            run().map_err(|error| KernelFault::with_payload(summary(py, &error), Arc::new(error)))
        })
    });
    called.unwrap_or_else(|| Err("the Python interpreter is shutting down".into()))
}

/// What was raised and where: `ZeroDivisionError: division by zero (decode.py:14)`.
pub(crate) fn summary(py: Python<'_>, error: &PyErr) -> String {
    let place = place(py, error).unwrap_or_default();
    format!("{error}{place}")
}

/// The file and line at which it was raised.
fn place(py: Python<'_>, error: &PyErr) -> Option<String> {
    let mut traceback = error.traceback(py)?.into_any();
    while let Ok(next) = traceback.getattr("tb_next") {
        if next.is_none() {
            break;
        }
        traceback = next;
    }
    let line: u32 = traceback.getattr("tb_lineno").ok()?.extract().ok()?;
    let code = traceback.getattr("tb_frame").ok()?.getattr("f_code").ok()?;
    let file: String = code.getattr("co_filename").ok()?.extract().ok()?;
    Some(format!(" ({file}:{line})"))
}
