//! What is said when another token was needed.

use super::{Assembler, Parsed, Skip};
use crate::ptow::codes;
use wsp_core::ptow::Word;
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_syntax::{Cursor, Tok, Token, integer};

/// Names that a wrong one is compared with.
const MAX_CANDIDATES: usize = 1024;

impl<'t> Assembler<'t> {
    pub(super) fn text_of(&self, token: Token) -> &'t str {
        token.text(self.text)
    }

    pub(super) fn span_of(&self, token: Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    pub(super) fn report(&mut self, fault: Diagnostic) -> Skip {
        self.sink.push(fault);
        Skip
    }

    /// Reports that something else was needed.
    pub(super) fn expected(&mut self, cursor: &Cursor<'_>, what: &str) -> Skip {
        let fault = cursor.expected(codes::EXPECTED, what);
        let fault = match self.usage.clone() {
            Some(usage) => fault.help(format!("it is written `{usage}`")),
            None => fault,
        };
        self.report(fault)
    }

    pub(super) fn sign(&mut self, cursor: &mut Cursor<'_>, sign: Tok) -> Parsed<()> {
        if cursor.eat(sign) { Ok(()) } else { Err(self.expected(cursor, &format!("`{}`", sign.text()))) }
    }

    pub(super) fn word(&mut self, cursor: &mut Cursor<'_>, word: &str) -> Parsed<()> {
        if cursor.eat_word(word) { Ok(()) } else { Err(self.expected(cursor, &format!("`{word}`"))) }
    }

    pub(super) fn ident(&mut self, cursor: &mut Cursor<'_>, what: &str) -> Parsed<Token> {
        if cursor.at(Tok::Ident) { Ok(cursor.bump()) } else { Err(self.expected(cursor, what)) }
    }

    /// What the number is worth that is next.
    pub(super) fn value(&self, token: Token) -> u64 {
        integer(self.text_of(token), false).unwrap_or_default()
    }

    /// An integer without sign, at most `most`.
    pub(super) fn number(&mut self, cursor: &mut Cursor<'_>, what: &str, most: u32) -> Parsed<u32> {
        if !cursor.at(Tok::Number) {
            return Err(self.expected(cursor, what));
        }
        let value = self.value(cursor.token());
        match u32::try_from(value).ok().filter(|&value| value <= most) {
            Some(value) => {
                cursor.bump();
                Ok(value)
            }
            None => Err(self.out_of_range(cursor.span(), what, &value.to_string(), &format!("0 to {most}"))),
        }
    }

    /// An integer of 32 bits with sign.
    pub(super) fn signed(&mut self, cursor: &mut Cursor<'_>, what: &str) -> Parsed<u32> {
        let start = cursor.span();
        let negative = cursor.eat(Tok::Minus);
        if !cursor.at(Tok::Number) {
            return Err(self.expected(cursor, what));
        }
        let span = start.to(cursor.span());
        let signed = i128::from(self.value(cursor.bump())) * if negative { -1 } else { 1 };
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
    pub(super) fn unknown_name(&mut self, token: Token, what: &str, meant: Option<String>) -> Skip {
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
        token: Token,
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
