//! Loops over single elements: the oracle of the vector kernels.

use crate::kernels::{Grid, Kernels, Rhs};
use crate::operand::{Rows, Walk};
use crate::scalar::{read_f32, round_to, write_f32};
use core::ops::{Add, Div};
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, ReduceOp, UnaryTileOp};

pub(crate) static KERNELS: Kernels =
    Kernels { unary, binary, select, row_reduce, col_reduce, matmul_nt, matmul_nn, widen, narrow, round };

/// What tiles compute with: `f32` or `f64`.
pub trait Real: Copy + PartialOrd + Add<Output = Self> + Div<Output = Self> + From<f32> {
    /// A number of elements.
    fn of_count(count: usize) -> Self;

    /// Whether it is NaN.
    fn is_no_number(self) -> bool;
}

impl Real for f32 {
    #[inline(always)]
    fn of_count(count: usize) -> f32 {
        count as f32
    }

    #[inline(always)]
    fn is_no_number(self) -> bool {
        self.is_nan()
    }
}

impl Real for f64 {
    #[inline(always)]
    fn of_count(count: usize) -> f64 {
        count as f64
    }

    #[inline(always)]
    fn is_no_number(self) -> bool {
        self.is_nan()
    }
}

/// The larger; NaN when either is.
#[inline(always)]
pub(super) fn maximum<T: Real>(a: T, b: T) -> T {
    if a.is_no_number() || a > b { a } else { b }
}

/// The smaller; NaN when either is.
#[inline(always)]
pub(super) fn minimum<T: Real>(a: T, b: T) -> T {
    if a.is_no_number() || a < b { a } else { b }
}

/// A reduction of values, one after the other.
pub fn reduce<T: Real>(op: ReduceOp, values: impl ExactSizeIterator<Item = T>) -> T {
    let (count, neutral) = (T::of_count(values.len()), T::from(op.neutral()));
    match op {
        ReduceOp::Max => values.fold(neutral, maximum),
        ReduceOp::Min => values.fold(neutral, minimum),
        ReduceOp::Sum => values.fold(neutral, |sum, x| sum + x),
        ReduceOp::Mean => values.fold(T::from(0.0), |sum, x| sum + x) / count,
        ReduceOp::ArgMax => first(values, |x, best| x > best).map_or(neutral, T::of_count),
        ReduceOp::ArgMin => first(values, |x, best| x < best).map_or(neutral, T::of_count),
    }
}

/// Where the first NaN is, or else the first value that no other is `better` than.
fn first<T: Real>(values: impl Iterator<Item = T>, better: impl Fn(T, T) -> bool) -> Option<usize> {
    let mut found: Option<(usize, T)> = None;
    for (i, x) in values.enumerate() {
        let is_first = |(_, best): (usize, T)| !best.is_no_number() && (x.is_no_number() || better(x, best));
        if found.is_none_or(is_first) {
            found = Some((i, x));
        }
    }
    found.map(|(i, _)| i)
}

/// # Safety
/// `r` and `c` are below the grid's rows and stride.
unsafe fn at(grid: Grid, r: usize, c: usize) -> *mut f32 {
    // SAFETY: the caller's promise and the grid's contract.
    unsafe { grid.row(r).add(c) }
}

pub(super) unsafe fn unary(op: UnaryTileOp, dst: Grid, src: Grid) {
    let map = op.plain();
    for r in 0..src.rows {
        for c in 0..src.cols {
            // SAFETY: both grids have these rows and columns.
            unsafe { *at(dst, r, c) = map(*at(src, r, c)) };
        }
    }
}

unsafe fn binary(op: BinaryTileOp, dst: Grid, a: Grid, b: Rhs) {
    let combine = op.plain();
    // SAFETY: the caller's contract; the element is within both.
    unsafe { with_right(dst, b, |r, c, right| combine(*at(a, r, c), right)) };
}

unsafe fn select(dst: Grid, mask: Grid, a: Grid, b: Rhs) {
    // SAFETY: the caller's contract; the element is within all.
    unsafe { with_right(dst, b, |r, c, right| if *at(mask, r, c) != 0.0 { *at(a, r, c) } else { right }) };
}

/// Every element of `dst` becomes what `f` makes of its row, its column and the right operand there.
///
/// # Safety
/// The right operand has the shape that [`Kernels`] asks for.
unsafe fn with_right(dst: Grid, right: Rhs, f: impl Fn(usize, usize, f32) -> f32) {
    for r in 0..dst.rows {
        // A column's value is read before its row may be overwritten.
        let splat = match right {
            // SAFETY: a column has a value per row.
            Rhs::Column(b) => unsafe { *at(b, r, 0) },
            Rhs::Scalar(b) => b,
            _ => 0.0,
        };
        for c in 0..dst.cols {
            // SAFETY: the caller's promise.
            unsafe {
                let right = match right {
                    Rhs::Grid(b) => *at(b, r, c),
                    Rhs::Row(b) => *at(b, 0, c),
                    _ => splat,
                };
                *at(dst, r, c) = f(r, c, right);
            }
        }
    }
}

pub(super) unsafe fn row_reduce(op: ReduceOp, dst: Grid, src: Grid) {
    for r in 0..src.rows {
        // SAFETY: within the grids: the destination has a column for every row.
        unsafe { *at(dst, r, 0) = reduce(op, (0..src.cols).map(|c| *at(src, r, c))) };
    }
}

pub(super) unsafe fn col_reduce(op: ReduceOp, dst: Grid, src: Grid) {
    for c in 0..src.cols {
        // SAFETY: within the grids: the destination has one row with the columns of the source.
        unsafe { *at(dst, 0, c) = reduce(op, (0..src.rows).map(|r| *at(src, r, c))) };
    }
}

unsafe fn matmul_nt(c: Grid, a: Grid, _: DType, b: Rows<'_>, inner: usize, accumulate: bool, _: *mut f32) {
    let walk = Walk::of(b.rows);
    for (position, &row) in b.starts.iter().enumerate().take(b.part.1).skip(b.part.0) {
        let n = walk.row(position);
        for m in 0..c.rows {
            let mut sum = 0.0;
            for k in 0..inner {
                // SAFETY: `inner` is at most the columns of both operands.
                sum += unsafe { *at(a, m, k) * read_f32(row.add(k * b.dtype.size()), b.dtype) };
            }
            // SAFETY: the destination has the result's shape.
            unsafe { *at(c, m, n) = if accumulate { *at(c, m, n) + sum } else { sum } };
        }
    }
}

unsafe fn matmul_nn(c: Grid, a: Grid, b: Rows<'_>, accumulate: bool) {
    let walk = Walk::of(b.rows);
    for m in 0..c.rows {
        for n in 0..c.cols {
            // SAFETY: the destination has the result's shape.
            let mut sum = if accumulate || b.part.0 > 0 { unsafe { *at(c, m, n) } } else { 0.0 };
            for (position, &row) in b.starts.iter().enumerate().take(b.part.1).skip(b.part.0) {
                let k = walk.row(position);
                // SAFETY: `a` has a column for every row of `b`; rows of `b` have the columns of the result.
                sum += unsafe { *at(a, m, k) * read_f32(row.add(n * b.dtype.size()), b.dtype) };
            }
            // SAFETY: the destination has the result's shape.
            unsafe { *at(c, m, n) = sum };
        }
    }
}

unsafe fn widen(dst: *mut f32, src: *const u8, dtype: DType, n: usize) {
    for i in 0..n {
        // SAFETY: both have `n` elements.
        unsafe { *dst.add(i) = read_f32(src.add(i * dtype.size()), dtype) };
    }
}

unsafe fn narrow(dst: *mut u8, src: *const f32, dtype: DType, n: usize) {
    for i in 0..n {
        // SAFETY: both have `n` elements.
        unsafe { write_f32(dst.add(i * dtype.size()), dtype, *src.add(i)) };
    }
}

unsafe fn round(grid: Grid, dtype: DType) {
    for r in 0..grid.rows {
        for c in 0..grid.cols {
            // SAFETY: within the grid.
            unsafe { *at(grid, r, c) = round_to(dtype, *at(grid, r, c)) };
        }
    }
}
