//! The table of kernels.

use crate::memory::Segment;
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, ReduceOp, UnaryTileOp};

/// Floats by which the rows of a [`Grid`] are padded: the widest vector.
pub(crate) const ROW_ALIGN: usize = 16;

/// Most rows of a left operand that [`Kernels::matmul_nt`] packs at a time.
pub(crate) const PACK_ROWS: usize = 8;

/// Elements to which a packed row of a left operand is padded: two of the widest vectors.
pub(crate) const PACK_ALIGN: usize = 2 * ROW_ALIGN;

/// How far ahead of the row in use a matrix product asks for rows: what memory delivers in the time of two answers.
pub(crate) const AHEAD_BYTES: usize = 8192;

/// How far ahead rows that lie apart come next to the core. Before, they go to the second-level cache only: what brings lines there
/// fetches their neighbours along, for which the first level has no room.
const NEAR_BYTES: usize = 2048;

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// A matrix in a tile's own buffer.
///
/// **Contract:** `ptr` is valid for reads and writes of `rows · stride` initialised floats, `stride` is a multiple of
/// [`ROW_ALIGN`] and at least `cols`. What lies between `cols` and `stride` may be read and overwritten with anything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) ptr: *mut f32,
    pub(crate) stride: usize,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
}

impl Grid {
    /// First element of a row, which must exist.
    #[inline(always)]
    pub(crate) fn row(&self, r: usize) -> *mut f32 {
        self.ptr.wrapping_add(r * self.stride)
    }
}

/// The right operand of a matrix product, read where it lies.
///
/// **Contract:** every row of `runs` is valid for reads of `cols` elements of `dtype`, side by side; `ahead` is only prefetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    pub(crate) runs: &'a [Segment],
    pub(crate) ahead: &'a [Segment],
    pub(crate) cols: usize,
    pub(crate) dtype: DType,
}

/// The right operand of an element-wise operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rhs {
    /// Same rows and columns as the left operand.
    Grid(Grid),
    /// One column, as many rows.
    Column(Grid),
    /// One row, as many columns; not the destination.
    Row(Grid),
    /// One value.
    Scalar(f32),
}

/// The kernels of one instruction set.
///
/// # Safety
/// Each function needs its grids, rows and pointers to hold their contracts. A destination grid is the same as a source grid or
/// disjoint from it where element-wise, disjoint from all sources otherwise. Shapes agree as the operation's
/// semantics say; `dst` has the shape of the result.
pub(crate) struct Kernels {
    /// `dst[r][c] = op(src[r][c])`.
    pub(crate) unary: unsafe fn(op: UnaryTileOp, dst: Grid, src: Grid),
    /// `dst[r][c] = op(a[r][c], b…)`.
    pub(crate) binary: unsafe fn(op: BinaryTileOp, dst: Grid, a: Grid, b: Rhs),
    /// `dst[r][0] = op over src[r][..]`; `dst` may be `src`.
    pub(crate) row_reduce: unsafe fn(op: ReduceOp, dst: Grid, src: Grid),
    /// `dst[0][c] = op over src[..][c]`; `dst` may be `src`.
    pub(crate) col_reduce: unsafe fn(op: ReduceOp, dst: Grid, src: Grid),
    /// `c[m][n] (+)= Σₖ a[m][k] · b[n][k]` for `k < inner`. `scratch` holds `PACK_ROWS · inner` floats, `inner` rounded up to
    /// [`PACK_ALIGN`].
    pub(crate) matmul_nt:
        unsafe fn(c: Grid, a: Grid, b: Rows<'_>, inner: usize, accumulate: bool, scratch: *mut f32),
    /// `c[m][n] (+)= Σₖ a[m][k] · b[k][n]` for `k < inner`.
    pub(crate) matmul_nn: unsafe fn(c: Grid, a: Grid, b: Rows<'_>, inner: usize, accumulate: bool),
    /// `n` elements of `dtype` (`f32`, `f16` or `bf16`) at `src` into a row of a grid.
    pub(crate) widen: unsafe fn(dst: *mut f32, src: *const u8, dtype: DType, n: usize),
    /// `n` floats of a row of a grid into elements of `dtype` at `dst`, rounded to nearest, ties to even.
    pub(crate) narrow: unsafe fn(dst: *mut u8, src: *const f32, dtype: DType, n: usize),
    /// Rounds every element to a value of `dtype`.
    pub(crate) round: unsafe fn(grid: Grid, dtype: DType),
}

/// Walks rows in runs, then those of a second list.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    runs: core::slice::Iter<'a, Segment>,
    then: &'a [Segment],
    at: *const u8,
    left: usize,
    stride: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(runs: &'a [Segment], then: &'a [Segment]) -> Cursor<'a> {
        Cursor { runs: runs.iter(), then, at: core::ptr::null(), left: 0, stride: 0 }
    }

    /// The rows to be brought near and those to be asked for while `b` is walked from its first row, `bytes` of each row in use.
    pub(crate) fn ahead(b: &Rows<'a>, bytes: usize) -> [Cursor<'a>; 2] {
        let apart = b.runs.iter().any(|run| run.stride > bytes);
        [if apart { NEAR_BYTES } else { AHEAD_BYTES }, AHEAD_BYTES].map(|distance| {
            let mut cursor = Cursor::new(b.runs, b.ahead);
            cursor.skip_rows(distance.div_ceil(bytes.max(LINE)));
            cursor
        })
    }

    /// Passes over `n` rows, run by run.
    fn skip_rows(&mut self, mut n: usize) {
        while n > 0 {
            if self.left == 0 && !self.enter() {
                return;
            }
            let step = n.min(self.left);
            self.at = self.at.wrapping_add(step * self.stride);
            self.left -= step;
            n -= step;
        }
    }

    /// The next row.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<*const u8> {
        if self.left == 0 && !self.enter() {
            return None;
        }
        let row = self.at;
        self.left -= 1;
        // Past the last row of a run this leaves the array, but is never read.
        self.at = self.at.wrapping_add(self.stride);
        Some(row)
    }

    fn enter(&mut self) -> bool {
        loop {
            match self.runs.next() {
                Some(run) if run.rows > 0 => {
                    (self.at, self.left, self.stride) = (run.ptr, run.rows, run.stride);
                    return true;
                }
                Some(_) => {}
                None if self.then.is_empty() => return false,
                None => self.runs = core::mem::take(&mut self.then).iter(),
            }
        }
    }
}

/// Fills a table from the generic kernels; every function is compiled with the features of the instruction set.
macro_rules! kernel_table {
    ($token:expr $(, #[$feature:meta])?) => {
        pub(crate) static KERNELS: Kernels =
            Kernels { unary, binary, row_reduce, col_reduce, matmul_nt, matmul_nn, widen, narrow, round };

        kernel_table! { @functions $token $(, #[$feature])?;
            unary(op: UnaryTileOp, dst: Grid, src: Grid) = rows::unary;
            binary(op: BinaryTileOp, dst: Grid, a: Grid, b: Rhs) = rows::binary;
            row_reduce(op: ReduceOp, dst: Grid, src: Grid) = rows::row_reduce;
            col_reduce(op: ReduceOp, dst: Grid, src: Grid) = rows::col_reduce;
            matmul_nt(c: Grid, a: Grid, b: Rows<'_>, inner: usize, accumulate: bool, scratch: *mut f32) = gemm_nt::matmul;
            matmul_nn(c: Grid, a: Grid, b: Rows<'_>, inner: usize, accumulate: bool) = gemm_nn::matmul;
            widen(dst: *mut f32, src: *const u8, dtype: DType, n: usize) = rows::widen;
            narrow(dst: *mut u8, src: *const f32, dtype: DType, n: usize) = rows::narrow;
            round(grid: Grid, dtype: DType) = rows::round;
        }
    };
    (@functions $token:expr $(, #[$feature:meta])?; ) => {};
    (@functions $token:expr $(, #[$feature:meta])?;
        $name:ident($($arg:ident: $ty:ty),*) = $generic:path; $($rest:tt)*) => {
        $(#[$feature])?
        unsafe fn $name($($arg: $ty),*) {
            // SAFETY: the table is used only where the CPU has the features; the rest is the caller's contract.
            unsafe { $generic($token, $($arg),*) }
        }
        kernel_table! { @functions $token $(, #[$feature])?; $($rest)* }
    };
}
pub(crate) use kernel_table;
