//! Why a run on AICPUs cannot go on: who waits for what.

use super::driven::{Driven, Generation};
use super::generator::{Generator, Need};
use super::shared::Shared;
use crate::report::MOST_LISTED;
use std::collections::BTreeMap;
use std::fmt;
use wsp_core::words::counted;
use wsp_core::{KernelId, SlotId};

/// Somebody who waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AicpuParty {
    /// A generated task.
    Task {
        /// Its number in elaboration order.
        ordinal: u64,
        /// Its kernel.
        kernel: KernelId,
        /// Its AICPU.
        aicpu: u32,
    },
    /// A generator that has not finished.
    Generator {
        /// Its AICPU.
        aicpu: u32,
        /// It has generated all its tasks below this ordinal.
        watermark: u64,
    },
}

/// What somebody waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AicpuWait {
    /// The completion of a task.
    Task {
        /// Its number in elaboration order.
        ordinal: u64,
    },
    /// The progress of another generator.
    Watermark {
        /// Its AICPU.
        aicpu: u32,
        /// How far it has generated.
        watermark: u64,
    },
    /// Earlier steps of an ordered scope.
    Step {
        /// The ordinal at which the scope begins.
        begin: u64,
        /// Tasks of the scope that are complete.
        complete: u64,
        /// Tasks of the scope that come before.
        needed: u64,
    },
    /// Accesses of a tile.
    Counter {
        /// What is waited for.
        need: Need,
        /// How many are complete.
        reached: u64,
    },
    /// A computed value.
    Slot(SlotId),
    /// A place in the window or in the map.
    Place {
        /// Tasks in flight.
        in_flight: u32,
    },
    /// A gate, or an idle core.
    Core,
}

/// A run in which something is left, and nothing can go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StuckReport {
    /// Generated tasks that did not run.
    pub unfinished: u64,
    /// Who waits for what, the first of them: tasks by ordinal, then generators.
    pub waits: Vec<(AicpuParty, Vec<AicpuWait>)>,
}

impl fmt::Display for AicpuParty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AicpuParty::Task { ordinal, kernel, aicpu } => {
                write!(f, "task {ordinal} (kernel {}, AICPU {aicpu})", kernel.0)
            }
            AicpuParty::Generator { aicpu, watermark } => {
                write!(f, "the generator of AICPU {aicpu}, at ordinal {watermark},")
            }
        }
    }
}

impl fmt::Display for AicpuWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AicpuWait::Task { ordinal } => write!(f, "task {ordinal}"),
            AicpuWait::Watermark { aicpu, watermark } => {
                write!(f, "AICPU {aicpu} to generate (it is at ordinal {watermark})")
            }
            AicpuWait::Step { begin, complete, needed } => {
                write!(
                    f,
                    "earlier steps of the scope that begins at ordinal {begin} ({complete} of {needed} complete)"
                )
            }
            AicpuWait::Counter { need, reached } => {
                write!(f, "counter {} to reach {} (it is at {reached})", need.counter, need.reached)
            }
            AicpuWait::Slot(slot) => write!(f, "the value of slot {}", slot.0),
            AicpuWait::Place { in_flight } => {
                write!(f, "room ({in_flight} are in flight)", in_flight = counted(in_flight, "task"))
            }
            AicpuWait::Core => f.write_str("a gate or a core"),
        }
    }
}

impl fmt::Display for StuckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing can go on, but {} generated tasks wait", self.unfinished)?;
        for (party, on) in &self.waits {
            write!(f, "\n  {party} waits for ")?;
            for (i, wait) in on.iter().enumerate() {
                write!(f, "{}{wait}", if i == 0 { "" } else { ", " })?;
            }
        }
        Ok(())
    }
}

/// Makes the report from all AICPUs, in the order of their ids, when all threads have come to rest.
pub(super) fn report<G: Generator>(shared: &Shared, aicpus: &[Driven<G>]) -> StuckReport {
    let mut waits: BTreeMap<AicpuParty, Vec<AicpuWait>> = BTreeMap::new();
    for driven in aicpus {
        task_waits(shared, driven, |slot, wait| waits.entry(party(driven, slot)).or_default().push(wait));
        for (slot, on) in driven.aicpu.remote.all() {
            let of = aicpus.get(usize::from(on.aicpu)).map(|other| other.aicpu.queue.task(on.slot).ordinal);
            let wait = of.map(|ordinal| AicpuWait::Task { ordinal });
            waits.entry(party(driven, slot)).or_default().extend(wait);
        }
        let wait = match driven.generation {
            Generation::Finished => continue,
            Generation::Waits { slot } => AicpuWait::Slot(slot),
            Generation::Goes => AicpuWait::Place { in_flight: driven.aicpu.queue.in_flight() },
        };
        let aicpu = driven.aicpu.id;
        let generator = AicpuParty::Generator { aicpu: aicpu.into(), watermark: shared.watermark_of(aicpu) };
        waits.entry(generator).or_default().push(wait);
    }
    let unfinished = aicpus.iter().map(|driven| u64::from(driven.aicpu.queue.in_flight())).sum();
    let short = |(party, mut on): (AicpuParty, Vec<AicpuWait>)| {
        on.truncate(MOST_LISTED);
        (party, on)
    };
    StuckReport { unfinished, waits: waits.into_iter().take(MOST_LISTED).map(short).collect() }
}

fn party<G>(driven: &Driven<G>, slot: u16) -> AicpuParty {
    let task = driven.aicpu.queue.task(slot);
    AicpuParty::Task { ordinal: task.ordinal, kernel: task.kernel, aicpu: driven.aicpu.id.into() }
}

/// What the tasks of one AICPU wait for, but for tasks of others.
fn task_waits<G>(shared: &Shared, driven: &Driven<G>, mut waits: impl FnMut(u16, AicpuWait)) {
    let aicpu = &driven.aicpu;
    for slot in aicpu.queue.occupied() {
        let ordinal = aicpu.queue.task(slot).ordinal;
        for successor in aicpu.queue.successors(slot) {
            waits(successor, AicpuWait::Task { ordinal });
        }
    }
    for &slot in &aicpu.unresolved {
        let ordinal = aicpu.queue.task(slot).ordinal;
        for other in 0..shared.aicpus() {
            let watermark = shared.watermark_of(other);
            if watermark <= ordinal {
                waits(slot, AicpuWait::Watermark { aicpu: other.into(), watermark });
            }
        }
    }
    for (step, slots) in &aicpu.step_waits {
        let Some(open) = step.waits_for() else { continue };
        for &slot in slots {
            waits(slot, AicpuWait::Step { begin: open.begin, complete: open.complete, needed: open.need });
        }
    }
    for slot in aicpu.counter_waits.slots() {
        for need in aicpu.queue.task(slot).needs.iter().filter(|need| !shared.counters.is_met(need)) {
            waits(slot, AicpuWait::Counter { need: *need, reached: shared.counters.reached(need) });
        }
    }
    for slot in aicpu.gated.iter().map(|ready| ready.slot).chain(aicpu.ready.slots()) {
        waits(slot, AicpuWait::Core);
    }
}
