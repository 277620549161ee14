//! Who comes after whom, for many questions at once.

use wsp_ordered::Arrange;

/// Edges of a graph without cycles, whose nodes are numbered so that every edge leads to a larger number.
pub(super) struct Ordered<'a> {
    /// Where the edges of each node begin, and one past the last.
    pub(super) first: &'a [u32],
    /// Where each edge leads.
    pub(super) to: &'a [u32],
}

/// A question: which of `targets` are one of `starts` or come after one.
pub(super) struct Lane {
    pub(super) starts: Vec<u32>,
    pub(super) targets: Vec<u32>,
}

impl Ordered<'_> {
    /// Per lane, and per target in it, whether it is reached. 64 lanes are answered in one walk over the nodes between their
    /// first start and their last target.
    pub(super) fn reached(&self, lanes: &[Lane]) -> Vec<Vec<bool>> {
        let mut answers: Vec<Vec<bool>> = lanes.iter().map(|lane| vec![false; lane.targets.len()]).collect();
        let mut order: Vec<usize> = (0..lanes.len())
            .filter(|&at| !lanes[at].starts.is_empty() && !lanes[at].targets.is_empty())
            .collect();
        order.arrange_by_key(|&at| (lanes[at].starts.iter().min().copied(), at));
        let mut bits = vec![0u64; self.first.len()];
        for batch in order.chunks(64) {
            let starts = || batch.iter().flat_map(|&at| lanes[at].starts.iter().copied());
            let from = starts().min().unwrap_or(0);
            let to = batch.iter().flat_map(|&at| lanes[at].targets.iter().copied()).max().unwrap_or(0);
            if from > to {
                continue;
            }
            for (lane, &at) in batch.iter().enumerate() {
                for &start in lanes[at].starts.iter().filter(|&&start| start <= to) {
                    bits[start as usize] |= 1 << lane;
                }
            }
            self.walk(&mut bits, from as usize, to as usize);
            for (lane, &at) in batch.iter().enumerate() {
                for (answer, &target) in answers[at].iter_mut().zip(&lanes[at].targets) {
                    *answer = bits[target as usize] & (1 << lane) != 0;
                }
            }
            bits[from as usize..=to as usize].fill(0);
        }
        answers
    }

    fn walk(&self, bits: &mut [u64], from: usize, to: usize) {
        for node in from..=to {
            let word = bits[node];
            if word == 0 {
                continue;
            }
            for &next in &self.to[self.first[node] as usize..self.first[node + 1] as usize] {
                if next as usize <= to {
                    bits[next as usize] |= word;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn answers_are_those_of_a_search(edges in proptest::collection::vec((0u32..150, 0u32..150), 0..300)) {
            let edges: Vec<(u32, u32)> =
                edges.into_iter().filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect();
            let mut sorted = edges.clone();
            sorted.sort_unstable();
            let first: Vec<u32> = (0..=150).map(|n| sorted.partition_point(|e| e.0 < n) as u32).collect();
            let to: Vec<u32> = sorted.iter().map(|e| e.1).collect();
            let lanes: Vec<Lane> =
                (0..150).map(|start| Lane { starts: vec![start], targets: (0..150).collect() }).collect();
            let answers = Ordered { first: &first, to: &to }.reached(&lanes);
            for (start, answer) in answers.iter().enumerate() {
                let mut seen = [false; 150];
                let mut open = vec![start];
                while let Some(node) = open.pop() {
                    if !std::mem::replace(&mut seen[node], true) {
                        open.extend(edges.iter().filter(|e| e.0 as usize == node).map(|e| e.1 as usize));
                    }
                }
                prop_assert_eq!(&answer[..], &seen[..]);
            }
        }
    }
}
