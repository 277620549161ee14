//! The largest elements of each row, kept from one call to the next.

use super::Tiles;
use crate::memory::{Fault, Shape};
use std::cmp::Ordering;

/// Indices from here on are not all exact in `f32`.
const INDEX_LIMIT: u64 = 1 << 24;

/// The operands of a selection; tiles are ids of the same [`Tiles`], all different.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TopK {
    /// The largest values so far.
    pub(crate) values: usize,
    /// Their indices.
    pub(crate) indices: usize,
    /// What is taken in.
    pub(crate) src: usize,
}

impl Tiles {
    /// `TTOPK`: every row of `values` and `indices` keeps the largest of what it holds and of the row of `src`, as many as
    /// fit; larger values first, equal ones by index. NaN counts as -∞.
    ///
    /// # Errors
    /// `ShapeMismatch` when the lists do not have the rows of `src` or are not of one shape, `Capacity`, and `IndexTooLarge`.
    pub(crate) fn top_k(&mut self, tiles: TopK, first: u32) -> Result<(), Fault> {
        let TopK { values, indices, src } = tiles;
        assert!(values != indices && values != src && indices != src, "compilation should have refused it");
        let (from, have) = (self.tiles[src].shape, self.tiles[values].shape);
        let capacity = self.tiles[values].capacity.cols.min(self.tiles[indices].capacity.cols);
        let held = if have.rows == 0 { 0 } else { have.cols };
        if held > 0 {
            self.check_shape(values, Shape::new(from.rows, held))?;
        }
        self.check_shape(indices, have)?;
        let shape = Shape::new(from.rows, held.saturating_add(from.cols).min(capacity));
        self.check_fit(values, shape)?;
        self.check_fit(indices, shape)?;
        let last = u64::from(first) + u64::from(from.cols);
        if last > INDEX_LIMIT {
            return Err(Fault::IndexTooLarge { index: last - 1 });
        }
        [values, indices, src].into_iter().for_each(|tile| self.own(tile));
        let from = self.grid(src);
        // The lists stay in their buffers: `begin` changes their valid part only.
        let (to, ids) = (self.begin(values, shape), self.begin(indices, shape));
        let mut candidates = std::mem::take(&mut self.candidates);
        for r in 0..shape.rows as usize {
            // SAFETY: rows of three buffers: the operands are different tiles. Each is as long as its grid has columns.
            let (src, to, ids) = unsafe {
                (
                    core::slice::from_raw_parts(from.row(r), from.cols),
                    core::slice::from_raw_parts_mut(to.row(r), to.cols),
                    core::slice::from_raw_parts_mut(ids.row(r), ids.cols),
                )
            };
            take_in(&mut candidates, (to, ids), held as usize, src, first.cast_signed());
        }
        self.candidates = candidates;
        Ok(())
    }
}

/// Merges a row into the sorted list of `held` entries that `values` and `indices` begin with.
fn take_in(
    candidates: &mut Vec<(f32, i32)>,
    (values, indices): (&mut [f32], &mut [f32]),
    held: usize,
    src: &[f32],
    first: i32,
) {
    candidates.clear();
    // Indices are whole numbers below 2^24, and below 0 where a list was filled with places for entries to come.
    candidates.extend(values[..held].iter().zip(&indices[..held]).map(|(&v, &i)| (v, i as i32)));
    // Entries of a full list may only be displaced by what comes before its last one.
    let bar = if held == values.len() { candidates.last().copied() } else { None };
    for (index, &value) in (first..).zip(src) {
        let entry = (if value.is_nan() { f32::NEG_INFINITY } else { value }, index);
        if bar.is_none_or(|bar| order(&entry, &bar) == Ordering::Less) {
            candidates.push(entry);
        }
    }
    if candidates.len() > values.len() && !values.is_empty() {
        candidates.select_nth_unstable_by(values.len() - 1, order);
    }
    candidates.truncate(values.len());
    candidates.sort_unstable_by(order);
    for ((&(value, index), v), i) in candidates.iter().zip(values).zip(indices) {
        *v = value;
        *i = index as f32;
    }
}

/// Larger values first, then lower indices. Both zeros are equal; there are no NaN.
fn order(a: &(f32, i32), b: &(f32, i32)) -> Ordering {
    b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal).then(a.1.cmp(&b.1))
}
