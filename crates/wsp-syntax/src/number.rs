//! Integers.

use crate::Fault;

/// The value of an integer without sign: decimal, `0x…`, with `binary` `0b…`, `_` between digits.
///
/// # Errors
/// [`Fault::Number`] when it is none, [`Fault::LargeNumber`] above `u64::MAX`.
pub fn integer(text: &str, binary: bool) -> Result<u64, Fault> {
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        Some("0b" | "0B") if binary => (&text[2..], 2),
        _ => (text, 10),
    };
    let digit = |c: char| c.to_digit(radix);
    if !digits.starts_with(|c| digit(c).is_some()) || !digits.chars().all(|c| c == '_' || digit(c).is_some())
    {
        return Err(Fault::Number);
    }
    digits
        .chars()
        .filter_map(digit)
        .try_fold(0u64, |value, digit| value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit)))
        .ok_or(Fault::LargeNumber)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_decimal_hexadecimal_or_binary() {
        for (text, value) in [("0", 0), ("42", 42), ("0x2A", 42), ("0b101", 5), ("1_000_000", 1_000_000)] {
            assert_eq!(integer(text, true), Ok(value), "{text}");
        }
        assert_eq!(integer("18446744073709551615", false), Ok(u64::MAX));
        assert_eq!(integer("18446744073709551616", false), Err(Fault::LargeNumber));
        assert_eq!(integer(&"9".repeat(10_000), false), Err(Fault::LargeNumber));
        for text in ["", "x", "1x", "0x", "0b2", "_1", "1.5"] {
            assert_eq!(integer(text, true), Err(Fault::Number), "{text}");
        }
        assert_eq!(integer("0b101", false), Err(Fault::Number));
    }
}
