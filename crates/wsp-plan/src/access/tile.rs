//! Tile operations: what they touch, and how large their results may be.

use super::record::Reach;
use super::state::{Shape, State, Value};
use super::sym;
use super::walk::Walker;
use crate::fold;
use wsp_core::LocalId;
use wsp_diag::Span;
use wsp_ir::{Expr, LocalTy, Part, Place, ScalarTy, TileExtent, TileOp, TileWork};

impl Walker<'_> {
    /// One tile operation.
    pub(super) fn tile(&mut self, op: &TileOp, state: &mut State) {
        op.each(&mut |part| {
            let (Part::Place(at), TileWork::Each(tile)) = (part, op.work()) else { return };
            let shape = self.result(op, state, tile).unwrap_or_else(|| self.shape(state, tile));
            for (tensor, mode) in op.accesses() {
                self.record(state, tensor, mode, &at.index, &Reach { dims: &reach(at, &shape) });
            }
        });
        for tile in op.resizes() {
            state.shapes[tile.index()] = self.result(op, state, tile);
        }
    }

    /// At most this many valid rows and columns of a result in a tile; none where an operation gives none.
    fn result(&self, op: &TileOp, state: &State, dst: LocalId) -> Option<Shape> {
        let all = self.capacity(dst);
        let extent = |extent: TileExtent<'_>, all: Expr| match extent {
            TileExtent::Rows(tile) | TileExtent::Outer(tile, true) => self.shape(state, tile).rows,
            TileExtent::Cols(tile) | TileExtent::Outer(tile, false) => self.shape(state, tile).cols,
            TileExtent::One => Expr::u32(1, Span::default()),
            TileExtent::Capacity => all,
            TileExtent::AtMost(asked) | TileExtent::Exactly(asked) => self.at_most(state, asked, all),
        };
        let (rows, cols) = op.gives()?;
        Some(Shape { rows: extent(rows, all.rows), cols: extent(cols, all.cols) })
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
            Value::Within(interval) => interval.high,
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
