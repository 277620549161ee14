//! One matrix product of several runs, whose right operands lie side by side in memory.
//!
//! The heads of a token, say: one run after the other would read a part of every token's row and come back for the next part when
//! the row has left the caches. Taken in turns of a few rows, the runs read whole rows.

use super::Tiles;
use super::matmul::{Begun, MatMul};
use crate::memory::Fault;
use wsp_simd::{PACK_ROWS, TURN};

impl Tiles {
    /// The run is one of so many that take turns.
    pub(crate) fn take_turns(&mut self, runs: usize) {
        self.together = runs;
    }

    /// Whether the right operand of a product lies right behind that of another run, row by row, and the left one is short: then
    /// reading is what takes time.
    pub(crate) fn stands_beside(&self, other: &Tiles, product: MatMul) -> bool {
        let (view, before) = (&self.tiles[product.b].view, &other.tiles[product.b].view);
        let bytes = view.row_bytes();
        let is_next = |row: Option<(&*mut u8, &*mut u8)>| {
            row.is_some_and(|(own, other)| {
                (bytes..2 * bytes).contains(&own.addr().wrapping_sub(other.addr()))
            })
        };
        let rows = || view.starts().iter().zip(before.starts());
        let in_place = self.tiles[product.b].in_place && other.tiles[product.b].in_place;
        let short = |tiles: &Tiles| tiles.tiles[product.a].shape.rows as usize <= PACK_ROWS;
        in_place
            && view.starts().len() == before.starts().len()
            && (view.cols, view.dtype) == (before.cols, before.dtype)
            && is_next(rows().next())
            && is_next(rows().next_back())
            && short(self)
            && short(other)
    }
}

/// As [`Tiles::matmul`] of each run, in turns; `ended` is told of each how it went.
pub(crate) fn multiply_together(
    runs: &mut [&mut Tiles],
    product: MatMul,
    mut ended: impl FnMut(usize, Result<(), Fault>),
) {
    let mut begun: Vec<Option<Begun>> = Vec::with_capacity(runs.len());
    for (run, tiles) in runs.iter_mut().enumerate() {
        let result = tiles.begin_product(product);
        begun.push(result.map_err(|fault| ended(run, Err(fault))).ok());
    }
    let most = begun.iter().flatten().map(Begun::rows).max().unwrap_or(0);
    for first in (0..most).step_by(TURN) {
        for (tiles, begun) in runs.iter().zip(&begun) {
            let Some(begun) = begun.as_ref().filter(|begun| first < begun.rows()) else { continue };
            // SAFETY: it was begun above, and all of the parts before this one were taken in order.
            unsafe { tiles.multiply(begun, (first, begun.rows().min(first + TURN))) };
        }
    }
    for (run, (tiles, begun)) in runs.iter_mut().zip(&begun).enumerate() {
        if let Some(begun) = begun {
            tiles.end_product(begun);
            ended(run, Ok(()));
        }
    }
}
