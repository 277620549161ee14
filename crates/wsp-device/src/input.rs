//! References from pointers that C has passed.

use crate::abi::Status;
use crate::report::{Failure, plain};

/// A slice from a pointer and a length. The pointer of an empty one may be anything.
///
/// # Safety
/// A pointer that is neither null nor misaligned points to `len` values that do not change for `'a`.
pub(crate) unsafe fn slice<'a, T>(data: *const T, len: u64) -> Result<&'a [T], Status> {
    if len == 0 {
        return Ok(&[]);
    }
    check(data)?;
    let len = count::<T>(len)?;
    // SAFETY: neither null nor misaligned, and no larger than memory can be; the rest is the caller's promise.
    Ok(unsafe { core::slice::from_raw_parts(data, len) })
}

/// Bytes that nobody else uses.
///
/// # Safety
/// A pointer that is not null points to `len` bytes that nobody else uses for `'a`.
pub(crate) unsafe fn bytes_mut<'a>(data: *mut u8, len: u64) -> Result<&'a mut [u8], Status> {
    if len == 0 {
        return Ok(&mut []);
    }
    check(data)?;
    let len = count::<u8>(len)?;
    // SAFETY: not null, and no larger than memory can be; the rest is the caller's promise.
    Ok(unsafe { core::slice::from_raw_parts_mut(data, len) })
}

/// Bytes that nobody else uses and that begin at a multiple of 8.
///
/// # Safety
/// As [`bytes_mut`].
pub(crate) unsafe fn aligned<'a>(data: *mut u8, len: u64) -> Result<&'a mut [u8], Failure> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { bytes_mut(data, len) }.map_err(plain)?;
    if bytes.as_ptr().addr() & 7 == 0 { Ok(bytes) } else { Err(plain(Status::Alignment)) }
}

/// A reference from a pointer.
///
/// # Safety
/// A pointer that is neither null nor misaligned points to a value that does not change for `'a`.
pub(crate) unsafe fn reference<'a, T>(data: *const T) -> Result<&'a T, Status> {
    check(data)?;
    // SAFETY: neither null nor misaligned; the rest is the caller's promise.
    Ok(unsafe { &*data })
}

/// Stores a result, where the caller wants it.
///
/// # Safety
/// A pointer that is not null points to a place for a value that nobody else uses.
pub(crate) unsafe fn store<T>(place: *mut T, value: T) -> Result<(), Status> {
    check(place)?;
    // SAFETY: neither null nor misaligned; the rest is the caller's promise.
    unsafe { place.write(value) };
    Ok(())
}

/// Refuses what cannot be a pointer to a value.
fn check<T>(data: *const T) -> Result<(), Status> {
    if data.is_null() {
        Err(Status::Null)
    } else if !data.is_aligned() {
        Err(Status::Alignment)
    } else {
        Ok(())
    }
}

/// A length in values, no more than can be in memory.
fn count<T>(len: u64) -> Result<usize, Status> {
    let count = usize::try_from(len).map_err(|_| Status::Memory)?;
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(count),
        _ => Err(Status::Memory),
    }
}
