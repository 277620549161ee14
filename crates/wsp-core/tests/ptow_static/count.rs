//! Counted tasks are those that are generated.

use crate::program::{Built, Over, Stmt, indices};
use crate::tree::{Names, Tree, var};
use proptest::prelude::*;
use wsp_core::ptow::bounds::bounds;
use wsp_core::ptow::count::{Counter, Place};
use wsp_core::ptow::eval::Vars;
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::ptow::summary::{summarise, summary_words};
use wsp_core::ptow::{Launch, Op, Verified, XOp, marks_needed};

/// Makes the counter of a program, with and without prefix sums.
fn counted(built: &Built, names: &Names, mut test: impl FnMut(Counter<'_, '_>)) {
    let program = built.program();
    let tables: Vec<&[i64]> = names.tables.iter().map(Vec::as_slice).collect();
    let launch = Launch { values: &names.values, tables: &tables, extents: &[] };
    let mut memory = vec![7; summary_words(&program)];
    let summaries = summarise(&program, &launch, &mut memory);
    let mut sums = vec![9; Prefixes::words_needed(&program, &launch, &summaries)];
    for room in [0, sums.len() / 2, sums.len()] {
        let prefixes = Prefixes::build(&program, &launch, &summaries, &mut sums[..room]);
        test(Counter { program: &program, launch: &launch, summaries, prefixes });
    }
}

const PLENTY: u32 = 1 << 20;

/// Generates the tasks of a program, and compares every loop that is entered with what the counter says of it.
struct Walk<'w> {
    counter: Counter<'w, 'w>,
    names: Names,
    /// Whether a number must be known.
    sure: bool,
}

impl Walk<'_> {
    fn vars(&self) -> Vars {
        let mut vars = Vars::default();
        for (depth, value) in self.names.vars.iter().enumerate() {
            vars.set(depth, *value, *value);
        }
        vars
    }

    /// Tasks of a body; none when it is at fault.
    fn body(&mut self, body: &[Stmt], at: u32) -> Option<u64> {
        let told = self.counter.body(at, &self.vars(), &mut PLENTY.clone());
        let (mut word, mut sum) = (at, Some(0));
        for stmt in body {
            let tasks = self.statement(stmt, word);
            sum = sum.zip(tasks).map(|(sum, tasks)| sum + tasks);
            word += 1 + u32::from(self.counter.program.words[word as usize].flags);
        }
        self.agree(told, sum, "body");
        sum
    }

    fn agree(&self, told: Option<u64>, expected: Option<u64>, what: &str) {
        if self.sure || told.is_some() {
            assert_eq!(told, expected, "{what}");
        }
    }

    fn statement(&mut self, stmt: &Stmt, at: u32) -> Option<u64> {
        let told = self.counter.statement(at, &self.vars(), &mut PLENTY.clone());
        let word = self.counter.program.words[at as usize];
        let part = |n: u32| self.counter.program.words[(at + 1 + n) as usize].operand2;
        let tasks = match stmt {
            Stmt::Task => Some(1),
            Stmt::While(..) => {
                assert_eq!(told, None);
                return None;
            }
            Stmt::Cond(condition, then, otherwise) => match condition.value(&self.names).ok() {
                None => None,
                Some(0) if otherwise.is_empty() => Some(0),
                Some(0) => self.body(otherwise, part(0)),
                Some(_) => self.body(then, word.operand2),
            },
            Stmt::Let(value, body) => match value.value(&self.names).ok() {
                None => None,
                Some(value) => self.with(value, |walk| walk.body(body, word.operand2)),
            },
            Stmt::Combine(bodies) | Stmt::Sequential(bodies) => {
                let starts: Vec<u32> = (0..bodies.len() as u32).map(part).collect();
                let tasks: Vec<Option<u64>> =
                    bodies.iter().zip(starts).map(|(body, start)| self.body(body, start)).collect();
                tasks.into_iter().sum()
            }
            Stmt::For(over, body) => self.iterate(over, body, at),
        };
        self.agree(told, tasks, "statement");
        tasks
    }

    fn with<T>(&mut self, value: i64, then: impl FnOnce(&mut Self) -> T) -> T {
        self.names.vars.push(value);
        let found = then(self);
        self.names.vars.pop();
        found
    }

    fn iterate(&mut self, over: &Over, body: &[Stmt], at: u32) -> Option<u64> {
        let counter = self.counter;
        let (vars, depth) = (self.vars(), self.names.vars.len() as u16);
        let entered = bounds(counter.program, counter.launch, at, depth, &mut vars.clone()).ok();
        let expected = indices(over, &self.names);
        assert_eq!(entered.is_some(), expected.is_some(), "whether {over:?} is entered");
        let (range, expected) = entered.zip(expected)?;
        let found: Vec<i64> = (0..range.trip).map(|n| range.variable(counter.launch, n)).collect();
        assert_eq!(found, expected);
        let start = counter.program.words[at as usize].operand2;
        let each: Vec<Option<u64>> =
            expected.iter().map(|index| self.with(*index, |walk| walk.body(body, start))).collect();
        let tasks: Vec<u64> = each.iter().map_while(|tasks| *tasks).collect();
        if tasks.len() == each.len() {
            for from in 0..=tasks.len() {
                self.iterations(at, &range, from, &tasks);
            }
        }
        each.into_iter().sum()
    }

    /// Compares iterations from one on.
    fn iterations(&self, at: u32, range: &wsp_core::ptow::bounds::Bounds, from: usize, tasks: &[u64]) {
        let (counter, vars) = (self.counter, self.vars());
        for to in from..=tasks.len() {
            let told = counter.iterations(at, range, (from as u64, to as u64), &vars, &mut PLENTY.clone());
            self.agree(told, Some(tasks[from..to].iter().sum()), "iterations");
        }
        let owners = (from..).zip(&tasks[from..]).flat_map(|(at, n)| std::iter::repeat_n(at, *n as usize));
        let owners: Vec<usize> = owners.take(40).collect();
        let total: u64 = tasks[from..].iter().sum();
        for (local, iteration) in (0u64..).zip(owners.iter().copied()).chain([(total, tasks.len())]) {
            let told = counter.locate(at, range, (from as u64, local), &vars, &mut PLENTY.clone());
            let before = tasks[from..iteration].iter().sum();
            let expected = Place { iteration: iteration as u64, before };
            assert!(told == Some(expected) || (!self.sure && told.is_none()), "{told:?} is not {expected:?}");
        }
    }
}

fn check(body: &[Stmt], names: &Names, sure: bool) {
    let built = Built::new(body);
    let mut marks = vec![0; marks_needed(&built.program())];
    Verified::new(built.program(), &mut marks).expect("programs keep the rules");
    counted(&built, names, |counter| {
        let walk = Walk { counter, names: names.clone(), sure };
        let _ = { walk }.body(body, 0);
    });
}

/// A table's row that is there.
fn row(tree: Tree, rows: i64) -> Tree {
    Tree::binary(XOp::XMin, Tree::binary(XOp::XMax, tree, 0), rows - 1)
}

/// Expressions over variables in scope that are never at fault with small variables.
fn safe(depth: u32) -> BoxedStrategy<Tree> {
    let leaf = if depth == 0 {
        (-2..5i64).prop_map(Tree::Const).boxed()
    } else {
        prop_oneof![
            (-2..5i64).prop_map(Tree::Const),
            (0..depth).prop_map(var),
            (0..2u32).prop_map(Tree::Value)
        ]
        .boxed()
    };
    let op = prop::sample::select(vec![XOp::XAdd, XOp::XSub, XOp::XMin, XOp::XMax, XOp::XLt]);
    prop_oneof![
        2 => leaf.clone(),
        3 => (op, leaf.clone(), leaf).prop_map(|(op, left, right)| Tree::binary(op, left, right)),
    ]
    .boxed()
}

/// What loops run over; tables have `ROWS` rows. Rows may be wrong when `wild`.
fn over(depth: u32, wild: Wild) -> BoxedStrategy<Over> {
    let closed = || prop_oneof![(-1..4i64).prop_map(Tree::Const), (0..2u32).prop_map(Tree::Value)];
    let end = |lo: Tree, tree: Tree| Tree::binary(XOp::XMin, tree, Tree::binary(XOp::XAdd, lo, 4));
    let mut kinds = vec![
        (closed(), closed()).prop_map(move |(lo, hi)| Over::Dense(lo.clone(), end(lo, hi))).boxed(),
        (safe(depth), safe(depth), prop::option::of(1..3i64))
            .prop_map(move |(lo, hi, step)| Over::Range(lo.clone(), end(lo, hi), step.map(Tree::Const)))
            .boxed(),
        safe(depth).prop_map(move |tree| Over::Ragged(Some(row(tree, ROWS)))).boxed(),
        safe(depth).prop_map(move |tree| Over::Sparse(row(tree, ROWS))).boxed(),
    ];
    if wild == Wild::Faults {
        kinds.push(safe(depth).prop_map(|tree| Over::Ragged(Some(tree))).boxed());
        kinds.push(safe(depth).prop_map(Over::Sparse).boxed());
        kinds.push(safe(depth).prop_map(|tree| Over::Range(0.into(), 3.into(), Some(tree))).boxed());
        if depth > 0 {
            kinds.push(Just(Over::Ragged(None)).boxed());
        }
    }
    prop::strategy::Union::new(kinds).boxed()
}

const ROWS: i64 = 3;

/// Whether there may be faults and loops whose rounds cannot be counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wild {
    Never,
    Faults,
}

fn body(depth: u32, nest: u32, wild: Wild) -> BoxedStrategy<Vec<Stmt>> {
    prop::collection::vec(stmt(depth, nest, wild), 0..3).boxed()
}

fn stmt(depth: u32, nest: u32, wild: Wild) -> BoxedStrategy<Stmt> {
    if nest == 0 {
        return Just(Stmt::Task).boxed();
    }
    let inner = move || body(depth, nest - 1, wild);
    let deeper = move || body(depth + 1, nest - 1, wild);
    let mut kinds = vec![
        (2, Just(Stmt::Task).boxed()),
        (6, (over(depth, wild), deeper()).prop_map(|(over, body)| Stmt::For(over, body)).boxed()),
        (1, (safe(depth), inner(), inner()).prop_map(|(c, t, o)| Stmt::Cond(c, t, o)).boxed()),
        (2, (safe(depth), deeper()).prop_map(|(value, body)| Stmt::Let(value, body)).boxed()),
        (1, prop::collection::vec(inner(), 0..3).prop_map(Stmt::Combine).boxed()),
        (1, prop::collection::vec(inner(), 0..3).prop_map(Stmt::Sequential).boxed()),
    ];
    if wild == Wild::Faults {
        kinds.push((1, (safe(depth), deeper()).prop_map(|(c, body)| Stmt::While(c, body)).boxed()));
    }
    prop::strategy::Union::new_weighted(kinds).boxed()
}

fn names() -> impl Strategy<Value = Names> {
    let lengths = prop::collection::vec(-1..5i64, ROWS as usize);
    let sizes = prop::collection::vec(0..4usize, ROWS as usize);
    (lengths, sizes, prop::collection::vec(-3..5i64, 12), prop::collection::vec(-1..4i64, 2)).prop_map(
        |(lengths, sizes, mut columns, values)| {
            let mut pointers = vec![0i64];
            for size in sizes {
                pointers.push(pointers.last().expect("one") + size as i64);
            }
            columns.truncate(*pointers.last().expect("one") as usize);
            Names { values, tables: vec![lengths, pointers, columns], ..Names::default() }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn numbers_are_those_of_the_tasks(body in body(0, 5, Wild::Never), names in names()) {
        check(&body, &names, true);
    }

    #[test]
    fn numbers_with_faults_in_the_way_are_right_or_not_known(body in body(0, 4, Wild::Faults), names in names()) {
        check(&body, &names, false);
    }

    #[test]
    fn hostile_tables_are_at_fault_or_not_known(
        body in body(0, 3, Wild::Faults),
        tables in prop::collection::vec(prop::collection::vec(prop_oneof![-2..5i64, any::<i64>()], 0..5), 0..4),
        values in prop::collection::vec(any::<i64>(), 0..3),
    ) {
        let names = Names { values, tables, ..Names::default() };
        let built = Built::new(&body);
        counted(&built, &names, |counter| {
            let mut budget = 1000;
            for at in 0..built.words.len() as u32 {
                let _ = counter.statement(at, &Vars::default(), &mut budget);
                let _ = counter.body(at, &Vars::default(), &mut budget);
            }
        });
    }
}

fn range(lo: impl Into<Tree>, hi: impl Into<Tree>, body: Vec<Stmt>) -> Stmt {
    Stmt::For(Over::Range(lo.into(), hi.into(), None), body)
}

fn dense(extent: i64, body: Vec<Stmt>) -> Stmt {
    Stmt::For(Over::Dense(0.into(), extent.into()), body)
}

#[test]
fn dense_nests_are_counted_without_a_step() {
    let body = [dense(1 << 20, vec![dense(1 << 20, vec![Stmt::Task, dense(1 << 10, vec![Stmt::Task])])])];
    counted(&Built::new(&body), &Names::default(), |counter| {
        let total = (1u64 << 40) * 1025;
        assert_eq!(counter.body(0, &Vars::default(), &mut 0), Some(total));
        let range = bounds(counter.program, counter.launch, 0, 0, &mut Vars::default()).expect("bounds");
        let place = counter.locate(0, &range, (3, 5 * 1025 * (1 << 20) + 7), &Vars::default(), &mut 0);
        assert_eq!(place, Some(Place { iteration: 8, before: 5 * 1025 * (1 << 20) }));
    });
}

#[test]
fn numbers_that_do_not_fit_are_not_known() {
    let deep = |body| dense(1 << 34, body);
    counted(&Built::new(&[deep(vec![deep(vec![Stmt::Task])])]), &Names::default(), |counter| {
        assert_eq!(counter.body(0, &Vars::default(), &mut PLENTY.clone()), None);
    });
}

#[test]
fn triangles_take_a_bisection_with_sums_and_a_walk_without() {
    let n = 5000i64;
    let body = [dense(2, vec![range(0, n, vec![range(var(1), n, vec![Stmt::Task])])])];
    let built = Built::new(&body);
    let program = built.program();
    let launch = Launch::default();
    let mut memory = vec![0; summary_words(&program)];
    let summaries = summarise(&program, &launch, &mut memory);
    let at = built.words.iter().position(|word| word.opcode == Op::ForEach.code()).expect("a loop") as u32;
    let bounds = bounds(&program, &launch, at, 1, &mut Vars::default()).expect("bounds");
    let row = (n * (n + 1) / 2) as u64;
    assert_eq!(summaries.statement(0).fixed(), Some(2 * row));
    let mut counter = Counter { program: &program, launch: &launch, summaries, prefixes: Prefixes::none() };
    let local = row - 1;
    let mut few = 10;
    assert_eq!(counter.locate(at, &bounds, (0, local), &Vars::default(), &mut few), None);
    let mut sums = vec![0; Prefixes::words_needed(&program, &launch, &summaries)];
    assert_eq!(sums.len(), 1 + 2 + 5001);
    counter.prefixes = Prefixes::build(&program, &launch, &summaries, &mut sums);
    let place = counter.locate(at, &bounds, (0, local), &Vars::default(), &mut few);
    assert_eq!(place, Some(Place { iteration: 4999, before: row - 1 }));
    let sums = counter.prefixes.sums(at).expect("the loop has sums");
    assert_eq!(sums.between(&bounds, 0, 1), Some(5000));
    assert_eq!(sums.locate(&bounds, 0, 5000), Some(Place { iteration: 1, before: 5000 }));
    assert!(counter.prefixes.sums(at + 1).is_none());
}

#[test]
fn a_let_depends_on_what_its_value_depends_on() {
    let inner = range(0, var(2), vec![Stmt::Task]);
    let value = Tree::binary(XOp::XMul, var(0), 2);
    check(&[dense(4, vec![dense(2, vec![Stmt::Let(value, vec![inner])])])], &Names::default(), true);
}

#[test]
fn summaries_say_what_is_inside() {
    let slot = Stmt::Cond(Tree::Slot(0), vec![Stmt::Task], vec![]);
    let body = [
        dense(3, vec![dense(2, vec![range(0, var(0), vec![Stmt::Task])])]),
        Stmt::Sequential(vec![vec![slot]]),
        Stmt::Combine(vec![]),
    ];
    counted(&Built::new(&body), &Names::default(), |counter| {
        let at = |word: u32| counter.summaries.statement(word);
        assert_eq!(at(0).fixed(), Some(6));
        assert!(at(0).iterates(0) && at(0).iterates(1) && !at(0).iterates(5));
        let inner = counter.summaries.body(counter.program.words[0].operand2);
        assert!(
            inner.fixed().is_none() && inner.is_countable() && inner.depends_on(0) && !inner.depends_on(1)
        );
        assert_eq!(inner.depth, 1);
        assert!(!at(1).is_countable() && at(3).fixed() == Some(0));
        assert!(!at(0).has_labels() && !at(0).has_filters());
        assert_eq!(counter.body(0, &Vars::default(), &mut PLENTY.clone()), None);
    });
}

#[test]
fn labels_and_filters_are_known_and_leave_numbers_known() {
    for (op, labels, filters) in
        [(Op::After, true, false), (Op::Reset, true, false), (Op::DispatchFilter, false, true)]
    {
        let mut built = Built::new(&[Stmt::Task]);
        built.words[0].opcode = op.code();
        counted(&built, &Names::default(), |counter| {
            let found = counter.summaries.statement(0);
            assert_eq!((found.has_labels(), found.has_filters()), (labels, filters), "{op:?}");
            assert_eq!((found.is_countable(), found.fixed()), (true, Some(0)), "{op:?}");
        });
    }
}
