//! Single steps of the loop of an AICPU, each bounded, each saying whether it did something.

use super::super::cores::Core;
use super::super::driven::{Driven, StepKind, Trouble};
use super::super::engine::{Aicpu, NoticeLost};
use super::super::ring::OutOfSequence;
use super::super::shared::Shared;
use super::super::*;
use super::scripted::{Item, Memory, Script, ScriptTask, Walk, cells};

/// Two AICPUs or more, stepped by hand.
struct Bench<'s> {
    shared: Shared,
    driven: Vec<Driven<Walk<'s>>>,
    cores: Vec<Core>,
    memory: Memory,
}

impl<'s> Bench<'s> {
    fn new(script: &'s Script, aicpus: u16, config: &AicpuConfig) -> Bench<'s> {
        let shared = Shared::new(config, aicpus.into());
        let generators = script.generators(aicpus).into_iter();
        let driven = (0..).zip(generators);
        let driven = driven.map(|(id, walk)| Driven::new(Aicpu::new(&shared, id), walk, config.step_tasks));
        let driven = driven.collect();
        let cores = (0..shared.topology.units.len() as u32).map(|id| Core::new(&shared, id)).collect();
        Bench { driven, cores, memory: Memory::new(script), shared }
    }

    fn step(&mut self, aicpu: usize, kind: StepKind) -> bool {
        let did = self.driven[aicpu].step(&self.shared, &self.memory, kind).expect("nothing is wrong");
        if did {
            self.shared.advance_epoch();
        }
        did
    }

    fn steps(&mut self, aicpu: usize, kinds: &[StepKind]) -> Vec<bool> {
        kinds.iter().map(|&kind| self.step(aicpu, kind)).collect()
    }

    fn run_core(&mut self, core: usize) -> bool {
        self.cores[core].run_one(&self.shared, &self.memory, 0).expect("no task fails")
    }
}

use StepKind::{
    DispatchReadyTasks, Generate, PollAicoreCompletion, PollCounters, PollRings, ReleaseDone, Resolve,
};

fn task(owner: u16, writes: u32) -> ScriptTask {
    ScriptTask { owner, writes: vec![cells(0, writes, writes + 1)], ..ScriptTask::default() }
}

#[test]
fn steps_without_anything_to_do_say_so() {
    let script = Script::new([task(0, 0)]);
    let mut bench = Bench::new(&script, 2, &AicpuConfig::default());
    let idle = [PollRings, PollAicoreCompletion, PollCounters, Resolve, DispatchReadyTasks, ReleaseDone];
    assert_eq!(bench.steps(0, &idle), [false; 6]);
}

#[test]
fn a_task_is_resolved_when_every_generator_is_past_it() {
    let script = Script::new([task(0, 0), task(1, 1)]);
    let mut bench = Bench::new(&script, 2, &AicpuConfig::default());
    assert_eq!(bench.steps(0, &[Generate, Resolve, DispatchReadyTasks]), [true, false, false]);
    assert!(bench.step(1, Generate));
    assert_eq!(bench.steps(0, &[Resolve, DispatchReadyTasks]), [true, true]);
    assert!(bench.run_core(0) && !bench.run_core(1));
    assert_eq!(bench.steps(0, &[PollAicoreCompletion, PollAicoreCompletion, Generate]), [true, false, false]);
}

#[test]
fn a_step_generates_and_resolves_a_bounded_number_of_tasks() {
    let script = Script::new((0..100).map(|i| task(0, i % 12)));
    let config = AicpuConfig { step_tasks: 3, window: 7, ..AicpuConfig::default() };
    let mut bench = Bench::new(&script, 1, &config);
    let in_flight = |bench: &Bench<'_>| bench.driven[0].aicpu.queue.in_flight();
    let counts: Vec<u32> = (0..5)
        .map(|_| {
            bench.step(0, Generate);
            in_flight(&bench)
        })
        .collect();
    assert_eq!(counts, [3, 6, 7, 7, 7]);
    let unresolved: Vec<usize> = (0..4)
        .map(|_| {
            bench.step(0, Resolve);
            bench.driven[0].aicpu.unresolved.len()
        })
        .collect();
    assert_eq!(unresolved, [4, 1, 0, 0]);
    // One core: one task at a time.
    assert_eq!(bench.steps(0, &[DispatchReadyTasks, DispatchReadyTasks]), [true, false]);
}

#[test]
fn a_notice_that_finds_the_ring_full_is_kept_and_sent_later() {
    let mut tasks: Vec<ScriptTask> = (0..3).map(|cell| task(0, cell)).collect();
    tasks.extend((0..3).map(|cell| task(1, cell)));
    let script = Script::new(tasks);
    let mut bench = Bench::new(&script, 2, &AicpuConfig { ring: 1, ..AicpuConfig::default() });
    for aicpu in 0..2 {
        bench.step(aicpu, Generate);
    }
    for aicpu in 0..2 {
        bench.step(aicpu, Resolve);
    }
    for _ in 0..3 {
        assert_eq!(bench.steps(0, &[DispatchReadyTasks]), [true]);
        assert!(bench.run_core(0));
        assert_eq!(bench.steps(0, &[PollAicoreCompletion]), [true]);
    }
    let stats = bench.driven[0].aicpu.stats;
    assert_eq!((stats.notices, stats.ring_stalls), (3, 2));
    assert!(!bench.driven[0].aicpu.is_drained());
    let mut sent = 0;
    while !bench.driven[0].aicpu.is_drained() {
        assert!(bench.step(1, PollRings) && bench.step(0, PollRings));
        sent += 1;
    }
    assert_eq!(sent, 2);
    assert!(bench.step(1, PollRings) && !bench.step(1, PollRings));
    assert_eq!(bench.driven[1].aicpu.ready.slots().count(), 3);
}

#[test]
fn a_notice_that_was_overwritten_is_reported() {
    let script = Script::new([task(0, 0)]);
    let mut bench = Bench::new(&script, 2, &AicpuConfig { ring: 1, ..AicpuConfig::default() });
    assert!(bench.shared.notify(1, 0, 0) && bench.shared.ring(1, 0).pop() == Ok(Some(0)));
    bench.shared.ring(1, 0).forge(0, 9);
    let outcome = bench.driven[0].step(&bench.shared, &bench.memory, PollRings);
    let sequence = OutOfSequence { expected: 1, found: 9 };
    assert_eq!(outcome, Err(Trouble::NoticeLost(NoticeLost { from: 1, sequence })));
}

#[test]
fn completions_are_gathered_and_released_together() {
    let script = Script::new((0..4).map(|_| task(0, 0)));
    let mut bench = Bench::new(&script, 1, &AicpuConfig { batch: 2, ..AicpuConfig::default() });
    bench.steps(0, &[Generate, Resolve, DispatchReadyTasks]);
    assert!(bench.run_core(0));
    assert_eq!(bench.steps(0, &[PollAicoreCompletion, DispatchReadyTasks]), [true, false]);
    assert_eq!(bench.steps(0, &[ReleaseDone, ReleaseDone, DispatchReadyTasks]), [true, false, true]);
}

#[test]
fn a_step_of_a_scope_waits_for_tasks_of_other_aicpus_without_edges() {
    let free = |owner| Item::Task(ScriptTask { owner, ..ScriptTask::default() });
    let items = vec![Item::Begin, free(0), Item::Step, free(1), Item::End];
    let script = Script { items, counted_from: 1 };
    let mut bench = Bench::new(&script, 2, &AicpuConfig::default());
    bench.step(0, Generate);
    bench.step(1, Generate);
    assert_eq!(bench.steps(1, &[PollCounters, DispatchReadyTasks]), [false, false]);
    assert!(bench.step(0, DispatchReadyTasks) && bench.run_core(0) && bench.step(0, PollAicoreCompletion));
    assert_eq!(bench.steps(1, &[PollCounters, DispatchReadyTasks]), [true, true]);
    assert_eq!(bench.driven[1].aicpu.stats.scope_waits, 1);
    // All generators are past the scope: its counter is forgotten, by the first to look.
    assert_eq!(bench.shared.scopes.len(), 0);
}

#[test]
fn cores_go_home_when_their_aicpu_is_done() {
    let script = Script::new([task(0, 0)]);
    let mut bench = Bench::new(&script, 1, &AicpuConfig::default());
    bench.steps(0, &[Generate, Resolve, DispatchReadyTasks]);
    assert!(bench.run_core(0) && !bench.shared.is_finished());
    bench.steps(0, &[PollAicoreCompletion]);
    bench.steps(0, &[Generate]);
    assert!(bench.shared.is_finished() && !bench.run_core(0));
    assert!(bench.shared.links.iter().all(|link| link.handshake.assign(0).is_err()));
}
