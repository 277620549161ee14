//! Lines of instructions.

use super::operand::Field;
use super::{Assembler, Parsed};
use crate::ptow::codes;
use crate::ptow::shape::{LEVEL_POOLS, POLICIES, policy_operand};
use crate::ptow::usage::usage;
use wsp_core::ptow::{
    DIM_IMMEDIATE, DimKind, Ext, Group, OPS, Op, OpInfo, Operand, POLICY_POOL, PolicyType, Word,
};
use wsp_diag::Diagnostic;
use wsp_syntax::{Cursor, Tok, Token};

/// Most words that extend an instruction.
const MAX_EXTS: usize = u8::MAX as usize;

/// Whether operands of a kind are written; the others follow from the text.
fn is_written(kind: Operand, info: &OpInfo) -> bool {
    let counted = matches!(info.ext, Ext::Counted(..)) && kind == Operand::Count;
    !counted && !matches!(kind, Operand::None | Operand::TaskCounts | Operand::Policy)
}

impl Assembler<'_> {
    /// An instruction whose name is taken already.
    pub(super) fn instruction(&mut self, cursor: &mut Cursor<'_>, name: Token) -> Parsed<()> {
        let text = self.text_of(name);
        let written = || OPS.iter().filter(|row| row.group != Group::Extension);
        let Some(info) = written().find(|row| row.mnemonic == text) else {
            let meant = self.nearest(name, written().map(|row| row.mnemonic));
            let fault = Diagnostic::error(codes::UNKNOWN_WORD, format!("no instruction is called `{text}`"))
                .at(self.span_of(name), "");
            let fault = match meant {
                Some(meant) => fault.help(format!("did you mean `{meant}`?")),
                None => fault.help("directives begin with `.`, labels end with `:`"),
            };
            return Err(self.report(fault));
        };
        self.usage = Some(usage(info));
        let span = self.span_of(name);
        let at = self.push(Word { opcode: info.op.code(), ..Word::default() }, span);
        if info.op == Op::Task {
            self.tasks.push(at);
        }
        match info.ext {
            Ext::Policy => self.policy(cursor, at),
            Ext::Counted(one, two) => self.counted(cursor, info, at, one, two),
            Ext::Dims => {
                self.operands(cursor, info, at)?;
                self.dims(cursor, at)
            }
            Ext::None => self.operands(cursor, info, at).map(|_| ()),
            Ext::One(one, two) => {
                let first = self.operands(cursor, info, at)?;
                self.extension(cursor, info, at, [one, two], first)
            }
            Ext::Optional(one, two) => {
                let first = self.operands(cursor, info, at)?;
                if cursor.at(Tok::Eof) { Ok(()) } else { self.extension(cursor, info, at, [one, two], first) }
            }
        }
    }

    /// The operands of the instruction's own word. Returns whether there were none.
    fn operands(&mut self, cursor: &mut Cursor<'_>, info: &OpInfo, at: usize) -> Parsed<bool> {
        let mut first = true;
        self.pair(cursor, info, at, [info.operand1, info.operand2], &mut first)?;
        Ok(first)
    }

    /// Both operands of a word, as far as they are written.
    fn pair(
        &mut self,
        cursor: &mut Cursor<'_>,
        info: &OpInfo,
        at: usize,
        kinds: [Operand; 2],
        first: &mut bool,
    ) -> Parsed<()> {
        for (kind, field) in kinds.into_iter().zip([Field::Operand1, Field::Operand2]) {
            if !is_written(kind, info) {
                continue;
            }
            if !std::mem::take(first) {
                self.sign(cursor, Tok::Comma)?;
            }
            let most = if field == Field::Operand1 { u32::from(u16::MAX) } else { u32::MAX };
            let value = match kind {
                Operand::Body | Operand::OptBody => self.body(cursor, kind, at, field)?,
                _ => self.operand(cursor, kind, most)?,
            };
            if let Some(word) = self.image.words.get_mut(at) {
                match field {
                    Field::Operand1 => word.operand1 = value as u16,
                    Field::Operand2 => word.operand2 = value,
                }
            }
        }
        Ok(())
    }

    /// An extension word of the instruction at `head`, and its operands.
    fn extension(
        &mut self,
        cursor: &mut Cursor<'_>,
        info: &OpInfo,
        head: usize,
        kinds: [Operand; 2],
        mut first: bool,
    ) -> Parsed<()> {
        let at = self.extend(cursor, head, Word::default())?;
        self.pair(cursor, info, at, kinds, &mut first)
    }

    /// Adds an extension word to the instruction at `head`.
    fn extend(&mut self, cursor: &Cursor<'_>, head: usize, word: Word) -> Parsed<usize> {
        let count = self.image.words.len() - head;
        if count > MAX_EXTS {
            let span = cursor.span();
            return Err(self.out_of_range(
                span,
                "the extension words of one instruction",
                &count.to_string(),
                "0 to 255",
            ));
        }
        let span = self.places.words.get(head).copied().unwrap_or_default();
        let at = self.push(Word { opcode: Op::ExtWord.code(), ..word }, span);
        if let Some(head) = self.image.words.get_mut(head) {
            head.flags = count as u8;
        }
        Ok(at)
    }

    fn counted(
        &mut self,
        cursor: &mut Cursor<'_>,
        info: &OpInfo,
        at: usize,
        one: Operand,
        two: Operand,
    ) -> Parsed<()> {
        let mut first = self.operands(cursor, info, at)?;
        while !cursor.at(Tok::Eof) {
            self.extension(cursor, info, at, [one, two], first)?;
            first = false;
        }
        if let Some(word) = self.image.words.get_mut(at) {
            word.operand1 = u16::from(word.flags);
        }
        Ok(())
    }

    /// `[dim, …]`, or nothing.
    fn dims(&mut self, cursor: &mut Cursor<'_>, at: usize) -> Parsed<()> {
        if !cursor.eat(Tok::LBracket) {
            return Ok(());
        }
        loop {
            let word = self.dim(cursor)?;
            self.extend(cursor, at, word)?;
            if cursor.eat(Tok::RBracket) {
                return Ok(());
            }
            self.sign(cursor, Tok::Comma)?;
        }
    }

    fn dim(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Word> {
        if cursor.eat(Tok::Colon) {
            return Ok(Word::default());
        }
        let low = self.pool_place(cursor)?;
        let kind = if cursor.eat(Tok::Range) {
            DimKind::Range
        } else if cursor.eat(Tok::PlusColon) {
            DimKind::Sized
        } else {
            return Ok(Word { flags: DimKind::Index as u8, operand1: low, ..Word::default() });
        };
        if self.is_immediate(cursor) {
            let operand2 = self.signed(cursor, "an integer")?;
            return Ok(Word {
                flags: kind as u8 | DIM_IMMEDIATE,
                operand1: low,
                operand2,
                ..Word::default()
            });
        }
        let operand2 = self.expr(cursor)?;
        Ok(Word { flags: kind as u8, operand1: low, operand2, ..Word::default() })
    }

    /// An expression whose place has 16 bits.
    fn pool_place(&mut self, cursor: &mut Cursor<'_>) -> Parsed<u16> {
        self.operand(cursor, Operand::Expr, u32::from(u16::MAX)).map(|at| at as u16)
    }

    /// Whether a bare integer stands here.
    fn is_immediate(&self, cursor: &Cursor<'_>) -> bool {
        let at = usize::from(cursor.at(Tok::Minus));
        cursor.peek(at).kind == Tok::Number && matches!(cursor.peek(at + 1).kind, Tok::Comma | Tok::RBracket)
    }

    fn policy(&mut self, cursor: &mut Cursor<'_>, at: usize) -> Parsed<()> {
        let code = self.policy_name(cursor, &[])?;
        if let Some(word) = self.image.words.get_mut(at) {
            word.operand1 = code;
        }
        match PolicyType::from_code(code) {
            Some(PolicyType::Threshold) => self.threshold(cursor, at),
            Some(PolicyType::StaticPartition) => {
                while !cursor.at(Tok::Eof) {
                    if self.image.words.len() > at + 1 {
                        self.sign(cursor, Tok::Comma)?;
                    }
                    let operand2 = self.number(cursor, "the end of a range", u32::MAX)?;
                    self.extend(cursor, at, Word { operand2, ..Word::default() })?;
                }
                Ok(())
            }
            _ => match policy_operand(code) {
                Operand::None => Ok(()),
                kind => {
                    let operand2 = self.operand(cursor, kind, u32::MAX)?;
                    self.extend(cursor, at, Word { operand2, ..Word::default() }).map(|_| ())
                }
            },
        }
    }

    /// The code of a policy, or of a pool where these are allowed.
    fn policy_name(&mut self, cursor: &mut Cursor<'_>, pools: &[(&str, u16)]) -> Parsed<u16> {
        let token = self.ident(cursor, "the name of a policy")?;
        let name = self.text_of(token);
        let policies = POLICIES.iter().map(|(name, policy)| (*name, *policy as u16));
        let all: Vec<(&str, u16)> =
            policies.chain(pools.iter().map(|(name, pool)| (*name, pool + POLICY_POOL))).collect();
        match all.iter().find(|(known, _)| *known == name) {
            Some((_, code)) => Ok(*code),
            None => {
                let meant = self.nearest(token, all.iter().map(|(name, _)| *name));
                Err(self.unknown_name(token, "policy", meant))
            }
        }
    }

    /// The metric, bounds, and one policy more than bounds.
    fn threshold(&mut self, cursor: &mut Cursor<'_>, at: usize) -> Parsed<()> {
        let metric = self.operand(cursor, Operand::Key, u32::MAX)?;
        let first = self.extend(cursor, at, Word { operand2: metric, ..Word::default() })?;
        let mut bounds = 0;
        self.sign(cursor, Tok::Comma)?;
        while matches!(cursor.tok(), Tok::Minus | Tok::Number) {
            let operand2 = self.signed(cursor, "a bound")?;
            self.extend(cursor, at, Word { operand2, ..Word::default() })?;
            self.sign(cursor, Tok::Comma)?;
            bounds += 1;
        }
        if let Some(word) = self.image.words.get_mut(first) {
            word.operand1 = bounds;
        }
        for level in 0..=bounds {
            if level > 0 {
                self.sign(cursor, Tok::Comma)?;
            }
            let operand1 = self.policy_name(cursor, &LEVEL_POOLS)?;
            let operand2 = match policy_operand(operand1) {
                Operand::None => 0,
                kind => self.operand(cursor, kind, u32::MAX)?,
            };
            self.extend(cursor, at, Word { operand1, operand2, ..Word::default() })?;
        }
        Ok(())
    }
}
