//! The smallest depths with which every process of a pipeline ends.

use super::full;
use crate::workload::Bindings;
use std::cell::Cell;
use wsp_ir::workload::WorkloadModule;
use wsp_ordered::OrderedSet;

/// Depths of the smallest sum, by workload; the first in the order of channels where several have it. None where no depths help, or the search
/// takes too many looks.
///
/// In a deadlock each process waits for a token, or for a slot of a full channel. With other depths that are equal at all these full channels,
/// and nowhere smaller, the same state is reached and still nothing goes on. So from the depths of a deadlock the search goes to those with
/// one of its full channels deeper by 1, in the order of sums, and finds the smallest.
pub(super) fn depths(
    module: &WorkloadModule,
    bindings: &Bindings,
    looks: &Cell<u32>,
) -> Option<Vec<Vec<u32>>> {
    let none: Vec<Vec<u32>> = bindings.depths().iter().map(|of| vec![0; of.len()]).collect();
    let mut open = vec![(0u64, none)];
    let mut seen = OrderedSet::new();
    // Few are open at once: each deadlock opens as many as it has full channels.
    while let Some(first) = (0..open.len()).min_by_key(|at| &open[*at]) {
        let (sum, depths) = open.swap_remove(first);
        let full = full(module, &bindings.with_depths(&depths), looks)?;
        if full.is_empty() {
            return Some(depths);
        }
        for (workload, channel) in full {
            let mut deeper = depths.clone();
            deeper[workload.index()][channel.index()] += 1;
            if seen.insert(deeper.clone()) {
                open.push((sum + 1, deeper));
            }
        }
    }
    None
}
