//! Edges within and between AICPUs.

use super::super::*;
use super::scripted::{Script, ScriptTask, cells, check};

/// Per batch entry a chain: load, compute, store.
fn batches(owner: impl Fn(u32, u32) -> u16) -> Script {
    let stages = (0..8u32).flat_map(|batch| (0..3u32).map(move |stage| (batch, stage)));
    Script::new(stages.map(|(batch, stage)| ScriptTask {
        owner: owner(batch, stage),
        reads: stage.checked_sub(1).map(|before| cells(before, batch, batch + 1)).into_iter().collect(),
        writes: vec![cells(stage, batch, batch + 1)],
        ..ScriptTask::default()
    }))
}

fn edges(script: &Script) -> (u64, u64) {
    // All tasks are generated, and none is complete, when they are resolved.
    let config = AicpuConfig { start: crate::Start::AfterOrchestration, ..AicpuConfig::default() };
    let stats = check(script, 4, &config);
    (stats.total(|aicpu| aicpu.local_edges), stats.total(|aicpu| aicpu.cross_edges))
}

#[test]
fn tasks_of_a_batch_entry_on_one_aicpu_make_no_cross_edges() {
    assert_eq!(edges(&batches(|batch, _| batch as u16)), (16, 0));
    assert_eq!(edges(&batches(|batch, stage| (batch + stage) as u16)), (0, 16));
}

#[test]
fn a_notice_is_sent_once_per_task_and_waiting_aicpu() {
    let writer = ScriptTask { writes: vec![cells(0, 0, 1)], ..ScriptTask::default() };
    let reader = |owner| ScriptTask { owner, reads: vec![cells(0, 0, 1)], ..ScriptTask::default() };
    let tasks = [writer].into_iter().chain((0..12).map(|i| reader(1 + i % 3)));
    let script = Script::new(tasks);
    let config = AicpuConfig { start: crate::Start::AfterOrchestration, ..AicpuConfig::default() };
    let stats = check(&script, 4, &config);
    let counts: Vec<_> = stats.aicpus.iter().map(|aicpu| (aicpu.cross_edges, aicpu.notices)).collect();
    assert_eq!(counts, [(0, 3), (4, 0), (4, 0), (4, 0)]);
}
