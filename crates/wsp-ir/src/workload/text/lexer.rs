//! Text to tokens.
//!
//! Total over any text: what is no token is reported and becomes [`Tok::Bad`], at which the parser gives up its construct
//! without a report of its own.

use super::codes;
use crate::diag::{Diagnostic, Sink};
use crate::{FileId, Span};

macro_rules! tokens {
    ($($name:ident = $text:literal,)*) => {
        /// The kind of a token.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(in crate::workload) enum Tok {
            /// A name or keyword.
            Ident,
            /// An integer, well-formed or reported.
            Number,
            /// `"…"`.
            Str,
            /// Something that is reported already.
            Bad,
            /// The end of the file or of the item.
            Eof,
            $(#[doc = $text] $name,)*
        }

        /// Punctuation, longest first.
        const PUNCTUATION: &[(&str, Tok)] = &[$(($text, Tok::$name)),*];
    };
}

tokens! {
    RangeIncl = "..=", Range = "..", PlusColon = "+:", EqEq = "==", Ne = "!=", Le = "<=", Ge = ">=", AmpAmp = "&&",
    PipePipe = "||", PlusPlus = "++", PlusEq = "+=",
    LParen = "(", RParen = ")", LBrace = "{", RBrace = "}", LBracket = "[", RBracket = "]", Semi = ";", Comma = ",",
    Colon = ":", Question = "?", Plus = "+", Minus = "-", Star = "*", Slash = "/", Percent = "%", At = "@", Bang = "!",
    Lt = "<", Gt = ">", Eq = "=",
}

/// A token; its text is `text[start..end]`.
#[derive(Clone, Copy, Debug)]
pub(in crate::workload) struct Token {
    /// What it is.
    pub(super) kind: Tok,
    /// It is the first of its line.
    pub(super) starts_line: bool,
    /// First byte.
    pub(super) start: u32,
    /// One past the last byte.
    pub(super) end: u32,
}

/// Splits a text of at most `u32::MAX` bytes; the last token is [`Tok::Eof`].
pub(super) fn lex(file: FileId, text: &str) -> (Vec<Token>, Sink) {
    let mut lexer = Lexer { file, text, at: 0, starts_line: true, tokens: Vec::new(), sink: Sink::default() };
    lexer.run();
    (lexer.tokens, lexer.sink)
}

/// The value of a number as the lexer delimits it: decimal or `0x…`, `_` between digits. None when it is malformed, or
/// above `u64::MAX`, both of which are reported.
pub(super) fn number(text: &str) -> Result<u64, NumberError> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None => (text, 10),
    };
    if digits.contains('.') {
        return Err(NumberError::Malformed("workloads compute with integers only"));
    }
    let value_of = |c: char| c.to_digit(radix);
    if !digits.starts_with(|c| value_of(c).is_some())
        || !digits.chars().all(|c| c == '_' || value_of(c).is_some())
    {
        return Err(NumberError::Malformed("an integer is written `42`, `0x2A` or `1_000_000`"));
    }
    digits
        .chars()
        .filter_map(value_of)
        .try_fold(0u64, |value, digit| value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit)))
        .ok_or(NumberError::TooLarge)
}

/// Why a text that starts with a digit is no number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NumberError {
    /// Not an integer; what to type instead.
    Malformed(&'static str),
    /// Above `u64::MAX`.
    TooLarge,
}

struct Lexer<'t> {
    file: FileId,
    text: &'t str,
    at: usize,
    starts_line: bool,
    tokens: Vec<Token>,
    sink: Sink,
}

impl<'t> Lexer<'t> {
    fn run(&mut self) {
        if self.rest().starts_with('\u{feff}') {
            self.at += '\u{feff}'.len_utf8();
        }
        while let Some(c) = self.rest().chars().next() {
            let before = self.at;
            self.token(c);
            assert!(self.at > before, "the lexer moves on");
        }
        self.push(Tok::Eof, self.at);
    }

    fn token(&mut self, c: char) {
        let rest = self.rest();
        match c {
            '\n' => {
                self.at += 1;
                self.starts_line = true;
            }
            ' ' | '\t' | '\r' | '\u{b}' | '\u{c}' => self.at += 1,
            '/' if rest.starts_with("//") => self.at += rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => self.block_comment(),
            '"' => self.string(),
            '0'..='9' => self.number(),
            _ if c == '_' || c.is_alphabetic() => self.name(),
            _ => match PUNCTUATION.iter().find(|(text, _)| rest.starts_with(text)) {
                Some((text, tok)) => {
                    let start = self.at;
                    self.at += text.len();
                    self.push(*tok, start);
                }
                None => self.stray(),
            },
        }
    }

    fn block_comment(&mut self) {
        let rest = self.rest();
        let len = match rest[2..].find("*/") {
            Some(end) => end + 4,
            None => {
                let diagnostic = Diagnostic::error(codes::UNTERMINATED_COMMENT, "comment without an end")
                    .at(self.span(self.at, self.at + 2), "this `/*` has no `*/`")
                    .help("close it with `*/`; comments do not nest");
                self.sink.push(diagnostic);
                rest.len()
            }
        };
        self.starts_line |= rest[..len].contains('\n');
        self.at += len;
    }

    /// `"…"` on one line, with `\"` and `\\` for the characters themselves.
    fn string(&mut self) {
        let start = self.at;
        let rest = &self.rest()[1..];
        let mut escaped = false;
        let end = rest.char_indices().find(|&(_, c)| {
            let ends = c == '\n' || (c == '"' && !escaped);
            escaped = c == '\\' && !escaped;
            ends
        });
        if let Some((i, '"')) = end {
            self.at += i + 2;
            self.push(Tok::Str, start);
            return;
        }
        self.at += 1 + end.map_or(rest.len(), |(i, _)| i);
        let diagnostic = Diagnostic::error(codes::BAD_STRING, "string without an end")
            .at(self.span(start, self.at), "this `\"` has no partner on its line")
            .help("close it with `\"`");
        self.sink.push(diagnostic);
        self.push(Tok::Bad, start);
    }

    fn number(&mut self) {
        let start = self.at;
        let bytes = self.text.as_bytes();
        while let Some(&b) = bytes.get(self.at) {
            let fraction = b == b'.' && bytes.get(self.at + 1).is_some_and(u8::is_ascii_digit);
            if !(fraction || b == b'_' || b.is_ascii_alphanumeric()) {
                break;
            }
            self.at += 1;
        }
        let diagnostic = match number(&self.text[start..self.at]) {
            Ok(_) => return self.push(Tok::Number, start),
            Err(NumberError::Malformed(help)) => {
                let text = shorten(&self.text[start..self.at]);
                Diagnostic::error(codes::MALFORMED_NUMBER, format!("`{text}` is not an integer"))
                    .at(self.span(start, self.at), "")
                    .help(help)
            }
            Err(NumberError::TooLarge) => {
                Diagnostic::error(codes::NUMBER_OUT_OF_RANGE, "the number is too large")
                    .at(self.span(start, self.at), "does not fit 64 bits")
                    .note(format!("the largest integer is {}", i64::MAX))
            }
        };
        self.sink.push(diagnostic);
        self.push(Tok::Bad, start);
    }

    fn name(&mut self) {
        let start = self.at;
        let rest = self.rest();
        let len = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
        self.at += len;
        if rest[..len].is_ascii() {
            return self.push(Tok::Ident, start);
        }
        let text = shorten(&rest[..len]);
        let message = format!("`{text}` is not a name: it has characters outside ASCII");
        let diagnostic = Diagnostic::error(codes::NON_ASCII_NAME, message)
            .at(self.span(start, self.at), "")
            .help("names are made of the letters `a`-`z` and `A`-`Z`, digits and `_`");
        self.sink.push(diagnostic);
        self.push(Tok::Ident, start);
    }

    /// A run of characters that start no token. Exotic spaces count as spaces once they are reported.
    fn stray(&mut self) {
        let start = self.at;
        let rest = self.rest();
        let len = rest.find(|c: char| !is_stray(c)).unwrap_or(rest.len()).max(1);
        self.at += len;
        let run = &rest[..len];
        let mut chars = run.chars();
        let message = match (chars.next(), chars.next()) {
            (Some(c), None) if c.is_control() || c.is_whitespace() || is_invisible(c) => {
                format!("unexpected character U+{:04X}", c as u32)
            }
            (Some(c), None) if !c.is_ascii() => format!("unexpected character `{c}` (U+{:04X})", c as u32),
            (_, None) => format!("unexpected character `{run}`"),
            _ => "unexpected characters".to_owned(),
        };
        let mut diagnostic = Diagnostic::error(codes::STRAY_CHARACTER, message)
            .at(self.span(start, self.at), "starts nothing that the language knows");
        match run {
            "&" => diagnostic = diagnostic.help("`and` is written `&&`"),
            "|" => diagnostic = diagnostic.help("`or` is written `||`"),
            "#" => diagnostic = diagnostic.help("comments are written `// …` or `/* … */`"),
            "." => diagnostic = diagnostic.help("ranges are written `0..n`"),
            "'" => diagnostic = diagnostic.help("file names stand in double quotes: `use \"kernels.pto\";`"),
            _ => {}
        }
        self.sink.push(diagnostic);
        if !run.chars().all(char::is_whitespace) {
            self.push(Tok::Bad, start);
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start as u32, end as u32)
    }

    fn push(&mut self, kind: Tok, start: usize) {
        let starts_line = std::mem::take(&mut self.starts_line);
        self.tokens.push(Token { kind, starts_line, start: start as u32, end: self.at as u32 });
    }
}

/// Whether a character belongs to a run of strays.
fn is_stray(c: char) -> bool {
    match c {
        '\n' | '\r' | '\t' | ' ' | '\u{b}' | '\u{c}' => false,
        '$' | '`' | '\\' | '~' | '^' => true,
        _ if c.is_ascii() => c.is_control(),
        _ => !c.is_alphabetic(),
    }
}

/// Whether a character has no width.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// The text as a message shows it.
pub(super) fn shorten(text: &str) -> String {
    const MOST: usize = 32;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain(['…']).collect()
}
