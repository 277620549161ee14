//! Processes: whose turn it is, what slots they get, how they wait, and how they end.

use crate::asm::*;
use crate::oracle::{Data, Event};
use crate::run::{How, NAIVE, SKIP, config, run};
use wsp_core::ptow::interp::{FaultKind, Interpreter, Progress, Waits, workspace_words};
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::ptow::{Counts, DispatchConfig, Launch, Op};

/// A task with a number and the innermost of so many variables.
fn k(number: i32, vars: u16) -> Node {
    let params = vec![Param::Const(number), Param::Loopvar(vars - 1)];
    Node::Task(TaskNode { params, ..TaskNode::default() })
}

fn transfer(op: Op, channel: u16, body: Vec<Node>) -> Node {
    Node::Transfer { op, channel, body }
}

/// A loop over axis 0, 1, ….
fn each(axis: u16, body: Vec<Node>) -> Node {
    Node::Loop { op: Op::ParallelFor, axis, row: None, body }
}

/// Channels of these depths, and processes.
fn module(trips: &[i64], depths: &[i64], processes: Vec<Vec<Node>>) -> Module {
    let declared = depths.iter().zip(0..).map(|(depth, channel)| Node::Channel(channel, c(*depth)));
    let arms = processes.into_iter().map(|body| (0, body)).collect();
    Module {
        axes: trips.iter().map(|trip| Axis::Dense(c(0), c(*trip))).collect(),
        kernels: vec![0],
        counts: Counts { channels: depths.len() as u16, ..Counts::default() },
        body: declared.chain([Node::Arms { op: Op::Process, arms }]).collect(),
        ..Module::default()
    }
}

fn data() -> Data {
    Data { values: Vec::new(), tables: Vec::new(), extents: Vec::new() }
}

/// The parameters of all tasks, in order, and how it ended; the same on 1, 2 and 5 AICPUs, however they are stopped.
fn tasks(module: &Module) -> (Vec<Vec<i64>>, Option<FaultKind>) {
    let code = module.assemble();
    let mut all: Option<(Vec<Vec<i64>>, Option<FaultKind>)> = None;
    for (n, budget, stubborn) in [(1, u32::MAX, false), (1, 1, true), (2, 3, false), (5, u32::MAX, true)] {
        for how in [NAIVE, SKIP] {
            let how = How { budget: (budget, budget), stubborn, ..how };
            let (mut found, mut end) = (Vec::new(), None);
            for me in 0..n {
                let outcome = run(&code, &data(), &config(&Policy::RoundRobin, n, me), how);
                found.extend(outcome.events.into_iter().filter_map(|event| match event {
                    Event::Task(task) => Some((task.ordinal, task.params)),
                    _ => None,
                }));
                end = outcome.fault.map(|fault| fault.kind);
            }
            found.sort();
            let ordinals = found.iter().map(|(ordinal, _)| *ordinal);
            assert!(ordinals.eq(0..found.len() as u64), "every task once");
            let found = (found.into_iter().map(|(_, params)| params).collect(), end);
            assert_eq!(all.get_or_insert_with(|| found.clone()), &found, "{n} AICPUs, budget {budget}");
        }
    }
    all.expect("it has run")
}

/// The number of every task.
fn numbers(module: &Module) -> Vec<i64> {
    let (found, end) = tasks(module);
    assert_eq!(end, None);
    found.into_iter().map(|params| params[0]).collect()
}

#[test]
fn a_turn_ends_with_a_token_and_slots_come_round() {
    let send = each(0, vec![transfer(Op::Send, 0, vec![k(1, 2)])]);
    let take = each(0, vec![transfer(Op::Recv, 0, vec![k(2, 2)])]);
    let (found, end) = tasks(&module(&[4], &[3], vec![vec![send], vec![take]]));
    let expected = [[1, 0], [2, 0], [1, 1], [2, 1], [1, 2], [2, 2], [1, 0], [2, 0]];
    assert_eq!((found, end), (expected.map(Vec::from).to_vec(), None));
}

#[test]
fn with_a_depth_of_0_a_send_waits_until_its_token_is_taken() {
    let send = each(0, vec![transfer(Op::Send, 0, vec![k(1, 2)]), k(2, 1)]);
    let take = each(0, vec![k(3, 1), transfer(Op::Recv, 0, vec![k(4, 2)])]);
    let of = |depth| numbers(&module(&[2], &[depth], vec![vec![send.clone()], vec![take.clone()]]));
    assert_eq!(of(0), [1, 3, 4, 3, 2, 1, 4, 2]);
    assert_eq!(of(1), [1, 3, 4, 3, 2, 1, 4, 2]);
    // Without anyone to take the token, the sender of depth 1 goes on.
    let alone = |depth| {
        let send = each(0, vec![transfer(Op::Send, 0, vec![k(1, 2)]), k(2, 1)]);
        tasks(&module(&[1], &[depth], vec![vec![send]]))
    };
    assert_eq!(alone(1), (vec![vec![1, 0], vec![2, 0]], None));
    assert_eq!(alone(0), (vec![vec![1, 0]], Some(FaultKind::Deadlock)));
}

#[test]
fn the_first_channel_with_a_token_is_taken() {
    let one = each(0, vec![transfer(Op::Send, 0, vec![])]);
    let two = each(0, vec![transfer(Op::Send, 1, vec![])]);
    let arms = vec![(1, vec![k(11, 2)]), (0, vec![k(10, 2)])];
    let take = each(1, vec![Node::Arms { op: Op::SelectCh, arms }]);
    assert_eq!(
        numbers(&module(&[3, 6], &[3, 3], vec![vec![one], vec![two], vec![take]])),
        [11, 10, 11, 10, 11, 10]
    );
}

#[test]
fn all_tokens_are_taken_until_every_channel_is_closed() {
    let sender =
        |channel| vec![each(channel, vec![transfer(Op::Send, channel, vec![])]), Node::Close(channel)];
    let arms = vec![(0, vec![k(10, 1)]), (1, vec![k(11, 1)])];
    let take = vec![Node::Arms { op: Op::SelectAll, arms }, each(0, vec![k(7, 1)])];
    let found = numbers(&module(&[2, 5], &[1, 2], vec![sender(0), sender(1), take]));
    assert_eq!(found.iter().filter(|number| **number == 10).count(), 2);
    assert_eq!(found.iter().filter(|number| **number == 11).count(), 5);
    assert_eq!(found[7..], [7, 7]);
}

#[test]
fn a_channel_that_is_closed_takes_nothing_and_gives_what_is_left() {
    let closed = |process: Vec<Node>| tasks(&module(&[1], &[2], vec![process]));
    let send = transfer(Op::Send, 0, vec![k(1, 1)]);
    let take = transfer(Op::Recv, 0, vec![k(2, 1)]);
    let (found, end) = closed(vec![send.clone(), Node::Close(0), take.clone(), take.clone()]);
    assert_eq!(found, [[1, 0], [2, 0]]);
    assert!(matches!(end, Some(FaultKind::Closed { .. })), "{end:?}");
    let select = Node::Arms { op: Op::SelectCh, arms: vec![(0, vec![])] };
    for process in
        [vec![Node::Close(0), send], vec![Node::Close(0), Node::Close(0)], vec![Node::Close(0), select]]
    {
        let (found, end) = closed(process);
        assert!(found.is_empty() && matches!(end, Some(FaultKind::Closed { .. })), "{end:?}");
    }
}

#[test]
fn depths_have_32_bits() {
    for depth in [-1, 1 << 32] {
        let end = tasks(&module(&[1], &[depth], vec![vec![]])).1;
        assert_eq!(end, Some(FaultKind::Depth { value: depth }));
    }
    assert_eq!(tasks(&module(&[1], &[(1 << 32) - 1], vec![vec![transfer(Op::Send, 0, vec![])]])).1, None);
}

#[test]
fn where_none_can_go_on_each_says_what_it_waits_for() {
    let send = |channel, body| each(0, vec![transfer(Op::Send, channel, body)]);
    let take = transfer(Op::Recv, 1, vec![]);
    let processes = vec![vec![send(0, vec![])], vec![each(0, vec![take])], vec![], vec![send(2, vec![])]];
    let inner = module(&[5], &[2, 1, 0], processes);
    let module = Module { body: vec![each(0, inner.body.clone())], ..inner };
    let code = module.assemble();
    let program = code.verified();
    let mut workspace = vec![0; workspace_words(&program)];
    let one = DispatchConfig::round_robin(1, 0);
    let mut interpreter =
        Interpreter::new(program, Launch::default(), &one, Prefixes::none(), &mut workspace, SKIP.mode)
            .expect("it fits");
    let progress = interpreter.run(&mut crate::run::Recorder::default(), u32::MAX, u32::MAX);
    let Ok(Progress::Fault(fault)) = progress else { panic!("{progress:?}") };
    let op = |word: u32| Op::from_code(code.words[word as usize].opcode);
    assert_eq!((fault.kind, op(fault.word)), (FaultKind::Deadlock, Some(Op::Process)));
    assert_eq!(interpreter.indices(), [0], "the loops around the processes");
    let waiting: Vec<(Waits, Vec<i64>)> =
        interpreter.waiting().map(|(waits, loops)| (waits, loops.collect())).collect();
    let [(Waits::For(first), a), (Waits::For(second), b), (Waits::Ended, c), (Waits::Taken(last), d)] =
        &waiting[..]
    else {
        panic!("{waiting:?}")
    };
    assert_eq!([*first, *second, *last].map(op), [Some(Op::Send), Some(Op::Recv), Some(Op::Send)]);
    assert_eq!([a, b, c, d], [&vec![2], &vec![0], &vec![], &vec![0]]);
    let held: Vec<(u64, u64)> =
        interpreter.channels().iter().map(|channel| (channel.held(), channel.depth())).collect();
    assert_eq!(held, [(2, 2), (0, 1), (1, 0)]);
}
