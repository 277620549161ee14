//! Operands, as the tables of instructions and operations say.

use super::{Assembler, Fixup, Parsed};
use crate::ptow::codes;
use crate::ptow::symbols::{Kind, variable};
use wsp_core::ptow::{Operand, Word};
use wsp_core::words::a;
use wsp_diag::{Diagnostic, Span};
use wsp_syntax::{Cursor, Tok, Token};

/// Where a place goes once all places are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    Operand1,
    Operand2,
}

impl Assembler<'_> {
    /// An operand that is no place of the program; at most `most`.
    pub(super) fn operand(&mut self, cursor: &mut Cursor<'_>, kind: Operand, most: u32) -> Parsed<u32> {
        let start = cursor.span();
        if cursor.eat(Tok::Hash) {
            return self.number(cursor, "an operand", most);
        }
        let value = self.operand_value(cursor, kind)?;
        if value > most {
            return Err(self.out_of_range(
                start,
                "this operand",
                &value.to_string(),
                &format!("0 to {most}"),
            ));
        }
        Ok(value)
    }

    fn operand_value(&mut self, cursor: &mut Cursor<'_>, kind: Operand) -> Parsed<u32> {
        let symbol = |kind: Kind| (kind, format!("the name of {}", a(kind.word())));
        let (kind, what) = match kind {
            Operand::Axis => symbol(Kind::Axis),
            Operand::Kernel => symbol(Kind::Kernel),
            Operand::Tensor => symbol(Kind::Tensor),
            Operand::Value => symbol(Kind::Value),
            Operand::Table => symbol(Kind::Table),
            Operand::Expr | Operand::Key => return self.expr(cursor),
            Operand::OptExpr | Operand::OptKey if self.dash(cursor) => return Ok(u32::MAX),
            Operand::OptExpr | Operand::OptKey => return self.expr(cursor),
            Operand::Imm => return self.signed(cursor, "an integer"),
            Operand::Depth => return self.depth(cursor),
            Operand::Label => return self.numbered(cursor, "label"),
            Operand::Generator => return self.numbered(cursor, "generator"),
            Operand::Channel => return self.numbered(cursor, "channel"),
            Operand::None
            | Operand::Body
            | Operand::OptBody
            | Operand::Slot
            | Operand::Count
            | Operand::Policy
            | Operand::TaskCounts => return self.number(cursor, "a number", u32::MAX),
        };
        let token = self.ident(cursor, &what)?;
        self.row(token, kind)
    }

    /// Takes a `-` that stands for nothing.
    fn dash(&self, cursor: &mut Cursor<'_>) -> bool {
        let alone = matches!(cursor.peek(1).kind, Tok::Eof | Tok::Comma | Tok::RBracket);
        alone && cursor.eat(Tok::Minus)
    }

    fn numbered(&mut self, cursor: &mut Cursor<'_>, word: &str) -> Parsed<u32> {
        self.word(cursor, word)?;
        self.number(cursor, &format!("the number of {}", a(word)), u32::MAX)
    }

    fn depth(&mut self, cursor: &mut Cursor<'_>) -> Parsed<u32> {
        match cursor.word().and_then(variable) {
            Some(depth) => {
                cursor.bump();
                Ok(depth)
            }
            None => Err(self.expected(cursor, "a loop variable, such as `i0`")),
        }
    }

    /// The row that a symbol names.
    pub(super) fn row(&mut self, token: Token, kind: Kind) -> Parsed<u32> {
        match self.symbols.row(kind, self.text_of(token)) {
            Some(row) => Ok(row),
            None => {
                let meant = self.nearest(token, self.symbols.all(kind));
                Err(self.unknown_name(token, kind.word(), meant))
            }
        }
    }

    /// Where the words of an expression are in the pool; they are added to it unless they are there.
    pub(super) fn expr(&mut self, cursor: &mut Cursor<'_>) -> Parsed<u32> {
        if cursor.eat(Tok::At) {
            return self.number(cursor, "a place in the pool of expressions", u32::MAX);
        }
        let start = cursor.span();
        let words = self.expression(cursor)?;
        if let Some(at) = self.pooled.get(&words) {
            return Ok(*at);
        }
        Ok(self.add_expression(words, start))
    }

    /// Adds an expression to the pool.
    pub(super) fn add_expression(&mut self, words: Vec<Word>, span: Span) -> u32 {
        self.places.exprs.extend(std::iter::repeat_n(span, words.len()));
        let at = u32::try_from(self.image.exprs.len()).unwrap_or(u32::MAX);
        self.image.exprs.extend_from_slice(&words);
        self.pooled.entry(words).or_insert(at);
        at
    }

    /// A place of the program, to be filled in at the end.
    pub(super) fn body(
        &mut self,
        cursor: &mut Cursor<'_>,
        kind: Operand,
        at: usize,
        field: Field,
    ) -> Parsed<u32> {
        if cursor.eat(Tok::Hash) {
            return self.number(cursor, "a place", u32::MAX);
        }
        if kind == Operand::OptBody && self.dash(cursor) {
            return Ok(0);
        }
        let label = self.ident(cursor, "the label of a body")?;
        self.fixups.push(Fixup { word: at, field, label });
        Ok(0)
    }

    /// Fills in the places of labels.
    pub(super) fn link(&mut self) {
        for fixup in std::mem::take(&mut self.fixups) {
            let name = self.text_of(fixup.label).to_owned();
            let Some(at) = self.labels.get(&name).map(|(at, _)| *at) else {
                let meant = self.nearest(fixup.label, self.labels.keys().map(String::as_str));
                self.unknown_name(fixup.label, "label", meant);
                continue;
            };
            match (self.image.words.get_mut(fixup.word), fixup.field) {
                (Some(word), Field::Operand2) => word.operand2 = at,
                (Some(word), Field::Operand1) => match u16::try_from(at) {
                    Ok(at) => word.operand1 = at,
                    Err(_) => {
                        let span = self.span_of(fixup.label);
                        self.out_of_range(span, "this operand", &at.to_string(), "0 to 65535");
                    }
                },
                (None, _) => {}
            }
        }
    }

    /// Notes a label.
    pub(super) fn label(&mut self, token: Token) -> Parsed<()> {
        let name = self.text_of(token).to_owned();
        let span = self.span_of(token);
        let at = u32::try_from(self.image.words.len()).unwrap_or(u32::MAX);
        match self.labels.get(&name) {
            Some((_, first)) => {
                let first = *first;
                let fault = Diagnostic::error(codes::DECLARED_TWICE, format!("label `{name}` stands twice"))
                    .at(span, "")
                    .label(first, "it stands here already");
                Err(self.report(fault))
            }
            None => {
                self.labels.insert(name, (at, span));
                Ok(())
            }
        }
    }
}
