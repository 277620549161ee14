//! The tokens of `.wsp`, and what is said of those that are none.
//!
//! Total over any text: what is no token is reported and becomes [`Tok::Bad`], at which the parser gives up its construct
//! without a report of its own.

use super::codes;
use wsp_diag::{Diagnostic, FileId, Sink, Span};
use wsp_syntax::{
    Fault, Language, Lexer, Lexicon, Names, Numbers, Rules, Tok, Token, foreign_name, open_comment, shorten,
    tokens,
};

struct Wsp;

impl Lexicon for Wsp {
    const LANGUAGE: &'static Language = &Language::new(Rules {
        signs: &[
            Tok::RangeIncl,
            Tok::Range,
            Tok::PlusColon,
            Tok::PlusPlus,
            Tok::PlusEq,
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
            Tok::LParen,
            Tok::RParen,
            Tok::LBrace,
            Tok::RBrace,
            Tok::LBracket,
            Tok::RBracket,
            Tok::Semi,
            Tok::Comma,
            Tok::Colon,
            Tok::Dot,
            Tok::Question,
            Tok::Minus,
            Tok::Star,
            Tok::Slash,
            Tok::Percent,
            Tok::At,
        ],
        comment: "//",
        block_comments: true,
        joined_lines: false,
        quotes: "\"",
        escapes: None,
        numbers: Numbers::Integers { binary: false, fractions: true },
        names: Names::Unicode,
        directives: false,
        strays: Some("$`\\~^"),
    });
}

/// Whether a text has more than blanks, comments and `;`.
pub fn states_something(text: &str) -> bool {
    Lexer::<Wsp>::states_something(text)
}

/// Splits a text of at most `u32::MAX` bytes; the last token is [`Tok::Eof`].
pub(super) fn lex(file: FileId, text: &str) -> (Vec<Token>, Sink) {
    let mut sink = Sink::default();
    let tokens = tokens(text, |_: &mut Lexer<Wsp>, token| {
        let fault = match token.fault {
            None => return Some(token.kind),
            // What reads the number says how large it may be there.
            Some(Fault::LargeNumber) => return Some(Tok::Number),
            Some(fault) => fault,
        };
        let (diagnostic, kind) = fault_of(fault, token.text(text), Span::new(file, token.start, token.end));
        sink.push(diagnostic);
        kind
    });
    (tokens, sink)
}

/// What is said of a token, and what it counts as. Exotic spaces count as spaces once they are reported.
fn fault_of(fault: Fault, text: &str, span: Span) -> (Diagnostic, Option<Tok>) {
    let said = match fault {
        Fault::OpenComment => return (open_comment(codes::UNTERMINATED_COMMENT, span), None),
        Fault::Name => return (foreign_name(codes::NON_ASCII_NAME, span, text), Some(Tok::Ident)),
        Fault::Character if text.chars().all(char::is_whitespace) => return (stray(text, span), None),
        Fault::Character => stray(text, span),
        Fault::OpenString | Fault::Escape => Diagnostic::error(codes::BAD_STRING, "string without an end")
            .at(span, "this `\"` has no partner on its line")
            .help("close it with `\"`"),
        Fault::Number | Fault::LargeNumber => {
            let message = format!("`{}` is not an integer", shorten(text));
            Diagnostic::error(codes::MALFORMED_NUMBER, message).at(span, "").help(if text.contains('.') {
                "workloads compute with integers only"
            } else {
                "an integer is written `42`, `0x2A` or `1_000_000`"
            })
        }
    };
    (said, Some(Tok::Bad))
}

/// A run of characters that start no token.
fn stray(run: &str, span: Span) -> Diagnostic {
    let mut chars = run.chars();
    let message = match (chars.next(), chars.next()) {
        (Some(c), None) if c.is_control() || c.is_whitespace() || is_invisible(c) => {
            format!("unexpected character U+{:04X}", c as u32)
        }
        (Some(c), None) if !c.is_ascii() => format!("unexpected character `{c}` (U+{:04X})", c as u32),
        (_, None) => format!("unexpected character `{run}`"),
        _ => "unexpected characters".to_owned(),
    };
    let mut diagnostic =
        Diagnostic::error(codes::STRAY_CHARACTER, message).at(span, "starts nothing that the language knows");
    match run {
        "&" => diagnostic = diagnostic.help("`and` is written `&&`"),
        "|" => diagnostic = diagnostic.help("`or` is written `||`"),
        "#" => diagnostic = diagnostic.help("comments are written `// …` or `/* … */`"),
        "." => diagnostic = diagnostic.help("ranges are written `0..n`"),
        "'" => diagnostic = diagnostic.help("file names stand in double quotes: `use \"kernels.pto\";`"),
        _ => {}
    }
    diagnostic
}

/// Whether a character has no width.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}
