//! Where parsing goes on after a report.

use super::form::{self, Place};
use super::{Parsed, Parser, Skip};
use crate::codes;
use wsp_syntax::{Tok, Token};

impl Parser<'_> {
    /// Whether the current token can only start an item.
    pub(super) fn at_item_start(&self) -> bool {
        match self.word() {
            Some("template") => self.peek(1).kind == Tok::Lt,
            Some("struct") => self.peek(2).kind == Tok::LBrace,
            Some(word) => {
                self.peek(1).kind == Tok::LParen && form::lookup(word).is_some_and(|f| f.place == Place::File)
            }
            None => false,
        }
    }

    /// Skips the rest of a broken statement that began with `base` delimiters open. Fails when the enclosing block ends
    /// without a `}`.
    pub(super) fn recover_statement(&mut self, base: usize) -> Parsed<()> {
        loop {
            if self.item_ahead || self.at(Tok::Eof) || self.stops_at_item() {
                return Err(Skip);
            }
            let in_braces = self.brace_open_above(base);
            match self.tok() {
                Tok::Semi if !in_braces => {
                    self.open.truncate(base);
                    self.bump();
                    return Ok(());
                }
                Tok::RBrace if !in_braces => {
                    self.open.truncate(base);
                    return Ok(());
                }
                Tok::LBrace if !in_braces => {
                    self.skip_group(base);
                    self.open.truncate(base);
                    let goes_on = matches!(self.tok(), Tok::RParen | Tok::Comma | Tok::Semi)
                        || matches!(self.word(), Some("else" | "catch"));
                    if !goes_on {
                        return Ok(());
                    }
                }
                Tok::Ident if self.open.len() <= base && self.at_statement_keyword() => return Ok(()),
                _ => self.skip_token(base),
            }
        }
    }

    /// Skips the rest of a broken `( … )` of `if`, `for`, … that began with `base` delimiters open, so that the body
    /// can be parsed.
    pub(super) fn recover_header(&mut self, base: usize, semicolons: bool) -> Parsed<()> {
        while self.open.len() > base {
            let in_braces = self.brace_open_above(base);
            match self.tok() {
                Tok::Eof => return Err(Skip),
                Tok::Semi if !semicolons && !in_braces => return Err(Skip),
                Tok::RBrace if !in_braces => return Err(Skip),
                Tok::LBrace if !in_braces => self.open.truncate(base),
                _ if self.stops_at_item() => return Err(Skip),
                _ => self.skip_token(base),
            }
        }
        Ok(())
    }

    /// Skips the rest of a broken member of a `PTO_` block form that began at `start` with `base` delimiters open.
    pub(super) fn recover_member(&mut self, start: usize, base: usize) {
        loop {
            let in_braces = self.brace_open_above(base);
            match self.tok() {
                Tok::Eof => return,
                Tok::RBrace if !in_braces => return self.open.truncate(base),
                Tok::Semi if !in_braces => {
                    self.open.truncate(base);
                    self.bump();
                    return;
                }
                Tok::LBrace if !in_braces => {
                    self.skip_group(base);
                    if self.open.len() == base {
                        return;
                    }
                }
                Tok::Ident
                    if self.pos > start && self.token().starts_line && !in_braces && self.at_form() =>
                {
                    return self.open.truncate(base);
                }
                Tok::RParen => {
                    self.skip_token(base);
                    if self.open.len() == base && !matches!(self.tok(), Tok::LBrace | Tok::Semi) {
                        return;
                    }
                }
                _ => self.skip_token(base),
            }
        }
    }

    /// Skips the rest of a broken item that began at `start`.
    pub(super) fn recover_item(&mut self, start: usize) {
        if std::mem::take(&mut self.item_ahead) && self.pos > start {
            return;
        }
        loop {
            let in_braces = self.brace_open_above(0);
            match self.tok() {
                Tok::Eof => return,
                _ if self.pos > start && (!in_braces || self.brace_excess > 0) && self.at_item_start() => {
                    return;
                }
                Tok::LBrace if !in_braces => {
                    self.skip_group(0);
                    if !matches!(self.tok(), Tok::RParen | Tok::Comma | Tok::Semi) {
                        return;
                    }
                }
                Tok::Semi if !in_braces => {
                    self.bump();
                    return;
                }
                Tok::RBrace | Tok::RParen => {
                    self.skip_token(0);
                    let ends = self.open.is_empty() && !matches!(self.tok(), Tok::LBrace | Tok::Semi);
                    if ends && self.token().starts_line {
                        return;
                    }
                }
                _ => self.skip_token(0),
            }
        }
    }

    /// Consumes `{ … }` whole, or up to an item when its `}` is missing.
    pub(super) fn skip_group(&mut self, base: usize) {
        let below = self.open.len();
        self.bump();
        while self.open.len() > below && !self.at(Tok::Eof) && !self.stops_at_item() {
            self.skip_token(base.max(below));
        }
    }

    /// Consumes a token; a closing delimiter also closes what was left open inside it, but nothing below `base`.
    fn skip_token(&mut self, base: usize) {
        /// How many delimiters out a partner is looked for, so that skipping stays linear.
        const REACH: usize = 64;
        let kind = self.tok();
        if matches!(kind, Tok::RParen | Tok::RBracket | Tok::RBrace) {
            let above = self.open.len().saturating_sub(base).min(REACH);
            let partner = self
                .open
                .iter()
                .rev()
                .take(above)
                .position(|open| Some(open.token.kind) == wsp_syntax::partner(kind));
            match partner {
                Some(inner) => {
                    let left = self.open.len() - inner;
                    self.open.truncate(left);
                }
                None => {
                    self.pos += 1;
                    return;
                }
            }
        }
        self.bump();
    }

    fn brace_open_above(&self, base: usize) -> bool {
        let below = base.checked_sub(1).and_then(|i| self.open.get(i)).map_or(0, |open| open.braces);
        self.open_braces() > below
    }

    /// At an item that is inside something only because a `}` is missing.
    fn stops_at_item(&self) -> bool {
        self.brace_excess > 0 && self.at_item_start()
    }

    fn at_form(&self) -> bool {
        self.peek(1).kind == Tok::LParen && self.word().is_some_and(|word| word.starts_with("PTO_"))
    }

    fn at_statement_keyword(&self) -> bool {
        let keyword = |word| {
            matches!(
                word,
                "if" | "for"
                    | "while"
                    | "do"
                    | "return"
                    | "break"
                    | "continue"
                    | "PTO_FOR_EACH"
                    | "PTO_SCHEDULED_FOR"
            )
        };
        self.token().starts_line && self.word().is_some_and(keyword)
    }

    /// Reports that a block is still open where it cannot be.
    pub(super) fn unclosed_block(&mut self, open: Token) -> Skip {
        let suspect = self.suspect.take();
        let diagnostic = self.unclosed_block_at(self.gap(), codes::UNCLOSED, open, suspect);
        self.report(diagnostic)
    }

    /// Notes a block whose `}` is indented less than the line that opens it.
    pub(super) fn check_indentation(&mut self, open: Token, close: Token) {
        if self.suspect.is_none() && self.is_outdented(open, close) {
            self.suspect = Some(open);
        }
    }
}
