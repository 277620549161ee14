//! Conversions between stored elements and `f32`.
//!
//! Those of 16 bits are written without branches, so that loops over them vectorise. All are written apart from those the
//! kernels use, so that the reference shares nothing with what it checks.

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
/// OCP FP8 E4M3: no infinity, and beyond 448 NaN.
pub(crate) struct F8E4m3;
/// OCP FP8 E5M2.
pub(crate) struct F8E5m2;

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

/// An 8-bit float: its significand's stored bits, its bias, the code of its largest number, and what stands beyond it.
struct Small {
    stored: i32,
    bias: i32,
    largest: u32,
    beyond: u32,
    nan: u32,
}

impl Small {
    const E4M3: Small = Small { stored: 3, bias: 7, largest: 0x7e, beyond: 0x7f, nan: 0x7f };
    const E5M2: Small = Small { stored: 2, bias: 15, largest: 0x7b, beyond: 0x7c, nan: 0x7e };

    fn encode(&self, value: f32) -> u8 {
        let sign = (value.to_bits() >> 24) & 0x80;
        let magnitude = f64::from(value.abs());
        if magnitude.is_nan() {
            return (sign | self.nan) as u8;
        }
        let bits = value.abs().to_bits();
        let exponent = ((bits >> 23) as i32 - 127).max(1 - self.bias);
        // Counted in units of the last place, numbers go on with the next exponent's codes when they round up to it.
        let units = (magnitude * 2f64.powi(self.stored - exponent)).round_ties_even();
        let code = (f64::from((exponent + self.bias - 1) << self.stored) + units) as u32;
        (sign | if code > self.largest { self.beyond } else { code }) as u8
    }

    fn decode(&self, bits: u8) -> f32 {
        let code = u32::from(bits & 0x7f);
        let magnitude = if code > self.largest {
            if code == self.beyond && self.beyond != self.nan { f32::INFINITY } else { f32::NAN }
        } else {
            let exponent = (code >> self.stored) as i32;
            let implied = u32::from(exponent > 0) << self.stored;
            let units = (code & ((1 << self.stored) - 1)) | implied;
            units as f32 * 2f32.powi(exponent.max(1) - self.bias - self.stored)
        };
        if bits & 0x80 == 0 { magnitude } else { -magnitude }
    }
}

macro_rules! small {
    ($name:ty, $form:expr) => {
        impl Elem for $name {
            type Bits = u8;

            fn encode(value: f32) -> u8 {
                $form.encode(value)
            }

            fn decode(bits: u8) -> f32 {
                $form.decode(bits)
            }

            fn slice(array: &Array) -> &[u8] {
                array.bytes()
            }

            fn slice_mut(array: &mut Array) -> &mut [u8] {
                array.bytes_mut()
            }
        }
    };
}

small!(F8E4m3, Small::E4M3);
small!(F8E5m2, Small::E5M2);

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
    fn every_byte_is_what_the_core_crate_says_and_rounds_to_itself() {
        for bits in 0..=u8::MAX {
            for (ours, theirs, back) in [
                (
                    F8E4m3::decode(bits),
                    wsp_core::fp8::e4m3_to_f32(bits),
                    F8E4m3::encode(F8E4m3::decode(bits)),
                ),
                (
                    F8E5m2::decode(bits),
                    wsp_core::fp8::e5m2_to_f32(bits),
                    F8E5m2::encode(F8E5m2::decode(bits)),
                ),
            ] {
                assert!(ours == theirs || (ours.is_nan() && theirs.is_nan()), "{bits:#x}: {ours} {theirs}");
                assert!(back == bits || ours.is_nan(), "{bits:#x}: {back:#x}");
            }
        }
    }

    #[test]
    fn rounding_to_bytes_is_to_nearest_even_as_in_the_core_crate() {
        for high in 0..=u16::MAX {
            for low in [0, 1, 0x7fff, 0x8000, 0xffff] {
                let value = f32::from_bits(u32::from(high) << 16 | low);
                if !value.is_nan() {
                    assert_eq!(F8E4m3::encode(value), wsp_core::fp8::e4m3_from_f32(value), "{value:e}");
                    assert_eq!(F8E5m2::encode(value), wsp_core::fp8::e5m2_from_f32(value), "{value:e}");
                }
            }
        }
    }

    #[test]
    fn nan_stays_nan() {
        assert!(F16::decode(F16::encode(f32::NAN)).is_nan());
        assert!(Bf16::decode(Bf16::encode(f32::from_bits(0x7f80_0001))).is_nan());
    }
}
