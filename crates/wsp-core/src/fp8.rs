//! The 8-bit floating-point formats of the OCP specification (OFP8, revision 1.0): conversions to and from binary32.
//!
//! Both directions are those of `ml_dtypes`: a value beyond the largest finite one becomes NaN in E4M3, which has no infinity,
//! and infinity in E5M2. Nothing saturates: scale before you store.

/// The parameters of a format: 1 sign bit, then the exponent, then the mantissa.
#[derive(Clone, Copy)]
struct Format {
    /// Bits of the mantissa.
    mantissa: u32,
    /// What is added to an exponent in storage.
    bias: i32,
    /// The magnitude of the largest finite value.
    largest: u8,
    /// The magnitude that stands for what is too large.
    overflow: u8,
    /// The magnitude of the NaN that conversions give.
    nan: u8,
}

const E4M3: Format = Format { mantissa: 3, bias: 7, largest: 0x7e, overflow: 0x7f, nan: 0x7f };
const E5M2: Format = Format { mantissa: 2, bias: 15, largest: 0x7b, overflow: 0x7c, nan: 0x7e };

const EXPONENT_BIAS: i32 = 127;
const FRACTION_BITS: u32 = 23;

/// The value of every E4M3 byte (`float8_e4m3fn`: largest 448, no infinity).
pub static E4M3_TO_F32: [f32; 256] = table(E4M3);
/// The value of every E5M2 byte (largest 57344).
pub static E5M2_TO_F32: [f32; 256] = table(E5M2);

/// The value of an E4M3 byte; exact.
pub fn e4m3_to_f32(bits: u8) -> f32 {
    E4M3_TO_F32[usize::from(bits)]
}

/// The value of an E5M2 byte; exact.
pub fn e5m2_to_f32(bits: u8) -> f32 {
    E5M2_TO_F32[usize::from(bits)]
}

/// The E4M3 byte nearest to a value, ties to even; NaN from 464 up.
pub const fn e4m3_from_f32(value: f32) -> u8 {
    encode(E4M3, value)
}

/// The E5M2 byte nearest to a value, ties to even; infinity from 61440 up.
pub const fn e5m2_from_f32(value: f32) -> u8 {
    encode(E5M2, value)
}

const fn table(format: Format) -> [f32; 256] {
    let mut values = [0.0; 256];
    let mut bits = 0;
    while bits < 256 {
        values[bits] = decode(format, bits as u8);
        bits += 1;
    }
    values
}

const fn decode(format: Format, bits: u8) -> f32 {
    let (sign, magnitude) = ((bits as u32 & 0x80) << 24, bits & 0x7f);
    if magnitude > format.largest {
        let special = if magnitude == format.overflow && format.overflow != format.nan { 0 } else { 1 << 22 };
        return f32::from_bits(sign | 0x7f80_0000 | special);
    }
    let fraction = (magnitude & ((1 << format.mantissa) - 1)) as u32;
    let exponent = (magnitude >> format.mantissa) as i32;
    if exponent == 0 {
        // A subnormal value is an integer times a power of two, both of which binary32 holds.
        let unit = 1 - format.bias - format.mantissa as i32;
        let scale = f32::from_bits(((EXPONENT_BIAS + unit) as u32) << FRACTION_BITS);
        return f32::from_bits((fraction as f32 * scale).to_bits() | sign);
    }
    let exponent = (exponent - format.bias + EXPONENT_BIAS) as u32;
    f32::from_bits(sign | exponent << FRACTION_BITS | fraction << (FRACTION_BITS - format.mantissa))
}

const fn encode(format: Format, value: f32) -> u8 {
    let bits = value.to_bits();
    let sign = (bits >> 24) as u8 & 0x80;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | format.nan;
    }
    let exponent = (magnitude >> FRACTION_BITS) as i32 - EXPONENT_BIAS;
    let smallest = 1 - format.bias;
    // Below the smallest normal exponent fewer bits of the mantissa remain; beyond 24 the value is less than half a unit.
    let missing = if exponent < smallest { (smallest - exponent) as u32 } else { 0 };
    let dropped = FRACTION_BITS - format.mantissa + missing;
    if dropped > FRACTION_BITS + 1 {
        return sign;
    }
    let significand = (magnitude & 0x7f_ffff) | 0x80_0000;
    let (kept, rest, half) =
        (significand >> dropped, significand & ((1 << dropped) - 1), 1u32 << (dropped - 1));
    let kept = kept + (rest > half || (rest == half && kept & 1 == 1)) as u32;
    // The leading bit of `kept` counts as one step of the exponent, and so does a carry out of rounding.
    let base = if missing > 0 { 0 } else { ((exponent - smallest) as u32) << format.mantissa };
    let rounded = base + kept;
    sign | if rounded > format.largest as u32 { format.overflow } else { rounded as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A finite magnitude of a format, in f64 and from the definition: (-1)^s 2^(e - bias) (1 + m / 2^M).
    fn by_definition(bits: u8, mantissa: i32, bias: i32) -> f64 {
        let two = |n: i32| f64::from_bits(((1023 + n) as u64) << 52);
        let (e, m) = (i32::from(bits & 0x7f) >> mantissa, f64::from(i32::from(bits) & ((1 << mantissa) - 1)));
        let magnitude = match e {
            0 => two(1 - bias) * m / two(mantissa),
            _ => two(e - bias) * (1.0 + m / two(mantissa)),
        };
        if bits & 0x80 == 0 { magnitude } else { -magnitude }
    }

    #[test]
    fn every_byte_has_the_value_of_its_definition() {
        for bits in 0..=255u8 {
            if bits & 0x7f <= 0x7e {
                assert_eq!(f64::from(e4m3_to_f32(bits)), by_definition(bits, 3, 7), "e4m3 {bits:#x}");
            } else {
                assert!(e4m3_to_f32(bits).is_nan());
            }
            match bits & 0x7f {
                0..=0x7b => {
                    assert_eq!(f64::from(e5m2_to_f32(bits)), by_definition(bits, 2, 15), "e5m2 {bits:#x}")
                }
                0x7c => assert_eq!(e5m2_to_f32(bits).abs(), f32::INFINITY),
                _ => assert!(e5m2_to_f32(bits).is_nan()),
            }
            assert_eq!(e4m3_to_f32(bits).is_sign_negative(), bits & 0x80 != 0);
        }
        assert_eq!((e4m3_to_f32(0x7e), e5m2_to_f32(0x7b)), (448.0, 57344.0));
    }

    /// Ties are the only values equally far from two bytes, so their midpoints and both neighbours decide everything.
    #[test]
    fn every_value_becomes_the_nearest_byte_and_ties_the_even_one() {
        let check = |from: fn(f32) -> u8, to: fn(u8) -> f32, largest: u8, beyond: f32| {
            for bits in 0..=largest {
                let value = to(bits);
                assert_eq!((from(value), from(-value)), (bits, bits | 0x80));
                let next = if bits == largest { beyond } else { to(bits + 1) };
                let middle = (value + next) / 2.0;
                let even = if bits % 2 == 0 { bits } else { bits + 1 };
                assert_eq!(from(middle), even, "between {value} and {next}");
                assert_eq!(from(f32::from_bits(middle.to_bits() - 1)), bits, "just below {middle}");
                assert_eq!(from(f32::from_bits(middle.to_bits() + 1)), bits + 1, "just above {middle}");
            }
        };
        check(e4m3_from_f32, e4m3_to_f32, 0x7e, 480.0);
        check(e5m2_from_f32, e5m2_to_f32, 0x7b, 65536.0);
    }

    #[test]
    fn what_is_too_large_becomes_nan_or_infinity() {
        for value in [465.0, 1e30, f32::INFINITY, f32::NAN] {
            assert!(e4m3_to_f32(e4m3_from_f32(value)).is_nan());
        }
        assert_eq!((e5m2_from_f32(1e30), e5m2_from_f32(f32::NEG_INFINITY)), (0x7c, 0xfc));
        assert!(e5m2_to_f32(e5m2_from_f32(f32::NAN)).is_nan());
        assert_eq!((e4m3_from_f32(1e-30), e4m3_from_f32(-1e-45), e5m2_from_f32(-0.0)), (0, 0x80, 0x80));
    }
}
