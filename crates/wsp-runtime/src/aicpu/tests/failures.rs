//! Runs that end early: each tells why, runs what comes before, and ends.

use super::super::*;
use super::random::{ALL, Random, script};
use super::run_aicpus;
use super::scripted::{CELLS, Item, Memory, Script, ScriptTask, TENSORS, Walk, cells};
use crate::{ConfigError, FailedTask, WindowMode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::{AccessKind, KernelId, SlotId, TaskId, limits};

type Outcome = Result<AicpuRunStats, AicpuFailure<String, String>>;

fn run(script: &Script, aicpus: u16, memory: &Memory, config: &AicpuConfig) -> Outcome {
    let config = AicpuConfig { counters: CELLS * TENSORS, ..config.clone() };
    run_aicpus(&config, script.generators(aicpus), memory, memory)
}

fn free_tasks(count: u64) -> Script {
    Script::new((0..count).map(|i| ScriptTask { owner: i as u16, ..ScriptTask::default() }))
}

#[test]
fn the_failure_that_a_sequential_run_meets_first_is_reported_and_all_before_it_runs() {
    for seed in 0..150 {
        let mut random = Random(seed);
        let program = script(seed, 50, ALL);
        let mut memory = Memory::new(&program);
        let (first, second) = (random.below(25), 25 + random.below(25));
        (memory.fails, memory.panics) =
            if seed == 0 { (Some(second), Some(first)) } else { (Some(first), None) };
        let config = AicpuConfig {
            threads: 1 + random.below(3) as u32,
            window: random.pick(&[1, 4, 64]),
            interleaving: Interleaving::Random(seed),
            ..AicpuConfig::default()
        };
        let failure = run(&program, 1 + random.below(8) as u16, &memory, &config).expect_err("a task fails");
        let ran = memory.ran();
        assert!((0..=first).all(|ordinal| ran.contains(&ordinal)), "{failure}");
        match failure {
            Failure::Task { ref task, ref failure } => {
                assert_eq!((task.id, failure), (first, &format!("not {first}")));
            }
            Failure::Panic { ref task, ref message } => {
                assert_eq!((task.id, message), (first, &format!("no {first}")));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn nothing_after_a_failed_task_starts_when_it_waits_for_it() {
    let chain = Script::new((0..100).map(|i| ScriptTask {
        owner: i,
        writes: vec![cells(0, 0, 1)],
        ..ScriptTask::default()
    }));
    let mut memory = Memory::new(&chain);
    memory.fails = Some(40);
    let config = AicpuConfig { threads: 2, window: 16, ..AicpuConfig::default() };
    let failure = run(&chain, 3, &memory, &config).expect_err("a task fails");
    assert_eq!(memory.ran(), (0..=40).collect::<Vec<_>>());
    let Failure::Task { task, .. } = failure else { panic!("{failure:?}") };
    assert!((1..60).contains(&task.cancelled) && task.payload == [0]);
}

#[test]
fn a_generator_at_fault_lets_what_comes_before_run() {
    for threads in 1..3 {
        let mut program = free_tasks(20);
        program.items.insert(15, Item::Fault("no such row"));
        let memory = Memory::new(&program);
        let config = AicpuConfig { threads, window: 2, ..AicpuConfig::default() };
        let failure = run(&program, 4, &memory, &config).expect_err("the generators are at fault");
        let Failure::Source(SourceFault::Fault { watermark: 15, ref fault, .. }) = failure else {
            panic!("{failure:?}")
        };
        assert_eq!(fault, "no such row");
        let mut ran = memory.ran();
        ran.sort_unstable();
        assert_eq!(ran, (0..15).collect::<Vec<_>>());
    }
}

#[test]
fn a_task_that_fails_comes_before_a_fault_behind_it() {
    let mut program = free_tasks(20);
    program.items.insert(15, Item::Fault("no such row"));
    let mut memory = Memory::new(&program);
    memory.fails = Some(14);
    let failure = run(&program, 4, &memory, &AicpuConfig::default()).expect_err("both are at fault");
    assert!(matches!(failure, Failure::Task { task: FailedTask { id: 14, .. }, .. }), "{failure:?}");
}

/// Runs tasks that do nothing.
struct Idle;

impl TaskRunner for Idle {
    type Failure = String;

    fn run(&self, _: usize, _: TaskId, _: KernelId, _: &[u32]) -> Result<(), String> {
        Ok(())
    }
}

/// Hands over a list of tasks at once, whatever room there is.
struct Pushes(Vec<AicpuTask<'static>>);

impl Generator for Pushes {
    type Fault = String;

    fn generate(&mut self, _: u32, out: &mut dyn Emit) -> Progress<String> {
        for task in self.0.drain(..) {
            if out.task(&task).is_err() {
                return Progress::More;
            }
        }
        Progress::Finished
    }

    fn watermark(&self) -> u64 {
        0
    }
}

#[test]
fn what_cannot_be_taken_is_refused_with_the_numbers() {
    let long: &'static [u32] = &[0; limits::MAX_LOCAL_PARAMS as usize + 1];
    let task = |ordinal| AicpuTask { ordinal, ..AicpuTask::default() };
    let need: &'static [Need] = &[Need { counter: 36, access: AccessKind::Read, reached: 0 }];
    let cases = [
        (vec![AicpuTask { payload: long, ..task(0) }], "a payload of 17 words, but at most 16 are allowed"),
        (vec![task(4), task(4)], "ordinals of one AICPU increase: it should be at least 5"),
        (
            vec![AicpuTask { after: &[3, 9], ..task(9) }],
            "it comes after task 9, which is not generated before it",
        ),
        (vec![AicpuTask { needs: need, ..task(0) }], "there is no counter 36: the run has 36"),
        ((0..3).map(task).collect(), "the generator handed over more tasks than there was room for"),
    ];
    for (tasks, expected) in cases {
        let last = tasks.last().map_or(0, |task| task.ordinal);
        let config = AicpuConfig { counters: 36, ..AicpuConfig::default() };
        let failure = run_aicpus(&config, vec![Pushes(tasks)], &Idle, &NoSlots).expect_err("it is refused");
        assert_eq!(failure.to_string(), format!("task {last} of AICPU 0 was not taken: {expected}"));
    }
    let absent = AicpuConfig { after: AfterEdges::Absent, ..AicpuConfig::default() };
    let tasks = vec![AicpuTask { after: &[1], ..task(2) }];
    let failure = run_aicpus(&absent, vec![Pushes(tasks)], &Idle, &NoSlots).expect_err("it is refused");
    let refused = SourceFault::Refused { aicpu: 0, ordinal: 2, refused: Refused::AfterNotKept };
    assert_eq!(failure, Failure::Source(refused));
}

#[test]
fn steps_without_scopes_and_slots_without_tensors_are_refused() {
    for (item, refused) in [
        (Item::Step, Refused::NoOrderedScope),
        (Item::End, Refused::NoOrderedScope),
        (Item::Read(TENSORS), Refused::NoSlot(SlotId(TENSORS))),
    ] {
        let mut program = free_tasks(3);
        program.items.push(item);
        let memory = Memory::new(&program);
        let failure = run(&program, 1, &memory, &AicpuConfig::default()).expect_err("it is refused");
        assert_eq!(failure, Failure::Source(SourceFault::Refused { aicpu: 0, ordinal: 3, refused }));
        assert_eq!(memory.ran().len(), 3);
    }
}

#[test]
fn a_window_that_may_not_fill_up_ends_the_run_when_it_does() {
    let program = free_tasks(10);
    let memory = Memory::new(&program);
    let start = crate::Start::AfterOrchestration;
    let config = AicpuConfig { window: 4, window_mode: WindowMode::Abort, start, ..AicpuConfig::default() };
    let failure = run(&program, 2, &memory, &config).expect_err("five tasks each do not fit");
    let Failure::Source(SourceFault::Refused {
        ordinal, refused: Refused::WindowFull { capacity: 4 }, ..
    }) = failure
    else {
        panic!("{failure:?}")
    };
    assert_eq!(ordinal, 8);
    let fits = AicpuConfig { window: 5, ..config };
    assert_eq!(run(&program, 2, &Memory::new(&program), &fits).map(|stats| stats.tasks), Ok(10));
}

#[test]
fn a_cancelled_run_ends_before_its_tasks() {
    let program = free_tasks(1000);
    for threads in 1..3 {
        let memory = Memory::new(&program);
        let cancel = Some(Arc::new(AtomicBool::new(true)));
        let config = AicpuConfig { threads, cancel, ..AicpuConfig::default() };
        assert_eq!(run(&program, 2, &memory, &config), Err(Failure::Cancelled));
        assert_eq!(memory.ran(), []);
    }
}

#[test]
fn counts_that_are_never_reached_are_reported_and_not_waited_for() {
    let waits = |counter, reached| ScriptTask {
        owner: counter as u16,
        needs: vec![Need { counter, access: AccessKind::Write, reached }],
        ..ScriptTask::default()
    };
    for threads in 1..4 {
        // Both wait for an access of the other's tile, and then access their own only.
        let mut program = Script::new([waits(0, 1), waits(1, 1), ScriptTask::default()]);
        if let Some(Item::Task(task)) = program.items.last_mut() {
            (task.owner, task.after) = (1, vec![0]);
        }
        let memory = Memory::new(&program);
        let config = AicpuConfig { threads, ..AicpuConfig::default() };
        let failure = run(&program, 2, &memory, &config).expect_err("nobody counts");
        let expected = "no task can start, but 3 wait\n  \
             a cycle: task 0 (kernel 0, AICPU 0) waits for counter 0 (at 0 of 1) waits for task 0 (kernel 0, AICPU 0)\n  \
             task 0 (kernel 0, AICPU 0) waits for counter 0 (at 0 of 1)\n  \
             task 1 (kernel 1, AICPU 1) waits for counter 1 (at 0 of 1)\n  \
             task 2 (kernel 2, AICPU 1) waits for task 0 (kernel 0, AICPU 0)";
        assert_eq!(failure.to_string(), expected);
        assert_eq!(memory.ran(), []);
    }
}

/// Never hands over a task that others wait for.
struct Silent;

impl Generator for Silent {
    type Fault = String;

    fn generate(&mut self, _: u32, _: &mut dyn Emit) -> Progress<String> {
        Progress::Waits(SlotId(2))
    }

    fn watermark(&self) -> u64 {
        7
    }
}

#[test]
fn who_waits_for_a_generator_that_never_goes_on_is_told() {
    enum Either<'s> {
        Walk(Walk<'s>),
        Silent(Silent),
    }
    impl Generator for Either<'_> {
        type Fault = String;
        fn generate(&mut self, free: u32, out: &mut dyn Emit) -> Progress<String> {
            match self {
                Either::Walk(walk) => walk.generate(free, out),
                Either::Silent(silent) => silent.generate(free, out),
            }
        }
        fn watermark(&self) -> u64 {
            match self {
                Either::Walk(walk) => walk.watermark(),
                Either::Silent(silent) => silent.watermark(),
            }
        }
    }
    let program =
        Script::new((0..9).map(|_| ScriptTask { writes: vec![cells(0, 0, 1)], ..ScriptTask::default() }));
    let memory = Memory::new(&program);
    let walk = program.generators(1).remove(0);
    let generators = vec![Either::Walk(walk), Either::Silent(Silent)];
    let failure =
        run_aicpus(&AicpuConfig::default(), generators, &memory, &memory).expect_err("one never finishes");
    let expected = "no task can start, but 2 wait\n  \
         task 7 (kernel 1, AICPU 0) waits for the generator of AICPU 1 (at ordinal 7)\n  \
         task 8 (kernel 2, AICPU 0) waits for the generator of AICPU 1 (at ordinal 7)\n  \
         the generator of AICPU 1 (at ordinal 7) waits for the value of slot 2";
    assert_eq!((failure.to_string().as_str(), memory.ran().len()), (expected, 7));
}

#[test]
fn a_configuration_that_cannot_be_is_refused_before_anything_runs() {
    let memory = Memory::new(&Script::default());
    let config = AicpuConfig { batch: 0, ..AicpuConfig::default() };
    let range = |field, value, max| {
        let range = AicpuConfigError::Range(ConfigError::Range { field, value, min: 1, max });
        Err(Failure::Start(StartError::Aicpus(range)))
    };
    assert_eq!(run(&Script::default(), 1, &memory, &config), range("batch", 0, 32_768));
    assert_eq!(run(&Script::default(), 0, &memory, &AicpuConfig::default()), range("AICPUs", 0, 1024));
}

#[test]
fn a_generator_that_panics_does_not_leave_the_other_threads_waiting() {
    struct Panics;
    impl Generator for Panics {
        type Fault = String;
        fn generate(&mut self, _: u32, _: &mut dyn Emit) -> Progress<String> {
            panic!("a generator is broken")
        }
        fn watermark(&self) -> u64 {
            0
        }
    }
    let memory = Memory::new(&Script::default());
    let config = AicpuConfig { threads: 2, ..AicpuConfig::default() };
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run_aicpus(&config, vec![Panics, Panics], &memory, &NoSlots)
    }));
    assert!(outcome.is_err());
}
