//! Runs that keep to an order of starts.

use super::super::*;
use super::oracle::{config, randomised};
use super::random::{ALL, Random, script};
use super::run_aicpus;
use super::scripted::{CELLS, Memory, Script, ScriptTask, TENSORS, cells, check};
use crate::{PoolSizes, Replay, TracePolicy};
use std::sync::Arc;
use wsp_core::Started;

/// Tasks with their cores, by their starts.
fn starts(stats: &AicpuRunStats) -> Vec<(u64, u32)> {
    let mut tasks: Vec<&AicpuTrace> = stats.trace.iter().collect();
    tasks.sort_by_key(|task| (task.started_ns, task.ordinal));
    tasks.into_iter().map(|task| (task.ordinal, task.core)).collect()
}

/// The order of starts of a run that was recorded.
fn order(stats: &AicpuRunStats) -> Arc<Replay> {
    let of = |task: &AicpuTrace| Started {
        started: task.started_ns,
        ended: task.finished_ns,
        worker: task.core,
        kernel: task.kernel.0.into(),
    };
    let tasks: Vec<Started> = stats.trace.iter().map(of).collect();
    Arc::new(Replay::new(stats.cores.len() as u32, &[], &tasks).expect("it is an order"))
}

#[test]
fn a_run_on_aicpus_is_run_again_task_for_task_on_any_number_of_threads() {
    let cases = randomised::cases(30);
    println!("{cases} cases");
    for seed in 0..cases {
        let mut random = Random(seed ^ 0x7777);
        let program = script(seed ^ 0x3333, 10 + random.below(40), ALL);
        let (aicpus, threads) = (1 + random.below(6) as u16, 1 + random.below(3) as u32);
        // With one thread and random steps tasks start in orders that no other run has.
        let interleaving = random.pick(&[Interleaving::InTurn, Interleaving::Random(seed)]);
        let config =
            AicpuConfig { threads, interleaving, trace: TracePolicy::Measured, ..config(&mut random) };
        let recorded = check(&program, aicpus, &config);
        for threads in [1, threads] {
            let interleaving = random.pick(&[Interleaving::InTurn, Interleaving::Random(seed + 1)]);
            let replay = Some(order(&recorded));
            let again =
                check(&program, aicpus, &AicpuConfig { threads, interleaving, replay, ..config.clone() });
            assert_eq!(starts(&again), starts(&recorded), "{config:?}\n{program:?}");
        }
    }
}

#[test]
fn an_order_of_another_run_is_refused() {
    let tasks = |count: u32| {
        Script::new((0..count).map(|i| ScriptTask {
            owner: (i % 2) as u16,
            writes: vec![cells(0, i % 2, i % 2 + 1)],
            ..ScriptTask::default()
        }))
    };
    let config =
        AicpuConfig { trace: TracePolicy::Measured, counters: CELLS * TENSORS, ..AicpuConfig::default() };
    let replay = Some(order(&check(&tasks(8), 2, &config)));
    let run = |count, aicpus| {
        let program = tasks(count);
        let memory = Memory::new(&program);
        let config = AicpuConfig { replay: replay.clone(), ..config.clone() };
        run_aicpus(&config, program.generators(aicpus), &memory, &memory)
            .expect_err("it is of others")
            .to_string()
    };
    assert!(run(9, 2).contains("task 8 of AICPU 0 was not taken: the order of starts has 8 tasks"));
    assert!(run(7, 2).contains("task 7 is next"));
    let pools = PoolSizes::ByUnit { vector: 2, cube: 1 };
    let other = AicpuConfig { replay, pools, ..config };
    let fault = Aicpus::new(&other, 2).expect_err("there are 3 cores").to_string();
    assert!(fault.contains("one of 2 workers, and this run has 3"), "{fault}");
}
