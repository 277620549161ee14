//! What a language's text is made of.

use crate::{Escapes, Tok};

/// Which texts are numbers. All start with a digit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbers {
    /// As in C, with suffixes, exponents, and `'` between digits; `.5` is one too. The language finds out what they are worth.
    C,
    /// What [`integer`](crate::integer) reads.
    Integers {
        /// `0b101` is one.
        binary: bool,
        /// `1.5` is one word, and no integer.
        fractions: bool,
    },
}

/// Which texts are names. But for [`Names::Words`], all start with a letter or `_`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Names {
    /// Letters, digits and `_` of ASCII.
    Ascii,
    /// Letters of other alphabets make names too, each with a [`Fault::Name`](crate::Fault).
    Unicode,
    /// As before, and `::` joins names.
    Qualified,
    /// All that stands between blanks, signs, quotes and comments, numbers too.
    Words,
}

/// The tokens of a language. Blanks are those of C; lines end with `\n`.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Its signs. Those that begin with one character stand together, the longer first.
    pub signs: &'static [Tok],
    /// What starts a comment that the line ends.
    pub comment: &'static str,
    /// `/* … */` is a comment.
    pub block_comments: bool,
    /// `\` at the end of a line joins the next to it.
    pub joined_lines: bool,
    /// What strings stand between.
    pub quotes: &'static str,
    /// Strings have these escapes and no others; with none, `\` keeps the next character from ending them.
    pub escapes: Option<Escapes>,
    /// Its numbers.
    pub numbers: Numbers,
    /// Its names.
    pub names: Names,
    /// `.word` is one token.
    pub directives: bool,
    /// Characters of ASCII that are one [`Fault::Character`](crate::Fault) with others beside them, as are control characters and those
    /// outside ASCII. Without, each character is one.
    pub strays: Option<&'static str>,
}

/// What a token can begin with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Blank,
    Line,
    Word,
    Digit,
    Quote,
    Sign,
    /// What a comment or a joined line can begin with; also a sign of some languages.
    Comment,
    /// Something else of ASCII.
    Other,
    /// A byte of a character outside ASCII.
    Foreign,
}

/// A language as a type, so that what reads its texts is compiled for its rules.
pub trait Lexicon {
    /// The language.
    const LANGUAGE: &'static Language;
}

/// A language: its rules, and tables made from them.
#[derive(Debug)]
pub struct Language {
    pub(crate) rules: Rules,
    pub(crate) classes: [Class; 256],
    /// Where the signs begin that begin with a byte.
    first: [u8; 128],
    /// The sign of one character that is the longest that begins with a byte.
    single: [Option<Tok>; 128],
}

impl Language {
    /// The language with these rules.
    pub const fn new(rules: Rules) -> Language {
        let is_words = matches!(rules.names, Names::Words);
        let mut classes = [if is_words { Class::Word } else { Class::Foreign }; 256];
        let mut first = [u8::MAX; 128];
        let mut single = [None; 128];
        let mut byte = 0;
        while byte < 128 {
            let b = byte as u8;
            let is_word = b == b'_' || b.is_ascii_alphabetic();
            classes[byte] = if b == b'\n' {
                Class::Line
            } else if matches!(b, b' ' | b'\t' | b'\r' | 0x0b | 0x0c) {
                Class::Blank
            } else if has(rules.quotes, b) {
                Class::Quote
            } else if is_word || is_words {
                Class::Word
            } else if b.is_ascii_digit() {
                Class::Digit
            } else {
                Class::Other
            };
            byte += 1;
        }
        let mut at = rules.signs.len();
        while at > 0 {
            at -= 1;
            let text = rules.signs[at].text().as_bytes();
            let b = text[0] as usize;
            classes[b] = Class::Sign;
            first[b] = at as u8;
            // The longer come first.
            single[b] = if text.len() == 1 { Some(rules.signs[at]) } else { None };
        }
        classes[rules.comment.as_bytes()[0] as usize] = Class::Comment;
        if rules.block_comments {
            classes[b'/' as usize] = Class::Comment;
        }
        if rules.joined_lines {
            classes[b'\\' as usize] = Class::Comment;
        }
        Language { rules, classes, first, single }
    }

    #[inline]
    pub(crate) fn class(&self, byte: u8) -> Class {
        self.classes[byte as usize]
    }

    /// The sign that a byte is, whatever follows it.
    #[inline]
    pub(crate) fn single(&self, byte: u8) -> Option<Tok> {
        *self.single.get(byte as usize)?
    }

    /// The longest sign that a text begins with.
    pub(crate) fn sign(&self, rest: &[u8]) -> Option<Tok> {
        let &byte = rest.first()?;
        let first = *self.first.get(byte as usize)?;
        let mut signs = self.rules.signs.get(first as usize..)?.iter();
        signs.find(|sign| rest.starts_with(sign.text().as_bytes())).copied()
    }

    /// Whether a character belongs to a run of strays.
    pub(crate) fn is_stray(&self, c: char) -> bool {
        match c {
            '\n' | '\r' | '\t' | ' ' | '\u{b}' | '\u{c}' => false,
            _ if c.is_ascii() => c.is_control() || self.rules.strays.is_some_and(|strays| strays.contains(c)),
            _ => !c.is_alphabetic(),
        }
    }
}

const fn has(text: &str, byte: u8) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == byte {
            return true;
        }
        at += 1;
    }
    false
}
