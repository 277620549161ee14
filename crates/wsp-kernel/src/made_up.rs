//! Elements that stand for what a kernel without a body computes: a digest of what it reads, and numbers that depend on every bit of a digest.

use wsp_core::DType;

/// Two odd constants of the 64-bit finaliser of MurmurHash3.
const MIX: [u64; 2] = [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53];

/// The 64-bit finaliser of MurmurHash3: every bit of the argument changes half of the result's.
#[inline]
pub fn mix(mut x: u64) -> u64 {
    for constant in MIX {
        x = (x ^ (x >> 33)).wrapping_mul(constant);
    }
    x ^ (x >> 33)
}

/// A digest that depends on another, on all bytes, and on their order.
pub fn absorb(digest: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut digest = digest;
    for word in words {
        digest = (digest ^ u64::from_le_bytes(*word)).wrapping_mul(MIX[0]).rotate_left(29);
    }
    for byte in rest {
        digest = (digest ^ u64::from(*byte)).wrapping_mul(MIX[1]).rotate_left(31);
    }
    mix(digest)
}

/// Appends elements that differ from place to place: reals from [1, 2), integers of any value, 0 and 1 as truth values.
pub fn elements(dtype: DType, digest: u64, count: usize, into: &mut Vec<u8>) {
    let bits = (0..count).map(|index| mix(digest ^ (index as u64).wrapping_mul(MIX[1])));
    match dtype {
        DType::F64 => append(bits, into, |bits| (0x3FF0_0000_0000_0000 | bits >> 12).to_le_bytes()),
        DType::F32 => append(bits, into, |bits| (0x3F80_0000 | (bits >> 41) as u32).to_le_bytes()),
        DType::F16 => append(bits, into, |bits| (0x3C00 | (bits >> 54) as u16).to_le_bytes()),
        DType::Bf16 => append(bits, into, |bits| (0x3F80 | (bits >> 57) as u16).to_le_bytes()),
        DType::F8E4m3 => append(bits, into, |bits| [0x38 | (bits >> 61) as u8]),
        DType::F8E5m2 => append(bits, into, |bits| [0x3C | (bits >> 62) as u8]),
        DType::Bool => append(bits, into, |bits| [bits as u8 & 1]),
        DType::U8 | DType::I8 => append(bits, into, |bits| [bits as u8]),
        DType::U16 | DType::I16 => append(bits, into, |bits| (bits as u16).to_le_bytes()),
        DType::I32 | DType::U32 => append(bits, into, |bits| (bits as u32).to_le_bytes()),
        DType::I64 | DType::U64 => append(bits, into, u64::to_le_bytes),
    }
}

/// The type is asked for once for all elements: a loop that asks for each takes twice the time.
fn append<const BYTES: usize>(
    bits: impl ExactSizeIterator<Item = u64>,
    into: &mut Vec<u8>,
    bytes: impl Fn(u64) -> [u8; BYTES],
) {
    let start = into.len();
    into.resize(start + bits.len() * BYTES, 0);
    for (to, bits) in into[start..].as_chunks_mut::<BYTES>().0.iter_mut().zip(bits) {
        *to = bytes(bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use std::collections::BTreeSet;

    fn made(dtype: DType) -> Vec<u8> {
        let mut bytes = vec![7];
        elements(dtype, 3, 1000, &mut bytes);
        assert_eq!(bytes.len(), 1 + 1000 * dtype.size(), "{dtype}");
        bytes.split_off(1)
    }

    #[test]
    fn reals_are_from_1_below_2_and_differ() {
        let all = |dtype: DType, value: fn(&[u8]) -> f64, differ: usize| {
            let values: Vec<f64> = made(dtype).chunks_exact(dtype.size()).map(value).collect();
            assert!(values.iter().all(|value| (1.0..2.0).contains(value)), "{dtype}: {values:?}");
            let different: BTreeSet<u64> = values.iter().map(|value| value.to_bits()).collect();
            assert!(different.len() >= differ, "{dtype}: {}", different.len());
        };
        all(DType::F64, |b| f64::from_le_bytes(b.try_into().unwrap()), 1000);
        all(DType::F32, |b| f32::from_le_bytes(b.try_into().unwrap()).into(), 990);
        all(DType::F16, |b| f16::from_le_bytes(b.try_into().unwrap()).into(), 600);
        all(DType::Bf16, |b| bf16::from_le_bytes(b.try_into().unwrap()).into(), 128);
        // Of 8 bits: no exponent but that of 1, and all mantissas of 3 and of 2 bits.
        for (dtype, one, mantissas) in [(DType::F8E4m3, 0x38, 8), (DType::F8E5m2, 0x3C, 4)] {
            let different: BTreeSet<u8> = made(dtype).into_iter().collect();
            assert_eq!(different, (one..one + mantissas).collect(), "{dtype}");
        }
    }

    #[test]
    fn integers_have_any_value_and_truth_values_are_0_and_1() {
        for dtype in
            [DType::U8, DType::I8, DType::U16, DType::I16, DType::U32, DType::I32, DType::U64, DType::I64]
        {
            let bytes = made(dtype);
            // Each byte of the elements takes most of its values.
            for at in 0..dtype.size() {
                let different: BTreeSet<u8> = bytes.iter().skip(at).step_by(dtype.size()).copied().collect();
                assert!(different.len() > 230, "byte {at} of {dtype}: {}", different.len());
            }
        }
        assert_eq!(made(DType::Bool).into_iter().collect::<BTreeSet<u8>>(), BTreeSet::from([0, 1]));
    }

    #[test]
    fn digests_depend_on_every_byte_and_on_order() {
        let bytes: Vec<u8> = (0..21).collect();
        let digest = absorb(5, &bytes);
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_ne!(absorb(5, &other), digest, "byte {at}");
        }
        let turned: Vec<u8> = bytes.iter().rev().copied().collect();
        assert_ne!(absorb(5, &turned), digest);
        assert_ne!(absorb(6, &bytes), digest);
    }
}
