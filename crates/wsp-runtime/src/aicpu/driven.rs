//! An AICPU with its generator: the step that generates, and the loop of all steps.

use super::config::{AfterEdges, AicpuConfig};
use super::engine::{Aicpu, NoticeLost};
use super::generator::{AicpuTask, Emit, Generator, Progress, Refused, Slots};
use super::queue::{Producer, Published};
use super::shared::Shared;
use super::stats::WindowStall;
use super::tensor_map::{Entry, Object};
use crate::sync::Ordering;
use crate::{TracePolicy, WindowMode};
use wsp_core::{AccessKind, Region, SlotId, limits};

/// Regions that most tasks have at most, with that of a stream.
const USUAL_REGIONS: u32 = limits::MAX_TASK_TENSORS + 1;

/// A step of the loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StepKind {
    PollRings,
    PollAicoreCompletion,
    PollCounters,
    Generate,
    Resolve,
    DispatchReadyTasks,
    /// Together with the next: what is put off while there is anything else to do.
    PollAllCounters,
    ReleaseDone,
}

impl StepKind {
    /// All steps, in the order in which the loop takes them.
    pub(super) const ALL: [StepKind; 8] = [
        StepKind::PollRings,
        StepKind::PollAicoreCompletion,
        StepKind::PollCounters,
        StepKind::Generate,
        StepKind::Resolve,
        StepKind::DispatchReadyTasks,
        StepKind::PollAllCounters,
        StepKind::ReleaseDone,
    ];

    /// Whether it is taken only when no other has done anything.
    fn is_last_resort(self) -> bool {
        matches!(self, StepKind::PollAllCounters | StepKind::ReleaseDone)
    }
}

/// What went wrong in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trouble<F> {
    Fault { watermark: u64, fault: F },
    Refused { ordinal: u64, refused: Refused },
    NoticeLost(NoticeLost),
}

/// How far generation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Generation {
    Goes,
    Waits { slot: SlotId },
    Finished,
}

/// A generator that has to wait for a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stall {
    None,
    Map,
    /// Since when, if that is recorded.
    Window {
        since_ns: u64,
    },
}

/// An AICPU with its generator.
#[derive(Debug)]
pub(super) struct Driven<G> {
    pub(super) aicpu: Aicpu,
    pub(super) generator: G,
    pub(super) generation: Generation,
    stall: Stall,
    /// The smallest ordinal that its next task can have.
    next_ordinal: u64,
    /// Most tasks of its next step: few at first, so that the first task of a run does not wait for many of its AICPU.
    step_tasks: u32,
    /// Whether it has nothing to do any more.
    is_done: bool,
}

impl<G: Generator> Driven<G> {
    /// Its first step generates about `step_tasks` tasks, the next ones twice as many each.
    pub(super) fn new(aicpu: Aicpu, generator: G, step_tasks: u32) -> Driven<G> {
        Driven {
            aicpu,
            generator,
            generation: Generation::Goes,
            stall: Stall::None,
            next_ordinal: 0,
            step_tasks,
            is_done: false,
        }
    }

    /// Takes all steps once; whether one did something.
    ///
    /// # Errors
    /// The first trouble.
    pub(super) fn round(&mut self, shared: &Shared, slots: &dyn Slots) -> Result<bool, Trouble<G::Fault>> {
        let mut did = false;
        for kind in StepKind::ALL {
            if !did || !kind.is_last_resort() {
                did |= self.step(shared, slots, kind)?;
            }
        }
        Ok(did)
    }

    /// Takes one step; whether it did something.
    ///
    /// # Errors
    /// What went wrong.
    pub(super) fn step(
        &mut self,
        shared: &Shared,
        slots: &dyn Slots,
        kind: StepKind,
    ) -> Result<bool, Trouble<G::Fault>> {
        if self.is_done {
            return Ok(false);
        }
        let did = match kind {
            StepKind::PollRings => self.aicpu.poll_rings(shared).map_err(Trouble::NoticeLost)?,
            StepKind::PollAicoreCompletion => self.aicpu.poll_aicore_completion(shared),
            StepKind::PollCounters => self.aicpu.poll_counters(shared),
            StepKind::Generate => self.generate(shared, slots)?,
            StepKind::Resolve => self.aicpu.resolve(shared),
            StepKind::DispatchReadyTasks => self.aicpu.dispatch_ready_tasks(shared),
            StepKind::PollAllCounters => self.aicpu.poll_all_counters(shared),
            StepKind::ReleaseDone => self.aicpu.release_done(shared),
        };
        Ok(did | self.settle(shared))
    }

    /// Notices that all is done.
    fn settle(&mut self, shared: &Shared) -> bool {
        self.is_done = self.generation == Generation::Finished && self.aicpu.is_drained();
        if self.is_done {
            self.aicpu.shut_down(shared);
            shared.finish_aicpu();
        }
        self.is_done
    }

    /// Lets the generator go on, as far as there is room.
    fn generate(&mut self, shared: &Shared, slots: &dyn Slots) -> Result<bool, Trouble<G::Fault>> {
        if self.generation == Generation::Finished {
            return Ok(false);
        }
        // Nothing that comes now would run.
        if self.watermark() >= shared.limit() {
            self.finish(shared);
            return Ok(true);
        }
        self.step_tasks = self.step_tasks.saturating_mul(2).min(shared.config.step_tasks);
        let free = self.free_places(shared);
        let asks =
            free > 0 || self.aicpu.queue.free_slots() == 0 && shared.config.window_mode == WindowMode::Abort;
        if !asks {
            return Ok(false);
        }
        let id = self.aicpu.id;
        let before = shared.watermark_of(id);
        let Driven { aicpu, generator, next_ordinal, .. } = self;
        let mut emitter = Emitter { aicpu, shared, slots, free, taken: 0, next_ordinal, refused: None };
        let progress = generator.generate(free.max(1), &mut emitter);
        let Emitter { taken, refused, .. } = emitter;
        shared.generated.fetch_add(taken, Ordering::AcqRel);
        if let Some((ordinal, refused)) = refused {
            shared.drop_from(ordinal);
            self.finish(shared);
            return Err(Trouble::Refused { ordinal, refused });
        }
        shared.publish_watermark(id, self.watermark());
        // It may have risen while the generator asked for a slot.
        let rises = shared.watermark_of(id) > before;
        self.conclude(shared, progress, taken > 0 || rises)
    }

    /// Notes how far the generator came; whether that is something.
    fn conclude(
        &mut self,
        shared: &Shared,
        progress: Progress<G::Fault>,
        did: bool,
    ) -> Result<bool, Trouble<G::Fault>> {
        match progress {
            Progress::More => self.generation = Generation::Goes,
            Progress::Waits(slot) => {
                self.generation = Generation::Waits { slot };
                return Ok(did);
            }
            Progress::Finished => self.finish(shared),
            Progress::Fault(fault) => {
                let watermark = self.watermark();
                // Before the watermark rises, so that whoever acts on that drops what comes later.
                shared.drop_from(watermark);
                self.finish(shared);
                return Err(Trouble::Fault { watermark, fault });
            }
        }
        Ok(true)
    }

    fn watermark(&self) -> u64 {
        self.generator.watermark().max(self.next_ordinal)
    }

    fn finish(&mut self, shared: &Shared) {
        self.generation = Generation::Finished;
        shared.finish_generator();
        shared.publish_watermark(self.aicpu.id, u64::MAX);
    }

    /// Tasks that the window has room for, and those that the map has.
    pub(super) fn room(&self, shared: &Shared) -> [u32; 2] {
        // A share per AICPU: one that is far ahead leaves room for those behind.
        let share = (shared.config.map_entries / u32::from(shared.aicpus())).max(1);
        // In an order of starts tasks fill the map in other moments than in the run whose order it is.
        let in_map = if shared.config.replay.is_some() {
            u32::MAX
        } else if self.aicpu.accesses >= share {
            0
        } else {
            ((share - self.aicpu.accesses) / USUAL_REGIONS).max(1)
        };
        [self.aicpu.queue.free_slots(), in_map]
    }

    /// Tasks that there is room for, and a record of having to wait.
    fn free_places(&mut self, shared: &Shared) -> u32 {
        let config = &shared.config;
        let [in_window, in_map] = self.room(shared);
        let now = if in_window == 0 {
            let timed = config.window_mode == WindowMode::Benchmark;
            Stall::Window { since_ns: if timed { shared.now() } else { 0 } }
        } else if in_map == 0 {
            Stall::Map
        } else {
            Stall::None
        };
        self.note_stall(config, now, shared);
        in_window.min(in_map).min(config.step_tasks).min(self.step_tasks)
    }

    fn note_stall(&mut self, config: &AicpuConfig, now: Stall, shared: &Shared) {
        match (self.stall, now) {
            (Stall::Window { .. }, Stall::Window { .. }) => return,
            (Stall::Window { since_ns }, _) if config.window_mode == WindowMode::Benchmark => {
                self.aicpu.stalls.push(WindowStall {
                    aicpu: self.aicpu.id.into(),
                    watermark: self.watermark(),
                    waited_ns: shared.now().saturating_sub(since_ns),
                });
            }
            _ => {}
        }
        self.aicpu.stats.window_stalls += u64::from(matches!(now, Stall::Window { .. }));
        self.aicpu.stats.map_stalls += u64::from(now == Stall::Map && self.stall != Stall::Map);
        self.stall = now;
    }
}

/// Takes what the generator of one AICPU hands over.
struct Emitter<'a> {
    aicpu: &'a mut Aicpu,
    shared: &'a Shared,
    slots: &'a dyn Slots,
    free: u32,
    taken: u64,
    next_ordinal: &'a mut u64,
    /// The first refusal, and where.
    refused: Option<(u64, Refused)>,
}

impl Emitter<'_> {
    fn refuse<T>(&mut self, ordinal: u64, refused: Refused) -> Result<T, Refused> {
        Err(self.refused.get_or_insert((ordinal, refused)).1)
    }

    fn check(&self, task: &AicpuTask<'_>) -> Result<(), Refused> {
        if let Some((_, refused)) = self.refused {
            return Err(refused);
        }
        let queue = &self.aicpu.queue;
        if queue.free_slots() == 0 && self.shared.config.window_mode == WindowMode::Abort {
            return Err(Refused::WindowFull { capacity: queue.capacity() });
        }
        if self.free == 0 {
            return Err(Refused::TooMany);
        }
        if task.payload.len() > limits::MAX_LOCAL_PARAMS as usize {
            return Err(Refused::PayloadTooLong { words: task.payload.len() });
        }
        // The largest number stands for the end.
        if task.ordinal < *self.next_ordinal || task.ordinal == u64::MAX {
            return Err(Refused::NotIncreasing { least: *self.next_ordinal });
        }
        if let Some(&after) = task.after.iter().find(|&&after| after >= task.ordinal) {
            return Err(Refused::AfterLater { after });
        }
        if !task.after.is_empty() && self.shared.config.after == AfterEdges::Absent {
            return Err(Refused::AfterNotKept);
        }
        if let Some(Err(why)) = self.shared.turns().map(|turns| turns.check(task.ordinal, task.kernel)) {
            return Err(Refused::NotReplayed(why));
        }
        let counters = self.shared.counters.len();
        match task.needs.iter().find(|need| need.counter >= counters) {
            Some(need) => Err(Refused::NoCounter { counter: need.counter, counters }),
            None => Ok(()),
        }
    }

    /// Fills a slot and puts the task's accesses into the map; what it waits for is not known then.
    fn enter(&mut self, task: &AicpuTask<'_>, slot: u16) {
        let shared = self.shared;
        let queue = &shared.queues[usize::from(self.aicpu.id)];
        queue.slot(slot).task.fill(task);
        let generation = queue.slot(slot).registration.generation();
        let producer = Producer { aicpu: self.aicpu.id, slot, generation };
        let step = self.aicpu.scopes.current(&shared.scopes);
        let local = self.aicpu.queue.task_mut(slot);
        local.ordinal = task.ordinal;
        local.kernel = task.kernel;
        local.pool = task.pool;
        local.stream = task.stream;
        local.priority = task.priority;
        local.fanin = 1;
        local.regions = 0;
        local.needs.extend_from_slice(task.needs);
        local.after.clear();
        local.after.extend_from_slice(task.after);
        local.step = step;
        if shared.config.trace == TracePolicy::Measured {
            local.generated_ns = shared.now();
        }
        if shared.config.after == AfterEdges::Kept {
            shared.directory.insert(task.ordinal, producer);
        }
        // What a task also writes need not be listed as read.
        let reads = task.reads.iter().filter(|region| !task.writes.contains(region));
        for region in reads {
            self.publish(slot, producer, Object::Tensor(region.tensor), *region, AccessKind::Read);
        }
        for region in task.writes {
            self.publish(slot, producer, Object::Tensor(region.tensor), *region, AccessKind::Write);
        }
        if let Some(stream) = task.stream {
            if shared.gates.orders_streams() {
                shared.gates.announce(stream, task.ordinal);
            } else {
                self.publish(slot, producer, Object::Streams, Object::stream(stream), AccessKind::Write);
            }
        }
    }

    fn publish(&mut self, slot: u16, producer: Producer, object: Object, region: Region, access: AccessKind) {
        if region.is_empty() {
            return;
        }
        let Aicpu { queue, cache, accesses, .. } = &mut *self.aicpu;
        let task = queue.task_mut(slot);
        let object = cache.number(&self.shared.map, object);
        let entry = Entry { region, access, ordinal: task.ordinal, producer };
        let map = cache.object(object);
        for shard in map.shards(&region) {
            let place = map.insert(shard, entry);
            task.accesses.push(Published { object, shard, place, region, access });
        }
        task.regions += 1;
        *accesses += 1;
    }

    /// Finds out what the task of a filled slot waits for, except the conflicts that are searched later.
    fn begin_waits(&mut self, slot: u16) {
        let shared = self.shared;
        let Aicpu { queue, step_waits, counter_waits, unresolved, stats, .. } = &mut *self.aicpu;
        let task = queue.task_mut(slot);
        if let Some(step) = task.step.as_ref().filter(|step| step.waits_for().is_some()) {
            task.fanin += 1;
            stats.scope_waits += 1;
            match step_waits.last_mut() {
                Some((last, slots)) if std::sync::Arc::ptr_eq(last, step) => slots.push(slot),
                _ => step_waits.push((step.clone(), vec![slot])),
            }
        }
        if counter_waits.add(slot, &task.needs, &shared.counters) {
            task.fanin += 1;
            stats.counter_waits += 1;
        }
        // A task whose stream starts its tasks in order must know that all before it were announced.
        let has_turn = task.stream.is_some() && shared.gates.orders_streams();
        if task.accesses.is_empty() && task.after.is_empty() && !has_turn {
            self.aicpu.arrive(shared, slot);
        } else {
            unresolved.push_back(slot);
        }
    }
}

impl Emit for Emitter<'_> {
    fn task(&mut self, task: &AicpuTask<'_>) -> Result<(), Refused> {
        if let Err(refused) = self.check(task) {
            return self.refuse(task.ordinal, refused);
        }
        let Some(slot) = self.aicpu.queue.take() else { return self.refuse(task.ordinal, Refused::TooMany) };
        self.enter(task, slot);
        self.begin_waits(slot);
        *self.next_ordinal = task.ordinal + 1;
        self.free -= 1;
        self.taken += 1;
        let Aicpu { stats, queue, .. } = &mut *self.aicpu;
        stats.tasks += 1;
        stats.max_in_flight = stats.max_in_flight.max(queue.in_flight());
        Ok(())
    }

    fn ordered_begin(&mut self, ordinal: u64) {
        self.aicpu.scopes.begin(ordinal);
    }

    fn ordered_step(&mut self, ordinal: u64) -> Result<(), Refused> {
        self.aicpu.scopes.step(ordinal).or_else(|refused| self.refuse(ordinal, refused))
    }

    fn ordered_end(&mut self, ordinal: u64) -> Result<(), Refused> {
        self.aicpu.scopes.end(ordinal).or_else(|refused| self.refuse(ordinal, refused))
    }

    fn slot(&mut self, slot: SlotId, ordinal: u64) -> Result<Option<i64>, Refused> {
        let Some(region) = self.slots.region(slot) else {
            return self.refuse(ordinal, Refused::NoSlot(slot));
        };
        // Own tasks below the ordinal are in the map. Tasks from it on do not start while this generator stands here,
        // because its watermark is not above them: so none of them changes the value.
        *self.next_ordinal = ordinal.max(*self.next_ordinal);
        self.shared.publish_watermark(self.aicpu.id, ordinal);
        if self.shared.watermark().0 < ordinal {
            return Ok(None);
        }
        let number = self.aicpu.cache.number(&self.shared.map, Object::Tensor(region.tensor));
        let mut writers = Vec::new();
        let accesses = self.aicpu.cache.object(number);
        for shard in accesses.shards(&region) {
            accesses.conflicts(shard, (&region, AccessKind::Read), ordinal, &mut writers);
        }
        let is_complete = |writer: &Producer| {
            let queue = &self.shared.queues[usize::from(writer.aicpu)];
            queue.slot(writer.slot).registration.is_complete(writer.generation)
        };
        Ok(writers.iter().all(is_complete).then(|| self.slots.value(slot, ordinal)))
    }
}
