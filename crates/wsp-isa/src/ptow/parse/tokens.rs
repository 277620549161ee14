//! The tokens of `.ptows`, line by line.
//!
//! Total over any text: what is no token is reported, and the rest of its line is left out.

use crate::ptow::codes;
use wsp_diag::{Diagnostic, FileId, Sink, Span};
use wsp_syntax::{Escapes, Fault, Language, Lexer, Lexicon, Names, Numbers, Rules, Tok, Token, unescape};

struct Ptows;

impl Lexicon for Ptows {
    const LANGUAGE: &'static Language = &Language::new(Rules {
        signs: &[
            Tok::Range,
            Tok::PlusColon,
            Tok::Plus,
            Tok::EqEq,
            Tok::Eq,
            Tok::Ne,
            Tok::Bang,
            Tok::Le,
            Tok::Lt,
            Tok::Ge,
            Tok::Gt,
            Tok::AmpAmp,
            Tok::PipePipe,
            Tok::Minus,
            Tok::Star,
            Tok::Slash,
            Tok::Percent,
            Tok::Question,
            Tok::Colon,
            Tok::Comma,
            Tok::LParen,
            Tok::RParen,
            Tok::LBracket,
            Tok::RBracket,
            Tok::LBrace,
            Tok::RBrace,
            Tok::At,
            Tok::Hash,
        ],
        comment: ";",
        block_comments: false,
        joined_lines: false,
        quotes: "\"",
        escapes: Some(Escapes::Hex),
        numbers: Numbers::Integers { binary: false, fractions: false },
        names: Names::Ascii,
        directives: true,
        strays: None,
    });
}

/// Whether a text has more than blanks, comments and `;`.
pub fn states_something(text: &str) -> bool {
    Lexer::<Ptows>::states_something(text)
}

/// A line that is not empty.
#[derive(Clone, Default, Debug)]
pub(super) struct Line {
    /// Its tokens; the last is of kind [`Tok::Eof`] and stands at the end of the line.
    pub(super) tokens: Vec<Token>,
    /// Something in it is reported already.
    pub(super) broken: bool,
}

/// The lines of a text of at most `u32::MAX` bytes.
pub(super) fn lines(file: FileId, text: &str, sink: &mut Sink) -> Vec<Line> {
    let mut found = Vec::new();
    let mut lexer = Lexer::<Ptows>::new(text);
    let mut token = lexer.next();
    while token.kind != Tok::Eof {
        let rest = &text[token.start as usize..];
        let length = rest.split('\n').next().unwrap_or("").trim_end_matches('\r').len();
        let end = token.start + length as u32;
        let mut line = Line::default();
        while !token.starts_line && token.kind != Tok::Eof || line.tokens.is_empty() {
            if let Some(fault) = fault(file, text, token, &lexer) {
                sink.push(fault);
                line.broken = true;
                lexer.skip(end.saturating_sub(token.end) as usize);
                token = lexer.next();
                break;
            }
            line.tokens.push(token);
            token = lexer.next();
        }
        line.tokens.push(Token { kind: Tok::Eof, fault: None, starts_line: false, start: end, end });
        found.push(line);
    }
    found
}

/// What is wrong with a token.
fn fault(file: FileId, text: &str, token: Token, lexer: &Lexer<'_, Ptows>) -> Option<Diagnostic> {
    let body = token.text(text);
    let fault = match token.fault {
        // Comments of other languages.
        None if token.kind == Tok::Slash && lexer.byte(0) == b'/' => Fault::Character,
        fault => fault?,
    };
    let first = |bytes: usize| Span::new(file, token.start, token.start + bytes as u32);
    let bad = |message: String, bytes| Diagnostic::error(codes::BAD_TOKEN, message).at(first(bytes), "");
    Some(match fault {
        Fault::Character | Fault::OpenComment | Fault::Name => {
            let c = body.chars().next().unwrap_or_default();
            let fault = bad(format!("unexpected character `{}`", c.escape_debug()), c.len_utf8());
            match c {
                '/' => fault.help("comments begin with `;`"),
                c if c.is_alphanumeric() => fault
                    .help("a name outside letters, digits and `_` goes into quotes: `.value v0 \"name\"`"),
                _ => fault,
            }
        }
        Fault::Number => bad(format!("`{body}` is no integer"), body.len())
            .help("integers are written `42`, `0x2A` or `1_000_000`"),
        Fault::LargeNumber => {
            bad(format!("`{body}` has more than 64 bits"), body.len()).help("integers have 64 bits with sign")
        }
        Fault::Escape => {
            bad("unknown escape in a string".to_owned(), 1 + unescape(body, Escapes::Hex).err().unwrap_or(0))
                .help("escapes are `\\\\`, `\\\"` and `\\u{HEX}`, as in `\\u{1F}`")
        }
        Fault::OpenString => Diagnostic::error(codes::BAD_TOKEN, "string without an end")
            .at(first(1), "this `\"` has no partner on its line")
            .help("close it with `\"`"),
    })
}
