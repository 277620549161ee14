//! Number literals.

use crate::ast::{FloatLit, IntLit};

/// A number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Literal {
    /// An integer.
    Int(IntLit),
    /// A float.
    Float(FloatLit),
}

/// Why a text that starts with a digit is no number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumberError {
    /// Not C syntax; what to type instead.
    Malformed(&'static str),
    /// An integer above the largest `u64`.
    IntTooLarge,
    /// A float above the largest of its type.
    FloatTooLarge,
    /// A float other than 0 that rounds to 0.
    FloatTooSmall,
}

/// The value of a literal as the lexer delimits it.
pub(crate) fn decode(text: &str) -> Result<Literal, NumberError> {
    let plain: String;
    let text = if text.contains('\'') {
        plain = text.replace('\'', "");
        &plain
    } else {
        text
    };
    let prefix = text.as_bytes().get(..2).map(|p| p.to_ascii_lowercase());
    match prefix.as_deref() {
        Some(b"0x") => integer(&text[2..], 16).map(Literal::Int),
        Some(b"0b") => integer(&text[2..], 2).map(Literal::Int),
        _ if text.contains(['.', 'e', 'E']) => float(text).map(Literal::Float),
        _ => integer(text, 10).map(Literal::Int),
    }
}

fn integer(text: &str, radix: u32) -> Result<IntLit, NumberError> {
    let end = text.find(|c: char| !c.is_digit(radix)).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let (unsigned, long) = match suffix.to_ascii_lowercase().as_str() {
        "" => (false, false),
        "u" => (true, false),
        "l" | "ll" => (false, true),
        "ul" | "ull" | "lu" | "llu" => (true, true),
        "f" if radix == 10 => return Err(NumberError::Malformed("a float has a point: `1.0f`")),
        _ => {
            return Err(NumberError::Malformed(
                "an integer is written `42`, `42u`, `0x2A`, `0b101010` or `1'000'000`",
            ));
        }
    };
    if digits.is_empty() {
        return Err(NumberError::Malformed("digits follow `0x` and `0b`"));
    }
    if radix == 10 && digits.len() > 1 && digits.starts_with('0') {
        return Err(NumberError::Malformed("C reads a leading 0 as octal; leave it out, or write `0x…`"));
    }
    let value = digits
        .chars()
        .filter_map(|c| c.to_digit(radix))
        .try_fold(0u64, |value, digit| value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit)));
    Ok(IntLit { value: value.ok_or(NumberError::IntTooLarge)?, unsigned, long })
}

fn float(text: &str) -> Result<FloatLit, NumberError> {
    let body = text.strip_suffix(['f', 'F']);
    let single = body.is_some();
    let body = body.unwrap_or(text);
    let value = if single { body.parse::<f32>().map(f64::from) } else { body.parse::<f64>() };
    let value = value.map_err(|_| NumberError::Malformed("a float is written `1.0`, `1.0f` or `1.5e-3f`"))?;
    let mantissa = body.split(['e', 'E']).next().unwrap_or(body);
    if value.is_infinite() {
        return Err(NumberError::FloatTooLarge);
    }
    if value == 0.0 && mantissa.contains(|c: char| ('1'..='9').contains(&c)) {
        return Err(NumberError::FloatTooSmall);
    }
    Ok(FloatLit { value, single })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(text: &str) -> (u64, bool, bool) {
        match decode(text) {
            Ok(Literal::Int(lit)) => (lit.value, lit.unsigned, lit.long),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn real(text: &str) -> (f64, bool) {
        match decode(text) {
            Ok(Literal::Float(lit)) => (lit.value, lit.single),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn integers_have_radix_suffix_and_separators() {
        assert_eq!(int("0"), (0, false, false));
        assert_eq!(int("42u"), (42, true, false));
        assert_eq!(int("0x2aUL"), (42, true, true));
        assert_eq!(int("0B101"), (5, false, false));
        assert_eq!(int("1'000'000ll"), (1_000_000, false, true));
        assert_eq!(int("18446744073709551615"), (u64::MAX, false, false));
    }

    #[test]
    fn floats_are_rounded_once() {
        assert_eq!(real("1.0"), (1.0, false));
        assert_eq!(real("1."), (1.0, false));
        assert_eq!(real(".5f"), (0.5, true));
        assert_eq!(real("0.1f"), (f64::from(0.1f32), true));
        assert_eq!(real("1e-3"), (1e-3, false));
        assert_eq!(real("0.0e-999"), (0.0, false));
    }

    #[test]
    fn what_is_no_number_is_an_error() {
        for text in ["1f", "08", "0x", "0b2", "1.0h", "1e", "1.2.3", "12abc", "0x1.8p3", "1.0L"] {
            assert!(matches!(decode(text), Err(NumberError::Malformed(_))), "{text}");
        }
        assert_eq!(decode("18446744073709551616"), Err(NumberError::IntTooLarge));
        assert_eq!(decode(&"9".repeat(10_000)), Err(NumberError::IntTooLarge));
        assert_eq!(decode("1e999"), Err(NumberError::FloatTooLarge));
        assert_eq!(decode("1e39f"), Err(NumberError::FloatTooLarge));
        assert_eq!(decode("1e-999"), Err(NumberError::FloatTooSmall));
    }
}
