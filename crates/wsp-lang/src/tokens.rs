//! The tokens of `.pto`, and what is said of those that are none.
//!
//! Total over any text: what is no token is reported and becomes [`Tok::Bad`], at which the parser gives up its construct
//! without a report of its own.

use crate::codes;
use crate::number::{self, NumberError};
use wsp_diag::{Diagnostic, FileId, Sink, Span};
use wsp_syntax::{
    Fault, Language, Lexer, Lexicon, Names, Numbers, Rules, Tok, Token, foreign_name, open_comment, shorten,
    tokens,
};

struct Pto;

impl Lexicon for Pto {
    const LANGUAGE: &'static Language = &Language::new(Rules {
        signs: &[
            Tok::ShlEq,
            Tok::Shl,
            Tok::Le,
            Tok::Lt,
            Tok::ShrEq,
            Tok::Shr,
            Tok::Ge,
            Tok::Gt,
            Tok::Ellipsis,
            Tok::Dot,
            Tok::ColonColon,
            Tok::Colon,
            Tok::Arrow,
            Tok::MinusMinus,
            Tok::MinusEq,
            Tok::Minus,
            Tok::PlusPlus,
            Tok::PlusEq,
            Tok::Plus,
            Tok::StarEq,
            Tok::Star,
            Tok::SlashEq,
            Tok::Slash,
            Tok::PercentEq,
            Tok::Percent,
            Tok::AmpEq,
            Tok::AmpAmp,
            Tok::Amp,
            Tok::PipeEq,
            Tok::PipePipe,
            Tok::Pipe,
            Tok::CaretEq,
            Tok::Caret,
            Tok::EqEq,
            Tok::Eq,
            Tok::Ne,
            Tok::Bang,
            Tok::LParen,
            Tok::RParen,
            Tok::LBrace,
            Tok::RBrace,
            Tok::LBracket,
            Tok::RBracket,
            Tok::Semi,
            Tok::Comma,
            Tok::Question,
            Tok::Tilde,
            Tok::Hash,
        ],
        comment: "//",
        block_comments: true,
        joined_lines: true,
        quotes: "\"'",
        escapes: None,
        numbers: Numbers::C,
        names: Names::Qualified,
        directives: false,
        strays: Some("@$`\\"),
    });
}

/// Whether a text has more than blanks, comments and `;`.
pub fn states_something(text: &str) -> bool {
    Lexer::<Pto>::states_something(text)
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
    let mut found = Found { file, text, includes: Vec::new(), sink: Sink::default(), conditionals: 0 };
    let tokens = tokens(text, |lexer: &mut Lexer<Pto>, token| found.take(lexer, token));
    Lexed { tokens, includes: found.includes, sink: found.sink }
}

/// What is found beside tokens.
struct Found<'t> {
    file: FileId,
    text: &'t str,
    includes: Vec<Include>,
    sink: Sink,
    /// Reported `#if`s that are open; their `#else` and `#endif` need no report.
    conditionals: u32,
}

impl Found<'_> {
    /// What a token counts as.
    fn take(&mut self, lexer: &mut Lexer<'_, Pto>, token: Token) -> Option<Tok> {
        let span = self.span(token.start as usize, token.end as usize);
        match (token.kind, token.fault) {
            (Tok::Hash, _) => {
                let line = logical_line(&self.text[token.start as usize..]);
                lexer.skip(line.len() - 1);
                self.directive(token, line);
                None
            }
            (Tok::Str, fault) => {
                self.text_literal(token, fault.is_none());
                Some(Tok::Bad)
            }
            (Tok::Number, _) => {
                if let Err(error) = number::decode(token.text(self.text)) {
                    self.bad_number(error, token.start as usize, token.end as usize);
                }
                Some(Tok::Number)
            }
            (kind, None) => Some(kind),
            (_, Some(Fault::OpenComment)) => {
                self.sink.push(open_comment(codes::UNTERMINATED_COMMENT, span));
                None
            }
            (kind, Some(Fault::Name)) => {
                self.sink.push(foreign_name(codes::NON_ASCII_NAME, span, token.text(self.text)));
                Some(kind)
            }
            (_, Some(_)) => self.stray(token),
        }
    }

    /// A `#` line. Nothing of it reaches the parser.
    fn directive(&mut self, token: Token, line: &str) {
        let (start, first_of_line) = (token.start as usize, token.starts_line);
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

    fn text_literal(&mut self, token: Token, closed: bool) {
        let quote = token.text(self.text).starts_with('"');
        let what = if quote { "string" } else { "character literal" };
        let label = if closed { "text has no use in kernels" } else { "and it has no end on this line" };
        let diagnostic =
            Diagnostic::error(codes::TEXT_LITERAL, format!("a {what} is not part of the language"))
                .at(self.span(token.start as usize, token.end as usize), label)
                .help("values are numbers, `true` and `false`; to look at values, store a tile to an output");
        self.sink.push(diagnostic);
    }

    fn bad_number(&mut self, error: NumberError, start: usize, end: usize) {
        let span = self.span(start, end);
        let diagnostic = match error {
            NumberError::Malformed(help) => {
                let text = shorten(&self.text[start..end]);
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

    /// Characters that start no token. Exotic spaces count as spaces once they are reported.
    fn stray(&mut self, token: Token) -> Option<Tok> {
        let run = token.text(self.text);
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
        let fault = Diagnostic::error(codes::STRAY_CHARACTER, message).at(
            self.span(token.start as usize, token.end as usize),
            "starts nothing that the language knows",
        );
        self.sink.push(match run {
            "@" => fault.help("a product of tiles is written `TMATMUL(product, a, b);`"),
            _ => fault,
        });
        (!run.chars().all(char::is_whitespace)).then_some(Tok::Bad)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start as u32, end as u32)
    }
}

/// The first line, with the lines that `\` at the end joins to it.
fn logical_line(rest: &str) -> &str {
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

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
