//! Effects of what schedules of spaces say.

use super::Effect;
use super::places::{self, Lack};
use crate::splits::report;
use std::ops::Range;
use wsp_backend::{Args, Backend, RunOptions};
use wsp_core::DType;
use wsp_core::policy::{Gate, GateScope, PoolSizes, Ready};
use wsp_cpu::{Capacity, CpuSimBackend, LaunchOptions, Outcome, Program};
use wsp_diag::{Diagnostic, SourceMap};
use wsp_plan::{Array, Arrays, CompileOptions, LoweredPlan, lower};
use wsp_runtime::TaskTrace;

pub(super) const EFFECTS: &[Effect] = &[
    ("PTO_TILE(axis, size)", tile),
    ("PTO_TILE(axis, PTO_AUTO)", tile_auto),
    ("PTO_TILE(axis, size, PTO_PAD_LAST)", pad_last),
    ("PTO_WHERE(condition)", condition),
    ("PTO_AFFINITY(axis, PTO_CORE_GROUP)", || {
        placed("PTO_CORE_GROUP", |threads, task| (task.worker / GROUP, task.batch % threads.div_ceil(GROUP)));
    }),
    ("PTO_AFFINITY(axis, PTO_CORE_LOCAL)", || {
        placed("PTO_CORE_LOCAL", |threads, task| (task.worker, task.batch % threads));
    }),
    ("PTO_AFFINITY(axis, PTO_SPREAD)", || {
        placed("PTO_SPREAD", |threads, task| (task.worker, task.number % threads));
    }),
    ("PTO_ORDER(axis, PTO_SEQUENTIAL)", sequential),
    ("PTO_ORDER(axis, PTO_SEQUENTIAL_STRICT)", strict),
    ("PTO_ORDER(axis, PTO_PARALLEL)", parallel),
    ("PTO_ORDER(axis, PTO_INTERLEAVED(n))", interleaved),
    ("PTO_ORDER(axis, PTO_BLOCKED(n))", blocked),
    ("PTO_ORDER(axis, PTO_LONGEST_FIRST)", longest_first),
    ("PTO_SPLIT(axis, PTO_WHOLE)", || split("PTO_WHOLE", &[(0, 0, 2), (1, 0, 3), (2, 0, 2)])),
    ("PTO_SPLIT(axis, PTO_FIXED(n))", || {
        split("PTO_FIXED(2)", &[(0, 0, 2), (1, 0, 2), (1, 2, 3), (2, 0, 2)])
    }),
    ("PTO_SPLIT(axis, PTO_BALANCED(n))", split_balanced),
    ("PTO_PREFETCH(axis, depth)", prefetch),
    ("PTO_PRIORITY(axis)", priority),
    ("PTO_PIPELINE_DEPTH(n)", gate),
    ("PTO_PIPELINE_DEPTH(n, PTO_PER_POOL)", gate_per_pool),
    ("PTO_POOLS(vector, cube)", pools),
    ("PTO_SPATIAL_MAP(x, y)", spatial_map),
    ("PTO_LAYOUT(tensor, PTO_SHARD(x), PTO_REPLICATE, …)", sharded),
    ("PTO_RELAYOUT(tensor, PTO_SHARD(x), PTO_REPLICATE, …)", relaid),
    ("PTO_DEPENDENCY(reader.tensor, writer.tensor)", dependency),
    ("PTO_PROFILE_GUIDED(axis, policies)", || refused("PTO_PROFILE_GUIDED(batch, {PTO_PARALLEL})")),
    ("PTO_COMPUTE(kernel, inputs)", || refused("PTO_COMPUTE(k, lens)")),
];

/// Where AICPUs generate the tasks.
pub(super) const ON_AICPUS: &[Effect] = &[
    ("PTO_AFFINITY(axis, PTO_CORE_GROUP)", || no_effect_on_aicpus("PTO_AFFINITY(row, PTO_CORE_GROUP)")),
    ("PTO_AFFINITY(axis, PTO_CORE_LOCAL)", || no_effect_on_aicpus("PTO_AFFINITY(row, PTO_CORE_LOCAL)")),
    ("PTO_AFFINITY(axis, PTO_SPREAD)", || no_effect_on_aicpus("PTO_AFFINITY(row, PTO_SPREAD)")),
    ("PTO_ORDER(axis, PTO_PARALLEL)", parallel_on_aicpus),
    ("PTO_PREFETCH(axis, depth)", || no_effect_on_aicpus("PTO_PREFETCH(row, 1)")),
    ("PTO_SPATIAL_MAP(x, y)", || no_grid_on_aicpus("")),
    ("PTO_LAYOUT(tensor, PTO_SHARD(x), PTO_REPLICATE, …)", || no_grid_on_aicpus(BY_ROWS)),
    ("PTO_RELAYOUT(tensor, PTO_SHARD(x), PTO_REPLICATE, …)", || {
        no_grid_on_aicpus("PTO_RELAYOUT(y, PTO_REPLICATE, PTO_REPLICATE)");
    }),
    ("PTO_PRIORITY(axis)", priority_on_aicpus),
    ("PTO_POOLS(vector, cube)", pools_on_aicpus),
];

/// Where nothing is measured, and why.
pub(super) const LACKS: &[Lack] =
    &[("PTO_PREFETCH(axis, depth)", places::VirtualTime, "no kernel runs, so nothing is brought near")];

/// Elements of the dynamic axis for each index of the first.
const LENS: [u32; 3] = [2, 3, 2];

/// Workers of a group.
const GROUP: u32 = 2;

/// A space of two axes, the second dynamic, with statements about the second and a schedule.
struct Space {
    tile: &'static str,
    set_tile: &'static str,
    schedule: String,
}

const PLAIN: Space = Space { tile: "", set_tile: "", schedule: String::new() };

impl Space {
    fn scheduled(schedule: &str) -> Space {
        Space { schedule: schedule.to_owned(), ..PLAIN }
    }

    fn text(&self) -> String {
        let Space { tile, set_tile, schedule } = self;
        let part = if schedule.contains("PTO_SPLIT") {
            ".begin = PTO_ITEM_BEGIN(chunk), .end = PTO_ITEM_END(chunk)"
        } else {
            ".begin = c, .end = c"
        };
        format!(
            "PTO_SHAPE(lens, 3)
            PTO_SHAPE(x, 3, 8)
            PTO_SHAPE(y, 3, 8)
            PTO_SPACE(S) {{ PTO_AXIS(batch, 0, 3) PTO_AXIS(chunk, 0, PTO_DYNAMIC) {tile} }}
            PTO_SCHEDULE(Given) {{ {schedule} }}
            struct D {{ uint32_t b, begin, end; }};
            PTO_DESCRIPTOR_GEN(S) {{
                PTO_SET_EXTENT(chunk, lens);
                {set_tile}
                PTO_APPLY_SCHEDULE(Given);
                PTO_SCHEDULED_FOR(b, c) {{ PTO_EMIT_DESCRIPTOR(D{{ .b = b, {part} }}); }}
            }}
            PTO_KERNEL_IMPL(k) {{
                auto d = PTO_GET_DESCRIPTOR<D>();
                VecTile<float, 1, 1> t;
                TLOAD(t, x, {{d.b, d.begin}});
                TADDS(t, t, 1.0f);
                TSTORE(y, t, {{d.b, d.begin}});
            }}
            void go(uint32_t* lens, Tensor<float> x, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .x = x, .y = y }}); }}"
        )
    }

    fn program(&self, cores: u32) -> Program {
        let text = self.text();
        Program::new(compiled(&text, cores).unwrap_or_else(|found| panic!("{}\n{text}", report(&found))))
    }

    /// Index and part of every item, in the order of issue, in which one worker, one AICPU and virtual time start as many tasks.
    fn items(&self, cores: u32) -> Vec<(u32, u32, u32)> {
        let on_one = |aicpus| LaunchOptions { threads: 1, aicpus, trace: true, ..LaunchOptions::default() };
        let ran = |options: LaunchOptions| {
            let outcome = self.program(cores).execute(&arrays(), &options);
            outcome.unwrap_or_else(|found| panic!("{}", report(&found))).stats.runtime.trace
        };
        places::at(places::Threads);
        places::at(places::Aicpus);
        let traces = [ran(on_one(0)), ran(on_one(1))].map(|trace| {
            let in_order = trace.is_sorted_by_key(|task| task.started_ns);
            (trace.len(), in_order || self.schedule.contains("PTO_PARALLEL"))
        });
        let starts: Vec<u64> = self.simulated(cores, 1).into_iter().map(|(start, _)| start).collect();
        let plan = self.program(cores).plan(&arrays(), &LaunchOptions::default(), Capacity::Exact);
        let plan = plan.unwrap_or_else(|found| panic!("{}", report(&found)));
        let items: Vec<_> =
            plan.descriptors().map(|item| (item.words[0], item.words[1], item.words[2])).collect();
        assert_eq!(traces, [(items.len(), true); 2]);
        assert_eq!((starts.len(), starts.is_sorted()), (items.len(), true));
        items
    }

    /// Start and worker of each task in virtual time.
    fn simulated(&self, cores: u32, threads: u32) -> Vec<(u64, u32)> {
        let text = self.text();
        let plan = compiled(&text, cores).unwrap_or_else(|found| panic!("{}\n{text}", report(&found)));
        simulated(plan, arrays(), threads)
    }

    /// Indices of the items, in the order of issue.
    fn order(&self) -> Vec<(u32, u32)> {
        self.items(1).into_iter().map(|(b, c, _)| (b, c)).collect()
    }

    fn run(&self, threads: u32) -> Outcome {
        let options =
            LaunchOptions { threads, cores_per_group: GROUP, trace: true, ..LaunchOptions::default() };
        places::at(places::Threads);
        let outcome = self.program(threads).execute(&arrays(), &options);
        outcome.unwrap_or_else(|found| panic!("{}", report(&found)))
    }
}

fn compiled(text: &str, cores: u32) -> Result<wsp_plan::LoweredPlan, Vec<Diagnostic>> {
    let (module, found) = wsp_lang::compile("effects.pto", text, &mut SourceMap::default());
    let options = CompileOptions { max_blocks: cores, ..CompileOptions::default() };
    module.map_or(Err(found), |module| lower(&module, &options))
}

fn arrays() -> Arrays {
    let mut lens = Array::zeros(DType::U32, &[3]).expect("it is small");
    lens.as_slice_mut::<u32>().expect("of this type").copy_from_slice(&LENS);
    let zeros = || Array::zeros(DType::F32, &[3, 8]).expect("it is small");
    [("lens", lens), ("x", zeros()), ("y", zeros())].map(|(name, array)| (name.to_owned(), array)).into()
}

const DECLARED: [(u32, u32); 7] = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)];

fn tile() {
    assert_eq!(Space { tile: "PTO_TILE(chunk, 2)", ..PLAIN }.order(), [(0, 0), (1, 0), (1, 1), (2, 0)]);
    assert_eq!(PLAIN.order(), DECLARED);
}

fn tile_auto() {
    let of = |set_tile| Space { tile: "PTO_TILE(chunk, PTO_AUTO)", set_tile, ..PLAIN }.order();
    assert_eq!(of("PTO_SET_TILE(chunk, 1);"), DECLARED);
    assert_eq!(of("PTO_SET_TILE(chunk, 2);"), [(0, 0), (1, 0), (1, 1), (2, 0)]);
    // Chosen for the lengths: each is a fraction of the smallest that is chosen.
    assert_eq!(of(""), [(0, 0), (1, 0), (2, 0)]);
}

/// Rows past the end take no part in a sum, whether the last tile is a full one or not.
fn pad_last() {
    let sum = |tile: &str| {
        let text = format!(
            "PTO_SHAPE(x, 5, 8)
            PTO_SHAPE(y, 3, 8)
            PTO_SPACE(S) {{ PTO_AXIS(row, 0, 5) {tile} }}
            struct D {{ uint32_t i; }};
            PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(r) {{ PTO_EMIT_DESCRIPTOR(D{{ .i = r }}); }} }}
            PTO_KERNEL_IMPL(k) {{
                auto d = PTO_GET_DESCRIPTOR<D>();
                VecTile<float, 2, 8> t;
                VecTile<float, 1, 8> s;
                TLOAD(t, x, {{d.i * 2}});
                TADDS(t, t, 1.0f);
                TCOLSUM(s, t);
                TSTORE(y, s, {{d.i}});
            }}
            void go(Tensor<float> x, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .x = x, .y = y }}); }}"
        );
        let program = Program::new(compiled(&text, 1).unwrap_or_else(|found| panic!("{}", report(&found))));
        let zeros = |rows| Array::zeros(DType::F32, &[rows, 8]).expect("it is small");
        let arrays = Arrays::from([("x".to_owned(), zeros(5)), ("y".to_owned(), zeros(3))]);
        places::at(places::Threads);
        let outcome = program.execute(&arrays, &LaunchOptions::default());
        let outcome = outcome.unwrap_or_else(|found| panic!("{}", report(&found)));
        let rows = outcome.outputs["y"].as_slice::<f32>().expect("of this type").chunks(8).map(|row| row[0]);
        rows.collect::<Vec<f32>>()
    };
    assert_eq!(sum("PTO_TILE(row, 2, PTO_PAD_LAST)"), [2.0, 2.0, 1.0]);
    assert_eq!(sum("PTO_TILE(row, 2)"), [2.0, 2.0, 1.0]);
    assert_eq!(Space { tile: "PTO_TILE(chunk, 2, PTO_PAD_LAST)", ..PLAIN }.order().len(), 4);
}

fn condition() {
    let chosen = Space { tile: "PTO_WHERE(chunk != batch)", ..PLAIN };
    assert_eq!(chosen.order(), [(0, 1), (1, 0), (1, 2), (2, 0), (2, 1)]);
}

/// A task that ran: its number in the order of issue, its index of the first axis, its worker.
struct Ran {
    number: u32,
    batch: u32,
    worker: u32,
}

/// `place` gives the place of a task's worker and the place that the policy names, by the number of threads. Idle workers may take
/// any task, so what is the same in every run is that the tasks in their places are those that the run counts as such. That
/// tasks wait in the queues of their places, tests of `wsp-runtime` see (`a_task_waits_in_the_queue_of_its_place`).
fn placed(policy: &str, place: fn(u32, &Ran) -> (u32, u32)) {
    for threads in 3..7 {
        let runtime = Space::scheduled(&format!("PTO_AFFINITY(batch, {policy})")).run(threads).stats.runtime;
        let ran = runtime.trace.iter().map(|task| Ran {
            number: task.task.0,
            batch: DECLARED[task.task.index()].0,
            worker: task.worker,
        });
        let in_place = ran.filter(|task| place(threads, task).0 == place(threads, task).1).count() as u64;
        assert_eq!((runtime.affinity.hits, runtime.affinity.misses), (in_place, 7 - in_place), "{policy}");
    }
    let affinity = PLAIN.run(2).stats.runtime.affinity;
    assert_eq!(affinity.hits + affinity.misses, 0);
    // In virtual time, of the tasks that start at once, where every worker has one; groups have their usual size there.
    let threads = if policy == "PTO_CORE_LOCAL" { 3 } else { 7 };
    let tasks = Space::scheduled(&format!("PTO_AFFINITY(batch, {policy})")).simulated(1, threads);
    let usual = wsp_core::limits::CORES_PER_GROUP;
    for (number, (start, worker)) in (0..).zip(tasks) {
        let batch = DECLARED[number as usize].0;
        let expected = match policy {
            "PTO_CORE_GROUP" => (worker / usual, batch % threads.div_ceil(usual)),
            "PTO_CORE_LOCAL" => (worker, batch),
            _ => (worker, number),
        };
        assert!(start > 0 || expected.0 == expected.1, "{policy}: task {number} is on worker {worker}");
    }
}

fn sequential() {
    let by_chunk = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (1, 2)];
    let space = Space::scheduled("PTO_ORDER(chunk, PTO_SEQUENTIAL)");
    assert_eq!(space.order(), by_chunk);
    // Ready tasks start in issue order.
    let trace = space.run(1).stats.runtime.trace;
    assert!(trace.is_sorted_by_key(|task| task.started_ns) && trace.len() == 7);
    assert_eq!(space.program(1).lowered().stages[0].schedule.policy.ready, Ready::Fifo);
}

fn strict() {
    let fences = |policy: &str| {
        let trace = Space::scheduled(&format!("PTO_ORDER(chunk, {policy})")).run(2).stats.runtime.trace;
        let last = |task: usize| trace[..task].iter().map(|earlier| earlier.finished_ns).max();
        for task in (1..trace.len()).filter(|&task| trace[task].fences > trace[task - 1].fences) {
            assert!(last(task) <= Some(trace[task].started_ns));
        }
        trace.iter().map(|task| task.fences).max()
    };
    assert_eq!(fences("PTO_SEQUENTIAL_STRICT"), Some(2));
    assert_eq!(fences("PTO_SEQUENTIAL"), Some(0));
    // Of the three chunks three, three and one task.
    let starts = |policy: &str| -> Vec<u64> {
        let tasks = Space::scheduled(&format!("PTO_ORDER(chunk, {policy})")).simulated(1, 7);
        let took = tasks.iter().map(|(start, _)| *start).filter(|start| *start > 0).min().unwrap_or(1);
        tasks.into_iter().map(|(start, _)| start / took).collect()
    };
    assert_eq!(starts("PTO_SEQUENTIAL_STRICT"), [0, 0, 0, 1, 1, 1, 2]);
    assert_eq!(starts("PTO_SEQUENTIAL"), [0; 7]);
    let plan = compiled(&Space::scheduled("PTO_ORDER(chunk, PTO_SEQUENTIAL_STRICT)").text(), 2);
    let program = Program::new(plan.unwrap_or_else(|found| panic!("{}", report(&found))));
    let options = LaunchOptions { aicpus: 3, threads: 2, trace: true, ..LaunchOptions::default() };
    places::at(places::Aicpus);
    let outcome = program.execute(&arrays(), &options).unwrap_or_else(|found| panic!("{}", report(&found)));
    let trace = outcome.stats.runtime.trace;
    let last = |tasks: Range<usize>| trace[tasks].iter().map(|task| task.finished_ns).max();
    let first = |tasks: Range<usize>| trace[tasks].iter().map(|task| task.started_ns).min();
    assert!(last(0..3) <= first(3..6) && last(3..6) <= first(6..7));
}

fn parallel() {
    let ready =
        |schedule: &str| Space::scheduled(schedule).program(1).lowered().stages[0].schedule.policy.ready;
    assert_eq!(ready("PTO_ORDER(batch, PTO_PARALLEL) PTO_ORDER(chunk, PTO_PARALLEL)"), Ready::WorkSteal);
    assert_eq!(ready("PTO_ORDER(batch, PTO_PARALLEL) PTO_ORDER(chunk, PTO_SEQUENTIAL)"), Ready::Fifo);
    let order = Space::scheduled("PTO_ORDER(batch, PTO_PARALLEL) PTO_ORDER(chunk, PTO_PARALLEL)").order();
    assert_eq!(order, DECLARED);
}

fn interleaved() {
    let found = Space::scheduled("PTO_ORDER(batch, PTO_INTERLEAVED(2))").order();
    assert_eq!(found, [(0, 0), (1, 0), (0, 1), (1, 1), (1, 2), (2, 0), (2, 1)]);
}

fn blocked() {
    let found = Space::scheduled("PTO_ORDER(batch, PTO_BLOCKED(2))").order();
    assert_eq!(found, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (1, 2)]);
}

fn longest_first() {
    let found = Space::scheduled("PTO_ORDER(batch, PTO_LONGEST_FIRST)").order();
    assert_eq!(found, [(1, 0), (1, 1), (1, 2), (0, 0), (0, 1), (2, 0), (2, 1)]);
}

fn split_items(policy: &str, cores: u32) -> Vec<(u32, u32, u32)> {
    let schedule = format!("PTO_SPLIT(chunk, {policy})");
    Space { tile: "PTO_TILE(chunk, PTO_AUTO)", schedule, ..PLAIN }.items(cores)
}

fn split(policy: &str, expected: &[(u32, u32, u32)]) {
    assert_eq!(split_items(policy, 7), expected);
    assert_ne!(split_items("PTO_BALANCED(1)", 7), expected);
}

fn split_balanced() {
    let ones: Vec<(u32, u32, u32)> = DECLARED.iter().map(|&(b, c)| (b, c, c + 1)).collect();
    assert_eq!(split_items("PTO_BALANCED(1)", 7), ones);
    assert_eq!(split_items("PTO_BALANCED(1)", 1), split_items("PTO_WHOLE", 7));
}

fn prefetch() {
    let asked = |schedule: &str| {
        let prefetch = Space::scheduled(schedule).run(2).stats.runtime.prefetch;
        prefetch.issued + prefetch.missed
    };
    // Of the items with a batch after the first, those whose chunk the batch before has.
    assert_eq!(asked("PTO_PREFETCH(batch, 1)"), 4);
    assert_eq!(asked("PTO_PREFETCH(batch, 2)"), 2);
    assert_eq!(asked(""), 0);
}

fn dependency() {
    let text = |statement: &str| {
        format!(
            "PTO_SHAPE(x, 8, 16) PTO_SHAPE(y, 8, 16) PTO_TENSOR(mid, float, 8, 16)
            PTO_SPACE(A) {{ PTO_AXIS(row, 0, 8) }} PTO_SPACE(B) {{ PTO_AXIS(row, 0, 8) }}
            struct First {{ uint32_t i; }}; struct Second {{ uint32_t i; }};
            PTO_DESCRIPTOR_GEN(A) {{ PTO_SCHEDULED_FOR(r) {{ PTO_EMIT_DESCRIPTOR(First{{ .i = r }}); }} }}
            PTO_DESCRIPTOR_GEN(B) {{ PTO_SCHEDULED_FOR(r) {{ PTO_EMIT_DESCRIPTOR(Second{{ .i = r }}); }} }}
            PTO_KERNEL_IMPL(first) {{
                auto d = PTO_GET_DESCRIPTOR<First>(); VecTile<float, 1, 16> t;
                TLOAD(t, x, {{d.i}}); TADD(t, t, t); TSTORE(mid, t, {{d.i}});
            }}
            PTO_KERNEL_IMPL(second) {{
                auto d = PTO_GET_DESCRIPTOR<Second>(); VecTile<float, 1, 16> t;
                TLOAD(t, mid, {{d.i}}); TSTORE(y, t, {{d.i}});
            }}
            PTO_GRAPH(G) {{ PTO_STAGE(one, A) PTO_STAGE(two, B) {statement} }}
            void go(Tensor<float> x, Tensor<float> y) {{ PTO_LAUNCH(G, {{ .x = x, .y = y }}); }}"
        )
    };
    let lowered = compiled(&text("PTO_DEPENDENCY(two.mid, one.mid)"), 2);
    let lowered = lowered.unwrap_or_else(|found| panic!("{}", report(&found)));
    let zeros = || Array::zeros(DType::F32, &[8, 16]).expect("it is small");
    let arrays = Arrays::from([("x".to_owned(), zeros()), ("y".to_owned(), zeros())]);
    places::at(places::Threads);
    places::at(places::Aicpus);
    for aicpus in [0, 3] {
        let program = Program::new(lowered.clone());
        let options = LaunchOptions { threads: 2, aicpus, trace: true, ..LaunchOptions::default() };
        let outcome = program.execute(&arrays, &options).unwrap_or_else(|found| panic!("{}", report(&found)));
        let trace = outcome.stats.runtime.trace;
        assert!((0..8).all(|row| trace[row].finished_ns <= trace[8 + row].started_ns), "{aicpus}");
    }
    let starts: Vec<u64> = simulated(lowered, arrays, 16).into_iter().map(|(start, _)| start).collect();
    assert!(starts[..8] == [0; 8] && starts[8..].iter().all(|start| *start > 0), "{starts:?}");
    // What is not so is refused.
    assert!(compiled(&text("PTO_DEPENDENCY(two.x, one.x)"), 2).is_err());
}

/// A kernel for either unit for each of six rows. Nothing orders the tasks, and each takes 16 cycles; those of vector kernels have even
/// numbers.
fn units(schedule: &str) -> LoweredPlan {
    let kernel = |name: &str, unit: &str, of: &str, to: &str| {
        format!(
            "PTO_KERNEL_IMPL({name}) on {unit} {{
                auto d = PTO_GET_DESCRIPTOR<{of}>(); VecTile<float, 1, 8> t;
                TLOAD(t, x, {{d.i}}); TADDS(t, t, 1.0f); TSTORE({to}, t, {{d.i}});
            }}"
        )
    };
    let text = format!(
        "PTO_SHAPE(x, 6, 8) PTO_SHAPE(y, 6, 8) PTO_SHAPE(z, 6, 8)
        PTO_SPACE(S) {{ PTO_AXIS(row, 0, 6) }}
        PTO_SCHEDULE(Given) {{ {schedule} }}
        struct V {{ uint32_t i; }}; struct C {{ uint32_t i; }};
        PTO_DESCRIPTOR_GEN(S) {{
            PTO_APPLY_SCHEDULE(Given);
            PTO_SCHEDULED_FOR(r) {{ PTO_EMIT_DESCRIPTOR(V{{ .i = r }}); PTO_EMIT_DESCRIPTOR(C{{ .i = r }}); }}
        }}
        {} {}
        void go(Tensor<float> x, Tensor<float> y, Tensor<float> z) {{ PTO_LAUNCH(S, {{ .x = x, .y = y, .z = z }}); }}",
        kernel("v", "vector", "V", "y"),
        kernel("c", "cube", "C", "z"),
    );
    compiled(&text, 1).unwrap_or_else(|found| panic!("{}\n{text}", report(&found)))
}

fn rows() -> Arrays {
    Arrays::from([("x".to_owned(), Array::zeros(DType::F32, &[6, 8]).expect("it is small"))])
}

/// Start and worker of each task in virtual time; points of fences have none.
fn simulated(plan: LoweredPlan, arrays: Arrays, threads: u32) -> Vec<(u64, u32)> {
    let program = CpuSimBackend::default().compile(&plan.into());
    let program = program.unwrap_or_else(|found| panic!("{found}"));
    let args = Args { arrays, ..Args::default() };
    places::at(places::VirtualTime);
    let simulated = program.simulate(&args, &RunOptions { threads, ..RunOptions::default() });
    let tasks = simulated.unwrap_or_else(|fault| panic!("{fault}")).tasks;
    tasks.iter().filter_map(|task| Some((task.start, task.worker?))).collect()
}

/// The same for a kernel for either unit, in terms of what a task takes.
fn in_virtual_time(schedule: &str, threads: u32) -> (Vec<u64>, Vec<u32>) {
    let tasks = simulated(units(schedule), rows(), threads);
    tasks.into_iter().map(|(start, worker)| (start / 16, worker)).unzip()
}

/// What is recorded of each task on threads.
fn on_threads(schedule: &str, threads: u32) -> Vec<TaskTrace> {
    let options = LaunchOptions { threads, trace: true, ..LaunchOptions::default() };
    places::at(places::Threads);
    let outcome = Program::new(units(schedule)).execute(&rows(), &options);
    outcome.unwrap_or_else(|found| panic!("{}", report(&found))).stats.runtime.trace
}

/// How many of these tasks ran at once at most.
fn at_once<'t>(tasks: impl Iterator<Item = &'t TaskTrace> + Clone) -> usize {
    let running = |at: u64| tasks.clone().filter(|t| (t.started_ns..t.finished_ns).contains(&at)).count();
    tasks.clone().map(|task| running(task.started_ns)).max().unwrap_or(0)
}

/// What a run on AICPUs gives, with as many threads.
fn on_aicpus(schedule: &str, aicpus: u16) -> Outcome {
    let options = LaunchOptions { aicpus, threads: aicpus.into(), trace: true, ..LaunchOptions::default() };
    places::at(places::Aicpus);
    let outcome = Program::new(units(schedule)).execute(&rows(), &options);
    outcome.unwrap_or_else(|found| panic!("{}", report(&found)))
}

fn no_effect_on_aicpus(statement: &str) {
    let codes = |schedule: &str| -> Vec<u16> {
        on_aicpus(schedule, 3).notes.iter().map(|note| note.code.0).collect()
    };
    assert_eq!((codes(statement), codes("")), (vec![416], vec![]));
    let outcome = on_aicpus(statement, 3);
    let each = outcome.aicpus.expect("figures of AICPUs").aicpus;
    assert_eq!(each.iter().map(|aicpu| aicpu.tasks).collect::<Vec<_>>(), [4; 3]);
    // With as many cores as AICPUs each issues to its own first.
    let runtime = outcome.stats.runtime;
    assert_eq!((runtime.affinity.hits, runtime.prefetch.issued + runtime.prefetch.missed), (0, 0));
}

fn in_issue_order(trace: &[TaskTrace]) -> bool {
    trace.is_sorted_by_key(|task| task.started_ns)
}

fn parallel_on_aicpus() {
    let trace = on_aicpus("PTO_ORDER(row, PTO_PARALLEL)", 1).stats.runtime.trace;
    assert!(in_issue_order(&trace) && trace.len() == 12);
}
fn priority_on_aicpus() {
    assert!((0..20).all(|_| in_issue_order(&on_aicpus("", 1).stats.runtime.trace)));
    assert!((0..500).any(|_| !in_issue_order(&on_aicpus("PTO_PRIORITY(row)", 1).stats.runtime.trace)));
}

fn pools_on_aicpus() {
    let trace = on_aicpus("PTO_POOLS(1, 2)", 2).stats.runtime.trace;
    let of_unit = |(task, core): (usize, u32)| (core > 0) == (task % 2 == 1);
    assert!(trace.iter().map(|task| task.worker).enumerate().all(of_unit));
    // A window of all AICPUs is divided among them.
    let options = LaunchOptions { aicpus: 4, window: Some(3), ..LaunchOptions::default() };
    let refused = Program::new(units("")).execute(&rows(), &options).expect_err("each needs room for a task");
    assert_eq!(refused[0].code.0, 864);
}

fn priority() {
    let falling: Vec<u64> = (0..12).map(|task| 10 - task / 2 * 2 + task % 2).collect();
    assert_eq!(in_virtual_time("PTO_PRIORITY(row)", 1).0, falling);
    assert_eq!(in_virtual_time("", 1).0, (0..12).collect::<Vec<u64>>());
    // On a thread, among the tasks that are generated when it takes one: in issue order without a priority, in every run.
    assert!((0..20).all(|_| in_issue_order(&on_threads("", 1))));
    assert!((0..500).any(|_| !in_issue_order(&on_threads("PTO_PRIORITY(row)", 1))));
}

fn gate() {
    assert_eq!(in_virtual_time("PTO_PIPELINE_DEPTH(2)", 12).0, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    assert_eq!(in_virtual_time("", 12).0, [0; 12]);
    assert_eq!(at_once(on_threads("PTO_PIPELINE_DEPTH(1)", 4).iter()), 1);
    assert_eq!(at_once(on_aicpus("PTO_PIPELINE_DEPTH(1)", 4).stats.runtime.trace.iter()), 1);
}

fn gate_per_pool() {
    let schedule = "PTO_PIPELINE_DEPTH(2, PTO_PER_POOL)";
    assert_eq!(in_virtual_time(schedule, 12).0, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    let one = "PTO_PIPELINE_DEPTH(1, PTO_PER_POOL)";
    for trace in [on_threads(one, 4), on_aicpus(one, 4).stats.runtime.trace] {
        assert_eq!([0, 1].map(|unit| at_once(trace.iter().filter(|task| task.task.0 % 2 == unit))), [1, 1]);
    }
}

fn pools() {
    let schedule = "PTO_POOLS(1, 2)";
    let of_unit = |(task, worker): (usize, u32)| (worker > 0) == (task % 2 == 1);
    let (starts, workers) = in_virtual_time(schedule, 0);
    assert_eq!(starts.iter().max(), Some(&5), "one worker takes six tasks");
    assert!(workers.into_iter().enumerate().all(of_unit));
    let trace = on_threads(schedule, 0);
    assert!(trace.iter().map(|task| task.worker).enumerate().all(of_unit));
    let (_, workers) = in_virtual_time("", 3);
    assert!(!workers.into_iter().enumerate().all(of_unit));
    // So many workers and no others.
    let options = LaunchOptions { threads: 2, ..LaunchOptions::default() };
    let refused =
        Program::new(units(schedule)).execute(&rows(), &options).expect_err("another number of threads");
    assert_eq!(refused[0].code.0, 864);
    // The stages of a launch have one set of workers.
    let of_stages = |first: &str, second: &str| {
        let space = |of: &str, schedule: &str, to: &str| {
            format!(
                "PTO_SPACE({of}) {{ PTO_AXIS(row, 0, 6) }} PTO_SCHEDULE(For{of}) {{ {schedule} }} struct D{of} {{ uint32_t i; }};
                PTO_DESCRIPTOR_GEN({of}) {{
                    PTO_APPLY_SCHEDULE(For{of}); PTO_SCHEDULED_FOR(r) {{ PTO_EMIT_DESCRIPTOR(D{of}{{ .i = r }}); }}
                }}
                PTO_KERNEL_IMPL(k{of}) {{
                    auto d = PTO_GET_DESCRIPTOR<D{of}>(); VecTile<float, 1, 8> t; TLOAD(t, x, {{d.i}}); TSTORE({to}, t, {{d.i}});
                }}"
            )
        };
        let text = format!(
            "PTO_SHAPE(x, 6, 8) PTO_SHAPE(y, 6, 8) PTO_SHAPE(z, 6, 8) {} {}
            PTO_GRAPH(G) {{ PTO_STAGE(one, A) PTO_STAGE(two, B) }}
            void go(Tensor<float> x, Tensor<float> y, Tensor<float> z) {{ PTO_LAUNCH(G, {{ .x = x, .y = y, .z = z }}); }}",
            space("A", first, "y"),
            space("B", second, "z")
        );
        compiled(&text, 1).map(|plan| plan.policy)
    };
    assert_eq!(of_stages("PTO_POOLS(1, 2)", "PTO_POOLS(2, 1)").expect_err("they differ")[0].code.0, 405);
    let both = of_stages("PTO_POOLS(1, 2) PTO_PIPELINE_DEPTH(3)", "PTO_PIPELINE_DEPTH(2) PTO_PRIORITY(row)");
    let both = both.unwrap_or_else(|found| panic!("{}", report(&found)));
    assert_eq!((both.pools, both.ready), (PoolSizes::ByUnit { vector: 1, cube: 2 }, Ready::Priority));
    assert_eq!(both.gates, [Gate { scope: GateScope::Global, capacity: 2 }]);
    // One task after another has one worker.
    let options = LaunchOptions { threads: 1, sequential: true, ..LaunchOptions::default() };
    assert!(Program::new(units(schedule)).execute(&rows(), &options).is_ok());
}

/// Rows of both results over the tiles of a row.
const BY_ROWS: &str = "PTO_LAYOUT(y, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(z, PTO_SHARD(x), PTO_REPLICATE)";

/// Workers of tasks in virtual time, and tasks by tile of a run on threads, which all have a place there.
fn on_grid(schedule: &str, threads: u32) -> (Vec<u32>, Vec<u64>) {
    let options = LaunchOptions { threads, trace: true, ..LaunchOptions::default() };
    places::at(places::Threads);
    let outcome = Program::new(units(schedule)).execute(&rows(), &options);
    let stats = outcome.unwrap_or_else(|found| panic!("{}", report(&found))).stats;
    let affinity = stats.runtime.affinity;
    assert_eq!(affinity.hits + affinity.misses, 12, "{schedule}");
    (in_virtual_time(schedule, threads).1, stats.grid.expect("there is a grid").tasks)
}

fn spatial_map() {
    let in_turn = |n: u32| (0..12).map(|task| task % n).collect::<Vec<u32>>();
    assert_eq!(on_grid("PTO_SPATIAL_MAP(2, 2)", 4), (in_turn(4), vec![3; 4]));
    assert_eq!(on_grid("PTO_SPATIAL_MAP(3, 1)", 3), (in_turn(3), vec![4; 3]));
    let without = LaunchOptions { threads: 4, ..LaunchOptions::default() };
    let outcome = Program::new(units("")).execute(&rows(), &without).expect("it runs");
    assert_eq!((outcome.stats.grid, outcome.stats.runtime.affinity.hits), (None, 0));
}

fn sharded() {
    // Two tasks for each of six rows, two rows for each of three tiles.
    let by_rows = vec![0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2];
    let schedule = format!("PTO_SPATIAL_MAP(3, 1) {BY_ROWS}");
    assert_eq!(on_grid(&schedule, 3), (by_rows, vec![4; 3]));
    let uneven = format!("PTO_SPATIAL_MAP(4, 1) {BY_ROWS}");
    assert_eq!(on_grid(&uneven, 4).1, [4, 4, 4, 0]);
}

fn relaid() {
    // What tasks load decides where they store nothing that is sharded.
    let schedule = "PTO_SPATIAL_MAP(3, 2) PTO_LAYOUT(x, PTO_SHARD(x), PTO_REPLICATE)";
    let by_loads = |statement: &str| on_grid(&format!("{schedule} {statement}"), 6).1;
    assert_eq!(by_loads(""), [2; 6]);
    assert_eq!(by_loads("PTO_RELAYOUT(x, PTO_SHARD(y), PTO_REPLICATE)"), [2; 6]);
    // Columns that lie on several tiles are stored where they lie.
    let by_columns = ["x", "y", "z"].map(|name| {
        let word = if name == "x" { "RELAYOUT" } else { "LAYOUT" };
        format!("PTO_{word}({name}, PTO_REPLICATE, PTO_SHARD(y))")
    });
    assert_eq!(by_loads(&by_columns.join(" ")), [4, 4, 4, 0, 0, 0]);
    assert!(compiled(&Space::scheduled("PTO_RELAYOUT(x, PTO_REPLICATE, PTO_REPLICATE)").text(), 1).is_err());
}

fn no_grid_on_aicpus(statement: &str) {
    let schedule = format!("PTO_SPATIAL_MAP(2, 2) {statement}");
    places::at(places::Aicpus);
    let options = LaunchOptions { aicpus: 2, ..LaunchOptions::default() };
    let refused = Program::new(units(&schedule)).execute(&rows(), &options).expect_err("AICPUs have no grid");
    assert_eq!(refused.iter().map(|fault| fault.code.0).collect::<Vec<_>>(), [864]);
    assert!(refused[0].primary.is_some(), "{refused:?}");
    assert!(Program::new(units("")).execute(&rows(), &options).is_ok());
}

fn refused(statement: &str) {
    assert!(compiled(&Space::scheduled(statement).text(), 1).is_err());
    assert!(compiled(&Space::scheduled("").text(), 1).is_ok());
}
