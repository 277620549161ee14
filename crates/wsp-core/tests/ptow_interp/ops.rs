//! Every instruction, against the walk over the tree.

use crate::asm::*;
use crate::oracle::{AtFault, Data, Event, expand};
use crate::run::{How, NAIVE, SKIP, config, run};
use wsp_core::ptow::interp::Mode;
use wsp_core::ptow::{Counts, Op};

fn task(kernel: u16) -> Node {
    Node::Task(TaskNode { kernel, ..TaskNode::default() })
}

/// A task whose parameters are the variables in scope, in a loop over an axis.
fn over(op: Op, axis: u16, body: Vec<Node>) -> Node {
    Node::Loop { op, axis, row: None, body }
}

fn dense(lo: i64, hi: i64) -> Axis {
    Axis::Dense(c(lo), c(hi))
}

fn module(axes: Vec<Axis>, body: Vec<Node>) -> Module {
    let counts = Counts { values: 2, tables: 3, slots: 2, labels: 3, generators: 1, channels: 0 };
    Module { axes, kernels: vec![0, 1, 255], tensors: vec![1, 2], counts, body }
}

fn data() -> Data {
    Data {
        values: vec![3, 100],
        tables: vec![vec![2, 0, 3, 1], vec![0, 2, 2, 5], vec![4, 7, 1, 0, 9]],
        extents: vec![[64, 1, 1, 1, 1, 1], [8, 64, 1, 1, 1, 1]],
    }
}

fn tasks(events: &[Event]) -> Vec<Event> {
    events.iter().filter(|event| matches!(event, Event::Task(_))).cloned().collect()
}

/// Runs a program on 1, 2 and 3 AICPUs in every way, against the oracle; what one AICPU sees.
fn check(module: &Module) -> Vec<Event> {
    let (code, data) = (module.assemble(), data());
    let mut alone = Vec::new();
    for n in 1..=3 {
        let (all, end) = expand(module, &data, n, Policy::RoundRobin);
        for me in 0..n {
            let mine: Vec<Event> = all.iter().filter_map(|event| owned_by(event, me)).collect();
            let own_tasks = tasks(&mine);
            let config = config(&Policy::RoundRobin, n, me);
            let naive = run(&code, &data, &config, NAIVE);
            if matches!(end, Err(AtFault { owner: Some(owner), .. }) if owner != me) {
                continue;
            }
            assert_eq!(naive.events, mine, "AICPU {me} of {n}");
            assert_eq!(naive.fault.map(|fault| fault.ordinal), end.clone().err().map(|at| at.ordinal));
            let skip = run(&code, &data, &config, SKIP);
            assert_eq!(tasks(&skip.events), own_tasks, "AICPU {me} of {n}");
            for mode in [Mode::Naive, Mode::Skip] {
                for budget in [(1, u32::MAX), (u32::MAX, 1), (2, 3), (3, 2)] {
                    let reference = if mode == Mode::Naive { &naive } else { &skip };
                    let again = run(&code, &data, &config, How { mode, budget, stubborn: true, ..NAIVE });
                    assert_eq!(again.events, reference.events, "budget {budget:?}");
                    assert_eq!(again.fault, reference.fault);
                    assert_eq!(again.stats, reference.stats);
                }
            }
            if n == 1 {
                alone = naive.events;
            }
        }
    }
    alone
}

/// What an AICPU sees of an event; its owner does not matter then.
pub(crate) fn owned_by(event: &Event, me: u16) -> Option<Event> {
    match event {
        Event::Task(task) if task.owner != me => None,
        Event::Task(task) => {
            let mut task = task.clone();
            task.owner = 0;
            Some(Event::Task(task))
        }
        other => Some(other.clone()),
    }
}

/// Variables of every task that one AICPU sees.
fn vars(module: &Module) -> Vec<Vec<i64>> {
    check(module)
        .iter()
        .filter_map(|event| match event {
            Event::Task(task) => Some(task.vars.clone()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_body_runs_once_per_index_and_what_follows_once() {
    let body = vec![over(Op::ParallelFor, 0, vec![task(0)]), task(1)];
    let found = vars(&module(vec![dense(0, 3)], body));
    assert_eq!(found, [vec![0], vec![1], vec![2], vec![]]);
}

#[test]
fn an_extent_of_zero_runs_nothing_and_negative_ones_neither() {
    for hi in [0, -5] {
        let body = vec![over(Op::ForEach, 0, vec![task(0)]), task(1)];
        let events = check(&module(vec![dense(0, hi)], body));
        assert_eq!(events.len(), 1, "no boundary is told");
    }
}

#[test]
fn loops_nest_and_their_first_index_need_not_be_zero() {
    let body = vec![over(Op::ParallelFor, 0, vec![over(Op::ParallelFor, 1, vec![task(0)]), task(1)])];
    let found = vars(&module(vec![dense(1, 3), dense(-1, 1)], body));
    assert_eq!(found, [vec![1, -1], vec![1, 0], vec![1], vec![2, -1], vec![2, 0], vec![2]]);
}

#[test]
fn halt_ends_and_nop_does_nothing() {
    assert_eq!(check(&module(vec![], vec![])), []);
    assert_eq!(vars(&module(vec![], vec![Node::Nop, task(0), Node::Nop])), [vec![]]);
}

#[test]
fn for_each_tells_where_its_steps_begin() {
    let events =
        check(&module(vec![dense(0, 2)], vec![task(0), over(Op::ForEach, 0, vec![task(1), task(2)])]));
    let told: Vec<&Event> = events.iter().filter(|event| !matches!(event, Event::Task(_))).collect();
    assert_eq!(told, [&Event::Begin(1), &Event::Step(3), &Event::End(5)]);
}

#[test]
fn sequential_tells_where_its_steps_begin_and_combine_does_not() {
    let bodies = vec![vec![task(0)], vec![], vec![task(1), task(2)]];
    let events = check(&module(vec![], vec![Node::Sequential(bodies.clone()), Node::Combine(bodies)]));
    let told: Vec<&Event> = events.iter().filter(|event| !matches!(event, Event::Task(_))).collect();
    assert_eq!(told, [&Event::Begin(0), &Event::Step(1), &Event::Step(1), &Event::End(3)]);
    assert_eq!(tasks(&events).len(), 6);
}

#[test]
fn select_runs_the_columns_of_a_row_and_knows_their_positions() {
    let inner = Node::Task(TaskNode {
        params: vec![Param::Loopvar(1), Param::Expr(X::Pos(1))],
        ..TaskNode::default()
    });
    let select = over(Op::Select, 1, vec![inner]);
    let sparse = Axis::Sparse { pointers: 1, columns: 2 };
    let found = vars(&module(vec![dense(0, 3), sparse], vec![over(Op::ParallelFor, 0, vec![select])]));
    assert_eq!(found, [vec![0, 4], vec![0, 7], vec![2, 1], vec![2, 0], vec![2, 9]]);
}

#[test]
fn a_ragged_loop_takes_its_row_from_the_innermost_variable_or_from_an_expression() {
    let ragged = |row| Node::Loop { op: Op::ParallelFor, axis: 1, row, body: vec![task(0)] };
    let body = vec![over(Op::ParallelFor, 0, vec![ragged(None)]), ragged(Some(c(3)))];
    let found = vars(&module(vec![dense(0, 3), Axis::Ragged(0)], body));
    assert_eq!(found, [vec![0, 0], vec![0, 1], vec![2, 0], vec![2, 1], vec![2, 2], vec![0]]);
}

#[test]
fn ranges_follow_outer_variables_and_steps() {
    let triangle = Axis::Range { lo: v(0), hi: c(7), step: Some(c(3)) };
    let body = vec![over(Op::ParallelFor, 0, vec![over(Op::ParallelFor, 1, vec![task(0)])])];
    let found = vars(&module(vec![Axis::DenseDyn(0), triangle], body));
    assert_eq!(found, [[0, 0], [0, 3], [0, 6], [1, 1], [1, 4], [2, 2], [2, 5]].map(|pair| pair.to_vec()));
}

#[test]
fn cond_takes_one_branch() {
    let cond = Node::Cond {
        condition: bin(wsp_core::ptow::XOp::XLt, v(0), c(2)),
        then: vec![task(0)],
        otherwise: vec![task(1), task(1)],
    };
    assert_eq!(vars(&module(vec![dense(0, 3)], vec![over(Op::ParallelFor, 0, vec![cond])])).len(), 4);
    let lonely = Node::Cond { condition: v(0), then: vec![task(0)], otherwise: vec![] };
    assert_eq!(vars(&module(vec![dense(0, 3)], vec![over(Op::ParallelFor, 0, vec![lonely])])).len(), 2);
}

#[test]
fn while_counts_rounds_and_stops_at_its_most() {
    let rounds =
        |max| Node::While { condition: bin(wsp_core::ptow::XOp::XLt, v(0), c(4)), max, body: vec![task(0)] };
    assert_eq!(vars(&module(vec![], vec![rounds(None)])), [[0], [1], [2], [3]].map(|v| v.to_vec()));
    assert_eq!(vars(&module(vec![], vec![rounds(Some(c(4)))])).len(), 4);
    assert_eq!(vars(&module(vec![], vec![rounds(Some(c(3)))])).len(), 3, "and then it is at fault");
    assert_eq!(vars(&module(vec![], vec![rounds(Some(c(-1)))])).len(), 0);
}

#[test]
fn a_while_waits_for_its_slot() {
    let rounds = Node::While { condition: X::Slot(0), max: Some(c(9)), body: vec![task(0)] };
    check(&module(vec![], vec![task(0), rounds, task(1)]));
}

#[test]
fn arguments_in_loops_wait_for_their_slots() {
    let body = vec![Node::Task(TaskNode {
        params: vec![Param::Expr(X::Slot(1)), Param::Expr(v(0))],
        accesses: vec![(Op::IoInput, 0, vec![Dim::SizedImm(X::Slot(0), 2)])],
        ..TaskNode::default()
    })];
    let events = check(&module(vec![dense(0, 4)], vec![over(Op::ParallelFor, 0, body)]));
    assert_eq!(tasks(&events).len(), 4);
}

#[test]
fn let_names_a_value_that_is_no_index() {
    let body =
        vec![over(Op::ParallelFor, 0, vec![Node::Let { value: mul(v(0), c(10)), body: vec![task(0)] }])];
    let events = check(&module(vec![dense(0, 2)], body));
    let Some(Event::Task(last)) = events.last() else { panic!("a task") };
    assert_eq!((&last.vars[..], &last.indices[..]), (&[1, 10][..], &[1][..]));
}

#[test]
fn a_label_is_reset_by_an_aicpu_without_tasks_there() {
    let labelled = Node::Task(TaskNode { label: Some(0), ..TaskNode::default() });
    let after = Node::Task(TaskNode { after: vec![0], ..TaskNode::default() });
    let resets = over(Op::ParallelFor, 0, vec![Node::Reset(0, 1), task(0)]);
    let events = check(&module(vec![dense(0, 1)], vec![labelled, resets, after]));
    assert_eq!(tasks(&events).len(), 3);
}

#[test]
fn a_key_is_of_the_innermost_loop_over_its_axis() {
    let inner = over(Op::ParallelFor, 0, vec![over(Op::ParallelFor, 0, vec![task(0)])]);
    let body = vec![Node::Filter(Policy::Key(X::Axis(0))), over(Op::ParallelFor, 0, vec![inner])];
    assert_eq!(tasks(&check(&module(vec![dense(0, 5)], body))).len(), 125);
}

#[test]
fn labels_name_their_last_task_until_they_are_reset() {
    let labelled = |label| Node::Task(TaskNode { label: Some(label), ..TaskNode::default() });
    let after = |labels: &[u16]| Node::Task(TaskNode { after: labels.to_vec(), ..TaskNode::default() });
    let each = over(Op::ParallelFor, 0, vec![labelled(1)]);
    let body = vec![after(&[0]), labelled(0), each, after(&[0, 1, 1, 2]), Node::Reset(0, 1), after(&[0, 1])];
    let events = check(&module(vec![dense(0, 3)], body));
    let afters: Vec<Vec<u64>> = events
        .iter()
        .filter_map(|event| match event {
            Event::Task(task) => Some(task.after.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(afters, [vec![], vec![], vec![], vec![], vec![], vec![1, 4], vec![4]]);
}

#[test]
fn parameters_and_regions_follow_the_variables() {
    let body = vec![Node::Task(TaskNode {
        kernel: 1,
        params: vec![Param::Const(-7), Param::Loopvar(0), Param::Expr(add(v(0), X::Value(1)))],
        accesses: vec![
            (Op::IoInput, 1, vec![Dim::Index(v(0)), Dim::SizedImm(mul(v(0), c(8)), 8)]),
            (Op::IoOutput, 0, vec![Dim::Range(v(0), add(v(0), c(2)))]),
            (Op::IoInout, 1, vec![Dim::Sized(c(0), X::Table(0, Box::new(v(0))))]),
        ],
        ..TaskNode::default()
    })];
    let events = check(&module(vec![dense(1, 4)], vec![over(Op::ParallelFor, 0, body)]));
    let Event::Task(last) = &events[2] else { panic!("a task") };
    assert_eq!(last.params, [-7, 3, 103]);
    assert_eq!(last.regions[0].2[..2], [(3, 4), (24, 32)]);
    assert_eq!(last.regions[1].2[..2], [(3, 5), (0, 1)]);
    assert_eq!(last.regions[2].2[..2], [(0, 1), (0, 64)]);
}

#[test]
fn a_fault_of_an_argument_matters_to_its_owner_only() {
    let access = vec![(Op::IoInput, 0, vec![Dim::Index(mul(v(0), c(32)))])];
    let body = vec![over(
        Op::ParallelFor,
        0,
        vec![Node::Task(TaskNode { accesses: access, ..TaskNode::default() })],
    )];
    let (code, data) = (module(vec![dense(0, 4)], body).assemble(), data());
    for how in [NAIVE, SKIP] {
        for (n, me, tasks, fault) in
            [(1, 0, 2, Some(2)), (2, 0, 1, Some(2)), (2, 1, 1, Some(3)), (4, 1, 1, None)]
        {
            let outcome = run(&code, &data, &config(&Policy::RoundRobin, n, me), how);
            assert_eq!(outcome.events.len(), tasks);
            assert_eq!(outcome.fault.map(|fault| fault.ordinal), fault, "{me} of {n}");
        }
    }
}

#[test]
fn rows_that_an_axis_lacks_are_faults() {
    let ragged = |row| Node::Loop { op: Op::ParallelFor, axis: 0, row: Some(c(row)), body: vec![task(0)] };
    for row in [-1, 4, i64::MAX, i64::MIN] {
        check(&module(vec![Axis::Ragged(0)], vec![task(0), ragged(row)]));
    }
    let select = |row| Node::Loop { op: Op::Select, axis: 0, row: Some(c(row)), body: vec![task(0)] };
    for row in [-1, 3, i64::MAX] {
        check(&module(vec![Axis::Sparse { pointers: 1, columns: 2 }], vec![task(0), select(row)]));
    }
    // A table of pointers that decreases and leaves the columns.
    for row in [0, 1, 2] {
        check(&module(vec![Axis::Sparse { pointers: 0, columns: 1 }], vec![task(0), select(row)]));
    }
}

#[test]
fn streams_priorities_and_filters_hold_for_the_rest_of_their_body() {
    let inner = vec![
        task(0),
        Node::Stream { count: 3, key: Some(X::Axis(0)) },
        Node::Priority(mul(X::Axis(0), c(-5))),
        Node::Filter(Policy::Key(X::Axis(0))),
        task(1),
        Node::Combine(vec![vec![task(2), Node::Filter(Policy::RoundRobin), task(0)]]),
        task(1),
    ];
    let body = vec![Node::Stream { count: 2, key: None }, over(Op::ParallelFor, 0, inner), task(2)];
    check(&module(vec![dense(-2, 3)], body));
}

#[test]
fn a_priority_that_does_not_fit_is_a_fault() {
    check(&module(vec![], vec![Node::Priority(c(1 << 31)), task(0)]));
}

#[test]
fn a_generator_takes_ordinals_and_is_told_its_first() {
    let events =
        check(&module(vec![dense(0, 2)], vec![over(Op::ParallelFor, 0, vec![task(0), Node::Plan(0)])]));
    assert!(events.contains(&Event::Plan(0, 4)));
}

#[test]
fn thresholds_choose_pools_and_the_filter_before_decides_on_the_aicpu() {
    let threshold = Policy::Threshold {
        metric: X::Axis(0),
        bounds: vec![1, 3],
        levels: vec![Policy::Pool(1), Policy::Hash(X::Axis(0)), Policy::Pool(2)],
    };
    let body = vec![
        Node::Filter(Policy::Key(mul(X::Axis(1), c(3)))),
        Node::Filter(threshold),
        over(Op::ParallelFor, 0, vec![task(0), over(Op::ParallelFor, 1, vec![task(1)])]),
    ];
    check(&module(vec![dense(0, 5), dense(0, 4)], body));
}

#[test]
fn a_task_past_the_ranges_of_a_partition_is_a_fault_for_all() {
    let body = vec![Node::Filter(Policy::Ranges(vec![2, 2, 7])), over(Op::ParallelFor, 0, vec![task(0)])];
    let module = module(vec![dense(0, 9)], body);
    check(&module);
    for me in 0..3 {
        let outcome = run(&module.assemble(), &data(), &config(&Policy::RoundRobin, 3, me), SKIP);
        assert!(outcome.fault.is_some(), "AICPU {me}");
    }
}
