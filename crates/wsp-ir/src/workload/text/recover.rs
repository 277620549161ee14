//! Where parsing goes on after a report.

use super::codes;
use super::words::ITEMS;
use super::{Parser, Skip};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_syntax::{Tok, Token};

impl Parser<'_> {
    /// Skips the rest of a broken statement that began at `start`.
    pub(super) fn recover_statement(&mut self, start: usize) {
        loop {
            match self.tok() {
                Tok::Eof | Tok::RBrace => return,
                Tok::Semi => {
                    self.bump();
                    return;
                }
                Tok::LBrace => {
                    self.skip_group();
                    if !self.eat_word("else") {
                        return;
                    }
                }
                _ if self.pos > start && self.at_statement() => return,
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// Consumes `{ … }` whole, or to the end of the item.
    fn skip_group(&mut self) {
        let mut braces = 0;
        loop {
            match self.bump().kind {
                Tok::LBrace => braces += 1,
                Tok::RBrace if braces == 1 => return,
                Tok::RBrace => braces -= 1,
                Tok::Eof => return,
                _ => {}
            }
        }
    }

    /// Consumes `( … )` with what stands in it, `;` included, but no block.
    pub(super) fn skip_parentheses(&mut self) {
        let mut open = 0;
        while !matches!(self.tok(), Tok::LBrace | Tok::RBrace | Tok::Eof) {
            match self.bump().kind {
                Tok::LParen => open += 1,
                Tok::RParen if open == 1 => return,
                Tok::RParen => open -= 1,
                _ => {}
            }
        }
    }

    /// Skips to behind the `}` of a broken list of blocks.
    pub(super) fn recover_blocks(&mut self) {
        while !matches!(self.tok(), Tok::RBrace | Tok::Eof) {
            if self.at(Tok::LBrace) {
                self.skip_group();
            } else {
                self.bump();
            }
        }
        self.eat(Tok::RBrace);
    }

    /// Reports, once per item, that a block does not end.
    pub(super) fn unclosed_block(&mut self, open: Token) -> Skip {
        if std::mem::replace(&mut self.unclosed, true) {
            return Skip;
        }
        let suspect = self.suspect.take();
        let diagnostic = self.unclosed_block_at(self.span(), codes::UNCLOSED, open, suspect);
        self.report(diagnostic)
    }

    /// Notes a block whose `}` is indented less than the line that opens it: the `}` of that block is probably missing.
    pub(super) fn check_indentation(&mut self, open: Token, close: Token) {
        if self.suspect.is_none() && self.is_outdented(open, close) {
            self.suspect = Some(open);
        }
    }

    /// Reports a token that starts no item.
    pub(super) fn not_an_item(&mut self) -> Skip {
        if self.at(Tok::Bad) {
            return Skip;
        }
        let mut diagnostic = Diagnostic::error(codes::EXPECTED_ITEM, "expected an item")
            .at(self.span(), format!("found {}", self.found()));
        let items = ITEMS.iter().copied().chain(["let"]);
        let statement =
            ["for", "parallel", "if", "while", "combine", "sequential", "select", "call", "pipeline"];
        diagnostic = match self.word() {
            Some(word) if statement.contains(&word) => {
                diagnostic.help("statements stand in a workload: `workload main { … }`")
            }
            Some(word) => match did_you_mean(word, items) {
                Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
                None => diagnostic,
            },
            None => diagnostic,
        };
        let diagnostic = diagnostic.note(
            "items begin with `use`, `param`, `let`, `table`, `axis`, `tensor`, `slot`, `kernel`, `workload` or `schedule`",
        );
        self.report(diagnostic)
    }
}
