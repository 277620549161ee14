//! Arrays as memory that runs use where it lies.
#![allow(unsafe_code, reason = "says of the memory of an array that nobody else has it")]

use std::ptr::NonNull;
use std::sync::Arc;
use wsp_memory::{Buffer, Space, View, ViewAccess, ViewFault};
use wsp_plan::Array;

/// Keeps an array, which no code reads or writes until it is taken back.
struct Lent(Array);

/// A view of all elements of an array: a run uses them where they lie, and [`take_back`] gives the array back.
///
/// # Errors
/// More dimensions than a tensor may have, or a longer one than boxes reach.
pub fn lend(mut array: Array) -> Result<View, ViewFault> {
    let (dtype, shape) = (array.dtype(), array.shape().to_vec());
    let bytes = array.bytes_mut();
    let (ptr, len) = (NonNull::from(&mut *bytes).cast(), bytes.len());
    // SAFETY: an array keeps its bytes where they are for as long as it lives and is not asked for others, they are initialised, and no
    // more than `isize::MAX`. Asked for bytes to write, it shares them with no copy. From now on only the buffer has it, which does not look at it, until it is taken back when no view
    // is left.
    let buffer = unsafe { Buffer::new(Arc::new(Lent(array)), ptr, len, ViewAccess::ReadWrite, Space::Host) };
    View::dense(buffer, dtype, &shape)
}

/// The array that was [lent](lend), with what runs wrote to it.
///
/// # Errors
/// The view, where another one or a claim still has its memory or may get it, or the memory is no array's.
pub fn take_back(mut view: View) -> Result<Array, View> {
    if !view.is_sole() || !view.buffer().is_kept_by::<Lent>() {
        return Err(view);
    }
    let buffer = Arc::into_inner(view.into_buffer());
    let lent =
        buffer.and_then(|buffer| buffer.into_owner().downcast::<Lent>().ok()).and_then(Arc::into_inner);
    Ok(lent.expect("the last view of an array should be all that keeps it").0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::DType;

    #[test]
    fn an_array_comes_back_at_its_address_when_no_view_is_left() {
        let mut array = Array::zeros(DType::U8, &[2, 3]).expect("it is small");
        array.bytes_mut().copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        let address = array.bytes().as_ptr();
        let view = lend(array).expect("it fits");
        let other = view.clone();
        assert_eq!((view.ptr().cast_const(), view.shape()), (address, &[2, 3][..]));
        let view = take_back(view).expect_err("another view is left");
        drop(other);
        let weak = Arc::downgrade(view.buffer());
        let view = take_back(view).expect_err("another view may be made at any time");
        drop(weak);
        let array = take_back(view).expect("no other view is left");
        assert_eq!((array.bytes().as_ptr(), array.bytes()), (address, &[1, 2, 3, 4, 5, 6][..]));
        let own = Buffer::zeros(8, 64).expect("it is small");
        assert!(take_back(View::dense(own, DType::U8, &[8]).expect("it fits")).is_err());
    }
}
