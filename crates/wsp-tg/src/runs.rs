//! What is kept of the bytes of a tensor, run by run.

use std::ops::Range;
use wsp_ordered::OrderedMap;

/// Bytes in runs that lie apart from each other. Of all bytes of a run the same is kept.
#[derive(Clone, Debug)]
pub struct Runs<T>(OrderedMap<u64, (u64, Vec<T>)>);

impl<T> Default for Runs<T> {
    fn default() -> Runs<T> {
        Runs(OrderedMap::new())
    }
}

impl<T: Clone> Runs<T> {
    /// Cuts the runs around both ends of some bytes in two, and adds empty runs where the bytes are in none. How many steps that took.
    pub fn cut(&mut self, bytes: Range<u64>) -> usize {
        let steps = self.split(bytes.start) + self.split(bytes.end);
        let (mut gaps, mut next) = (Vec::new(), bytes.start);
        for (&low, &(high, _)) in self.0.range(bytes.clone()) {
            if next < low {
                gaps.push(next..low);
            }
            next = high;
        }
        if next < bytes.end {
            gaps.push(next..bytes.end);
        }
        for gap in gaps {
            self.0.insert(gap.start, (gap.end, Vec::new()));
        }
        steps
    }

    /// Cuts the run around a byte in two; what that took.
    fn split(&mut self, at: u64) -> usize {
        let Some((&low, (high, _))) = self.0.range(..at).next_back() else { return 1 };
        if *high <= at {
            return 1;
        }
        let high = *high;
        let Some((end, kept)) = self.0.get_mut(&low) else { return 1 };
        *end = at;
        let kept = kept.clone();
        let steps = kept.len();
        self.0.insert(at, (high, kept));
        steps
    }

    /// What is kept of the runs that begin among some bytes.
    pub fn within(&self, bytes: Range<u64>) -> impl Iterator<Item = (Range<u64>, &[T])> {
        self.0.range(bytes).map(|(&low, (high, kept))| (low..*high, kept.as_slice()))
    }

    /// The same, to be changed.
    pub fn within_mut(&mut self, bytes: Range<u64>) -> impl Iterator<Item = &mut Vec<T>> {
        self.0.range_mut(bytes).map(|(_, (_, kept))| kept)
    }

    /// All that is kept, some of it several times.
    pub fn kept(&self) -> impl Iterator<Item = &T> {
        self.0.values().flat_map(|(_, kept)| kept)
    }

    /// Keeps only some of it.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.0.retain(|_, (_, kept)| {
            kept.retain(&keep);
            !kept.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(runs: &Runs<u32>) -> Vec<(u64, u64, Vec<u32>)> {
        runs.within(0..100).map(|(bytes, kept)| (bytes.start, bytes.end, kept.to_vec())).collect()
    }

    #[test]
    fn bytes_are_cut_where_what_is_kept_of_them_changes() {
        let mut runs = Runs::default();
        for (at, bytes) in [(1, 10..20), (2, 15..30), (3, 5..40)] {
            runs.cut(bytes.clone());
            runs.within_mut(bytes).for_each(|kept| kept.push(at));
        }
        let cut = [
            (5, 10, vec![3]),
            (10, 15, vec![1, 3]),
            (15, 20, vec![1, 2, 3]),
            (20, 30, vec![2, 3]),
            (30, 40, vec![3]),
        ];
        assert_eq!(all(&runs), cut);
        runs.retain(|at| *at != 3);
        assert_eq!(all(&runs), [(10, 15, vec![1]), (15, 20, vec![1, 2]), (20, 30, vec![2])]);
    }
}
