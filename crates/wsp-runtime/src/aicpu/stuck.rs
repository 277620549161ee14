//! Why a run on AICPUs cannot go on: who waits for what.

use super::driven::{Driven, Generation};
use super::generator::Generator;
use super::queue::LocalTask;
use super::shared::Shared;
use crate::report::{Party, Report, report as report_of};
use wsp_ordered::OrderedSet;

/// What waits, each for what.
#[derive(Default)]
struct Waits {
    pairs: Vec<(Party, Party)>,
    /// Steps and counts of which it is known what they wait for.
    known: OrderedSet<Party>,
}

impl Waits {
    fn add(&mut self, waiting: Party, on: Party) {
        self.pairs.push((waiting, on));
    }

    /// Adds what a step or a count waits for, once: those of the tasks that are left.
    fn add_left<G>(&mut self, waiting: &Party, aicpus: &[Driven<G>], is_of: impl Fn(&LocalTask) -> bool) {
        if !self.known.insert(waiting.clone()) {
            return;
        }
        for driven in aicpus {
            let queue = &driven.aicpu.queue;
            let of = queue.occupied().filter(|&slot| is_of(queue.task(slot)));
            self.pairs.extend(of.map(|slot| (waiting.clone(), task(driven, slot))));
        }
    }
}

/// Makes the report from all AICPUs, in the order of their ids, when all threads have come to rest.
pub(super) fn report<G: Generator>(shared: &Shared, aicpus: &[Driven<G>]) -> Report {
    let mut waits = Waits::default();
    for driven in aicpus {
        task_waits(shared, aicpus, driven, &mut waits);
        let on = match driven.generation {
            Generation::Finished => continue,
            Generation::Waits { slot } => Party::Slot(slot),
            Generation::Goes => room(driven),
        };
        waits.add(generator(shared, driven.aicpu.id), on);
    }
    let unfinished = aicpus.iter().map(|driven| u64::from(driven.aicpu.queue.in_flight())).sum();
    // What the others wait for stands beside their names.
    let is_listed = |party: &Party| matches!(party, Party::Generated { .. } | Party::Generator { .. });
    report_of(unfinished, waits.pairs, is_listed, Party::clone)
}

fn task<G>(driven: &Driven<G>, slot: u16) -> Party {
    let task = driven.aicpu.queue.task(slot);
    Party::Generated { ordinal: task.ordinal, kernel: task.kernel, aicpu: driven.aicpu.id.into() }
}

fn generator(shared: &Shared, aicpu: u16) -> Party {
    Party::Generator { aicpu: aicpu.into(), watermark: shared.watermark_of(aicpu) }
}

fn room<G>(driven: &Driven<G>) -> Party {
    Party::Room { aicpu: driven.aicpu.id.into(), in_flight: driven.aicpu.queue.in_flight() }
}

/// What the tasks of one AICPU wait for, and what could bring that about: counts and steps wait for the tasks that are left of them, room for all of
/// the AICPU's.
fn task_waits<G>(shared: &Shared, aicpus: &[Driven<G>], driven: &Driven<G>, waits: &mut Waits) {
    let aicpu = &driven.aicpu;
    for slot in aicpu.queue.occupied() {
        waits.add(room(driven), task(driven, slot));
        for after in aicpu.queue.successors(slot) {
            waits.add(task(driven, after), task(driven, slot));
        }
    }
    for (slot, on) in aicpu.remote.all() {
        if let Some(other) = aicpus.get(usize::from(on.aicpu)) {
            waits.add(task(driven, slot), task(other, on.slot));
        }
    }
    for &slot in &aicpu.unresolved {
        let ordinal = aicpu.queue.task(slot).ordinal;
        for other in (0..shared.aicpus()).filter(|&other| shared.watermark_of(other) <= ordinal) {
            waits.add(task(driven, slot), generator(shared, other));
        }
    }
    for (step, slots) in &aicpu.step_waits {
        let Some(open) = step.waits_for() else { continue };
        let on = Party::Step { begin: open.begin, complete: open.complete, needed: open.need };
        let before = open.begin..open.begin.saturating_add(open.need);
        waits.add_left(&on, aicpus, |task| before.contains(&task.ordinal));
        slots.iter().for_each(|&slot| waits.add(task(driven, slot), on.clone()));
    }
    for slot in aicpu.counter_waits.slots() {
        for need in aicpu.queue.task(slot).needs.iter().filter(|need| !shared.counters.is_met(need)) {
            let (counter, reached) = (need.counter, shared.counters.reached(need));
            let on = Party::Counter { counter, reached, needed: need.reached };
            waits.add_left(&on, aicpus, |task| task.needs.iter().any(|of| of.counter == counter));
            waits.add(task(driven, slot), on);
        }
    }
    for slot in aicpu.gated.iter().map(|(_, slot)| *slot).chain(aicpu.ready.slots()) {
        waits.add(task(driven, slot), Party::Core);
    }
}
