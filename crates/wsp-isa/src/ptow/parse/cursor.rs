//! The tokens of one line, and what is said when another one was needed.

use super::lexer::{Line, Tok, Token};
use super::{Assembler, Parsed, Skip};
use crate::ptow::codes;
use wsp_core::ptow::Word;
use wsp_ir::Span;
use wsp_ir::diag::{Diagnostic, did_you_mean};

/// Names that a wrong one is compared with.
const MAX_CANDIDATES: usize = 1024;

/// Where in a line the reading stands.
pub(super) struct Cursor<'l> {
    tokens: &'l [Token],
    at: usize,
    /// One past the last byte of the line.
    end: u32,
    /// Parentheses and operators around the place.
    pub(super) depth: u32,
}

impl<'l> Cursor<'l> {
    pub(super) fn new(line: &'l Line) -> Cursor<'l> {
        Cursor { tokens: &line.tokens, at: 0, end: line.end, depth: 0 }
    }

    /// A copy that reads ahead.
    pub(super) fn ahead(&self) -> Cursor<'l> {
        Cursor { tokens: self.tokens, at: self.at, end: self.end, depth: self.depth }
    }

    /// The next token.
    pub(super) fn peek(&self) -> Option<&'l Token> {
        self.tokens.get(self.at)
    }

    /// The token behind the next.
    pub(super) fn peek_second(&self) -> Option<&'l Token> {
        self.tokens.get(self.at + 1)
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Option<&'l Token> {
        let token = self.peek();
        self.at += usize::from(token.is_some());
        token
    }

    /// Whether the next token is this punctuation.
    pub(super) fn is(&self, punct: &str) -> bool {
        matches!(self.peek(), Some(Token { tok: Tok::Punct(p), .. }) if *p == punct)
    }

    /// Takes this punctuation if it is next.
    pub(super) fn eat(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        self.at += usize::from(found);
        found
    }

    /// Nothing is left.
    pub(super) fn is_done(&self) -> bool {
        self.peek().is_none()
    }
}

impl Assembler<'_> {
    pub(super) fn text_of(&self, token: &Token) -> &str {
        self.text.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    pub(super) fn span_of(&self, token: &Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    /// The place of the next token, or the end of the line.
    pub(super) fn here(&self, cursor: &Cursor<'_>) -> Span {
        match cursor.peek() {
            Some(token) => self.span_of(token),
            None => Span::new(self.file, cursor.end, cursor.end),
        }
    }

    pub(super) fn report(&mut self, fault: Diagnostic) -> Skip {
        self.sink.push(fault);
        Skip
    }

    /// Reports that something else was needed.
    pub(super) fn expected(&mut self, cursor: &Cursor<'_>, what: &str) -> Skip {
        let found = match cursor.peek() {
            Some(token) => format!("found `{}`", self.text_of(token)),
            None => "the line ends here".to_owned(),
        };
        let fault =
            Diagnostic::error(codes::EXPECTED, format!("expected {what}")).at(self.here(cursor), found);
        let fault = match self.usage.clone() {
            Some(usage) => fault.help(format!("it is written `{usage}`")),
            None => fault,
        };
        self.report(fault)
    }

    pub(super) fn punct(&mut self, cursor: &mut Cursor<'_>, punct: &str) -> Parsed<()> {
        if cursor.eat(punct) { Ok(()) } else { Err(self.expected(cursor, &format!("`{punct}`"))) }
    }

    /// Takes a word of the language, if it is next.
    pub(super) fn eat_word(&self, cursor: &mut Cursor<'_>, word: &str) -> bool {
        let found = cursor.peek().is_some_and(|t| t.tok == Tok::Ident && self.text_of(t) == word);
        if found {
            cursor.next();
        }
        found
    }

    pub(super) fn word(&mut self, cursor: &mut Cursor<'_>, word: &str) -> Parsed<()> {
        if self.eat_word(cursor, word) { Ok(()) } else { Err(self.expected(cursor, &format!("`{word}`"))) }
    }

    pub(super) fn ident<'l>(&mut self, cursor: &mut Cursor<'l>, what: &str) -> Parsed<&'l Token> {
        match cursor.peek() {
            Some(token) if token.tok == Tok::Ident => {
                cursor.next();
                Ok(token)
            }
            _ => Err(self.expected(cursor, what)),
        }
    }

    /// An integer without sign, at most `most`.
    pub(super) fn number(&mut self, cursor: &mut Cursor<'_>, what: &str, most: u32) -> Parsed<u32> {
        match cursor.peek() {
            Some(token) => match token.tok {
                Tok::Number(value) => match u32::try_from(value).ok().filter(|&value| value <= most) {
                    Some(value) => {
                        cursor.next();
                        Ok(value)
                    }
                    None => Err(self.out_of_range(
                        self.span_of(token),
                        what,
                        &value.to_string(),
                        &format!("0 to {most}"),
                    )),
                },
                _ => Err(self.expected(cursor, what)),
            },
            None => Err(self.expected(cursor, what)),
        }
    }

    /// An integer of 32 bits with sign.
    pub(super) fn signed(&mut self, cursor: &mut Cursor<'_>, what: &str) -> Parsed<u32> {
        let start = self.here(cursor);
        let negative = cursor.eat("-");
        let Some(Token { tok: Tok::Number(value), .. }) = cursor.peek() else {
            return Err(self.expected(cursor, what));
        };
        let span = start.to(self.here(cursor));
        cursor.next();
        let signed = i128::from(*value) * if negative { -1 } else { 1 };
        match i32::try_from(signed) {
            Ok(value) => Ok(value as u32),
            Err(_) => {
                let range = format!("{} to {}", i32::MIN, i32::MAX);
                Err(self.out_of_range(span, what, &signed.to_string(), &range))
            }
        }
    }

    pub(super) fn out_of_range(&mut self, span: Span, what: &str, have: &str, need: &str) -> Skip {
        let fault = Diagnostic::error(codes::OUT_OF_RANGE, format!("{have} is out of range for {what}"))
            .at(span, "")
            .note(format!("it can be {need}"));
        self.report(fault)
    }

    /// Reports a name that stands for nothing, with the nearest that does.
    pub(super) fn unknown_name(&mut self, token: &Token, what: &str, meant: Option<String>) -> Skip {
        let name = self.text_of(token).to_owned();
        let fault = Diagnostic::error(codes::UNKNOWN_NAME, format!("no {what} is called `{name}`"))
            .at(self.span_of(token), "");
        let fault = match meant {
            Some(meant) => fault.help(format!("did you mean `{meant}`?")),
            None => fault,
        };
        self.report(fault)
    }

    /// The nearest of some names.
    pub(super) fn nearest<'c>(
        &self,
        token: &Token,
        names: impl IntoIterator<Item = &'c str>,
    ) -> Option<String> {
        let names = names.into_iter().take(if self.sink.is_full() { 0 } else { MAX_CANDIDATES });
        did_you_mean(self.text_of(token), names).map(str::to_owned)
    }

    /// The words of a directive that gives them by their numbers: code, flags and both operands.
    pub(super) fn raw_word(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Word> {
        let opcode = self.number(cursor, "the code of a word", 0xFF)? as u8;
        let flags = self.number(cursor, "the flags of a word", 0xFF)? as u8;
        let operand1 = self.number(cursor, "the first operand of a word", 0xFFFF)? as u16;
        let operand2 = self.number(cursor, "the second operand of a word", u32::MAX)?;
        Ok(Word { opcode, flags, operand1, operand2 })
    }
}
