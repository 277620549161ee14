//! Effects of what schedules of workloads say: on threads and in virtual time, and on AICPUs where they do the same there.

use super::Effect;
use super::measure::{
    NONE, On, free, most_in_flight, one_by_one, order, order_everywhere, pairs, ran, refused, run, simulated,
    starts, traced_workers, try_simulated, workers,
};
use super::places::{self, Lack};
use crate::workloads::{program, report};
use wsp_backend::Absent;
use wsp_cpu::workload::{WorkloadInputs, WorkloadOptions, WorkloadProgram};
use wsp_diag::SourceMap;
use wsp_ir::workload::text::parse;
use wsp_plan::CompileOptions;

pub(super) const EFFECTS: &[Effect] = &[
    ("dispatch(round_robin)", round_robin),
    ("dispatch(affinity(key))", affinity),
    ("dispatch(hash(key))", hash),
    ("dispatch(static_partition([0..n, …]))", static_partition),
    ("dispatch(work_steal)", work_steal),
    ("dispatch_threshold(metric, [t, …], [policy, …])", threshold),
    ("streams(n)", streams),
    ("stream_by(key)", stream_by),
    ("task_graph(deps = exact)", exact),
    ("task_graph(deps = overlap)", overlap),
    ("task_graph(deps = explicit)", explicit),
    ("task_graph(deps = hybrid)", hybrid),
    ("task_graph(window = (n, stall))", window_stall),
    ("task_graph(window = (n, abort))", window_abort),
    ("task_graph(window = (n, benchmark))", window_benchmark),
    ("task_graph(pools = shared)", pools_shared),
    ("task_graph(pools = by_unit(v, c))", pools_by_unit),
    ("task_graph(ready = auto)", ready_auto),
    ("task_graph(ready = fifo)", ready_fifo),
    ("task_graph(ready = work_steal)", ready_steal),
    ("task_graph(ready = priority)", ready_priority),
    ("task_graph(start = immediate)", start_immediate),
    ("task_graph(start = after_orchestration)", start_after),
    ("task_graph(start = threshold(n))", start_threshold),
    ("task_graph(trace = none)", trace_none),
    ("task_graph(trace = measured)", trace_measured),
    ("task_graph(trace = cycles)", trace_cycles),
    ("pipeline_depth(n, global)", gate_global),
    ("pipeline_depth(n, per_stream)", gate_stream),
    ("pipeline_depth(n, per_pool)", gate_pool),
    ("batch_deps(n)", batch_deps),
    ("core_groups(n)", core_groups),
    ("workers(n)", own_workers),
    ("priority(key)", priority),
    ("timing(immediate)", timing_immediate),
    ("timing(batched(n))", || not_supported("timing(batched(3));")),
    ("timing(interleaved(n))", || not_supported("timing(interleaved(3));")),
    ("timing(rate_limit(n))", || not_supported("timing(rate_limit(3));")),
    ("spatial_map((x, y))", spatial_map),
    ("layout(tensor, [shard(x), replicate, …])", sharded),
    ("relayout(tensor, [shard(x), replicate, …])", relaid),
];

/// Where nothing is measured, and why.
pub(super) const LACKS: &[Lack] = &[
    ("task_graph(trace = none)", places::VirtualTime, "times of tasks are what virtual time gives"),
    ("task_graph(trace = measured)", places::VirtualTime, "times of tasks are what virtual time gives"),
];

pub(super) const AFTER: &str = "task_graph(start = after_orchestration);";
const BY_PRIORITY: &str = "task_graph(start = after_orchestration, ready = priority);";

/// Where tasks that run one at a time go in virtual time, and how many of them have a place on threads, under every order.
fn placed(dispatch: &str, n: u32) -> Vec<u32> {
    let mut all = Vec::new();
    for ready in ["fifo", "work_steal", "priority"] {
        let text = one_by_one(n, &format!("{dispatch} task_graph(ready = {ready});"));
        let affinity = ran(&text, On::Threads(4)).runtime.affinity;
        let has_places = !dispatch.is_empty() && !dispatch.contains("work_steal]");
        assert_eq!(affinity.hits + affinity.misses, if has_places { n.into() } else { 0 }, "{text}");
        all.push(workers(&text, 4));
    }
    assert!(all.iter().all(|of_policy| *of_policy == all[0]), "{dispatch}: {all:?}");
    all.remove(0)
}

fn round_robin() {
    assert_eq!(placed("", 6), [0; 6]);
    assert_eq!(placed("dispatch(round_robin);", 6), [0, 1, 2, 3, 0, 1]);
}

fn affinity() {
    assert_eq!(placed("dispatch(affinity(b / 2 - 1));", 6), [3, 3, 0, 0, 1, 1]);
    // Side by side too, and by priority among those of one place.
    let text = |ready: &str| {
        free(
            12,
            &format!("dispatch(affinity(b / 3)); task_graph(ready = {ready}, start = after_orchestration);"),
        )
    };
    let by_key: Vec<u32> = (0..12).map(|b| b / 3).collect();
    assert_eq!(workers(&text("fifo"), 4), by_key);
    let ranked = text("priority").replace("schedule {", "schedule { priority(b);");
    assert_eq!(workers(&ranked, 4), by_key);
    assert_eq!(starts(&ranked, 4), [20, 10, 0].repeat(4));
    assert_ne!(workers(&free(12, AFTER), 4), by_key);
}

fn hash() {
    let found = placed("dispatch(hash(b / 2));", 32);
    assert!(found.chunks(2).all(|pair| pair[0] == pair[1]), "{found:?}");
    assert!((0..4).all(|worker| found.contains(&worker)), "{found:?}");
    assert_ne!(found, placed("dispatch(affinity(b / 2));", 32));
}

fn static_partition() {
    assert_eq!(placed("dispatch(static_partition([0..1, 1..1, 1..4, 4..6]));", 6), [0, 2, 2, 2, 3, 3]);
}

fn work_steal() {
    let levels =
        |first: &str| format!("dispatch(affinity(3)); dispatch_threshold(b, [2], [{first}, affinity(2)]);");
    // In no particular place: the first idle worker.
    let found = workers(&one_by_one(4, &levels("work_steal")), 4);
    assert_eq!(found, [0, 0, 2, 2]);
    assert_eq!(workers(&one_by_one(4, &levels("affinity(3)")), 4), [3, 3, 2, 2]);
    let affinity = ran(&one_by_one(4, "dispatch(work_steal);"), On::Threads(2)).runtime.affinity;
    assert_eq!(affinity.hits + affinity.misses, 0);
}

fn threshold() {
    let levels = "dispatch(affinity(3)); dispatch_threshold(b * 10, [20, 40], [affinity(1), round_robin, affinity(2)]);";
    assert_eq!(placed(levels, 6), [1, 1, 2, 3, 2, 2]);
    // Pools: in virtual time, on threads and on AICPUs.
    let pools = "task_graph(pools = by_unit(1, 2)); dispatch_threshold(b, [2], [cube, vector]);";
    let unit = |worker: u32| worker > 0;
    let by_level = [true, true, false, false];
    assert_eq!(workers(&one_by_one(4, pools), 0).into_iter().map(unit).collect::<Vec<_>>(), by_level);
    for on in [On::Threads(0), On::Aicpus(1, 2)] {
        let found = traced_workers(&one_by_one(4, pools), on);
        assert_eq!(found.into_iter().map(unit).collect::<Vec<_>>(), by_level, "{on:?}");
    }
    let swapped = pools.replace("[cube, vector]", "[vector, cube]");
    assert_eq!(
        workers(&one_by_one(4, &swapped), 0).into_iter().map(unit).collect::<Vec<_>>(),
        by_level.map(|cube| !cube)
    );
    // Without pools there is nothing to choose.
    assert_eq!(parsed(&free(4, "dispatch_threshold(b, [2], [cube, vector]);")), [786]);
    assert_eq!(parsed(&free(4, "dispatch_threshold(b, [2], [affinity(b), hash(b)]);")), NONE);
}

/// Codes of errors that reading a workload gives.
fn parsed(text: &str) -> Vec<u16> {
    let (_, found) = parse("test.wsp", text, &mut SourceMap::default());
    found.iter().filter(|fault| fault.is_error()).map(|fault| fault.code.0).collect()
}

fn streams() {
    let text = |streams: &str| free(6, &format!("{streams} priority(b); {BY_PRIORITY}"));
    assert_eq!(order_everywhere(&text("")), [5, 4, 3, 2, 1, 0]);
    assert_eq!(order_everywhere(&text("streams(2);")), [1, 3, 5, 0, 2, 4]);
    assert_eq!(starts(&free(6, "streams(2);"), 6), [0, 0, 10, 10, 20, 20]);
    let edges = |text: &str| ran(text, On::Threads(3)).runtime.edges.stream;
    assert_eq!(edges(&free(6, &format!("streams(2); {AFTER}"))), 4);
    assert_eq!(edges(&free(6, AFTER)), 0);
}

fn stream_by() {
    let text = |key: &str| free(6, &format!("streams(2); {key} {AFTER}"));
    assert_eq!(order_everywhere(&text("stream_by(b / 3);")), [0, 3, 1, 4, 2, 5]);
    assert_eq!(order_everywhere(&text("")), [0, 1, 2, 3, 4, 5]);
    assert_eq!(starts(&free(6, "streams(2); stream_by(b / 3);"), 6), [0, 10, 20, 0, 10, 20]);
}

/// Two tasks, the second with the larger priority, whose regions are these.
fn two(regions: [&str; 2], after: &str, deps: &str) -> String {
    format!(
        "axis b = dense(1); axis c = dense(2); tensor x: f32[8]; kernel k(inout a, number) cost 10;
         workload main {{ parallel for i in b {{ let first = k(x[{}], 0); parallel for j in c {{ k(x[{}], 1 + j) {after}; }} }} }}
         schedule {{ task_graph(deps = {deps}, ready = priority, start = after_orchestration); priority(c); }}",
        regions[0], regions[1]
    )
}

const APART: [&str; 2] = ["0..2", "2 + j"];
const EQUAL: [&str; 2] = ["1..2", "1"];
const OVERLAPPING: [&str; 2] = ["0..4", "2 + j"];

fn exact() {
    assert_eq!(order_everywhere(&two(EQUAL, "", "exact"))[0], 0);
    assert_eq!(order_everywhere(&two(APART, "", "exact"))[0], 2);
    assert_eq!(refused(&two(OVERLAPPING, "", "exact"), On::Threads(1)), [860]);
    assert_eq!(refused(&two(OVERLAPPING, "", "overlap"), On::Threads(1)), NONE);
}

fn overlap() {
    assert_eq!(order_everywhere(&two(OVERLAPPING, "", "overlap"))[0], 0);
    assert_eq!(order_everywhere(&two(APART, "after first", "overlap"))[0], 2);
}

fn explicit() {
    assert_eq!(order_everywhere(&two(APART, "after first", "explicit"))[0], 0);
    assert_eq!(order_everywhere(&two(APART, "", "explicit"))[0], 2);
    // What it leaves out is refused; a stream that lets tasks overlap does not order accesses either.
    assert_ne!(refused(&two(OVERLAPPING, "", "explicit"), On::Threads(1)), NONE);
    let chain =
        |streams: &str| free(4, &format!("task_graph(deps = explicit); {streams}")).replace("x[i]", "x[0]");
    assert_eq!(refused(&chain("streams(1);"), On::Threads(2)), NONE);
    assert_ne!(refused(&chain("streams(1); pipeline_depth(2, per_stream);"), On::Threads(2)), NONE);
}

fn hybrid() {
    assert_eq!(order_everywhere(&two(APART, "after first", "hybrid"))[0], 0);
    assert_eq!(order_everywhere(&two(OVERLAPPING, "", "hybrid"))[0], 0);
    assert_eq!(order_everywhere(&two(APART, "", "hybrid"))[0], 2);
}

fn window_stall() {
    let of = |window: &str| ran(&free(6, &format!("{AFTER} {window}")), On::Threads(2)).runtime;
    let (with, without) = (of("task_window(2, stall);"), of(""));
    assert!(with.max_in_flight == 2 && with.window_stalls > 0 && with.overflows.is_empty());
    assert_eq!((without.max_in_flight, without.window_stalls), (6, 0));
    assert_eq!(starts(&free(6, "task_window(2, stall);"), 6), [0, 0, 10, 10, 20, 20]);
    assert_eq!(starts(&free(6, ""), 6), [0; 6]);
}

fn window_abort() {
    let text = free(6, &format!("{AFTER} task_window(2, abort);"));
    assert_eq!(refused(&text, On::Threads(2)), [859]);
    assert_eq!(refused(&text.replace("abort", "stall"), On::Threads(2)), NONE);
    let codes = |text: &str| try_simulated(text, 2).err().map(|found| found[0].code.0);
    assert_eq!((codes(&text), codes(&text.replace("abort", "stall"))), (Some(859), None));
}

fn window_benchmark() {
    let overflows = |mode: &str| {
        let text = free(6, &format!("{AFTER} task_window(2, {mode});"));
        let real = ran(&text, On::Threads(2)).runtime;
        let simulated = simulated(&text, 2).simulation;
        assert_eq!(simulated.overflows.is_empty(), real.overflows.is_empty());
        (real.overflows.len() as u64, real.window_stalls)
    };
    let (recorded, stalls) = overflows("benchmark");
    assert!(recorded > 0 && recorded == stalls);
    assert_eq!(overflows("stall").0, 0);
}

/// Tasks of a cube kernel, and as many of a vector kernel; their number is 0 or 1.
fn units(schedule: &str) -> String {
    format!(
        "axis b = dense(6); tensor x: f32[6]; tensor y: f32[6];
         kernel c(inout a, number) on cube cost 10; kernel v(inout a, number) on vector cost 10;
         workload main {{ parallel for i in b {{ c(x[i], 0); v(y[i], 1); }} }} schedule {{ {AFTER} {schedule} }}"
    )
}

fn pools_shared() {
    for on in [On::Threads(4), On::Aicpus(1, 4)] {
        assert_eq!(most_in_flight(&units("task_graph(pools = shared);"), on, 2)[0].min(2), 2, "{on:?}");
    }
    assert_eq!(most_in_flight(&units("task_graph(pools = by_unit(3, 1));"), On::Threads(0), 1)[0], 1);
    assert_eq!(simulated(&units("task_graph(pools = shared);"), 12).simulation.makespan, 10);
}

fn pools_by_unit() {
    let text = units("task_graph(pools = by_unit(2, 1));");
    for on in [On::Threads(0), On::Aicpus(1, 3)] {
        assert_eq!(most_in_flight(&text, on, 1)[0], 1, "{on:?}");
        let of_units = traced_workers(&text, on);
        assert!(of_units.chunks(2).all(|pair| pair[0] == 2 && pair[1] < 2), "{of_units:?}");
    }
    assert_eq!(simulated(&text, 0).simulation.makespan, 60);
    assert_eq!(simulated(&units(""), 3).simulation.makespan, 40);
}

fn ready_auto() {
    // What a worker makes ready it takes first under `work_steal`, and last under `fifo`.
    let of = |ready: &str, threads| {
        let text = pairs(&format!("task_graph(ready = {ready}, start = after_orchestration);"));
        starts(&text.replace("x: f32[3]", "x: f32[9]").replace("dense(3)", "dense(9)"), threads)
    };
    assert_eq!((of("auto", 1), of("auto", 2)), (of("fifo", 1), of("work_steal", 2)));
    assert!(of("fifo", 1) != of("work_steal", 1) && of("fifo", 2) != of("work_steal", 2));
    let text = |ready: &str| pairs(&format!("task_graph(ready = {ready}, start = after_orchestration);"));
    assert_eq!(order(&text("auto"), On::Threads(1)), order(&text("fifo"), On::Threads(1)));
}

fn ready_fifo() {
    let text = pairs("task_graph(ready = fifo, start = after_orchestration);");
    assert_eq!(order_everywhere(&text), [0, 1, 2, 3, 4, 5]);
    let other = order(&text.replace("fifo", "work_steal"), On::Threads(1));
    assert_ne!(other, [0, 1, 2, 3, 4, 5]);
    // One task makes twelve ready at once.
    let fan = "axis b = dense(12); tensor x: f32[1]; tensor y: f32[12]; kernel r(inout a, number) cost 10; kernel k(inout c, in a, number) cost 10;
        workload main { r(x, 0); parallel for i in b { k(y[i], x, 1 + i); } }
        schedule { task_graph(ready = fifo, start = after_orchestration); }";
    assert_eq!(order_everywhere(fan), (0..13).collect::<Vec<i64>>());
    let equals =
        fan.replace("ready = fifo", "ready = priority").replace("schedule {", "schedule { priority(7);");
    assert_eq!(order_everywhere(&equals), (0..13).collect::<Vec<i64>>());
    let batched = fan.replace("schedule {", "schedule { batch_deps(5);");
    assert_eq!(order_everywhere(&batched), (0..13).collect::<Vec<i64>>());
    // Steps of an ordered loop, each of three tasks.
    let steps = "axis b = dense(3); tensor x: f32[9]; kernel k(inout a, number) cost 10;
        workload main { for s in 0..3 { parallel for i in b { k(x[3 * s + i], 3 * s + i); } } }
        schedule { task_graph(ready = fifo, start = after_orchestration); }";
    assert_eq!(order_everywhere(steps), (0..9).collect::<Vec<i64>>());
}

fn ready_steal() {
    let text = pairs("task_graph(ready = work_steal, start = after_orchestration);");
    let goes_on = |order: &[i64]| {
        let at = |task| order.iter().position(|other| *other == task).expect("it ran");
        (0..3).all(|first| at(first) + 1 == at(first + 3))
    };
    assert!(goes_on(&order(&text, On::Threads(1))));
    assert!(!goes_on(&order(&text.replace("work_steal", "fifo"), On::Threads(1))));
    assert_eq!(starts(&text, 1), [0, 20, 40, 10, 30, 50]);
}

fn ready_priority() {
    let text = |gate: &str| {
        pairs(&format!(
            "task_graph(ready = priority, start = after_orchestration); priority(10 * c + b); {gate}"
        ))
    };
    // Behind a gate as without one: what a task makes ready competes with what waits.
    for gate in [
        "",
        "pipeline_depth(1, global);",
        "pipeline_depth(1, per_pool);",
        "streams(1); pipeline_depth(9, per_stream);",
    ] {
        let expected: &[i64] =
            if gate.starts_with("streams") { &[0, 1, 2, 3, 4, 5] } else { &[2, 5, 1, 4, 0, 3] };
        assert_eq!(order_everywhere(&text(gate)), expected, "{gate}");
    }
    for gate in ["pipeline_depth(1, global);", "pipeline_depth(1, per_pool);"] {
        for _ in 0..20 {
            // More workers than the gate lets in: the others look in vain, and list what they find.
            for on in [On::Threads(3), On::Aicpus(1, 2)] {
                assert_eq!(order(&text(gate), on), [2, 5, 1, 4, 0, 3], "{on:?}, {gate}");
            }
        }
    }
    assert_eq!(
        order_everywhere(&text("").replace("priority(10 * c + b)", "priority(7)")),
        [0, 1, 2, 3, 4, 5]
    );
}

/// A task that computes a value which generation reads after `before` further tasks, and then three more.
fn computed(before: u32, schedule: &str) -> String {
    format!(
        "axis b = dense(3); tensor x: f32[9]; slot ready = 1; kernel k(inout a, number); kernel set(out ready);
         workload main {{ parallel for i in 0..{before} {{ k(x[i], i); }} set(ready); if ready > 0 {{ parallel for i in b {{ k(x[5 + i], i); }} }} }}
         schedule {{ {schedule} }}"
    )
}

/// How often tasks had to start before the schedule says.
fn forced(text: &str, on: On) -> u64 {
    let mut registry = wsp_cpu::workload::KernelRegistry::new();
    registry.register("k", |_| Ok(())).expect("a name of a kernel");
    registry.register("set", |cx| cx.store(0, &[1_i64])).expect("a name of a kernel");
    let program = program(text).with_kernels(registry).unwrap_or_else(|found| panic!("{}", report(&found)));
    let inputs = WorkloadInputs { absent: Absent::Zeros, ..WorkloadInputs::default() };
    places::at(if matches!(on, On::Threads(_)) { places::Threads } else { places::Aicpus });
    let outcome = program.execute(&inputs, &on.options());
    outcome.unwrap_or_else(|found| panic!("{}", report(&found))).runtime.forced_starts
}

/// The same on two AICPUs, for a schedule.
pub(super) fn forced_on_aicpus(before: u32, schedule: &str) -> u64 {
    forced(&computed(before, schedule), On::Aicpus(2, 1))
}

fn start_immediate() {
    let text = computed(2, "task_graph(start = immediate);");
    assert_eq!((forced(&text, On::Threads(2)), forced(&text, On::Aicpus(2, 1))), (0, 0));
    assert_eq!(forced(&text.replace("immediate", "after_orchestration"), On::Threads(2)), 1);
    assert_eq!(simulated(&free(6, "task_window(2, stall);"), 2).simulation.forced_start, None);
}

fn start_after() {
    assert_eq!(forced(&computed(2, AFTER), On::Threads(2)), 1);
    assert_eq!(forced(&computed(2, ""), On::Threads(2)), 0);
    let trace = ran(&free(40, AFTER), On::Threads(2)).runtime.trace;
    let first = trace.iter().map(|task| task.started_ns).min();
    assert!(trace.iter().all(|task| Some(task.submitted_ns) <= first));
    let text = free(6, &format!("{AFTER} task_window(2, stall);"));
    assert_eq!(simulated(&text, 2).simulation.forced_start, Some(0));
    assert_eq!(simulated(&text.replace(AFTER, ""), 2).simulation.forced_start, None);
}

fn start_threshold() {
    let of = |n: u32| computed(2, &format!("task_graph(start = threshold({n}));"));
    // Three tasks are generated before generation waits for a value.
    assert_eq!([3, 4].map(|n| forced(&of(n), On::Threads(2))), [0, 1]);
    let simulated = |n: u32| {
        let text = free(6, &format!("task_graph(start = threshold({n})); task_window(2, stall);"));
        simulated(&text, 2).simulation.forced_start
    };
    assert_eq!([2, 3].map(simulated), [None, Some(0)]);
}

fn trace_none() {
    let untraced = |schedule: &str, aicpus| {
        let options = WorkloadOptions { threads: 2, aicpus, ..WorkloadOptions::default() };
        let outcome =
            run(&free(6, schedule), &options, |_| Ok(())).unwrap_or_else(|f| panic!("{}", report(&f)));
        (outcome.runtime.trace.len(), outcome.kernels[0].tasks)
    };
    for aicpus in [0, 2] {
        assert_eq!(untraced("task_graph(trace = none);", aicpus), (0, 6));
        assert_eq!(untraced("task_graph(trace = measured);", aicpus), (6, 6));
    }
}

fn trace_measured() {
    for on in [On::Threads(2), On::Aicpus(2, 2)] {
        let of = |schedule: &str| {
            let options = WorkloadOptions { trace: false, ..on.options() };
            let outcome = run(&free(6, schedule), &options, |_| Ok(()));
            outcome.unwrap_or_else(|found| panic!("{}", report(&found))).runtime.trace
        };
        let trace = of("task_graph(trace = measured);");
        assert_eq!(trace.len(), 6);
        assert!(trace.iter().all(|task| task.worker < 2 && task.started_ns <= task.finished_ns));
        assert!(of("").is_empty());
    }
}

fn trace_cycles() {
    assert_eq!(refused(&free(6, "task_graph(trace = cycles);"), On::Threads(2)).len(), 1);
    assert_eq!(refused(&free(6, ""), On::Threads(2)), NONE);
    assert_eq!(simulated(&free(6, "task_graph(trace = cycles);"), 2).simulation.makespan, 30);
}

/// Tasks of three streams, by stream; their number is the stream.
fn of_streams(schedule: &str) -> String {
    free(12, schedule).replace("x[i], i", "x[i], i / 4")
}

fn gate_global() {
    let text = |gate: &str| free(8, &format!("{AFTER} {gate}")).replace("x[i], i", "x[i], 0");
    for on in [On::Threads(4), On::Aicpus(1, 4), On::Aicpus(2, 4)] {
        assert_eq!(most_in_flight(&text("pipeline_depth(2, global);"), on, 2)[0], 2, "{on:?}");
        assert!(most_in_flight(&text(""), on, 3)[0] >= 3, "{on:?}");
    }
    assert_eq!(starts(&text("pipeline_depth(3, global);"), 8), [0, 0, 0, 10, 10, 10, 20, 20]);
}

fn gate_stream() {
    let depth = |n: u32| {
        of_streams(&format!("{AFTER} streams(3); stream_by(b / 4); pipeline_depth({n}, per_stream);"))
    };
    // Six cores, and on AICPUs as many threads more: one that runs a task which waits for another hands out none meanwhile.
    let six =
        |text: String| text.replace("after_orchestration", "after_orchestration, pools = by_unit(3, 3)");
    let everywhere: [(On, &dyn Fn(String) -> String); 3] =
        [(On::Threads(6), &|text| text), (On::Aicpus(1, 7), &six), (On::Aicpus(3, 9), &six)];
    for (on, cores) in everywhere {
        for n in 1..=2 {
            // As many as it says, and no more.
            assert_eq!(most_in_flight(&cores(depth(n)), on, n), [n, n, n, 0], "{on:?}");
        }
    }
    assert_eq!(starts(&depth(1), 12), [0, 10, 20, 30].repeat(3));
    assert_eq!(starts(&depth(2), 12), [0, 0, 10, 10].repeat(3));
    assert_eq!(starts(&depth(3), 12), [0, 0, 0, 10].repeat(3));
    // In the order of the stream, also where a later task is ready first or has the larger priority.
    let chained = "axis b = dense(4); tensor x: f32[4]; tensor y: f32[1]; kernel r(inout a, number) cost 30; kernel k(inout a, inout c, number) cost 10;
        workload main { r(y, 0); parallel for i in b { if i == 1 { k(x[i], y, 1 + i); } else { r(x[i], 1 + i); } } }
        schedule { task_graph(start = after_orchestration, ready = priority); priority(b); streams(2); stream_by(b > 0); pipeline_depth(2, per_stream); }";
    assert_eq!(order_everywhere(&chained.replace("stream_by(b > 0)", "stream_by(0 * b)")), [0, 1, 2, 3, 4]);
    assert_eq!(
        order_everywhere(
            &chained.replace("streams(2); stream_by(b > 0); pipeline_depth(2, per_stream);", "")
        ),
        [4, 3, 0, 2, 1]
    );
    // Without dependences between them two tasks of a stream meet, with them they do not.
    let meet = |regions: &str| most_in_flight(&depth(2).replace("x[i]", regions), On::Threads(6), 1);
    assert_eq!(meet("x[i / 4]"), [1, 1, 1, 0]);
}

fn gate_pool() {
    let text = |gate: &str| units(gate);
    for on in [On::Threads(4), On::Aicpus(1, 4)] {
        assert_eq!(most_in_flight(&text("pipeline_depth(2, per_pool);"), on, 2)[..2], [2, 2], "{on:?}");
    }
    assert!(most_in_flight(&text(""), On::Threads(6), 3)[0] >= 3);
    assert_eq!(simulated(&text("pipeline_depth(1, per_pool);"), 12).simulation.makespan, 60);
    assert_eq!(simulated(&text(""), 12).simulation.makespan, 10);
}

fn batch_deps() {
    let text = |batch: &str| pairs(&format!("{BY_PRIORITY} priority(100 * c + b + 1); {batch}"));
    assert_eq!(order_everywhere(&text("")), [2, 5, 1, 4, 0, 3]);
    assert_eq!(order_everywhere(&text("batch_deps(2);")), [2, 1, 5, 4, 0, 3]);
    assert_eq!(order_everywhere(&text("batch_deps(9);")), [2, 1, 0, 5, 4, 3]);
}

fn core_groups() {
    // Two tasks, on the first and the last worker, make four tasks ready for each four workers.
    let text = |workers: u32, groups: &str| {
        format!(
            "axis b = dense(3); tensor x: f32[3]; tensor y: f32[2 * {workers}]; kernel r(inout a, number) cost 10; kernel k(inout c, in a, number) cost 10;
             workload main {{ parallel for i in b {{ r(x[i], i); }} parallel for i in 0..2 * {workers} {{ k(y[i], x[1 + i / {workers}], 3 + i); }} }}
             schedule {{ dispatch_threshold(b, [1, 2], [work_steal, affinity(0), affinity({workers} - 1)]); {groups} }}"
        )
    };
    let steal = "task_graph(ready = work_steal, start = after_orchestration);";
    let placed = |threads: u32, groups: &str| workers(&text(threads, &format!("{groups} {steal}")), threads);
    for threads in [4, 8] {
        let half = threads / 2;
        let halves = placed(threads, &format!("core_groups({half});"));
        let (first, second) = halves[3..].split_at(threads as usize);
        assert!(first.iter().all(|worker| *worker < half), "{halves:?}");
        assert!(second.iter().all(|worker| *worker >= half), "{halves:?}");
        let one = placed(threads, &format!("core_groups({threads});"));
        let four = placed(threads, &format!("core_groups({});", threads / 4));
        assert!(one != halves && halves != four && four != one, "{one:?} {halves:?} {four:?}");
        assert_eq!(placed(threads, "core_groups(4);"), placed(threads, ""));
    }
    for ready in ["fifo", "priority", "auto"] {
        assert_eq!(
            parsed(&text(4, &format!("core_groups(2); task_graph(ready = {ready});"))),
            [786],
            "{ready}"
        );
    }
    assert_eq!(parsed(&text(4, "core_groups(2);")), [786]);
    for named in ["round_robin", "affinity(b)", "hash(b)", "static_partition([0..6])"] {
        assert_eq!(
            parsed(&free(6, &format!("core_groups(2); {steal} dispatch({named});"))),
            [786],
            "{named}"
        );
    }
    assert_eq!(parsed(&free(6, &format!("core_groups(2); {steal} dispatch(work_steal);"))), NONE);
}

fn own_workers() {
    let text = |workers: &str| free(6, &format!("{workers} {AFTER}"));
    for n in [1, 2, 3, 6] {
        let schedule = format!("workers({n});");
        let in_turn: Vec<u64> = (0..6).map(|task| task / n * 10).collect();
        assert_eq!(starts(&text(&schedule), 0), in_turn);
        for on in [On::Threads(0), On::Aicpus(1, 0)] {
            assert_eq!(u64::from(ran(&text(&schedule), on).threads), n, "{on:?}");
        }
        // What a run asks for counts.
        assert_eq!(starts(&text(&schedule), 4), starts(&text(""), 4));
        for on in [On::Threads(4), On::Aicpus(1, 4)] {
            assert_eq!(ran(&text(&schedule), on).threads, 4, "{on:?}");
        }
    }
    assert_eq!(parsed(&free(6, "workers(3); task_graph(pools = by_unit(1, 2));")), [786]);
    assert_eq!(parsed(&free(6, "workers(0);")), [784]);
    assert_eq!(parsed(&free(6, "workers(1025);")), [784]);
}

fn priority() {
    let text = |key: &str| free(6, &format!("{BY_PRIORITY} priority({key});"));
    assert_eq!(order_everywhere(&text("b")), [5, 4, 3, 2, 1, 0]);
    assert_eq!(order_everywhere(&text("0 - b")), [0, 1, 2, 3, 4, 5]);
    assert_eq!(order_everywhere(&text("b % 2")), [1, 3, 5, 0, 2, 4]);
    assert_eq!(order_everywhere(&free(6, BY_PRIORITY)), [0, 1, 2, 3, 4, 5]);
}

fn timing_immediate() {
    let text = |timing: &str| pairs(timing);
    assert_eq!(starts(&text("timing(immediate);"), 3), [0, 0, 0, 10, 10, 10]);
    assert_eq!(starts(&text("timing(immediate);"), 3), starts(&text(""), 3));
    for on in [On::Threads(1), On::Aicpus(1, 1)] {
        let schedule = format!("timing(immediate); {AFTER}");
        assert_eq!(order(&text(&schedule), on), order(&text(AFTER), on), "{on:?}");
    }
    assert!(compiles(&text("timing(immediate);")) && !compiles(&text("timing(batched(2));")));
}

fn compiles(text: &str) -> bool {
    let (module, _) = parse("test.wsp", text, &mut SourceMap::default());
    WorkloadProgram::new(module.expect("it is well formed"), None, &CompileOptions::default()).is_ok()
}

/// Tasks of each tile in a run on threads.
fn on_tiles(text: &str) -> Option<Vec<u64>> {
    ran(text, On::Threads(2)).grid.map(|grid| grid.tasks)
}

fn spatial_map() {
    assert_eq!(placed("spatial_map((2, 2));", 6), [0, 1, 2, 3, 0, 1]);
    // More tiles than workers, and fewer.
    assert_eq!(placed("spatial_map((3, 2));", 6), [0, 1, 2, 3, 0, 1]);
    assert_eq!(placed("spatial_map((2, 1));", 6), [0, 1, 0, 1, 0, 1]);
    // What `dispatch` counts.
    assert_eq!(placed("spatial_map((3, 1)); dispatch(affinity(b / 2));", 6), [0, 0, 1, 1, 2, 2]);
    assert_eq!(placed("", 6), [0; 6]);
    assert_eq!(on_tiles(&free(6, "spatial_map((2, 2));")), Some(vec![2, 2, 1, 1]));
    assert_eq!(on_tiles(&free(6, "dispatch(round_robin);")), None);
    for sides in ["0, 2", "2, 0", "1025, 1"] {
        assert_eq!(parsed(&free(6, &format!("spatial_map(({sides}));"))), [784]);
    }
}

fn sharded() {
    let on = |grid: &str, layout: &str| format!("spatial_map(({grid})); layout(x, [{layout}]);");
    assert_eq!(placed(&on("4, 1", "shard(x)"), 8), [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(placed(&on("1, 4", "shard(y)"), 6), [0, 0, 1, 1, 2, 2]);
    // Along an axis that shards nothing tiles are counted.
    assert_eq!(placed(&on("2, 2", "shard(y)"), 8), [0, 1, 0, 1, 2, 3, 2, 3]);
    assert_eq!(placed(&on("4, 1", "replicate"), 8), [0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(on_tiles(&free(6, &on("4, 1", "shard(x)"))), Some(vec![2, 2, 2, 0]));
    assert_eq!(parsed(&free(6, "layout(x, [shard(x)]);")), [786]);
    assert_eq!(parsed(&free(6, &on("4, 1", "shard(x), replicate"))), [793]);
}

fn relaid() {
    let reads = |schedule: &str| {
        format!(
            "axis b = dense(8); tensor x: f32[8]; tensor s: f32[8];
             kernel k(inout s, in a, number) cost 10;
             workload main {{ for i in b {{ k(s[i], x[i], i); }} }} schedule {{ spatial_map((2, 2)); {schedule} }}"
        )
    };
    let stored = "layout(x, [shard(x)]);";
    assert_eq!(workers(&reads(stored), 4), [0, 2, 0, 2, 1, 3, 1, 3]);
    let read = format!("{stored} relayout(x, [shard(y)]);");
    assert_eq!(workers(&reads(&read), 4), [0, 1, 0, 1, 2, 3, 2, 3]);
    let outcome = ran(&reads(&read), On::Threads(4));
    let grid = outcome.grid.expect("there is a grid");
    assert_eq!(
        (grid.tasks, grid.moves),
        (vec![2; 4], vec!["relayout(x): all-gather over x, slice over y".to_owned()])
    );
    let affinity = outcome.runtime.affinity;
    assert_eq!(affinity.hits + affinity.misses, 8);
    // Sums of which tiles have parts are read where they are added up only.
    let codes = |text: &str| {
        let (module, _) = parse("test.wsp", text, &mut SourceMap::default());
        let made = WorkloadProgram::new(module.expect("it is well formed"), None, &CompileOptions::default());
        made.map_or_else(|found| found.iter().map(|fault| fault.code.0).collect(), |_| NONE.to_vec())
    };
    let pending = "layout(x, [replicate], pending(x));";
    assert_eq!(codes(&reads(pending)), [430]);
    assert_eq!(codes(&reads(&format!("{pending} relayout(x, [replicate]);"))), NONE);
    // `inout` adds to a part; the caller reads the result.
    let adds = |relayout: &str| codes(&free(4, &format!("spatial_map((2, 2)); {pending} {relayout}")));
    assert_eq!((adds(""), adds("relayout(x, [replicate]);")), (vec![430], NONE.to_vec()));
}

fn not_supported(directive: &str) {
    let (module, _) = parse("test.wsp", &free(4, directive), &mut SourceMap::default());
    let module = module.expect("it is well formed");
    let refused =
        WorkloadProgram::new(module, None, &CompileOptions::default()).expect_err("it should be refused");
    assert_eq!(refused.iter().map(|fault| fault.code.0).collect::<Vec<_>>(), [415]);
    assert!(compiles(&free(4, "")));
}
