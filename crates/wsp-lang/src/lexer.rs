//! Text to tokens.
//!
//! Total over any text: what is no token is reported and becomes [`Tok::Bad`], at which the parser gives up its construct
//! without a report of its own.

use crate::codes;
use crate::number::{self, NumberError};
use wsp_ir::diag::{Diagnostic, Sink};
use wsp_ir::{FileId, Span};

macro_rules! tokens {
    ($($name:ident = $text:literal,)*) => {
        /// The kind of a token.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Tok {
            /// A name or keyword; `a::b` is one token.
            Ident,
            /// A number, well-formed or reported.
            Number,
            /// Something that is reported already.
            Bad,
            /// The end of the file.
            Eof,
            $(#[doc = $text] $name,)*
        }

        /// Punctuation, longest first.
        const PUNCTUATION: &[(&str, Tok)] = &[$(($text, Tok::$name)),*];
    };
}

tokens! {
    ShlEq = "<<=", ShrEq = ">>=", Ellipsis = "...",
    ColonColon = "::", Arrow = "->", PlusPlus = "++", MinusMinus = "--", PlusEq = "+=", MinusEq = "-=", StarEq = "*=",
    SlashEq = "/=", PercentEq = "%=", AmpEq = "&=", PipeEq = "|=", CaretEq = "^=", Shl = "<<", Shr = ">>", Le = "<=",
    Ge = ">=", EqEq = "==", Ne = "!=", AmpAmp = "&&", PipePipe = "||",
    LParen = "(", RParen = ")", LBrace = "{", RBrace = "}", LBracket = "[", RBracket = "]", Semi = ";", Comma = ",",
    Dot = ".", Colon = ":", Question = "?", Plus = "+", Minus = "-", Star = "*", Slash = "/", Percent = "%", Amp = "&",
    Pipe = "|", Caret = "^", Tilde = "~", Bang = "!", Lt = "<", Gt = ">", Eq = "=",
}

/// A token; its text is `text[start..end]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// What it is.
    pub(crate) kind: Tok,
    /// It is the first of its line.
    pub(crate) starts_line: bool,
    /// First byte.
    pub(crate) start: u32,
    /// One past the last byte.
    pub(crate) end: u32,
}

/// A line `#include "path"`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Include {
    /// What stands between the quotation marks.
    pub(crate) path: String,
    /// The path with its quotation marks.
    pub(crate) span: Span,
}

/// What a text is made of.
pub(crate) struct Lexed {
    /// The last token is [`Tok::Eof`].
    pub(crate) tokens: Vec<Token>,
    pub(crate) includes: Vec<Include>,
    pub(crate) sink: Sink,
}

/// Splits a text of at most `u32::MAX` bytes.
pub(crate) fn lex(file: FileId, text: &str) -> Lexed {
    let mut lexer = Lexer {
        file,
        text,
        at: 0,
        starts_line: true,
        tokens: Vec::new(),
        includes: Vec::new(),
        sink: Sink::default(),
        conditionals: 0,
    };
    lexer.run();
    Lexed { tokens: lexer.tokens, includes: lexer.includes, sink: lexer.sink }
}

struct Lexer<'t> {
    file: FileId,
    text: &'t str,
    at: usize,
    starts_line: bool,
    tokens: Vec<Token>,
    includes: Vec<Include>,
    sink: Sink,
    /// Reported `#if`s that are open; their `#else` and `#endif` need no report.
    conditionals: u32,
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
            '\\' if rest.starts_with("\\\n") => self.at += 2,
            '\\' if rest.starts_with("\\\r\n") => self.at += 3,
            '/' if rest.starts_with("//") => self.at += rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => self.block_comment(),
            '#' => self.directive(),
            '"' | '\'' => self.text_literal(c),
            '0'..='9' => self.number(),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(),
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

    /// A `#` line. Nothing of it reaches the parser.
    fn directive(&mut self) {
        let start = self.at;
        let first_of_line = self.starts_line;
        let line = self.logical_line();
        self.at += line.len();
        let word_at = line[1..].find(|c: char| !matches!(c, ' ' | '\t')).map_or(1, |i| i + 1);
        let word_len =
            line[word_at..].find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(line.len() - word_at);
        let word = &line[word_at..word_at + word_len];
        let help = match word {
            "include" if first_of_line => {
                return self.include(start + word_at + word_len, &line[word_at + word_len..]);
            }
            "pragma" if first_of_line => return,
            "else" | "elif" if self.conditionals > 0 => return,
            "endif" if self.conditionals > 0 => {
                self.conditionals -= 1;
                return;
            }
            "define" => "declare a constant: `const uint32_t NAME = 1;`, or write a function",
            "if" | "ifdef" | "ifndef" => {
                self.conditionals += 1;
                "there is one version of a program; use `PTO_PARAM` and `if` for what varies"
            }
            _ => "only `#include` and `#pragma` lines are accepted",
        };
        let end = start + word_at + word_len;
        let shown = if word.is_empty() { "#".to_owned() } else { format!("#{word}") };
        let diagnostic =
            Diagnostic::error(codes::DIRECTIVE, format!("`{shown}` is not part of the language"))
                .at(self.span(start, end), "there is no preprocessor")
                .help(help);
        self.sink.push(diagnostic);
    }

    /// What follows `#include`; a path between `<` and `>` is that of a C++ header and has no use here.
    fn include(&mut self, start: usize, rest: &str) {
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let Some(quoted) = rest[blanks..].strip_prefix('"') else { return };
        let at = start + blanks;
        match quoted.find('"').filter(|len| *len > 0) {
            Some(len) => {
                let span = self.span(at, at + len + 2);
                self.includes.push(Include { path: quoted[..len].to_owned(), span });
            }
            None => self.sink.push(
                Diagnostic::error(codes::MALFORMED_INCLUDE, "an `#include` without a path")
                    .at(self.span(at, at + 1), "the path stands between two quotation marks")
                    .help("for instance `#include \"common.pto\"`"),
            ),
        }
    }

    /// The rest of the line, with the lines that `\` at the end joins to it.
    fn logical_line(&self) -> &'t str {
        let rest = self.rest();
        let mut end = 0;
        loop {
            let line_len = rest[end..].find('\n').unwrap_or(rest.len() - end);
            end += line_len;
            let line = rest[..end].trim_end_matches('\r');
            if end == rest.len() || !line.ends_with('\\') {
                return &rest[..end];
            }
            end += 1;
        }
    }

    fn text_literal(&mut self, quote: char) {
        let start = self.at;
        let rest = &self.rest()[1..];
        let mut escaped = false;
        let end = rest.char_indices().find(|&(_, c)| {
            let ends = c == '\n' || (c == quote && !escaped);
            escaped = c == '\\' && !escaped;
            ends
        });
        let (len, closed) = match end {
            Some((i, '\n')) => (i, false),
            Some((i, _)) => (i + 1, true),
            None => (rest.len(), false),
        };
        self.at += 1 + len;
        let what = if quote == '"' { "string" } else { "character literal" };
        let label = if closed { "text has no use in kernels" } else { "and it has no end on this line" };
        let diagnostic =
            Diagnostic::error(codes::TEXT_LITERAL, format!("a {what} is not part of the language"))
                .at(self.span(start, self.at), label)
                .help("values are numbers, `true` and `false`; to look at values, store a tile to an output");
        self.sink.push(diagnostic);
        self.push(Tok::Bad, start);
    }

    fn number(&mut self) {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let hex = matches!(bytes.get(start + 1), Some(b'x' | b'X'));
        while let Some(&b) = bytes.get(self.at) {
            let next = bytes.get(self.at + 1);
            let exponent = !hex && matches!(b, b'e' | b'E') && matches!(next, Some(b'+' | b'-'));
            let separator = b == b'\'' && next.is_some_and(u8::is_ascii_alphanumeric);
            if exponent {
                self.at += 2;
            } else if separator || b == b'.' || b == b'_' || b.is_ascii_alphanumeric() {
                self.at += 1;
            } else {
                break;
            }
        }
        self.push(Tok::Number, start);
        if let Err(error) = number::decode(&self.text[start..self.at]) {
            self.bad_number(error, start);
        }
    }

    fn bad_number(&mut self, error: NumberError, start: usize) {
        let span = self.span(start, self.at);
        let diagnostic = match error {
            NumberError::Malformed(help) => {
                let text = shorten(&self.text[start..self.at]);
                Diagnostic::error(codes::MALFORMED_NUMBER, format!("`{text}` is not a number"))
                    .at(span, "")
                    .help(help)
            }
            NumberError::IntTooLarge => {
                Diagnostic::error(codes::NUMBER_OUT_OF_RANGE, "integer literal is too large")
                    .at(span, "does not fit 64 bits")
                    .note(format!("the largest integer is {}", u64::MAX))
            }
            NumberError::FloatTooLarge => {
                Diagnostic::error(codes::NUMBER_OUT_OF_RANGE, "float literal is too large")
                    .at(span, "rounds to infinity")
                    .help("write `INFINITY` if infinity is meant")
            }
            NumberError::FloatTooSmall => {
                Diagnostic::error(codes::NUMBER_OUT_OF_RANGE, "float literal is too small")
                    .at(span, "rounds to 0")
                    .help("write `0.0` if zero is meant")
            }
        };
        self.sink.push(diagnostic);
    }

    /// A word and the words that `::` joins to it.
    fn name(&mut self) {
        let start = self.at;
        let mut ascii = true;
        loop {
            let rest = self.rest();
            let len = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
            ascii &= rest[..len].is_ascii();
            self.at += len;
            let joined = rest[len..].strip_prefix("::");
            if !joined.is_some_and(|next| next.starts_with(|c: char| c == '_' || c.is_alphabetic())) {
                break;
            }
            self.at += 2;
        }
        if !ascii {
            let text = shorten(&self.text[start..self.at]);
            let message = format!("`{text}` is not a name: it has characters outside ASCII");
            let diagnostic = Diagnostic::error(codes::NON_ASCII_NAME, message)
                .at(self.span(start, self.at), "")
                .help("names are made of the letters `a`-`z` and `A`-`Z`, digits and `_`");
            self.sink.push(diagnostic);
        }
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
            (Some(c), None) if c.is_control() || c.is_whitespace() || !c.is_ascii() => {
                let shown =
                    if c.is_control() || c.is_whitespace() { String::new() } else { format!("`{c}` ") };
                format!("unexpected character {shown}(U+{:04X})", c as u32)
            }
            (_, None) => format!("unexpected character `{run}`"),
            _ => "unexpected characters".to_owned(),
        };
        let fault = Diagnostic::error(codes::STRAY_CHARACTER, message)
            .at(self.span(start, self.at), "starts nothing that the language knows");
        self.sink.push(match run {
            "@" => fault.help("a product of tiles is written `TMATMUL(product, a, b);`"),
            _ => fault,
        });
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

fn is_stray(c: char) -> bool {
    match c {
        '\n' | '\r' | '\t' | ' ' | '\u{b}' | '\u{c}' => false,
        '@' | '$' | '`' | '\\' => true,
        _ if c.is_ascii() => c.is_control(),
        _ => !c.is_alphabetic(),
    }
}

/// The text as a message shows it.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = 32;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain(['…']).collect()
}

#[cfg(test)]
#[path = "lexer_tests.rs"]
mod tests;
