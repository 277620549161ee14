//! Strings in quotes and their escapes.

/// What a string in quotes says. Escapes are `\\`, `\"` and `\u{HEX}`.
///
/// # Errors
/// Where the first other escape begins, in bytes.
pub fn unescape(quoted: &str) -> Result<String, usize> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or("");
    let mut said = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(plain) = rest.find('\\') {
        said.push_str(&rest[..plain]);
        let at = 1 + inner.len() - rest.len() + plain;
        let (c, behind) = escape(&rest[plain + 1..]).ok_or(at)?;
        said.push(c);
        rest = behind;
    }
    said.push_str(rest);
    Ok(said)
}

/// The character of an escape behind its backslash, and what follows it.
fn escape(rest: &str) -> Option<(char, &str)> {
    match rest.as_bytes().first()? {
        b'\\' => Some(('\\', &rest[1..])),
        b'"' => Some(('"', &rest[1..])),
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
pub fn quoted(text: &str) -> String {
    use std::fmt::Write as _;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '\\' | '"' => quoted.extend(['\\', c]),
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
        for text in ["", "a b", "\"\\", "\u{1}\n\r", "ü→", "}{", "\u{7f}"] {
            let quoted = quoted(text);
            assert_eq!(unescape(&quoted).as_deref(), Ok(text), "{quoted}");
            assert_eq!(closed(&format!("{quoted} \"")), Some(quoted.len()), "{quoted}");
        }
        for (text, at) in [("\"\\n\"", 1), ("\"ab\\u{}\"", 3), ("\"\\u{+1}\"", 1), ("\"\\u{D800}\"", 1)] {
            assert_eq!(unescape(text), Err(at), "{text}");
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
