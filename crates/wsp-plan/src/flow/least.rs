//! The smallest depths with which every process of a pipeline ends, or with which none waits for slots in a way that makes it end later.

use crate::workload::Bindings;
use crate::workload::expand::ChannelCount;
use crate::workload::expand::probe::{End, probe, timed};
use std::cell::Cell;
use std::collections::BTreeSet;
use wsp_core::{ChannelId, WorkloadId};
use wsp_ir::workload::WorkloadModule;
use wsp_ordered::OrderedSet;

/// Depths by workload.
type Depths = Vec<Vec<u32>>;

/// Lists of channels: of each, one has to be deeper.
type Wanted = Vec<Vec<(WorkloadId, ChannelId)>>;

/// Most depths that are kept of all that were looked at.
const MOST_KEPT: usize = 1 << 22;

/// Depths of the smallest sum with which every process ends. None where no depths help, or the search takes too many looks.
///
/// In a deadlock each process waits for another, by a token or by a slot of a full channel. Processes that wait for each other in a circle, and one that
/// waits for a process that has ended, go on with other depths, nowhere smaller, only where one of their own full channels is deeper: the first of them
/// to go on would need another that has.
pub(super) fn depths(module: &WorkloadModule, bindings: &Bindings, looks: &Cell<u32>) -> Option<Depths> {
    search(none(bindings), looks, &mut |depths| full(module, &bindings.with_depths(depths), looks))
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
    let mut least = none(bindings);
    for count in counts() {
        let (of, at) = (workload.index(), count.channel.index());
        let most = all[of][at];
        let found = bound(most, &mut |depth| {
            all[of][at] = depth;
            run(&all).map(|found| found.end == Some(best))
        })?;
        (all[of][at], least[of][at]) = (most, found);
    }
    search(least, looks, &mut |depths| {
        let found = run(depths)?;
        Some(if found.end == Some(best) { Vec::new() } else { found.wanted })
    })
}

/// Of bindings with these depths whether all processes end, or which full channels keep them from it.
fn full(module: &WorkloadModule, bindings: &Bindings, looks: &Cell<u32>) -> Option<Wanted> {
    match probe(module, bindings, looks).end {
        End::Ended => Some(Vec::new()),
        End::Deadlock { full, .. } => Some(full),
        _ => None,
    }
}

fn none(bindings: &Bindings) -> Depths {
    bindings.depths().iter().map(|of| vec![0; of.len()]).collect()
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

/// Depths of the smallest sum, nowhere below `first`, of which `wanting` says that no channel has to be deeper; the first in the order of channels where several have it. It
/// tells lists of channels, of each of which one has to be, in all depths that are nowhere smaller. None where a list is empty, or they are not known.
fn search(
    first: Depths,
    looks: &Cell<u32>,
    wanting: &mut dyn FnMut(&Depths) -> Option<Wanted>,
) -> Option<Depths> {
    let size = first.iter().map(|of| of.len() + 1).sum::<usize>();
    let sum: u64 = first.iter().flatten().map(|depth| u64::from(*depth)).sum();
    let mut open = BTreeSet::from([(sum, first)]);
    let mut seen = OrderedSet::new();
    while let Some((sum, depths)) = open.pop_first() {
        let wanted = wanting(&depths)?;
        let Some(least) = wanted.iter().min_by_key(|list| list.len()) else { return Some(depths) };
        if seen.len() * size > MOST_KEPT {
            looks.set(0);
            return None;
        }
        // Where lists have one channel each, all of these are deeper.
        let steps: Wanted = match &**least {
            [_] => vec![wanted.iter().filter(|list| list.len() == 1).flatten().copied().collect()],
            all => all.iter().map(|channel| vec![*channel]).collect(),
        };
        for step in steps {
            let (mut deeper, mut more) = (depths.clone(), sum);
            for (workload, channel) in step {
                deeper[workload.index()][channel.index()] += 1;
                more += 1;
            }
            if seen.insert(deeper.clone()) {
                open.insert((more, deeper));
            }
        }
    }
    None
}
