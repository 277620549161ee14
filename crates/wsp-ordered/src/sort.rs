//! Sorting whose code is compiled once and not for each type of item.

use std::cmp::Ordering;
use std::mem;

/// Sorts a slice in place, stably, as `slice::sort` and its siblings do, by the standard library's sort of a list of places.
///
/// Of each call only the comparison and the exchange of two items are compiled for its type: some 300 bytes for 5,000. It takes
/// `8 n` bytes of memory, and a call through a pointer per comparison: for checks, reports and lists of a few items, not for what
/// runs per task. A slice that is sorted already takes one pass and no memory.
pub trait Arrange<T> {
    /// Sorts by the order of the items.
    fn arrange(&mut self)
    where
        T: Ord;

    /// Sorts by what `key` says of an item. It is called for each comparison.
    fn arrange_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);

    /// Sorts by `compare`, a total order.
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);
}

impl<T> Arrange<T> for [T] {
    fn arrange(&mut self)
    where
        T: Ord,
    {
        self.arrange_by(T::cmp);
    }

    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|a, b| key(a).cmp(&key(b)));
    }

    fn arrange_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let Some(mut from) = places(self.len(), &mut |a, b| compare(&self[a], &self[b])) else { return };
        // Each cycle of the permutation is walked once: an item goes to its place, and what lay there on to the next.
        for start in 0..from.len() {
            let mut to = start;
            loop {
                let next = mem::replace(&mut from[to], to);
                if next == start {
                    break;
                }
                self.swap(to, next);
                to = next;
            }
        }
    }
}

/// For each place of `count` items, the place of the item that belongs there; `None` where each lies right.
fn places(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Option<Vec<usize>> {
    if (1..count).all(|at| compare(at - 1, at).is_le()) {
        return None;
    }
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|a, b| compare(*a, *b));
    Some(places)
}
