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

/// What arithmetic makes of the pattern; none for integers.
pub(crate) fn quiet_nan(dtype: DType) -> Option<&'static [u8]> {
    nans(dtype).map(|[_, quiet]| quiet)
}

/// Bytes for elements that are not written: for real numbers of 16 bits or more a NaN that no operation gives, for integers of 32 bits
/// or more numbers that look random and differ from element to element. Other elements have too few values for one that no task writes.
pub(crate) fn pattern(dtype: DType, bytes: usize) -> Option<Vec<u8>> {
    match (nans(dtype), dtype) {
        (Some([signalling, _]), _) => Some(signalling.iter().copied().cycle().take(bytes).collect()),
        (None, DType::U8 | DType::U16 | DType::F8E4m3 | DType::F8E5m2) => None,
        (None, _) => {
            let word = |n: u64| (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).to_ne_bytes();
            Some((0..).flat_map(word).take(bytes).collect())
        }
    }
}
