//! Expressions: infix, or their words in braces.
//!
//! Words are written while the text is read, so that no tree is built. **Invariant:** `Cursor::depth` bounds recursion.

use super::cursor::Cursor;
use super::lexer::Tok;
use super::{Assembler, Parsed};
use crate::ptow::codes;
use crate::ptow::operators::{AND, CHOOSE, Form, OR, PREFIX, constant, form};
use crate::ptow::symbols::{Kind, variable};
use wsp_core::ptow::{Operand, Word, X_LAST, XOPS, XOp};
use wsp_ir::diag::Diagnostic;

/// Expressions inside each other.
const MAX_NESTING: u32 = 64;

/// What stands between operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Op(XOp),
    And,
    Or,
    Choose,
}

fn word(op: XOp, operand2: u32) -> Word {
    Word { opcode: op.code(), operand2, ..Word::default() }
}

/// The operator that a sign is, and how strongly it binds.
fn between(sign: &str) -> Option<(u8, Between)> {
    match sign {
        "?" => return Some((CHOOSE, Between::Choose)),
        "||" => return Some((OR, Between::Or)),
        "&&" => return Some((AND, Between::And)),
        _ => {}
    }
    XOPS.iter().find_map(|row| match form(row.op) {
        Form::Infix(binds, found) if found == sign => Some((binds, Between::Op(row.op))),
        _ => None,
    })
}

impl Assembler<'_> {
    /// The words of an expression; the last one is marked.
    pub(super) fn expression(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        if cursor.is("{") {
            self.postfix(cursor, &mut words)?;
        } else {
            self.infix(cursor, CHOOSE, &mut words)?;
        }
        if let Some(last) = words.last_mut() {
            last.flags = X_LAST;
        }
        Ok(words)
    }

    fn postfix(&mut self, cursor: &mut Cursor<'_>, words: &mut Vec<Word>) -> Parsed<()> {
        self.punct(cursor, "{")?;
        loop {
            let name = self.ident(cursor, "the name of an operation")?;
            let Some(row) = XOPS.iter().find(|row| row.mnemonic == self.text_of(name)) else {
                let meant = self.nearest(name, XOPS.iter().map(|row| row.mnemonic));
                return Err(self.unknown_name(name, "operation", meant));
            };
            let operand = match row.operand {
                Operand::None => 0,
                kind => self.operand(cursor, kind, u32::MAX)?,
            };
            words.push(word(row.op, operand));
            if cursor.eat("}") {
                return Ok(());
            }
            self.punct(cursor, ",")?;
        }
    }

    /// Operands and operators that bind at least as strongly as `least`.
    fn infix(&mut self, cursor: &mut Cursor<'_>, least: u8, words: &mut Vec<Word>) -> Parsed<()> {
        cursor.depth += 1;
        if cursor.depth > MAX_NESTING {
            let fault = Diagnostic::error(codes::TOO_DEEP, "the expression is nested too deeply")
                .at(self.here(cursor), "")
                .note(format!("{MAX_NESTING} expressions inside each other are read"))
                .help("give a part of it to a loop variable with `LET`, or write its words in braces");
            return Err(self.report(fault));
        }
        self.prefix(cursor, words)?;
        while let Some((binds, sign)) = self.sign(cursor).filter(|(binds, _)| *binds >= least) {
            cursor.next();
            self.right(cursor, binds, sign, words)?;
        }
        cursor.depth -= 1;
        Ok(())
    }

    fn sign(&self, cursor: &Cursor<'_>) -> Option<(u8, Between)> {
        match &cursor.peek()?.tok {
            Tok::Punct(punct) => between(punct),
            _ => None,
        }
    }

    /// What follows an operator whose left operand is written.
    fn right(
        &mut self,
        cursor: &mut Cursor<'_>,
        binds: u8,
        sign: Between,
        words: &mut Vec<Word>,
    ) -> Parsed<()> {
        let not_zero = [word(XOp::XConst, 0), word(XOp::XNe, 0)];
        match sign {
            Between::Op(op) => {
                self.infix(cursor, binds + 1, words)?;
                words.push(word(op, 0));
            }
            Between::And => {
                let mut then = Vec::new();
                self.infix(cursor, binds + 1, &mut then)?;
                then.extend(not_zero);
                choose(words, &then, &[word(XOp::XConst, 0)]);
            }
            Between::Or => {
                let mut otherwise = Vec::new();
                self.infix(cursor, binds + 1, &mut otherwise)?;
                otherwise.extend(not_zero);
                choose(words, &[word(XOp::XConst, 1)], &otherwise);
            }
            Between::Choose => {
                let (mut then, mut otherwise) = (Vec::new(), Vec::new());
                self.infix(cursor, CHOOSE, &mut then)?;
                self.punct(cursor, ":")?;
                self.infix(cursor, CHOOSE, &mut otherwise)?;
                choose(words, &then, &otherwise);
            }
        }
        Ok(())
    }

    fn prefix(&mut self, cursor: &mut Cursor<'_>, words: &mut Vec<Word>) -> Parsed<()> {
        if cursor.is("-") {
            let number = cursor.peek_second().map(|t| &t.tok);
            if let Some(Tok::Number(value)) = number {
                cursor.next();
                return self.integer(cursor, -i128::from(*value), words);
            }
        }
        for (sign, op) in [("-", XOp::XNeg), ("!", XOp::XNot)] {
            if cursor.eat(sign) {
                self.infix(cursor, PREFIX, words)?;
                words.push(word(op, 0));
                return Ok(());
            }
        }
        self.atom(cursor, words)
    }

    /// The integer that the next token ends.
    fn integer(&mut self, cursor: &mut Cursor<'_>, value: i128, words: &mut Vec<Word>) -> Parsed<()> {
        let span = self.here(cursor);
        cursor.next();
        match i64::try_from(value) {
            Ok(value) => {
                words.extend(constant(value));
                Ok(())
            }
            Err(_) => {
                let range = format!("{} to {}", i64::MIN, i64::MAX);
                Err(self.out_of_range(span, "an integer", &value.to_string(), &range))
            }
        }
    }

    fn atom(&mut self, cursor: &mut Cursor<'_>, words: &mut Vec<Word>) -> Parsed<()> {
        if cursor.eat("(") {
            self.infix(cursor, CHOOSE, words)?;
            return self.punct(cursor, ")");
        }
        let Some(token) = cursor.peek() else { return Err(self.expected(cursor, "an expression")) };
        match token.tok {
            Tok::Number(value) => self.integer(cursor, i128::from(value), words),
            Tok::Ident => {
                cursor.next();
                let name = self.text_of(token).to_owned();
                let second = |punct| cursor.is(punct);
                if second("(") {
                    return self.call(cursor, token, &name, words);
                }
                if second("[") {
                    let table = self.row(token, Kind::Table)?;
                    self.punct(cursor, "[")?;
                    self.infix(cursor, CHOOSE, words)?;
                    words.push(word(XOp::XTable, table));
                    return self.punct(cursor, "]");
                }
                if let Some(depth) = variable(&name) {
                    words.push(word(XOp::XVar, depth));
                    return Ok(());
                }
                let value = self.row(token, Kind::Value)?;
                words.push(word(XOp::XValue, value));
                Ok(())
            }
            _ => Err(self.expected(cursor, "an expression")),
        }
    }

    /// `name(…)`.
    fn call(
        &mut self,
        cursor: &mut Cursor<'_>,
        token: &super::lexer::Token,
        name: &str,
        words: &mut Vec<Word>,
    ) -> Parsed<()> {
        let Some(row) = XOPS.iter().find(|row| row.mnemonic == name && is_called(row.op)) else {
            let meant =
                self.nearest(token, XOPS.iter().filter(|row| is_called(row.op)).map(|row| row.mnemonic));
            return Err(self.unknown_name(token, "function", meant));
        };
        self.punct(cursor, "(")?;
        let operand = match row.op {
            _ if row.operand != Operand::None => self.operand(cursor, row.operand, u32::MAX)?,
            _ => {
                self.infix(cursor, CHOOSE, words)?;
                self.punct(cursor, ",")?;
                self.infix(cursor, CHOOSE, words)?;
                0
            }
        };
        words.push(word(row.op, operand));
        self.punct(cursor, ")")
    }
}

/// Whether an operation is written `name(…)`.
fn is_called(op: XOp) -> bool {
    form(op) == Form::Call || matches!(op, XOp::XPos | XOp::XAxis | XOp::XLen | XOp::XSlot)
}

/// Behind a condition: one part or the other.
fn choose(words: &mut Vec<Word>, then: &[Word], otherwise: &[Word]) {
    let count = |words: &[Word]| u32::try_from(words.len()).unwrap_or(u32::MAX);
    words.push(word(XOp::XSkipZero, count(then).saturating_add(1)));
    words.extend_from_slice(then);
    words.push(word(XOp::XSkip, count(otherwise)));
    words.extend_from_slice(otherwise);
}
