//! On which cores the kernels of a graph may run.

use super::config::CoreCounts;
use super::cores::{Allowed, CoreRange, Granted, per_block};
use super::graph::{Affinity, Graph, KernelInfo, Partition};
use wsp_core::policy::Hints;
use wsp_core::tg::AffinityType;

/// Where each kernel of a launch may run.
#[derive(Debug)]
pub(crate) enum Placement {
    /// All of them anywhere.
    Anywhere(Allowed),
    /// Each where its entry says.
    Planned(Vec<Allowed>),
}

impl Placement {
    /// Plans a launch. `partition` is for kernels that name none themselves.
    ///
    /// Partitions bound everything. Within them each affinity narrows the ranges of its kernels, in the order in which they
    /// were written; one that would leave a kernel without cores for a block changes nothing for it. Requests bound how many
    /// blocks run at once. Kernels of gangs need their cores at once, so affinities and requests do not concern them.
    pub(crate) fn new(
        graph: &Graph,
        counts: &CoreCounts,
        hints: Hints,
        partition: Option<Partition>,
    ) -> Placement {
        let hinted =
            |kernel: &KernelInfo| kernel.partition.or(partition).is_some() || kernel.request.is_some();
        let plain = graph.affinities().is_empty() && !graph.kernels().iter().any(hinted);
        if hints == Hints::Ignore || plain {
            return Placement::Anywhere(Allowed::anywhere(counts));
        }
        let bounded = |kernel: &KernelInfo| in_partition(counts, kernel.partition.or(partition));
        let mut allowed: Vec<Allowed> = graph.kernels().iter().map(bounded).collect();
        for (nth, affinity) in (0..).zip(graph.affinities()) {
            narrow(&mut allowed, graph, affinity, nth, counts);
        }
        for (at, (kernel, allowed)) in (0..).zip(graph.kernels().iter().zip(&mut allowed)) {
            if graph.is_in_gang(at) {
                continue;
            }
            let most = kernel.request.map_or(u32::MAX, |request| at_once(kernel, request, counts));
            allowed.at_once = allowed.at_once.min(most);
            if allowed.pinned {
                // A later affinity may have left fewer cores.
                allowed.at_once = allowed.at_once.min(allowed.fit(kernel.core_type, counts));
            }
        }
        Placement::Planned(allowed)
    }

    /// Where kernel `kernel` may run.
    pub(crate) fn of(&self, kernel: u32) -> Allowed {
        match self {
            Placement::Anywhere(allowed) => *allowed,
            Placement::Planned(allowed) => allowed[kernel as usize],
        }
    }

    /// Whether all kernels of a type may run on the same cores.
    pub(crate) fn is_uniform(&self) -> bool {
        matches!(self, Placement::Anywhere(_))
    }
}

/// Most cores that a kernel may hold at once.
pub(crate) fn granted(kernel: &KernelInfo, allowed: &Allowed, counts: &CoreCounts) -> Granted {
    let unit = per_block(kernel.core_type, counts);
    let blocks = kernel.blocks.min(allowed.at_once).min(allowed.fit(kernel.core_type, counts));
    Granted { aic: unit.aic * blocks, aiv: unit.aiv * blocks, aicpu: unit.aicpu * blocks }
}

/// Blocks at once that a request stands for. Of the core types that a block needs, those of which none is requested do not
/// count; at least one block can always run.
fn at_once(kernel: &KernelInfo, request: Granted, counts: &CoreCounts) -> u32 {
    let unit = per_block(kernel.core_type, counts);
    let fit = |asked: u32, each: u32| match (asked, each) {
        (0, _) | (_, 0) => u32::MAX,
        (asked, each) => asked / each,
    };
    fit(request.aic, unit.aic).min(fit(request.aiv, unit.aiv)).min(fit(request.aicpu, unit.aicpu)).max(1)
}

fn in_partition(counts: &CoreCounts, partition: Option<Partition>) -> Allowed {
    let all = Allowed::anywhere(counts);
    match partition {
        None => all,
        Some(Partition { aic, aiv }) => {
            Allowed { aic: all.aic.intersect(aic), aiv: all.aiv.intersect(aiv), ..all }
        }
    }
}

/// Narrows the ranges of an affinity's kernels.
fn narrow(allowed: &mut [Allowed], graph: &Graph, affinity: &Affinity, nth: u32, counts: &CoreCounts) {
    let members = affinity.members.len() as u32;
    let kernels = graph.kernels();
    let parts = |member: u32| match affinity.kind {
        AffinityType::Separate => (member, members),
        // Affinities take the parts of the L2 cache in turn.
        AffinityType::L2Share => (nth % counts.l2_domains, counts.l2_domains),
        AffinityType::Colocate => (0, 1),
    };
    let all = || affinity.members.iter().flatten().filter(|&&kernel| !graph.is_in_gang(kernel));
    // Kernels on the same cores have as many as the one that needs fewest.
    let at_once = |&kernel: &u32| {
        let (kernel, allowed) = (&kernels[kernel as usize], &allowed[kernel as usize]);
        let asked = kernel.request.map_or(u32::MAX, |request| self::at_once(kernel, request, counts));
        kernel.blocks.min(allowed.fit(kernel.core_type, counts)).min(asked)
    };
    let fewest = all().map(at_once).min().unwrap_or(0);
    for (member, list) in (0..).zip(&affinity.members) {
        let (part, of) = parts(member);
        for &kernel in list.iter().filter(|&&kernel| !graph.is_in_gang(kernel)) {
            let old = allowed[kernel as usize];
            let mut new = part_of(&old, affinity.kind, part, of, counts);
            if affinity.kind == AffinityType::Colocate {
                (new.at_once, new.pinned) = (fewest, true);
            }
            if new.fit(kernels[kernel as usize].core_type, counts) > 0 && new.at_once > 0 {
                allowed[kernel as usize] = new;
            }
        }
    }
}

/// A part of the ranges: of those of the kernel, or, for parts of the L2 cache, of the device's.
fn part_of(old: &Allowed, kind: AffinityType, part: u32, of: u32, counts: &CoreCounts) -> Allowed {
    if kind == AffinityType::L2Share {
        let device = Allowed::anywhere(counts);
        let narrowed = |range: CoreRange, whole: CoreRange| range.intersect(whole.part(part, of));
        return Allowed { aic: narrowed(old.aic, device.aic), aiv: narrowed(old.aiv, device.aiv), ..*old };
    }
    // A mixed block takes its cube core and its vector cores from the same part.
    Allowed {
        aic: old.aic.part(part, of),
        aiv: old.aiv.part(part, of),
        aicpu: old.aicpu.part(part, of),
        ..*old
    }
}
