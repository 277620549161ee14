//! Cores: who is attached to whom, and what a core does when its thread comes by.

use super::queue::CoreTask;
use super::ready::Unit;
use super::shared::Shared;
use super::stats::CoreStats;
use crate::shared::{Cause, Failed, message};
use crate::sync::{AtomicU64, Ordering};
use crate::{KernelStats, PoolSizes, TaskRunner, clock};
use std::panic::{AssertUnwindSafe, catch_unwind};
use wsp_core::handshake::{CoreOrder, Handshake};
use wsp_core::{KernelId, TaskId};

/// Cores, and which of them each AICPU hands tasks to.
#[derive(Debug)]
pub(super) struct Topology {
    /// The unit of each core.
    pub(super) units: Vec<Unit>,
    /// Pairs of an AICPU and a core.
    pairs: Vec<(u16, u32)>,
}

impl Topology {
    /// Every AICPU is attached to a core of every unit, and every core to an AICPU.
    pub(super) fn new(pools: PoolSizes, threads: u32, aicpus: u32) -> Topology {
        let groups = match pools {
            PoolSizes::Shared => vec![(Unit::Both, threads.max(aicpus))],
            PoolSizes::ByUnit { vector, cube } => vec![(Unit::Vector, vector), (Unit::Cube, cube)],
        };
        let (mut units, mut pairs) = (Vec::new(), Vec::new());
        for (unit, cores) in groups {
            let first = units.len() as u32;
            units.extend((0..cores).map(|_| unit));
            pairs.extend((0..cores.max(aicpus)).map(|i| ((i % aicpus) as u16, first + i % cores)));
        }
        Topology { units, pairs }
    }

    pub(super) fn links(&self) -> Box<[Link]> {
        let link = |&(aicpu, core): &(u16, u32)| Link {
            aicpu,
            core,
            unit: self.units[core as usize],
            handshake: Handshake::new(),
            started_ns: AtomicU64::new(0),
            finished_ns: AtomicU64::new(0),
        };
        self.pairs.iter().map(link).collect()
    }
}

/// An AICPU and a core that takes tasks from it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) aicpu: u16,
    pub(super) core: u32,
    pub(super) unit: Unit,
    pub(super) handshake: Handshake,
    /// When the last task started and finished, if tasks are timed; handed over with its completion.
    pub(super) started_ns: AtomicU64,
    pub(super) finished_ns: AtomicU64,
}

/// A core, as the thread that drives it keeps it.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) id: u32,
    links: Vec<usize>,
    next: usize,
    pub(super) stats: CoreStats,
    pub(super) kernels: Vec<KernelStats>,
}

impl Core {
    pub(super) fn new(shared: &Shared, id: u32) -> Core {
        let links = shared.links.iter().enumerate().filter(|(_, link)| link.core == id).map(|(at, _)| at);
        Core { id, links: links.collect(), next: 0, stats: CoreStats::default(), kernels: Vec::new() }
    }

    /// Runs at most one task, of its AICPUs in turn; whether there was one.
    ///
    /// # Errors
    /// The task failed. It counts as complete, and those after it in elaboration order are dropped.
    pub(super) fn run_one<R: TaskRunner>(
        &mut self,
        shared: &Shared,
        runner: &R,
        thread: usize,
    ) -> Result<bool, Failed<R::Failure, u64>> {
        for i in 0..self.links.len() {
            let at = (self.next + i) % self.links.len();
            let link = &shared.links[self.links[at]];
            let CoreOrder::Run(slot) = link.handshake.poll() else { continue };
            let task = shared.queues[usize::from(link.aicpu)].slot(slot as u16).task.read();
            if !shared.gates.may_start(task.stream, task.ordinal) {
                continue;
            }
            self.next = (at + 1) % self.links.len();
            let outcome = self.run(shared, runner, thread, link, &task);
            if outcome.is_err() {
                // Before the completion, so that whoever sees the task complete drops those after it.
                shared.drop_from(task.ordinal.saturating_add(1));
            }
            link.handshake.complete();
            let (ordinal, kernel) = (task.ordinal, task.kernel);
            let failed = |cause| Failed { task: ordinal, kernel, payload: task.payload().to_vec(), cause };
            return outcome.map(|()| true).map_err(failed);
        }
        Ok(false)
    }

    fn run<R: TaskRunner>(
        &mut self,
        shared: &Shared,
        runner: &R,
        thread: usize,
        link: &Link,
        task: &CoreTask,
    ) -> Result<(), Cause<R::Failure>> {
        if task.ordinal >= shared.limit() || shared.stopped().is_some() {
            shared.gates.note_start(task.stream);
            return Ok(());
        }
        shared.note_start();
        let times = shared.config.trace.times();
        let started = times.then(clock::now);
        // After the time is taken: the next of the stream starts no earlier.
        shared.gates.note_start(task.stream);
        let id = TaskId(task.ordinal as u32);
        let outcome = catch_unwind(AssertUnwindSafe(|| runner.run(thread, id, task.kernel, task.payload())));
        if let Some(started) = started {
            let finished = clock::now();
            link.started_ns.store(clock::nanos_between(shared.origin, started), Ordering::Relaxed);
            link.finished_ns.store(clock::nanos_between(shared.origin, finished), Ordering::Relaxed);
            self.count(task.kernel, Some(clock::nanos_between(started, finished)));
        } else {
            self.count(task.kernel, None);
        }
        match outcome {
            Ok(outcome) => outcome.map_err(Cause::Error),
            Err(panic) => Err(Cause::Panic(message(panic))),
        }
    }

    fn count(&mut self, kernel: KernelId, busy_ns: Option<u64>) {
        if self.kernels.len() <= kernel.index() {
            self.kernels.resize(kernel.index() + 1, KernelStats::default());
        }
        let of_kernel = &mut self.kernels[kernel.index()];
        of_kernel.tasks += 1;
        self.stats.tasks += 1;
        if let Some(busy_ns) = busy_ns {
            *of_kernel.busy_ns.get_or_insert(0) += busy_ns;
            *self.stats.busy_ns.get_or_insert(0) += busy_ns;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_aicpu_has_a_core_of_every_unit_and_every_core_an_aicpu() {
        for aicpus in 1..=9 {
            for (vector, cube) in [(1, 1), (2, 5), (9, 1), (16, 4)] {
                let topology = Topology::new(PoolSizes::ByUnit { vector, cube }, 2, aicpus);
                for aicpu in 0..aicpus as u16 {
                    for unit in [Unit::Vector, Unit::Cube] {
                        let has = |&(owner, core): &(u16, u32)| {
                            owner == aicpu && topology.units[core as usize] == unit
                        };
                        assert!(topology.pairs.iter().any(has));
                    }
                }
                let attached: BTreeSet<u32> = topology.pairs.iter().map(|&(_, core)| core).collect();
                assert_eq!(
                    (attached.len(), topology.units.len()),
                    ((vector + cube) as usize, (vector + cube) as usize)
                );
                let distinct: BTreeSet<(u16, u32)> = topology.pairs.iter().copied().collect();
                assert_eq!(distinct.len(), topology.pairs.len());
            }
        }
    }

    #[test]
    fn shared_cores_are_as_many_as_threads_or_aicpus() {
        assert_eq!(Topology::new(PoolSizes::Shared, 2, 16).units.len(), 16);
        assert_eq!(
            Topology::new(PoolSizes::Shared, 6, 4).pairs,
            [(0, 0), (1, 1), (2, 2), (3, 3), (0, 4), (1, 5)]
        );
    }
}
