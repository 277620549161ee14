//! Arrays: elements that are values, which safe code reads and writes.
//!
//! Of the memory of an array, allocated by [`Buffer::zeros`] or [`Buffer::pages`]: it is had by arrays, which are copies of each
//! other, and by [ranges](Array::range) of buffers that may only be read. One that is written is alone: it has been given memory
//! of its own, unless no other has its memory. What makes a view or a range to be written, [`lend`](Array::lend) and
//! [`into_range`](Array::into_range), takes the array, and gives it memory of its own too; [`View::take_back`] makes an array
//! when no view is left.

use crate::buffer::Buffer;
use crate::range::ByteRange;
use crate::view::{View, ViewFault};
use std::sync::Arc;
use wsp_core::DType;
use wsp_core::words::counted;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// An element type of tensors that kernel bodies can hold.
pub trait Element: FromBytes + IntoBytes + Immutable + Copy {
    /// As tensors name it.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($ty:ty: $dtype:ident),*) => {$(
        impl Element for $ty {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

elements!(
    f32: F32, f64: F64, half::f16: F16, half::bf16: Bf16, u8: U8, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64,
    i8: I8, i16: I16
);

/// A dense array in row-major order. Copies share their elements until one of them is written.
#[derive(Clone)]
pub struct Array {
    dtype: DType,
    shape: Vec<u64>,
    range: ByteRange,
}

/// An array that cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ArrayError {
    /// The shape needs more bytes than an address space has.
    TooLarge,
    /// The machine refuses this many bytes.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// The shape has another number of elements than are given.
    Elements {
        /// Elements that are given.
        given: u64,
        /// Elements of the shape.
        of: u64,
    },
}

impl std::fmt::Display for ArrayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ArrayError::TooLarge => f.write_str("the shape needs more bytes than can be addressed"),
            ArrayError::OutOfMemory { bytes } => write!(f, "cannot allocate {}", counted(bytes, "byte")),
            ArrayError::Elements { given, of } => {
                write!(f, "{} given, and the shape has {of}", counted(given, "element"))
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
        Array::made(Buffer::zeros, dtype, shape)
    }

    /// An array of these elements, in row-major order.
    ///
    /// # Errors
    /// When there are more or fewer elements than the shape has, or memory is refused.
    pub fn of<T: Element>(shape: &[u64], elements: &[T]) -> Result<Array, ArrayError> {
        let bytes = size(T::DTYPE, shape)?;
        if bytes != size_of_val(elements) {
            let of = (bytes / T::DTYPE.size()) as u64;
            return Err(ArrayError::Elements { given: elements.len() as u64, of });
        }
        let mut array = Array::zeros(T::DTYPE, shape)?;
        array.bytes_mut().copy_from_slice(elements.as_bytes());
        Ok(array)
    }

    /// An array of zeros that begins at a page of memory, whatever its size. The system is asked for large pages.
    ///
    /// # Errors
    /// When the shape overflows or memory is refused.
    pub fn on_pages(dtype: DType, shape: &[u64]) -> Result<Array, ArrayError> {
        Array::made(Buffer::pages, dtype, shape)
    }

    fn made(
        zeros: impl FnOnce(usize, usize) -> Option<Arc<Buffer>>,
        dtype: DType,
        shape: &[u64],
    ) -> Result<Array, ArrayError> {
        let bytes = size(dtype, shape)?;
        let buffer =
            zeros(bytes, Buffer::ALIGNMENT).ok_or(ArrayError::OutOfMemory { bytes: bytes as u64 })?;
        Ok(Array { dtype, shape: shape.to_vec(), range: ByteRange::whole(buffer) })
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
        self.range.count() / self.dtype.size()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.range.count() == 0
    }

    /// The elements as little-endian bytes; starts on a 64-byte boundary, from 32 MiB on at a page.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes lie in the buffer, which is kept and initialised. Nothing writes them while the array is
        // borrowed, by the argument above.
        unsafe { std::slice::from_raw_parts(self.range.ptr(), self.range.count()) }
    }

    /// The elements as little-endian bytes, to be written; no copy of the array has them from here on.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.make_sole();
        // SAFETY: as in `bytes`; nothing else has the bytes now.
        unsafe { std::slice::from_raw_parts_mut(self.range.ptr(), self.range.count()) }
    }

    /// Gives it memory of its own, unless it is alone.
    fn make_sole(&mut self) {
        if self.range.alone().is_none() {
            let bytes = self.bytes();
            let copy = Array::zeros(self.dtype, &self.shape);
            let copy = copy.expect("memory for a copy should be there, as for a vector's");
            // SAFETY: the copy is new and has as many bytes.
            unsafe { copy.range.ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            self.range = copy.range;
        }
    }

    /// Its bytes where they lie, which may only be read. The array may be dropped or written meanwhile: what is written gets
    /// other memory.
    pub fn range(&self) -> ByteRange {
        ByteRange::whole(Buffer::read_only(&self.range))
    }

    /// Its bytes where they lie, which may be written.
    pub fn into_range(mut self) -> ByteRange {
        self.make_sole();
        self.range
    }

    /// A view of all elements where they lie, for a run. [`View::take_back`] gives the array back.
    ///
    /// # Errors
    /// More dimensions than a tensor may have, or a longer one than regions reach.
    pub fn lend(self) -> Result<View, ViewFault> {
        let (dtype, shape) = (self.dtype, self.shape.clone());
        View::dense(self.into_range().into_buffer(), dtype, &shape)
    }

    /// The elements as values of a plain type; `None` when its size is not that of the element type.
    pub fn as_slice<T: FromBytes + Immutable + KnownLayout>(&self) -> Option<&[T]> {
        if size_of::<T>() != self.dtype.size() {
            return None;
        }
        <[T]>::ref_from_bytes(self.bytes()).ok()
    }

    /// The elements of an array of integers as integers of another type, or place and value of the first that does not fit; none for other arrays.
    pub fn integers<T: TryFrom<i128>, C: FromIterator<T>>(&self) -> Option<Result<C, (usize, i128)>> {
        fn all<S: Copy + Into<i128>, T: TryFrom<i128>, C: FromIterator<T>>(
            elements: &[S],
        ) -> Result<C, (usize, i128)> {
            let fits = |(at, &n): (usize, &S)| {
                let n: i128 = n.into();
                T::try_from(n).map_err(|_| (at, n))
            };
            elements.iter().enumerate().map(fits).collect()
        }
        Some(match self.dtype {
            DType::U8 | DType::Bool => all(self.as_slice::<u8>()?),
            DType::I8 => all(self.as_slice::<i8>()?),
            DType::U16 => all(self.as_slice::<u16>()?),
            DType::I16 => all(self.as_slice::<i16>()?),
            DType::I32 => all(self.as_slice::<i32>()?),
            DType::U32 => all(self.as_slice::<u32>()?),
            DType::I64 => all(self.as_slice::<i64>()?),
            DType::U64 => all(self.as_slice::<u64>()?),
            _ => return None,
        })
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

impl View {
    /// The elements as an array, where they lie: with what runs wrote to an array that was [lent](Array::lend).
    ///
    /// # Errors
    /// The view, where another one or a claim still has its memory or may get it, where the memory is no array's, and where the
    /// elements do not lie in row-major order without gaps from its begin on.
    pub fn take_back(mut self) -> Result<Array, View> {
        if !self.is_dense() || self.ptr() != self.buffer().ptr() {
            return Err(self);
        }
        let Some(buffer) = self.alone() else { return Err(self) };
        buffer.forget_record();
        Ok(Array { dtype: self.dtype(), shape: self.shape().to_vec(), range: self.range().clone() })
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
    use crate::access::Unusable;
    use crate::buffer::{Space, ViewAccess};
    use crate::stored::EarlyLoads;

    #[test]
    fn an_array_is_made_of_elements_that_fill_its_shape() {
        let array = Array::of(&[2, 3], &[1i64, 2, 3, 4, 5, 6]).expect("six elements fill it");
        assert_eq!((array.dtype(), array.shape()), (DType::I64, &[2, 3][..]));
        assert_eq!(array.as_slice::<i64>(), Some(&[1, 2, 3, 4, 5, 6][..]));
        for elements in [&[0.5f32; 5][..], &[0.5; 7]] {
            let given = elements.len() as u64;
            assert_eq!(Array::of(&[2, 3], elements).err(), Some(ArrayError::Elements { given, of: 6 }));
        }
    }

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
    fn a_lent_array_comes_back_at_its_address_when_no_view_is_left() {
        let mut array = Array::zeros(DType::U8, &[2, 3]).unwrap();
        array.bytes_mut().copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        let address = array.bytes().as_ptr();
        let view = array.lend().unwrap();
        let other = view.clone();
        assert_eq!((view.ptr().cast_const(), view.shape()), (address, &[2, 3][..]));
        let view = view.take_back().expect_err("another view is left");
        drop(other);
        let weak = Arc::downgrade(view.buffer());
        let view = view.take_back().expect_err("another view may be made at any time");
        drop(weak);
        let recorded = view.recorded(EarlyLoads::Refused);
        let array = recorded.take_back().expect("no other view is left");
        assert_eq!((array.bytes().as_ptr(), array.bytes()), (address, &[1, 2, 3, 4, 5, 6][..]));
        assert!(array.lend().unwrap().range().stored().is_none(), "the next run records by itself");
    }

    #[test]
    fn what_is_no_array_is_not_taken_back() {
        let view = |dims: &[u64], strides: &[i64], first| {
            View::new(Buffer::zeros(24, 64).unwrap(), first, DType::U8, dims, strides).unwrap()
        };
        assert_eq!(view(&[2, 3], &[3, 1], 0).take_back().unwrap().bytes(), [0; 6]);
        assert!(view(&[2, 3], &[4, 1], 0).take_back().is_err(), "it has gaps");
        assert!(view(&[2, 3], &[3, 1], 1).take_back().is_err(), "it begins inside");
        let elements = Arc::new([1u8; 4]);
        let ptr = std::ptr::NonNull::from(&elements[0]);
        // SAFETY: nothing writes them.
        let buffer = unsafe { Buffer::new(elements, ptr, 4, ViewAccess::ReadOnly, Space::Host) };
        assert!(
            View::dense(buffer, DType::U8, &[4]).unwrap().take_back().is_err(),
            "it is of somewhere else"
        );
    }

    #[test]
    fn a_range_that_is_read_keeps_its_elements_when_the_array_is_written() {
        let mut array = Array::zeros(DType::U8, &[4]).unwrap();
        let range = array.range();
        let view = View::dense(range.buffer().clone(), DType::U8, &[4]).unwrap();
        assert_eq!(view.usable(true), Err(Unusable::ReadOnly), "no run may write what safe code reads");
        assert!(view.take_back().is_err());
        array.bytes_mut().fill(1);
        assert_ne!(range.ptr().cast_const(), array.bytes().as_ptr());
        let copy = array.clone();
        let written = array.into_range();
        assert_ne!(written.ptr().cast_const(), copy.bytes().as_ptr());
        // SAFETY: nothing else has the bytes.
        unsafe { written.ptr().write(7) };
        assert_eq!(copy.bytes(), [1; 4]);
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
