//! What all AICPUs and cores of a run share.

use super::config::AicpuConfig;
use super::counters::Counters;
use super::directory::Directory;
use super::gates::Gates;
use super::queue::SharedQueue;
use super::ring::NotifyRing;
use super::scopes::ScopeTable;
use super::tensor_map::GlobalTensorMap;
use super::topology::{Link, Topology};
use crate::replay::Turns;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Fault, Ordering, has};
use crate::{Start, clock};
use crossbeam_utils::CachePadded;
use std::sync::{OnceLock, PoisonError};
use std::time::Instant;

/// Why a run stops at once, as a number; nothing while it goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Stop {
    Cancelled = 1,
    Stuck = 2,
    Broken = 3,
}

/// AICPUs that a word of senders has bits for.
pub(super) const SENDERS: u16 = 64;

/// Words for the senders among so many AICPUs.
fn sender_words(aicpus: usize) -> usize {
    aicpus.div_ceil(SENDERS.into())
}

/// Virtual time, in which notices take theirs.
#[derive(Debug, Default)]
pub(super) struct Moment {
    pub(super) cycle: std::sync::atomic::AtomicU64,
    /// From whom, to whom, and of which slot.
    pub(super) notices: std::sync::Mutex<Vec<(u16, u16, u16)>>,
}

const GOES_ON: u32 = 0;
/// The time of the first task while there was none.
const NO_TASK: u64 = u64::MAX;

/// What all AICPUs and cores of a run share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: AicpuConfig,
    pub(super) origin: Instant,
    /// In virtual time: the cycle, and the notices that are under way.
    pub(super) moment: Option<Box<Moment>>,
    /// Per AICPU: all its tasks with smaller ordinals are in the map.
    watermarks: Box<[CachePadded<AtomicU64>]>,
    pub(super) queues: Box<[SharedQueue]>,
    /// From each AICPU to each, made when it is first used.
    rings: Box<[OnceLock<Box<NotifyRing>>]>,
    /// Per AICPU, in words, the AICPUs that have put something into their ring to it since it last looked.
    senders: Box<[CachePadded<AtomicU64>]>,
    pub(super) map: GlobalTensorMap,
    pub(super) directory: Directory,
    pub(super) scopes: ScopeTable,
    pub(super) counters: Counters,
    pub(super) gates: Gates,
    pub(super) topology: Topology,
    /// Whose turn it is in an order of starts.
    turns: Option<Turns>,
    pub(super) links: Box<[Link]>,
    /// Changes after every round of steps that did something.
    epoch: CachePadded<AtomicU64>,
    stop: AtomicU32,
    /// Tasks from this ordinal on are dropped.
    limit: CachePadded<AtomicU64>,
    started: AtomicBool,
    pub(super) generated: CachePadded<AtomicU64>,
    pub(super) completed: CachePadded<AtomicU64>,
    generating: AtomicU32,
    busy: AtomicU32,
    first_task_ns: AtomicU64,
    generation_ns: AtomicU64,
    overlapped: AtomicU64,
    pub(super) forced_starts: AtomicU64,
}

impl Shared {
    /// For a configuration that was checked.
    pub(super) fn new(config: &AicpuConfig, aicpus: u32) -> Shared {
        let shared = config.replay.as_ref().map_or(config.threads.max(aicpus), |replay| replay.workers());
        Shared::with(config, aicpus, Topology::new(config.pools, shared, aicpus))
    }

    /// The same, with these cores.
    pub(super) fn with(config: &AicpuConfig, aicpus: u32, topology: Topology) -> Shared {
        let count = aicpus as usize;
        let ring_count = if aicpus > 1 { count * count } else { 0 };
        Shared {
            origin: clock::now(),
            moment: None,
            watermarks: (0..count).map(|_| CachePadded::new(AtomicU64::new(0))).collect(),
            queues: (0..count).map(|_| SharedQueue::new(config.window, aicpus as u16)).collect(),
            rings: (0..ring_count).map(|_| OnceLock::new()).collect(),
            senders: (0..count * sender_words(count)).map(|_| CachePadded::new(AtomicU64::new(0))).collect(),
            map: GlobalTensorMap::default(),
            directory: Directory::new(),
            scopes: ScopeTable::new(),
            counters: Counters::new(config.counters),
            gates: Gates::new(&config.gates),
            links: topology.links(),
            turns: config.replay.clone().map(|replay| Turns::new(replay, u32::MAX)),
            topology,
            epoch: CachePadded::new(AtomicU64::new(0)),
            stop: AtomicU32::new(GOES_ON),
            limit: CachePadded::new(AtomicU64::new(u64::MAX)),
            started: AtomicBool::new(config.start == Start::Immediate),
            generated: CachePadded::new(AtomicU64::new(0)),
            completed: CachePadded::new(AtomicU64::new(0)),
            generating: AtomicU32::new(aicpus),
            busy: AtomicU32::new(aicpus),
            first_task_ns: AtomicU64::new(NO_TASK),
            generation_ns: AtomicU64::new(0),
            overlapped: AtomicU64::new(0),
            forced_starts: AtomicU64::new(0),
            config: config.clone(),
        }
    }

    pub(super) fn aicpus(&self) -> u16 {
        self.watermarks.len() as u16
    }

    /// Nanoseconds since the run's start, or the cycle of virtual time.
    pub(super) fn now(&self) -> u64 {
        match &self.moment {
            None => clock::nanos_since(self.origin),
            Some(moment) => moment.cycle.load(std::sync::atomic::Ordering::Relaxed),
        }
    }

    /// The ring from one AICPU to another.
    pub(super) fn ring(&self, from: u16, to: u16) -> &NotifyRing {
        let ring = &self.rings[usize::from(from) * self.watermarks.len() + usize::from(to)];
        ring.get_or_init(|| Box::new(NotifyRing::new(self.config.ring)))
    }

    /// Words of [`take_senders`](Self::take_senders).
    pub(super) fn sender_words(&self) -> u16 {
        sender_words(self.watermarks.len()) as u16
    }

    fn senders(&self, to: u16, word: u16) -> &AtomicU64 {
        &self.senders[usize::from(to) * sender_words(self.watermarks.len()) + usize::from(word)]
    }

    /// Sends a notice; whether there was room for it.
    pub(super) fn notify(&self, from: u16, to: u16, slot: u16) -> bool {
        match &self.moment {
            None => self.deliver(from, to, slot),
            Some(moment) => {
                moment.notices.lock().unwrap_or_else(PoisonError::into_inner).push((from, to, slot));
                true
            }
        }
    }

    /// Puts a notice into its ring, if that has room.
    pub(super) fn deliver(&self, from: u16, to: u16, slot: u16) -> bool {
        let sent = self.ring(from, to).push(slot);
        if sent {
            // After the notice is in the ring: who takes this bit finds it there.
            self.senders(to, from / SENDERS).fetch_or(1 << (from % SENDERS), Ordering::AcqRel);
        }
        sent
    }

    /// The AICPUs whose rings may have something for this one, of the [`SENDERS`] of a word, as bits. A notice that comes later sets its bit again.
    pub(super) fn take_senders(&self, to: u16, word: u16) -> u64 {
        let senders = self.senders(to, word);
        // Spares the write where there is nothing; a notice that this misses is found in the next round.
        if senders.load(Ordering::Relaxed) == 0 { 0 } else { senders.swap(0, Ordering::AcqRel) }
    }

    /// The AICPU has put all its tasks below this ordinal into the map.
    pub(super) fn publish_watermark(&self, aicpu: u16, watermark: u64) {
        let own = &self.watermarks[usize::from(aicpu)];
        // Only its AICPU writes it. Release: what is in the map, and a limit set before, is seen with it.
        if own.load(Ordering::Relaxed) < watermark {
            own.store(watermark, Ordering::Release);
        }
    }

    pub(super) fn watermark_of(&self, aicpu: u16) -> u64 {
        self.watermarks[usize::from(aicpu)].load(Ordering::Acquire)
    }

    /// All tasks with smaller ordinals are in the map; and the AICPU that has generated least.
    pub(super) fn watermark(&self) -> (u64, u16) {
        (0..self.aicpus()).map(|aicpu| (self.watermark_of(aicpu), aicpu)).min().unwrap_or((u64::MAX, 0))
    }

    /// Drops tasks from this ordinal on.
    pub(super) fn drop_from(&self, ordinal: u64) {
        self.limit.fetch_min(ordinal, Ordering::AcqRel);
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Acquire)
    }

    /// Whose turn it is to start. Once tasks are dropped the others start in any order: turns of what is dropped may never come.
    pub(super) fn turns(&self) -> Option<&Turns> {
        self.turns.as_ref().filter(|_| self.limit() == u64::MAX)
    }

    /// A task has started, or is dropped.
    pub(super) fn pass_turn(&self, ordinal: u64) {
        if let Some(turns) = &self.turns {
            turns.pass(turns.priority(ordinal));
        }
    }

    /// The task of the order of starts that should have started next, if one is left.
    pub(super) fn left_to_replay(&self) -> Option<u32> {
        self.turns()?.next().map(|(_, task)| task)
    }

    /// Ends the run at once; the first reason counts.
    pub(super) fn stop(&self, reason: Stop) {
        let _ = self.stop.compare_exchange(GOES_ON, reason as u32, Ordering::AcqRel, Ordering::Acquire);
    }

    pub(super) fn stopped(&self) -> Option<Stop> {
        match self.stop.load(Ordering::Acquire) {
            GOES_ON => None,
            stop if stop == Stop::Cancelled as u32 => Some(Stop::Cancelled),
            stop if stop == Stop::Stuck as u32 => Some(Stop::Stuck),
            _ => Some(Stop::Broken),
        }
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Steps have done something, all of which who reads the epoch from now on sees.
    pub(super) fn advance_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether tasks may start.
    pub(super) fn has_started(&self) -> bool {
        if self.started.load(Ordering::Acquire) {
            return true;
        }
        let starts = match self.config.start {
            Start::Immediate => true,
            Start::AfterOrchestration => false,
            Start::Threshold(tasks) => self.generated.load(Ordering::Acquire) >= u64::from(tasks),
        };
        let starts = starts || self.generating.load(Ordering::Acquire) == 0;
        if starts {
            self.started.store(true, Ordering::Release);
        }
        starts
    }

    /// Nothing else can go on: tasks start. Whether that may be a change.
    pub(super) fn force_start(&self) -> bool {
        if self.started.load(Ordering::Acquire) {
            return false;
        }
        // Before the start, so that a thread that finds it made finds a later epoch too, and does not take this one for the last. And after
        // it, so that a thread that looked in the later epoch, but before the start, looks again.
        if !has(Fault::UnannouncedStart) {
            self.advance_epoch();
        }
        if !self.started.swap(true, Ordering::AcqRel) {
            self.forced_starts.fetch_add(1, Ordering::Relaxed);
        }
        if !has(Fault::UntoldStart) {
            self.advance_epoch();
        }
        true
    }

    /// A generator has finished.
    pub(super) fn finish_generator(&self) {
        if self.generating.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.generation_ns.store(self.now(), Ordering::Relaxed);
            self.overlapped.store(self.completed.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// An AICPU has nothing to do any more.
    pub(super) fn finish_aicpu(&self) {
        self.busy.fetch_sub(1, Ordering::AcqRel);
    }

    pub(super) fn is_finished(&self) -> bool {
        self.busy.load(Ordering::Acquire) == 0
    }

    /// A task starts now, if it is the first.
    pub(super) fn note_start(&self) {
        if self.first_task_ns.load(Ordering::Relaxed) == NO_TASK {
            self.first_task_ns.fetch_min(self.now(), Ordering::Relaxed);
        }
    }

    pub(super) fn first_task_ns(&self) -> Option<u64> {
        Some(self.first_task_ns.load(Ordering::Relaxed)).filter(|&at| at != NO_TASK)
    }

    /// When the last generator had finished, and how many tasks were complete by then.
    pub(super) fn generation(&self) -> (u64, u64) {
        (self.generation_ns.load(Ordering::Relaxed), self.overlapped.load(Ordering::Relaxed))
    }
}
