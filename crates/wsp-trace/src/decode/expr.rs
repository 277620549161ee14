//! Integer expressions.

use super::place::At;
use crate::wire::{Decoded, Json, unknown_word};
use wsp_core::{AxisId, ParamId, SlotId, TableId, VarId};
use wsp_ir::workload::{IntBinary, IntExpr, IntExprKind, IntUnary};

const UNARY: &[(&str, IntUnary)] = &[("neg", IntUnary::Neg), ("not", IntUnary::Not)];

const BINARY: &[(&str, IntBinary)] = &[
    ("add", IntBinary::Add),
    ("sub", IntBinary::Sub),
    ("mul", IntBinary::Mul),
    ("div", IntBinary::Div),
    ("rem", IntBinary::Rem),
    ("ceildiv", IntBinary::CeilDiv),
    ("min", IntBinary::Min),
    ("max", IntBinary::Max),
    ("eq", IntBinary::Eq),
    ("ne", IntBinary::Ne),
    ("lt", IntBinary::Lt),
    ("le", IntBinary::Le),
    ("gt", IntBinary::Gt),
    ("ge", IntBinary::Ge),
    ("and", IntBinary::And),
    ("or", IntBinary::Or),
];

/// The other forms.
pub(super) const FORMS: &[&str] = &["const", "param", "var", "slot", "axis", "len", "table", "choose"];

/// The operator that a word stands for.
pub(super) fn operator<T: Copy>(words: &[(&str, T)], word: &str) -> Option<T> {
    words.iter().find(|(known, _)| *known == word).map(|(_, operator)| *operator)
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
                _ => {
                    if let Some(operator) = operator(BINARY, word) {
                        let (a, b) = (fields.required("a", boxed)?, fields.required("b", boxed)?);
                        IntExprKind::Binary(operator, a, b)
                    } else if let Some(operator) = operator(UNARY, word) {
                        IntExprKind::Unary(operator, fields.required("a", boxed)?)
                    } else {
                        let operators = BINARY.iter().map(|(word, _)| *word);
                        let words = operators.chain(UNARY.iter().map(|(word, _)| *word));
                        return Err(unknown_word(word, FORMS.iter().copied().chain(words)).in_field("k"));
                    }
                }
            };
            Ok(IntExpr { kind, span: at.span })
        })
    }
}
