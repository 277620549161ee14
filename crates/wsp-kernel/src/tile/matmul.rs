//! Matrix products.

use super::Tiles;
use super::elementwise::fill;
use super::tiles::Followed;
use crate::memory::{Fault, Shape};
use wsp_ir::UnaryTileOp;
use wsp_simd::{Grid, PACK_ALIGN, PACK_ROWS};

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

impl MatMul {
    /// Whether the destination is an operand.
    fn is_aliased(self) -> bool {
        self.dst == self.a || self.dst == self.b
    }
}

/// A product under way: nothing else is done with the tiles meanwhile.
pub(super) struct Begun {
    product: MatMul,
    shape: Shape,
    /// Where the result goes, in a buffer of the tiles that no operand lies in.
    to: Grid,
    from: Grid,
    inner: usize,
    followed: Followed,
    scratch: *mut f32,
}

impl Begun {
    /// Rows of the right operand.
    pub(super) fn rows(&self) -> usize {
        self.followed.rows
    }
}

impl Tiles {
    /// `TMATMUL`, `TMATMUL_ACC`. The inner dimension is the smaller of the operands' valid ones.
    ///
    /// # Errors
    /// `Capacity`, or `ShapeMismatch` when it accumulates into a valid part of another shape.
    pub(crate) fn matmul(&mut self, product: MatMul) -> Result<(), Fault> {
        let begun = self.begin_product(product)?;
        // SAFETY: it was begun above, and the only part is all of it.
        unsafe { self.multiply(&begun, (0, begun.rows())) };
        self.end_product(&begun);
        Ok(())
    }

    /// Finds the operands of a product and where its result goes.
    ///
    /// # Errors
    /// As [`Tiles::matmul`].
    pub(super) fn begin_product(&mut self, product: MatMul) -> Result<Begun, Fault> {
        let MatMul { dst, a, b, transpose_b, accumulate } = product;
        let (shape, inner) = self.multiplied(product)?;
        if accumulate {
            self.own(dst);
        }
        self.own(a);
        let from = self.grid(a);
        let to = match (product.is_aliased(), accumulate) {
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
        let followed = self.follow(b, if transpose_b { shape.cols as usize } else { inner });
        Ok(Begun { product, shape, to, from, inner, followed, scratch })
    }

    /// The shape of a product, and its inner extent.
    pub(super) fn multiplied(&self, product: MatMul) -> Result<(Shape, usize), Fault> {
        let MatMul { dst, a, b, transpose_b, accumulate } = product;
        let (left, right) = (self.tiles[a].shape, self.tiles[b].shape);
        let (n, k) = if transpose_b { (right.rows, right.cols) } else { (right.cols, right.rows) };
        let shape = Shape::new(left.rows, n);
        self.check_fit(dst, shape)?;
        if accumulate {
            self.check_shape(dst, shape)?;
        }
        Ok((shape, left.cols.min(k) as usize))
    }

    /// Multiplies with some of the rows of the right operand, in the order in which they are visited.
    ///
    /// # Safety
    /// The product was begun with these tiles, and nothing was done with them since but multiplying with the parts before this one.
    pub(super) unsafe fn multiply(&self, begun: &Begun, part: (usize, usize)) {
        let &Begun { product, shape, to, from, inner, followed, scratch } = begun;
        let rows = self.rows(followed, part);
        let (kernels, a_type) = (self.kernels, self.tiles[product.a].elem);
        // SAFETY: `to` is a buffer that no operand lies in; `inner` is at most the columns of `a` and the columns (rows) of
        // `b`; the rows of `b` are a tile's buffer or a view, which `locate` checked; the scratch space has the size asked for.
        // All of them are where they were when the product was begun.
        unsafe {
            if inner == 0 || shape.cols == 0 {
                // Nothing to add, or nothing to add it to.
            } else if product.transpose_b {
                (kernels.matmul_nt)(to, from, a_type, rows, inner, product.accumulate, scratch);
            } else {
                (kernels.matmul_nn)(to, from, rows, product.accumulate);
            }
        }
    }

    /// The result becomes the destination.
    pub(super) fn end_product(&mut self, begun: &Begun) {
        let &Begun { product, shape, .. } = begun;
        if product.is_aliased() {
            self.swap_spare(product.dst, shape);
        }
        self.round(product.dst);
    }
}
