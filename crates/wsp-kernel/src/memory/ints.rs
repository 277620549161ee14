//! Integer elements read where they lie.

use super::TensorMem;
use wsp_core::DType;
use wsp_ir::ScalarTy;
use wsp_memory::Bytes;

/// The layout of elements along one dimension, evenly spaced. It has no memory of its own, so that a task can be given one for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Series {
    /// Elements.
    pub count: usize,
    /// Bytes between neighbours.
    pub stride: usize,
}

/// Integers where they lie. Those of less than 32 bits are read as `int32_t` where they have a sign, else as `uint32_t`.
impl TensorMem<Series> {
    /// Elements of which the first begins with these bytes; none when the type is no integer type. They need no alignment.
    ///
    /// # Panics
    /// When an element lies outside of the bytes.
    pub fn integers(bytes: Bytes, dtype: DType, layout: Series) -> Option<TensorMem<Series>> {
        let Series { count, stride } = layout;
        let last =
            count.checked_sub(1).map_or(Some(0), |last| last.checked_mul(stride)?.checked_add(dtype.size()));
        assert!(last.is_some_and(|end| end <= bytes.count()), "every element should lie in its bytes");
        (!dtype.is_float()).then_some(TensorMem { bytes, dtype, layout })
    }

    /// Of `count` elements from `first` on, the first that may not be loaded, since no task has stored it.
    pub(crate) fn never_stored(&self, first: usize, count: usize) -> Option<usize> {
        let stored = self.stored()?;
        let at = |index: usize| self.ptr().cast_const().wrapping_add(index * self.layout.stride);
        let (elements, size) = (first..first + count, self.dtype.size());
        if self.layout.stride == size && stored.may_load(at(first), count * size) {
            return None;
        }
        elements.into_iter().find(|&index| !stored.may_load(at(index), size))
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.layout.count
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.layout.count == 0
    }

    /// The type that elements are read as.
    pub fn ty(&self) -> ScalarTy {
        match self.dtype {
            DType::I8 | DType::I16 | DType::I32 => ScalarTy::I32,
            DType::I64 => ScalarTy::I64,
            DType::U64 => ScalarTy::U64,
            _ => ScalarTy::U32,
        }
    }

    /// An element in slot form.
    pub(crate) fn bits(&self, index: usize) -> Option<u64> {
        if index >= self.layout.count {
            return None;
        }
        // SAFETY: the element exists, so that it lies in the bytes, as `integers` checked, which can be read.
        unsafe {
            let at = self.ptr().add(index * self.layout.stride);
            Some(super::scalar::read_integer(at, self.dtype))
        }
    }

    /// The first element, where all lie side by side as they are read, and none has to be asked for whether it was stored.
    #[cfg_attr(not(feature = "native"), expect(dead_code, reason = "compiled code reads by address"))]
    pub(crate) fn dense(&self) -> Option<*const u8> {
        let whole = matches!(self.dtype, DType::I32 | DType::U32 | DType::I64 | DType::U64);
        let size = self.dtype.size();
        let is_stored =
            || self.stored().is_none_or(|stored| stored.is_stored(self.ptr(), self.layout.count * size));
        (whole && self.layout.stride == size && is_stored()).then(|| self.ptr().cast_const())
    }

    /// The first elements, in order.
    ///
    /// # Panics
    /// When there are fewer.
    pub(crate) fn values(&self, count: usize) -> impl Iterator<Item = i128> + '_ {
        assert!(count <= self.layout.count, "no more elements should be asked for than there are");
        let signed = matches!(self.dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
        let value = move |bits: u64| if signed { i128::from(bits.cast_signed()) } else { i128::from(bits) };
        (0..count).filter_map(|index| self.bits(index)).map(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view<T>(elements: &[T], stride: usize, dtype: DType) -> TensorMem<Series> {
        let count = size_of_val(elements).div_ceil(stride);
        // SAFETY: the tests keep the elements longer than the view, and write none.
        let bytes = unsafe { Bytes::new(elements.as_ptr().cast_mut().cast(), size_of_val(elements)) };
        TensorMem::integers(bytes, dtype, Series { count, stride }).expect("the type is an integer's")
    }

    #[test]
    fn elements_of_every_type_are_read_with_their_sign_and_stride() {
        let values = |view: TensorMem<Series>| view.values(view.len()).collect::<Vec<_>>();
        assert_eq!(values(view(&[-1i32, 2, -3], 4, DType::I32)), [-1, 2, -3]);
        assert_eq!(values(view(&[1u32, u32::MAX, 3, 4], 8, DType::U32)), [1, 3]);
        assert_eq!(values(view(&[i64::MIN], 8, DType::I64)), [i64::MIN.into()]);
        assert_eq!(values(view(&[u64::MAX], 8, DType::U64)), [u64::MAX.into()]);
        assert_eq!(values(view(&[7u8, 200, 9], 1, DType::U8)), [7, 200, 9]);
        assert_eq!(values(view(&[7u16, u16::MAX], 2, DType::U16)), [7, 65535]);
        assert_eq!(view(&[7u8], 1, DType::U8).ty(), ScalarTy::U32);
        assert_eq!(view(&[7u32, 8], 4, DType::U32).bits(2), None);
        assert!(TensorMem::integers(Bytes::NONE, DType::F32, Series { count: 0, stride: 4 }).is_none());
    }
}
