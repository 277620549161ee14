//! Lines of text to tokens.
//!
//! Total over any text: what is no token is reported, and the rest of its line is left out.

use crate::ptow::codes;
use wsp_ir::diag::{Diagnostic, Sink};
use wsp_ir::{FileId, Span};

/// What a token is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Tok {
    /// A name or a word of the language.
    Ident,
    /// `.word`.
    Directive,
    /// An integer without sign.
    Number(u64),
    /// A string, without its quotes and escapes.
    Str(String),
    /// Punctuation.
    Punct(&'static str),
}

/// A token and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) tok: Tok,
    /// First byte.
    pub(super) start: u32,
    /// One past the last byte.
    pub(super) end: u32,
}

/// A line that is not empty.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) tokens: Vec<Token>,
    /// One past its last byte, without the line break.
    pub(super) end: u32,
    /// Something in it is reported already.
    pub(super) broken: bool,
}

/// Punctuation, longest first.
const PUNCTUATION: [&str; 28] = [
    "..", "+:", "==", "!=", "<=", ">=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "!", "?", ":", ",",
    "(", ")", "[", "]", "{", "}", "@", "#", "=",
];

/// The lines of a text of at most `u32::MAX` bytes.
pub(super) fn lines(file: FileId, text: &str, sink: &mut Sink) -> Vec<Line> {
    let mut found = Vec::new();
    let mut at = 0;
    for full in text.split_inclusive('\n') {
        let line = full.trim_end_matches(['\n', '\r']);
        let mut lexer = Lexer { file, text: line, base: at, at: 0, tokens: Vec::new() };
        let broken = match lexer.run() {
            Ok(()) => false,
            Err(fault) => {
                sink.push(fault);
                true
            }
        };
        if broken || !lexer.tokens.is_empty() {
            found.push(Line { tokens: lexer.tokens, end: (at + line.len()) as u32, broken });
        }
        at += full.len();
    }
    found
}

struct Lexer<'t> {
    file: FileId,
    text: &'t str,
    /// Where the line begins in the file.
    base: usize,
    /// The next byte of the line.
    at: usize,
    tokens: Vec<Token>,
}

impl<'t> Lexer<'t> {
    fn run(&mut self) -> Result<(), Diagnostic> {
        if self.base == 0 && self.text.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        while let Some(c) = self.rest().chars().next() {
            match c {
                ';' => return Ok(()),
                ' ' | '\t' | '\u{b}' | '\u{c}' => self.at += 1,
                '/' if self.rest().starts_with("//") => return Err(self.stray(c)),
                '"' => self.string()?,
                '0'..='9' => self.number()?,
                '_' | 'a'..='z' | 'A'..='Z' => self.push(word_end(self.rest()), Tok::Ident),
                '.' if word_end(&self.rest()[1..]) > 0 && !self.rest().starts_with("..") => {
                    self.push(1 + word_end(&self.rest()[1..]), Tok::Directive);
                }
                _ => match PUNCTUATION.iter().find(|p| self.rest().starts_with(**p)) {
                    Some(punct) => self.push(punct.len(), Tok::Punct(punct)),
                    None => return Err(self.stray(c)),
                },
            }
        }
        Ok(())
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn span(&self, len: usize) -> Span {
        let start = self.base + self.at;
        Span::new(self.file, start as u32, (start + len) as u32)
    }

    fn push(&mut self, len: usize, tok: Tok) {
        let span = self.span(len);
        self.tokens.push(Token { tok, start: span.start, end: span.end });
        self.at += len;
    }

    fn stray(&self, c: char) -> Diagnostic {
        let fault =
            Diagnostic::error(codes::BAD_TOKEN, format!("unexpected character `{}`", c.escape_debug()))
                .at(self.span(c.len_utf8()), "");
        match c {
            '/' => fault.help("comments begin with `;`"),
            c if c.is_alphanumeric() => {
                fault.help("a name outside letters, digits and `_` goes into quotes: `.value v0 \"name\"`")
            }
            _ => fault,
        }
    }

    fn number(&mut self) -> Result<(), Diagnostic> {
        let len = word_end(self.rest());
        let text = self.rest().get(..len).unwrap_or("");
        let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(hex) => (hex, 16),
            None => (text, 10),
        };
        let fault = |message: &str, help: &str| {
            Err(Diagnostic::error(codes::BAD_TOKEN, format!("`{text}` {message}"))
                .at(self.span(len), "")
                .help(help))
        };
        if !digits.starts_with(|c: char| c.is_digit(radix))
            || !digits.chars().all(|c| c == '_' || c.is_digit(radix))
        {
            return fault("is no integer", "integers are written `42`, `0x2A` or `1_000_000`");
        }
        let value = digits.chars().filter_map(|c| c.to_digit(radix)).try_fold(0u64, |value, digit| {
            value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
        });
        match value {
            Some(value) => {
                self.push(len, Tok::Number(value));
                Ok(())
            }
            None => fault("has more than 64 bits", "integers have 64 bits with sign"),
        }
    }

    fn string(&mut self) -> Result<(), Diagnostic> {
        let mut value = String::new();
        let mut rest = self.rest().char_indices().skip(1);
        while let Some((at, c)) = rest.next() {
            match c {
                '"' => {
                    self.push(at + 1, Tok::Str(value));
                    return Ok(());
                }
                '\\' => match escape(&mut rest) {
                    Some(c) => value.push(c),
                    None => {
                        return Err(Diagnostic::error(codes::BAD_TOKEN, "unknown escape in a string")
                            .at(self.span(at + 1), "")
                            .help("escapes are `\\\\`, `\\\"` and `\\u{HEX}`, as in `\\u{1F}`"));
                    }
                },
                c => value.push(c),
            }
        }
        Err(Diagnostic::error(codes::BAD_TOKEN, "string without an end")
            .at(self.span(1), "this `\"` has no partner on its line")
            .help("close it with `\"`"))
    }
}

/// The character of an escape behind its backslash.
fn escape(rest: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    match rest.next()?.1 {
        c @ ('\\' | '"') => Some(c),
        'u' => {
            let hex: String =
                rest.by_ref().map(|(_, c)| c).skip_while(|&c| c == '{').take_while(|&c| c != '}').collect();
            (hex.len() <= 6).then(|| u32::from_str_radix(&hex, 16).ok()).flatten().and_then(char::from_u32)
        }
        _ => None,
    }
}

/// Bytes of the word that a text begins with.
fn word_end(text: &str) -> usize {
    text.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(text.len())
}
