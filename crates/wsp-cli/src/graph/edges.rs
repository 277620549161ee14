//! Puts edges in order of source and destination, in linear time.

/// The edges by source, then by destination; ids are below `tasks`.
pub(super) fn sorted(edges: Vec<(u32, u32)>, tasks: usize) -> Vec<(u32, u32)> {
    if edges.is_sorted() {
        return edges;
    }
    let by_destination =
        if edges.is_sorted_by_key(|e| e.1) { edges } else { counting_sort(&edges, tasks, |e| e.1) };
    counting_sort(&by_destination, tasks, |e| e.0)
}

/// A stable sort by a key below `keys`.
fn counting_sort(edges: &[(u32, u32)], keys: usize, key: impl Fn((u32, u32)) -> u32) -> Vec<(u32, u32)> {
    let mut next = vec![0usize; keys];
    for &edge in edges {
        next[key(edge) as usize] += 1;
    }
    let mut start = 0;
    for slot in &mut next {
        start += std::mem::replace(slot, start);
    }
    let mut sorted = vec![(0, 0); edges.len()];
    for &edge in edges {
        let slot = &mut next[key(edge) as usize];
        sorted[*slot] = edge;
        *slot += 1;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::tests::Random;

    #[test]
    fn any_order_becomes_the_order_of_a_comparison_sort() {
        let mut random = Random(7);
        for round in 0..200 {
            let mut edges: Vec<(u32, u32)> =
                (0..random.below(40)).map(|_| (random.below(9), random.below(9))).collect();
            if round % 3 == 0 {
                edges.sort_by_key(|e| e.1);
            }
            let mut expected = edges.clone();
            expected.sort_unstable();
            assert_eq!(sorted(edges, 9), expected);
        }
    }
}
