//! What stands in memory that is to be written, to find what is not.

use wsp_core::DType;

/// The signalling NaN of the pattern, and what arithmetic with it gives: the same with the first bit of the mantissa set.
fn nans(dtype: DType) -> Option<[&'static [u8]; 2]> {
    const F16: [[u8; 2]; 2] = [0x7c5a_u16.to_ne_bytes(), 0x7e5a_u16.to_ne_bytes()];
    const BF16: [[u8; 2]; 2] = [0x7f9a_u16.to_ne_bytes(), 0x7fda_u16.to_ne_bytes()];
    const F32: [[u8; 4]; 2] = [0x7f85_a5a5_u32.to_ne_bytes(), 0x7fc5_a5a5_u32.to_ne_bytes()];
    const F64: [[u8; 8]; 2] =
        [0x7ff0_5a5a_5a5a_a5a5_u64.to_ne_bytes(), 0x7ff8_5a5a_5a5a_a5a5_u64.to_ne_bytes()];
    match dtype {
        DType::F16 => Some([&F16[0], &F16[1]]),
        DType::Bf16 => Some([&BF16[0], &BF16[1]]),
        DType::F32 => Some([&F32[0], &F32[1]]),
        DType::F64 => Some([&F64[0], &F64[1]]),
        _ => None,
    }
}

/// What became of an element that held a [`Fill`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// It was written.
    Stored,
    /// It holds what it was filled with.
    Left,
    /// It follows from what it, or another element, was filled with.
    Computed,
}

/// What memory holds before a body that is to write it, so that what the body leaves there, and what it computes from that, is found.
///
/// Real numbers of 16 bits or more hold a NaN that no operation gives, and one call tells both. Others hold numbers that look random. Any of them
/// may be a result as well, so that it takes a second call, over the complement of each bit, to tell them apart.
#[derive(Debug)]
pub(crate) struct Fill {
    dtype: DType,
    bytes: Vec<u8>,
}

impl Fill {
    /// For elements of a type in so many bytes.
    pub(crate) fn new(dtype: DType, bytes: usize) -> Fill {
        let bytes = match nans(dtype) {
            Some([signalling, _]) => signalling.iter().copied().cycle().take(bytes).collect(),
            None => {
                let word = |n: u64| (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).to_ne_bytes();
                (0..).flat_map(word).take(bytes).collect()
            }
        };
        Fill { dtype, bytes }
    }

    /// For a body that is called once; none for elements of 8 and 16 bits that have too few values for one that no body writes.
    pub(crate) fn of_one_call(dtype: DType, bytes: usize) -> Option<Fill> {
        let is_small = dtype.size() < 4 && nans(dtype).is_none();
        (!is_small).then(|| Fill::new(dtype, bytes))
    }

    /// Whether one call does not tell what is written.
    pub(crate) fn takes_two_calls(&self) -> bool {
        nans(self.dtype).is_none()
    }

    /// What memory holds before the first call.
    pub(crate) fn first(&self) -> &[u8] {
        &self.bytes
    }

    /// What memory holds before the second call.
    pub(crate) fn second(&self) -> Vec<u8> {
        match self.takes_two_calls() {
            true => self.bytes.iter().map(|byte| !byte).collect(),
            false => self.bytes.clone(),
        }
    }

    /// What became of an element, by what memory holds after the last call and, where there were two, after the first.
    pub(crate) fn fate(&self, element: usize, first: Option<&[u8]>, last: &[u8]) -> Fate {
        let size = self.dtype.size();
        let at = element * size..(element + 1) * size;
        let (held, last) = (&self.bytes[at.clone()], &last[at.clone()]);
        let is_left = match first {
            None => last == held,
            Some(first) if self.takes_two_calls() => {
                first[at.clone()] == *held && last.iter().zip(held).all(|(now, held)| *now == !*held)
            }
            Some(first) => first[at.clone()] == *held && last == held,
        };
        let is_computed = || {
            first.is_some_and(|first| first[at] != *last)
                || nans(self.dtype).is_some_and(|[_, quiet]| last == quiet)
        };
        match is_left {
            true => Fate::Left,
            false if is_computed() => Fate::Computed,
            false => Fate::Stored,
        }
    }
}
