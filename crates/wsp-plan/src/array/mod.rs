//! Arrays that a launch takes and gives.

mod memory;

use memory::Memory;
use std::collections::BTreeMap;
use std::sync::Arc;
use wsp_core::DType;
use wsp_core::words::counted;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Arrays by the names of the host entry's parameters: `q`, `kv.k`, `kv.indptr`, ….
pub type Arrays = BTreeMap<String, Array>;

/// A dense array in row-major order. Copies share their elements until one of them is written.
#[derive(Clone)]
pub struct Array {
    dtype: DType,
    shape: Vec<u64>,
    bytes: usize,
    memory: Arc<Memory>,
}

/// An array that cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayError {
    /// The shape needs more bytes than an address space has.
    TooLarge,
    /// The machine refuses this many bytes.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
}

impl std::fmt::Display for ArrayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ArrayError::TooLarge => f.write_str("the shape needs more bytes than can be addressed"),
            ArrayError::OutOfMemory { bytes } => {
                write!(f, "cannot allocate {bytes}", bytes = counted(bytes, "byte"))
            }
        }
    }
}

impl std::error::Error for ArrayError {}

impl Array {
    /// An array of zeros.
    ///
    /// # Errors
    /// When the shape overflows or memory is refused.
    pub fn zeros(dtype: DType, shape: &[u64]) -> Result<Array, ArrayError> {
        let bytes = size(dtype, shape)?;
        Ok(Array { dtype, shape: shape.to_vec(), bytes, memory: Arc::new(Memory::zeros(bytes)?) })
    }

    /// An array of zeros that begins at a page of memory, whatever its size. The system is asked for large pages.
    ///
    /// # Errors
    /// When the shape overflows or memory is refused.
    pub fn on_pages(dtype: DType, shape: &[u64]) -> Result<Array, ArrayError> {
        let bytes = size(dtype, shape)?;
        Ok(Array { dtype, shape: shape.to_vec(), bytes, memory: Arc::new(Memory::pages(bytes)?) })
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Extents, outermost first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes / self.dtype.size()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The elements as little-endian bytes; starts on a 64-byte boundary, from 32 MiB on at a page.
    pub fn bytes(&self) -> &[u8] {
        &self.memory.bytes()[..self.bytes]
    }

    /// The elements as little-endian bytes, to be written; no copy of the array has them from here on.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut Arc::make_mut(&mut self.memory).bytes_mut()[..self.bytes]
    }

    /// The elements as values of a plain type; `None` when its size is not that of the element type.
    pub fn as_slice<T: FromBytes + Immutable + KnownLayout>(&self) -> Option<&[T]> {
        if size_of::<T>() != self.dtype.size() {
            return None;
        }
        <[T]>::ref_from_bytes(self.bytes()).ok()
    }

    /// The elements as values of a plain type, to be written.
    pub fn as_slice_mut<T: FromBytes + IntoBytes + Immutable + KnownLayout>(&mut self) -> Option<&mut [T]> {
        if size_of::<T>() != self.dtype.size() {
            return None;
        }
        <[T]>::mut_from_bytes(self.bytes_mut()).ok()
    }

    /// The same bytes read as another element type of the same size (`uint16` data that are bf16).
    ///
    /// # Errors
    /// Gives the array back when the sizes differ.
    pub fn reinterpret(mut self, dtype: DType) -> Result<Array, Array> {
        if dtype.size() != self.dtype.size() {
            return Err(self);
        }
        self.dtype = dtype;
        Ok(self)
    }
}

/// Bytes of a shape.
fn size(dtype: DType, shape: &[u64]) -> Result<usize, ArrayError> {
    shape
        .iter()
        .try_fold(dtype.size() as u64, |total, &n| total.checked_mul(n))
        .and_then(|b| usize::try_from(b).ok())
        .filter(|b| *b <= isize::MAX as usize - 64)
        .ok_or(ArrayError::TooLarge)
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absurd_shape_is_an_error_and_not_an_abort() {
        assert_eq!(Array::zeros(DType::F32, &[u64::MAX, 2]).err(), Some(ArrayError::TooLarge));
        assert!(Array::zeros(DType::F64, &[1 << 57]).is_err());
    }

    #[test]
    fn a_copy_keeps_its_elements_when_the_other_is_written() {
        for mut one in [Array::zeros(DType::F32, &[4]), Array::on_pages(DType::F32, &[4])].map(Result::unwrap)
        {
            let other = one.clone();
            assert_eq!(one.bytes().as_ptr(), other.bytes().as_ptr());
            one.as_slice_mut::<f32>().unwrap()[2] = 1.5;
            assert_ne!(one.bytes().as_ptr(), other.bytes().as_ptr());
            assert_eq!((one.as_slice::<f32>().unwrap()[2], other.as_slice::<f32>().unwrap()[2]), (1.5, 0.0));
            let address = one.bytes().as_ptr();
            assert_eq!(one.bytes_mut().as_ptr(), address, "one that has no copy is written where it lies");
        }
    }

    #[test]
    fn elements_are_aligned_and_written_through_slices() {
        let mut a = Array::zeros(DType::F32, &[3, 5]).unwrap();
        a.as_slice_mut::<f32>().unwrap()[14] = 2.5;
        assert_eq!(a.bytes().as_ptr() as usize % 64, 0);
        assert_eq!(a.as_slice::<f32>().unwrap()[14], 2.5);
        assert!(a.as_slice::<f64>().is_none());
    }

    #[test]
    fn an_array_of_any_size_can_begin_at_a_page() {
        for shape in [&[0][..], &[], &[3, 5], &[1 << 12, 1 << 10]] {
            let mut a = Array::on_pages(DType::F32, shape).unwrap();
            assert_eq!(a.bytes().as_ptr() as usize % 4096, 0, "{shape:?}");
            assert!(a.bytes().iter().all(|&byte| byte == 0), "{shape:?}");
            a.bytes_mut().fill(1);
            assert_eq!(a.bytes().len() as u64, 4 * shape.iter().product::<u64>());
        }
        assert_eq!(Array::on_pages(DType::F32, &[u64::MAX, 2]).err(), Some(ArrayError::TooLarge));
    }
}
