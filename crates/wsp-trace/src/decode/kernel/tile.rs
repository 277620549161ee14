//! Tile operations.

use super::{exprs, local, view};
use crate::decode::place::At;
use crate::wire::{Decoded, Fields, Json};
use wsp_core::LocalId;
use wsp_ir::{BinaryTileOp, Operand, Place, ReduceOp, TileOp, UnaryTileOp};

/// The forms of a tile operation.
pub(in crate::decode) const FORMS: &[&str] = &[
    "load",
    "store",
    "fill",
    "unary",
    "binary",
    "row_reduce",
    "col_reduce",
    "matmul",
    "transpose",
    "mask",
    "mask_causal",
    "top_k",
];

const UNARY: &[(&str, UnaryTileOp)] = &[
    ("copy", UnaryTileOp::Copy),
    ("neg", UnaryTileOp::Neg),
    ("abs", UnaryTileOp::Abs),
    ("exp", UnaryTileOp::Exp),
    ("exp2", UnaryTileOp::Exp2),
    ("log", UnaryTileOp::Log),
    ("log2", UnaryTileOp::Log2),
    ("sqrt", UnaryTileOp::Sqrt),
    ("rsqrt", UnaryTileOp::Rsqrt),
    ("recip", UnaryTileOp::Recip),
    ("relu", UnaryTileOp::Relu),
    ("tanh", UnaryTileOp::Tanh),
];

const BINARY: &[(&str, BinaryTileOp)] = &[
    ("add", BinaryTileOp::Add),
    ("sub", BinaryTileOp::Sub),
    ("mul", BinaryTileOp::Mul),
    ("div", BinaryTileOp::Div),
    ("max", BinaryTileOp::Max),
    ("min", BinaryTileOp::Min),
];

const REDUCE: &[(&str, ReduceOp)] = &[("max", ReduceOp::Max), ("min", ReduceOp::Min), ("sum", ReduceOp::Sum)];

fn tile(fields: &mut Fields<'_>, name: &'static str) -> Decoded<LocalId> {
    fields.required(name, local)
}

impl At<'_> {
    /// The tile operation that a word begins, if it begins one.
    pub(super) fn tile_op(self, word: &str, fields: &mut Fields<'_>) -> Decoded<Option<TileOp>> {
        Ok(Some(match word {
            "load" => self.load(fields)?,
            "store" => TileOp::Store {
                tensor: fields.required("tensor", view)?,
                src: tile(fields, "src")?,
                at: self.tile_place(fields)?,
            },
            "fill" => TileOp::Fill {
                dst: tile(fields, "dst")?,
                value: self.value(fields, "value")?,
                rows: fields.optional("rows", |json| self.scalar(json))?,
                cols: fields.optional("cols", |json| self.scalar(json))?,
            },
            "unary" => TileOp::Unary {
                op: fields.word("op", UNARY)?,
                dst: tile(fields, "dst")?,
                src: tile(fields, "src")?,
            },
            "binary" => TileOp::Binary {
                op: fields.word("op", BINARY)?,
                dst: tile(fields, "dst")?,
                a: tile(fields, "a")?,
                b: fields.required("b", |json| self.tile_operand(json))?,
            },
            "row_reduce" => TileOp::RowReduce {
                op: fields.word("op", REDUCE)?,
                dst: tile(fields, "dst")?,
                src: tile(fields, "src")?,
            },
            "col_reduce" => TileOp::ColReduce {
                op: fields.word("op", REDUCE)?,
                dst: tile(fields, "dst")?,
                src: tile(fields, "src")?,
            },
            "matmul" => TileOp::MatMul {
                dst: tile(fields, "dst")?,
                a: tile(fields, "a")?,
                b: tile(fields, "b")?,
                transpose_b: fields.flag("transpose_b")?,
                accumulate: fields.flag("accumulate")?,
            },
            "transpose" => TileOp::Transpose { dst: tile(fields, "dst")?, src: tile(fields, "src")? },
            "mask" => TileOp::Mask {
                tile: tile(fields, "tile")?,
                rows: fields.optional("rows", |json| self.scalar(json))?,
                cols: fields.optional("cols", |json| self.scalar(json))?,
                value: self.value(fields, "value")?,
            },
            "mask_causal" => TileOp::MaskCausal {
                tile: tile(fields, "tile")?,
                cols: self.value(fields, "cols")?,
                value: self.value(fields, "value")?,
            },
            "top_k" => TileOp::TopK {
                values: tile(fields, "values")?,
                indices: tile(fields, "indices")?,
                src: tile(fields, "src")?,
                first: self.value(fields, "first")?,
            },
            _ => return Ok(None),
        }))
    }

    fn load(self, fields: &mut Fields<'_>) -> Decoded<TileOp> {
        Ok(TileOp::Load {
            dst: tile(fields, "dst")?,
            tensor: fields.required("tensor", view)?,
            at: self.tile_place(fields)?,
            rows: fields.optional("rows", |json| self.scalar(json))?,
            cols: fields.optional("cols", |json| self.scalar(json))?,
        })
    }

    fn tile_place(self, fields: &mut Fields<'_>) -> Decoded<Place> {
        Ok(Place {
            index: fields.required("index", |json| exprs(self, json))?,
            row_dim: fields.optional("row_dim", Json::number)?,
            col_dim: fields.optional("col_dim", Json::number)?,
        })
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
