//! `C[M, N] (+)= A[M, K] · B[N, K]ᵀ`: dot products of the rows of `A` with rows of `B` read where they lie.
//!
//! `A` is packed once, in the lane order of `B`'s element type; each vector of `B` is then converted once for up to
//! [`PACK_ROWS`] rows of `A`. Several rows of `B` are taken together: that hides the latency of the multiply-add chains, of
//! which there is one per element of `C`, whatever the grouping; groups at the end repeat their last row.
#![allow(clippy::needless_range_loop, reason = "indices of register blocks run over several arrays at once")]

use crate::elem::{Bf16, Elem, F16, F32};
use crate::fp8::{E4m3, E5m2};
use crate::kernels::{Grid, PACK_ROWS};
use crate::operand::{Distance, LINE, Rows, Walk};
use crate::vector::Simd;
use wsp_core::DType;

/// See [`crate::Kernels::matmul_nt`].
///
/// # Safety
/// The contract of [`crate::Kernels`].
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the instruction set, and what an entry of the table takes")]
pub(super) unsafe fn matmul<S: Simd>(
    s: S,
    c: Grid,
    a: Grid,
    _: DType,
    b: Rows<'_>,
    inner: usize,
    accumulate: bool,
    scratch: *mut f32,
) {
    let product = Product { c, a, b, inner, accumulate, scratch };
    // SAFETY: the caller's contract, passed on.
    unsafe {
        match b.dtype {
            DType::F16 => product.run::<S, Widened<F16>>(s),
            DType::Bf16 => product.run::<S, Widened<Bf16>>(s),
            DType::F8E4m3 => product.run::<S, Widened<E4m3>>(s),
            DType::F8E5m2 => product.run::<S, Widened<E5m2>>(s),
            _ => product.run::<S, Widened<F32>>(s),
        }
    }
}

/// How two vectors' worth of elements are multiplied and added.
pub(super) trait Dot<S: Simd> {
    /// Elements of the left operand, packed: as many as of the right.
    type Left: Copy;
    /// `2 · LANES` elements of the right operand.
    type Right: Copy;
    /// Bytes per element of the right operand.
    const SIZE: usize;

    /// Writes a row's elements in the order of [`Dot::Left`] to `packed + 2 · LANES` floats, given in memory order.
    ///
    /// # Safety
    /// `packed` is valid for writes of `2 · LANES` floats.
    unsafe fn pack(s: S, a: [S::F; 2], packed: *mut f32);

    /// # Safety
    /// [`Dot::pack`] wrote to `packed`.
    unsafe fn left(s: S, packed: *const f32) -> Self::Left;

    /// # Safety
    /// `p` is valid for a read of `2 · LANES` elements.
    unsafe fn right(s: S, p: *const u8) -> Self::Right;

    /// The first `n` elements, then zeros.
    ///
    /// # Safety
    /// `p` is valid for a read of `n` elements, at most `2 · LANES`.
    #[inline(always)]
    unsafe fn right_part(s: S, p: *const u8, n: usize) -> Self::Right {
        // SAFETY: the caller's promise; two vectors of any element are at most 128 bytes, which a part has.
        unsafe {
            let part = s.part(p, n * Self::SIZE);
            Self::right(s, part.0.as_ptr())
        }
    }

    /// Adds the products of elements to lanes of `acc`.
    fn add(s: S, acc: S::F, a: Self::Left, b: Self::Right) -> S::F;
}

/// Elements are widened to `f32`: exact products, one rounding per addition.
pub(super) struct Widened<E>(core::marker::PhantomData<E>);

impl<S: Simd, E: Elem> Dot<S> for Widened<E> {
    type Left = [S::F; 2];
    type Right = [S::F; 2];
    const SIZE: usize = E::SIZE;

    #[inline(always)]
    unsafe fn pack(s: S, a: [S::F; 2], packed: *mut f32) {
        let [first, second] = E::order(s, a);
        // SAFETY: the caller's promise.
        unsafe {
            s.store(packed, first);
            s.store(packed.add(S::LANES), second);
        }
    }

    #[inline(always)]
    unsafe fn left(s: S, packed: *const f32) -> [S::F; 2] {
        // SAFETY: the caller's promise.
        unsafe { [s.load(packed), s.load(packed.add(S::LANES))] }
    }

    #[inline(always)]
    unsafe fn right(s: S, p: *const u8) -> [S::F; 2] {
        // SAFETY: the caller's promise.
        unsafe { E::load2(s, p) }
    }

    #[inline(always)]
    fn add(s: S, acc: S::F, a: [S::F; 2], b: [S::F; 2]) -> S::F {
        s.fma(a[1], b[1], s.fma(a[0], b[0], acc))
    }
}

/// The operands of a product.
pub(super) struct Product<'a> {
    pub(super) c: Grid,
    pub(super) a: Grid,
    pub(super) b: Rows<'a>,
    pub(super) inner: usize,
    pub(super) accumulate: bool,
    pub(super) scratch: *mut f32,
}

impl Product<'_> {
    /// Rows of `A` in blocks that fit the registers.
    ///
    /// # Safety
    /// The contract of [`crate::Kernels`]; `b.dtype` is what `D` takes.
    #[inline(always)]
    pub(super) unsafe fn run<S: Simd, D: Dot<S>>(&self, s: S) {
        let Product { c, a, b, inner, accumulate, scratch } = *self;
        const { assert!(matches!(S::REGISTERS, 8 | 16 | 32), "blocks of rows are for these") };
        let most = PACK_ROWS * S::REGISTERS / 32;
        let mut m = 0;
        while m < c.rows {
            let rows = (c.rows - m).min(most);
            let job = Job { c: c.row(m), ldc: c.stride, b, inner, accumulate, packed: scratch };
            // SAFETY: the caller's contract; the block lies within both grids, and the scratch space takes `PACK_ROWS` rows.
            unsafe {
                if b.part.0 == 0 || c.rows > most {
                    pack::<S, D>(s, a.row(m), a.stride, rows, inner, scratch);
                }
                match (S::REGISTERS, rows) {
                    (32, 1) => job.run::<S, D, 1, 8>(s),
                    (32, 2) => job.run::<S, D, 2, 8>(s),
                    (32, 3) => job.run::<S, D, 3, 4>(s),
                    (32, 4) => job.run::<S, D, 4, 4>(s),
                    (32, 5) => job.run::<S, D, 5, 2>(s),
                    (32, 6) => job.run::<S, D, 6, 2>(s),
                    (32, 7) => job.run::<S, D, 7, 2>(s),
                    (32, _) => job.run::<S, D, 8, 2>(s),
                    (8, 1) => job.run::<S, D, 1, 4>(s),
                    (8, _) => job.run::<S, D, 2, 2>(s),
                    (_, 1) => job.run::<S, D, 1, 8>(s),
                    (_, 2) => job.run::<S, D, 2, 4>(s),
                    (_, 3) => job.run::<S, D, 3, 2>(s),
                    (_, _) => job.run::<S, D, 4, 2>(s),
                }
            }
            m += rows;
        }
    }
}

/// Rows of `A` side by side: per pair of vectors, `rows` pairs in the order of `D`; zeros after the last element.
#[inline(always)]
unsafe fn pack<S: Simd, D: Dot<S>>(
    s: S,
    a: *const f32,
    lda: usize,
    rows: usize,
    inner: usize,
    packed: *mut f32,
) {
    let pair = 2 * S::LANES;
    let units = inner.div_ceil(pair);
    for u in 0..units {
        let left = inner - u * pair;
        for m in 0..rows {
            // SAFETY: `u * pair < inner`; the second vector is read only when some of it lies before `inner`, and then
            // all of it lies within the row's padding. The scratch space has `rows · units` pairs.
            unsafe {
                let from = a.add(m * lda + u * pair);
                let first = s.keep_first(s.load(from), left, 0.0);
                let second = if left > S::LANES {
                    s.keep_first(s.load(from.add(S::LANES)), left - S::LANES, 0.0)
                } else {
                    s.splat(0.0)
                };
                D::pack(s, [first, second], packed.add((u * rows + m) * pair));
            }
        }
    }
}

/// A block of rows of `A` against all rows of `B`.
struct Job<'a> {
    c: *mut f32,
    ldc: usize,
    b: Rows<'a>,
    inner: usize,
    accumulate: bool,
    packed: *const f32,
}

impl Job<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd, D: Dot<S>, const MR: usize, const NR: usize>(&self, s: S) {
        let Distance { near, far } = self.b.distance;
        let walk = Walk::of(self.b.rows);
        let starts = self.b.starts.as_ptr();
        let (mut n, count) = self.b.part;
        while n < count {
            let have = (count - n).min(NR);
            let mut group = Group { rows: [core::ptr::null(); NR], near: starts, far: starts };
            // SAFETY: the addresses of rows are followed by `far` and `MOST_TOGETHER` others, and `NR` is at most that.
            unsafe {
                for r in 0..NR {
                    group.rows[r] = *starts.add(n + r.min(have - 1));
                }
                group.near = starts.add(n + near);
                group.far = starts.add(n + far);
            }
            // SAFETY: every pointer of the group is a row of `B` with `inner` elements; `n + have` rows of `B` have been
            // visited, and `C` has a column for each.
            unsafe {
                let acc = self.dots::<S, D, MR, NR>(s, group);
                self.finish::<S, MR, NR>(s, acc, walk, n, have);
            }
            n += have;
        }
    }

    /// One accumulator per element of an `MR × NR` block of `C`.
    #[inline(always)]
    unsafe fn dots<S: Simd, D: Dot<S>, const MR: usize, const NR: usize>(
        &self,
        s: S,
        group: Group<NR>,
    ) -> [[S::F; NR]; MR] {
        let pair = 2 * S::LANES;
        let (units, tail) = (self.inner / pair, self.inner % pair);
        let mut acc = [[s.splat(0.0); NR]; MR];
        // SAFETY: whole pairs lie within `inner`, the tail is read by count; `packed` has a pair per row and unit.
        unsafe {
            for u in 0..units {
                let a = self.left::<S, D, MR>(s, u);
                let offset = u * pair * D::SIZE;
                for r in 0..NR {
                    for line in (0..pair * D::SIZE).step_by(LINE) {
                        group.ask(s, r, offset + line);
                    }
                    let b = D::right(s, group.rows[r].add(offset));
                    for m in 0..MR {
                        acc[m][r] = D::add(s, acc[m][r], a[m], b);
                    }
                }
            }
            if tail > 0 {
                let a = self.left::<S, D, MR>(s, units);
                let offset = units * pair * D::SIZE;
                for r in 0..NR {
                    group.ask(s, r, offset);
                    let b = D::right_part(s, group.rows[r].add(offset), tail);
                    for m in 0..MR {
                        acc[m][r] = D::add(s, acc[m][r], a[m], b);
                    }
                }
            }
        }
        acc
    }

    #[inline(always)]
    unsafe fn left<S: Simd, D: Dot<S>, const MR: usize>(&self, s: S, unit: usize) -> [D::Left; MR] {
        let pair = 2 * S::LANES;
        // A loop and no closure: a closure is compiled without the instruction set where it is not inlined.
        // SAFETY: `packed` has `MR` pairs per unit.
        let mut a = unsafe { [D::left(s, self.packed.add(unit * MR * pair)); MR] };
        for m in 1..MR {
            // SAFETY: as above.
            a[m] = unsafe { D::left(s, self.packed.add((unit * MR + m) * pair)) };
        }
        a
    }

    /// Adds the lanes up and writes the columns of `C` for `have` rows of `B`, of which `n` were visited before.
    #[inline(always)]
    unsafe fn finish<S: Simd, const MR: usize, const NR: usize>(
        &self,
        s: S,
        acc: [[S::F; NR]; MR],
        walk: Walk,
        n: usize,
        have: usize,
    ) {
        let mut sums = [0.0f32; 16];
        if MR * NR <= 8 {
            let mut flat = [s.splat(0.0); 8];
            for i in 0..MR * NR {
                flat[i] = acc[i / NR][i % NR];
            }
            sums[..8].copy_from_slice(&s.sums8(flat));
        } else {
            let mut flat = [s.splat(0.0); 16];
            for i in 0..MR * NR {
                flat[i] = acc[i / NR][i % NR];
            }
            sums = s.sums16(flat);
        }
        for r in 0..have {
            // SAFETY: `C` has `MR` rows here, with a column for each row of `B`.
            unsafe {
                let to = self.c.add(walk.row(n + r));
                for m in 0..MR {
                    let to = to.add(m * self.ldc);
                    *to = if self.accumulate { *to + sums[m * NR + r] } else { sums[m * NR + r] };
                }
            }
        }
    }
}

/// Rows of `B` that are taken together, and the lists of those to be asked for meanwhile.
#[derive(Clone, Copy)]
struct Group<const NR: usize> {
    rows: [*const u8; NR],
    near: *const *const u8,
    far: *const *const u8,
}

impl<const NR: usize> Group<NR> {
    /// Asks for the lines at `offset` of the rows ahead of row `r`.
    ///
    /// # Safety
    /// `near` and `far` have `NR` addresses.
    #[inline(always)]
    unsafe fn ask<S: Simd>(&self, s: S, r: usize, offset: usize) {
        // Narrow vectors take several steps per line.
        if !offset.is_multiple_of(LINE) {
            return;
        }
        // SAFETY: the caller's promise.
        let (near, far) = unsafe { (*self.near.add(r), *self.far.add(r)) };
        s.prefetch(near.wrapping_add(offset));
        s.prefetch_far(far.wrapping_add(offset));
    }
}
