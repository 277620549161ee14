//! Kernels of one block, of which a worker takes several at a time.
//!
//! Of a node with one block there is nothing to share, so that it needs no [`Dispatch`](super::launch::Dispatch): it waits as its number, and a worker
//! that comes takes as many as last for about [`SPELL`], but no more than leave the other workers their part. They run one after another on the
//! cores of one block, and are brought back together: so the lock is taken once for all of them. Long kernels are taken one by one.

use super::bodies::Bodies;
use super::cores::{Cores, DeviceCores};
use super::failure::Cause;
use super::graph::KernelInfo;
use super::id::LaunchId;
use super::launch::{Iterations, Job, Launch};
use super::ready::Nodes;
use super::state::State;
use super::work::{Seen, Work};
use crate::clock;

/// Nanoseconds for which a worker takes kernels at once.
const SPELL: u64 = 4_000;
/// Most kernels that are taken at once.
const MOST: usize = 64;
/// Of a kernel that has not run yet.
const UNKNOWN: u64 = u64::MAX;

/// Kernels of one block that a worker takes.
pub(crate) struct Singles {
    nodes: Vec<u32>,
    cores: Cores,
    iterations: Iterations,
    /// Whether others wait, so that it matters how long these take.
    is_timed: bool,
}

/// What of them is brought back.
pub(crate) struct SinglesDone {
    /// Those that have run.
    nodes: Vec<u32>,
    cores: Cores,
    /// Nanoseconds that all took, if it matters.
    nanos: Option<u64>,
}

/// How long kernels of one block take, as far as it was measured: decides how many are taken at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spell {
    /// Nanoseconds of a kernel, those of the last worker that brought some back.
    each: u64,
}

impl Spell {
    pub(crate) const NEW: Spell = Spell { each: UNKNOWN };

    /// How many of `ready` kernels a worker takes, at least one.
    fn most(self, ready: usize, threads: u32) -> usize {
        let others = ready / (2 * threads.max(1) as usize);
        let in_time = usize::try_from(SPELL / self.each.max(1)).unwrap_or(MOST);
        others.min(in_time).clamp(1, MOST)
    }

    fn measured(&mut self, nanos: u64, kernels: usize) {
        if let Some(each) = nanos.checked_div(kernels as u64) {
            self.each = each;
        }
    }
}

/// Whether a kernel can be one of several that a worker takes, on cores that all its launch may use alike.
pub(crate) fn is_single(kernel: &KernelInfo) -> bool {
    kernel.blocks == 1 && kernel.persistent.is_none()
}

impl Singles {
    /// Runs them in their order, up to the first that fails or until the launch is to stop.
    pub(crate) fn run<B: Bodies>(
        self,
        job: &Job<B>,
        worker: u32,
    ) -> (SinglesDone, Option<Cause<B::Failure>>) {
        let Singles { mut nodes, cores, iterations, is_timed } = self;
        let start = is_timed.then(clock::now);
        let records = job.graph.image().nodes;
        let mut of = Seen { node: 0, item: 0, iterations, blocks: 1 };
        let mut failure = None;
        let mut run = |node: u32| {
            if job.stop.is_set() {
                return Err(Cause::Cancelled);
            }
            (of.node, of.item) = (node, records[node as usize].item);
            let prepared = job.prepare(&of, None)?;
            job.run_block(&of, &prepared, 0, worker, cores)
        };
        let ran = nodes.iter().position(|&node| run(node).map_err(|cause| failure = Some(cause)).is_err());
        nodes.truncate(ran.unwrap_or(nodes.len()));
        (SinglesDone { nodes, cores, nanos: start.map(clock::nanos_since) }, failure)
    }
}

impl<B: Bodies> Launch<B> {
    /// Takes kernels of one block for a worker, if there are cores for a block.
    pub(crate) fn take_singles(
        &mut self,
        nodes: Nodes<'_>,
        cores: &mut DeviceCores,
        threads: u32,
    ) -> Option<Work<B>> {
        // Where one kernel of the launch may run, all may.
        let held = cores.take(nodes.core_type, &self.placement.of(0), 0)?;
        let most = self.spell.most(nodes.ready.len(), threads);
        // What surrounds a node stays in its round until the node is complete.
        let iterations = match self.graph.has_loops() {
            true => Some(self.graph.iterations(&mut self.words).into()),
            false => None,
        };
        let Some(job) = self.lend() else {
            cores.put(&held);
            return None;
        };
        self.busy += 1;
        let mut taken = self.spare_nodes.pop().unwrap_or_default();
        let is_timed = nodes.ready.len() > 1;
        taken.extend(nodes.ready.drain(..most));
        Some(Work::Singles(job, Singles { nodes: taken, cores: held, iterations, is_timed }))
    }
}

impl<B: Bodies> State<B> {
    /// Takes back what a worker brings.
    pub(crate) fn take_back_singles(&mut self, id: LaunchId, mut done: SinglesDone) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        self.devices[launch.device as usize].cores.put(&done.cores);
        let kernels = done.nodes.len();
        launch.stats.add_kernels(kernels as u64);
        if let Some(nanos) = done.nanos {
            launch.spell.measured(nanos, kernels);
        }
        launch.graph.complete(&mut launch.words, &done.nodes);
        done.nodes.clear();
        launch.spare_nodes.push(done.nodes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_takes_what_lasts_a_spell_and_leaves_others_their_part() {
        let mut spell = Spell::NEW;
        assert_eq!(spell.most(1_000, 1), 1, "how long a kernel takes is not known");
        spell.measured(1_000, 10);
        assert_eq!(spell.most(1_000, 1), 40, "of 100 ns each");
        assert_eq!(spell.most(20, 1), 10);
        assert_eq!(spell.most(20, 4), 2);
        assert_eq!(spell.most(3, 4), 1);
        spell.measured(0, 10);
        assert_eq!(spell.most(100_000, 2), MOST, "of no time that the clock can tell");
        spell.measured(50_000, 10);
        assert_eq!(spell.most(1_000, 1), 1, "of 5 us each");
        spell.measured(7, 0);
        assert_eq!(spell.most(1_000, 1), 1, "none of them has run");
    }
}
