//! Token access, and the reports that every construct shares.

use super::{Open, Parsed, Parser, Skip};
use crate::ast::Ident;
use crate::codes;
use crate::lexer::{Tok, Token, shorten};
use std::rc::Rc;
use wsp_core::limits::MAX_NESTING;
use wsp_ir::Span;
use wsp_ir::diag::{Code, Diagnostic};

impl<'t> Parser<'t> {
    /// The current token; at the end, [`Tok::Eof`] for ever.
    pub(super) fn token(&self) -> Token {
        self.tokens[self.pos]
    }

    /// The kind of the current token.
    pub(super) fn tok(&self) -> Tok {
        self.token().kind
    }

    /// The token `n` after the current one.
    pub(super) fn peek(&self, n: usize) -> Token {
        self.tokens[(self.pos + n).min(self.tokens.len() - 1)]
    }

    /// The text of a token.
    pub(super) fn text_of(&self, token: Token) -> &'t str {
        &self.text[token.start as usize..token.end as usize]
    }

    /// The current token's text when it is a word.
    pub(super) fn word(&self) -> Option<&'t str> {
        self.word_at(0)
    }

    /// The text of the token `n` after the current one when it is a word.
    pub(super) fn word_at(&self, n: usize) -> Option<&'t str> {
        let token = self.peek(n);
        (token.kind == Tok::Ident).then(|| self.text_of(token))
    }

    pub(super) fn at(&self, tok: Tok) -> bool {
        self.tok() == tok
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    /// Consumes the current token and keeps [`Parser::open`] up to date.
    pub(super) fn bump(&mut self) -> Token {
        let token = self.token();
        match token.kind {
            Tok::LParen | Tok::LBracket | Tok::LBrace => {
                let braces = self.open_braces() + u32::from(token.kind == Tok::LBrace);
                self.open.push(Open { token, braces });
            }
            Tok::RParen | Tok::RBracket | Tok::RBrace if self.closes_last(token.kind) => {
                self.open.pop();
            }
            Tok::Eof => return token,
            _ => {}
        }
        self.pos += 1;
        token
    }

    fn closes_last(&self, closer: Tok) -> bool {
        self.open.last().is_some_and(|open| open.token.kind == opener(closer))
    }

    /// How many `{` are open.
    pub(super) fn open_braces(&self) -> u32 {
        self.open.last().map_or(0, |open| open.braces)
    }

    pub(super) fn eat(&mut self, tok: Tok) -> bool {
        let found = self.at(tok);
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

    /// The place of a token.
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

    /// The place of the last token consumed.
    pub(super) fn last_span(&self) -> Span {
        self.span_of(self.tokens[self.pos.saturating_sub(1)])
    }

    /// Where something is missing: at the current token, or behind the last one when the current one is on another line.
    pub(super) fn gap(&self) -> Span {
        let token = self.token();
        if self.pos > 0 && (token.starts_line || token.kind == Tok::Eof) {
            let end = self.last_span().end;
            return Span::new(self.file, end, end);
        }
        self.span_of(token)
    }

    pub(super) fn ident_of(&mut self, token: Token) -> Ident {
        let text = self.text_of(token);
        let name = self.names.entry(text).or_insert_with(|| Rc::from(text)).clone();
        Ident { name, span: self.span_of(token) }
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Skip {
        self.sink.push(diagnostic);
        Skip
    }

    /// The current token as a message names it.
    pub(super) fn found(&self) -> String {
        let token = self.token();
        match token.kind {
            Tok::Eof => "the end of the file".to_owned(),
            _ => format!("`{}`", shorten(self.text_of(token))),
        }
    }

    /// Reports that something else is needed here; silent where the lexer has reported.
    pub(super) fn unexpected(&mut self, code: Code, expected: &str) -> Skip {
        if self.at(Tok::Bad) {
            return Skip;
        }
        let label = format!("found {}", self.found());
        let diagnostic = Diagnostic::error(code, format!("expected {expected}")).at(self.gap(), label);
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
        if self.at(closer(open.kind)) {
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
        let label = format!("found {}", self.found());
        let diagnostic = Diagnostic::error(codes::UNCLOSED, format!("expected {expected}"))
            .at(self.gap(), label)
            .label(self.span_of(open), format!("this `{}` is not closed", self.text_of(open)));
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
        let found = self.found();
        let diagnostic = Diagnostic::error(codes::UNMATCHED_CLOSER, format!("unmatched {found}"))
            .at(self.span(), "nothing is open here");
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

    /// One level deeper, which the caller undoes.
    pub(super) fn enter(&mut self) -> Parsed<()> {
        if self.depth >= MAX_NESTING {
            let diagnostic = Diagnostic::error(codes::NESTED_TOO_DEEPLY, "nested too deeply")
                .at(self.span(), "one level too many")
                .note(format!("statements, expressions and types nest at most {MAX_NESTING} deep, together"))
                .help("split it: name a part with a variable or a function");
            return Err(self.report(diagnostic));
        }
        self.depth += 1;
        Ok(())
    }

    /// Runs a part of the grammar one level deeper.
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

pub(super) fn opener(closer: Tok) -> Tok {
    match closer {
        Tok::RParen => Tok::LParen,
        Tok::RBracket => Tok::LBracket,
        _ => Tok::LBrace,
    }
}

fn closer(opener: Tok) -> Tok {
    match opener {
        Tok::LParen => Tok::RParen,
        Tok::LBracket => Tok::RBracket,
        _ => Tok::RBrace,
    }
}
