//! Text to tokens, one at a time.
//!
//! Total over any text: what is no token becomes [`Tok::Bad`], which whoever needs the token reports.

use super::idents::{Ident, Idents};

macro_rules! signs {
    ($($name:ident $text:literal,)*) => {
        /// Punctuation.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Sign { $($name,)* }

        impl Sign {
            /// How it is written.
            pub(super) fn text(self) -> &'static str {
                match self { $(Sign::$name => $text,)* }
            }
        }
    };
}

signs! {
    Open "(", Close ")", OpenBrace "{", CloseBrace "}", OpenBracket "[", CloseBracket "]", Comma ",",
    Semicolon ";", Colon ":", Dot ".", Assign "=", Plus "+", Minus "-", Times "*", Over "/", Percent "%",
    Equal "==", NotEqual "!=", Less "<", LessEqual "<=", Greater ">", GreaterEqual ">=", And "&&", Or "||",
    Not "!",
}

/// Why something is no token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    Character,
    Number,
    LargeNumber,
    OpenString,
    Escape,
    OpenComment,
}

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tok {
    /// The end of the text.
    End,
    Ident(Ident),
    Number(u64),
    /// A string with its quotes; [`unescaped`] is what it says.
    Str,
    Sign(Sign),
    Bad(Fault),
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) tok: Tok,
    /// Whether it is the first of its line.
    pub(super) fresh: bool,
    /// First byte.
    pub(super) start: u32,
    /// One past the last byte.
    pub(super) end: u32,
}

/// A text of at most `u32::MAX` bytes that is being read.
pub(super) struct Lexer<'t> {
    pub(super) text: &'t str,
    at: usize,
    pub(super) idents: Idents<'t>,
}

/// What a byte can be part of.
const IDENT: u8 = 1;
const DIGIT: u8 = 2;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b == b'_' || b.is_ascii_alphabetic() {
            classes[byte] = IDENT;
        } else if b.is_ascii_digit() {
            classes[byte] = DIGIT;
        }
        byte += 1;
    }
    classes
};

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Lexer { text, at, idents: Idents::new() }
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// The next token.
    #[inline]
    pub(super) fn next(&mut self) -> Token {
        let mut fresh = self.at == 0;
        if let Err(token) = self.skip_blanks(&mut fresh) {
            return token;
        }
        let start = self.at;
        let Some(&byte) = self.text.as_bytes().get(start) else {
            return self.token(Tok::End, start, fresh);
        };
        let tok = match CLASSES[byte as usize] {
            IDENT => self.word(),
            DIGIT => self.number(),
            _ => self.sign(byte),
        };
        self.token(tok, start, fresh)
    }

    fn token(&self, tok: Tok, start: usize, fresh: bool) -> Token {
        Token { tok, fresh, start: start as u32, end: self.at as u32 }
    }

    /// Passes blanks and comments; says whether a line ended. A comment without an end is a token.
    #[inline]
    fn skip_blanks(&mut self, fresh: &mut bool) -> Result<(), Token> {
        loop {
            match self.byte(self.at) {
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'\n' => {
                    *fresh = true;
                    self.at += 1;
                }
                b'/' if self.byte(self.at + 1) == b'/' => {
                    let rest = &self.text.as_bytes()[self.at..];
                    self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                b'/' if self.byte(self.at + 1) == b'*' => {
                    let start = self.at;
                    let rest = &self.text[start + 2..];
                    let Some(length) = rest.find("*/") else {
                        self.at = self.text.len();
                        let mut token = self.token(Tok::Bad(Fault::OpenComment), start, *fresh);
                        token.end = start as u32 + 2;
                        return Err(token);
                    };
                    *fresh |= rest[..length].contains('\n');
                    self.at = start + length + 4;
                }
                _ => return Ok(()),
            }
        }
    }

    #[inline]
    fn word(&mut self) -> Tok {
        let rest = &self.text[self.at..];
        let length = rest.bytes().position(|byte| CLASSES[byte as usize] == 0).unwrap_or(rest.len());
        self.at += length;
        Tok::Ident(self.idents.intern(&rest[..length]))
    }

    #[inline]
    fn number(&mut self) -> Tok {
        let start = self.at;
        let mut value = 0u64;
        // Eighteen digits fit.
        while self.at - start < 18 && self.byte(self.at).is_ascii_digit() {
            value = value * 10 + u64::from(self.byte(self.at) - b'0');
            self.at += 1;
        }
        if CLASSES[self.byte(self.at) as usize] == 0 {
            return Tok::Number(value);
        }
        while CLASSES[self.byte(self.at) as usize] != 0 {
            self.at += 1;
        }
        long_number(&self.text[start..self.at])
    }

    #[inline]
    fn sign(&mut self, byte: u8) -> Tok {
        let second = self.byte(self.at + 1);
        let (length, sign) = match (byte, second) {
            (b'=', b'=') => (2, Sign::Equal),
            (b'!', b'=') => (2, Sign::NotEqual),
            (b'<', b'=') => (2, Sign::LessEqual),
            (b'>', b'=') => (2, Sign::GreaterEqual),
            (b'&', b'&') => (2, Sign::And),
            (b'|', b'|') => (2, Sign::Or),
            (b'(', _) => (1, Sign::Open),
            (b')', _) => (1, Sign::Close),
            (b'{', _) => (1, Sign::OpenBrace),
            (b'}', _) => (1, Sign::CloseBrace),
            (b'[', _) => (1, Sign::OpenBracket),
            (b']', _) => (1, Sign::CloseBracket),
            (b',', _) => (1, Sign::Comma),
            (b';', _) => (1, Sign::Semicolon),
            (b':', _) => (1, Sign::Colon),
            (b'.', _) => (1, Sign::Dot),
            (b'=', _) => (1, Sign::Assign),
            (b'+', _) => (1, Sign::Plus),
            (b'-', _) => (1, Sign::Minus),
            (b'*', _) => (1, Sign::Times),
            (b'/', _) => (1, Sign::Over),
            (b'%', _) => (1, Sign::Percent),
            (b'<', _) => (1, Sign::Less),
            (b'>', _) => (1, Sign::Greater),
            (b'!', _) => (1, Sign::Not),
            (b'"', _) => return self.string(),
            _ => {
                let length = self.text[self.at..].chars().next().map_or(1, char::len_utf8);
                self.at += length;
                return Tok::Bad(Fault::Character);
            }
        };
        self.at += length;
        Tok::Sign(sign)
    }

    #[cold]
    fn string(&mut self) -> Tok {
        let start = self.at;
        let line = self.text[start + 1..].split('\n').next().unwrap_or("");
        let mut bytes = line.bytes().enumerate();
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    self.at = start + at + 2;
                    let quoted = &self.text[start..self.at];
                    return if unescaped(quoted).is_some() { Tok::Str } else { Tok::Bad(Fault::Escape) };
                }
                b'\\' => {
                    bytes.next();
                }
                _ => {}
            }
        }
        self.at = start + 1 + line.len();
        Tok::Bad(Fault::OpenString)
    }

    /// Whether a dot follows at once.
    #[inline]
    pub(super) fn dot_follows(&self) -> bool {
        self.byte(self.at) == b'.'
    }

    /// Whether `(` follows at once.
    #[inline]
    pub(super) fn parenthesis_follows(&self) -> bool {
        self.byte(self.at) == b'('
    }

    /// Whether what was read last is the end of an operand. May say no when in doubt.
    #[inline]
    pub(super) fn operand_ends(&self) -> bool {
        let mut at = self.at;
        while matches!(self.byte(at), b' ' | b'\t' | b'\r' | b'\n') {
            at += 1;
        }
        matches!(self.byte(at), b',' | b')' | b']' | b'}')
    }

    /// Whether `=` follows what was read last: a name of an operand stands there.
    #[inline]
    pub(super) fn assigns(&self) -> bool {
        let mut at = self.at;
        while matches!(self.byte(at), b' ' | b'\t' | b'\r' | b'\n') {
            at += 1;
        }
        self.byte(at) == b'=' && self.byte(at + 1) != b'='
    }
}

/// A number with a prefix, with `_`, or with many digits.
#[cold]
fn long_number(text: &str) -> Tok {
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        Some("0b" | "0B") => (&text[2..], 2),
        _ => (text, 10),
    };
    let digit = |c: char| c.to_digit(radix);
    if !digits.starts_with(|c| digit(c).is_some()) || !digits.chars().all(|c| c == '_' || digit(c).is_some())
    {
        return Tok::Bad(Fault::Number);
    }
    let value = digits
        .chars()
        .filter_map(digit)
        .try_fold(0u64, |value, digit| value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit)));
    value.map_or(Tok::Bad(Fault::LargeNumber), Tok::Number)
}

/// What a string in quotes says; nothing if it has an unknown escape.
pub(super) fn unescaped(quoted: &str) -> Option<String> {
    let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let mut said = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next()? {
                c @ ('\\' | '"') => said.push(c),
                'u' => {
                    let (hex, behind) = rest.as_str().strip_prefix('{')?.split_once('}')?;
                    let code = (1..=6).contains(&hex.len()).then(|| u32::from_str_radix(hex, 16).ok())??;
                    said.push(char::from_u32(code)?);
                    rest = behind.chars();
                }
                _ => return None,
            },
            c => said.push(c),
        }
    }
    Some(said)
}

/// A string in quotes that [`unescaped`] takes back.
pub(super) fn quoted(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn toks(text: &str) -> Vec<Tok> {
        let mut lexer = Lexer::new(text);
        std::iter::repeat_with(|| lexer.next().tok).take_while(|tok| *tok != Tok::End).collect()
    }

    #[test]
    fn numbers_are_decimal_hexadecimal_or_binary() {
        let numbers = |text| {
            toks(text).into_iter().map(|tok| match tok {
                Tok::Number(value) => Some(value),
                _ => None,
            })
        };
        let read: Vec<_> = numbers("0 42 0x2A 0b101 1_000_000 18446744073709551615").collect();
        assert_eq!(read, [0, 42, 42, 5, 1_000_000, u64::MAX].map(Some));
        assert_eq!(toks("18446744073709551616"), [Tok::Bad(Fault::LargeNumber)]);
        assert_eq!(toks("1x"), [Tok::Bad(Fault::Number)]);
        assert_eq!(toks("0x"), [Tok::Bad(Fault::Number)]);
    }

    #[test]
    fn comments_are_blanks_and_keep_line_ends() {
        let mut lexer = Lexer::new("a // b\nc /* d\n */ e /**/ f /*");
        let fresh: Vec<bool> = std::iter::repeat_with(|| lexer.next().fresh).take(4).collect();
        assert_eq!(fresh, [true, true, true, false]);
        assert_eq!(lexer.next().tok, Tok::Bad(Fault::OpenComment));
        assert_eq!(lexer.next().tok, Tok::End);
    }

    #[test]
    fn strings_say_what_was_quoted() {
        for text in ["", "a b", "\"\\", "\u{1}\n\r", "ü→", "}{"] {
            let quoted = quoted(text);
            assert_eq!(unescaped(&quoted).as_deref(), Some(text), "{quoted}");
            assert_eq!(toks(&quoted), [Tok::Str], "{quoted}");
        }
        assert_eq!(toks("\"abc"), [Tok::Bad(Fault::OpenString)]);
        assert_eq!(toks("\"\\n\""), [Tok::Bad(Fault::Escape)]);
    }
}
