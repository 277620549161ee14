//! What a schedule may ask for shows in when and where tasks run.

use super::super::*;
use super::run_aicpus;
use super::scripted::{Item, Memory, Script, ScriptTask, cells, check};
use crate::{Gate, GateScope, PoolSizes, Start, TracePolicy, WindowMode};
use std::sync::atomic::{AtomicU32, Ordering};
use wsp_core::{ExecPool, KernelId, TaskId};

fn free_tasks(count: u64) -> Script {
    Script::new((0..count).map(|i| ScriptTask { owner: i as u16, ..ScriptTask::default() }))
}

/// The order in which one AICPU on one thread runs a script.
fn order(script: &Script, config: &AicpuConfig) -> Vec<u64> {
    let memory = Memory::new(script);
    run_aicpus(config, script.generators(1), &memory, &memory).expect("it runs");
    memory.ran()
}

#[test]
fn the_larger_priority_goes_first_where_asked_for() {
    let priorities = [0, 5, -1, 5, i32::MAX, i32::MIN];
    let script = Script::new(priorities.map(|priority| ScriptTask {
        priority,
        pool: ExecPool::Cube,
        ..ScriptTask::default()
    }));
    let start = Start::AfterOrchestration;
    let fifo = AicpuConfig { start, ..AicpuConfig::default() };
    assert_eq!(order(&script, &fifo), [0, 1, 2, 3, 4, 5]);
    assert_eq!(order(&script, &AicpuConfig { ready: ReadyOrder::Priority, ..fifo }), [4, 1, 3, 0, 2, 5]);
}

#[test]
fn a_gate_does_not_change_the_order_of_priorities() {
    // 0 releases 5 and 6; the others are ready from the beginning, and some wait at the gate.
    let task = |priority, writes: u32| ScriptTask {
        priority,
        writes: vec![cells(0, writes, writes + 1)],
        ..ScriptTask::default()
    };
    let script =
        Script::new([task(9, 0), task(1, 1), task(4, 2), task(4, 3), task(2, 4), task(7, 0), task(3, 0)]);
    let gates = vec![Gate { scope: GateScope::Global, capacity: 1 }];
    for pools in [PoolSizes::Shared, PoolSizes::ByUnit { vector: 2, cube: 2 }] {
        let start = Start::AfterOrchestration;
        let config = AicpuConfig {
            start,
            pools,
            gates: gates.clone(),
            ready: ReadyOrder::Priority,
            ..AicpuConfig::default()
        };
        assert_eq!(order(&script, &config), [0, 5, 2, 3, 6, 4, 1], "{pools:?}");
        assert_eq!(order(&script, &AicpuConfig { ready: ReadyOrder::Fifo, ..config }), [0, 1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn what_is_released_together_starts_in_the_order_of_ordinals() {
    let write = vec![cells(0, 0, 1)];
    let reader = ScriptTask { reads: write.clone(), ..ScriptTask::default() };
    let mut tasks = vec![ScriptTask { writes: write, ..ScriptTask::default() }];
    tasks.extend((0..20).map(|_| reader.clone()));
    let script = Script::new(tasks);
    for start in [Start::Immediate, Start::AfterOrchestration] {
        for batch in [1, 3] {
            let config = AicpuConfig { start, batch, ..AicpuConfig::default() };
            assert_eq!(order(&script, &config), (0..21).collect::<Vec<u64>>());
        }
    }
}

#[test]
fn tasks_start_when_the_policy_lets_them() {
    let measured = |start| AicpuConfig { start, trace: TracePolicy::Measured, ..AicpuConfig::default() };
    let before_first = |stats: &AicpuRunStats| {
        let first = stats.trace.iter().map(|task| task.started_ns).min().expect("tasks ran");
        stats.trace.iter().filter(|task| task.generated_ns <= first).count()
    };
    let script = free_tasks(400);
    let after = check(&script, 3, &measured(Start::AfterOrchestration));
    assert_eq!((before_first(&after), after.forced_starts, after.overlapped), (400, 0, 0));
    let threshold = check(&script, 3, &measured(Start::Threshold(100)));
    assert!((100..300).contains(&before_first(&threshold)) && threshold.forced_starts == 0);
    let at_once = check(&script, 3, &measured(Start::Immediate));
    assert!(before_first(&at_once) < 100 && at_once.overlapped > 0);
    assert!(at_once.first_task_ns.is_some_and(|first| first < at_once.generation_ns));
}

#[test]
fn a_start_that_would_never_come_is_forced() {
    let script = free_tasks(50);
    for start in [Start::AfterOrchestration, Start::Threshold(40)] {
        for threads in [1, 2] {
            let config = AicpuConfig { threads, window: 4, start, ..AicpuConfig::default() };
            assert_eq!(check(&script, 3, &config).forced_starts, 1);
        }
    }
    // A value that a task computes, which generators wait for.
    let mut reads = free_tasks(2);
    reads.items.insert(1, Item::Read(0));
    let config = AicpuConfig { start: Start::AfterOrchestration, ..AicpuConfig::default() };
    assert_eq!(check(&reads, 2, &config).forced_starts, 0);
    let mut waits = Script::new([ScriptTask { writes: vec![cells(0, 0, 1)], ..ScriptTask::default() }]);
    waits.items.push(Item::Read(0));
    assert_eq!(check(&waits, 2, &config).forced_starts, 1);
}

#[test]
fn cores_run_tasks_of_their_unit() {
    let pools = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any];
    let tasks =
        (0..90u16).map(|i| ScriptTask { owner: i, pool: pools[i as usize % 3], ..ScriptTask::default() });
    let script = Script::new(tasks);
    for (vector, cube) in [(1, 1), (3, 2)] {
        for aicpus in [1, 2, 7] {
            let pools = PoolSizes::ByUnit { vector, cube };
            let config =
                AicpuConfig { threads: 2, pools, trace: TracePolicy::Measured, ..AicpuConfig::default() };
            let stats = check(&script, aicpus, &config);
            assert_eq!(stats.cores.len() as u32, vector + cube);
            for task in &stats.trace {
                match task.ordinal % 3 {
                    0 => assert!(task.core < vector),
                    1 => assert!(task.core >= vector),
                    _ => {}
                }
            }
        }
    }
}

/// Which of three kinds a task is of.
type Kind = fn(&ScriptTask) -> usize;

/// Counts the tasks of each kind that run at once.
struct Crowd {
    script: Script,
    kind: Kind,
    running: [AtomicU32; 3],
    most: [AtomicU32; 3],
}

impl TaskRunner for Crowd {
    type Failure = String;

    fn run(&self, _: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), String> {
        let kind = self.script.tasks().nth(task.index()).map_or(0, self.kind);
        let now = self.running[kind].fetch_add(1, Ordering::AcqRel) + 1;
        self.most[kind].fetch_max(now, Ordering::AcqRel);
        for _ in 0..20 {
            std::thread::yield_now();
        }
        self.running[kind].fetch_sub(1, Ordering::AcqRel);
        Ok(())
    }
}

#[test]
fn gates_bound_the_tasks_that_run_at_once() {
    let pools = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any];
    let script = Script::new((0..120u16).map(|i| ScriptTask {
        owner: i,
        pool: pools[i as usize % 3],
        ..ScriptTask::default()
    }));
    let cases: [(GateScope, Kind, u32); 3] = [
        (GateScope::Global, |_| 0, 1),
        (GateScope::Global, |_| 0, 2),
        (GateScope::PerPool, |task| (task.pool as usize).min(2), 1),
    ];
    for (scope, kind, capacity) in cases {
        let crowd =
            Crowd { script: script.clone(), kind, running: Default::default(), most: Default::default() };
        let gates = vec![Gate { scope, capacity }];
        let config = AicpuConfig { threads: 4, gates, ..AicpuConfig::default() };
        let stats = run_aicpus(&config, script.generators(4), &crowd, &NoSlots).expect("it runs");
        assert_eq!(stats.tasks, 120);
        assert!(crowd.most.iter().all(|most| most.load(Ordering::Acquire) <= capacity));
        // On one thread all AICPUs hand tasks out before the first core runs one.
        let in_turn = AicpuConfig { threads: 1, ..config };
        assert!(check(&script, 4, &in_turn).total(|aicpu| aicpu.deferred) > 0);
    }
}

/// Two tasks wait at the gate, and one of them again when the other passes; their slots are those of earlier tasks.
#[test]
fn a_task_that_found_a_gate_shut_is_deferred_once_however_often_it_tries() {
    let script = Script::new((0..12).map(|_| ScriptTask { pool: ExecPool::Vector, ..ScriptTask::default() }));
    let config = AicpuConfig {
        threads: 1,
        window: 4,
        pools: PoolSizes::ByUnit { vector: 3, cube: 1 },
        gates: vec![Gate { scope: GateScope::Global, capacity: 1 }],
        ..AicpuConfig::default()
    };
    assert_eq!(check(&script, 1, &config).total(|aicpu| aicpu.deferred), 11);
}

#[test]
fn waits_for_the_window_are_counted_and_recorded_where_asked_for() {
    let writes = vec![cells(0, 0, 1)];
    let script = Script::new((0..64).map(|i| ScriptTask {
        owner: i,
        writes: writes.clone(),
        ..ScriptTask::default()
    }));
    let stall = AicpuConfig { window: 2, ..AicpuConfig::default() };
    let stats = check(&script, 2, &stall);
    assert!(stats.total(|aicpu| aicpu.window_stalls) > 0 && stats.stalls.is_empty());
    let recorded = check(&script, 2, &AicpuConfig { window_mode: WindowMode::Benchmark, ..stall });
    // The last stall of an AICPU has an end too: its generator has yet to say that it has finished.
    assert_eq!(recorded.stalls.len() as u64, recorded.total(|aicpu| aicpu.window_stalls));
    let sorted = recorded.stalls.is_sorted_by_key(|stall| (stall.aicpu, stall.watermark));
    assert!(sorted && recorded.stalls.iter().all(|stall| stall.waited_ns <= recorded.wall_ns));
    assert_eq!(check(&script, 2, &AicpuConfig::default()).total(|aicpu| aicpu.window_stalls), 0);
}

#[test]
fn a_full_map_makes_generators_wait() {
    let script = Script::new((0..200u16).map(|i| ScriptTask {
        owner: i,
        reads: vec![cells(1, 0, 3)],
        writes: vec![cells(0, u32::from(i) % 8, u32::from(i) % 8 + 1)],
        ..ScriptTask::default()
    }));
    let small = AicpuConfig { map_entries: 16, start: Start::AfterOrchestration, ..AicpuConfig::default() };
    let stats = check(&script, 4, &small);
    assert!(stats.total(|aicpu| aicpu.map_stalls) > 0);
    // Two accesses a task, four places an AICPU.
    assert!(stats.aicpus.iter().all(|aicpu| aicpu.max_in_flight <= 2));
}

#[test]
fn a_batch_is_released_when_it_is_full_or_nothing_else_is_left_to_do() {
    // A chain: each task waits for the release of the one before.
    let chain =
        Script::new((0..40).map(|_| ScriptTask { writes: vec![cells(0, 0, 1)], ..ScriptTask::default() }));
    for batch in [1, 7, 1000] {
        check(&chain, 2, &AicpuConfig { batch, ..AicpuConfig::default() });
    }
}

#[test]
fn a_trace_tells_the_life_of_every_task() {
    let script = free_tasks(100);
    let config = AicpuConfig { threads: 2, trace: TracePolicy::Measured, ..AicpuConfig::default() };
    let stats = check(&script, 3, &config);
    let ordinals: Vec<u64> = stats.trace.iter().map(|task| task.ordinal).collect();
    assert_eq!(ordinals, (0..100).collect::<Vec<_>>());
    for task in &stats.trace {
        assert!(task.generated_ns <= task.ready_ns && task.ready_ns <= task.started_ns);
        assert!(task.started_ns <= task.finished_ns && task.finished_ns <= stats.wall_ns);
        assert_eq!((u64::from(task.aicpu), u64::from(task.kernel.0)), (task.ordinal % 3, task.ordinal % 3));
    }
    let totals = check(&script, 3, &AicpuConfig { trace: TracePolicy::Totals, ..config.clone() });
    assert!(totals.trace.is_empty() && totals.kernels.iter().all(|kernel| kernel.busy_ns.is_some()));
    let plain = check(&script, 3, &AicpuConfig { trace: TracePolicy::None, ..config });
    assert!(plain.trace.is_empty() && plain.kernels.iter().all(|kernel| kernel.busy_ns.is_none()));
    assert_eq!(plain.kernels.iter().map(|kernel| kernel.tasks).collect::<Vec<_>>(), [34, 33, 33]);
}

/// Generates nothing, where it was made.
struct Stays {
    place: usize,
}

impl Generator for Stays {
    type Fault = ();

    fn generate(&mut self, _: u32, _: &mut dyn Emit) -> Progress<()> {
        assert_eq!(std::ptr::from_ref(self).addr(), self.place);
        Progress::Finished
    }

    fn watermark(&self) -> u64 {
        u64::MAX
    }
}

/// Interpreters are large, and no task starts before all of them are in place.
#[test]
fn generators_run_where_they_were_made() {
    let mut generators: Vec<Stays> = (0..8).map(|_| Stays { place: 0 }).collect();
    generators.iter_mut().for_each(|generator| generator.place = std::ptr::from_ref(generator).addr());
    let memory = Memory::new(&Script::default());
    let config = AicpuConfig { threads: 3, ..AicpuConfig::default() };
    assert_eq!(run_aicpus(&config, generators, &memory, &NoSlots).map(|stats| stats.tasks).ok(), Some(0));
}
