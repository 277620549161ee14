//! Tile operations: WSP0324 to WSP0326.

use super::expr::Scope;
use super::{Checker, rule};
use crate::{Expr, LocalTy, Operand, Place, ScalarTy, Span, TileOp, TileTy};
use wsp_core::{LocalId, TensorId};

impl<'m> Checker<'m> {
    /// The type of a tile variable.
    pub(super) fn tile(&mut self, id: LocalId, span: Span) -> Option<&'m TileTy> {
        match self.local_ty(id, span)? {
            LocalTy::Tile(ty) => Some(ty),
            LocalTy::Scalar(_) | LocalTy::Array(_) | LocalTy::Descriptor(_) => {
                self.report(rule::TILE, span, "the variable is no tile");
                None
            }
        }
    }

    pub(super) fn tile_op(&mut self, op: &'m TileOp, span: Span) {
        match op {
            TileOp::Load { dst, tensor, at, rows, cols } => {
                self.place(*dst, *tensor, at, span);
                rows.iter().chain(cols).for_each(|e| self.count(e));
            }
            TileOp::Store { tensor, src, at } => self.place(*src, *tensor, at, span),
            TileOp::Fill { dst, value, rows, cols } => {
                self.tile(*dst, span);
                rows.iter().chain(cols).for_each(|e| self.count(e));
                self.tile_value(value);
            }
            TileOp::Binary { op: _, dst, a, b } => {
                self.tiles(&[*dst, *a], span);
                match b {
                    Operand::Tile(b) | Operand::Column(b) | Operand::Row(b) => self.tiles(&[*b], span),
                    Operand::Scalar(value) => self.tile_value(value),
                }
            }
            TileOp::Unary { op: _, dst, src }
            | TileOp::RowReduce { op: _, dst, src }
            | TileOp::ColReduce { op: _, dst, src }
            | TileOp::Transpose { dst, src } => self.tiles(&[*dst, *src], span),
            TileOp::MatMul { dst, a, b, transpose_b: _, accumulate: _ } => self.tiles(&[*dst, *a, *b], span),
            TileOp::Mask { tile, rows, cols, value } => {
                self.tiles(&[*tile], span);
                rows.iter().chain(cols).for_each(|e| self.count(e));
                self.tile_value(value);
            }
            TileOp::MaskCausal { tile, cols, value } => {
                self.tiles(&[*tile], span);
                self.typed(cols, ScalarTy::I32, rule::TILE_SCALAR, "the first column of row 0");
                self.tile_value(value);
            }
            TileOp::MaskBand { tile, begin, end, group, value } => {
                self.tiles(&[*tile], span);
                self.typed(begin, ScalarTy::I32, rule::TILE_SCALAR, "the first column of a band");
                self.typed(end, ScalarTy::I32, rule::TILE_SCALAR, "the end of a band");
                self.count(group);
                self.tile_value(value);
            }
            TileOp::Iota { dst, start, cols } => {
                self.tiles(&[*dst], span);
                self.typed(start, ScalarTy::I32, rule::TILE_SCALAR, "the number of column 0");
                cols.iter().for_each(|e| self.count(e));
            }
            TileOp::Insert { dst, src, row, col } | TileOp::Extract { dst, src, row, col } => {
                self.tiles(&[*dst, *src], span);
                self.require(dst != src, rule::TILE, span, || "a part of a tile goes to another tile".into());
                self.count(row);
                self.count(col);
            }
            TileOp::TopK { values, indices, src, first } => {
                self.tiles(&[*values, *indices, *src], span);
                let apart = values != indices && values != src && indices != src;
                self.require(apart, rule::TILE, span, || "a selection takes three different tiles".into());
                self.count(first);
            }
        }
    }

    fn tiles(&mut self, ids: &[LocalId], span: Span) {
        for id in ids {
            self.tile(*id, span);
        }
    }

    fn tile_value(&mut self, value: &'m Expr) {
        self.typed(value, ScalarTy::F32, rule::TILE_SCALAR, "a value that meets a tile");
    }

    fn count(&mut self, value: &'m Expr) {
        self.typed(value, ScalarTy::U32, rule::TILE_SCALAR, "a row or column count");
    }

    fn place(&mut self, tile: LocalId, tensor: TensorId, at: &'m Place, span: Span) {
        at.index.iter().for_each(|e| self.expr(e, Scope::Body));
        let tile = self.tile(tile, span);
        let Some(tensor) = self.float_tensor(tensor, span) else { return };
        self.indices(tensor, &at.index, span);
        let (rank, name) = (tensor.rank(), &tensor.name);
        for dim in [at.row_dim, at.col_dim].into_iter().flatten() {
            self.require(usize::from(dim) < rank, rule::PLACE, span, || {
                format!("dimension {dim} of `{name}` does not exist; there are {rank}")
            });
        }
        let differ = at.row_dim.is_none() || at.row_dim != at.col_dim;
        self.require(differ, rule::PLACE, span, || "rows and columns follow the same dimension".into());
        let Some(tile) = tile else { return };
        for (dim, extent, what) in [(at.row_dim, &tile.rows, "row"), (at.col_dim, &tile.cols, "column")] {
            let extent = extent.as_const_int().unwrap_or(1);
            self.require(dim.is_some() || extent == 1, rule::PLACE, span, || {
                format!("the tile has {extent} {what}s and no dimension of `{name}` to follow")
            });
        }
    }
}
