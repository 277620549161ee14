//! Matrix products.

use super::Tiles;
use super::elementwise::fill;
use crate::memory::{Fault, Shape};
use crate::simd::{PACK_ALIGN, PACK_ROWS};
use wsp_ir::UnaryTileOp;

/// The operands of `dst (+)= a · b`; tiles are ids of the same [`Tiles`]. `dst` may be an operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatMul {
    /// Destination.
    pub(crate) dst: usize,
    /// Left operand, `m × k`.
    pub(crate) a: usize,
    /// Right operand, `k × n`, or `n × k` when `transpose_b`.
    pub(crate) b: usize,
    /// The right operand is stored transposed.
    pub(crate) transpose_b: bool,
    /// Adds to what is there.
    pub(crate) accumulate: bool,
}

impl Tiles {
    /// `TMATMUL`, `TMATMUL_ACC`. The inner dimension is the smaller of the operands' valid ones.
    ///
    /// # Errors
    /// `Capacity`, or `ShapeMismatch` when it accumulates into a valid part of another shape.
    pub(crate) fn matmul(&mut self, product: MatMul) -> Result<(), Fault> {
        let MatMul { dst, a, b, transpose_b, accumulate } = product;
        let (left, right) = (self.tiles[a].shape, self.tiles[b].shape);
        let (n, k) = if transpose_b { (right.rows, right.cols) } else { (right.cols, right.rows) };
        let inner = left.cols.min(k) as usize;
        let shape = Shape::new(left.rows, n);
        self.check_fit(dst, shape)?;
        if accumulate {
            self.check_shape(dst, shape)?;
            self.own(dst);
        }
        self.own(a);
        let (from, a_type) = (self.grid(a), self.tiles[a].elem);
        let aliased = dst == a || dst == b;
        let to = match (aliased, accumulate) {
            (false, _) => self.begin(dst, shape),
            (true, false) => self.spare_grid(dst, shape),
            (true, true) => {
                let (old, to) = (self.grid(dst), self.spare_grid(dst, shape));
                // SAFETY: the tile's buffer and the spare one, of the same shape.
                unsafe { (self.kernels.unary)(UnaryTileOp::Copy, to, old) };
                to
            }
        };
        if inner == 0 && !accumulate {
            // An operand without columns has no rows in memory to count.
            fill(to, 0, 0.0);
        }
        let scratch = self.scratch.reserve(PACK_ROWS * inner.next_multiple_of(PACK_ALIGN));
        self.follow(b);
        let rows = self.rows(b);
        // SAFETY: `to` is a buffer that no operand lies in; `inner` is at most the columns of `a` and the columns (rows) of
        // `b`; the rows of `b` are a tile's buffer or a view, which `locate` checked; the scratch space has the size asked for.
        unsafe {
            if inner == 0 {
                // Nothing to add.
            } else if transpose_b {
                (self.kernels.matmul_nt)(to, from, a_type, rows, inner, accumulate, scratch);
            } else {
                (self.kernels.matmul_nn)(to, from, rows, inner, accumulate);
            }
        }
        if aliased {
            self.swap_spare(dst, shape);
        }
        self.round(dst);
        Ok(())
    }
}
