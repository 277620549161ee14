//! Programs of spaces in virtual time, and what their tasks are said to access.

use super::{compiled, ran};
use crate::randomised::{Numbers, cases};
use wsp_backend::{Args, Detail, GraphOptions, RunOptions, Simulated};
use wsp_core::Region;
use wsp_diag::SourceMap;
use wsp_plan::{Array, CompileOptions, lower};

/// Each task makes a row of `y` of one of `x` and one of `y`: it moves three rows of eight elements.
const LINKS: &str = "
PTO_SHAPE(x, n, 8)
PTO_SHAPE(y, rows, 8)
PTO_SHAPE(from, n)
PTO_SHAPE(to, n)
PTO_SPACE(S) { PTO_AXIS(i, 0, n) }
struct Link { uint32_t at, from, to; };
PTO_DESCRIPTOR_GEN(S) {
    PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(Link{ .at = i, .from = from[i], .to = to[i] }); }
}
PTO_KERNEL_IMPL(link) {
    auto d = PTO_GET_DESCRIPTOR<Link>();
    VecTile<float, 1, 8> t;
    VecTile<float, 1, 8> u;
    TLOAD(t, x, {d.at});
    TLOAD(u, y, {d.from});
    TADD(t, t, u);
    TSTORE(y, t, {d.to});
}
void run(Tensor<float> x, Tensor<float> y, uint32_t* from, uint32_t* to) {
    PTO_LAUNCH(S, { .x = x, .y = y, .from = from, .to = to });
}
";

/// Cycles of a task of [`LINKS`].
const CYCLES: u64 = 24;

fn program(text: &str) -> Box<dyn wsp_backend::Program> {
    let (module, found) = wsp_lang::compile("test.pto", text, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    compiled(lower(&module, &CompileOptions::default()).expect("it is right"))
}

/// Task `i` of `links` loads row `links[i].0` and stores to row `links[i].1`.
fn linked(links: &[(u32, u32)], rows: u64) -> Args {
    let n = links.len() as u64;
    let x: Vec<f32> = (0..8 * n).map(|at| (at / 8 + 1) as f32).collect();
    let (from, to): (Vec<u32>, Vec<u32>) = links.iter().copied().unzip();
    let array = "the elements fit the shape";
    Args::new()
        .with("x", Array::of(&[n, 8], &x).expect(array))
        .with("y", Array::of(&[rows, 8], &vec![0f32; 8 * rows as usize]).expect(array))
        .with("from", Array::of(&[n], &from).expect(array))
        .with("to", Array::of(&[n], &to).expect(array))
}

fn on(workers: u32) -> RunOptions {
    RunOptions { threads: workers, ..RunOptions::default() }
}

fn simulated(links: &[(u32, u32)], rows: u64, workers: u32) -> Simulated {
    program(LINKS).simulate(&linked(links, rows), &on(workers)).expect("it is right")
}

#[test]
fn independent_tasks_take_as_many_rounds_as_workers_need() {
    for (tasks, workers) in [(1, 1), (7, 1), (7, 2), (7, 3), (8, 4), (9, 4), (5, 16)] {
        let links: Vec<(u32, u32)> = (0..tasks).map(|i| (i, i)).collect();
        let found = simulated(&links, tasks.into(), workers);
        assert!(found.listing.edges.is_empty());
        assert_eq!(found.makespan, CYCLES * u64::from(tasks.div_ceil(workers)), "{tasks} on {workers}");
        assert_eq!(found.busy.iter().sum::<u64>(), CYCLES * u64::from(tasks));
    }
}

#[test]
fn a_chain_takes_the_sum_of_its_tasks_on_any_number_of_workers() {
    for workers in [1, 2, 5] {
        let found = simulated(&[(0, 0); 9], 1, workers);
        assert_eq!((found.listing.edges.len(), found.makespan), (8, 9 * CYCLES));
        // Two chains go side by side.
        let found = simulated(&[(0, 0), (1, 1), (0, 0), (1, 1), (0, 0), (1, 1)], 2, workers);
        assert_eq!(found.makespan, CYCLES * if workers == 1 { 6 } else { 3 });
    }
}

/// Whether the later of two tasks has to wait for the earlier one.
fn conflict(earlier: (u32, u32), later: (u32, u32)) -> bool {
    later.0 == earlier.1 || later.1 == earlier.0 || later.1 == earlier.1
}

/// What tasks leave in the rows when they run one after another in this order.
fn left(links: &[(u32, u32)], rows: u64, order: &[usize]) -> Vec<f32> {
    let mut left = vec![0f32; rows as usize];
    for &task in order {
        let (from, to) = links[task];
        left[to as usize] = (task + 1) as f32 + left[from as usize];
    }
    left
}

#[test]
fn random_tasks_keep_every_conflict_and_leave_what_a_run_on_one_worker_leaves() {
    let cases = cases(60);
    let program = program(LINKS);
    let mut edges = 0;
    for case in 0..cases {
        let mut numbers = Numbers::of_seed(case + 1);
        let rows = 1 + numbers.below(12);
        let tasks = 1 + numbers.below(40);
        let mut row = || numbers.below(rows) as u32;
        let links: Vec<(u32, u32)> = (0..tasks).map(|_| (row(), row())).collect();
        let workers = 1 + (case % 5) as u32;
        let args = linked(&links, rows);
        let found = program.simulate(&args, &on(workers)).expect("it is right");
        let listed = program.graph(&args, &GraphOptions::default()).expect("it is right");
        assert_eq!((&found.listing.tasks, &found.listing.edges), (&listed.tasks, &listed.edges));
        edges += listed.edges.len();
        for (later, task) in found.tasks.iter().enumerate() {
            assert_eq!(task.end - task.start, CYCLES);
            for (earlier, before) in found.tasks[..later].iter().enumerate() {
                let waits = conflict(links[earlier], links[later]);
                assert!(!waits || before.end <= task.start, "case {case}: {earlier}, {later} of {links:?}");
                let same = task.worker == before.worker;
                let apart = before.end <= task.start || task.end <= before.start;
                assert!(!same || apart, "case {case}: a worker has two tasks at once");
            }
        }
        let mut order: Vec<usize> = (0..links.len()).collect();
        order.sort_by_key(|&task| (found.tasks[task].start, found.tasks[task].worker));
        let outcome = ran(&*program, &args, &on(1));
        let rows_of_run = outcome.outputs["y"].as_slice::<f32>().expect("it is f32");
        let expected: Vec<f32> = rows_of_run.chunks(8).map(|row| row[0]).collect();
        assert_eq!(left(&links, rows, &order), expected, "case {case}: {links:?}");
        let one = program.simulate(&args, &on(1)).expect("it is right");
        assert_eq!(one.makespan, CYCLES * tasks, "one worker is never idle");
        assert!(found.makespan <= one.makespan && found.makespan * u64::from(workers) >= one.makespan);
    }
    assert!(edges > 0, "some tasks wait");
    println!("{cases} programs in virtual time");
}

/// Two stages over 20 rows by 8, the second of which loads what the first has stored: the last tile has 4 rows.
const STAGES: &str = "
PTO_SHAPE(x, rows, 6)
PTO_SHAPE(y, rows, 6)
PTO_TENSOR(middle, float, rows, 6)
PTO_SPACE(First) { PTO_AXIS(i, 0, rows) PTO_TILE(i, 8) }
PTO_SPACE(Second) { PTO_AXIS(j, 0, rows) PTO_TILE(j, 8) }
struct One { uint32_t first; };
struct Two { uint32_t first; };
PTO_DESCRIPTOR_GEN(First) { PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(One{ .first = i * 8 }); } }
PTO_DESCRIPTOR_GEN(Second) { PTO_SCHEDULED_FOR(j) { PTO_EMIT_DESCRIPTOR(Two{ .first = j * 8 }); } }
PTO_KERNEL_IMPL(one) {
    auto d = PTO_GET_DESCRIPTOR<One>();
    VecTile<float, 8, 6> t;
    TLOAD(t, x, {d.first});
    TSTORE(middle, t, {d.first});
}
PTO_KERNEL_IMPL(two) {
    auto d = PTO_GET_DESCRIPTOR<Two>();
    VecTile<float, 8, 6> t;
    TLOAD(t, middle, {d.first});
    TSTORE(y, t, {d.first});
}
PTO_GRAPH(Both) { PTO_STAGE(first, First) PTO_STAGE(second, Second) }
void run(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(Both, { .x = x, .y = y }); }
";

#[test]
fn a_task_costs_all_that_it_loads_and_stores_and_accesses_no_row_past_the_end() {
    let x = Array::of(&[20, 6], &[1f32; 120]).expect("the elements fit the shape");
    let (program, args) = (program(STAGES), Args::new().with("x", x));
    let found = program.simulate(&args, &on(1)).expect("it is right");
    let cycles: Vec<u64> = found.tasks.iter().map(|task| task.end - task.start).collect();
    assert_eq!(cycles, [96, 96, 48, 96, 96, 48]);
    assert_eq!(found.makespan, 480);
    // What is not stored by the first stage is not waited for.
    let found = program.simulate(&args, &on(3)).expect("it is right");
    assert_eq!((found.listing.edges.len(), found.makespan), (3, 192));
    let detail = Detail { accesses: true, ..Detail::default() };
    let listed = program.graph(&args, &GraphOptions { detail, ..GraphOptions::default() });
    let listed = listed.expect("it is right");
    let rows = |region: &Region| (region.lo[0], region.hi[0], region.lo[1], region.hi[1]);
    let accesses: Vec<_> = listed.accesses.iter().map(|access| (access.task, rows(&access.region))).collect();
    let last = |task| [(task, (16, 20, 0, 6)); 2];
    assert_eq!((accesses.len(), &accesses[4..6], &accesses[10..]), (12, &last(2)[..], &last(5)[..]));
}
