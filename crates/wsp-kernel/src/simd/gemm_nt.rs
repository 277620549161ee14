//! `C[M, N] (+)= A[M, K] · B[N, K]ᵀ`: dot products of the rows of `A` with rows of `B` read where they lie.
//!
//! `A` is packed once, in the lane order of `B`'s element type; each vector of `B` is then converted once for up to
//! [`PACK_ROWS`] rows of `A`. Several rows of `B` are taken together: that hides the latency of the multiply-add chains, of
//! which there is one per element of `C`, whatever the grouping; groups at the end repeat their last row.
#![allow(clippy::needless_range_loop, reason = "indices of register blocks run over several arrays at once")]

use super::elem::{Bf16, Elem, F16, F32};
use super::fp8::{E4m3, E5m2};
use super::kernels::{Cursor, Grid, LINE, PACK_ROWS, Rows};
use super::vector::Simd;
use wsp_core::DType;

/// See [`super::Kernels::matmul_nt`].
///
/// # Safety
/// The contract of [`super::Kernels`].
#[inline(always)]
pub(super) unsafe fn matmul<S: Simd>(
    s: S,
    c: Grid,
    a: Grid,
    b: Rows<'_>,
    inner: usize,
    accumulate: bool,
    scratch: *mut f32,
) {
    // SAFETY: the caller's contract, passed on.
    unsafe {
        match b.dtype {
            DType::F16 => blocks::<S, F16>(s, c, a, b, inner, accumulate, scratch),
            DType::Bf16 => blocks::<S, Bf16>(s, c, a, b, inner, accumulate, scratch),
            DType::F8E4m3 => blocks::<S, E4m3>(s, c, a, b, inner, accumulate, scratch),
            DType::F8E5m2 => blocks::<S, E5m2>(s, c, a, b, inner, accumulate, scratch),
            _ => blocks::<S, F32>(s, c, a, b, inner, accumulate, scratch),
        }
    }
}

/// Rows of `A` in blocks that fit the registers.
#[inline(always)]
unsafe fn blocks<S: Simd, E: Elem>(
    s: S,
    c: Grid,
    a: Grid,
    b: Rows<'_>,
    inner: usize,
    accumulate: bool,
    scratch: *mut f32,
) {
    let most = if S::REGISTERS == 32 { PACK_ROWS } else { PACK_ROWS / 2 };
    let mut m = 0;
    while m < c.rows {
        let rows = (c.rows - m).min(most);
        let job = Job { c: c.row(m), ldc: c.stride, b, inner, accumulate, packed: scratch };
        // SAFETY: the caller's contract; the block lies within both grids, and the scratch space takes `PACK_ROWS` rows.
        unsafe {
            pack::<S, E>(s, a.row(m), a.stride, rows, inner, scratch);
            match (S::REGISTERS, rows) {
                (32, 1) => job.run::<S, E, 1, 8>(s),
                (32, 2) => job.run::<S, E, 2, 8>(s),
                (32, 3) => job.run::<S, E, 3, 4>(s),
                (32, 4) => job.run::<S, E, 4, 4>(s),
                (32, 5) => job.run::<S, E, 5, 2>(s),
                (32, 6) => job.run::<S, E, 6, 2>(s),
                (32, 7) => job.run::<S, E, 7, 2>(s),
                (32, _) => job.run::<S, E, 8, 2>(s),
                (_, 1) => job.run::<S, E, 1, 8>(s),
                (_, 2) => job.run::<S, E, 2, 4>(s),
                (_, 3) => job.run::<S, E, 3, 2>(s),
                (_, _) => job.run::<S, E, 4, 2>(s),
            }
        }
        m += rows;
    }
}

/// Rows of `A` side by side: per pair of vectors, `rows` pairs in the lane order of `E`; zeros after the last element.
#[inline(always)]
unsafe fn pack<S: Simd, E: Elem>(
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
                let [first, second] = E::order(s, [first, second]);
                let to = packed.add((u * rows + m) * pair);
                s.store(to, first);
                s.store(to.add(S::LANES), second);
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
    unsafe fn run<S: Simd, E: Elem, const MR: usize, const NR: usize>(&self, s: S) {
        let mut rows = Cursor::new(self.b.runs, &[]);
        let [mut near, mut far] = Cursor::ahead(&self.b, self.inner * E::SIZE);
        let mut n = 0;
        while let Some(first) = rows.next() {
            let mut group = [first; NR];
            let mut next = [[first; 2]; NR];
            let mut have = 1;
            while have < NR {
                let Some(row) = rows.next() else { break };
                group[have] = row;
                have += 1;
            }
            for r in have..NR {
                group[r] = group[have - 1];
            }
            for row in &mut next {
                *row = [near.next().unwrap_or(first), far.next().unwrap_or(first)];
            }
            // SAFETY: every pointer of the group is a row of `B` with `inner` elements.
            let acc = unsafe { self.dots::<S, E, MR, NR>(s, group, next) };
            // SAFETY: `n + have` rows of `B` have been seen, and `C` has a column for each.
            unsafe { self.finish::<S, MR, NR>(s, acc, n, have) };
            n += have;
        }
    }

    /// One accumulator per element of an `MR × NR` block of `C`.
    #[inline(always)]
    unsafe fn dots<S: Simd, E: Elem, const MR: usize, const NR: usize>(
        &self,
        s: S,
        rows: [*const u8; NR],
        next: [[*const u8; 2]; NR],
    ) -> [[S::F; NR]; MR] {
        let pair = 2 * S::LANES;
        let (units, tail) = (self.inner / pair, self.inner % pair);
        let mut acc = [[s.splat(0.0); NR]; MR];
        // SAFETY: whole pairs lie within `inner`, the tail is read by count; `packed` has a pair per row and unit.
        unsafe {
            for u in 0..units {
                let a = self.left::<S, MR>(s, u);
                let offset = u * pair * E::SIZE;
                for r in 0..NR {
                    for line in (0..pair * E::SIZE).step_by(LINE) {
                        s.prefetch(next[r][0].wrapping_add(offset + line));
                        s.prefetch_far(next[r][1].wrapping_add(offset + line));
                    }
                    let b = E::load2(s, rows[r].add(offset));
                    for m in 0..MR {
                        acc[m][r] = s.fma(a[m][1], b[1], s.fma(a[m][0], b[0], acc[m][r]));
                    }
                }
            }
            if tail > 0 {
                let a = self.left::<S, MR>(s, units);
                let offset = units * pair * E::SIZE;
                for r in 0..NR {
                    s.prefetch(next[r][0].wrapping_add(offset));
                    s.prefetch_far(next[r][1].wrapping_add(offset));
                    let b = E::load2_part(s, rows[r].add(offset), tail);
                    for m in 0..MR {
                        acc[m][r] = s.fma(a[m][1], b[1], s.fma(a[m][0], b[0], acc[m][r]));
                    }
                }
            }
        }
        acc
    }

    #[inline(always)]
    unsafe fn left<S: Simd, const MR: usize>(&self, s: S, unit: usize) -> [[S::F; 2]; MR] {
        let pair = 2 * S::LANES;
        let mut a = [[s.splat(0.0); 2]; MR];
        for m in 0..MR {
            // SAFETY: `packed` has `MR` pairs per unit.
            unsafe {
                let from = self.packed.add((unit * MR + m) * pair);
                a[m] = [s.load(from), s.load(from.add(S::LANES))];
            }
        }
        a
    }

    /// Adds the lanes up and writes the first `have` columns of the block at column `n`.
    #[inline(always)]
    unsafe fn finish<S: Simd, const MR: usize, const NR: usize>(
        &self,
        s: S,
        acc: [[S::F; NR]; MR],
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
        for m in 0..MR {
            // SAFETY: `C` has `MR` rows here, with columns `n..n + have`.
            unsafe {
                let to = self.c.add(m * self.ldc + n);
                if self.accumulate {
                    for r in 0..have {
                        *to.add(r) += sums[m * NR + r];
                    }
                } else if have == NR {
                    core::ptr::copy_nonoverlapping(sums.as_ptr().add(m * NR), to, NR);
                } else {
                    core::ptr::copy_nonoverlapping(sums.as_ptr().add(m * NR), to, have);
                }
            }
        }
    }
}
