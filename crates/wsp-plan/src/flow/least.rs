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

/// Sets of channels, of each of which one has to be deeper.
type Wanted = Vec<Vec<(WorkloadId, ChannelId)>>;

/// Most depths that are kept in a search, over all channels and trials.
const MOST_KEPT: usize = 1 << 21;

/// Depths of the smallest sum with which every process ends. None where no depths help, or the search takes too many looks.
pub(super) fn depths(module: &WorkloadModule, bindings: &Bindings, looks: &Cell<u32>) -> Option<Depths> {
    let none: Depths = bindings.depths().iter().map(|of| vec![0; of.len()]).collect();
    search(none, looks, &mut |depths| match probe(module, &bindings.with_depths(depths), looks).end {
        End::Ended => Some(Vec::new()),
        End::Deadlock { full, .. } => Some(full),
        _ => None,
    })
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
    let counts = || counts.iter().filter(|count| count.workload == workload);
    for count in counts() {
        all[workload.index()][count.channel.index()] = u32::try_from(count.sent.max(1)).ok()?;
    }
    let run = |depths: &Depths| timed(module, &bindings.with_depths(depths), looks);
    let best = run(&all)?.end.filter(|end| *end > 0)?;
    // What a channel needs where all others hold all tokens, it needs in any case.
    let mut least: Depths = all.iter().map(|of| vec![0; of.len()]).collect();
    for count in counts() {
        let of = (workload.index(), count.channel.index());
        let most = all[of.0][of.1];
        let mut fits = |depth: u32| {
            all[of.0][of.1] = depth;
            run(&all).map(|found| found.end == Some(best))
        };
        let found = bound(most, &mut fits)?;
        (all[of.0][of.1], least[of.0][of.1]) = (most, found);
    }
    search(least, looks, &mut |depths| {
        let found = run(depths)?;
        Some(if found.end == Some(best) { Vec::new() } else { vec![found.waited] })
    })
}

/// The least number up to `most` that fits, as all above it do, and `most` does.
fn bound(most: u32, fits: &mut dyn FnMut(u32) -> Option<bool>) -> Option<u32> {
    let (mut from, mut to) = (0, 0u32);
    while to < most && !fits(to)? {
        (from, to) = (to + 1, to.saturating_mul(2).saturating_add(1).min(most));
    }
    while from < to {
        let middle = from + (to - from) / 2;
        (from, to) = if fits(middle)? { (from, middle) } else { (middle + 1, to) };
    }
    Some(to)
}

/// Depths of the smallest sum, nowhere below `first`, of which `wanting` says that no channel has to be deeper; the first in the order of channels where
/// several have it. It tells the channels of which some have to be, in all depths that are nowhere smaller. None where that is none of them, or not
/// known.
fn search(
    first: Depths,
    looks: &Cell<u32>,
    wanting: &mut dyn FnMut(&Depths) -> Option<Wanted>,
) -> Option<Depths> {
    let size = first.iter().map(|of| of.len() + 1).sum::<usize>();
    let sum: u64 = first.iter().flatten().map(|depth| u64::from(*depth)).sum();
    let mut open = vec![(sum, first)];
    let mut seen = OrderedSet::new();
    // Few are open at once: each opens as many as it has channels that may have to be deeper.
    while let Some(next) = (0..open.len()).min_by_key(|at| &open[*at]) {
        let (sum, mut depths) = open.swap_remove(next);
        let wanted = wanting(&depths)?;
        let Some(fewest) = wanted.iter().min_by_key(|set| set.len()) else { return Some(depths) };
        if let [_] = fewest[..] {
            // All that leave no choice.
            let forced = wanted.iter().filter(|set| set.len() == 1);
            let mut more = 0;
            for (workload, channel) in forced.flatten() {
                depths[workload.index()][channel.index()] += 1;
                more += 1;
            }
            open.push((sum + more, depths));
            continue;
        }
        for (workload, channel) in fewest {
            let mut deeper = depths.clone();
            deeper[workload.index()][channel.index()] += 1;
            if seen.insert(deeper.clone()) {
                open.push((sum + 1, deeper));
            }
        }
        if seen.len() > MOST_KEPT / size {
            looks.set(0);
            return None;
        }
    }
    None
}
