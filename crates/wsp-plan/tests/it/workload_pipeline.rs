//! Pipelines: the turns of processes, what slots they get, and deadlocks.

use crate::workload_support::{bound, expanded, fault, module, tasks, try_bind};
use std::cell::Cell;
use wsp_core::SlotId;
use wsp_diag::{Code, Diagnostic};
use wsp_plan::workload::{ExpandError, LoweredSchedule, TaskRecord, TaskSink, count, expand};

/// Three stages over `n` tiles; the first scalar of a task is its stage.
const STAGES: &str = "param n = 4; param depth = 2; kernel k(stage, tile, at, other);
    workload main { channel a[depth]; channel b[depth];
        pipeline {
            process load { parallel for t in 0..n { send a as s { k(0, t, s, 0); } } }
            process work { parallel for t in 0..n { consume a as s { send b as d { k(1, t, s, d); } } } }
            process store { parallel for t in 0..n { consume b as d { k(2, t, d, 0); } } }
        } }";

fn scalars(source: &str, set: &[(&str, i64)]) -> Vec<Vec<i64>> {
    tasks(source, set).into_iter().map(|task| task.scalars).collect()
}

/// The labels of a deadlock, and the tasks before it.
fn deadlock(source: &str) -> (Diagnostic, Vec<String>, usize) {
    let (diagnostic, before) = fault(source, &[]);
    assert_eq!(diagnostic.code, Code(820), "{diagnostic:?}");
    let labels = diagnostic.labels.iter().map(|label| label.text.clone()).collect();
    (diagnostic, labels, before)
}

#[test]
fn stages_take_turns_after_every_token() {
    let order: Vec<(i64, i64)> = scalars(STAGES, &[]).into_iter().map(|task| (task[0], task[1])).collect();
    let expected = (0..4).flat_map(|tile| (0..3).map(move |stage| (stage, tile)));
    assert_eq!(order, expected.collect::<Vec<_>>(), "tile by tile, as without a pipeline");
}

#[test]
fn both_ends_of_a_token_get_the_same_slot_in_turn() {
    for depth in 1..4 {
        for task in scalars(STAGES, &[("n", 9), ("depth", depth)]) {
            assert_eq!(task[2], task[1] % depth);
            assert_eq!(task[3], if task[0] == 1 { task[1] % depth } else { 0 });
        }
    }
}

#[test]
fn every_depth_generates_the_same_tasks_of_a_stage() {
    for (n, depth) in [(0, 1), (1, 8), (17, 1), (17, 2), (17, 8), (17, 100)] {
        let found = scalars(STAGES, &[("n", n), ("depth", depth)]);
        assert_eq!(found.len() as i64, 3 * n);
        for stage in 0..3 {
            let tiles: Vec<i64> = found.iter().filter(|task| task[0] == stage).map(|task| task[1]).collect();
            assert_eq!(tiles, (0..n).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_token_is_neither_consumed_before_it_is_sent_nor_overwritten_before_it_is_free() {
    let depth = 3;
    let source = "param depth = 3; kernel k(stage, token);
        workload main { channel a[depth]; pipeline {
            process eager { parallel for t in 0..10 { send a as s { k(0, t); } } }
            process pairs { parallel for t in 0..5 { consume a as s { consume a as r { k(1, 2 * t + 1); } } } }
        } }";
    let (mut sent, mut consumed) = (0, 0);
    for task in scalars(source, &[("depth", depth)]) {
        if task[0] == 0 {
            sent += 1;
        } else {
            consumed = task[1] + 1;
        }
        assert!(consumed <= sent && sent - consumed <= depth, "{sent} sent, {consumed} consumed");
    }
    assert_eq!((sent, consumed), (10, 10));
}

#[test]
fn a_channel_is_empty_when_its_pipeline_begins() {
    let source = "kernel k(i, s); workload main { channel a[2]; for i in 0..3 { pipeline {
        process p { send a as s { k(i, s); } } process q { } } } }";
    assert_eq!(scalars(source, &[]), [[0, 0], [1, 0], [2, 0]]);
}

#[test]
fn a_process_may_use_both_ends_of_a_channel() {
    let source = "kernel k(s); workload main { channel a[2]; pipeline { process p {
        parallel for i in 0..4 { send a as s { } send a as s { } consume a as s { k(s); } consume a as s { k(s); } } } } }";
    assert_eq!(scalars(source, &[]).concat(), [0, 1, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn loops_around_a_pipeline_and_in_its_processes_keep_their_indices() {
    let source = "axis b = dense(2); axis h = dense(3); kernel k(); workload one() { k(); }
        workload main { channel a[1]; parallel for i in b { pipeline {
            process p { parallel for x in h { send a as s { k(); } } }
            process q { parallel for x in 0..3, y in h { if y == x { consume a as s { call one(); } } } }
        } k(); } }
        schedule { dispatch(affinity(10 * b + h)); }";
    let found = tasks(source, &[]);
    let indices: Vec<Vec<i64>> = found.iter().map(|task| task.indices.clone()).collect();
    let of = |i: i64| (0..3).flat_map(move |x| [vec![i, x], vec![i, x, x]]).chain([vec![i]]);
    assert_eq!(indices, (0..2).flat_map(of).collect::<Vec<_>>());
    let keys: Vec<_> = found.iter().map(|task| task.place.dispatch).collect();
    let key = |task: &Vec<i64>| task[0] * 10 + task.get(1).copied().unwrap_or(0);
    for (found, task) in keys.iter().zip(&indices) {
        assert_eq!(*found, Some(wsp_plan::workload::Dispatched::Affinity(key(task))));
    }
}

#[test]
fn after_names_tasks_of_other_processes() {
    let source = "kernel k(); workload main { channel a[1]; pipeline {
            process p { parallel for i in 0..3 { send a as s { let l = k(); } } }
            process q { parallel for i in 0..3 { consume a as s { k() after l; } } } } }
        schedule { task_graph(deps = explicit); }";
    let after: Vec<Vec<u64>> = tasks(source, &[]).into_iter().map(|task| task.after).collect();
    assert_eq!(after, [vec![], vec![0], vec![], vec![2], vec![], vec![4]]);
}

#[test]
fn ordered_scopes_without_transfers_stand_in_processes_and_around_pipelines() {
    let source = "kernel k(i); workload main { channel a[1]; for t in 0..2 { pipeline {
        process p { for i in 0..2 { k(i); } send a as s { for i in 0..2 { k(i); } } }
        process q { consume a as s { sequential { { k(0); } { k(1); } } } } } } }";
    let module = module(source);
    let (record, result) = expanded(&module, &bound(&module, &[]), &[]);
    assert_eq!(result.map(|stats| stats.ordered_scopes).ok(), Some(7));
    assert_eq!(record.tasks().len(), 12);
}

#[test]
fn a_missing_producer_is_a_deadlock() {
    let (diagnostic, labels, before) = deadlock(
        "kernel k(); workload main { channel done[1]; pipeline {
            process load { k(); } process store { parallel for t in 0..4 { consume done as s { k(); } } } } }",
    );
    assert_eq!(diagnostic.message, "no process of the pipeline can go on");
    assert_eq!(labels, ["`store` waits to consume from `done` (empty) at t = 0"]);
    assert_eq!(diagnostic.notes, ["`load` has ended", "after 1 task"]);
    assert_eq!(before, 1);
}

#[test]
fn processes_that_wait_for_each_other_are_a_deadlock() {
    let (_, labels, _) = deadlock(
        "kernel k(); workload main { channel a[1]; channel b[1]; pipeline {
            process p { consume b as s { k(); } send a as s { k(); } }
            process q { consume a as s { k(); } send b as s { k(); } } } }",
    );
    assert_eq!(labels, ["`p` waits to consume from `b` (empty)", "`q` waits to consume from `a` (empty)"]);
}

#[test]
fn a_stage_that_holds_two_tokens_needs_two_slots() {
    let source = |depth: u32| {
        format!(
            "kernel k(); workload main {{ channel a[{depth}]; parallel for i in 3..5 {{ pipeline {{
                process load {{ parallel for t in 0..4 {{ send a as s {{ k(); }} }} }}
                process pairs {{ parallel for t in 0..2 {{ consume a as s {{ consume a as r {{ k(); }} }} }} }} }} }} }}"
        )
    };
    assert_eq!(tasks(&source(2), &[]).len(), 12);
    let (diagnostic, labels, before) = deadlock(&source(1));
    assert_eq!(
        labels,
        [
            "`load` waits to send to `a` (1 of 1 slot full) at t = 1",
            "`pairs` waits to consume from `a` (1 of 1 slot in use, none to be consumed) at t = 0"
        ]
    );
    assert_eq!(diagnostic.notes, ["at i = 3", "after 1 task"]);
    assert_eq!(before, 1);
}

#[test]
fn unequal_numbers_of_tokens_wait_or_are_dropped() {
    let source = |sends: u32, consumes: u32| {
        format!(
            "kernel k(); workload main {{ channel a[2]; pipeline {{
                process p {{ parallel for t in 0..{sends} {{ send a as s {{ k(); }} }} }}
                process q {{ parallel for t in 0..{consumes} {{ consume a as s {{ k(); }} }} }} }} }}"
        )
    };
    assert_eq!(tasks(&source(5, 3), &[]).len(), 8, "two tokens stay in the channel");
    assert_eq!(deadlock(&source(6, 3)).1, ["`p` waits to send to `a` (2 of 2 slots full) at t = 5"]);
    assert_eq!(deadlock(&source(3, 5)).1, ["`q` waits to consume from `a` (empty) at t = 3"]);
}

#[test]
fn depths_are_checked_when_they_are_bound() {
    let module = module(STAGES);
    for depth in [0, -1, 1 << 32] {
        let found = try_bind(&module, &[("depth", depth)], &[]).expect_err("a depth that is none");
        let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        let of = |name: &str| format!("channel `{name}` has a depth of {depth}");
        assert_eq!(messages, [of("a"), of("b")]);
        assert!(found.iter().all(|found| found.code == Code(808)));
    }
    assert!(try_bind(&module, &[("depth", (1 << 32) - 1)], &[]).is_ok());
}

#[test]
fn tasks_of_pipelines_are_counted_unless_they_depend_on_slots() {
    let counted = |source: &str| {
        let module = module(source);
        count(&module, &bound(&module, &[]))
    };
    assert_eq!(counted(STAGES), Some(12));
    let by_slot = "kernel k(); workload main { channel a[2]; pipeline { process p {
        send a as s { parallel for i in 0..s { k(); } } consume a as s { } } } }";
    assert_eq!(counted(by_slot), None);
}

/// Asks to stop after some looks.
struct Until(Cell<u32>);

impl TaskSink for Until {
    type Error = ();

    fn task(&mut self, _: &TaskRecord<'_>) -> Result<(), ()> {
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, ()> {
        Ok(0)
    }

    fn cancelled(&self) -> bool {
        self.0.set(self.0.get().saturating_sub(1));
        self.0.get() == 0
    }
}

#[test]
fn a_pipeline_stops_when_it_is_asked_to() {
    let module = module(STAGES);
    let bindings = bound(&module, &[("n", 1_000_000_000)]);
    let result = expand(&module, &bindings, &LoweredSchedule::default(), &mut Until(Cell::new(20)));
    assert!(matches!(result, Err(ExpandError::Cancelled)), "{result:?}");
}
