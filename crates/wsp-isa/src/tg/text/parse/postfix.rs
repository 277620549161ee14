//! Expressions as `postfix(…)`: their operations in the order in which they are done.

use super::numbers::Role;
use super::{Parsed, Parser};
use crate::tg::text::idents::NOTHING;
use crate::tg::text::tokens::{Sign, Tok};
use crate::tg::text::words::{OPERATORS, PREFIX_OPERATORS, SKIPS, is_expression_word};
use wsp_core::tg::ExprOp;
use wsp_ir::tg::Namespace;

impl Parser<'_> {
    /// `postfix(operation, …)`: operations as they are.
    pub(super) fn postfix(&mut self) -> Parsed<()> {
        self.bump();
        self.need(Sign::LParen)?;
        if self.eat(Sign::RParen) {
            return Ok(());
        }
        loop {
            self.operation()?;
            if self.eat(Sign::RParen) {
                return Ok(());
            }
            self.need(Sign::Comma)?;
        }
    }

    fn operation(&mut self) -> Parsed<()> {
        let span = self.here();
        let Tok::Ident(ident) = self.token.tok else {
            self.prefix()?;
            return match self.ops.last() {
                Some(ExprOp::Const(_)) => Ok(()),
                _ => Err(self.expected("an operation")),
            };
        };
        let text = self.tokens.idents.row(ident).text;
        let operators = OPERATORS.iter().chain(&PREFIX_OPERATORS);
        if let Some((op, _)) = operators.clone().find(|(_, word)| *word == text) {
            self.bump();
            self.ops.push(*op);
            return Ok(());
        }
        if text == "load" {
            return self.bare_load();
        }
        if let Some((skip, _)) = SKIPS.iter().find(|(_, word)| *word == text) {
            return self.bare_skip(*skip);
        }
        if self.tokens.dot_follows() || is_expression_word(text) {
            return self.named_atom(ident, span);
        }
        let words = operators.map(|(_, word)| *word).chain(SKIPS.map(|(_, word)| word));
        let meant = self.nearest(ident, words).map(str::to_owned);
        Err(self.unknown_name(ident, span, "operation of `postfix`", meant.as_deref()))
    }

    /// `skipz(operations)` or `skipnz(operations)`.
    fn bare_skip(&mut self, skip: fn(u32) -> ExprOp) -> Parsed<()> {
        self.bump();
        self.need(Sign::LParen)?;
        let Tok::Number(value) = self.token.tok else {
            return Err(self.expected("how many operations are skipped"));
        };
        let Ok(past) = u32::try_from(value) else {
            let span = self.here();
            return Err(self.out_of_range(span, value.into(), "a skip", 0, u32::MAX.into()));
        };
        self.bump();
        self.ops.push(skip(past));
        self.need(Sign::RParen)
    }

    /// `load(tensor, type)`, whose offset was computed before.
    fn bare_load(&mut self) -> Parsed<()> {
        self.bump();
        self.need(Sign::LParen)?;
        let tensor = match self.token.tok {
            Tok::Ident(ident) if self.tokens.idents.row(ident).constant == NOTHING => {
                let span = self.here();
                self.bump();
                self.resolve(Namespace::Tensor, ident, span, Role::Uses)?
            }
            _ => self.load_literal()?,
        };
        self.need(Sign::Comma)?;
        let ty = self.scalar_type()?;
        self.need(Sign::RParen)?;
        self.push_load(tensor, Some(ty));
        Ok(())
    }
}
