//! One element of an array as a value.

use super::{Fault, Shape, TensorMem};
use wsp_core::DType;
use wsp_simd::{read_f32, write_f32};

/// The integer at `ptr` in slot form: 64 bits, with the sign of its type; 0 for a type of real numbers.
///
/// # Safety
/// `ptr` is valid for a read of one element of type `dtype`; it need not be aligned.
pub(crate) unsafe fn read_integer(ptr: *const u8, dtype: DType) -> u64 {
    // SAFETY: the caller's promise, for the size that `dtype` says.
    unsafe {
        match dtype {
            DType::U8 => u64::from(ptr.read()),
            DType::Bool => u64::from(ptr.read() != 0),
            DType::I8 => i64::from(ptr.cast::<i8>().read()) as u64,
            DType::I16 => i64::from(ptr.cast::<i16>().read_unaligned()) as u64,
            DType::U16 => u64::from(ptr.cast::<u16>().read_unaligned()),
            DType::I32 => i64::from(ptr.cast::<i32>().read_unaligned()) as u64,
            DType::U32 => u64::from(ptr.cast::<u32>().read_unaligned()),
            DType::I64 | DType::U64 => ptr.cast::<u64>().read_unaligned(),
            DType::F32 | DType::F64 | DType::F16 | DType::Bf16 | DType::F8E4m3 | DType::F8E5m2 => 0,
        }
    }
}

/// Writes an integer from slot form; of types of less than 64 bits the low bits.
///
/// # Safety
/// `ptr` is valid for a write of one element of type `dtype`, which has at most 8 bytes; it need not be aligned.
pub(crate) unsafe fn write_integer(ptr: *mut u8, dtype: DType, bits: u64) {
    let bytes = bits.to_le_bytes();
    // SAFETY: the caller's promise; there are 8 bytes to copy from.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), ptr, dtype.size().min(8)) };
}

impl TensorMem {
    /// One element, as an `f32`.
    ///
    /// # Errors
    /// `NotFloat` for an array of integers, the faults of the index, and `NeverStored`.
    pub fn load_scalar(&self, index: &[u32]) -> Result<f32, Fault> {
        let ptr = self.float_element(index)?;
        self.check_stored(ptr)?;
        // SAFETY: `locate_element` checked that the element lies in the array.
        Ok(unsafe { read_f32(ptr, self.dtype()) })
    }

    /// Writes one element, rounded to the element type.
    ///
    /// # Errors
    /// `NotFloat` for an array of integers, and the faults of the index.
    pub fn store_scalar(&self, index: &[u32], value: f32) -> Result<(), Fault> {
        let ptr = self.float_element(index)?;
        // SAFETY: `locate_element` checked that the element lies in the array, which is writable when a function stores to it.
        unsafe { write_f32(ptr, self.dtype(), value) };
        self.note_store(ptr);
        Ok(())
    }

    /// One integer element in slot form.
    ///
    /// # Errors
    /// The faults of the index, and `NeverStored`.
    pub(crate) fn load_integer(&self, index: &[u32]) -> Result<u64, Fault> {
        let ptr = self.locate_element(index)?;
        self.check_stored(ptr)?;
        // SAFETY: `locate_element` checked that an element of this type lies in the array at this address.
        Ok(unsafe { read_integer(ptr, self.dtype()) })
    }

    /// Writes one integer element from slot form; of types of less than 32 bits the low bits.
    ///
    /// # Errors
    /// The faults of the index.
    pub(crate) fn store_integer(&self, index: &[u32], bits: u64) -> Result<(), Fault> {
        let ptr = self.locate_element(index)?;
        // SAFETY: `locate_element` checked that the element lies in the array, which is writable when a function stores to it.
        unsafe { write_integer(ptr, self.dtype(), bits) };
        self.note_store(ptr);
        Ok(())
    }

    /// Refuses an element that no task has stored, where that is recorded.
    fn check_stored(&self, at: *const u8) -> Result<(), Fault> {
        match self.stored().is_none_or(|stored| stored.may_load(at, self.dtype().size())) {
            true => Ok(()),
            false => Err(Fault::NeverStored { at: Shape::new(0, 0) }),
        }
    }

    /// Records that an element was stored.
    fn note_store(&self, at: *const u8) {
        if let Some(stored) = self.stored() {
            stored.store(at, self.dtype().size());
        }
    }

    fn float_element(&self, index: &[u32]) -> Result<*mut u8, Fault> {
        if !self.dtype().is_float() {
            return Err(Fault::NotFloat { dtype: self.dtype() });
        }
        self.locate_element(index)
    }
}
