//! Token access, and the reports that every construct shares.

use super::lexer::{Tok, Token, shorten};
use super::words::{RESERVED, STATEMENTS};
use super::{Parsed, Parser, Skip, codes};
use crate::Span;
use crate::diag::{Code, Diagnostic};
use wsp_core::limits::MAX_NESTING;

impl<'t> Parser<'t> {
    /// The current token; at the end of the item, one of kind [`Tok::Eof`] for ever.
    pub(super) fn token(&self) -> Token {
        self.peek(0)
    }

    /// The token `n` after the current one.
    pub(super) fn peek(&self, n: usize) -> Token {
        let at = (self.pos + n).min(self.end);
        let token = self.tokens[at];
        if at == self.end { Token { kind: Tok::Eof, ..token } } else { token }
    }

    pub(super) fn tok(&self) -> Tok {
        self.token().kind
    }

    pub(super) fn text_of(&self, token: Token) -> &'t str {
        &self.text[token.start as usize..token.end as usize]
    }

    /// The current token's text when it is a word.
    pub(in crate::workload) fn word(&self) -> Option<&'t str> {
        let token = self.token();
        (token.kind == Tok::Ident).then(|| self.text_of(token))
    }

    pub(in crate::workload) fn at(&self, tok: Tok) -> bool {
        self.tok() == tok
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    pub(in crate::workload) fn bump(&mut self) -> Token {
        let token = self.token();
        if self.pos < self.end {
            self.pos += 1;
        }
        token
    }

    pub(in crate::workload) fn eat(&mut self, tok: Tok) -> bool {
        let found = self.at(tok) && tok != Tok::Eof;
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn span_of(&self, token: Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    /// The place of the current token.
    pub(super) fn span(&self) -> Span {
        self.span_of(self.token())
    }

    /// From `start` to the end of the last token consumed.
    pub(super) fn span_from(&self, start: Span) -> Span {
        start.to(self.last_span())
    }

    fn last_span(&self) -> Span {
        self.span_of(self.tokens[self.pos.saturating_sub(1)])
    }

    /// Where something is missing: at the current token, or behind the last one when the current one is on another line.
    fn gap(&self) -> Span {
        let token = self.token();
        if self.pos > 0 && (token.starts_line || token.kind == Tok::Eof) {
            let end = self.last_span().end;
            return Span::new(self.file, end, end);
        }
        self.span_of(token)
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Skip {
        self.sink.push(diagnostic);
        Skip
    }

    /// The current token as a message names it.
    pub(super) fn found(&self) -> String {
        let token = self.token();
        if self.pos >= self.tokens.len() - 1 {
            return "the end of the file".to_owned();
        }
        format!("`{}`", shorten(self.text_of(token)))
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
        let label = format!("found {}", self.found());
        let diagnostic = Diagnostic::error(code, format!("expected {expected}")).at(self.gap(), label);
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
        let closer = if open.kind == Tok::LParen { Tok::RParen } else { Tok::RBracket };
        if self.eat(closer) {
            return Ok(());
        }
        if let Some(skip) = self.foreign_operator() {
            return Err(skip);
        }
        let ends = matches!(self.tok(), Tok::Semi | Tok::LBrace | Tok::RBrace | Tok::RParen | Tok::RBracket);
        if !ends && !self.at(Tok::Eof) && !self.at_statement() {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, expected));
        }
        let label = format!("found {}", self.found());
        let diagnostic = Diagnostic::error(codes::UNCLOSED, format!("expected {expected}"))
            .at(self.gap(), label)
            .label(self.span_of(open), format!("this `{}` is not closed", self.text_of(open)));
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
        let diagnostic = Diagnostic::error(codes::UNMATCHED_CLOSER, format!("unmatched {}", self.found()))
            .at(self.span(), "nothing is open here");
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
            return Err(
                self.too_deep("statements", "move the inner ones to a workload of their own, and `call` it")
            );
        }
        self.depth += 1;
        let result = part(self);
        self.depth -= 1;
        result
    }

    pub(super) fn too_deep(&mut self, what: &str, help: &str) -> Skip {
        let diagnostic = Diagnostic::error(codes::NESTED_TOO_DEEPLY, "nested too deeply")
            .at(self.span(), "one level too many")
            .note(format!("{what} nest at most {MAX_NESTING} deep"))
            .help(help);
        self.report(diagnostic)
    }
}
