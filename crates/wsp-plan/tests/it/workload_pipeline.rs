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
    assert_eq!(
        diagnostic.notes,
        ["`load` waits for `pairs`, and `pairs` for `load`", "at i = 3", "after 1 task"]
    );
    assert_eq!(diagnostic.help, ["declare `a` deeper than 1, or let a process consume before it sends"]);
    assert_eq!(before, 1);
}

#[test]
fn the_help_names_the_full_channel_of_the_smallest_depth_in_the_circle() {
    let (diagnostic, labels, _) = deadlock(
        "kernel k(); workload main { channel far[1]; channel a[3]; channel b[2]; pipeline {
            process idle { send far as s { } send far as s { } }
            process p { parallel for i in 0..9 { send a as s { } } consume b as t { } }
            process q { parallel for i in 0..9 { send b as s { } } consume a as t { } consume far as s { } } } }",
    );
    assert_eq!(
        labels,
        [
            "`idle` waits to send to `far` (1 of 1 slot full)",
            "`p` waits to send to `a` (3 of 3 slots full) at i = 3",
            "`q` waits to send to `b` (2 of 2 slots full) at i = 2"
        ]
    );
    assert_eq!(diagnostic.notes[0], "`q` waits for `p`, and `p` for `q`");
    assert_eq!(diagnostic.help, ["declare `b` deeper than 2, or let a process consume before it sends"]);
}

#[test]
fn a_channel_of_depth_0_joins_both_ends() {
    // What `p` does behind a send comes after the consume of its token began.
    let source = |depth: u32| {
        format!(
            "kernel k(who, t, s); workload main {{ channel a[{depth}]; pipeline {{
                process p {{ parallel for t in 0..3 {{ send a as s {{ k(0, t, s); }} k(1, t, 0); }} }}
                process q {{ parallel for t in 0..3 {{ k(2, t, 0); consume a as s {{ k(3, t, s); }} }} }} }} }}"
        )
    };
    let order = |depth: u32| {
        let found = scalars(&source(depth), &[]);
        assert!(found.iter().all(|task| task[2] < i64::from(depth.max(1))));
        found.iter().map(|task| (task[0], task[1])).collect::<Vec<_>>()
    };
    let met = |t: i64| [(0, t), (2, t), (3, t), (1, t)];
    let place = |order: &[(i64, i64)], task| order.iter().position(|found| *found == task).expect("a task");
    let order_0 = order(0);
    for t in 0..3 {
        let [send, _, consume, behind] = met(t).map(|task| place(&order_0, task));
        assert!(send < consume && consume < behind, "{order_0:?}");
    }
    assert_eq!(order(1).len(), order_0.len());
}

#[test]
fn a_sender_whose_token_is_not_taken_is_named() {
    let (diagnostic, labels, _) = deadlock(
        "kernel k(); workload main { channel a[0]; pipeline { process p { parallel for i in 0..2 { send a as s { k(); } consume a as t { } } } } }",
    );
    assert_eq!(labels, ["`p` waits to send to `a` (its token is not taken) at i = 0"]);
    assert_eq!(diagnostic.notes[0], "`p` waits for itself");
    assert_eq!(diagnostic.help, ["declare `a` deeper than 0, or let a process consume before it sends"]);
}

#[test]
fn a_consume_of_all_ends_when_its_channel_is_closed_and_empty() {
    for (n, depth) in [(0, 0), (0, 2), (1, 0), (7, 0), (7, 1), (7, 3)] {
        let source = format!(
            "kernel k(who, s); workload main {{ channel a[{depth}]; pipeline {{
                process p {{ parallel for t in 0..{n} {{ send a as s {{ k(0, s); }} }} close a; }}
                process q {{ consume all a as s {{ k(1, s); }} k(2, 0); }} }} }}"
        );
        let found = scalars(&source, &[]);
        let of = |who| found.iter().filter(|task| task[0] == who).map(|task| task[1]).collect::<Vec<_>>();
        let slots = (0..n).map(|t| t % depth.max(1)).collect::<Vec<_>>();
        assert_eq!((of(0), of(1), of(2)), (slots.clone(), slots, vec![0]));
        assert_eq!(found.last().map(|task| task[0]), Some(2));
    }
}

#[test]
fn the_first_arm_with_a_token_is_taken() {
    let source = "kernel k(arm, n); workload main { channel a[4]; channel b[4]; pipeline {
        process q { parallel for t in 0..6 { select { consume a as s { k(0, t); } consume b as s { k(1, t); } } } }
        process p { parallel for t in 0..3 { send b as s { } send a as s { } } } } }";
    // `q` waits, and after each send of `p` takes what is there.
    let arms: Vec<i64> = scalars(source, &[]).iter().map(|task| task[0]).collect();
    assert_eq!(arms, [1, 0, 1, 0, 1, 0]);
    let both = source
        .replace("process q", "process r")
        .replace("pipeline {", "pipeline { process o { parallel for t in 0..6 { consume go as s { } } } ");
    let both = both.replace("workload main {", "workload main { channel go[0];").replace(
        "parallel for t in 0..6 { select",
        "parallel for t in 0..6 { send go as s { } } parallel for t in 0..6 { select",
    );
    let arms: Vec<i64> = scalars(&both, &[]).iter().map(|task| task[0]).collect();
    assert_eq!(arms, [0, 0, 0, 1, 1, 1], "both channels are full when it begins");
}

#[test]
fn a_select_of_all_ends_with_the_last_of_its_channels() {
    let source = "kernel k(arm, s); workload main { channel a[1]; channel b[2]; channel c[0]; pipeline {
        process p { parallel for t in 0..5 { send a as s { } } close a; }
        process q { close b; }
        process r { parallel for t in 0..2 { send c as s { } } close c; }
        process join { select all { consume a as s { k(0, s); } consume b as s { k(1, s); } consume c as s { k(2, s); } } k(3, 0); } } }";
    let arms: Vec<i64> = scalars(source, &[]).iter().map(|task| task[0]).collect();
    let count = |arm| arms.iter().filter(|found| **found == arm).count();
    assert_eq!((count(0), count(1), count(2), arms[arms.len() - 1]), (5, 0, 2, 3));
}

#[test]
fn channels_are_open_again_when_their_pipeline_begins_again() {
    let source = "kernel k(i); workload main { channel a[1]; for i in 0..3 { pipeline {
        process p { send a as s { k(i); } close a; } process q { consume all a as s { } } } } }";
    assert_eq!(scalars(source, &[]).concat(), [0, 1, 2]);
}

#[test]
fn what_is_done_with_a_closed_channel_is_a_fault() {
    let faulted = |body: &str| {
        let source = format!("kernel k(); workload main {{ channel a[4]; pipeline {{ {body} }} }}");
        let (diagnostic, _) = fault(&source, &[]);
        assert_eq!(diagnostic.code, Code(821), "{diagnostic:?}");
        let labels: Vec<&str> = diagnostic.labels.iter().map(|label| &*label.text).collect();
        assert_eq!(labels, ["closed here"]);
        (diagnostic.message, diagnostic.notes[0].clone())
    };
    let sends = "process p { parallel for i in 0..2 { send a as s { k(); } if i == 0 { close a; } } } process q { consume all a as s { } }";
    assert_eq!(faulted(sends), ("a token is sent to `a`, which is closed".to_owned(), "at i = 1".to_owned()));
    let closes =
        "process p { parallel for i in 0..3 { if i > 0 { close a; } } } process q { consume all a as s { } }";
    assert_eq!(
        faulted(closes),
        ("a second `close` of `a`, which is closed".to_owned(), "at i = 2".to_owned())
    );
    let consumes = "process p { send a as s { k(); } close a; } process q { parallel for t in 0..3 { consume a as s { } } }";
    let message = "nothing is left to consume from `a`, which is closed".to_owned();
    assert_eq!(faulted(consumes), (message.clone(), "at t = 1".to_owned()));
    let selects = "process p { close a; } process q { select { consume a as s { } } }";
    assert_eq!(faulted(selects).0, message);
}

#[test]
fn a_select_that_waits_names_its_open_channels() {
    let (_, labels, _) = deadlock(
        "kernel k(); workload main { channel a[1]; channel b[1]; channel c[1]; pipeline {
            process p { close b; consume c as s { } send a as s { } send c as s { } }
            process q { select { consume a as s { k(); } consume b as s { } consume c as s { } } } } }"
            .replace("process p { close b; consume c as s { }", "process p { close b; consume d as s { }")
            .replace("channel c[1];", "channel c[1]; channel d[1];")
            .as_str(),
    );
    assert_eq!(
        labels,
        ["`p` waits to consume from `d` (empty)", "`q` waits to consume from `a` (empty) or `c` (empty)"]
    );
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
    for depth in [-1, -(1 << 40), 1 << 32] {
        let found = try_bind(&module, &[("depth", depth)], &[]).expect_err("a depth that is none");
        let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        let of = |name: &str| format!("channel `{name}` has a depth of {depth}");
        assert_eq!(messages, [of("a"), of("b")]);
        assert!(found.iter().all(|found| found.code == Code(808)));
    }
    assert!(try_bind(&module, &[("depth", (1 << 32) - 1)], &[]).is_ok());
    assert!(try_bind(&module, &[("depth", 0)], &[]).is_ok());
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

#[test]
fn copies_are_processes_and_arms_with_a_number_each() {
    let source = "kernel k(who, w, t); workload main { channel parts[3][2]; channel ready[3][1]; pipeline {
        replicate w in 0..3 process feed { parallel for t in w..7 step 3 { send parts[w] as s { let l = k(0, w, t); k(9, w, t) after l; } } close parts[w]; }
        replicate w in 0..3 process work { consume all parts[2 - w] as s { send ready[w] as d { k(1, w, s); } } close ready[w]; }
        process join { select all { replicate w in 0..3 consume ready[w] as d { parallel for w in 5..6 { k(2, w, d); } k(3, w, d); } } } } }";
    let found = scalars(source, &[]);
    let of = |who| found.iter().filter(move |task| task[0] == who);
    for w in 0..3 {
        let fed: Vec<i64> = of(0).filter(|task| task[1] == w).map(|task| task[2]).collect();
        assert_eq!(fed, (w..7).step_by(3).collect::<Vec<_>>());
        let worked = of(1).filter(|task| task[1] == w).count();
        assert_eq!(worked, (2 - w..7).step_by(3).count());
        assert_eq!(of(3).filter(|task| task[1] == w).count(), worked);
    }
    assert!(of(2).all(|task| task[1] == 5), "a loop's variable hides that of the copies");
}

#[test]
fn connected_ends_are_one_channel() {
    let by_name = "kernel k(who, s); workload main { pipeline {
        connect load.out to work.tiles [2]; connect work.out to store.tiles [1];
        process load { parallel for t in 0..5 { send out as s { k(0, s); } } close out; }
        process work { consume all tiles as s { send out as d { k(1, d); } } close out; }
        process store { consume all tiles as s { k(2, s); } } } }";
    let by_channel = "kernel k(who, s); workload main { channel a[2]; channel b[1]; pipeline {
        process load { parallel for t in 0..5 { send a as s { k(0, s); } } close a; }
        process work { consume all a as s { send b as d { k(1, d); } } close b; }
        process store { consume all b as s { k(2, s); } } } }";
    assert_eq!(scalars(by_name, &[]), scalars(by_channel, &[]));
    let (diagnostic, labels, _) = deadlock(
        "kernel k(); workload main { pipeline { connect p.out to q.from [1]; process p { } process q { consume from as s { k(); } } } }",
    );
    assert_eq!(labels, ["`q` waits to consume from `from` (empty)"]);
    assert_eq!(diagnostic.notes[0], "`p` has ended");
}

#[test]
fn who_waits_for_the_rest_of_a_channel_is_told_to_close_it() {
    let (diagnostic, labels, _) = deadlock(
        "kernel k(); workload main { channel a[2]; pipeline { process p { send a as s { k(); } } process q { consume all a as s { } } } }",
    );
    assert_eq!(labels, ["`q` waits to consume from `a` (empty)"]);
    assert_eq!(diagnostic.help, ["close the channel behind the last `send`: `close a;`"]);
}

#[test]
fn a_circle_through_a_select_or_the_end_of_what_is_not_closed_is_named() {
    let (diagnostic, labels, _) = deadlock(
        "kernel k(); workload main { channel far[2]; channel a[1]; channel b[1]; channel back[1]; pipeline {
            process p { parallel for t in 0..3 { send a as s { } consume back as r { } } close a; }
            process far { send far as s { } close far; }
            process q { select all { consume far as s { } consume a as s { } } send back as r { k(); } } } }",
    );
    assert_eq!(
        labels,
        ["`p` waits to consume from `back` (empty) at t = 0", "`q` waits to consume from `a` (empty)"]
    );
    assert_eq!(diagnostic.notes[..2], ["`far` has ended", "`p` waits for `q`, and `q` for `p`"]);
    assert_eq!(diagnostic.help, ["let one process send or `close` before it consumes"]);
    // The sender to `far` does not wait, and the circle has a full channel.
    let (diagnostic, _, _) = deadlock(
        "kernel k(); workload main { channel far[2]; channel a[1]; channel b[2]; pipeline {
            process p { parallel for t in 0..4 { send b as s { } } send a as r { } }
            process far { consume b as s { } parallel for t in 0..3 { send far as s { } } }
            process q { select { consume a as s { } } select { consume a as s { } consume far as s { } }
                        parallel for t in 0..2 { consume far as s { } } } } }",
    );
    assert_eq!(diagnostic.notes[0], "`p` waits for `far`, and `far` for `q`, and `q` for `p`");
}

#[test]
fn a_chain_to_a_process_that_has_ended_is_named() {
    // What `q` waits for helps `r`: its full channel is no cause.
    let (diagnostic, labels, _) = deadlock(
        "kernel k(); workload main { channel a[2]; channel b[1]; pipeline {
            process p { send a as s { k(); } }
            process r { parallel for t in 0..2 { send b as s { } } }
            process q { consume all a as s { } parallel for t in 0..2 { consume b as s { } } } } }",
    );
    assert_eq!(
        labels,
        ["`r` waits to send to `b` (1 of 1 slot full) at t = 1", "`q` waits to consume from `a` (empty)"]
    );
    assert_eq!(
        diagnostic.notes[..2],
        ["`p` has ended", "`r` waits for `q`, and `q` for `p`, which has ended"]
    );
    assert_eq!(diagnostic.help, ["close the channel behind the last `send`: `close a;`"]);
}
