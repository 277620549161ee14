//! Element-wise kernels, reductions and conversions, row by row.
//!
//! Rows of a [`Grid`] are padded to whole vectors, so that element-wise loops have no tails: what they write past the last
//! column is never read as a value.

use crate::fp8;
use crate::kernels::{Grid, Rhs};
use crate::math;
use crate::vector::Simd;
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, ReduceOp, UnaryTileOp};

/// A function of one vector.
trait Map {
    fn apply<S: Simd>(s: S, x: S::F) -> S::F;
}

/// A function of two vectors.
trait Zip {
    fn apply<S: Simd>(s: S, a: S::F, b: S::F) -> S::F;
}

/// An associative function and what it makes of nothing.
trait Fold: Zip {
    const NEUTRAL: f32;
    fn lanes<S: Simd>(s: S, a: S::F) -> f32;
}

macro_rules! maps {
    ($($name:ident($s:ident, $x:ident) = $body:expr;)*) => {$(
        struct $name;
        impl Map for $name {
            #[inline(always)]
            fn apply<S: Simd>($s: S, $x: S::F) -> S::F {
                $body
            }
        }
    )*};
}

macro_rules! zips {
    ($($name:ident($s:ident, $a:ident, $b:ident) = $body:expr;)*) => {$(
        struct $name;
        impl Zip for $name {
            #[inline(always)]
            fn apply<S: Simd>($s: S, $a: S::F, $b: S::F) -> S::F {
                $body
            }
        }
    )*};
}

macro_rules! folds {
    ($($name:ident($neutral:expr) = $lanes:ident;)*) => {$(
        impl Fold for $name {
            const NEUTRAL: f32 = $neutral;
            #[inline(always)]
            fn lanes<S: Simd>(s: S, a: S::F) -> f32 {
                s.$lanes(a)
            }
        }
    )*};
}

/// The element-wise functions of one tile, and the choice of one.
macro_rules! unary_kernels {
    (plain: $($plain:ident),*; $($op:ident($s:ident, $x:ident) = $body:expr;)*) => {
        maps! { $($op($s, $x) = $body;)* }

        /// See [`crate::Kernels::unary`].
        ///
        /// # Safety
        /// The contract of [`crate::Kernels`].
        #[inline(always)]
        pub(super) unsafe fn unary<S: Simd>(s: S, op: UnaryTileOp, dst: Grid, src: Grid) {
            // SAFETY: the caller's contract, passed on.
            unsafe {
                match op {
                    $(UnaryTileOp::$op => map::<S, $op>(s, dst, src),)*
                    $(UnaryTileOp::$plain)|* => crate::plain::unary(op, dst, src),
                }
            }
        }
    };
}

/// The element-wise functions of two operands, and the choice of one.
macro_rules! binary_kernels {
    ($($op:ident($s:ident, $a:ident, $b:ident) = $body:expr;)*) => {
        zips! { $($op($s, $a, $b) = $body;)* }

        /// See [`crate::Kernels::binary`].
        ///
        /// # Safety
        /// The contract of [`crate::Kernels`].
        #[inline(always)]
        pub(super) unsafe fn binary<S: Simd>(s: S, op: BinaryTileOp, dst: Grid, a: Grid, b: Rhs) {
            // SAFETY: the caller's contract, passed on.
            unsafe {
                match op {
                    $(BinaryTileOp::$op => zip::<S, $op>(s, dst, a, b),)*
                }
            }
        }
    };
}

unary_kernels! {
    // Logarithms are taken of a few row sums per task, sines of positions: not worth a polynomial.
    plain: Log, Log2, Sin, Cos;
    Copy(_s, x) = x;
    Neg(s, x) = s.neg(x);
    Abs(s, x) = s.abs(x);
    Exp(s, x) = math::exp(s, x);
    Exp2(s, x) = math::exp2(s, x);
    Sqrt(s, x) = s.sqrt(x);
    Rsqrt(s, x) = s.div(s.splat(1.0), s.sqrt(x));
    Recip(s, x) = s.div(s.splat(1.0), x);
    Relu(s, x) = s.maximum(x, s.splat(0.0));
    Tanh(s, x) = math::tanh(s, x);
    Round(s, x) = s.round(x);
    Floor(s, x) = math::floor(s, x);
    Ceil(s, x) = s.neg(math::floor(s, s.neg(x)));
    Sigmoid(s, x) = math::sigmoid(s, x);
    Silu(s, x) = math::silu(s, x);
    Gelu(s, x) = math::gelu(s, x);
    GeluTanh(s, x) = math::gelu_tanh(s, x);
    Erf(s, x) = math::erf(s, x);
}

binary_kernels! {
    Add(s, a, b) = s.add(a, b);
    Sub(s, a, b) = s.sub(a, b);
    Mul(s, a, b) = s.mul(a, b);
    Div(s, a, b) = s.div(a, b);
    Max(s, a, b) = s.maximum(a, b);
    Min(s, a, b) = s.minimum(a, b);
    Eq(s, a, b) = s.select_le(a, b, at_most(s, b, a), s.splat(0.0));
    Ne(s, a, b) = s.sub(s.splat(1.0), Eq::apply(s, a, b));
    Lt(s, a, b) = s.select_le(b, a, s.splat(0.0), at_most(s, a, b));
    Le(s, a, b) = at_most(s, a, b);
    Gt(s, a, b) = Lt::apply(s, b, a);
    Ge(s, a, b) = at_most(s, b, a);
}

/// 1 where `a <= b`, else 0.
#[inline(always)]
fn at_most<S: Simd>(s: S, a: S::F, b: S::F) -> S::F {
    s.select_le(a, b, s.splat(1.0), s.splat(0.0))
}

/// See [`crate::Kernels::select`].
///
/// # Safety
/// The contract of [`crate::Kernels`].
#[inline(always)]
pub(super) unsafe fn select<S: Simd>(s: S, dst: Grid, mask: Grid, a: Grid, b: Rhs) {
    let (right, stride, is_row) = match b {
        Rhs::Grid(b) => (b.ptr, b.stride, true),
        Rhs::Row(b) => (b.ptr, 0, true),
        Rhs::Column(b) => (b.ptr, b.stride, false),
        Rhs::Scalar(ref b) => (core::ptr::from_ref(b).cast_mut(), 0, false),
    };
    for r in 0..mask.rows {
        let right = right.wrapping_add(r * stride);
        // SAFETY: every operand has an element of the row, if it has a column.
        let splat = if mask.cols > 0 { s.splat(unsafe { *right }) } else { s.splat(0.0) };
        let (to, test, left) = (dst.row(r), mask.row(r), a.row(r));
        for c in (0..mask.cols).step_by(S::LANES) {
            // SAFETY: a vector that starts at a column ends within the row's padding.
            unsafe {
                let other = if is_row { s.load(right.wrapping_add(c)) } else { splat };
                let zero = s.abs(s.load(test.add(c)));
                // NaN is not at most 0.
                s.store(to.add(c), s.select_le(zero, s.splat(0.0), other, s.load(left.add(c))));
            }
        }
    }
}

maps! {
    RoundF16(s, x) = s.round_f16(x);
    RoundBf16(s, x) = s.round_bf16(x);
    RoundE4m3(s, x) = fp8::round_e4m3(s, x);
    RoundE5m2(s, x) = fp8::round_e5m2(s, x);
}

folds! {
    Add(0.0) = sum;
    Max(f32::NEG_INFINITY) = max_lane;
    Min(f32::INFINITY) = min_lane;
}

/// See [`crate::Kernels::row_reduce`].
///
/// # Safety
/// The contract of [`crate::Kernels`].
#[inline(always)]
pub(super) unsafe fn row_reduce<S: Simd>(s: S, op: ReduceOp, dst: Grid, src: Grid) {
    // SAFETY: the caller's contract, passed on.
    unsafe {
        match op {
            ReduceOp::Max => fold_rows::<S, Max>(s, dst, src),
            ReduceOp::Min => fold_rows::<S, Min>(s, dst, src),
            ReduceOp::Sum => fold_rows::<S, Add>(s, dst, src),
            ReduceOp::Mean => {
                fold_rows::<S, Add>(s, dst, src);
                zip::<S, Div>(s, dst, dst, Rhs::Scalar(src.cols as f32));
            }
            // Places are asked for of a few rows per task: not worth vectors of numbers.
            ReduceOp::ArgMax | ReduceOp::ArgMin => crate::plain::row_reduce(op, dst, src),
        }
    }
}

/// See [`crate::Kernels::col_reduce`].
///
/// # Safety
/// The contract of [`crate::Kernels`].
#[inline(always)]
pub(super) unsafe fn col_reduce<S: Simd>(s: S, op: ReduceOp, dst: Grid, src: Grid) {
    // SAFETY: the caller's contract, passed on.
    unsafe {
        match op {
            ReduceOp::Max => fold_cols::<S, Max>(s, dst, src),
            ReduceOp::Min => fold_cols::<S, Min>(s, dst, src),
            ReduceOp::Sum => fold_cols::<S, Add>(s, dst, src),
            ReduceOp::Mean => {
                fold_cols::<S, Add>(s, dst, src);
                zip::<S, Div>(s, dst, dst, Rhs::Scalar(src.rows as f32));
            }
            // Places are asked for of a few rows per task: not worth vectors of numbers.
            ReduceOp::ArgMax | ReduceOp::ArgMin => crate::plain::col_reduce(op, dst, src),
        }
    }
}

/// See [`crate::Kernels::round`].
///
/// # Safety
/// The contract of [`crate::Kernels`].
#[inline(always)]
pub(super) unsafe fn round<S: Simd>(s: S, grid: Grid, dtype: DType) {
    // SAFETY: the caller's contract, passed on.
    unsafe {
        match dtype {
            DType::F16 => map::<S, RoundF16>(s, grid, grid),
            DType::Bf16 => map::<S, RoundBf16>(s, grid, grid),
            DType::F8E4m3 => map::<S, RoundE4m3>(s, grid, grid),
            DType::F8E5m2 => map::<S, RoundE5m2>(s, grid, grid),
            _ => {}
        }
    }
}

/// See [`crate::Kernels::widen`].
///
/// # Safety
/// `src` is valid for reads of `n` elements, `dst` for writes of `n` floats rounded up to a row of a grid.
#[inline(always)]
pub(super) unsafe fn widen<S: Simd>(s: S, dst: *mut f32, src: *const u8, dtype: DType, n: usize) {
    let size = dtype.size();
    let whole = n - n % S::LANES;
    // SAFETY: the caller's contract; a part has room for a vector of any element.
    unsafe {
        for i in (0..whole).step_by(S::LANES) {
            s.store(dst.add(i), load(s, src.add(i * size), dtype));
        }
        if whole < n {
            let part = s.part(src.add(whole * size), (n - whole) * size);
            s.store(dst.add(whole), load(s, part.0.as_ptr(), dtype));
        }
    }
}

/// See [`crate::Kernels::narrow`].
///
/// # Safety
/// `dst` is valid for writes of `n` elements, `src` for reads of `n` floats rounded up to a row of a grid.
#[inline(always)]
pub(super) unsafe fn narrow<S: Simd>(s: S, dst: *mut u8, src: *const f32, dtype: DType, n: usize) {
    let size = dtype.size();
    let whole = n - n % S::LANES;
    // SAFETY: the caller's contract; the last vector goes through a buffer that has room for any element.
    unsafe {
        for i in (0..whole).step_by(S::LANES) {
            store(s, dst.add(i * size), s.load(src.add(i)), dtype);
        }
        if whole < n {
            let mut part = [0u8; 64];
            store(s, part.as_mut_ptr(), s.load(src.add(whole)), dtype);
            core::ptr::copy_nonoverlapping(part.as_ptr(), dst.add(whole * size), (n - whole) * size);
        }
    }
}

/// A vector of elements of `dtype`.
#[inline(always)]
unsafe fn load<S: Simd>(s: S, p: *const u8, dtype: DType) -> S::F {
    // SAFETY: the caller's promise: `p` is valid for a read of a vector of the type.
    unsafe {
        match dtype {
            DType::F16 => s.load_f16(p),
            DType::Bf16 => s.load_bf16(p),
            DType::F8E4m3 => fp8::load_e4m3(s, p),
            DType::F8E5m2 => fp8::load_e5m2(s, p),
            _ => s.load(p.cast()),
        }
    }
}

/// Writes a vector as elements of `dtype`.
#[inline(always)]
unsafe fn store<S: Simd>(s: S, p: *mut u8, v: S::F, dtype: DType) {
    // SAFETY: the caller's promise: `p` is valid for a write of a vector of the type.
    unsafe {
        match dtype {
            DType::F16 => s.store_f16(p, v),
            DType::Bf16 => s.store_bf16(p, v),
            DType::F8E4m3 => fp8::store_e4m3(s, p, v),
            DType::F8E5m2 => fp8::store_e5m2(s, p, v),
            _ => s.store(p.cast(), v),
        }
    }
}

#[inline(always)]
unsafe fn map<S: Simd, M: Map>(s: S, dst: Grid, src: Grid) {
    for r in 0..src.rows {
        let (to, from) = (dst.row(r), src.row(r));
        for c in (0..src.cols).step_by(S::LANES) {
            // SAFETY: a vector that starts at a column ends within the row's padding.
            unsafe { s.store(to.add(c), M::apply(s, s.load(from.add(c)))) };
        }
    }
}

#[inline(always)]
unsafe fn zip<S: Simd, Z: Zip>(s: S, dst: Grid, a: Grid, b: Rhs) {
    // SAFETY: the caller's contract; of a scalar, "row" r is the scalar for every r.
    unsafe {
        match b {
            Rhs::Grid(b) => zip_rows::<S, Z>(s, dst, a, b.ptr, b.stride),
            Rhs::Row(b) => zip_rows::<S, Z>(s, dst, a, b.ptr, 0),
            Rhs::Column(b) => zip_splat::<S, Z>(s, dst, a, b.ptr, b.stride),
            Rhs::Scalar(b) => zip_splat::<S, Z>(s, dst, a, &b, 0),
        }
    }
}

#[inline(always)]
unsafe fn zip_rows<S: Simd, Z: Zip>(s: S, dst: Grid, a: Grid, b: *const f32, stride: usize) {
    for r in 0..a.rows {
        let (to, left) = (dst.row(r), a.row(r));
        let right = b.wrapping_add(r * stride);
        for c in (0..a.cols).step_by(S::LANES) {
            // SAFETY: a vector that starts at a column ends within the row's padding.
            unsafe { s.store(to.add(c), Z::apply(s, s.load(left.add(c)), s.load(right.add(c)))) };
        }
    }
}

#[inline(always)]
unsafe fn zip_splat<S: Simd, Z: Zip>(s: S, dst: Grid, a: Grid, b: *const f32, stride: usize) {
    for r in 0..a.rows {
        let (to, left) = (dst.row(r), a.row(r));
        // SAFETY: the operand has a value per row.
        let right = s.splat(unsafe { *b.add(r * stride) });
        for c in (0..a.cols).step_by(S::LANES) {
            // SAFETY: a vector that starts at a column ends within the row's padding.
            unsafe { s.store(to.add(c), Z::apply(s, s.load(left.add(c)), right)) };
        }
    }
}

#[inline(always)]
unsafe fn fold_rows<S: Simd, F: Fold>(s: S, dst: Grid, src: Grid) {
    for r in 0..src.rows {
        let row = src.row(r);
        let mut sum = s.splat(F::NEUTRAL);
        for c in (0..src.cols).step_by(S::LANES) {
            // SAFETY: a vector that starts at a column ends within the row's padding.
            let x = unsafe { s.load(row.add(c)) };
            let left = src.cols - c;
            let x = if left < S::LANES { s.keep_first(x, left, F::NEUTRAL) } else { x };
            sum = F::apply(s, sum, x);
        }
        // SAFETY: the destination has a column for every row.
        unsafe { *dst.row(r) = F::lanes(s, sum) };
    }
}

#[inline(always)]
unsafe fn fold_cols<S: Simd, F: Fold>(s: S, dst: Grid, src: Grid) {
    for c in (0..src.cols).step_by(S::LANES) {
        let mut sum = s.splat(F::NEUTRAL);
        for r in 0..src.rows {
            // SAFETY: a vector that starts at a column ends within the row's padding.
            sum = F::apply(s, sum, unsafe { s.load(src.row(r).add(c)) });
        }
        // SAFETY: the destination has the columns of the source.
        unsafe { s.store(dst.ptr.add(c), sum) };
    }
}
