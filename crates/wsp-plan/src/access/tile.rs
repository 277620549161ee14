//! Tile operations: what they touch, and how large their results may be.

use super::record::Reach;
use super::state::{Shape, State, Value};
use super::sym;
use super::walk::Walker;
use crate::fold;
use wsp_core::{AccessKind, LocalId};
use wsp_ir::{Expr, LocalTy, Place, ScalarTy, Span, TileOp};

impl Walker<'_> {
    /// One tile operation.
    pub(super) fn tile(&mut self, op: &TileOp, state: &mut State) {
        let one = || Expr::u32(1, Span::default());
        let (dst, shape) = match op {
            TileOp::Load { dst, tensor, at, rows, cols } => {
                let all = self.capacity(*dst);
                let shape = Shape {
                    rows: self.at_most(state, rows.as_ref(), all.rows),
                    cols: self.at_most(state, cols.as_ref(), all.cols),
                };
                self.record(state, *tensor, AccessKind::Read, &at.index, &Reach { dims: &reach(at, &shape) });
                (*dst, shape)
            }
            TileOp::Store { tensor, src, at } => {
                let shape = self.shape(state, *src);
                self.record(
                    state,
                    *tensor,
                    AccessKind::Write,
                    &at.index,
                    &Reach { dims: &reach(at, &shape) },
                );
                return;
            }
            TileOp::Fill { dst, rows, cols, .. } => {
                let all = self.capacity(*dst);
                let shape = Shape {
                    rows: self.at_most(state, rows.as_ref(), all.rows),
                    cols: self.at_most(state, cols.as_ref(), all.cols),
                };
                (*dst, shape)
            }
            TileOp::Unary { dst, src, .. } => (*dst, self.shape(state, *src)),
            TileOp::Binary { dst, a, .. } => (*dst, self.shape(state, *a)),
            TileOp::RowReduce { dst, src, .. } => (*dst, Shape { cols: one(), ..self.shape(state, *src) }),
            TileOp::ColReduce { dst, src, .. } => (*dst, Shape { rows: one(), ..self.shape(state, *src) }),
            TileOp::MatMul { dst, a, b, transpose_b, .. } => {
                let (a, b) = (self.shape(state, *a), self.shape(state, *b));
                (*dst, Shape { rows: a.rows, cols: if *transpose_b { b.rows } else { b.cols } })
            }
            TileOp::Transpose { dst, src } => {
                let src = self.shape(state, *src);
                (*dst, Shape { rows: src.cols, cols: src.rows })
            }
            TileOp::Iota { dst, cols, .. } => {
                let all = self.capacity(*dst);
                (*dst, Shape { cols: self.at_most(state, cols.as_ref(), all.cols), ..all })
            }
            TileOp::Extract { dst, .. } => (*dst, self.capacity(*dst)),
            TileOp::Mask { .. }
            | TileOp::MaskCausal { .. }
            | TileOp::MaskBand { .. }
            | TileOp::Insert { .. } => return,
            TileOp::TopK { values, indices, src, .. } => {
                let rows = self.shape(state, *src).rows;
                for tile in [*values, *indices] {
                    state.shapes[tile.index()] = Some(Shape { rows: rows.clone(), ..self.capacity(tile) });
                }
                return;
            }
        };
        state.shapes[dst.index()] = Some(shape);
    }

    /// At most this many valid rows and columns of a tile, here.
    pub(super) fn shape(&self, state: &State, tile: LocalId) -> Shape {
        state.shapes.get(tile.index()).cloned().flatten().unwrap_or_else(|| self.capacity(tile))
    }

    fn capacity(&self, tile: LocalId) -> Shape {
        match &self.func.local(tile).ty {
            LocalTy::Tile(ty) => Shape::capacity(ty),
            _ => Shape::empty(),
        }
    }

    /// The smaller of a limit and what was asked for.
    fn at_most(&self, state: &State, asked: Option<&Expr>, limit: Expr) -> Expr {
        let hi = asked.and_then(|e| match self.eval(e, state) {
            Value::Exact(e) => Some(e),
            Value::Within(interval) => interval.hi,
        });
        match hi {
            Some(hi) => {
                let least = sym::min(limit.clone(), fold::cast(hi, ScalarTy::U32));
                if sym::is_small(&least) { least } else { limit }
            }
            None => limit,
        }
    }
}

/// Counts along the dimensions that a tile follows.
fn reach(at: &Place, shape: &Shape) -> Vec<(u8, Expr)> {
    let rows = at.row_dim.map(|dim| (dim, shape.rows.clone()));
    let cols = at.col_dim.map(|dim| (dim, shape.cols.clone()));
    rows.into_iter().chain(cols).collect()
}
