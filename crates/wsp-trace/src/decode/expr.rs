//! Integer expressions.

use super::place::At;
use crate::wire::{Decoded, Fault, Fields, Json, codes, items, unknown_word};
use wsp_core::{AxisId, ParamId, SlotId, TableId, VarId};
use wsp_ir::workload::{IntExpr, IntExprKind};
use wsp_ir::{BinOp, UnOp};

const UNARY: &[(&str, UnOp)] = &[("neg", UnOp::Neg), ("not", UnOp::Not)];

/// Operators of two operands. Workloads have those that are not of bits.
pub(super) const BINARY: &[(&str, BinOp)] = &[
    ("add", BinOp::Add),
    ("sub", BinOp::Sub),
    ("mul", BinOp::Mul),
    ("div", BinOp::Div),
    ("rem", BinOp::Rem),
    ("lt", BinOp::Lt),
    ("le", BinOp::Le),
    ("gt", BinOp::Gt),
    ("ge", BinOp::Ge),
    ("eq", BinOp::Eq),
    ("ne", BinOp::Ne),
    ("and", BinOp::And),
    ("or", BinOp::Or),
    ("bitand", BinOp::BitAnd),
    ("bitor", BinOp::BitOr),
    ("bitxor", BinOp::BitXor),
    ("shl", BinOp::Shl),
    ("shr", BinOp::Shr),
    ("min", BinOp::Min),
    ("max", BinOp::Max),
    ("ceildiv", BinOp::CeilDiv),
];

/// The other forms.
pub(super) const FORMS: &[&str] =
    &["const", "param", "var", "slot", "axis", "len", "table", "choose", "chain"];

/// The operator that a word stands for.
pub(super) fn operator<T: Copy>(words: &[(&str, T)], word: &str) -> Option<T> {
    words.iter().find(|(known, _)| *known == word).map(|(_, operator)| *operator)
}

/// The first operand of a chain, and the others behind their operators.
pub(super) type Chain<T> = (Box<T>, Vec<(BinOp, T)>);

/// A chain: `{"k": "chain", "ops": ["add", "sub"], "of": [a, b, c]}`.
pub(super) fn chain<'a, T>(
    fields: &mut Fields<'a>,
    operand: impl FnMut(&'a Json<'a>) -> Decoded<T>,
) -> Decoded<Chain<T>> {
    let ops = fields.required("ops", |json| items(json, |json| json.word(BINARY)))?;
    let operands = fields.required("of", |json| items(json, operand))?;
    let (have, need) = (operands.len(), ops.len() + 1);
    let mut operands = operands.into_iter();
    match operands.next() {
        Some(first) if have == need => Ok((Box::new(first), ops.into_iter().zip(operands).collect())),
        _ => {
            let message = format!("a chain of {} operators has {have} operands; it needs {need}", ops.len());
            Err(Fault::new(codes::WRONG_VALUE, message).in_field("of"))
        }
    }
}

impl At<'_> {
    /// An integer expression: a number, or a form.
    pub(super) fn expr(self, json: &Json<'_>) -> Decoded<IntExpr> {
        if json.integer().is_some() {
            return Ok(IntExpr { kind: IntExprKind::Const(json.number()?), span: self.span });
        }
        self.form(json, |fields, at| {
            let word = fields.kind()?;
            let boxed = |json| at.expr(json).map(Box::new);
            let kind = match word {
                "const" => IntExprKind::Const(fields.required("v", Json::number)?),
                "param" => IntExprKind::Param(ParamId(fields.required("id", Json::number)?)),
                "var" => IntExprKind::Var(VarId(fields.required("id", Json::number)?)),
                "slot" => IntExprKind::Slot(SlotId(fields.required("id", Json::number)?)),
                "axis" => IntExprKind::Axis(AxisId(fields.required("id", Json::number)?)),
                "len" => IntExprKind::TableLen(TableId(fields.required("id", Json::number)?)),
                "table" => {
                    let table = TableId(fields.required("id", Json::number)?);
                    IntExprKind::Table(table, fields.required("index", boxed)?)
                }
                "choose" => IntExprKind::Choose(
                    fields.required("c", boxed)?,
                    fields.required("a", boxed)?,
                    fields.required("b", boxed)?,
                ),
                "chain" => {
                    let (first, rest) = chain(fields, |json| at.expr(json))?;
                    IntExprKind::Chain(first, rest)
                }
                _ => {
                    if let Some(operator) = operator(BINARY, word).filter(|op| !op.is_bitwise()) {
                        let (a, b) = (fields.required("a", boxed)?, fields.required("b", boxed)?);
                        IntExprKind::Binary(operator, a, b)
                    } else if let Some(operator) = operator(UNARY, word) {
                        IntExprKind::Unary(operator, fields.required("a", boxed)?)
                    } else {
                        let operators =
                            BINARY.iter().filter(|(_, op)| !op.is_bitwise()).map(|(word, _)| *word);
                        let words = operators.chain(UNARY.iter().map(|(word, _)| *word));
                        return Err(unknown_word(word, FORMS.iter().copied().chain(words)).in_field("k"));
                    }
                }
            };
            Ok(IntExpr { kind, span: at.span })
        })
    }
}
