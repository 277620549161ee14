//! Arrays that Python objects share: one of the protocols, an element type, extents, strides.

use crate::ffi::{self, DlArray, Integer, Owner, Shared};
use crate::refusal::{Refusal, attempted};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::sync::Arc;
use wsp_core::DType;
use wsp_core::words::counted;
use wsp_diag::{Code, Diagnostic};
use wsp_memory::{View, ViewFault};
use wsp_plan::Array;
use wsp_trace::python::arrays::UNSUPPORTED_ELEMENT as UNSUPPORTED;
use wsp_trace::python::arrays::{BYTE_ORDER, DEVICE, LAYOUT, NOT_AN_ARRAY, REFUSED};

const NO_MEMORY: Code = Code(855);

/// DLPack's numbers of devices whose memory the processor reads and writes: main memory, and such that CUDA or ROCm pinned.
const HOST_DEVICES: [i32; 3] = [1, 3, 11];

/// An array as an object shares it.
pub(crate) struct PyArray {
    /// Its memory.
    shared: Shared,
    /// Type of the elements.
    pub(crate) dtype: DType,
}

/// What the elements of an array are.
enum Element {
    Of(DType),
    /// A type that no tensor can have, as the object names it.
    Other(String),
    /// A type of the other byte order.
    Swapped(String),
}

/// An array where an object shares it, to be read as a list of integers.
pub(crate) struct IntegerArray {
    shared: Shared,
    /// None for elements that are no integers.
    integer: Option<Integer>,
    what: String,
}

impl IntegerArray {
    /// The array that an object shares.
    ///
    /// # Errors
    /// No array, or one in the other byte order; `name` is what the caller calls it.
    pub(crate) fn of(name: &str, object: &Bound<'_, PyAny>) -> Result<IntegerArray, Refusal> {
        let (shared, element) = found(name, object)?;
        let (integer, what) = match element {
            Element::Of(dtype) => (Integer::of(dtype), dtype.name().to_owned()),
            Element::Swapped(what) => return Err(swapped(name, &what).into()),
            Element::Other(what) => (None, dtype_name(object).unwrap_or(what)),
        };
        Ok(IntegerArray { shared, integer, what })
    }

    /// Extents, outermost first.
    pub(crate) fn dims(&self) -> &[i64] {
        &self.shared.dims
    }

    /// What its elements are called.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// The elements, of one dimension, as they are at present; none for others, and where one does not fit.
    pub(crate) fn values(&self) -> Option<Vec<i64>> {
        let integer = self.integer.filter(|_| self.shared.dims.len() == 1)?;
        ffi::integers(&self.shared, integer, self.stride(integer)).collect()
    }

    /// Whether the elements, of one dimension, have these values at present.
    pub(crate) fn are(&self, values: &[i64]) -> bool {
        let elements = self.integer.map(|of| ffi::integers(&self.shared, of, self.stride(of)));
        elements.is_some_and(|elements| elements.eq(values.iter().copied().map(Some)))
    }

    fn stride(&self, integer: Integer) -> i64 {
        let stride = self.shared.strides.as_ref().and_then(|strides| strides.first().copied());
        stride.unwrap_or(integer.size() as i64)
    }
}

/// Which byte of a number comes first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteOrder {
    /// The least significant one.
    Little,
    /// The most significant one.
    Big,
}

impl ByteOrder {
    /// That of this machine.
    const NATIVE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

    /// What a format or a type string begins with; what says nothing is of this machine.
    fn of(sign: &str) -> ByteOrder {
        match sign {
            "<" => ByteOrder::Little,
            ">" | "!" => ByteOrder::Big,
            _ => ByteOrder::NATIVE,
        }
    }
}

impl PyArray {
    /// The array that an object shares, found by the buffer protocol, the array interface or DLPack, in this order.
    ///
    /// # Errors
    /// No array, or one that cannot be used; `name` is what the caller calls it.
    pub(crate) fn of(name: &str, object: &Bound<'_, PyAny>) -> Result<PyArray, Refusal> {
        let (shared, element) = found(name, object)?;
        Ok(PyArray::checked(name, object, shared, element)?)
    }

    /// Extents, outermost first.
    pub(crate) fn dims(&self) -> &[i64] {
        &self.shared.dims
    }

    /// Whether it may be written.
    pub(crate) fn writable(&self) -> bool {
        self.shared.writable
    }

    /// The view of the array for a run.
    ///
    /// # Errors
    /// A layout that cannot be used in place.
    pub(crate) fn view(&self, name: &str) -> Result<View, Diagnostic> {
        ffi::view(&self.shared, self.dtype, &self.strides()).map_err(|fault| layout(name, fault))
    }

    /// Where the elements lie, in whatever order: what a run claims.
    ///
    /// # Errors
    /// More dimensions than a tensor can have, or more bytes than can be addressed.
    pub(crate) fn place(&self, name: &str) -> Result<View, Diagnostic> {
        ffi::place(&self.shared, self.dtype, &self.strides()).map_err(|fault| layout(name, fault))
    }

    /// Whether a launch can use it where it lies: real numbers in row-major order. Integers are copied, as a plan remembers those
    /// that it was made for, and what has no elements has no place.
    pub(crate) fn is_plain(&self) -> bool {
        let aligned = self.shared.address.is_multiple_of(self.dtype.size());
        self.dtype.is_float() && aligned && self.is_dense() && self.shared.dims.iter().all(|&n| n > 0)
    }

    /// Whether its elements lie in row-major order without gaps.
    pub(crate) fn is_dense(&self) -> bool {
        let mut step = self.dtype.size() as i64;
        self.shared.dims.iter().zip(self.strides()).rev().all(|(&extent, stride)| {
            let fits = extent == 1 || stride == step;
            step = step.saturating_mul(extent);
            fits
        })
    }

    /// Extents as those of an array.
    fn shape(&self) -> Vec<u64> {
        self.shared.dims.iter().map(|&n| u64::try_from(n).unwrap_or(0)).collect()
    }

    /// A copy in row-major order.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(crate) fn to_array(&self, name: &str) -> Result<Array, Diagnostic> {
        let mut array = Array::zeros(self.dtype, &self.shape()).map_err(|_| {
            Diagnostic::error(NO_MEMORY, format!("there is no memory for a copy of array `{name}`"))
                .help(format!("give an array that is used where it lies: `np.ascontiguousarray({name})`"))
        })?;
        ffi::copy_from(&self.shared, &self.strides(), self.dtype.size(), array.bytes_mut());
        Ok(array)
    }

    /// Takes the elements of an array, which has the same type and shape; whether it has.
    pub(crate) fn copy_from(&self, array: &Array) -> bool {
        let same = self
            .shared
            .dims
            .iter()
            .map(|&n| u64::try_from(n).ok())
            .eq(array.shape().iter().map(|&n| Some(n)));
        let same = same && self.dtype == array.dtype() && self.shared.writable;
        if same {
            ffi::copy_to(&self.shared, &self.strides(), self.dtype.size(), array.bytes());
        }
        same
    }

    fn strides(&self) -> Vec<i64> {
        if let Some(strides) = &self.shared.strides {
            return strides.clone();
        }
        let mut strides = vec![self.dtype.size() as i64; self.shared.dims.len()];
        for d in (1..strides.len()).rev() {
            strides[d - 1] = strides[d].saturating_mul(self.shared.dims[d]);
        }
        strides
    }

    fn checked(
        name: &str,
        object: &Bound<'_, PyAny>,
        shared: Shared,
        element: Element,
    ) -> Result<PyArray, Diagnostic> {
        match element {
            Element::Of(dtype) => Ok(PyArray { shared, dtype }),
            Element::Swapped(what) => Err(swapped(name, &what)),
            Element::Other(what) => {
                Err(unsupported(name, object, what).help(format!("convert it: `{name}.astype(np.float32)`")))
            }
        }
    }
}

/// Where the elements lie of an array that an object shares, whatever they are; none of what is no array or cannot be addressed.
///
/// # Errors
/// What code of the object raised, where that is no `Exception`.
pub(crate) fn place_of(name: &str, object: &Bound<'_, PyAny>) -> Result<Option<View>, Refusal> {
    let (shared, element) = match found(name, object) {
        Err(refusal) if refusal.interrupts(object.py()) => return Err(refusal),
        Err(_) => return Ok(None),
        Ok(found) => found,
    };
    Ok(match element {
        Element::Of(dtype) => PyArray { shared, dtype }.place(name).ok(),
        Element::Other(_) | Element::Swapped(_) => None,
    })
}

/// The memory that an object shares and what its elements are, by the buffer protocol, the array interface or DLPack, in this
/// order.
fn found(name: &str, object: &Bound<'_, PyAny>) -> Result<(Shared, Element), Refusal> {
    if let Some(count) = masked_elements(object)? {
        return Err(masked(name, count).into());
    }
    // A buffer that is refused is tried again by the other protocols: NumPy has no formats for the types of others.
    let buffer = match ffi::buffer(object).map_err(|error| unshared(name, object, error)) {
        Err(refusal) if refusal.interrupts(object.py()) => return Err(refusal),
        buffer => buffer,
    };
    if let Ok(Some(buffer)) = buffer {
        let element = of_format(&buffer.format, buffer.itemsize);
        return Ok((buffer.shared, element));
    }
    if let Some((shared, element)) = interface(object).map_err(|error| unshared(name, object, error))? {
        return Ok((shared, element));
    }
    if let Some(array) = dlpack(name, object)? {
        let element = of_dlpack(&array);
        return Ok((array.shared, element));
    }
    Err(match buffer {
        Err(refusal) => refusal,
        Ok(_) => not_an_array(name, object).into(),
    })
}

fn swapped(name: &str, what: &str) -> Diagnostic {
    let message = format!("array `{name}` has elements of the other byte order (`{what}`)");
    Diagnostic::error(BYTE_ORDER, message)
        .help(format!("convert it: `{name}.astype({name}.dtype.newbyteorder(\"=\"))`"))
}

/// A type of elements that no tensor can have.
fn unsupported(name: &str, object: &Bound<'_, PyAny>, what: String) -> Diagnostic {
    let what = dtype_name(object).unwrap_or(what);
    let known = DType::ALL.map(DType::name).join(", ");
    let message = format!("array `{name}` has elements of type `{what}`, which no tensor can have");
    Diagnostic::error(UNSUPPORTED, message).note(format!("element types of tensors: {known}"))
}

/// How many elements count as absent, which the protocols do not tell: those of NumPy's `MaskedArray`. None where none does; nothing where it does not say.
fn masked_elements(object: &Bound<'_, PyAny>) -> PyResult<Option<Option<u64>>> {
    /// `numpy.ndarray`, whose arrays have no attributes of their own.
    static PLAIN: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let (py, kind) = (object.py(), object.get_type());
    // What is not there costs most of what an array costs.
    if PLAIN.get(py).is_some_and(|plain| kind.is(plain)) {
        return Ok(None);
    }
    if kind.fully_qualified_name().is_ok_and(|name| name == "numpy.ndarray") {
        let _ = PLAIN.set(py, kind.unbind());
        return Ok(None);
    }
    let has = |name| attempted(py, object.hasattr(name)).map(|has| has.unwrap_or(false));
    if !has("mask")? || !has("filled")? {
        return Ok(None);
    }
    // Whether there is one is known in a hundredth of the time that counting takes.
    let counted = || -> PyResult<u64> {
        let mask = object.getattr("mask")?;
        if !mask.call_method0("any")?.is_truthy()? {
            return Ok(0);
        }
        mask.call_method0("sum")?.extract()
    };
    let count = attempted(py, counted())?;
    Ok((count != Some(0)).then_some(count))
}

fn masked(name: &str, count: Option<u64>) -> Diagnostic {
    let elements = count.map_or("a mask".to_owned(), |count| counted(count, "masked element").to_string());
    let message = format!("array `{name}` has {elements}, and elements of tensors have no mask");
    Diagnostic::error(REFUSED, message).help(format!(
        "give all elements, `{name}.data`, or values for those that are masked, `{name}.filled(0)`"
    ))
}

/// An object whose protocol raised an error.
fn unshared(name: &str, object: &Bound<'_, PyAny>, error: PyErr) -> Refusal {
    let fault = refused(name, &error.to_string());
    Refusal::caused(object.py(), fault, error)
}

fn refused(name: &str, reason: &str) -> Diagnostic {
    let fault = Diagnostic::error(REFUSED, format!("array `{name}` does not share its elements"));
    let fault = fault.note(reason.to_owned());
    if reason.contains("grad") {
        fault.help(format!("`{name}.detach()` is the same memory without gradients"))
    } else if reason.contains("negatives") {
        fault.help(format!("compute them: `{name}.resolve_neg()`"))
    } else {
        fault.help("give an array in main memory, such as a NumPy array")
    }
}

fn not_an_array(name: &str, object: &Bound<'_, PyAny>) -> Diagnostic {
    let given = type_name(object);
    let fault = Diagnostic::error(NOT_AN_ARRAY, format!("`{name}` is no array, but `{given}`"));
    match given.as_str() {
        "list" | "tuple" | "int" | "float" => {
            fault.help(format!("make it one: `{name} = np.asarray({name}, dtype=np.float32)`"))
        }
        "str" | "Path" | "PosixPath" => fault.help(format!("give the array of the file: `{name} = np.load(path)`")),
        "dict" => fault.help(format!(
            "give one array; a dictionary of arguments is unpacked: `program.execute(**{name})`"
        )),
        "set" | "frozenset" => fault.help(format!(
            "a set has no order; make it an array: `{name} = np.array(sorted({name}), dtype=np.float32)`, or \
             `np.uint32` for integers"
        )),
        _ => fault.help(
            "give an object with the buffer protocol, `__array_interface__` or `__dlpack__`, such as a NumPy array or a \
             CPU tensor of PyTorch",
        ),
    }
}

fn layout(name: &str, fault: ViewFault) -> Diagnostic {
    let message = format!("array `{name}` cannot be used where it lies: {fault}");
    let diagnostic = Diagnostic::error(LAYOUT, message);
    match fault {
        ViewFault::NegativeStride { .. } | ViewFault::UnevenStride { .. } => {
            diagnostic.help(format!("copy it first: `{name} = np.ascontiguousarray({name})`"))
        }
        _ => diagnostic,
    }
}

/// The name of an object's type.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// The name of `object.dtype`, where it has one: `bfloat16`, `torch.complex64`.
fn dtype_name(object: &Bound<'_, PyAny>) -> Option<String> {
    let dtype = object.getattr("dtype").ok()?;
    let name = dtype.getattr("name").or_else(|_| dtype.str().map(Bound::into_any)).ok()?;
    name.extract().ok()
}

/// What a format of module `struct` says of elements of this many bytes.
fn of_format(format: &str, size: usize) -> Element {
    let (order, code) = match format.split_at_checked(1) {
        Some((order @ ("@" | "=" | "<" | ">" | "!"), code)) => (order, code),
        _ => ("@", format),
    };
    let kind = match code {
        "?" => 'b',
        "b" | "h" | "i" | "l" | "q" | "n" => 'i',
        "B" | "H" | "I" | "L" | "Q" | "N" => 'u',
        "e" | "f" | "d" => 'f',
        _ => return Element::Other(format.to_owned()),
    };
    of_kind(kind, size, ByteOrder::of(order), format)
}

/// An ordinary number: `i`, `u`, `f` or, for truth values, `b`, and its bytes.
fn of_kind(kind: char, size: usize, order: ByteOrder, text: &str) -> Element {
    let dtype = match (kind, size) {
        ('f', 2) => DType::F16,
        ('f', 4) => DType::F32,
        ('f', 8) => DType::F64,
        ('u', 1) => DType::U8,
        ('u', 2) => DType::U16,
        ('u', 4) => DType::U32,
        ('u', 8) => DType::U64,
        ('i', 4) => DType::I32,
        ('i', 8) => DType::I64,
        ('i', 1) => DType::I8,
        ('i', 2) => DType::I16,
        ('b', 1) => DType::Bool,
        _ => return Element::Other(text.to_owned()),
    };
    if order != ByteOrder::NATIVE && size > 1 {
        return Element::Swapped(text.to_owned());
    }
    Element::Of(dtype)
}

/// What `__array_interface__` states; none for an object without it.
fn interface(object: &Bound<'_, PyAny>) -> PyResult<Option<(Shared, Element)>> {
    let Some(found) = object.getattr_opt("__array_interface__")? else { return Ok(None) };
    let stated = found.cast::<PyDict>().map_err(PyErr::from)?;
    let required = |key: &str| {
        let missing =
            || pyo3::exceptions::PyValueError::new_err(format!("`__array_interface__` has no `{key}`"));
        stated.get_item(key)?.filter(|value| !value.is_none()).ok_or_else(missing)
    };
    let dims: Vec<i64> = required("shape")?.extract()?;
    let (address, read_only): (usize, bool) = required("data")?.extract()?;
    let text: String = required("typestr")?.extract()?;
    let strides = stated.get_item("strides")?.filter(|strides| !strides.is_none());
    let strides = strides.map(|strides| strides.extract::<Vec<i64>>()).transpose()?;
    let owner: Owner = Arc::new((object.clone().unbind(), found.unbind()));
    let element = of_typestr(&text, dtype_name(object).as_deref());
    Ok(Some((Shared { address, dims, strides, writable: !read_only, owner }, element)))
}

/// What a type string such as `<f4` says; `name` is that of the object's `dtype`.
fn of_typestr(text: &str, name: Option<&str>) -> Element {
    let parts = (text.get(..1), text.get(1..2), text.get(2..).and_then(|size| size.parse::<usize>().ok()));
    match parts {
        (Some(_), Some("V"), Some(2)) if name == Some("bfloat16") => Element::Of(DType::Bf16),
        (Some(_), Some("V" | "f"), Some(1)) if name == Some("float8_e4m3fn") => Element::Of(DType::F8E4m3),
        (Some(_), Some("V" | "f"), Some(1)) if name == Some("float8_e5m2") => Element::Of(DType::F8E5m2),
        (Some(order), Some(kind @ ("i" | "u" | "f" | "b")), Some(size)) => {
            of_kind(kind.chars().next().unwrap_or('V'), size, ByteOrder::of(order), text)
        }
        _ => Element::Other(text.to_owned()),
    }
}

/// What an object hands over by DLPack; none for an object without it.
fn dlpack(name: &str, object: &Bound<'_, PyAny>) -> Result<Option<DlArray>, Refusal> {
    let fault = |error: PyErr| unshared(name, object, error);
    let Some(share) = object.getattr_opt("__dlpack__").map_err(fault)? else { return Ok(None) };
    if let Some(device) = object.getattr_opt("__dlpack_device__").map_err(fault)? {
        let device: (i32, i32) = device.call0().and_then(|found| found.extract()).map_err(fault)?;
        on_host(name, device.0)?;
    }
    if is_negated(object)? {
        return Err(refused(name, "its elements are the negatives of those in its memory").into());
    }
    let py = object.py();
    let versioned = PyDict::new(py);
    versioned.set_item("max_version", PyTuple::new(py, [1, 0]).map_err(fault)?).map_err(fault)?;
    let capsule = match share.call((), Some(&versioned)) {
        // A producer that knows no versions.
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) => share.call0(),
        called => called,
    };
    let array = ffi::dlpack(&capsule.map_err(fault)?).map_err(|reason| refused(name, &reason))?;
    on_host(name, array.device)?;
    if array.copied {
        return Err(refused(name, "it hands over a copy, which it does not see itself").into());
    }
    Ok(Some(array))
}

/// Whether a tensor of PyTorch is a view whose elements are negated when it is read, as the imaginary part of a conjugate is: DLPack hands
/// over the memory alone.
fn is_negated(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let asked = || object.getattr_opt("is_neg")?.map_or(Ok(false), |is_neg| is_neg.call0()?.is_truthy());
    Ok(attempted(object.py(), asked())?.unwrap_or(false))
}

fn on_host(name: &str, device: i32) -> Result<(), Diagnostic> {
    if HOST_DEVICES.contains(&device) {
        return Ok(());
    }
    let what = match device {
        2 | 13 => "a CUDA device",
        4 => "an OpenCL device",
        7 => "a Vulkan device",
        8 => "a Metal device",
        10 => "a ROCm device",
        _ => "a device",
    };
    let message = format!("array `{name}` lies in the memory of {what} (number {device} of DLPack)");
    Err(Diagnostic::error(DEVICE, message).help(format!("copy it to main memory: `{name}.cpu()`")))
}

fn of_dlpack(array: &DlArray) -> Element {
    let size = usize::from(array.bits) / 8;
    let text = |kind: &str| {
        let lanes = if array.lanes == 1 { String::new() } else { format!("x{}", array.lanes) };
        format!("{kind}{}{lanes}", array.bits)
    };
    let native = |kind, name: &str| of_kind(kind, size, ByteOrder::NATIVE, &text(name));
    match (array.code, array.lanes, array.bits % 8) {
        (0, 1, 0) => native('i', "int"),
        (1, 1, 0) => native('u', "uint"),
        (2, 1, 0) => native('f', "float"),
        (4, 1, 0) if array.bits == 16 => Element::Of(DType::Bf16),
        (5, ..) => Element::Other(text("complex")),
        (6, 1, 0) => native('b', "bool"),
        (code, ..) => Element::Other(text(&format!("type {code} of DLPack, "))),
    }
}
