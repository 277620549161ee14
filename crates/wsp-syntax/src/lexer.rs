//! Text to tokens, one at a time.
//!
//! Total over any text. What is wrong with a token is its [`Fault`], which the language reports in its own words, at once or where the
//! token is needed.

use crate::language::Class;
use crate::{Fault, Lexicon, Names, Numbers, Tok, Token, integer, string, unescape};
use std::marker::PhantomData;

/// A text of at most `u32::MAX` bytes that is being read.
#[derive(Debug)]
pub struct Lexer<'t, L> {
    text: &'t str,
    at: usize,
    /// No token of the line was read.
    starts_line: bool,
    language: PhantomData<L>,
}

impl<'t, L: Lexicon> Lexer<'t, L> {
    /// Begins behind the byte order mark, if there is one.
    pub fn new(text: &'t str) -> Lexer<'t, L> {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Lexer { text, at, starts_line: true, language: PhantomData }
    }

    /// Whether a text has more than blanks, comments and `;`. A comment without an end is more.
    pub fn states_something(text: &str) -> bool {
        let mut lexer = Lexer::<L>::new(text);
        loop {
            match lexer.next().kind {
                Tok::Semi => {}
                kind => return kind != Tok::Eof,
            }
        }
    }

    /// The whole text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// What is not read yet.
    pub fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Passes so many bytes of it, which end between two characters.
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// The byte so far behind what was read; 0 behind the end.
    #[inline]
    pub fn byte(&self, behind: usize) -> u8 {
        self.text.as_bytes().get(self.at + behind).copied().unwrap_or(0)
    }

    /// The next token; at the end, [`Tok::Eof`] for ever.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "there is always a next token")]
    pub fn next(&mut self) -> Token {
        if let Some(open) = self.skip_blanks() {
            return open;
        }
        let start = self.at;
        let Some(&byte) = self.text.as_bytes().get(start) else {
            return self.token(Tok::Eof, start, None);
        };
        match L::LANGUAGE.class(byte) {
            Class::Word => self.word(),
            Class::Digit => self.number(),
            Class::Quote => self.string(),
            Class::Foreign if L::LANGUAGE.rules.names != Names::Ascii => self.foreign(),
            _ => self.sign(byte),
        }
    }

    fn token(&mut self, kind: Tok, start: usize, fault: Option<Fault>) -> Token {
        let starts_line = std::mem::take(&mut self.starts_line);
        Token { kind, fault, starts_line, start: start as u32, end: self.at as u32 }
    }

    /// Passes blanks and comments. A comment without an end is a token.
    #[inline]
    fn skip_blanks(&mut self) -> Option<Token> {
        let rules = &L::LANGUAGE.rules;
        let comment = rules.comment.as_bytes();
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            match L::LANGUAGE.class(byte) {
                Class::Blank => self.at += 1,
                Class::Line => {
                    self.starts_line = true;
                    self.at += 1;
                }
                Class::Comment => {
                    let rest = &self.text.as_bytes()[self.at..];
                    if rest.starts_with(comment) {
                        self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                    } else if rules.block_comments && rest.starts_with(b"/*") {
                        if let Some(open) = self.block_comment() {
                            return Some(open);
                        }
                    } else if rules.joined_lines && rest.starts_with(b"\\\n") {
                        self.at += 2;
                    } else if rules.joined_lines && rest.starts_with(b"\\\r\n") {
                        self.at += 3;
                    } else {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        None
    }

    fn block_comment(&mut self) -> Option<Token> {
        let start = self.at;
        let rest = &self.text[start..];
        let Some(length) = rest[2..].find("*/") else {
            self.at = self.text.len();
            let open = self.token(Tok::Bad, start, Some(Fault::OpenComment));
            self.starts_line |= rest.contains('\n');
            return Some(Token { end: start as u32 + 2, ..open });
        };
        self.starts_line |= rest[2..2 + length].contains('\n');
        self.at = start + length + 4;
        None
    }

    /// Passes letters, digits and `_` of ASCII.
    #[inline]
    fn skip_word(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at)
            && matches!(L::LANGUAGE.class(byte), Class::Word | Class::Digit)
        {
            self.at += 1;
        }
    }

    #[inline]
    fn word(&mut self) -> Token {
        let start = self.at;
        self.skip_word();
        match L::LANGUAGE.rules.names {
            Names::Ascii | Names::Words => self.token(Tok::Ident, start, None),
            names => self.name(start, names),
        }
    }

    /// The rest of a name that may go on outside ASCII, or with `::`.
    fn name(&mut self, start: usize, names: Names) -> Token {
        loop {
            if !self.byte(0).is_ascii() {
                let rest = self.rest();
                self.at += rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
            }
            if names != Names::Qualified || self.byte(0) != b':' {
                break;
            }
            let joined = self.rest().strip_prefix("::");
            if !joined.is_some_and(|next| next.starts_with(|c: char| c == '_' || c.is_alphabetic())) {
                break;
            }
            self.at += 2;
            self.skip_word();
        }
        let ascii = self.text[start..self.at].is_ascii();
        self.token(Tok::Ident, start, (!ascii).then_some(Fault::Name))
    }

    /// A character outside ASCII.
    #[cold]
    fn foreign(&mut self) -> Token {
        match self.rest().chars().next() {
            Some(c) if c.is_alphabetic() => self.name(self.at, L::LANGUAGE.rules.names),
            _ => self.stray(),
        }
    }

    #[inline]
    fn number(&mut self) -> Token {
        let start = self.at;
        let (binary, fractions) = match L::LANGUAGE.rules.numbers {
            Numbers::C => return self.c_number(),
            Numbers::Integers { binary, fractions } => (binary, fractions),
        };
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
        let goes_on = matches!(L::LANGUAGE.class(self.byte(0)), Class::Word)
            || fractions && self.byte(0) == b'.' && self.byte(1).is_ascii_digit();
        // Eighteen digits fit.
        if !goes_on && self.at - start <= 18 {
            return self.token(Tok::Number, start, None);
        }
        self.skip_word();
        while fractions && self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
            self.at += 1;
            self.skip_word();
        }
        let fault = integer(&self.text[start..self.at], binary).err();
        self.token(Tok::Number, start, fault)
    }

    fn c_number(&mut self) -> Token {
        let start = self.at;
        let hex = matches!(self.byte(1), b'x' | b'X');
        loop {
            let (byte, next) = (self.byte(0), self.byte(1));
            let exponent = !hex && matches!(byte, b'e' | b'E') && matches!(next, b'+' | b'-');
            let separator = byte == b'\'' && next.is_ascii_alphanumeric();
            if exponent {
                self.at += 2;
            } else if separator || byte == b'.' || byte == b'_' || byte.is_ascii_alphanumeric() {
                self.at += 1;
            } else {
                return self.token(Tok::Number, start, None);
            }
        }
    }

    #[inline]
    fn sign(&mut self, byte: u8) -> Token {
        let start = self.at;
        if byte == b'.' {
            let rules = &L::LANGUAGE.rules;
            let next = L::LANGUAGE.class(self.byte(1));
            if rules.numbers == Numbers::C && next == Class::Digit {
                return self.c_number();
            }
            if rules.directives && matches!(next, Class::Word | Class::Digit) {
                self.at += 1;
                self.skip_word();
                return self.token(Tok::Directive, start, None);
            }
        }
        if let Some(sign) = L::LANGUAGE.single(byte) {
            self.at += 1;
            return self.token(sign, start, None);
        }
        match L::LANGUAGE.sign(&self.text.as_bytes()[start..]) {
            Some(sign) => {
                self.at += sign.text().len();
                self.token(sign, start, None)
            }
            None => self.stray(),
        }
    }

    #[cold]
    fn string(&mut self) -> Token {
        let start = self.at;
        let rest = self.rest();
        if let Some(length) = string::closed(rest) {
            self.at += length;
            let escapes = L::LANGUAGE.rules.escapes;
            let is_wrong = escapes.is_some_and(|escapes| unescape(&rest[..length], escapes).is_err());
            return self.token(Tok::Str, start, is_wrong.then_some(Fault::Escape));
        }
        self.at += rest.find('\n').unwrap_or(rest.len());
        self.token(Tok::Str, start, Some(Fault::OpenString))
    }

    /// A run of characters that start no token, or one of them.
    #[cold]
    fn stray(&mut self) -> Token {
        let start = self.at;
        let rest = self.rest();
        let one = rest.chars().next().map_or(1, char::len_utf8);
        self.at += match L::LANGUAGE.rules.strays {
            Some(_) => rest.find(|c: char| !L::LANGUAGE.is_stray(c)).unwrap_or(rest.len()).max(one),
            None => one,
        };
        self.token(Tok::Bad, start, Some(Fault::Character))
    }
}

#[cfg(test)]
#[path = "lexer_tests.rs"]
mod tests;
