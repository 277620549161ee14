//! The tensors of declared kernels: arrays that tasks copy boxes out of and into.
//!
//! **Invariant:** of two calls of `load` and `store` for boxes that overlap, one of them a `store`, the first has returned
//! before the second begins. Only tasks of a run call them, each for its own boxes, and the run orders tasks whose boxes
//! conflict: dependences are inferred from these boxes, or, where a schedule states them, checked against these boxes
//! before the run. A source that reads a slot has waited for the tasks that write it.
#![allow(
    unsafe_code,
    reason = "tasks on several threads copy into and out of one array; the task graph orders conflicts"
)]

use super::codes;
use std::ptr;
use wsp_core::{DType, Region};
use wsp_ir::diag::Diagnostic;
use wsp_plan::{Array, ArrayError};

/// One tensor in row-major order.
#[derive(Debug)]
pub(crate) struct SharedTensor {
    /// Owns the bytes; not looked at while a run goes on.
    array: Array,
    base: *mut u8,
    dims: Vec<u32>,
    /// Bytes from one index to the next, per dimension.
    strides: Vec<usize>,
    dtype: DType,
}

// SAFETY: the bytes are reached by `load` and `store` only, which the module's invariant orders.
unsafe impl Send for SharedTensor {}
// SAFETY: as above.
unsafe impl Sync for SharedTensor {}

impl SharedTensor {
    /// A tensor of zeros.
    pub(crate) fn zeros(name: &str, dtype: DType, dims: &[u32]) -> Result<SharedTensor, Diagnostic> {
        let shape: Vec<u64> = dims.iter().map(|&n| u64::from(n)).collect();
        let array = Array::zeros(dtype, &shape).map_err(|fault| {
            let what = match fault {
                ArrayError::TooLarge => format!("tensor `{name}` is too large to be addressed"),
                ArrayError::OutOfMemory { bytes } => {
                    format!("there is no memory for the {bytes} bytes of tensor `{name}`")
                }
            };
            Diagnostic::error(codes::NO_MEMORY, what).note(format!("its shape is {dims:?}"))
        })?;
        Ok(SharedTensor::new(array, dims))
    }

    /// A copy of an array of the launch, which has these extents.
    pub(crate) fn copy_of(name: &str, given: &Array, dims: &[u32]) -> Result<SharedTensor, Diagnostic> {
        let mut tensor = SharedTensor::zeros(name, given.dtype(), dims)?;
        tensor.array.bytes_mut().copy_from_slice(given.bytes());
        Ok(SharedTensor::new(tensor.array, dims))
    }

    fn new(mut array: Array, dims: &[u32]) -> SharedTensor {
        let dtype = array.dtype();
        let base = array.bytes_mut().as_mut_ptr();
        let mut strides = vec![dtype.size(); dims.len()];
        for d in (1..dims.len()).rev() {
            strides[d - 1] = strides[d] * dims[d] as usize;
        }
        SharedTensor { array, base, dims: dims.to_vec(), strides, dtype }
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// The array, when no run goes on.
    pub(crate) fn into_array(self) -> Array {
        self.array
    }

    /// Bytes that a box has. The box must lie in the tensor.
    pub(crate) fn box_bytes(&self, region: &Region) -> usize {
        self.dtype.size() * extents(region).take(self.dims.len()).product::<usize>()
    }

    /// Number of dimensions.
    pub(crate) fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Appends the box's bytes in row-major order.
    pub(crate) fn load(&self, region: &Region, into: &mut Vec<u8>) {
        into.reserve(self.box_bytes(region));
        self.runs(region, |offset, bytes| {
            // SAFETY: `runs` yields ranges inside the array, and by the module's invariant nobody writes them now.
            into.extend_from_slice(unsafe { std::slice::from_raw_parts(self.base.add(offset), bytes) });
        });
    }

    /// Replaces the box's bytes; `from` has exactly [`box_bytes`](Self::box_bytes).
    pub(crate) fn store(&self, region: &Region, from: &[u8]) {
        assert_eq!(from.len(), self.box_bytes(region), "a store should have the size of its box");
        let mut at = 0;
        self.runs(region, |offset, bytes| {
            let part = &from[at..at + bytes];
            // SAFETY: `runs` yields ranges inside the array, and by the module's invariant nobody else looks at them now.
            unsafe { ptr::copy_nonoverlapping(part.as_ptr(), self.base.add(offset), bytes) };
            at += bytes;
        });
    }

    /// Calls `f` with offset and length in bytes of every contiguous run of a box, in row-major order.
    fn runs(&self, region: &Region, mut f: impl FnMut(usize, usize)) {
        let rank = self.dims.len();
        let inside = (0..rank).all(|d| region.lo[d] <= region.hi[d] && region.hi[d] <= self.dims[d]);
        assert!(inside, "a box should lie in its tensor, which expansion checks");
        if extents(region).take(rank).any(|n| n == 0) {
            return;
        }
        let Some(last) = rank.checked_sub(1) else {
            f(0, self.dtype.size());
            return;
        };
        let run = (region.hi[last] - region.lo[last]) as usize * self.dtype.size();
        let mut index = region.lo;
        loop {
            let offset = (0..rank).map(|d| index[d] as usize * self.strides[d]).sum();
            f(offset, run);
            let Some(next) = (0..last).rev().find(|&d| index[d] + 1 < region.hi[d]) else { return };
            index[next] += 1;
            index[next + 1..last].copy_from_slice(&region.lo[next + 1..last]);
        }
    }
}

fn extents(region: &Region) -> impl Iterator<Item = usize> {
    region.lo.iter().zip(&region.hi).map(|(lo, hi)| (hi - lo) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::TensorId;

    fn counting(dims: &[u32]) -> SharedTensor {
        let shape: Vec<u64> = dims.iter().map(|&n| u64::from(n)).collect();
        let mut array = Array::zeros(DType::U32, &shape).expect("it is small");
        for (i, value) in array.as_slice_mut::<u32>().expect("the type is U32").iter_mut().enumerate() {
            *value = i as u32;
        }
        SharedTensor::new(array, dims)
    }

    fn load(tensor: &SharedTensor, lo: &[u32], hi: &[u32]) -> Vec<u32> {
        let region = Region::new(TensorId(0), lo, hi).expect("ranks agree");
        let mut bytes = Vec::new();
        tensor.load(&region, &mut bytes);
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().expect("four bytes"))).collect()
    }

    #[test]
    fn a_box_is_read_in_row_major_order() {
        let tensor = counting(&[3, 4, 5]);
        assert_eq!(load(&tensor, &[1, 1, 2], &[3, 3, 4]), [27, 28, 32, 33, 47, 48, 52, 53]);
        assert_eq!(load(&tensor, &[2, 3, 4], &[3, 4, 5]), [59]);
        assert!(load(&tensor, &[1, 1, 2], &[1, 3, 4]).is_empty());
    }

    #[test]
    fn what_is_stored_is_loaded_and_nothing_else_changes() {
        let tensor = counting(&[4, 4]);
        let region = Region::new(TensorId(0), &[1, 2], &[3, 4]).expect("ranks agree");
        let bytes: Vec<u8> = [100u32, 101, 102, 103].iter().flat_map(|v| v.to_le_bytes()).collect();
        tensor.store(&region, &bytes);
        let all = load(&tensor, &[0, 0], &[4, 4]);
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 100, 101, 8, 9, 102, 103, 12, 13, 14, 15]);
    }
}
