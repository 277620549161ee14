//! Memory of other libraries: the buffer protocol and DLPack, consumed without a copy.
//!
//! All `unsafe` of this crate is here. What is trusted: that an object which hands out an address under one of the protocols
//! keeps its promise, namely that the memory has the extents and strides stated for as long as the object (or the
//! buffer, or the tensor handed over) is held. Everything else is checked by [`super::arrays`].
#![allow(unsafe_code, reason = "the one place that takes addresses from Python objects, by their protocols")]

mod array_struct;
mod holder;
mod numpy;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi::{PyErr_Clear, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use wsp_core::DType;
use wsp_memory::{Space, View, ViewAccess, ViewFault};

pub(crate) use array_struct::array_struct;
pub(crate) use holder::holder;
pub(crate) use numpy::NumPy;
pub(crate) use wsp_memory::Owner;

/// Memory that some object shares, as its protocol states it.
pub(crate) struct Shared {
    /// Address of the element with all indices 0.
    pub(crate) address: usize,
    /// Elements along each dimension, outermost first.
    pub(crate) dims: Vec<i64>,
    /// Bytes between neighbours along each dimension; none for row-major order without gaps.
    pub(crate) strides: Option<Vec<i64>>,
    /// Whether it may be written.
    pub(crate) writable: bool,
    /// Keeps it alive.
    pub(crate) owner: Owner,
}

/// The view of an array for a run.
///
/// # Errors
/// What [`View::new`] refuses.
pub(crate) fn view(shared: &Shared, dtype: DType, strides: &[i64]) -> Result<View, ViewFault> {
    let dims: Vec<u64> = shared.dims.iter().map(|&n| u64::try_from(n).unwrap_or(0)).collect();
    let bytes = View::span_of(dtype, &dims, strides)?;
    let at = match NonNull::new(shared.address as *mut u8) {
        Some(at) => at,
        // What has no elements may have no address.
        None if bytes == 0 => NonNull::dangling(),
        None => return Err(ViewFault::Null),
    };
    let access = if shared.writable { ViewAccess::ReadWrite } else { ViewAccess::ReadOnly };
    // SAFETY: by the protocol that stated them, elements of one piece of memory lie so while the owner is held, and may be written where
    // `writable` says so. Who writes them besides runs is the caller's business, as for every array library.
    let buffer = unsafe { wsp_memory::Buffer::new(shared.owner.clone(), at, bytes, access, Space::Host) };
    View::new(buffer, 0, dtype, &dims, strides)
}

/// Runs a kernel that is a Python function on this thread: what it runs itself is a part of its task, and makes no claims on arrays.
pub(crate) fn within_task<R>(kernel: impl FnOnce() -> R) -> R {
    // SAFETY: a function has the regions of its task, and what it got hold of before. That other tasks do not use what it writes is a duty
    // of its author, as for every function that is called on several threads. What it runs is waited for: a run that may
    // go on is refused inside of a task (`runs::may_go_on`).
    unsafe { wsp_memory::within_task(kernel) }
}

thread_local! {
    /// Whether this thread has a state of the interpreter that it keeps.
    static KNOWN: Cell<bool> = const { Cell::new(false) };
}

/// Keeps what the interpreter has for this thread until the interpreter goes: a thread that runs one task after another would have it made
/// and thrown away for each. Called with the interpreter attached.
pub(crate) fn stay_known(_: Python<'_>) {
    if !KNOWN.replace(true) {
        // SAFETY: the interpreter is attached, and one more use of the state of this thread is counted, which is never given back.
        let _ = unsafe { pyo3::ffi::PyGILState_Ensure() };
    }
}

/// The memory of an array whose elements may lie backwards or at any distance, to be compared with that of others.
///
/// # Errors
/// As [`view`], but for negative and uneven strides.
pub(crate) fn place(shared: &Shared, dtype: DType, strides: &[i64]) -> Result<View, ViewFault> {
    let (size, mut address) = (dtype.size() as i64, shared.address);
    for (&extent, &stride) in shared.dims.iter().zip(strides).filter(|(_, stride)| **stride < 0) {
        // The last element along the dimension lies first.
        address = address.wrapping_add_signed(stride.wrapping_mul((extent - 1).max(0)) as isize);
    }
    let mut dims = shared.dims.clone();
    let mut forwards: Vec<i64> = strides.iter().map(|stride| stride.saturating_abs()).collect();
    let owner = shared.owner.clone();
    let is_even = forwards.iter().all(|stride| stride % size == 0);
    if !is_even {
        dims.push(size);
        forwards.push(1);
    }
    let bytes = Shared { address, dims, strides: None, writable: shared.writable, owner };
    view(&bytes, if is_even { dtype } else { DType::U8 }, &forwards)
}

/// `Py_buffer`. Its layout is part of the stable interface from Python 3.11 on, and was the same in 3.10.
#[repr(C)]
struct RawBuffer {
    buf: *mut c_void,
    obj: *mut PyObject,
    len: isize,
    itemsize: isize,
    readonly: c_int,
    ndim: c_int,
    format: *mut c_char,
    shape: *mut isize,
    strides: *mut isize,
    suboffsets: *mut isize,
    internal: *mut c_void,
}

unsafe extern "C" {
    fn PyObject_CheckBuffer(object: *mut PyObject) -> c_int;
    fn PyObject_GetBuffer(object: *mut PyObject, view: *mut RawBuffer, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut RawBuffer);
}

/// `PyBUF_STRIDES | PyBUF_FORMAT`: strided memory with a format, read-only allowed, no pointers to pointers.
const RECORDS_READ_ONLY: c_int = 0x0018 | 0x0004;

/// A buffer that is held; given back when it is dropped.
struct HeldBuffer(Box<RawBuffer>);

// SAFETY: the buffer is only read, and given back with the interpreter attached.
unsafe impl Send for HeldBuffer {}
// SAFETY: as above; nothing is written through a shared reference.
unsafe impl Sync for HeldBuffer {}

impl Drop for HeldBuffer {
    fn drop(&mut self) {
        let raw: *mut RawBuffer = &mut *self.0;
        // Without an interpreter there is nobody left to give it back to.
        // SAFETY: it was filled by `PyObject_GetBuffer` and is given back once; the interpreter is attached.
        Python::try_attach(|_| unsafe { PyBuffer_Release(raw) });
    }
}

/// What an object shares under the buffer protocol.
pub(crate) struct Exported {
    /// The memory.
    pub(crate) shared: Shared,
    /// Format of an element as module `struct` writes it.
    pub(crate) format: String,
    /// Bytes per element.
    pub(crate) itemsize: usize,
}

/// What an object shares under the buffer protocol; none when it does not have it.
///
/// # Errors
/// The object's refusal.
pub(crate) fn buffer(object: &Bound<'_, PyAny>) -> PyResult<Option<Exported>> {
    // SAFETY: the object is alive, and the interpreter is attached.
    if unsafe { PyObject_CheckBuffer(object.as_ptr()) } == 0 {
        return Ok(None);
    }
    let mut raw = Box::new(RawBuffer {
        buf: std::ptr::null_mut(),
        obj: std::ptr::null_mut(),
        len: 0,
        itemsize: 0,
        readonly: 0,
        ndim: 0,
        format: std::ptr::null_mut(),
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        suboffsets: std::ptr::null_mut(),
        internal: std::ptr::null_mut(),
    });
    // SAFETY: the object is alive, `raw` is a whole `Py_buffer`, and the interpreter is attached.
    if unsafe { PyObject_GetBuffer(object.as_ptr(), &mut *raw, RECORDS_READ_ONLY) } != 0 {
        return Err(PyErr::take(object.py()).unwrap_or_else(|| PyBufferError::new_err("it shares no buffer")));
    }
    let held = HeldBuffer(raw);
    let raw = &held.0;
    let rank = usize::try_from(raw.ndim).unwrap_or(0);
    let itemsize = usize::try_from(raw.itemsize).unwrap_or(0);
    // SAFETY: `shape` and `strides`, where they are not null, have `ndim` entries while the buffer is held.
    let (shape, strides) = unsafe { (numbers(raw.shape, rank), numbers(raw.strides, rank)) };
    let dims = shape.unwrap_or_else(|| vec![(raw.len / raw.itemsize.max(1)) as i64; rank.min(1)]);
    let format = if raw.format.is_null() {
        "B".to_owned()
    } else {
        // SAFETY: a format is a C string that lives while the buffer is held.
        unsafe { CStr::from_ptr(raw.format) }.to_string_lossy().into_owned()
    };
    let (address, writable) = (raw.buf as usize, raw.readonly == 0);
    let shared = Shared { address, dims, strides, writable, owner: Arc::new(held) };
    Ok(Some(Exported { shared, format, itemsize }))
}

/// The numbers of a C array; none for a null pointer.
///
/// # Safety
/// `from` is null or points to `count` numbers.
unsafe fn numbers(from: *const isize, count: usize) -> Option<Vec<i64>> {
    // SAFETY: by the contract above.
    (!from.is_null()).then(|| (0..count).map(|i| unsafe { *from.add(i) } as i64).collect())
}

/// `DLTensor` of DLPack 1.0.
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// `DLManagedTensor`: what capsules of name `dltensor` hold.
#[repr(C)]
struct DlManaged {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DlManaged)>,
}

/// `DLManagedTensorVersioned`: what capsules of name `dltensor_versioned` hold.
#[repr(C)]
struct DlManagedVersioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DlManagedVersioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// The only major version of DLPack's layout that is known.
const DLPACK_MAJOR: u32 = 1;
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

/// A tensor that was handed over; deleted when it is dropped.
enum HeldTensor {
    Plain(*mut DlManaged),
    Versioned(*mut DlManagedVersioned),
}

// SAFETY: after it is handed over, DLPack lets any thread delete the tensor, once; nothing else is done with it.
unsafe impl Send for HeldTensor {}
// SAFETY: as above; nothing is done through a shared reference.
unsafe impl Sync for HeldTensor {}

impl Drop for HeldTensor {
    fn drop(&mut self) {
        // Deleters of Python libraries may need the interpreter; without one there is nobody left to give it back to.
        Python::try_attach(|_| match *self {
            // SAFETY: the tensor was taken from its capsule, which is marked as used, so that this is its only deletion.
            HeldTensor::Plain(tensor) => unsafe { (*tensor).deleter.map(|delete| delete(tensor)) },
            // SAFETY: as above. The deleter stands at the same place in every version.
            HeldTensor::Versioned(tensor) => unsafe { (*tensor).deleter.map(|delete| delete(tensor)) },
        });
    }
}

/// What an object hands over by DLPack.
pub(crate) struct DlArray {
    /// The memory.
    pub(crate) shared: Shared,
    /// Kind of the element type, as DLPack numbers them.
    pub(crate) code: u8,
    /// Bits per element.
    pub(crate) bits: u8,
    /// Elements per vector; 1 for ordinary ones.
    pub(crate) lanes: u16,
    /// Kind of the device, as DLPack numbers them.
    pub(crate) device: i32,
    /// Whether the memory is a copy that the object does not see.
    pub(crate) copied: bool,
}

/// Takes the tensor out of what `__dlpack__` gave.
///
/// # Errors
/// What was given is no capsule of DLPack, is used already, or has another major version.
pub(crate) fn dlpack(capsule: &Bound<'_, PyAny>) -> Result<DlArray, String> {
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| "`__dlpack__` gave no capsule".to_owned())?;
    if let Some(tensor) =
        take::<DlManagedVersioned>(capsule, c"dltensor_versioned", c"used_dltensor_versioned")
    {
        // SAFETY: a capsule of this name holds such a tensor; the version stands at the same place in all of them.
        let (major, minor) = unsafe { ((*tensor).major, (*tensor).minor) };
        let held = HeldTensor::Versioned(tensor);
        if major != DLPACK_MAJOR {
            return Err(format!(
                "its DLPack has version {major}.{minor}, and only {DLPACK_MAJOR}.x can be read"
            ));
        }
        // SAFETY: as above, with the layout of this version; it lives until `held` is dropped.
        let (flags, inner) = unsafe { ((*tensor).flags, &(*tensor).tensor) };
        return Ok(array(inner, flags, held));
    }
    if let Some(tensor) = take::<DlManaged>(capsule, c"dltensor", c"used_dltensor") {
        let held = HeldTensor::Plain(tensor);
        // SAFETY: a capsule of this name holds such a tensor; it lives until `held` is dropped.
        return Ok(array(unsafe { &(*tensor).tensor }, 0, held));
    }
    Err("`__dlpack__` gave a capsule that holds no tensor, or one that was used before".to_owned())
}

/// The pointer in a capsule of this name, which gets the name that says that it is used; none for another capsule.
fn take<T>(capsule: &Bound<'_, PyCapsule>, name: &CStr, used: &'static CStr) -> Option<*mut T> {
    use pyo3::ffi::{PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_SetName};
    // SAFETY: it is a live capsule, and the interpreter is attached.
    if unsafe { PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) } == 0 {
        return None;
    }
    // SAFETY: the capsule is valid under this name.
    let pointer = unsafe { PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) };
    // SAFETY: it is a live capsule; the name is static. A used capsule does not delete its tensor.
    if unsafe { PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
        // SAFETY: the interpreter is attached.
        unsafe { PyErr_Clear() };
        return None;
    }
    Some(pointer.cast())
}

fn array(tensor: &DlTensor, flags: u64, held: HeldTensor) -> DlArray {
    let rank = usize::try_from(tensor.ndim).unwrap_or(0);
    let read = |from: *const i64| -> Option<Vec<i64>> {
        // SAFETY: `shape` and `strides`, where they are not null, have `ndim` entries while the tensor is held.
        (!from.is_null()).then(|| (0..rank).map(|i| unsafe { *from.add(i) }).collect())
    };
    let bytes = i64::from(tensor.bits) / 8 * i64::from(tensor.lanes);
    let strides = read(tensor.strides).map(|s| s.iter().map(|n| n.saturating_mul(bytes)).collect());
    DlArray {
        shared: Shared {
            address: (tensor.data as usize).wrapping_add(tensor.byte_offset as usize),
            dims: read(tensor.shape).unwrap_or_default(),
            strides,
            writable: flags & READ_ONLY == 0,
            owner: Arc::new(held),
        },
        code: tensor.code,
        bits: tensor.bits,
        lanes: tensor.lanes,
        device: tensor.device_type,
        copied: flags & IS_COPIED != 0,
    }
}

/// Types of integers in lists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integer {
    /// Truth values, one byte each: 0 and 1.
    Bool,
    /// Of 8 bits, with a sign.
    I8,
    /// Of 16 bits, with a sign.
    I16,
    /// Of 32 bits, with a sign.
    I32,
    /// Of 64 bits, with a sign.
    I64,
    /// Of 8 bits, without a sign.
    U8,
    /// Of 16 bits, without a sign.
    U16,
    /// Of 32 bits, without a sign.
    U32,
    /// Of 64 bits, without a sign.
    U64,
}

impl Integer {
    /// The elements of tensors that are integers.
    pub(crate) fn of(dtype: DType) -> Option<Integer> {
        match dtype {
            DType::U8 => Some(Integer::U8),
            DType::U16 => Some(Integer::U16),
            DType::I32 => Some(Integer::I32),
            DType::U32 => Some(Integer::U32),
            DType::I64 => Some(Integer::I64),
            DType::U64 => Some(Integer::U64),
            DType::I8 => Some(Integer::I8),
            DType::I16 => Some(Integer::I16),
            DType::Bool => Some(Integer::Bool),
            DType::F16 | DType::Bf16 | DType::F32 | DType::F64 | DType::F8E4m3 | DType::F8E5m2 => None,
        }
    }

    /// Bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            Integer::Bool | Integer::I8 | Integer::U8 => 1,
            Integer::I16 | Integer::U16 => 2,
            Integer::I32 | Integer::U32 => 4,
            Integer::I64 | Integer::U64 => 8,
        }
    }
}

/// The elements of a list of integers of one dimension, `stride` bytes apart; none for one that does not fit.
pub(crate) fn integers(
    shared: &Shared,
    integer: Integer,
    stride: i64,
) -> impl Iterator<Item = Option<i64>> + use<'_> {
    let count = if shared.dims.len() == 1 { shared.dims[0] } else { 0 };
    let base = shared.address as *const u8;
    (0..count).map(move |i| {
        let at = base.wrapping_offset(i.wrapping_mul(stride) as isize);
        let mut bytes = [0; 8];
        let size = integer.size();
        // SAFETY: by the protocol that stated them, `count` elements of this size lie `stride` bytes apart while the owner
        // is held; they need not be aligned.
        unsafe { std::ptr::copy_nonoverlapping(at, bytes.as_mut_ptr(), size) };
        if cfg!(target_endian = "big") {
            bytes[..size].reverse();
        }
        let word = u64::from_le_bytes(bytes);
        match integer {
            Integer::Bool => Some(i64::from(word != 0)),
            Integer::I8 => Some(i64::from(word as i8)),
            Integer::I16 => Some(i64::from(word as i16)),
            Integer::I32 => Some(i64::from(word as i32)),
            Integer::I64 => Some(word as i64),
            Integer::U8 | Integer::U16 | Integer::U32 | Integer::U64 => i64::try_from(word).ok(),
        }
    })
}

/// Copies the elements of an array, `size` bytes each and `strides` bytes apart, to `to` in row-major order. `to` has their
/// number of bytes.
pub(crate) fn copy_from(shared: &Shared, strides: &[i64], size: usize, to: &mut [u8]) {
    let base = shared.address as *const u8;
    let Some((rank, run)) = runs(&shared.dims, strides, size) else { return };
    let mut chunks = to.chunks_exact_mut(run);
    offsets(&shared.dims[..rank], strides, |offset| {
        let Some(chunk) = chunks.next() else { return };
        // SAFETY: by the protocol that stated extents and strides, elements of so many bytes lie there while the owner is held.
        unsafe { std::ptr::copy_nonoverlapping(base.wrapping_offset(offset), chunk.as_mut_ptr(), run) };
    });
}

/// Copies elements of `size` bytes in row-major order from `from` to a writable array, `strides` bytes apart.
pub(crate) fn copy_to(shared: &Shared, strides: &[i64], size: usize, from: &[u8]) {
    assert!(shared.writable, "an array that is copied to should be writable");
    let base = shared.address as *mut u8;
    let Some((rank, run)) = runs(&shared.dims, strides, size) else { return };
    let mut chunks = from.chunks_exact(run);
    offsets(&shared.dims[..rank], strides, |offset| {
        let Some(chunk) = chunks.next() else { return };
        // SAFETY: by the protocol that stated extents and strides, elements of so many bytes that may be written lie there while
        // the owner is held.
        unsafe { std::ptr::copy_nonoverlapping(chunk.as_ptr(), base.wrapping_offset(offset), run) };
    });
}

/// How many outer dimensions the runs of elements next to each other have, and the bytes of a run; none without elements.
fn runs(dims: &[i64], strides: &[i64], size: usize) -> Option<(usize, usize)> {
    if dims.iter().any(|&n| n <= 0) {
        return None;
    }
    let (mut rank, mut run) = (dims.len(), size);
    while rank > 0 && i64::try_from(run) == Ok(strides[rank - 1]) {
        rank -= 1;
        run = run.checked_mul(usize::try_from(dims[rank]).ok()?)?;
    }
    Some((rank, run))
}

/// Calls `f` with the place of every run in bytes, in row-major order.
fn offsets(dims: &[i64], strides: &[i64], mut f: impl FnMut(isize)) {
    let mut index = vec![0i64; dims.len()];
    loop {
        let offset = index.iter().zip(strides).fold(0i64, |sum, (i, s)| sum.wrapping_add(i.wrapping_mul(*s)));
        f(offset as isize);
        let Some(d) = (0..dims.len()).rev().find(|&d| index[d] + 1 < dims[d]) else { return };
        index[d] += 1;
        index[d + 1..].fill(0);
    }
}
