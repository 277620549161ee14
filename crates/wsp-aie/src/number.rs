//! Short floating-point numbers.

/// The value of a binary16.
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15) << 31, (bits >> 10) & 0x1f, u32::from(bits & 0x3ff));
    match exponent {
        0 => {
            let value = fraction as f32 / 16_777_216.0;
            if sign == 0 { value } else { -value }
        }
        0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (u32::from(exponent) + 112) << 23 | fraction << 13),
    }
}

/// The nearest bfloat16, ties to even, as a binary32.
pub(crate) fn round_bf16(value: f32) -> f32 {
    let bits = value.to_bits();
    if value.is_nan() {
        return f32::from_bits((bits | 0x0040_0000) & 0xffff_0000);
    }
    f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000)
}
