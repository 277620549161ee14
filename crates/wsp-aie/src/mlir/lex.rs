//! The tokens of MLIR.

use wsp_syntax::{Language, Lexicon, Names, Numbers, Rules, Tok};

/// MLIR's text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mlir;

impl Lexicon for Mlir {
    const LANGUAGE: &'static Language = &Language::new(Rules {
        signs: &[
            Tok::Arrow,
            Tok::Minus,
            Tok::ColonColon,
            Tok::Colon,
            Tok::LParen,
            Tok::RParen,
            Tok::LBrace,
            Tok::RBrace,
            Tok::LBracket,
            Tok::RBracket,
            Tok::Comma,
            Tok::Dot,
            Tok::Question,
            Tok::Plus,
            Tok::Star,
            Tok::Percent,
            Tok::Caret,
            Tok::Bang,
            Tok::Lt,
            Tok::Gt,
            Tok::Eq,
            Tok::At,
            Tok::Hash,
        ],
        comment: "//",
        block_comments: false,
        joined_lines: false,
        quotes: "\"",
        escapes: None,
        // `16x32xi32` of a shape is one token, as are numbers with fractions and exponents.
        numbers: Numbers::C,
        names: Names::Ascii,
        directives: false,
        strays: None,
    });
}
