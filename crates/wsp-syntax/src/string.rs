//! Strings in quotes and their escapes.

/// The escapes that strings of a language have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Escapes {
    /// `\\`, `\"` and `\u{HEX}`.
    Hex,
    /// Those, `\n` and `\t`.
    Lines,
}

/// What a string in quotes says.
///
/// # Errors
/// Where the first escape begins that the language does not have, in bytes.
pub fn unescape(quoted: &str, escapes: Escapes) -> Result<String, usize> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or("");
    let mut said = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(plain) = rest.find('\\') {
        said.push_str(&rest[..plain]);
        let at = 1 + inner.len() - rest.len() + plain;
        let (c, behind) = escape(&rest[plain + 1..], escapes).ok_or(at)?;
        said.push(c);
        rest = behind;
    }
    said.push_str(rest);
    Ok(said)
}

/// The character of an escape behind its backslash, and what follows it.
fn escape(rest: &str, escapes: Escapes) -> Option<(char, &str)> {
    match rest.as_bytes().first()? {
        b'\\' => Some(('\\', &rest[1..])),
        b'"' => Some(('"', &rest[1..])),
        b'n' if escapes == Escapes::Lines => Some(('\n', &rest[1..])),
        b't' if escapes == Escapes::Lines => Some(('\t', &rest[1..])),
        b'u' => {
            let (hex, behind) = rest[1..].strip_prefix('{')?.split_once('}')?;
            let digits = (1..=6).contains(&hex.len()) && hex.bytes().all(|b| b.is_ascii_hexdigit());
            let code = digits.then(|| u32::from_str_radix(hex, 16).ok())??;
            Some((char::from_u32(code)?, behind))
        }
        _ => None,
    }
}

/// A string in quotes that [`unescape`] takes back.
pub fn quoted(text: &str, escapes: Escapes) -> String {
    use std::fmt::Write as _;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '\\' | '"' => quoted.extend(['\\', c]),
            '\n' if escapes == Escapes::Lines => quoted.push_str("\\n"),
            '\t' if escapes == Escapes::Lines => quoted.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{{{:X}}}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Bytes of a string up to and with its closing quote, when its line has one. `text` begins with the opening one.
pub(crate) fn closed(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.first()?;
    let mut at = 1;
    loop {
        match *bytes.get(at)? {
            b'\n' => return None,
            b'\\' if bytes.get(at + 1).is_some_and(|&b| b != b'\n') => at += 2,
            b if b == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_say_what_was_quoted() {
        for text in ["", "a b", "\"\\", "\u{1}\n\r\t", "ü→", "}{", "\u{7f}"] {
            for escapes in [Escapes::Hex, Escapes::Lines] {
                let quoted = quoted(text, escapes);
                assert_eq!(unescape(&quoted, escapes).as_deref(), Ok(text), "{quoted}");
                assert_eq!(closed(&format!("{quoted} \"")), Some(quoted.len()), "{quoted}");
            }
        }
        assert_eq!(quoted("\n\t", Escapes::Hex), r#""\u{A}\u{9}""#);
        assert_eq!(quoted("\n\t", Escapes::Lines), r#""\n\t""#);
        for (text, at) in [("\"\\n\"", 1), ("\"ab\\u{}\"", 3), ("\"\\u{+1}\"", 1), ("\"\\u{D800}\"", 1)] {
            assert_eq!(unescape(text, Escapes::Hex), Err(at), "{text}");
        }
    }

    #[test]
    fn a_string_ends_on_its_line() {
        for open in ["\"", "\"a", "\"a\\\"", "\"a\nb\"", "\"\\\n\""] {
            assert_eq!(closed(open), None, "{open:?}");
        }
        assert_eq!(closed("'a\"' b"), Some(4));
    }
}
