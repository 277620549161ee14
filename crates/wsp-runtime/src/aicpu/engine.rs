//! One AICPU: its window, what its tasks wait for, and the steps of its loop.
//!
//! Every step is bounded by the window, the rings or [`AicpuConfig::step_tasks`](super::AicpuConfig::step_tasks), and says
//! whether it did something.

use super::config::{AfterEdges, ReadyOrder};
use super::counter_waits::CounterWaits;
use super::queue::{LocalTaskQueue, Producer};
use super::ready::{RankedSlot, UnitQueues};
use super::registration::Registered;
use super::remote::RemoteWaits;
use super::ring::OutOfSequence;
use super::scopes::{ScopeStack, Step};
use super::shared::{SENDERS, Shared};
use super::stats::{AicpuTrace, WindowStall};
use super::tensor_map::MapCache;
use crate::TracePolicy;
use crate::replay::Turns;
use crate::sync::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;
use wsp_core::ptow::AicpuStats;

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
    pub(super) ready: UnitQueues,
    /// Tasks that found a gate shut, or came before their turn on a stream.
    pub(super) gated: Vec<RankedSlot>,
    gates_seen: u64,
    /// Notices to each AICPU that found their ring full.
    outbox: Vec<VecDeque<u16>>,
    /// Notices in all of them.
    kept_notices: u64,
    /// All watermarks were found to be at least this.
    known_watermark: u64,
    /// The AICPU that had generated least then.
    last: u16,
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
    /// Regions of own tasks in the map.
    pub(super) accesses: u32,
    pub(super) stats: AicpuStats,
    pub(super) stalls: Vec<WindowStall>,
    pub(super) trace: Vec<AicpuTrace>,
    found: Vec<Producer>,
    released: Vec<u16>,
    /// AICPUs to be told of a completion.
    told: Vec<u16>,
    /// Scratch: counters of the task that is complete.
    counted: Vec<u32>,
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
            // In an order of starts the turn of a task is its priority.
            ready: UnitQueues::new(
                if config.replay.is_some() { ReadyOrder::Priority } else { config.ready },
                config.ready_queue,
            ),
            gated: Vec::new(),
            gates_seen: 0,
            outbox: (0..shared.aicpus()).map(|_| VecDeque::new()).collect(),
            kept_notices: 0,
            known_watermark: 0,
            last: 0,
            remote: RemoteWaits::default(),
            cache: MapCache::default(),
            scopes: ScopeStack::default(),
            step_waits: Vec::new(),
            counter_waits: CounterWaits::default(),
            polled: None,
            cores,
            done: Vec::new(),
            accesses: 0,
            stats: AicpuStats::default(),
            stalls: Vec::new(),
            trace: Vec::new(),
            found: Vec::new(),
            released: Vec::new(),
            told: Vec::new(),
            counted: Vec::new(),
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
        for word in 0..shared.sender_words() {
            let mut senders = shared.take_senders(self.id, word);
            while senders != 0 {
                did |= self.read_ring(shared, word * SENDERS + senders.trailing_zeros() as u16)?;
                senders &= senders - 1;
            }
        }
        self.release_found(shared);
        Ok(did)
    }

    /// Reads the notices of another AICPU: as many as were there when its bit was taken, or more.
    fn read_ring(&mut self, shared: &Shared, other: u16) -> Result<bool, NoticeLost> {
        let ring = shared.ring(other, self.id);
        for read in 0..shared.config.ring {
            let notice = ring.pop().map_err(|sequence| NoticeLost { from: other, sequence })?;
            let Some(slot) = notice else { return Ok(read > 0) };
            self.remote.take(other, slot, &mut self.released);
        }
        Ok(true)
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
        self.look_at_steps();
        self.release_found(shared);
        if did {
            shared.completed.fetch_add(self.done.len() as u64, Ordering::Relaxed);
        }
        self.done.clear();
        did
    }

    /// A task is complete: tells all that wait for it, and gives its slot back.
    fn complete(&mut self, shared: &Shared, slot: u16) {
        let mut told = std::mem::take(&mut self.told);
        shared.queues[usize::from(self.id)].slot(slot).registration.complete(&mut told);
        let mut counted = std::mem::take(&mut self.counted);
        let task = self.queue.task_mut(slot);
        for access in task.accesses.drain(..) {
            self.cache.object(access.object).remove(access.shard, access.place, &access.region);
        }
        self.accesses -= task.regions;
        if shared.config.after == AfterEdges::Kept {
            shared.directory.remove(task.ordinal);
        }
        for need in task.needs.drain(..) {
            shared.counters.count(&need);
            counted.push(need.counter);
        }
        if let Some(step) = task.step.take() {
            step.count();
        }
        self.queue.take_successors(slot, &mut self.released);
        self.queue.release(slot);
        // Own tasks need not wait until their counters' turn to be looked at comes.
        for counter in counted.drain(..) {
            self.counter_waits.look_at(counter, &self.queue, &shared.counters, &mut self.released);
        }
        self.counted = counted;
        for other in told.drain(..) {
            self.notify(shared, other, slot);
        }
        self.told = told;
    }

    fn notify(&mut self, shared: &Shared, other: u16, slot: u16) {
        let outbox = &mut self.outbox[usize::from(other)];
        self.stats.notices += 1;
        // Notices of one sender stay in order.
        if !outbox.is_empty() || !shared.notify(self.id, other, slot) {
            self.stats.ring_stalls += 1;
            self.kept_notices += 1;
            outbox.push_back(slot);
        }
    }

    /// One thing that each of the tasks in `released` waited for has happened, to all at once: they become ready in the order of
    /// ordinals.
    fn release_found(&mut self, shared: &Shared) {
        if self.released.len() > 1 {
            let queue = &self.queue;
            self.released.sort_unstable_by_key(|slot| queue.task(*slot).ordinal);
        }
        for at in 0..self.released.len() {
            self.arrive(shared, self.released[at]);
        }
        self.released.clear();
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
        let priority = shared.turns().map_or(task.priority, |turns| turns.priority(task.ordinal));
        self.ready.push(slot, task.pool, priority);
    }

    /// Looks at what others complete: earlier steps of ordered scopes, and some of the counters that tasks wait for.
    pub(super) fn poll_counters(&mut self, shared: &Shared) -> bool {
        let epoch = shared.epoch();
        if self.polled == Some(epoch) {
            return false;
        }
        self.polled = Some(epoch);
        self.look_at_steps();
        if self.scopes.has_ended() {
            self.scopes.forget_ended(&shared.scopes, shared.watermark().0);
        }
        self.poll_some(shared, SOME)
    }

    /// Finds tasks whose earlier steps are complete.
    fn look_at_steps(&mut self) {
        let released = &mut self.released;
        self.step_waits.retain_mut(|(step, slots)| {
            let waits = step.waits_for().is_some();
            if !waits {
                released.append(slots);
            }
            waits
        });
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
            // Most often it is the same AICPU that all wait for.
            if shared.watermark_of(self.last) <= ordinal {
                return false;
            }
            (self.known_watermark, self.last) = shared.watermark();
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
                self.stats.local_edges += 1;
            } else {
                if registration.register(producer.generation, self.id) == Registered::Complete {
                    continue;
                }
                self.remote.add(producer, slot);
                self.stats.cross_edges += 1;
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
        self.offer_gated(shared);
        if let Some(turns) = shared.turns() {
            return self.dispatch_in_turn(shared, turns);
        }
        let mut did = false;
        for at in 0..self.cores.len() {
            if self.cores[at].task.is_some() {
                continue;
            }
            let unit = shared.links[self.cores[at].link].unit;
            while let Some(taken) = self.ready.pop(unit) {
                let (_, slot) = taken;
                if self.enters(shared, slot) {
                    self.assign(shared, at, slot);
                    did = true;
                    break;
                }
                did |= self.defer(taken);
            }
        }
        did
    }

    /// Hands the task whose turn it is to its core, if it is ready here and the core idle.
    fn dispatch_in_turn(&mut self, shared: &Shared, turns: &Turns) -> bool {
        let Some((core, task)) = turns.next() else { return false };
        let link = |of: &Attached| &shared.links[of.link];
        let at = self.cores.iter().position(|of| of.task.is_none() && link(of).core == core);
        let Some((at, taken)) = at.and_then(|at| Some((at, self.ready.pop(link(&self.cores[at]).unit)?)))
        else {
            return false;
        };
        let local = self.queue.task(taken.1);
        if local.ordinal != u64::from(task) {
            self.ready.put_back(taken, local.pool);
            return false;
        }
        if !self.enters(shared, taken.1) {
            return self.defer(taken);
        }
        self.assign(shared, at, taken.1);
        true
    }

    /// Keeps a task that found a gate shut; whether for the first time.
    fn defer(&mut self, taken: RankedSlot) -> bool {
        let was_refused = std::mem::replace(&mut self.queue.task_mut(taken.1).was_refused, true);
        self.stats.deferred += u64::from(!was_refused);
        self.gated.push(taken);
        !was_refused
    }

    fn enters(&self, shared: &Shared, slot: u16) -> bool {
        let task = self.queue.task(slot);
        shared.gates.is_empty() || shared.gates.enter(task.stream, task.pool, task.ordinal)
    }

    /// Lets tasks that found a gate shut go by their turn with the others again, if permits were given back since.
    fn offer_gated(&mut self, shared: &Shared) {
        let returned = shared.gates.returned();
        if self.gated.is_empty() || returned == self.gates_seen {
            return;
        }
        self.gates_seen = returned;
        for taken in self.gated.drain(..) {
            self.ready.put_back(taken, self.queue.task(taken.1).pool);
        }
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
