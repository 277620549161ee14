//! Integers and decimal fractions.

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

/// The value of a decimal number without sign as TOML writes it: no zeros in front, digits on both sides of a point and of each `_`, an
/// exponent perhaps; without fraction and exponent at most `i64::MAX`. None where it is not one; infinite where it is too large.
pub fn decimal(text: &str) -> Option<f64> {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let digits = |text: &str| {
        text.split('_').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_integer = fraction.is_none() && exponent.is_none();
    let is_decimal = digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
        && (!is_integer || whole.replace('_', "").parse::<i64>().is_ok());
    text.replace('_', "").parse().ok().filter(|_| is_decimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_numbers_are_those_of_toml() {
        for (text, value) in
            [("0", 0.0), ("1_000", 1000.0), ("0.5", 0.5), ("1.85e9", 1.85e9), ("2E-3", 2e-3), ("1e0_1", 10.0)]
        {
            assert_eq!(decimal(text), Some(value), "{text}");
        }
        assert_eq!(decimal("1e999"), Some(f64::INFINITY));
        for text in [
            "",
            "00",
            "01",
            "1.",
            ".5",
            "1__0",
            "_1",
            "1_",
            "0x1",
            "1e",
            "1e1.5",
            "+1",
            "9223372036854775808",
            "inf",
        ] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

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
