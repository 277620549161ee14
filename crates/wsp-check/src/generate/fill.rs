//! Fills rows of elements by formula.

use super::hash::unit;
use crate::numbers::Elem;

/// Elements converted at a time: a block that stays in the first-level cache.
const BLOCK: usize = 256;

/// Elements `first..` of a stream, scaled.
pub(super) fn random<E: Elem>(key: u64, first: u64, scale: f64, out: &mut [E::Bits]) {
    let mut block = [0f32; BLOCK];
    let mut index = first;
    for chunk in out.chunks_mut(BLOCK) {
        for (i, x) in block[..chunk.len()].iter_mut().enumerate() {
            *x = unit(key, index.wrapping_add(i as u64));
        }
        if scale != 1.0 {
            for x in &mut block[..chunk.len()] {
                *x = (f64::from(*x) * scale) as f32;
            }
        }
        for (out, &x) in chunk.iter_mut().zip(&block) {
            *out = E::encode(x);
        }
        index = index.wrapping_add(chunk.len() as u64);
    }
}

/// One row of so many is larger or smaller than the others. No number of heads that models have is a multiple of it, so that
/// every head has such rows.
const APART: u64 = 7;

/// Rows of different size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Uneven {
    /// One row of [`APART`] is so many times as large as the others.
    pub(super) factor: f64,
    /// Rows from this one on are alike.
    pub(super) end: u64,
    /// Numbers of the others are in `[-size, size)`.
    pub(super) size: f64,
}

impl Uneven {
    /// Rows whose logits need a softmax that is relative to the largest of all: the exponentials of others are too large for f32.
    pub(super) const STEEP: Uneven = Uneven { factor: 2048.0, end: u64::MAX, size: 1.0 };
    /// Rows whose mean square, about 10⁻⁶, is as small as what norms add to it.
    pub(super) const FLAT: Uneven = Uneven { factor: 1.0 / 512.0, end: u64::MAX, size: 1.0 };

    /// What a row is multiplied by.
    pub(super) fn of_row(self, row: u64) -> f64 {
        let is_odd = row < self.end && row % APART == APART / 2;
        self.size * if is_odd { self.factor } else { 1.0 }
    }
}

/// Rows `first..` of a stream with `cols` elements each.
pub(super) fn uneven<E: Elem>(key: u64, first: u64, cols: usize, sizes: Uneven, out: &mut [E::Bits]) {
    for (row, out) in (first..).zip(out.chunks_mut(cols.max(1))) {
        random::<E>(key, row.wrapping_mul(cols as u64), sizes.of_row(row), out);
    }
}

/// The same number everywhere.
pub(super) fn constant<E: Elem>(value: f64, out: &mut [E::Bits]) {
    out.fill(E::encode(value as f32));
}

/// Runs `work` over pieces of `out`, each `piece` elements long and numbered from 0, on `threads` threads.
pub(super) fn parallel<T: Send>(
    out: &mut [T],
    piece: usize,
    threads: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    if out.is_empty() || piece == 0 {
        return;
    }
    let pieces = out.len() / piece;
    let share = pieces.div_ceil(threads.max(1)).max(1);
    let work = &work;
    std::thread::scope(|scope| {
        for (t, part) in out.chunks_mut(share * piece).enumerate() {
            let mut run = move || {
                for (i, piece) in part.chunks_mut(piece).enumerate() {
                    work(t * share + i, piece);
                }
            };
            if pieces <= share {
                run();
            } else {
                scope.spawn(run);
            }
        }
    });
}
