//! Random programs: every AICPU hands over its tasks of the walk over the tree, whether it leaves out what is not its own or
//! not.

use crate::asm::*;
use crate::ops::owned_by;
use crate::oracle::{Data, Event, expand};
use crate::run::{How, NAIVE, SKIP, Sums, config, ordinal_of, run};
use proptest::prelude::*;
use wsp_core::ptow::interp::Mode;
use wsp_core::ptow::{Counts, Op, XOp};

/// Axes 0 to 2 are dense, 3 is ragged, 4 is sparse, 5 and 6 are ranges.
fn axes(lo: i64, hi: i64) -> Vec<Axis> {
    vec![
        Axis::Dense(c(lo), c(hi)),
        Axis::DenseDyn(0),
        Axis::Dense(c(0), bin(XOp::XMin, X::Len(0), c(4))),
        Axis::Ragged(0),
        Axis::Sparse { pointers: 1, columns: 2 },
        Axis::Range { lo: v(0), hi: c(5), step: None },
        Axis::Range {
            lo: c(-2),
            hi: X::Table(0, Box::new(bin(XOp::XMin, bin(XOp::XMax, v(0), c(0)), c(4)))),
            step: Some(c(2)),
        },
    ]
}

fn data(value: i64, lengths: &[i64]) -> Data {
    let pointers = [0].into_iter().chain(lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    }));
    let pointers: Vec<i64> = pointers.collect();
    let columns = (0..pointers[lengths.len()]).map(|at| at * 3 % 7).collect();
    Data {
        values: vec![value, 2],
        tables: vec![lengths.to_vec(), pointers, columns],
        extents: vec![[1 << 20, 1, 1, 1, 1, 1], [1 << 20, 1 << 20, 1, 1, 1, 1]],
    }
}

/// A shape of statements, made into nodes once the depth is known.
#[derive(Clone, Debug)]
enum Shape {
    Task { kernel: u8, seed: u8 },
    Loop { axis: u8, ordered: bool, body: Vec<Shape> },
    Cond { seed: u8, then: Vec<Shape>, otherwise: Vec<Shape> },
    Branches { ordered: bool, bodies: Vec<Vec<Shape>> },
    While { rounds: u8, slot: bool, body: Vec<Shape> },
    Let { seed: u8, body: Vec<Shape> },
    Filter(u8, u8),
    Stream(u8),
    Priority(u8),
    Plan,
    Reset(u8),
}

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let task = || (0..3u8, any::<u8>()).prop_map(|(kernel, seed)| Shape::Task { kernel, seed });
    let leaf = prop_oneof![
        12 => task(),
        2 => (0..8u8, any::<u8>()).prop_map(|(policy, seed)| Shape::Filter(policy, seed)),
        1 => any::<u8>().prop_map(Shape::Stream),
        1 => any::<u8>().prop_map(Shape::Priority),
        1 => Just(Shape::Plan),
        1 => (0..2u8).prop_map(Shape::Reset),
    ];
    let body = leaf.prop_recursive(4, 24, 4, |inner| {
        let body = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            8 => (0..7u8, any::<bool>(), body()).prop_map(|(axis, ordered, body)| Shape::Loop { axis, ordered, body }),
            1 => (any::<u8>(), body(), body()).prop_map(|(seed, then, otherwise)| Shape::Cond { seed, then, otherwise }),
            1 => (any::<bool>(), prop::collection::vec(body(), 1..3))
                .prop_map(|(ordered, bodies)| Shape::Branches { ordered, bodies }),
            1 => (0..3u8, any::<bool>(), body()).prop_map(|(rounds, slot, body)| Shape::While { rounds, slot, body }),
            1 => (any::<u8>(), body()).prop_map(|(seed, body)| Shape::Let { seed, body }),
        ]
    });
    prop::collection::vec(body, 1..4)
}

/// Makes nodes; tasks set labels and wait for them only in some programs, as others may be left out then.
struct Maker {
    labels: bool,
}

impl Maker {
    fn body(&self, shapes: &[Shape], depth: u16) -> Vec<Node> {
        shapes.iter().map(|shape| self.node(shape, depth)).collect()
    }

    fn node(&self, shape: &Shape, depth: u16) -> Node {
        match shape {
            Shape::Task { kernel, seed } => self.task(*kernel, *seed, depth),
            Shape::Loop { axis, ordered, body } => {
                let (axis, op) = match (u16::from(*axis), *ordered) {
                    (3..=6, _) if depth == 0 => (0, Op::ParallelFor),
                    (4, _) => (4, Op::Select),
                    (axis, true) => (axis, Op::ForEach),
                    (axis, false) => (axis, Op::ParallelFor),
                };
                let within = |x: X| bin(XOp::XMin, bin(XOp::XMax, x, c(0)), c(4));
                let row = matches!(axis, 3 | 4).then(|| within(v(depth - 1)));
                Node::Loop { op, axis, row, body: self.body(body, depth + 1) }
            }
            Shape::Cond { seed, then, otherwise } => Node::Cond {
                condition: bin(XOp::XLt, self.value(*seed, depth), c(i64::from(seed % 5))),
                then: self.body(then, depth),
                otherwise: self.body(otherwise, depth),
            },
            Shape::Branches { ordered, bodies } => {
                let bodies = bodies.iter().map(|body| self.body(body, depth)).collect();
                if *ordered { Node::Sequential(bodies) } else { Node::Combine(bodies) }
            }
            Shape::While { rounds, slot, body } => Node::While {
                condition: if *slot {
                    bin(XOp::XLt, v(depth), X::Slot(0))
                } else {
                    bin(XOp::XLt, v(depth), c(i64::from(*rounds)))
                },
                max: Some(c(6)),
                body: self.body(body, depth + 1),
            },
            Shape::Let { seed, body } => {
                Node::Let { value: self.value(*seed, depth), body: self.body(body, depth + 1) }
            }
            Shape::Filter(policy, seed) => Node::Filter(policy_of(*policy, *seed)),
            Shape::Stream(seed) => Node::Stream {
                count: u32::from(seed % 5) + 1,
                key: (seed.is_multiple_of(2)).then(|| key(*seed)),
            },
            Shape::Priority(seed) => Node::Priority(key(*seed)),
            Shape::Plan => Node::Plan(0),
            Shape::Reset(label) if self.labels => Node::Reset(u16::from(*label), 1),
            Shape::Reset(_) => Node::Nop,
        }
    }

    /// A value over variables in scope.
    fn value(&self, seed: u8, depth: u16) -> X {
        let at = |seed: u8| if depth == 0 { c(3) } else { v(u16::from(seed) % depth) };
        match seed % 8 {
            5 => X::Neg(Box::new(at(seed / 8))),
            6 => X::Not(Box::new(at(seed / 8))),
            0 => at(seed / 6),
            1 => add(mul(at(seed / 6), c(7)), at(seed / 36)),
            2 => mul(at(seed / 6), at(seed / 36)),
            3 => X::Choose(
                Box::new(bin(XOp::XLt, at(seed / 6), c(2))),
                Box::new(c(5)),
                Box::new(at(seed / 36)),
            ),
            4 => add(X::Value(1), mul(c(-3), at(seed / 6))),
            _ => bin(XOp::XRem, at(seed / 6), c(3)),
        }
    }

    fn task(&self, kernel: u8, seed: u8, depth: u16) -> Node {
        let mut params = vec![Param::Const(i32::from(seed)), Param::Expr(self.value(seed, depth))];
        params.extend((0..depth.min(3)).map(Param::Loopvar));
        let lo = add(c(1000), self.value(seed, depth));
        let hi = add(c(2000), self.value(seed / 3, depth));
        let access = match seed % 4 {
            0 => vec![(Op::IoInput, 0, vec![Dim::Index(lo)])],
            1 => vec![
                (Op::IoInput, 1, vec![Dim::SizedImm(lo.clone(), 4)]),
                (Op::IoOutput, 0, vec![Dim::Range(lo, hi)]),
            ],
            2 => vec![(Op::IoInout, 1, vec![Dim::Whole, Dim::Sized(lo, X::Value(1))])],
            // Sometimes outside.
            _ => vec![(Op::IoInput, 0, vec![Dim::Index(add(c(3), self.value(seed, depth)))])],
        };
        let label = (self.labels && seed.is_multiple_of(3)).then_some(u16::from(seed) % 2);
        let after = if self.labels && seed.is_multiple_of(5) { vec![0, 1] } else { Vec::new() };
        Node::Task(TaskNode { kernel: u16::from(kernel), label, params, accesses: access, after })
    }
}

/// A key over axes.
fn key(seed: u8) -> X {
    let axis = |seed: u8| X::Axis([0, 1, 2, 3, 4][usize::from(seed % 5)]);
    match seed % 4 {
        0 => axis(seed / 4),
        1 => add(mul(axis(seed / 4), c(i64::from(seed % 7) - 3)), axis(seed / 20)),
        2 => bin(XOp::XDiv, axis(seed / 4), c(2)),
        _ => add(axis(seed / 4), X::Value(0)),
    }
}

fn policy_of(policy: u8, seed: u8) -> Policy {
    match policy {
        0 => Policy::RoundRobin,
        1 | 2 => Policy::Affinity(u16::from(seed % 4)),
        3 => Policy::Key(key(seed)),
        4 => Policy::Hash(key(seed)),
        5 => Policy::Ranges([3, 3, 20, 50, 200, 100_000].map(|end| end + u32::from(seed % 3)).to_vec()),
        6 => Policy::Ranges(vec![u32::from(seed) * 2]),
        _ => Policy::Threshold {
            metric: key(seed),
            bounds: vec![1, 2, 5],
            levels: vec![Policy::Pool(0), Policy::Key(key(seed / 3)), Policy::Pool(1), Policy::RoundRobin],
        },
    }
}

fn tasks(events: Vec<Event>) -> Vec<Event> {
    events.into_iter().filter(|event| matches!(event, Event::Task(_) | Event::Plan(..))).collect()
}

/// Whether boundaries are those of the walk, apart from steps and scopes left out.
fn check_boundaries(found: &[Event], all: &[Event]) {
    let mut all = all.iter().filter(|event| !matches!(event, Event::Task(_) | Event::Plan(..)));
    for event in found.iter().filter(|event| !matches!(event, Event::Task(_) | Event::Plan(..))) {
        assert!(all.any(|one| one == event), "{event:?} is a boundary, in order");
    }
}

/// Data that no sensible launch has.
fn hostile(numbers: &[i64]) -> Data {
    let at = |from: usize| numbers.iter().cycle().skip(from).take(5).copied().collect::<Vec<i64>>();
    let extents = numbers[0].unsigned_abs() as u32;
    Data { values: at(0), tables: vec![at(1), at(2), at(3)], extents: vec![[extents; 6]; 2] }
}

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        2 => -3..9i64,
        1 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1, 1 << 31, -(1 << 31), 1 << 40]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_aicpu_hands_over_its_tasks_of_the_walk(
        shapes in shapes(),
        labels in prop::bool::weighted(0.2),
        (lo, hi, value) in (-2..1i64, 0..6i64, 0..5i64),
        lengths in prop::collection::vec(0..5i64, 5),
        n in prop_oneof![1..4u16, 4..17u16],
        outside in 0..5u8,
        budget in (1..6u32, 1..6u32),
    ) {
        let module = Module {
            axes: axes(lo, hi),
            kernels: vec![0, 1, 255],
            tensors: vec![1, 2],
            counts: Counts { values: 2, tables: 3, slots: 1, labels: 2, generators: 1, channels: 0 },
            body: Maker { labels }.body(&shapes, 0),
        };
        let data = data(value, &lengths);
        let policy = if outside == 0 { Policy::RoundRobin } else { Policy::Affinity(u16::from(outside - 1)) };
        let (all, end) = expand(&module, &data, n, policy.clone());
        let code = module.assemble();
        let mut handed_over = 0;
        for me in 0..n {
            let config = config(&policy, n, me);
            let naive = run(&code, &data, &config, NAIVE);
            let skip = run(&code, &data, &config, SKIP);
            let again = run(&code, &data, &config, How { budget, stubborn: true, ..SKIP });
            prop_assert_eq!(&again.events, &skip.events);
            prop_assert_eq!(again.fault, skip.fault);
            let with_sums = run(&code, &data, &config, How { sums: Sums::With, ..SKIP });
            prop_assert_eq!(&with_sums.events, &skip.events);
            prop_assert_eq!(with_sums.fault, skip.fault);
            prop_assert_eq!(skip.fault.map(|fault| fault.ordinal), naive.fault.map(|fault| fault.ordinal));
            prop_assert_eq!(skip.fault.map(|fault| fault.kind), naive.fault.map(|fault| fault.kind));
            match &end {
                // Others do not find the fault of an argument, and go on.
                Err(fault) if fault.owner.is_some_and(|owner| owner != me) => {}
                _ => {
                    let mine: Vec<Event> = all.iter().filter_map(|event| owned_by(event, me)).collect();
                    prop_assert_eq!(&naive.events, &mine);
                    prop_assert_eq!(naive.fault.map(|fault| fault.ordinal), end.clone().err().map(|at| at.ordinal));
                }
            }
            handed_over += naive.stats.tasks;
            check_boundaries(&skip.events, &naive.events);
            if naive.fault.is_none() {
                prop_assert_eq!(skip.stats.total_ordinals, naive.stats.total_ordinals);
                prop_assert!(skip.stats.steps <= naive.stats.steps * 40 + 100);
            }
            prop_assert_eq!(tasks(skip.events), tasks(naive.events));
        }
        if let Ok(total) = end {
            let planned = all.iter().filter(|event| matches!(event, Event::Plan(..))).count() as u64 * 2;
            prop_assert_eq!(handed_over + planned, total, "every task has one owner");
        }
    }

    #[test]
    fn hostile_launches_give_faults_or_tasks_and_never_a_panic(
        shapes in shapes(),
        labels in prop::bool::weighted(0.2),
        (lo, hi) in (number(), number()),
        numbers in prop::collection::vec(number(), 6),
        (n, me) in prop_oneof![Just((1, 0)), Just((3, 1)), Just((16, 15))],
    ) {
        let module = Module {
            axes: axes(lo, hi),
            kernels: vec![0, 1, 255],
            tensors: vec![1, 2],
            counts: Counts { values: 2, tables: 3, slots: 1, labels: 2, generators: 1, channels: 0 },
            body: Maker { labels }.body(&shapes, 0),
        };
        let (code, data) = (module.assemble(), hostile(&numbers));
        let config = config(&Policy::RoundRobin, n, me);
        let some = How { calls: 3, budget: (50, 2000), ..NAIVE };
        let naive = run(&code, &data, &config, some);
        let skip = run(&code, &data, &config, How { mode: Mode::Skip, ..some });
        run(&code, &data, &config, How { mode: Mode::Skip, sums: Sums::With, ..some });
        let (naive, skip) = (tasks(naive.events), tasks(skip.events));
        let both = naive.len().min(skip.len());
        prop_assert_eq!(&naive[..both], &skip[..both]);
    }

    #[test]
    fn nests_of_dense_loops_agree_with_the_walk(
        loops in prop::collection::vec((0..3i64, 0..6i64, prop::bool::weighted(0.15)), 1..6),
        seeds in prop::collection::vec(any::<u8>(), 1..4),
        filter in prop::option::of((0..8u8, any::<u8>())),
        (stream, priority) in (any::<u8>(), any::<u8>()),
        n in 1..20u16,
        budget in (1..9u32, 1..9u32),
    ) {
        let depth = loops.len() as u16;
        let maker = Maker { labels: false };
        let mut body: Vec<Node> = seeds.iter().map(|seed| maker.task(0, *seed, depth)).collect();
        for (axis, (_, _, ordered)) in loops.iter().enumerate().rev() {
            let op = if *ordered { Op::ForEach } else { Op::ParallelFor };
            body = vec![Node::Loop { op, axis: axis as u16, row: None, body }];
        }
        body.insert(0, Node::Priority(mul(X::Axis(0), c(i64::from(priority)))));
        body.insert(0, Node::Stream { count: u32::from(stream) + 1, key: Some(add(X::Axis(1), X::Axis(0))) });
        if let Some((policy, seed)) = filter {
            body.insert(0, Node::Filter(policy_of(policy, seed)));
        }
        let mut axes: Vec<Axis> = loops.iter().map(|(lo, trip, _)| Axis::Dense(c(lo - 1), c(lo - 1 + trip))).collect();
        // Keys name five axes.
        axes.resize(5.max(axes.len()), Axis::Dense(c(0), c(1)));
        let counts = Counts { values: 2, ..Counts::default() };
        let module = Module { axes, kernels: vec![0], tensors: vec![1, 2], counts, body };
        let data = data(2, &[1]);
        let (all, end) = expand(&module, &data, n, Policy::RoundRobin);
        let code = module.assemble();
        for me in 0..n {
            let config = config(&Policy::RoundRobin, n, me);
            let skip = run(&code, &data, &config, SKIP);
            let again = run(&code, &data, &config, How { budget, stubborn: true, ..SKIP });
            prop_assert_eq!(&again.events, &skip.events);
            if let Ok(total) = end {
                let mine = all.iter().filter_map(|event| owned_by(event, me)).collect();
                prop_assert_eq!(tasks(skip.events), tasks(mine));
                prop_assert_eq!(skip.stats.total_ordinals, total);
            }
        }
    }

    #[test]
    fn ranges_of_a_configuration_share_the_tasks(
        trips in prop::collection::vec(1..6i64, 1..4),
        sites in 1..3usize,
        cuts in prop::collection::vec(0..100u32, 0..5),
    ) {
        let total = trips.iter().product::<i64>() as u32 * sites as u32;
        let mut ends: Vec<u32> = cuts.iter().map(|cut| cut * total / 100).chain([total]).collect();
        ends.sort_unstable();
        let mut body = vec![Node::Task(TaskNode::default()); sites];
        for axis in (0..trips.len()).rev() {
            body = vec![Node::Loop { op: Op::ParallelFor, axis: axis as u16, row: None, body }];
        }
        let axes = trips.iter().map(|trip| Axis::Dense(c(0), c(*trip))).collect();
        let module = Module { axes, kernels: vec![0], body, ..Module::default() };
        let code = module.assemble();
        let mut start = 0u32;
        for (me, end) in ends.iter().enumerate() {
            let mut config = config(&Policy::RoundRobin, ends.len() as u16, me as u16);
            config.policy_type = 3;
            config.params[..4].copy_from_slice(&start.to_le_bytes());
            config.params[4..8].copy_from_slice(&end.to_le_bytes());
            for how in [NAIVE, SKIP] {
                let outcome = run(&code, &Data::default(), &config, how);
                let ordinals: Vec<u64> = tasks(outcome.events).iter().filter_map(ordinal_of).collect();
                prop_assert_eq!(ordinals, (u64::from(start)..u64::from(*end)).collect::<Vec<u64>>());
            }
            start = *end;
        }
    }
}
