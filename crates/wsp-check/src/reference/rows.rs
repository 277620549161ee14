//! Elements of any float array as f64.

use crate::numbers::{Bf16, Elem, F8E4m3, F8E5m2, F16, F32};
use wsp_core::DType;
use wsp_plan::Array;

/// An array of real numbers, read a row at a time.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    array: &'a Array,
}

impl<'a> Rows<'a> {
    /// `None` when the elements are not real numbers.
    pub(super) fn new(array: &'a Array) -> Option<Rows<'a>> {
        array.dtype().is_float().then_some(Rows { array })
    }

    /// Elements `at..at + out.len()`; they must exist.
    pub(super) fn read(&self, at: usize, out: &mut [f64]) {
        match self.array.dtype() {
            DType::F16 => decode::<F16>(self.array, at, out),
            DType::Bf16 => decode::<Bf16>(self.array, at, out),
            DType::F32 => decode::<F32>(self.array, at, out),
            DType::F8E4m3 => decode::<F8E4m3>(self.array, at, out),
            DType::F8E5m2 => decode::<F8E5m2>(self.array, at, out),
            _ => {
                let values = self.array.as_slice::<f64>().expect("what is left should be f64");
                out.copy_from_slice(&values[at..at + out.len()]);
            }
        }
    }
}

fn decode<E: Elem>(array: &Array, at: usize, out: &mut [f64]) {
    let bits = &E::slice(array)[at..at + out.len()];
    for (out, &bits) in out.iter_mut().zip(bits) {
        *out = f64::from(E::decode(bits));
    }
}
