//! Any number of AICPUs and threads, any window, and any order of steps give the results of a sequential run.

use super::super::*;
use super::random::{ALL, Features, Random, script};
use super::run_aicpus;
use super::scripted::{Script, ScriptTask, cells, check};
use crate::{Gate, GateScope, PoolSizes, Start, TracePolicy, WindowMode};

#[path = "../../../../wsp-core/tests/randomised/mod.rs"]
pub(super) mod randomised;

/// Some configuration.
pub(super) fn config(random: &mut Random) -> AicpuConfig {
    let gate = |scope, capacity| Gate { scope, capacity };
    let gates = match random.below(5) {
        0 => vec![gate(GateScope::Global, 1 + random.below(3) as u32)],
        1 => vec![gate(GateScope::PerStream, 1), gate(GateScope::PerPool, 1 + random.below(2) as u32)],
        2 => vec![gate(GateScope::PerStream, 2 + random.below(2) as u32)],
        _ => Vec::new(),
    };
    AicpuConfig {
        window: random.pick(&[1, 1, 2, 3, 64]),
        window_mode: random.pick(&[WindowMode::Stall, WindowMode::Benchmark]),
        ready_queue: random.pick(&[1, 2, 1024]),
        ring: random.pick(&[1, 2, 1024]),
        map_entries: random.pick(&[1, 8, 16_384]),
        step_tasks: random.pick(&[1, 2, 32]),
        pools: random.pick(&[
            PoolSizes::Shared,
            PoolSizes::ByUnit { vector: 1, cube: 1 },
            PoolSizes::ByUnit { vector: 3, cube: 2 },
        ]),
        gates,
        ready: random.pick(&[ReadyOrder::Fifo, ReadyOrder::Priority]),
        start: random.pick(&[
            Start::Immediate,
            Start::Immediate,
            Start::AfterOrchestration,
            Start::Threshold(20),
        ]),
        batch: random.pick(&[1, 1, 3, 100]),
        trace: random.pick(&[TracePolicy::None, TracePolicy::Measured]),
        ..AicpuConfig::default()
    }
}

#[test]
fn one_thread_with_random_steps_agrees_with_a_sequential_run() {
    let cases = randomised::cases(1_000);
    println!("{cases} cases");
    for seed in 0..cases {
        let mut random = Random(seed);
        let program = script(seed ^ 0x5555, 10 + random.below(50), ALL);
        let aicpus = 1 + random.below(16) as u16;
        let config = AicpuConfig { interleaving: Interleaving::Random(seed), ..config(&mut random) };
        check(&program, aicpus, &config);
    }
}

#[test]
fn steps_in_turn_agree_with_a_sequential_run() {
    for seed in 0..500 {
        let mut random = Random(seed ^ 0xABCD);
        let program = script(seed, 60, ALL);
        let aicpus = 1 + random.below(16) as u16;
        check(&program, aicpus, &config(&mut random));
    }
}

#[test]
fn several_threads_agree_with_a_sequential_run() {
    for seed in 0..200 {
        let mut random = Random(seed ^ 0x1234);
        let program = script(seed, 80, ALL);
        let threads = 2 + random.below(2) as u32;
        let config = AicpuConfig { threads, ..config(&mut random) };
        check(&program, 1 + random.below(16) as u16, &config);
        check(&program, 2, &AicpuConfig { interleaving: Interleaving::Random(seed), ..config });
    }
}

#[test]
fn counts_alone_wait_for_no_watermark() {
    let features = Features { scopes: false, reads_values: false, counted: true };
    for seed in 0..200 {
        let mut program = script(seed, 60, features);
        program.counted_from = 0;
        for item in &mut program.items {
            if let super::scripted::Item::Task(task) = item {
                (task.stream, task.after) = (None, Vec::new());
            }
        }
        program.count();
        let stats = check(
            &program,
            4,
            &AicpuConfig { interleaving: Interleaving::Random(seed), ..AicpuConfig::default() },
        );
        assert_eq!(stats.total(|aicpu| aicpu.local_edges + aicpu.cross_edges), 0);
    }
}

/// Every slot of a small window is used thousands of times, so numbers of slots, notices and generations wrap or repeat.
#[test]
fn more_tasks_than_slots_have_numbers_pass_through_a_window() {
    let tasks = (0..70_000u32).map(|i| ScriptTask {
        owner: (i % 3) as u16,
        reads: vec![cells(0, i % 5, i % 5 + 1)],
        writes: vec![cells(1, i % 7, i % 7 + 1)],
        ..ScriptTask::default()
    });
    let program = Script::new(tasks);
    let (aicpus, window) = (3, 4);
    let memory = super::scripted::Memory::new(&program);
    let config = AicpuConfig { threads: 2, window, ring: 2, ..AicpuConfig::default() };
    let stats = run_aicpus(&config, program.generators(aicpus), &memory, &memory).expect("it runs");
    assert_eq!((stats.tasks, memory.contents()), (70_000, program.expected()));
    assert!(stats.aicpus.iter().all(|aicpu| aicpu.max_in_flight <= window && aicpu.tasks > 20_000));
    assert!(stats.total(|aicpu| aicpu.cross_edges) > 0);
}

/// More AICPUs than a word of waiting AICPUs or of senders has bits for.
#[test]
fn many_aicpus_agree_with_a_sequential_run() {
    // One takes as long as hundreds of those with few AICPUs.
    let cases = randomised::cases(1_000).div_ceil(250);
    for (aicpus, seeds) in [(32, cases), (33, 2 * cases), (64, cases), (65, cases), (200, cases / 2)] {
        for seed in 0..seeds {
            let mut random = Random(seed ^ 0x4321 ^ u64::from(aicpus));
            let program = script(seed ^ u64::from(aicpus), 400, ALL);
            let threads = 1 + random.below(3) as u32;
            let interleaving = random.pick(&[Interleaving::InTurn, Interleaving::Random(seed)]);
            let config = AicpuConfig { threads, interleaving, ..config(&mut random) };
            check(&program, aicpus, &config);
        }
    }
}

/// Every task waits for the one before it, which is of another AICPU, the last of the first: each AICPU tells each word of others.
#[test]
fn notices_reach_aicpus_of_every_word() {
    for aicpus in [33u16, 64, 200, 1024] {
        let tasks = (0..2 * u32::from(aicpus)).map(|i| ScriptTask {
            owner: (i * 37 % u32::from(aicpus)) as u16,
            writes: vec![cells(0, 0, 1)],
            ..ScriptTask::default()
        });
        let program = Script::new(tasks);
        let memory = super::scripted::Memory::new(&program);
        let config = AicpuConfig { threads: 2, window: 8, ..AicpuConfig::default() };
        let stats = run_aicpus(&config, program.generators(aicpus), &memory, &memory).expect("it runs");
        assert_eq!((stats.tasks, memory.contents()), (u64::from(aicpus) * 2, program.expected()));
        assert_eq!(stats.total(|aicpu| aicpu.notices), u64::from(aicpus) * 2 - 1);
    }
}
