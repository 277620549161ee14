//! Conversions between stored elements and `f32`.
//!
//! Written without branches, so that loops over them vectorise, and apart from those the kernels use, so that the
//! reference shares nothing with what it checks.

use wsp_plan::Array;

/// A stored element type of attention data.
pub(crate) trait Elem: Send + Sync + 'static {
    /// How an element is stored.
    type Bits: Copy + Send + Sync + 'static;

    /// Rounds to nearest, ties to even.
    fn encode(value: f32) -> Self::Bits;
    /// The exact value.
    fn decode(bits: Self::Bits) -> f32;
    /// The elements of an array of this type.
    fn slice(array: &Array) -> &[Self::Bits];
    /// The elements of an array of this type, to be written.
    fn slice_mut(array: &mut Array) -> &mut [Self::Bits];
}

/// binary32.
pub(crate) struct F32;
/// binary16.
pub(crate) struct F16;
/// bfloat16.
pub(crate) struct Bf16;

macro_rules! slices {
    ($bits:ty) => {
        fn slice(array: &Array) -> &[$bits] {
            array.as_slice().expect("the element size should be that of the type")
        }

        fn slice_mut(array: &mut Array) -> &mut [$bits] {
            array.as_slice_mut().expect("the element size should be that of the type")
        }
    };
}

impl Elem for F32 {
    type Bits = f32;

    slices!(f32);

    #[inline(always)]
    fn encode(value: f32) -> f32 {
        value
    }

    #[inline(always)]
    fn decode(bits: f32) -> f32 {
        bits
    }
}

impl Elem for F16 {
    type Bits = u16;

    slices!(u16);

    #[inline(always)]
    fn encode(value: f32) -> u16 {
        const SMALLEST_NORMAL: u32 = (127 - 14) << 23;
        const OVERFLOW: u32 = (127 + 16) << 23;
        const INFINITE: u32 = 0xff << 23;
        // Moves the exponent to its place in binary16 and adds just under half a unit of the last place.
        const REBIAS: u32 = (15u32.wrapping_sub(127) << 23).wrapping_add(0xfff);
        // Adding this to a value below 2^-14 leaves its binary16 mantissa, rounded, in the low bits.
        const SUBNORMAL_MAGIC: f32 = 0.5;
        let bits = value.to_bits();
        let sign = (bits >> 16) & 0x8000;
        let abs = bits & 0x7fff_ffff;
        let odd = (abs >> 13) & 1;
        let normal = abs.wrapping_add(REBIAS).wrapping_add(odd) >> 13;
        let subnormal =
            (f32::from_bits(abs) + SUBNORMAL_MAGIC).to_bits().wrapping_sub(SUBNORMAL_MAGIC.to_bits());
        let special = if abs > INFINITE { 0x7e00 } else { 0x7c00 };
        let finite = if abs < SMALLEST_NORMAL { subnormal } else { normal };
        let magnitude = if abs >= OVERFLOW { special } else { finite };
        (sign | magnitude) as u16
    }

    #[inline(always)]
    fn decode(bits: u16) -> f32 {
        // Moves the exponent into place, then scales by 2^112, which also normalises subnormal values.
        const SCALE: f32 = f32::from_bits((127 + 112) << 23);
        let bits = u32::from(bits);
        let magnitude = (bits & 0x7fff) << 13;
        let scaled = (f32::from_bits(magnitude) * SCALE).to_bits();
        let finite = if magnitude >= 0x1f << 23 { magnitude | (0xff << 23) } else { scaled };
        f32::from_bits(finite | ((bits & 0x8000) << 16))
    }
}

impl Elem for Bf16 {
    type Bits = u16;

    slices!(u16);

    #[inline(always)]
    fn encode(value: f32) -> u16 {
        let bits = value.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        let quiet = (bits >> 16) | 0x40;
        (if bits & 0x7fff_ffff > 0x7f80_0000 { quiet } else { rounded }) as u16
    }

    #[inline(always)]
    fn decode(bits: u16) -> f32 {
        f32::from_bits(u32::from(bits) << 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_decodes_as_the_half_crate_says() {
        for bits in 0..=u16::MAX {
            let (ours, theirs) = (F16::decode(bits), half::f16::from_bits(bits).to_f32());
            assert!(ours == theirs || (ours.is_nan() && theirs.is_nan()), "{bits:#x}: {ours} {theirs}");
            let (ours, theirs) = (Bf16::decode(bits), half::bf16::from_bits(bits).to_f32());
            assert!(ours == theirs || (ours.is_nan() && theirs.is_nan()), "{bits:#x}: {ours} {theirs}");
        }
    }

    #[test]
    fn encoding_rounds_to_nearest_even_near_every_half() {
        for bits in 0..=u16::MAX {
            let centre = half::f16::from_bits(bits).to_f32();
            for offset in [-0x1001i32, -0x1000, -0xfff, -1, 0, 1, 0xfff, 0x1000, 0x1001] {
                let value = f32::from_bits(centre.to_bits().wrapping_add_signed(offset));
                check::<F16>(value, F16::encode(value), half::f16::from_f32(value).to_bits());
                let value = f32::from_bits((u32::from(bits) << 16).wrapping_add_signed(offset * 8));
                check::<Bf16>(value, Bf16::encode(value), half::bf16::from_f32(value).to_bits());
            }
        }
    }

    fn check<T>(value: f32, ours: u16, theirs: u16) {
        if value.is_nan() {
            return;
        }
        assert_eq!(ours, theirs, "{} of {value:e}", std::any::type_name::<T>());
    }

    #[test]
    fn nan_stays_nan() {
        assert!(F16::decode(F16::encode(f32::NAN)).is_nan());
        assert!(Bf16::decode(Bf16::encode(f32::from_bits(0x7f80_0001))).is_nan());
    }
}
