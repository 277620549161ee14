//! The tokens of `.tg`, one at a time, with the numbers of identifiers.
//!
//! Total over any text: what is no token becomes [`Tok::Bad`], which is reported where the token is needed.

use super::idents::{Ident, Idents};
use wsp_syntax::{Escapes, Language, Lexer, Lexicon, Names, Numbers, Rules, integer};
pub(super) use wsp_syntax::{Fault, Tok as Sign};

struct Tg;

impl Lexicon for Tg {
    const LANGUAGE: &'static Language = &Language::new(Rules {
        signs: &[
            Sign::LParen,
            Sign::RParen,
            Sign::LBrace,
            Sign::RBrace,
            Sign::LBracket,
            Sign::RBracket,
            Sign::Comma,
            Sign::Semi,
            Sign::Colon,
            Sign::Dot,
            Sign::EqEq,
            Sign::Eq,
            Sign::Plus,
            Sign::Minus,
            Sign::Star,
            Sign::Slash,
            Sign::Percent,
            Sign::Ne,
            Sign::Bang,
            Sign::Le,
            Sign::Lt,
            Sign::Ge,
            Sign::Gt,
            Sign::AmpAmp,
            Sign::PipePipe,
        ],
        comment: "//",
        block_comments: true,
        joined_lines: false,
        quotes: "\"",
        escapes: Some(Escapes::Hex),
        numbers: Numbers::Integers { binary: true, fractions: false },
        names: Names::Ascii,
        directives: false,
        strays: None,
    });
}

/// Whether a text has more than blanks, comments and `;`.
pub fn states_something(text: &str) -> bool {
    Lexer::<Tg>::states_something(text)
}

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tok {
    /// The end of the text.
    End,
    Ident(Ident),
    Number(u64),
    /// A string with its quotes.
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
pub(super) struct Tokens<'t> {
    pub(super) text: &'t str,
    lexer: Lexer<'t, Tg>,
    pub(super) idents: Idents<'t>,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t str) -> Tokens<'t> {
        Tokens { text, lexer: Lexer::new(text), idents: Idents::new() }
    }

    /// The next token.
    #[inline]
    pub(super) fn next(&mut self) -> Token {
        let token = self.lexer.next();
        let tok = match token.kind {
            _ if token.fault.is_some() => token.fault.map_or(Tok::End, Tok::Bad),
            Sign::Ident => Tok::Ident(self.idents.intern(token.text(self.text))),
            Sign::Number => Tok::Number(value(token.text(self.text))),
            Sign::Str => Tok::Str,
            Sign::Eof => Tok::End,
            sign => Tok::Sign(sign),
        };
        Token { tok, fresh: token.starts_line, start: token.start, end: token.end }
    }

    /// Whether a dot follows at once.
    #[inline]
    pub(super) fn dot_follows(&self) -> bool {
        self.lexer.byte(0) == b'.'
    }

    /// Whether `(` follows at once.
    #[inline]
    pub(super) fn parenthesis_follows(&self) -> bool {
        self.lexer.byte(0) == b'('
    }

    /// How many blanks follow.
    #[inline]
    fn blanks(&self) -> usize {
        let mut at = 0;
        while matches!(self.lexer.byte(at), b' ' | b'\t' | b'\r' | b'\n') {
            at += 1;
        }
        at
    }

    /// Whether what was read last is the end of an operand. May say no when in doubt.
    #[inline]
    pub(super) fn operand_ends(&self) -> bool {
        matches!(self.lexer.byte(self.blanks()), b',' | b')' | b']' | b'}')
    }

    /// Whether `=` follows what was read last: a name of an operand stands there.
    #[inline]
    pub(super) fn assigns(&self) -> bool {
        let at = self.blanks();
        self.lexer.byte(at) == b'=' && self.lexer.byte(at + 1) != b'='
    }
}

/// What a number without fault is worth.
#[inline]
fn value(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let digit = |byte: &u8| u64::from(byte.wrapping_sub(b'0'));
    // Eighteen digits fit.
    if bytes.len() <= 18 {
        let add = |value: u64, byte| Some(value * 10 + Some(digit(byte)).filter(|&digit| digit < 10)?);
        if let Some(value) = bytes.iter().try_fold(0, add) {
            return value;
        }
    }
    integer(text, true).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toks(text: &str) -> Vec<Tok> {
        let mut tokens = Tokens::new(text);
        std::iter::repeat_with(|| tokens.next().tok).take_while(|tok| *tok != Tok::End).collect()
    }

    #[test]
    fn numbers_have_their_values() {
        let read = toks("0 42 0x2A 0b101 1_000_000 999999999999999999 18446744073709551615");
        let values = [0, 42, 42, 5, 1_000_000, 999_999_999_999_999_999, u64::MAX];
        assert_eq!(read, values.map(Tok::Number));
        assert_eq!(toks("18446744073709551616"), [Tok::Bad(Fault::LargeNumber)]);
        assert_eq!(toks("1x"), [Tok::Bad(Fault::Number)]);
        assert_eq!(toks("0x"), [Tok::Bad(Fault::Number)]);
    }

    #[test]
    fn comments_are_blanks_and_keep_line_ends() {
        let mut tokens = Tokens::new("a // b\nc /* d\n */ e /**/ f /*");
        let fresh: Vec<bool> = std::iter::repeat_with(|| tokens.next().fresh).take(4).collect();
        assert_eq!(fresh, [true, true, true, false]);
        assert_eq!(tokens.next().tok, Tok::Bad(Fault::OpenComment));
        assert_eq!(tokens.next().tok, Tok::End);
    }

    #[test]
    fn strings_are_tokens_when_they_say_something() {
        assert_eq!(toks("\"a\\u{1}\""), [Tok::Str]);
        assert_eq!(toks("\"abc"), [Tok::Bad(Fault::OpenString)]);
        assert_eq!(toks("\"\\n\""), [Tok::Bad(Fault::Escape)]);
    }
}
