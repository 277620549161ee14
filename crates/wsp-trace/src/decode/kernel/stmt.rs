//! Statements of kernels.

use super::{exprs, local, tile, view};
use crate::decode::place::At;
use crate::wire::{Decoded, Fields, Json, unknown_word};
use wsp_ir::{Block, Expr, Stmt, StmtKind};

/// The forms of a statement, except tile operations.
pub(in crate::decode) const FORMS: &[&str] =
    &["let", "assign", "if", "for", "while", "break", "continue", "return", "store_scalar"];

impl At<'_> {
    /// A statement.
    pub(in crate::decode) fn stmt(self, json: &Json<'_>) -> Decoded<Stmt> {
        self.form(json, |fields, at| {
            let word = fields.kind()?;
            let kind = match at.nest(word, fields)? {
                Some(kind) => kind,
                None => at.plain(word, fields)?,
            };
            Ok(Stmt { kind, span: at.span })
        })
    }

    /// The statement with others inside that a word begins, if it begins one.
    fn nest(self, word: &str, fields: &mut Fields<'_>) -> Decoded<Option<StmtKind>> {
        match word {
            "if" => {
                let cond = self.value(fields, "cond")?;
                let then = self.block(fields, "then")?;
                Ok(Some(StmtKind::If { cond, then, otherwise: self.block(fields, "otherwise")? }))
            }
            "for" => {
                let var = fields.required("var", local)?;
                let (start, end) = (self.value(fields, "start")?, self.value(fields, "end")?);
                let step = self.value(fields, "step")?;
                Ok(Some(StmtKind::For { var, start, end, step, body: self.block(fields, "body")? }))
            }
            "while" => {
                let cond = self.value(fields, "cond")?;
                Ok(Some(StmtKind::While { cond, step: Block::new(), body: self.block(fields, "body")? }))
            }
            _ => Ok(None),
        }
    }

    /// A statement without others inside.
    fn plain(self, word: &str, fields: &mut Fields<'_>) -> Decoded<StmtKind> {
        if let Some(op) = self.tile_op(word, fields)? {
            return Ok(StmtKind::Tile(op));
        }
        Ok(match word {
            "let" => StmtKind::Let {
                local: fields.required("local", local)?,
                init: fields.optional("init", |json| self.scalar(json))?,
            },
            "assign" => StmtKind::Assign {
                local: fields.required("local", local)?,
                value: self.value(fields, "value")?,
            },
            "break" => StmtKind::Break,
            "continue" => StmtKind::Continue,
            "return" => StmtKind::Return(None),
            "store_scalar" => StmtKind::StoreScalar {
                tensor: fields.required("tensor", view)?,
                index: fields.required("index", |json| exprs(self, json))?,
                value: self.value(fields, "value")?,
            },
            other => {
                let words = FORMS.iter().chain(tile::FORMS).copied();
                return Err(unknown_word(other, words).in_field("k"));
            }
        })
    }

    /// The expression of a field.
    pub(super) fn value(self, fields: &mut Fields<'_>, name: &'static str) -> Decoded<Expr> {
        fields.required(name, |json| self.scalar(json))
    }

    fn block(self, fields: &mut Fields<'_>, name: &'static str) -> Decoded<Block> {
        fields.list(name, |json| self.stmt(json))
    }
}
