//! What the text languages share: a lexer that is a table per language, a cursor over tokens with its messages, and operator parsing.
//!
//! Internal to the readers of `.pto`, `.wsp`, `.tg`, `.ptows` and the text of the IR. It knows no language: which signs, numbers, strings and names one
//! has are [`Rules`], what it says of a [`Fault`] is its own, and its grammar walks a [`Cursor`] or a [`Lexer`].
#![forbid(unsafe_code)]

mod cursor;
mod language;
mod lexer;
mod number;
mod operators;
mod string;
mod token;

pub use cursor::{Cursor, Ends, Open, foreign_name, open_comment, partner, tokens};
pub use language::{Language, Lexicon, Names, Numbers, Rules};
pub use lexer::Lexer;
pub use number::{decimal, integer};
pub use operators::{Operators, PREFIX, TERNARY, binary, infix};
pub use string::{Escapes, quoted, unescape};
pub use token::{Fault, Tok, Token, shorten};
