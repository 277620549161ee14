//! The smallest depths with which every process of a pipeline ends, or with which none waits for slots in a way that makes it end later.

use crate::workload::Bindings;
use crate::workload::expand::ChannelCount;
use crate::workload::expand::probe::{End, probe, timed};
use std::cell::Cell;
use wsp_core::{ChannelId, WorkloadId};
use wsp_ir::workload::WorkloadModule;
use wsp_ordered::OrderedSet;

/// Depths by workload.
type Depths = Vec<Vec<u32>>;

/// Channels of which one has to be deeper.
type Wanted = Vec<(WorkloadId, ChannelId)>;

/// Depths of the smallest sum with which every process ends. None where no depths help, or the search takes too many looks.
///
/// In a deadlock each process waits for a token, or for a slot of a full channel. With other depths that are equal at all these full channels,
/// and nowhere smaller, the same state is reached and still nothing goes on.
pub(super) fn depths(module: &WorkloadModule, bindings: &Bindings, looks: &Cell<u32>) -> Option<Depths> {
    search(bindings, &mut |depths| full(module, &bindings.with_depths(depths), looks))
}

/// Depths of the smallest sum with which the last process ends as early as with channels that hold all tokens, where a process does one thing after the
/// other and tasks take what their kernels cost. None where a kernel has no cost, and as [`depths`].
///
/// With other depths that are equal at all channels for whose slots a sender has waited, and nowhere smaller, everything happens at the same time.
pub(super) fn throughput(
    module: &WorkloadModule,
    bindings: &Bindings,
    (workload, counts): (WorkloadId, &[ChannelCount]),
    looks: &Cell<u32>,
) -> Option<Depths> {
    let mut all: Depths = bindings.depths().to_vec();
    for count in counts.iter().filter(|count| count.workload == workload) {
        let most = u32::try_from(count.sent.max(1)).ok()?;
        all[workload.index()][count.channel.index()] = most;
    }
    let best = timed(module, &bindings.with_depths(&all), looks)?.end.filter(|end| *end > 0)?;
    search(bindings, &mut |depths| {
        let found = timed(module, &bindings.with_depths(depths), looks)?;
        match found.end == Some(best) {
            true => Some(Vec::new()),
            false if found.waited.is_empty() => None,
            false => Some(found.waited),
        }
    })
}

/// Of bindings with these depths whether all processes end, or which full channels keep them from it.
fn full(module: &WorkloadModule, bindings: &Bindings, looks: &Cell<u32>) -> Option<Wanted> {
    match probe(module, bindings, looks).end {
        End::Ended => Some(Vec::new()),
        End::Deadlock { full, .. } if !full.is_empty() => Some(full),
        _ => None,
    }
}

/// Depths of the smallest sum of which `wanting` says that no channel has to be deeper; the first in the order of channels where several have it. It
/// tells the channels of which one has to be, in all depths that are nowhere smaller. None where that is none of them, or not known.
fn search(bindings: &Bindings, wanting: &mut dyn FnMut(&Depths) -> Option<Wanted>) -> Option<Depths> {
    let none: Depths = bindings.depths().iter().map(|of| vec![0; of.len()]).collect();
    let mut open = vec![(0u64, none)];
    let mut seen = OrderedSet::new();
    // Few are open at once: each opens as many as it has channels that may have to be deeper.
    while let Some(first) = (0..open.len()).min_by_key(|at| &open[*at]) {
        let (sum, depths) = open.swap_remove(first);
        let wanted = wanting(&depths)?;
        if wanted.is_empty() {
            return Some(depths);
        }
        for (workload, channel) in wanted {
            let mut deeper = depths.clone();
            deeper[workload.index()][channel.index()] += 1;
            if seen.insert(deeper.clone()) {
                open.push((sum + 1, deeper));
            }
        }
    }
    None
}
