//! The reports that every construct shares.

use super::{Parsed, Parser, Skip};
use crate::ast::Ident;
use crate::codes;
use std::rc::Rc;
use wsp_core::limits::MAX_NESTING;
use wsp_diag::{Code, Diagnostic};
use wsp_syntax::{Tok, Token, partner, shorten};

impl Parser<'_> {
    pub(super) fn ident_of(&mut self, token: Token) -> Ident {
        let text = self.text_of(token);
        let name = self.names.entry(text).or_insert_with(|| Rc::from(text)).clone();
        Ident { name, span: self.span_of(token) }
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Skip {
        self.sink.push(diagnostic);
        Skip
    }

    /// Reports that something else is needed here; silent where the lexer has reported.
    pub(super) fn unexpected(&mut self, code: Code, what: &str) -> Skip {
        if self.at(Tok::Bad) {
            return Skip;
        }
        let diagnostic = self.expected(code, what);
        self.report(diagnostic)
    }

    /// Consumes a token that must stand here.
    pub(super) fn expect(&mut self, tok: Tok, expected: &str) -> Parsed<Token> {
        if self.at(tok) {
            return Ok(self.bump());
        }
        Err(self.operator_left_over().unwrap_or_else(|| self.unexpected(codes::EXPECTED_TOKEN, expected)))
    }

    /// Consumes the partner of an opening delimiter.
    pub(super) fn close(&mut self, open: Token, expected: &str) -> Parsed<()> {
        if partner(open.kind) == Some(self.tok()) {
            self.bump();
            return Ok(());
        }
        if let Some(skip) = self.operator_left_over() {
            return Err(skip);
        }
        if !matches!(
            self.tok(),
            Tok::Semi | Tok::LBrace | Tok::RBrace | Tok::RParen | Tok::RBracket | Tok::Eof
        ) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, expected));
        }
        let diagnostic = self.unclosed(codes::UNCLOSED, open, expected);
        Err(self.report(diagnostic))
    }

    /// Consumes the `;` behind a statement. A missing one at the end of a line is reported and taken as there.
    pub(super) fn semicolon(&mut self, after: &str) -> Parsed<()> {
        if self.eat(Tok::Semi) {
            return Ok(());
        }
        if let Some(skip) = self.operator_left_over() {
            return Err(skip);
        }
        if matches!(self.tok(), Tok::RParen | Tok::RBracket) {
            return Err(self.unmatched_closer());
        }
        let ends = self.token().starts_line || matches!(self.tok(), Tok::RBrace | Tok::Eof);
        let skip = self.unexpected(codes::EXPECTED_SEMICOLON, &format!("`;` after {after}"));
        if ends && !self.at(Tok::Bad) { Ok(()) } else { Err(skip) }
    }

    pub(super) fn unmatched_closer(&mut self) -> Skip {
        let diagnostic = self.unmatched(codes::UNMATCHED_CLOSER);
        self.report(diagnostic)
    }

    /// Consumes a plain name.
    pub(super) fn name(&mut self, what: &str) -> Parsed<Ident> {
        let Some(word) = self.word() else {
            return Err(self.unexpected(codes::EXPECTED_NAME, what));
        };
        let reason = if super::foreign::is_reserved(word) {
            "is a keyword"
        } else if word.contains("::") {
            "is a qualified name"
        } else {
            let token = self.bump();
            return Ok(self.ident_of(token));
        };
        let diagnostic = Diagnostic::error(codes::EXPECTED_NAME, format!("expected {what}"))
            .at(self.span(), format!("`{}` {reason}", shorten(word)));
        Err(self.report(diagnostic))
    }

    /// One level deeper in an expression or a type, which the caller undoes.
    pub(super) fn enter(&mut self) -> Parsed<()> {
        if self.depth >= 2 * MAX_NESTING {
            return Err(self.expression_too_deep());
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn expression_too_deep(&mut self) -> Skip {
        let note = format!(
            "operators and calls of an expression nest at most {MAX_NESTING} deep, with parentheses {}",
            2 * MAX_NESTING
        );
        self.too_deep(note, "split it: name a part with a variable or a function")
    }

    /// Runs a part of the grammar inside a statement with a block.
    pub(super) fn inside<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.blocks >= MAX_NESTING {
            let note = format!("statements nest at most {MAX_NESTING} deep");
            return Err(self.too_deep(note, "move inner statements into a function"));
        }
        self.blocks += 1;
        let result = part(self);
        self.blocks -= 1;
        result
    }

    fn too_deep(&mut self, note: String, help: &str) -> Skip {
        let diagnostic = Diagnostic::error(codes::NESTED_TOO_DEEPLY, "nested too deeply")
            .at(self.span(), "one level too many")
            .note(note)
            .help(help);
        self.report(diagnostic)
    }

    /// Runs a part of the grammar of expressions and types one level deeper.
    pub(super) fn nested<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let depth = self.depth;
        self.enter()?;
        let result = part(self);
        self.depth = depth;
        result
    }

    /// Runs a part of the grammar inside delimiters, where `>` and `{` have their usual meaning.
    pub(super) fn delimited<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let stop_at_gt = std::mem::replace(&mut self.stop_at_gt, false);
        let stop_at_brace = std::mem::replace(&mut self.stop_at_brace, false);
        let result = part(self);
        self.stop_at_gt = stop_at_gt;
        self.stop_at_brace = stop_at_brace;
        result
    }

    /// Makes sure that a loop moves on.
    pub(super) fn progress(&mut self, before: usize) {
        debug_assert!(self.pos > before, "the parser should consume {} here", self.found());
        if self.pos == before {
            self.bump();
        }
    }
}
