//! How many steps an AICPU takes: a constant times its own tasks and the loops of the program, however many AICPUs there
//! are.

use crate::asm::*;
use crate::oracle::{Data, Event};
use crate::run::{How, SKIP, Sums, config, run};
use wsp_core::ptow::{Counts, Op, XOp};

fn task() -> Node {
    Node::Task(TaskNode { params: vec![Param::Loopvar(0), Param::Loopvar(1)], ..TaskNode::default() })
}

fn over(op: Op, axis: u16, body: Vec<Node>) -> Node {
    Node::Loop { op, axis, row: None, body }
}

fn dense(extent: i64) -> Axis {
    Axis::Dense(c(0), c(extent))
}

fn module(axes: Vec<Axis>, body: Vec<Node>) -> Module {
    let counts = Counts { tables: 2, ..Counts::default() };
    Module { axes, kernels: vec![0], tensors: vec![], counts, body }
}

/// Own tasks and steps of an AICPU in the middle.
fn measured(module: &Module, tables: &[Vec<i64>], policy: &Policy, n: u16) -> (u64, u64) {
    let data = Data { tables: tables.to_vec(), ..Data::default() };
    let how = How { sums: Sums::With, ..SKIP };
    let outcome = run(&module.assemble(), &data, &config(policy, n, n / 2), how);
    assert_eq!(outcome.fault, None);
    (outcome.stats.tasks, outcome.stats.steps)
}

const AICPUS: [u16; 5] = [1, 2, 4, 16, 64];

/// Steps are at most so many times the tasks, for programs that grow with the number of AICPUs.
fn assert_flat(most: u64, policy: &Policy, of: impl Fn(i64) -> (Module, Vec<Vec<i64>>)) {
    for n in AICPUS {
        let (module, tables) = of(i64::from(n));
        let (tasks, steps) = measured(&module, &tables, policy, n);
        assert!(tasks >= 256, "{tasks} tasks of {n} AICPUs");
        assert!(steps <= most * tasks + 32, "{n} AICPUs: {steps} steps for {tasks} tasks under {policy:?}");
    }
}

#[test]
fn a_dense_nest_costs_its_own_tasks() {
    let nest = |n: i64| {
        let inner = over(Op::ParallelFor, 1, vec![over(Op::ForEach, 2, vec![task()])]);
        (
            module(vec![dense(8 * n), dense(16), dense(8)], vec![over(Op::ParallelFor, 0, vec![inner])]),
            vec![vec![]; 2],
        )
    };
    assert_flat(2, &Policy::Affinity(0), nest);
    // Every task may lie in an iteration of its own of every loop around it.
    assert_flat(5, &Policy::RoundRobin, nest);
    assert_flat(2, &Policy::Affinity(1), |n| {
        let (mut module, tables) = nest(1);
        module.axes[1] = dense(16 * n);
        (module, tables)
    });
}

#[test]
fn a_key_that_is_a_sum_of_axes_costs_its_own_tasks() {
    let skewed = add(mul(X::Axis(0), c(3)), add(X::Axis(1), c(-7)));
    assert_flat(3, &Policy::RoundRobin, |n| {
        let inner = over(Op::ParallelFor, 1, vec![task(), task()]);
        let body = vec![Node::Filter(Policy::Key(skewed.clone())), over(Op::ParallelFor, 0, vec![inner])];
        (module(vec![dense(32), dense(16 * n)], body), vec![vec![]; 2])
    });
}

#[test]
fn a_threshold_is_decided_once_where_it_does_not_change() {
    assert_flat(3, &Policy::RoundRobin, |n| {
        let levels = vec![Policy::Pool(0), Policy::Affinity(1)];
        let threshold = Policy::Threshold { metric: X::Axis(0), bounds: vec![16], levels };
        let inner = over(Op::ParallelFor, 1, vec![task()]);
        let body = vec![Node::Filter(threshold), over(Op::ParallelFor, 0, vec![inner])];
        (module(vec![dense(32), dense(16 * n)], body), vec![vec![]; 2])
    });
}

#[test]
fn a_partition_by_ordinals_costs_its_own_tasks() {
    for n in AICPUS {
        let ends = (1..=u32::from(n)).map(|range| range * 512).collect();
        let inner = over(Op::ParallelFor, 1, vec![task()]);
        let body = vec![Node::Filter(Policy::Ranges(ends)), over(Op::ParallelFor, 0, vec![inner])];
        let module = module(vec![dense(32 * i64::from(n)), dense(16)], body);
        let (tasks, steps) = measured(&module, &[vec![], vec![]], &Policy::RoundRobin, n);
        assert_eq!(tasks, 512);
        assert!(steps <= 3 * tasks, "{n} AICPUs: {steps} steps");
    }
}

#[test]
fn rows_of_different_lengths_cost_what_is_owned() {
    let ragged = |n: i64| {
        let lengths: Vec<i64> = (0..32 * n).map(|row| row * 7 % 48).collect();
        let body = vec![over(Op::ParallelFor, 0, vec![over(Op::ParallelFor, 1, vec![task()])])];
        (module(vec![dense(32 * n), Axis::Ragged(0)], body), vec![lengths, vec![]])
    };
    assert_flat(3, &Policy::Affinity(0), ragged);
    assert_flat(4, &Policy::RoundRobin, ragged);
}

#[test]
fn sparse_rows_cost_what_is_owned() {
    let sparse = |n: i64| {
        let lengths = (0..32 * n).map(|row| row * 7 % 40);
        let pointers: Vec<i64> = [0]
            .into_iter()
            .chain(lengths.scan(0, |end, len| {
                *end += len;
                Some(*end)
            }))
            .collect();
        let columns = (0..*pointers.last().unwrap()).map(|at| at * 3 % 101).collect();
        let body = vec![over(Op::ParallelFor, 0, vec![over(Op::Select, 1, vec![task()])])];
        (module(vec![dense(32 * n), Axis::Sparse { pointers: 0, columns: 1 }], body), vec![pointers, columns])
    };
    assert_flat(3, &Policy::Affinity(0), sparse);
    assert_flat(4, &Policy::RoundRobin, sparse);
}

#[test]
fn a_triangle_costs_what_is_owned() {
    let triangle = |rows: i64| {
        let hi = bin(XOp::XMin, add(v(0), c(1)), c(64));
        let body = vec![over(Op::ParallelFor, 0, vec![over(Op::ParallelFor, 1, vec![task()])])];
        module(vec![dense(rows), Axis::Range { lo: c(0), hi, step: None }], body)
    };
    assert_flat(3, &Policy::Affinity(0), |n| (triangle(64 * n), vec![vec![]; 2]));
    assert_flat(4, &Policy::RoundRobin, |n| (triangle(64 * n), vec![vec![]; 2]));
}

#[test]
fn many_aicpus_enumerate_a_large_nest_in_steps_of_their_own_tasks() {
    // 4 x 32 x 512 x 512 iterations; one in 16 384 is this AICPU's.
    let nest = over(Op::ParallelFor, 2, vec![over(Op::ParallelFor, 3, vec![task()])]);
    let body = vec![
        Node::Filter(Policy::Key(add(mul(X::Axis(2), c(512)), X::Axis(3)))),
        over(Op::ParallelFor, 0, vec![over(Op::ParallelFor, 1, vec![nest])]),
    ];
    let module = module(vec![dense(4), dense(32), dense(512), dense(512)], body);
    let data = Data { tables: vec![vec![]; 2], ..Data::default() };
    let outcome = run(&module.assemble(), &data, &config(&Policy::RoundRobin, 1024, 5), SKIP);
    let tasks = outcome.events.iter().filter(|event| matches!(event, Event::Task(_))).count() as u64;
    assert_eq!((tasks, outcome.stats.total_ordinals), (4 * 32 * 512 * 512 / 1024, 4 * 32 * 512 * 512));
    assert!(outcome.stats.steps <= 6 * tasks, "{} steps", outcome.stats.steps);
}
