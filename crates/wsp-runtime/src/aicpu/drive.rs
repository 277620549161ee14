//! Threads: each drives some AICPUs and some cores, round after round.
//!
//! # When a run cannot go on
//!
//! After every round in which something was done, its thread advances the *epoch*. A thread whose round did nothing notes
//! the epoch that it read before the round. When all threads have noted the epoch that is current, then each has looked at
//! everything since the last change, and found nothing: whoever does something has not noted this epoch, because it
//! advances it first. Then tasks that a start policy holds back are started; if none are, the run is stuck.

use super::config::{AicpuConfig, Interleaving};
use super::cores::Core;
use super::driven::{Driven, StepKind, Trouble};
use super::failure::{AicpuFailure, SourceFault};
use super::generator::{Generator, Slots};
use super::shared::{Shared, Stop};
use crate::merge::failure;
use crate::random;
use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::team::Team;
use crate::yields::give_way;
use crate::{Failure, StartError, TaskRunner};
use crossbeam_utils::CachePadded;
use std::hint::spin_loop;
use std::iter::once;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

/// Rounds that did nothing before a thread gives way, and before it sleeps.
const SPINS: u32 = 16;
const YIELDS: u32 = 128;
/// How long it sleeps: about what its being waited for may cost.
const NAP: Duration = Duration::from_micros(50);

/// Which of several failures counts: that with the smallest key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct FailureKey {
    /// Tasks from this ordinal on are dropped.
    limit: u64,
    aicpu: u16,
}

/// A failure that counts unless one before it in elaboration order is found.
struct Recorded<F, G> {
    key: FailureKey,
    failure: AicpuFailure<F, G>,
}

/// A run, as all threads see it.
pub(super) struct Run<'r, R: TaskRunner, G: Generator> {
    pub(super) shared: Shared,
    runner: &'r R,
    slots: &'r dyn Slots,
    failure: Mutex<Option<Recorded<R::Failure, G::Fault>>>,
    /// Per thread, one more than the epoch in which it found nothing to do.
    idle: Box<[CachePadded<AtomicU64>]>,
}

impl<'r, R: TaskRunner, G: Generator> Run<'r, R, G> {
    pub(super) fn new(shared: Shared, runner: &'r R, slots: &'r dyn Slots) -> Self {
        let idle = (0..shared.config.threads).map(|_| CachePadded::new(AtomicU64::new(0))).collect();
        Run { shared, runner, slots, failure: Mutex::new(None), idle }
    }

    fn record(&self, key: FailureKey, failure: AicpuFailure<R::Failure, G::Fault>) {
        let mut recorded = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.as_ref().is_none_or(|first| key < first.key) {
            *recorded = Some(Recorded { key, failure });
        }
    }

    /// The failure that counts.
    pub(super) fn take_failure(&self) -> Option<AicpuFailure<R::Failure, G::Fault>> {
        let mut recorded = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.take().map(|recorded| recorded.failure)
    }

    fn trouble(&self, aicpu: u16, trouble: Trouble<G::Fault>) {
        let (limit, failure) = match trouble {
            Trouble::Fault { watermark, fault } => {
                (watermark, SourceFault::Fault { aicpu: aicpu.into(), watermark, fault })
            }
            Trouble::Refused { ordinal, refused } => {
                (ordinal, SourceFault::Refused { aicpu: aicpu.into(), ordinal, refused })
            }
            Trouble::NoticeLost(lost) => {
                self.shared.stop(Stop::Broken);
                let (expected, found) = (lost.sequence.expected, lost.sequence.found);
                (0, SourceFault::NoticeLost { from: lost.from.into(), to: aicpu.into(), expected, found })
            }
        };
        // A task that fails comes before what its successor's generation finds.
        self.record(FailureKey { limit, aicpu: aicpu + 1 }, Failure::Source(failure));
    }
}

/// What one thread drives.
pub(super) struct Crew<G> {
    thread: usize,
    pub(super) aicpus: Vec<Driven<G>>,
    pub(super) cores: Vec<Core>,
    random: Option<u64>,
    idle_rounds: u32,
}

impl<G: Generator> Crew<G> {
    /// A crew of nothing.
    pub(super) fn new(config: &AicpuConfig, thread: u32) -> Crew<G> {
        Crew {
            thread: thread as usize,
            aicpus: Vec::new(),
            cores: Vec::new(),
            random: match config.interleaving {
                Interleaving::InTurn => None,
                Interleaving::Random(seed) => {
                    Some(seed ^ u64::from(thread).wrapping_mul(0x9E37_79B9_7F4A_7C15))
                }
            },
            idle_rounds: 0,
        }
    }

    /// Generates a little on the calling thread: then no task has to wait for a thread that is not awake yet.
    /// Steps at random come in any order, this one too.
    fn begin<R: TaskRunner>(&mut self, run: &Run<'_, R, G>) {
        if self.random.is_some() {
            return;
        }
        for driven in &mut self.aicpus {
            if let Err(trouble) = driven.step(&run.shared, run.slots, StepKind::Generate) {
                run.trouble(driven.aicpu.id, trouble);
            }
        }
    }

    /// Goes round until the run ends.
    fn drive<R: TaskRunner>(&mut self, run: &Run<'_, R, G>) {
        let shared = &run.shared;
        while !shared.is_finished() && shared.stopped().is_none() {
            if shared.config.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
                shared.stop(Stop::Cancelled);
                return;
            }
            let epoch = shared.epoch();
            let did = self.random_steps(run) || self.round(run);
            if did {
                self.idle_rounds = 0;
                shared.advance_epoch();
            } else {
                self.rest(run, epoch);
            }
        }
    }

    /// Goes round until the run ends, and stops the run if something panics: the others would wait for this thread.
    fn driven<R: TaskRunner>(mut self, run: &Run<'_, R, G>) -> thread::Result<Crew<G>> {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.drive(run)));
        if outcome.is_err() {
            run.shared.stop(Stop::Broken);
        }
        outcome.map(|()| self)
    }

    /// All steps of all AICPUs and cores once; whether one did something.
    fn round<R: TaskRunner>(&mut self, run: &Run<'_, R, G>) -> bool {
        let mut did = false;
        for driven in &mut self.aicpus {
            did |= driven.round(&run.shared, run.slots).unwrap_or_else(|trouble| {
                run.trouble(driven.aicpu.id, trouble);
                true
            });
        }
        for core in &mut self.cores {
            did |= run_one(core, self.thread, run);
        }
        did
    }

    /// Some steps at random, if asked for; whether one did something.
    fn random_steps<R: TaskRunner>(&mut self, run: &Run<'_, R, G>) -> bool {
        let Some(random) = &mut self.random else { return false };
        let choices = self.aicpus.len() * StepKind::ALL.len() + self.cores.len();
        let mut did = false;
        for _ in 0..choices {
            let choice = random::next(random) as usize % choices;
            let (at, kind) = (choice / StepKind::ALL.len(), choice % StepKind::ALL.len());
            if let Some(driven) = self.aicpus.get_mut(at) {
                let step = driven.step(&run.shared, run.slots, StepKind::ALL[kind]);
                did |= step.unwrap_or_else(|trouble| {
                    run.trouble(driven.aicpu.id, trouble);
                    true
                });
            } else if let Some(core) = self.cores.get_mut(choice - self.aicpus.len() * StepKind::ALL.len()) {
                did |= run_one(core, self.thread, run);
            }
        }
        did
    }

    /// A round in this epoch did nothing.
    fn rest<R: TaskRunner>(&mut self, run: &Run<'_, R, G>, epoch: u64) {
        let shared = &run.shared;
        run.idle[self.thread].store(epoch + 1, Ordering::Release);
        let all_idle = run.idle.iter().all(|idle| idle.load(Ordering::Acquire) == epoch + 1);
        if all_idle && shared.epoch() == epoch {
            if !shared.force_start() && shared.epoch() == epoch {
                shared.stop(Stop::Stuck);
            }
            return;
        }
        self.idle_rounds = self.idle_rounds.saturating_add(1);
        match self.idle_rounds {
            0..SPINS => spin_loop(),
            SPINS..YIELDS => give_way(),
            _ => thread::park_timeout(NAP),
        }
    }
}

/// Lets a core run a task; whether there was one.
fn run_one<R: TaskRunner, G: Generator>(core: &mut Core, thread: usize, run: &Run<'_, R, G>) -> bool {
    match core.run_one(&run.shared, run.runner, thread) {
        Ok(did) => did,
        Err(failed) => {
            run.record(FailureKey { limit: failed.task.saturating_add(1), aicpu: 0 }, failure(failed, 0));
            true
        }
    }
}

/// Drives all crews, each on a thread of its own and the first on this one, until the run ends, and gives them back in their order.
///
/// # Errors
/// As [`Team::each`].
pub(super) fn drive_all<R: TaskRunner, G: Generator>(
    run: &Run<'_, R, G>,
    team: &Team,
    mut crews: Vec<Crew<G>>,
) -> Result<Vec<Crew<G>>, StartError> {
    for crew in &mut crews {
        crew.begin(run);
    }
    let mut crews = crews.into_iter();
    let first = crews.next().expect("a run should have a thread");
    let driven = |crew: Crew<G>| crew.driven(run);
    let (first, others) = team.each(crews.collect(), driven, || driven(first))?;
    let outcomes = once(first).chain(others);
    Ok(outcomes.map(|outcome| outcome.unwrap_or_else(|panic| resume_unwind(panic))).collect())
}
