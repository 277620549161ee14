//! The table of kernels.

use crate::operand::Rows;
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, ReduceOp, UnaryTileOp};

/// Floats by which the rows of a [`Grid`] are padded: the widest vector.
pub const ROW_ALIGN: usize = 16;

/// Most rows of a left operand that [`Kernels::matmul_nt`] packs at a time.
pub const PACK_ROWS: usize = 8;

/// Elements to which a packed row of a left operand is padded: two of the widest vectors.
pub const PACK_ALIGN: usize = 2 * ROW_ALIGN;

/// A matrix in a tile's own buffer.
///
/// **Contract:** `ptr` is valid for reads and writes of `rows · stride` initialised floats, `stride` is a multiple of
/// [`ROW_ALIGN`] and at least `cols`. What lies between `cols` and `stride` may be read and overwritten with anything.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// First element of the first row.
    pub ptr: *mut f32,
    /// Floats from one row to the next.
    pub stride: usize,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
}

impl Grid {
    /// First element of a row, which must exist.
    #[inline(always)]
    pub fn row(&self, r: usize) -> *mut f32 {
        self.ptr.wrapping_add(r * self.stride)
    }
}

/// The right operand of an element-wise operation.
#[derive(Clone, Copy, Debug)]
pub enum Rhs {
    /// Same rows and columns as the left operand.
    Grid(Grid),
    /// One column, as many rows.
    Column(Grid),
    /// One row, as many columns; not the destination.
    Row(Grid),
    /// One value.
    Scalar(f32),
}

/// See [`Kernels::matmul_nt`].
pub type MatMulNt = unsafe fn(
    c: Grid,
    a: Grid,
    a_type: DType,
    b: Rows<'_>,
    inner: usize,
    accumulate: bool,
    scratch: *mut f32,
);

/// The kernels of one instruction set.
///
/// # Safety
/// Each function needs its grids, rows and pointers to hold their contracts. A destination grid is the same as a source grid or
/// disjoint from it where element-wise, disjoint from all sources otherwise. Shapes agree as the operation's
/// semantics say; `dst` has the shape of the result.
pub struct Kernels {
    /// `dst[r][c] = op(src[r][c])`.
    pub unary: unsafe fn(op: UnaryTileOp, dst: Grid, src: Grid),
    /// `dst[r][c] = op(a[r][c], b…)`.
    pub binary: unsafe fn(op: BinaryTileOp, dst: Grid, a: Grid, b: Rhs),
    /// `dst[r][c] = if mask[r][c] != 0 { a[r][c] } else { b… }`.
    pub select: unsafe fn(dst: Grid, mask: Grid, a: Grid, b: Rhs),
    /// `dst[r][0] = op over src[r][..]`; `dst` may be `src`.
    pub row_reduce: unsafe fn(op: ReduceOp, dst: Grid, src: Grid),
    /// `dst[0][c] = op over src[..][c]`; `dst` may be `src`.
    pub col_reduce: unsafe fn(op: ReduceOp, dst: Grid, src: Grid),
    /// `c[m][n] (+)= Σₖ a[m][k] · b[n][k]` for `k < inner`, where `a` holds values of `a_type`. `scratch` holds `PACK_ROWS · inner`
    /// floats, `inner` rounded up to [`PACK_ALIGN`].
    pub matmul_nt: MatMulNt,
    /// `c[m][n] (+)= Σₖ a[m][k] · b[k][n]` for the rows of `b`.
    pub matmul_nn: unsafe fn(c: Grid, a: Grid, b: Rows<'_>, accumulate: bool),
    /// `n` elements of `dtype` (`f32`, `f16` or `bf16`) at `src` into a row of a grid.
    pub widen: unsafe fn(dst: *mut f32, src: *const u8, dtype: DType, n: usize),
    /// `n` floats of a row of a grid into elements of `dtype` at `dst`, rounded to nearest, ties to even.
    pub narrow: unsafe fn(dst: *mut u8, src: *const f32, dtype: DType, n: usize),
    /// Rounds every element to a value of `dtype`.
    pub round: unsafe fn(grid: Grid, dtype: DType),
}

/// Fills a table from the generic kernels; every function is compiled with the features of the instruction set.
macro_rules! kernel_table {
    ($token:expr $(, #[$feature:meta])?) => {
        pub(crate) const TABLE: Kernels =
            Kernels { unary, binary, select, row_reduce, col_reduce, matmul_nt, matmul_nn, widen, narrow, round };

        pub(crate) static KERNELS: Kernels = TABLE;

        kernel_table! { @functions $token $(, #[$feature])?;
            unary(op: UnaryTileOp, dst: Grid, src: Grid) = rows::unary;
            binary(op: BinaryTileOp, dst: Grid, a: Grid, b: Rhs) = rows::binary;
            select(dst: Grid, mask: Grid, a: Grid, b: Rhs) = rows::select;
            row_reduce(op: ReduceOp, dst: Grid, src: Grid) = rows::row_reduce;
            col_reduce(op: ReduceOp, dst: Grid, src: Grid) = rows::col_reduce;
            matmul_nt(c: Grid, a: Grid, a_type: DType, b: Rows<'_>, inner: usize, accumulate: bool, scratch: *mut f32) = gemm_nt::matmul;
            matmul_nn(c: Grid, a: Grid, b: Rows<'_>, accumulate: bool) = gemm_nn::matmul;
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
