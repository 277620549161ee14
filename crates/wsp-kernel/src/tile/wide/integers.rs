//! Integers of a type that is known when a kernel is compiled, in words with the sign of the type.

use crate::memory::Fault;
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, ReduceOp, UnaryTileOp};

/// The number that a word is.
pub(super) fn value(kind: DType, word: u64) -> i128 {
    match kind {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => i128::from(word.cast_signed()),
        _ => i128::from(word),
    }
}

/// The word of a number modulo 2ⁿ, where the type has `n` bits; of truth values, whether it is not 0.
pub(super) fn wrapped(kind: DType, value: i128) -> u64 {
    match kind {
        DType::I8 => i64::from(value as i8).cast_unsigned(),
        DType::I16 => i64::from(value as i16).cast_unsigned(),
        DType::I32 => i64::from(value as i32).cast_unsigned(),
        DType::U8 => u64::from(value as u8),
        DType::U16 => u64::from(value as u16),
        DType::U32 => u64::from(value as u32),
        DType::Bool => u64::from(value != 0),
        _ => value as u64,
    }
}

/// The word of a number that meets a tile of this kind, as it is given: `u64` for `u64`, `i64` for other integers.
///
/// # Errors
/// `NumberRange` for one that the elements do not hold.
pub(super) fn number(kind: DType, word: u64) -> Result<u64, Fault> {
    let Some((low, high)) = kind.bounds() else { return Ok(word) };
    let signed = kind != DType::U64;
    let value = if signed { i128::from(word.cast_signed()) } else { i128::from(word) };
    match (low..=high).contains(&value) {
        true => Ok(word),
        false => Err(Fault::NumberRange { value, dtype: kind }),
    }
}

/// The word of a whole number, which wraps where it is an integer's.
pub(super) fn whole(kind: DType, number: i64) -> u64 {
    match kind {
        DType::F64 => (number as f64).to_bits(),
        _ => wrapped(kind, number.into()),
    }
}

/// A word of one kind as the elements of a tile have it: an integer becomes the nearest real number, or wraps; a real number loses its
/// fraction, and none is left of one that does not fit then. Truth values are whether a number is not 0.
pub(super) fn convert(kind: DType, to: DType, word: u64) -> Option<u64> {
    Some(match (kind, to) {
        (DType::F64, DType::Bool) => u64::from(f64::from_bits(word) != 0.0),
        (DType::F64, _) => {
            let (low, high) = to.bounds()?;
            let whole = f64::from_bits(word).trunc();
            // All bounds are far below 1e30; NaN is not.
            let whole = (whole.abs() < 1e30).then_some(whole as i128)?;
            (low..=high).contains(&whole).then_some(wrapped(to, whole))?
        }
        (_, DType::F64) => (value(kind, word) as f64).to_bits(),
        (_, to) if to.is_float() => once_rounded(value(kind, word)).to_bits(),
        (_, to) => wrapped(to, value(kind, word)),
    })
}

/// A number that is rounded to any type of at most 24 significant bits as the integer would be: what does not fit 53 bits leaves a last bit
/// that says so (rounding to odd).
fn once_rounded(value: i128) -> f64 {
    const LOST: u32 = 12;
    let size = value.unsigned_abs();
    if size < 1 << 53 {
        return value as f64;
    }
    // Below 2^64, so that at most 52 bits are kept.
    let kept = size >> LOST | u128::from(size & ((1 << LOST) - 1) != 0);
    let size = (kept << LOST) as f64;
    if value < 0 { -size } else { size }
}

/// A function of one tile that takes integers.
pub(super) fn unary(op: UnaryTileOp, kind: DType, word: u64) -> u64 {
    let x = value(kind, word);
    wrapped(
        kind,
        match op {
            UnaryTileOp::Neg => -x,
            UnaryTileOp::Abs => x.abs(),
            UnaryTileOp::Relu => x.max(0),
            _ => x,
        },
    )
}

/// A function of two operands; none for a division by 0. Comparisons give truth values. A quotient loses its fraction.
pub(super) fn binary(op: BinaryTileOp, kind: DType, a: u64, b: u64) -> Option<u64> {
    let (a, b) = (value(kind, a), value(kind, b));
    let result = match op {
        BinaryTileOp::Add => a + b,
        BinaryTileOp::Sub => a - b,
        // Low bits are right, whatever is lost above.
        BinaryTileOp::Mul => a.wrapping_mul(b),
        BinaryTileOp::Div => a.checked_div(b)?,
        BinaryTileOp::Max => a.max(b),
        BinaryTileOp::Min => a.min(b),
        BinaryTileOp::Eq => i128::from(a == b),
        BinaryTileOp::Ne => i128::from(a != b),
        BinaryTileOp::Lt => i128::from(a < b),
        BinaryTileOp::Le => i128::from(a <= b),
        BinaryTileOp::Gt => i128::from(a > b),
        BinaryTileOp::Ge => i128::from(a >= b),
    };
    Some(wrapped(kind, result))
}

/// A reduction that takes integers, of words in order: sums wrap, places are `i64`; of no elements the least or largest value of the type,
/// 0, or -1.
pub(super) fn reduce(op: ReduceOp, kind: DType, words: impl Iterator<Item = u64>) -> u64 {
    let (low, high) = kind.bounds().unwrap_or_default();
    let values = words.map(|word| value(kind, word));
    // The first of those that are equal.
    let first = |best: Option<(usize, i128)>, (at, x): (usize, i128), better: fn(i128, i128) -> bool| {
        Some(best.filter(|(_, found)| !better(x, *found)).unwrap_or((at, x)))
    };
    let place = |found: Option<(usize, i128)>| found.map_or(-1, |(at, _)| at as i64).cast_unsigned();
    match op {
        ReduceOp::Max => wrapped(kind, values.max().unwrap_or(low)),
        ReduceOp::Min => wrapped(kind, values.min().unwrap_or(high)),
        ReduceOp::ArgMax => place(values.enumerate().fold(None, |best, x| first(best, x, |a, b| a > b))),
        ReduceOp::ArgMin => place(values.enumerate().fold(None, |best, x| first(best, x, |a, b| a < b))),
        // Fewer than 2^63 elements of fewer than 65 bits.
        ReduceOp::Sum | ReduceOp::Mean => wrapped(kind, values.sum()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_simd::round_f64;

    #[test]
    fn an_integer_becomes_the_nearest_number_of_every_type() {
        // Just above the middle of two neighbours, by less than an `f64` of this size tells.
        for (dtype, bits) in [(DType::Bf16, 8), (DType::F32, 24)] {
            for top in [54, 60, 62] {
                let (one, middle) = (1_u64 << top, 1_u64 << (top - bits));
                for (x, want) in
                    [(one + middle, one), (one + middle + 1, one + 2 * middle), (one + middle - 1, one)]
                {
                    let word = convert(DType::U64, dtype, x).expect("real numbers hold every integer");
                    assert_eq!(round_f64(dtype, f64::from_bits(word)), want as f32, "{dtype} {x:#x}");
                    let minus = convert(DType::I64, dtype, x.wrapping_neg()).expect("as before");
                    assert_eq!(round_f64(dtype, f64::from_bits(minus)), -(want as f32), "{dtype} -{x:#x}");
                }
            }
        }
        let word = convert(DType::I64, DType::F64, (1 << 60) + 129).expect("as before");
        assert_eq!(f64::from_bits(word), 2.0_f64.powi(60) + 256.0);
    }
}
