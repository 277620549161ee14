//! Comments and literals of Rust.

/// The text, as long as before, with spaces for comments and `_` for what literals hold. Every line end stays.
pub(crate) fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = vec![b'_'; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (end, fill) = match rest[0] {
            b'/' if rest.starts_with(b"//") => (at + until(rest, b"\n"), Some(b' ')),
            b'/' if rest.starts_with(b"/*") => (at + block_comment(rest), Some(b' ')),
            b'"' => (at + string(rest, raw_hashes(&bytes[..at])), Some(b'_')),
            b'\'' => match char_literal(&text[at..]) {
                Some(length) => (at + length, Some(b'_')),
                None => (at + 1, None),
            },
            _ => (at + 1, None),
        };
        for (out, byte) in out[at..end].iter_mut().zip(&bytes[at..end]) {
            *out = match fill {
                _ if byte.is_ascii_whitespace() => *byte,
                Some(fill) => fill,
                None if byte.is_ascii() => *byte,
                None => b'_',
            };
        }
        at = end;
    }
    String::from_utf8(out).expect("ASCII should be UTF-8")
}

/// Where a mark begins; the length where it does not.
fn until(bytes: &[u8], mark: &[u8]) -> usize {
    bytes.windows(mark.len()).position(|window| window == mark).unwrap_or(bytes.len())
}

/// The length of a block comment, in which there may be others.
fn block_comment(bytes: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// How many `#` end the raw string whose quotation mark follows; none of a string with escapes.
fn raw_hashes(before: &[u8]) -> Option<usize> {
    let hashes = before.iter().rev().take_while(|byte| **byte == b'#').count();
    let before = before[..before.len() - hashes].strip_suffix(b"r")?;
    let before = before.strip_suffix(b"b").or(before.strip_suffix(b"c")).unwrap_or(before);
    let in_word = before.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    (!in_word).then_some(hashes)
}

/// The length of a string from its first quotation mark to its last.
fn string(bytes: &[u8], raw: Option<usize>) -> usize {
    if let Some(hashes) = raw {
        let end = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
        return (1 + until(&bytes[1..], &end) + end.len()).min(bytes.len());
    }
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The length of a character in quotation marks; none of a lifetime.
fn char_literal(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    match chars.next()? {
        (_, '\\') => text[3.min(text.len())..].find('\'').map(|more| 3 + more + 1),
        _ => chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_contents_of_literals_are_no_code() {
        for (text, want) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            ("f(\"// no\\\" comment\") // x", "f(___ ____ ________)     "),
            ("r#\"a \" b\"# + br\"\\\" + c", "r#__ _ ___ + br___ + c"),
            ("for_\"x\" 'a' '\\'' '\"' &'a str", "for____ ___ ____ ___ &'a str"),
            ("\"one\n\n two\" + 'ä'", "____\n\n ____ + ____"),
        ] {
            assert_eq!(code(text).trim_end(), want.trim_end(), "{text}");
            assert_eq!(code(text).len(), text.len(), "{text}");
        }
    }
}
