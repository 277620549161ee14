//! `C[M, N] (+)= A[M, K] · B[K, N]`, rows of `B` read where they lie.
//!
//! A block of `C` stays in registers while [`DEPTH`] rows of `B` go by; every vector of `B` is converted once for all rows of
//! the block. Each element of `C` is one chain of multiply-adds in the order in which the rows of `B` are visited, whatever the
//! blocks.
#![allow(clippy::needless_range_loop, reason = "indices of register blocks run over several arrays at once")]

use crate::elem::{Bf16, Elem, F16, F32};
use crate::fp8::{E4m3, E5m2};
use crate::kernels::Grid;
use crate::operand::{Distance, LINE, Rows, Walk};
use crate::vector::Simd;
use wsp_core::DType;

/// Rows of `B` per pass over the columns of `C`: enough that keeping `C` costs little, few enough to stay in L1.
const DEPTH: usize = 32;

/// See [`crate::Kernels::matmul_nn`].
///
/// # Safety
/// The contract of [`crate::Kernels`].
#[inline(always)]
pub(super) unsafe fn matmul<S: Simd>(s: S, c: Grid, a: Grid, b: Rows<'_>, accumulate: bool) {
    // SAFETY: the caller's contract, passed on.
    unsafe {
        if !accumulate && b.part.0 == 0 {
            clear(s, c);
        }
        match b.dtype {
            DType::F16 => panels::<S, F16>(s, c, a, b),
            DType::Bf16 => panels::<S, Bf16>(s, c, a, b),
            DType::F8E4m3 => panels::<S, E4m3>(s, c, a, b),
            DType::F8E5m2 => panels::<S, E5m2>(s, c, a, b),
            _ => panels::<S, F32>(s, c, a, b),
        }
    }
}

#[inline(always)]
unsafe fn clear<S: Simd>(s: S, c: Grid) {
    for r in 0..c.rows {
        for col in (0..c.cols).step_by(S::LANES) {
            // SAFETY: a vector that starts at a column ends within the row's padding.
            unsafe { s.store(c.row(r).add(col), s.splat(0.0)) };
        }
    }
}

/// `DEPTH` rows of `B` at a time.
#[inline(always)]
unsafe fn panels<S: Simd, E: Elem>(s: S, c: Grid, a: Grid, b: Rows<'_>) {
    const { assert!(matches!(S::REGISTERS, 8 | 16 | 32), "blocks of rows are for these") };
    let most = S::REGISTERS / 4;
    let (walk, Distance { near, far }) = (Walk::of(b.rows), b.distance);
    let (mut first, end) = b.part;
    while first < end {
        let starts = b.starts.as_ptr().wrapping_add(first);
        let depth = DEPTH.min(end - first);
        let mut panel = Panel {
            starts,
            near: starts.wrapping_add(near),
            far: starts.wrapping_add(far),
            columns: [0; DEPTH],
            depth,
        };
        for i in 0..depth {
            panel.columns[i] = walk.row(first + i);
        }
        let mut m = 0;
        while m < c.rows {
            let count = (c.rows - m).min(most);
            let job = Job { c: c.row(m), ldc: c.stride, cols: c.cols, a: a.row(m), lda: a.stride };
            // SAFETY: the caller's contract; the block lies within the grids, the panel's rows are rows of `B`.
            unsafe {
                match (S::REGISTERS, count) {
                    (32, 1) => job.run::<S, E, 1, 4>(s, &panel),
                    (32, 2) => job.run::<S, E, 2, 4>(s, &panel),
                    (32, 3) => job.run::<S, E, 3, 2>(s, &panel),
                    (32, 4) => job.run::<S, E, 4, 2>(s, &panel),
                    (32, 5) => job.run::<S, E, 5, 2>(s, &panel),
                    (32, 6) => job.run::<S, E, 6, 2>(s, &panel),
                    (32, 7) => job.run::<S, E, 7, 1>(s, &panel),
                    (32, _) => job.run::<S, E, 8, 1>(s, &panel),
                    (8, 1) => job.run::<S, E, 1, 4>(s, &panel),
                    (8, _) => job.run::<S, E, 2, 2>(s, &panel),
                    (_, 1) => job.run::<S, E, 1, 4>(s, &panel),
                    (_, 2) => job.run::<S, E, 2, 2>(s, &panel),
                    (_, 3) => job.run::<S, E, 3, 1>(s, &panel),
                    (_, _) => job.run::<S, E, 4, 1>(s, &panel),
                }
            }
            m += count;
        }
        first += depth;
    }
}

/// Lists of `depth` rows of `B` and of those that lie ahead.
struct Panel {
    starts: *const *const u8,
    near: *const *const u8,
    far: *const *const u8,
    /// The columns of `A` for the rows.
    columns: [usize; DEPTH],
    depth: usize,
}

/// A block of rows of `C`.
struct Job {
    c: *mut f32,
    ldc: usize,
    cols: usize,
    a: *const f32,
    lda: usize,
}

impl Job {
    /// Columns `NU` pairs of vectors at a time, then one pair, then what is left.
    #[inline(always)]
    unsafe fn run<S: Simd, E: Elem, const MR: usize, const NU: usize>(&self, s: S, panel: &Panel) {
        let pair = 2 * S::LANES;
        let mut n = 0;
        // SAFETY: whole pairs lie within the columns; the last block is read by count.
        unsafe {
            while n + NU * pair <= self.cols {
                self.block::<S, E, Whole, MR, NU>(s, panel, n, pair);
                n += NU * pair;
            }
            while NU > 1 && n + pair <= self.cols {
                self.block::<S, E, Whole, MR, 1>(s, panel, n, pair);
                n += pair;
            }
            if n < self.cols {
                self.block::<S, E, Partial, MR, 1>(s, panel, n, self.cols - n);
            }
        }
    }

    /// A block of `MR` rows and `NU` pairs of vectors, of which `left` columns per pair exist.
    #[inline(always)]
    unsafe fn block<S: Simd, E: Elem, W: Width, const MR: usize, const NU: usize>(
        &self,
        s: S,
        panel: &Panel,
        n: usize,
        left: usize,
    ) {
        let pair = 2 * S::LANES;
        let mut acc = [[[s.splat(0.0); 2]; NU]; MR];
        // SAFETY: rows of `C` are padded to whole vectors, and a second vector is touched only when it has a column;
        // rows of `B` are read within their columns.
        unsafe {
            for m in 0..MR {
                for u in 0..NU {
                    let from = self.c.add(m * self.ldc + n + u * pair);
                    let second = if left > S::LANES { s.load(from.add(S::LANES)) } else { s.splat(0.0) };
                    acc[m][u] = E::order(s, [s.load(from), second]);
                }
            }
            let offset = n * E::SIZE;
            for i in 0..panel.depth {
                let row = (*panel.starts.add(i)).add(offset);
                let (near, far) = (*panel.near.add(i), *panel.far.add(i));
                // Narrow vectors take several blocks per line.
                if offset.is_multiple_of(LINE) {
                    for line in (offset..offset + NU * pair * E::SIZE).step_by(LINE) {
                        s.prefetch(near.wrapping_add(line));
                        s.prefetch_far(far.wrapping_add(line));
                    }
                }
                let from = self.a.add(panel.columns[i]);
                let mut a = [s.splat(0.0); MR];
                for m in 0..MR {
                    a[m] = s.splat(*from.add(m * self.lda));
                }
                for u in 0..NU {
                    let b = W::load::<S, E>(s, row.add(u * pair * E::SIZE), left);
                    for m in 0..MR {
                        acc[m][u] = [s.fma(a[m], b[0], acc[m][u][0]), s.fma(a[m], b[1], acc[m][u][1])];
                    }
                }
            }
            for m in 0..MR {
                for u in 0..NU {
                    let to = self.c.add(m * self.ldc + n + u * pair);
                    let [first, second] = E::unorder(s, acc[m][u]);
                    s.store(to, first);
                    if left > S::LANES {
                        s.store(to.add(S::LANES), second);
                    }
                }
            }
        }
    }
}

/// Whether a pair of vectors is all there.
trait Width {
    /// # Safety
    /// `p` is valid for a read of `left` elements, two vectors when they are whole.
    unsafe fn load<S: Simd, E: Elem>(s: S, p: *const u8, left: usize) -> [S::F; 2];
}

struct Whole;
struct Partial;

impl Width for Whole {
    #[inline(always)]
    unsafe fn load<S: Simd, E: Elem>(s: S, p: *const u8, _: usize) -> [S::F; 2] {
        // SAFETY: the caller's promise.
        unsafe { E::load2(s, p) }
    }
}

impl Width for Partial {
    #[inline(always)]
    unsafe fn load<S: Simd, E: Elem>(s: S, p: *const u8, left: usize) -> [S::F; 2] {
        // SAFETY: the caller's promise.
        unsafe { E::load2_part(s, p, left) }
    }
}
