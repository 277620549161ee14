//! A stored graph as several workers run it.

use super::core::Core;
use crate::placement::{Division, Placement};
use crate::shared::{Notes, Shared, Store};
use crate::sync::{AtomicU64, Fault, Ordering, has, model_fence};
use crate::{Gate, RunConfig, TaskRunner, TracePolicy};
use crossbeam_deque::Worker as Deque;
use crossbeam_utils::CachePadded;
use wsp_core::{KernelId, TaskId};

/// The graph while it runs.
pub(crate) struct Stored {
    pub(super) core: Core,
    /// Placement of each task as a word, and its priority; empty when no task has one.
    placements: Vec<(u32, i32)>,
    /// What is noted of each node; empty without a trace.
    notes: Vec<Notes>,
    /// What each worker has completed, as it last said.
    ///
    /// Every worker adds to its own and then sums up all, SeqCst: of two workers that run out of work, the second to add
    /// sees what the first did, so the last to finish something sees all of it.
    completed: Box<[CachePadded<AtomicU64>]>,
}

impl Stored {
    pub(crate) fn new(core: Core, config: &RunConfig) -> Stored {
        let division = Division::new(config);
        let mut turn = 0;
        let placed = core.has_attributes() || config.replay.is_some();
        let nodes = if placed { core.len() } else { 0 };
        let mut tasks = 0..;
        let placements = (0..nodes)
            .map(|node| {
                let attributes = core.attributes(node);
                if let (Some(replay), false) = (&config.replay, core.is_barrier_node(node)) {
                    let (worker, priority) = replay.place(tasks.next().unwrap_or(u32::MAX), config.threads);
                    let placement = division.on(worker, attributes.stream, priority);
                    return (placement.encode(), priority);
                }
                let placement = Placement {
                    route: division.route(attributes.affinity, attributes.pool, &mut turn),
                    pool: attributes.pool,
                    stream: attributes.stream,
                    priority: attributes.priority,
                };
                (placement.encode(), attributes.priority)
            })
            .collect();
        let timed = if config.trace == TracePolicy::Measured { core.len() } else { 0 };
        Stored {
            core,
            placements,
            notes: (0..timed).map(|_| Notes::default()).collect(),
            completed: (0..config.threads).map(|_| CachePadded::new(AtomicU64::new(0))).collect(),
        }
    }

    /// Nodes completed; exact when all workers have run out of work.
    pub(super) fn completed(&self) -> u64 {
        self.completed.iter().map(|count| count.load(Ordering::SeqCst)).sum()
    }

    /// Nodes that are ready at the start, in order.
    pub(super) fn roots(&self) -> Vec<u32> {
        let mut roots = Vec::with_capacity(self.core.roots() as usize);
        let mut node = 0;
        while roots.len() < self.core.roots() as usize {
            if self.core.fan_in(node) == 0 {
                roots.push(node);
            }
            node += 1;
        }
        roots
    }

    /// Whether some task has a place, a pool, a stream or a priority.
    pub(super) fn has_placements(&self) -> bool {
        !self.placements.is_empty()
    }
}

impl Store for Stored {
    #[inline]
    fn task(&self, node: u32) -> Option<TaskId> {
        if self.core.is_barrier_node(node) { None } else { Some(TaskId(node)) }
    }

    #[inline]
    fn call<T>(&self, node: u32, run: impl FnOnce(KernelId, &[u32]) -> T) -> T {
        run(self.core.kernel(node), self.core.payload(node))
    }

    #[inline]
    fn placement(&self, node: u32) -> Placement {
        match self.placements.get(node as usize) {
            None => Placement::default(),
            Some(&(word, priority)) => Placement::decode(word, priority),
        }
    }

    #[inline]
    fn start(&self, _: u32, _: impl FnMut(Option<(KernelId, &[u32])>)) {}

    #[inline]
    fn release(&self, node: u32, mut ready: impl FnMut(u32)) {
        let nodes = self.core.nodes();
        let record = &nodes[node as usize];
        record.rearm();
        self.core.each_successor_of(record, |to| {
            if nodes[to as usize].count_down() {
                ready(to);
            }
        });
    }

    #[inline]
    fn retire(&self, _: u32, _: u32) {}

    fn has_backward_edges(&self) -> bool {
        self.core.has_backward_edges()
    }

    fn notes(&self, node: u32) -> &Notes {
        &self.notes[node as usize]
    }

    fn submission(&self, _: u32) -> (u64, bool) {
        (0, false)
    }

    fn idle(&self, worker: u32, completed: u64) -> bool {
        self.completed[worker as usize].fetch_add(completed, Ordering::SeqCst);
        if !has(Fault::NoFenceInSum) {
            model_fence();
        }
        self.completed() == u64::from(self.core.len())
    }

    fn quiet(&self) -> bool {
        true
    }
}

/// The state of a run by several workers, and each one's own deque under work stealing.
pub(super) fn shared<'r, R: TaskRunner>(
    store: Stored,
    config: &RunConfig,
    runner: &'r R,
) -> (Shared<'r, R, Stored>, Vec<Option<Deque<u32>>>) {
    let roots = store.roots();
    let plain = !store.has_placements() && config.ready_policy() != crate::Ready::Priority;
    let (listed, queued) = if plain { (roots, Vec::new()) } else { (Vec::new(), roots) };
    let (shared, deques) = Shared::new(config, runner, store, listed.into());
    shared.stop.generating.store(false, Ordering::Relaxed);
    if Gate::stream_depth(&config.gates) > 1 {
        announce(&shared);
    }
    for node in queued {
        shared.queues.push(node, shared.store.placement(node), None);
    }
    (shared, deques)
}

/// Tells the gates the order of the tasks of each stream.
fn announce<R: TaskRunner>(shared: &Shared<'_, R, Stored>) {
    let Some(gates) = &shared.gates else { return };
    gates.with(|book| {
        for node in 0..shared.store.core.len() {
            if let Some(stream) = shared.store.placement(node).stream {
                book.announce(stream, node);
            }
        }
    });
}
