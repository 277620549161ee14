//! Expressions: infix, or their words in braces.
//!
//! Words are written while the text is read, so that no tree is built. **Invariant:** `Assembler::depth` bounds recursion.

use super::{Assembler, Parsed, Skip};
use crate::ptow::codes;
use crate::ptow::operators::{Form, constant, form};
use crate::ptow::symbols::{Kind, variable};
use wsp_core::int::BinOp;
use wsp_core::ptow::{Operand, Word, X_LAST, XOPS, XOp};
use wsp_diag::Diagnostic;
use wsp_syntax::{Cursor, Operators, PREFIX, TERNARY, Tok, Token, infix};

/// Expressions inside each other.
const MAX_NESTING: u32 = 64;

fn word(op: XOp, operand2: u32) -> Word {
    Word { opcode: op.code(), operand2, ..Word::default() }
}

/// An expression that is being read, and its words so far.
struct Infix<'a, 't, 'l> {
    assembler: &'a mut Assembler<'t>,
    cursor: &'a mut Cursor<'l>,
    words: &'a mut Vec<Word>,
}

impl Infix<'_, '_, '_> {
    /// The words of the right side of an operator, apart.
    fn right(&mut self, least: u8) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        self.assembler.infix(self.cursor, least, &mut words)?;
        Ok(words)
    }
}

impl Operators for Infix<'_, '_, '_> {
    type Tree = ();
    type Stop = Skip;

    fn sign(&self) -> Tok {
        self.cursor.tok()
    }

    fn operand(&mut self) -> Parsed<()> {
        self.assembler.prefix(self.cursor, self.words)
    }

    fn binary(&mut self, (): (), op: BinOp, power: u8) -> Parsed<()> {
        self.cursor.bump();
        let not_zero = [word(XOp::XConst, 0), word(XOp::XNe, 0)];
        match op {
            BinOp::And => {
                let mut then = self.right(power + 1)?;
                then.extend(not_zero);
                choose(self.words, &then, &[word(XOp::XConst, 0)]);
            }
            BinOp::Or => {
                let mut otherwise = self.right(power + 1)?;
                otherwise.extend(not_zero);
                choose(self.words, &[word(XOp::XConst, 1)], &otherwise);
            }
            _ => {
                self.assembler.infix(self.cursor, power + 1, self.words)?;
                let row = XOPS.iter().find(|row| row.op.operator() == Some(op));
                self.words.extend(row.map(|row| word(row.op, 0)));
            }
        }
        Ok(())
    }

    fn choose(&mut self, (): ()) -> Parsed<()> {
        self.cursor.bump();
        let then = self.right(TERNARY)?;
        self.assembler.sign(self.cursor, Tok::Colon)?;
        let otherwise = self.right(TERNARY)?;
        choose(self.words, &then, &otherwise);
        Ok(())
    }
}

impl Assembler<'_> {
    /// The words of an expression; the last one is marked.
    pub(super) fn expression(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Vec<Word>> {
        self.depth = 0;
        let mut words = Vec::new();
        if cursor.at(Tok::LBrace) {
            self.postfix(cursor, &mut words)?;
        } else {
            self.infix(cursor, TERNARY, &mut words)?;
        }
        if let Some(last) = words.last_mut() {
            last.flags = X_LAST;
        }
        Ok(words)
    }

    fn postfix(&mut self, cursor: &mut Cursor<'_>, words: &mut Vec<Word>) -> Parsed<()> {
        self.sign(cursor, Tok::LBrace)?;
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
            if cursor.eat(Tok::RBrace) {
                return Ok(());
            }
            self.sign(cursor, Tok::Comma)?;
        }
    }

    /// Operands and operators that bind at least as strongly as `least`.
    fn infix(&mut self, cursor: &mut Cursor<'_>, least: u8, words: &mut Vec<Word>) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let fault = Diagnostic::error(codes::TOO_DEEP, "the expression is nested too deeply")
                .at(cursor.span(), "")
                .note(format!("{MAX_NESTING} expressions inside each other are read"))
                .help("give a part of it to a loop variable with `LET`, or write its words in braces");
            return Err(self.report(fault));
        }
        infix(&mut Infix { assembler: self, cursor, words }, least)?;
        self.depth -= 1;
        Ok(())
    }

    fn prefix(&mut self, cursor: &mut Cursor<'_>, words: &mut Vec<Word>) -> Parsed<()> {
        if cursor.at(Tok::Minus) && cursor.peek(1).kind == Tok::Number {
            cursor.bump();
            let value = self.value(cursor.token());
            return self.integer(cursor, -i128::from(value), words);
        }
        for (sign, op) in [(Tok::Minus, XOp::XNeg), (Tok::Bang, XOp::XNot)] {
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
        let span = cursor.span();
        cursor.bump();
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
        if cursor.eat(Tok::LParen) {
            self.infix(cursor, TERNARY, words)?;
            return self.sign(cursor, Tok::RParen);
        }
        let token = cursor.token();
        match token.kind {
            Tok::Number => self.integer(cursor, i128::from(self.value(token)), words),
            Tok::Ident => {
                cursor.bump();
                let name = self.text_of(token);
                if cursor.at(Tok::LParen) {
                    return self.call(cursor, token, name, words);
                }
                if cursor.at(Tok::LBracket) {
                    let table = self.row(token, Kind::Table)?;
                    self.sign(cursor, Tok::LBracket)?;
                    self.infix(cursor, TERNARY, words)?;
                    words.push(word(XOp::XTable, table));
                    return self.sign(cursor, Tok::RBracket);
                }
                if let Some(depth) = variable(name) {
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
        token: Token,
        name: &str,
        words: &mut Vec<Word>,
    ) -> Parsed<()> {
        let Some(row) = XOPS.iter().find(|row| row.mnemonic == name && is_called(row.op)) else {
            let meant =
                self.nearest(token, XOPS.iter().filter(|row| is_called(row.op)).map(|row| row.mnemonic));
            return Err(self.unknown_name(token, "function", meant));
        };
        self.sign(cursor, Tok::LParen)?;
        let operand = match row.op {
            _ if row.operand != Operand::None => self.operand(cursor, row.operand, u32::MAX)?,
            _ => {
                self.infix(cursor, TERNARY, words)?;
                self.sign(cursor, Tok::Comma)?;
                self.infix(cursor, TERNARY, words)?;
                0
            }
        };
        words.push(word(row.op, operand));
        self.sign(cursor, Tok::RParen)
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
