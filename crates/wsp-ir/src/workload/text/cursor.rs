//! The reports that every construct shares.

use super::words::{RESERVED, STATEMENTS};
use super::{Parsed, Parser, Skip, codes};
use wsp_core::limits::MAX_NESTING;
use wsp_diag::{Code, Diagnostic, Span};
use wsp_syntax::{Tok, Token, partner};

impl<'t> Parser<'t> {
    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Skip {
        self.sink.push(diagnostic);
        Skip
    }

    /// Reports that something else is needed here; silent where the lexer has reported.
    pub(super) fn unexpected(&mut self, code: Code, expected: &str) -> Skip {
        self.unexpected_help(code, expected, "")
    }

    /// The same with what to type, unless that is empty.
    pub(in crate::workload) fn unexpected_help(&mut self, code: Code, expected: &str, help: &str) -> Skip {
        if self.at(Tok::Bad) {
            return Skip;
        }
        let diagnostic = self.expected(code, expected);
        self.report(if help.is_empty() { diagnostic } else { diagnostic.help(help) })
    }

    /// Consumes a token that must stand here.
    pub(in crate::workload) fn expect(&mut self, tok: Tok, expected: &str) -> Parsed<Token> {
        if self.at(tok) {
            return Ok(self.bump());
        }
        Err(self.foreign_operator().unwrap_or_else(|| self.unexpected(codes::EXPECTED_TOKEN, expected)))
    }

    /// Consumes the partner of `(` or `[`.
    pub(in crate::workload) fn close(&mut self, open: Token, expected: &str) -> Parsed<()> {
        if partner(open.kind).is_some_and(|closer| self.eat(closer)) {
            return Ok(());
        }
        if let Some(skip) = self.foreign_operator() {
            return Err(skip);
        }
        let ends = matches!(self.tok(), Tok::Semi | Tok::LBrace | Tok::RBrace | Tok::RParen | Tok::RBracket);
        if !ends && !self.at(Tok::Eof) && !self.at_statement() {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, expected));
        }
        let diagnostic = self.unclosed(codes::UNCLOSED, open, expected);
        Err(self.report(diagnostic))
    }

    /// Consumes the `;` behind `what`. A missing one at the end of a line is reported and taken as there.
    pub(super) fn semicolon(&mut self, what: &str) -> Parsed<()> {
        if self.eat(Tok::Semi) {
            return Ok(());
        }
        if let Some(skip) = self.foreign_operator() {
            return Err(skip);
        }
        if matches!(self.tok(), Tok::RParen | Tok::RBracket) {
            return Err(self.unmatched_closer());
        }
        let ends = self.token().starts_line || matches!(self.tok(), Tok::RBrace | Tok::Eof);
        let skip = self.unexpected(codes::EXPECTED_SEMICOLON, &format!("`;` after {what}"));
        if ends && !self.at(Tok::Bad) { Ok(()) } else { Err(skip) }
    }

    pub(super) fn unmatched_closer(&mut self) -> Skip {
        let diagnostic = self.unmatched(codes::UNMATCHED_CLOSER);
        self.report(diagnostic)
    }

    /// Reports an operator of other languages where an expression has ended.
    pub(super) fn foreign_operator(&mut self) -> Option<Skip> {
        let help = match self.tok() {
            Tok::PlusPlus | Tok::PlusEq => {
                "nothing is assigned in a workload; a loop counts by itself: `for i in 0..n`"
            }
            Tok::Eq => "values are compared with `==`; nothing is assigned in a workload",
            _ => return None,
        };
        let message = format!("{} is not part of the language", self.found());
        let diagnostic = Diagnostic::error(codes::FOREIGN_SYNTAX, message).at(self.span(), "").help(help);
        Some(self.report(diagnostic))
    }

    /// Consumes a name that is to be declared or looked up.
    pub(in crate::workload) fn name(&mut self, what: &str) -> Parsed<(&'t str, Span)> {
        let token = self.tokens[self.pos.min(self.end)];
        let stray_item = self.at(Tok::Eof) && token.kind == Tok::Ident && !token.starts_line;
        let word = if stray_item { Some(self.text_of(token)) } else { self.word() };
        let Some(word) = word else {
            return Err(self.unexpected(codes::EXPECTED_NAME, what));
        };
        if RESERVED.contains(&word) {
            let diagnostic = Diagnostic::error(codes::EXPECTED_NAME, format!("expected {what}"))
                .at(self.span(), format!("`{word}` is a keyword"))
                .help(format!("choose another name, such as `{word}_`"));
            return Err(self.report(diagnostic));
        }
        let token = self.bump();
        Ok((word, self.span_of(token)))
    }

    /// At a word that starts a statement, on a line of its own.
    pub(super) fn at_statement(&self) -> bool {
        self.token().starts_line && self.word().is_some_and(|word| STATEMENTS.contains(&word))
    }

    /// Reads `part { ',' part } [ ',' ]` up to `end`, which is not consumed.
    pub(super) fn list<T>(
        &mut self,
        end: Tok,
        mut part: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut parts = Vec::new();
        while !self.at(end) {
            parts.push(part(self)?);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        Ok(parts)
    }

    /// Runs a part of the grammar of statements one level deeper.
    pub(super) fn nested<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_NESTING {
            let note = format!("statements nest at most {MAX_NESTING} deep");
            return Err(self.too_deep(note, "move the inner ones to a workload of their own, and `call` it"));
        }
        self.depth += 1;
        let result = part(self);
        self.depth -= 1;
        result
    }

    pub(super) fn too_deep(&mut self, note: String, help: &str) -> Skip {
        let diagnostic = Diagnostic::error(codes::NESTED_TOO_DEEPLY, "nested too deeply")
            .at(self.span(), "one level too many")
            .note(note)
            .help(help);
        self.report(diagnostic)
    }
}
