//! Tokens of a language that has everything, and of one that has little.

use super::*;
use crate::{Escapes, Language, Rules, Tok};

struct Rich;

impl Lexicon for Rich {
    const LANGUAGE: &'static Language = &Language::new(Rules {
        signs: &[
            Tok::ShlEq,
            Tok::Shl,
            Tok::Le,
            Tok::Lt,
            Tok::ColonColon,
            Tok::Colon,
            Tok::PlusPlus,
            Tok::Plus,
            Tok::Ellipsis,
            Tok::Dot,
            Tok::Slash,
            Tok::LParen,
            Tok::RParen,
            Tok::Semi,
        ],
        comment: "//",
        block_comments: true,
        joined_lines: true,
        quotes: "\"'",
        escapes: None,
        numbers: Numbers::C,
        names: Names::Qualified,
        directives: false,
        strays: Some("@"),
    });
}

struct Lean;

impl Lexicon for Lean {
    const LANGUAGE: &'static Language = &Language::new(Rules {
        signs: &[Tok::Range, Tok::Dot, Tok::Slash],
        comment: ";",
        block_comments: false,
        joined_lines: false,
        quotes: "\"",
        escapes: Some(Escapes::Hex),
        numbers: Numbers::Integers { binary: true, fractions: false },
        names: Names::Ascii,
        directives: true,
        strays: None,
    });
}

/// The tokens as text, with `|` before the first of a line and `!` behind one with a fault.
fn shown<L: Lexicon>(text: &str) -> String {
    let mut lexer = Lexer::<L>::new(text);
    let mut shown = Vec::new();
    loop {
        let token = lexer.next();
        let body = if token.kind == Tok::Eof { "EOF" } else { token.text(text) };
        let line = if token.starts_line { "|" } else { "" };
        let fault = if token.fault.is_some() { "!" } else { "" };
        shown.push(format!("{line}{body}{fault}"));
        if token.kind == Tok::Eof {
            return shown.join(" ");
        }
    }
}

#[test]
fn signs_are_taken_longest_first() {
    assert_eq!(shown::<Rich>("a<<=b<<c<=d<e+++:::"), "|a <<= b << c <= d < e ++ + :: : EOF");
    assert_eq!(shown::<Lean>("a..b.c . d/e"), "|a .. b .c . d / e EOF");
}

#[test]
fn names_may_be_joined() {
    assert_eq!(shown::<Rich>("a::b::1 a:: b ::c"), "|a::b :: 1 a :: b :: c EOF");
    assert_eq!(shown::<Rich>("größe _ü::ä"), "|größe! _ü::ä! EOF");
    assert_eq!(shown::<Lean>("aö"), "|a ö! EOF");
}

#[test]
fn numbers_end_where_the_language_ends_them() {
    assert_eq!(shown::<Rich>("1.5e-3f+2 0xe+1 .5 1'000 12ab"), "|1.5e-3f + 2 0xe + 1 .5 1'000 12ab EOF");
    assert_eq!(
        shown::<Lean>("1.5 0x2A 12ab 0b12 99999999999999999999"),
        "|1 .5 0x2A 12ab! 0b12! 99999999999999999999! EOF"
    );
}

#[test]
fn comments_and_joined_lines_are_blanks() {
    assert_eq!(shown::<Rich>("\u{feff}a // b\n/* c\n */ d /* e */ f\\\ng\\\r\nh"), "|a |d f g h EOF");
    assert_eq!(shown::<Rich>("a /*/"), "|a /*! EOF");
    assert_eq!(shown::<Lean>("a ; b\n;\n/* c"), "|a |/ * c EOF".replace("* c", "*! c"));
}

#[test]
fn strings_end_with_their_line() {
    assert_eq!(shown::<Rich>("'a\"' \"b\\\"\" 'c\nd"), "|'a\"' \"b\\\"\" 'c! |d EOF");
    assert_eq!(shown::<Lean>("\"a\\u{1F}\" \"\\n\" \""), "|\"a\\u{1F}\" \"\\n\"! \"! EOF");
}

#[test]
fn strays_come_one_by_one_or_in_runs() {
    assert_eq!(shown::<Rich>("a @@“b” \u{a0}"), "|a @@“! b ”! \u{a0}! EOF");
    assert_eq!(shown::<Lean>("@@“"), "|@! @! “! EOF");
}
