//! One AICPU: its window, what its tasks wait for, and the steps of its loop.
//!
//! Every step is bounded by the window, the rings or [`AicpuConfig::step_tasks`](super::AicpuConfig::step_tasks), and says
//! whether it did something.

use super::config::AfterEdges;
use super::counter_waits::CounterWaits;
use super::queue::{LocalTaskQueue, Producer};
use super::ready::ReadyQueues;
use super::registration::Registered;
use super::remote::RemoteWaits;
use super::ring::OutOfSequence;
use super::scopes::{ScopeStack, Step};
use super::shared::Shared;
use super::stats::{AicpuFigures, AicpuTrace, WindowStall};
use super::tensor_map::MapCache;
use crate::TracePolicy;
use crate::sync::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

/// Counters that are looked at in every round.
const SOME: usize = 64;

/// A notice that was lost, and who sent it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NoticeLost {
    pub(super) from: u16,
    pub(super) sequence: OutOfSequence,
}

/// A core as one of its AICPUs sees it.
#[derive(Debug)]
pub(super) struct Attached {
    /// Its link.
    pub(super) link: usize,
    /// The slot of the task that it was handed.
    pub(super) task: Option<u16>,
}

/// One AICPU, without its generator.
#[derive(Debug)]
pub(super) struct Aicpu {
    pub(super) id: u16,
    pub(super) queue: LocalTaskQueue,
    /// Tasks whose conflicts have not been searched, in the order of ordinals.
    pub(super) unresolved: VecDeque<u16>,
    pub(super) ready: ReadyQueues,
    /// Tasks that found a gate shut.
    pub(super) gated: VecDeque<u16>,
    gates_seen: u64,
    /// Notices to each AICPU that found their ring full.
    outbox: Vec<VecDeque<u16>>,
    /// Notices in all of them.
    kept_notices: u64,
    /// All watermarks were found to be at least this.
    known_watermark: u64,
    pub(super) remote: RemoteWaits,
    pub(super) cache: MapCache,
    pub(super) scopes: ScopeStack,
    /// Tasks that wait for earlier steps; those of one step that were generated together stand together.
    pub(super) step_waits: Vec<(Arc<Step>, Vec<u16>)>,
    pub(super) counter_waits: CounterWaits,
    /// The epoch in which counters were last looked at.
    polled: Option<u64>,
    pub(super) cores: Vec<Attached>,
    /// Completed tasks that have not been released.
    pub(super) done: Vec<u16>,
    /// Boxes of own tasks in the map.
    pub(super) accesses: u32,
    pub(super) figures: AicpuFigures,
    pub(super) stalls: Vec<WindowStall>,
    pub(super) trace: Vec<AicpuTrace>,
    found: Vec<Producer>,
    released: Vec<u16>,
}

impl Aicpu {
    pub(super) fn new(shared: &Shared, id: u16) -> Aicpu {
        let config = &shared.config;
        let links = shared.links.iter().enumerate().filter(|(_, link)| link.aicpu == id);
        let cores: Vec<Attached> = links.map(|(link, _)| Attached { link, task: None }).collect();
        cores.iter().for_each(|core| shared.links[core.link].handshake.set_ready());
        Aicpu {
            id,
            queue: LocalTaskQueue::new(config.window),
            unresolved: VecDeque::new(),
            ready: ReadyQueues::new(config.ready, config.ready_queue),
            gated: VecDeque::new(),
            gates_seen: 0,
            outbox: (0..shared.aicpus()).map(|_| VecDeque::new()).collect(),
            kept_notices: 0,
            known_watermark: 0,
            remote: RemoteWaits::default(),
            cache: MapCache::default(),
            scopes: ScopeStack::default(),
            step_waits: Vec::new(),
            counter_waits: CounterWaits::default(),
            polled: None,
            cores,
            done: Vec::new(),
            accesses: 0,
            figures: AicpuFigures::default(),
            stalls: Vec::new(),
            trace: Vec::new(),
            found: Vec::new(),
            released: Vec::new(),
        }
    }

    /// Whether no task is in flight and every notice was sent.
    pub(super) fn is_drained(&self) -> bool {
        self.queue.in_flight() == 0 && self.kept_notices == 0
    }

    /// Reads the notices of the other AICPUs, and sends own ones that found a ring full.
    ///
    /// # Errors
    /// A notice was lost.
    pub(super) fn poll_rings(&mut self, shared: &Shared) -> Result<bool, NoticeLost> {
        let mut did = self.flush_outbox(shared);
        let senders = shared.take_senders(self.id);
        for other in (0..shared.aicpus()).filter(|other| senders >> other & 1 == 1) {
            // As many as were there when the bit was taken, or more.
            for _ in 0..shared.config.ring {
                let notice = shared.ring(other, self.id).pop();
                let Some(slot) = notice.map_err(|sequence| NoticeLost { from: other, sequence })? else {
                    break;
                };
                did = true;
                self.remote.take(other, slot, &mut self.released);
            }
        }
        self.release_found(shared);
        Ok(did)
    }

    /// Sends notices that found a ring full.
    fn flush_outbox(&mut self, shared: &Shared) -> bool {
        let mut did = false;
        if self.kept_notices == 0 {
            return did;
        }
        for (other, outbox) in (0..).zip(&mut self.outbox) {
            while let Some(&slot) = outbox.front()
                && shared.notify(self.id, other, slot)
            {
                outbox.pop_front();
                self.kept_notices -= 1;
                did = true;
            }
        }
        did
    }

    /// Takes completions from the cores. They are released when [`AicpuConfig::batch`](super::AicpuConfig::batch) of them
    /// are there.
    pub(super) fn poll_aicore_completion(&mut self, shared: &Shared) -> bool {
        let mut did = false;
        for at in 0..self.cores.len() {
            let link = &shared.links[self.cores[at].link];
            if self.cores[at].task.is_none() || !link.handshake.take_completion() {
                continue;
            }
            let Some(slot) = self.cores[at].task.take() else { continue };
            did = true;
            let task = self.queue.task(slot);
            if !shared.gates.is_empty() {
                shared.gates.leave(task.stream, task.pool);
            }
            if shared.config.trace == TracePolicy::Measured {
                self.trace.push(AicpuTrace {
                    ordinal: task.ordinal,
                    kernel: task.kernel,
                    aicpu: self.id.into(),
                    core: link.core,
                    generated_ns: task.generated_ns,
                    ready_ns: task.ready_ns,
                    started_ns: link.started_ns.load(Ordering::Relaxed),
                    finished_ns: link.finished_ns.load(Ordering::Relaxed),
                });
            }
            self.done.push(slot);
        }
        if self.done.len() >= shared.config.batch as usize {
            self.release_done(shared);
        }
        did
    }

    /// Releases what waits for completed tasks.
    pub(super) fn release_done(&mut self, shared: &Shared) -> bool {
        let did = !self.done.is_empty();
        for at in 0..self.done.len() {
            self.complete(shared, self.done[at]);
        }
        if did {
            shared.completed.fetch_add(self.done.len() as u64, Ordering::Relaxed);
        }
        self.done.clear();
        did
    }

    /// A task is complete: tells all that wait for it, and gives its slot back.
    fn complete(&mut self, shared: &Shared, slot: u16) {
        let consumers = shared.queues[usize::from(self.id)].slot(slot).registration.complete();
        let task = self.queue.task_mut(slot);
        for access in task.accesses.drain(..) {
            self.cache.object(access.object).remove(access.shard, access.place, &access.region);
        }
        self.accesses -= task.boxes;
        if shared.config.after == AfterEdges::Kept {
            shared.directory.remove(task.ordinal);
        }
        for need in task.needs.drain(..) {
            shared.counters.count(&need);
        }
        if let Some(step) = task.step.take() {
            step.count();
        }
        self.queue.take_successors(slot, &mut self.released);
        self.queue.release(slot);
        self.release_found(shared);
        for other in (0..shared.aicpus()).filter(|other| consumers >> other & 1 == 1) {
            self.notify(shared, other, slot);
        }
    }

    fn notify(&mut self, shared: &Shared, other: u16, slot: u16) {
        let outbox = &mut self.outbox[usize::from(other)];
        self.figures.notices += 1;
        // Notices of one sender stay in order.
        if !outbox.is_empty() || !shared.notify(self.id, other, slot) {
            self.figures.ring_stalls += 1;
            self.kept_notices += 1;
            outbox.push_back(slot);
        }
    }

    /// One thing that each of the tasks in `released` waited for has happened.
    fn release_found(&mut self, shared: &Shared) {
        while let Some(slot) = self.released.pop() {
            self.arrive(shared, slot);
        }
    }

    /// One thing that a task waited for has happened.
    pub(super) fn arrive(&mut self, shared: &Shared, slot: u16) {
        let task = self.queue.task_mut(slot);
        task.fanin -= 1;
        if task.fanin > 0 {
            return;
        }
        if shared.config.trace == TracePolicy::Measured {
            task.ready_ns = shared.now();
        }
        self.ready.push(slot, task.pool, task.priority);
    }

    /// Looks at what others complete: earlier steps of ordered scopes, and some of the counters that tasks wait for.
    pub(super) fn poll_counters(&mut self, shared: &Shared) -> bool {
        let epoch = shared.epoch();
        if self.polled == Some(epoch) {
            return false;
        }
        self.polled = Some(epoch);
        let released = &mut self.released;
        self.step_waits.retain_mut(|(step, slots)| {
            let waits = step.waits_for().is_some();
            if !waits {
                released.append(slots);
            }
            waits
        });
        if self.scopes.has_ended() {
            self.scopes.forget_ended(&shared.scopes, shared.watermark());
        }
        self.poll_some(shared, SOME)
    }

    /// Looks at all counters that tasks wait for.
    pub(super) fn poll_all_counters(&mut self, shared: &Shared) -> bool {
        self.poll_some(shared, usize::MAX)
    }

    /// Releases tasks whose counters have been reached, of at most so many counters, and what else was found to be released.
    fn poll_some(&mut self, shared: &Shared, most: usize) -> bool {
        self.counter_waits.poll(most, &self.queue, &shared.counters, &mut self.released);
        let did = !self.released.is_empty();
        self.release_found(shared);
        did
    }

    /// Searches the conflicts of tasks that every AICPU has generated past.
    pub(super) fn resolve(&mut self, shared: &Shared) -> bool {
        let Some(&first) = self.unresolved.front() else { return false };
        let ordinal = self.queue.task(first).ordinal;
        // Watermarks only rise: what was found before may do.
        if ordinal >= self.known_watermark {
            self.known_watermark = shared.watermark();
        }
        let watermark = self.known_watermark;
        if ordinal >= watermark {
            return false;
        }
        for _ in 0..shared.config.step_tasks {
            let next = self.unresolved.front().copied();
            let Some(slot) = next.filter(|&slot| self.queue.task(slot).ordinal < watermark) else { break };
            self.unresolved.pop_front();
            self.find_conflicts(shared, slot);
            self.link(shared, slot);
            self.arrive(shared, slot);
        }
        true
    }

    /// Fills `found` with tasks that a task waits for.
    fn find_conflicts(&mut self, shared: &Shared, slot: u16) {
        let task = self.queue.task(slot);
        for access in &task.accesses {
            let accesses = self.cache.object(access.object);
            let of = (&access.region, access.access);
            accesses.conflicts(access.shard, of, task.ordinal, &mut self.found);
        }
        self.found.extend(task.after.iter().filter_map(|&ordinal| shared.directory.find(ordinal)));
        self.found.sort_unstable();
        self.found.dedup();
    }

    /// Makes an edge from each of the tasks in `found` that is not complete.
    fn link(&mut self, shared: &Shared, slot: u16) {
        for at in 0..self.found.len() {
            let producer = self.found[at];
            let registration = &shared.queues[usize::from(producer.aicpu)].slot(producer.slot).registration;
            if producer.aicpu == self.id {
                if registration.is_complete(producer.generation) {
                    continue;
                }
                self.queue.add_successor(producer.slot, slot);
                self.figures.local_edges += 1;
            } else {
                if registration.register(producer.generation, self.id) == Registered::Complete {
                    continue;
                }
                self.remote.add(producer, slot);
                self.figures.cross_edges += 1;
            }
            self.queue.task_mut(slot).fanin += 1;
        }
        self.found.clear();
    }

    /// Hands ready tasks to idle cores.
    pub(super) fn dispatch_ready_tasks(&mut self, shared: &Shared) -> bool {
        if self.ready.is_empty() && self.gated.is_empty() || !shared.has_started() {
            return false;
        }
        let mut did = self.retry_gated(shared);
        for at in 0..self.cores.len() {
            if self.cores[at].task.is_some() {
                continue;
            }
            let unit = shared.links[self.cores[at].link].unit;
            while let Some(slot) = self.ready.pop(unit) {
                did = true;
                if self.enters(shared, slot) {
                    self.assign(shared, at, slot);
                    break;
                }
                self.figures.deferred += 1;
                self.gated.push_back(slot);
            }
        }
        did
    }

    fn enters(&self, shared: &Shared, slot: u16) -> bool {
        let task = self.queue.task(slot);
        shared.gates.is_empty() || shared.gates.enter(task.stream, task.pool)
    }

    /// Tries tasks again that found a gate shut, if permits were given back since.
    fn retry_gated(&mut self, shared: &Shared) -> bool {
        let returned = shared.gates.returned();
        if self.gated.is_empty() || returned == self.gates_seen {
            return false;
        }
        // A task for which all gates are open, but no core is idle, must be tried again without a further return.
        let mut no_core = false;
        let mut did = false;
        for _ in 0..self.gated.len() {
            let Some(slot) = self.gated.pop_front() else { break };
            match self.idle_core_for(shared, slot) {
                Some(at) if self.enters(shared, slot) => {
                    self.assign(shared, at, slot);
                    did = true;
                }
                core => {
                    no_core |= core.is_none();
                    self.gated.push_back(slot);
                }
            }
        }
        if !no_core {
            self.gates_seen = returned;
        }
        did
    }

    fn idle_core_for(&self, shared: &Shared, slot: u16) -> Option<usize> {
        let pool = self.queue.task(slot).pool;
        self.cores.iter().position(|core| core.task.is_none() && shared.links[core.link].unit.runs(pool))
    }

    /// Hands a task to a core that is idle for this AICPU.
    fn assign(&mut self, shared: &Shared, at: usize, slot: u16) {
        let core = &mut self.cores[at];
        let assigned = shared.links[core.link].handshake.assign(slot.into());
        debug_assert!(assigned.is_ok(), "its last completion was taken");
        core.task = Some(slot);
    }

    /// Sends the cores home. Only when drained.
    pub(super) fn shut_down(&self, shared: &Shared) {
        for core in &self.cores {
            let home = shared.links[core.link].handshake.shut_down();
            debug_assert!(home.is_ok(), "its last completion was taken");
        }
    }
}
