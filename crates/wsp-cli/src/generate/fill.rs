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
