//! Tile operations.

use super::{exprs, local, view};
use crate::decode::place::At;
use crate::wire::{Decoded, Fault, Fields, Json, unknown_word};
use wsp_core::{AccessKind, LocalId, TensorId};
use wsp_ir::{BinaryTileOp, Expr, Operand, Place, ReduceOp, ScalarTy, TileOp, TileSource, UnaryTileOp};

/// The forms of a tile operation.
pub(in crate::decode) const FORMS: &[&str] = TileOp::<LocalId, Expr, Place>::WORDS;

impl At<'_> {
    /// The tile operation that a word begins, if it begins one.
    pub(super) fn tile_op(self, word: &str, fields: &mut Fields<'_>) -> Decoded<Option<TileOp>> {
        TileOp::build(word, &mut Operands { at: self, fields })
    }

    fn tile_operand(self, json: &Json<'_>) -> Decoded<Operand> {
        self.form(json, |fields, at| {
            if let Some(tile) = fields.optional("tile", local)? {
                return Ok(Operand::Tile(tile));
            }
            if let Some(column) = fields.optional("column", local)? {
                return Ok(Operand::Column(column));
            }
            if let Some(row) = fields.optional("row", local)? {
                return Ok(Operand::Row(row));
            }
            at.value(fields, "scalar").map(Operand::Scalar)
        })
    }
}

/// The fields of an operation.
struct Operands<'o, 'w, 'j> {
    at: At<'w>,
    fields: &'o mut Fields<'j>,
}

impl Operands<'_, '_, '_> {
    /// The operation of the form that the field `op` names.
    fn op<T: Copy>(&mut self, all: &[T], word: fn(T) -> &'static str) -> Decoded<T> {
        self.fields.required("op", |json| {
            let text = json.text()?;
            let found = all.iter().copied().find(|op| word(*op) == text);
            found.ok_or_else(|| unknown_word(text, all.iter().map(|op| word(*op))))
        })
    }
}

impl TileSource<LocalId, Expr, Place> for Operands<'_, '_, '_> {
    type Error = Box<Fault>;

    fn tile(&mut self, field: &'static str) -> Decoded<LocalId> {
        self.fields.required(field, local)
    }

    fn number(&mut self, field: &'static str, _: ScalarTy) -> Decoded<Expr> {
        self.at.value(self.fields, field)
    }

    fn optional(&mut self, field: &'static str, _: ScalarTy) -> Decoded<Option<Expr>> {
        let at = self.at;
        self.fields.optional(field, |json| at.scalar(json))
    }

    fn tensor(&mut self, field: &'static str, _: AccessKind) -> Decoded<TensorId> {
        self.fields.required(field, view)
    }

    fn place(&mut self, _: &'static str) -> Decoded<Place> {
        let at = self.at;
        Ok(Place {
            index: self.fields.required("index", |json| exprs(at, json))?,
            row_dim: self.fields.optional("row_dim", Json::number)?,
            col_dim: self.fields.optional("col_dim", Json::number)?,
        })
    }

    fn operand(&mut self, field: &'static str) -> Decoded<Operand> {
        let at = self.at;
        self.fields.required(field, |json| at.tile_operand(json))
    }

    fn flag(&mut self, field: &'static str) -> Decoded<bool> {
        self.fields.flag(field)
    }

    fn unary(&mut self) -> Decoded<UnaryTileOp> {
        self.op(UnaryTileOp::ALL, UnaryTileOp::word)
    }

    fn binary(&mut self) -> Decoded<BinaryTileOp> {
        self.op(BinaryTileOp::ALL, BinaryTileOp::word)
    }

    fn reduce(&mut self) -> Decoded<ReduceOp> {
        self.op(ReduceOp::ALL, ReduceOp::word)
    }
}
