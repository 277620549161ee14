//! Effects of what means something else where AICPUs generate the tasks.

use super::Effect;
use super::measure::{NONE, On, free, order, pairs, ran, refused, simulated_on_aicpus, traced_workers};
use super::workloads::{AFTER, forced_on_aicpus};

pub(super) const EFFECTS: &[Effect] = &[
    ("dispatch(round_robin)", round_robin),
    ("dispatch(affinity(key))", affinity),
    ("dispatch(hash(key))", hash),
    ("dispatch(static_partition([0..n, …]))", static_partition),
    ("dispatch(work_steal)", work_steal),
    ("task_graph(window = (n, stall))", window_stall),
    ("task_graph(window = (n, abort))", window_abort),
    ("task_graph(window = (n, benchmark))", window_benchmark),
    ("task_graph(pools = by_unit(v, c))", pools_by_unit),
    ("task_graph(ready = auto)", || in_order("auto")),
    ("task_graph(ready = fifo)", || in_order("fifo")),
    ("task_graph(ready = work_steal)", || in_order("work_steal")),
    ("task_graph(ready = priority)", ready_priority),
    ("task_graph(start = after_orchestration)", start_after),
    ("task_graph(start = threshold(n))", start_threshold),
    ("task_graph(trace = cycles)", trace_cycles),
    ("batch_deps(n)", batch_deps),
    ("core_groups(n)", core_groups),
    ("spatial_map((x, y))", || no_grid("")),
    ("layout(tensor, [shard(x), replicate, …])", || no_grid("layout(x, [shard(x)]);")),
    ("relayout(tensor, [shard(x), replicate, …])", || no_grid("relayout(x, [replicate]);")),
];

/// AICPUs refuse a schedule with this primitive, which no other needs.
pub(super) fn is_refused(primitive: &str) {
    let text = free(6, &format!("{};", primitive.replace("(n", "(2")));
    assert_eq!(refused(&text, On::Threads(4)), NONE, "{text}");
    assert_eq!(refused(&text, On::Aicpus(4, 2)).len(), 1, "{text}");
}

/// The AICPU of each of some tasks: with as many threads as AICPUs each has one core, with its number.
fn aicpus(n: u32, dispatch: &str) -> Vec<u32> {
    traced_workers(&free(n, dispatch), On::Aicpus(4, 2))
}

fn round_robin() {
    assert_eq!(aicpus(6, "dispatch(round_robin);"), [0, 1, 2, 3, 0, 1]);
    assert_ne!(aicpus(6, "dispatch(affinity(0 * b));"), [0, 1, 2, 3, 0, 1]);
}

fn affinity() {
    assert_eq!(aicpus(6, "dispatch(affinity(b / 2 - 1));"), [3, 3, 0, 0, 1, 1]);
    // By priority too, on each AICPU among its own.
    let ranked = "dispatch(affinity(b / 2 - 1)); task_graph(ready = priority); priority(b);";
    assert_eq!(aicpus(6, ranked), [3, 3, 0, 0, 1, 1]);
    let levels = "dispatch_threshold(b, [2, 4], [affinity(3), round_robin, affinity(b)]);";
    assert_eq!(aicpus(6, levels), [3, 3, 2, 3, 0, 1]);
}

fn hash() {
    let found = aicpus(32, "dispatch(hash(b / 2));");
    assert!(found.chunks(2).all(|pair| pair[0] == pair[1]), "{found:?}");
    assert!((0..4).all(|aicpu| found.contains(&aicpu)), "{found:?}");
    assert_ne!(found, aicpus(32, "dispatch(affinity(b / 2));"));
}

fn static_partition() {
    assert_eq!(aicpus(6, "dispatch(static_partition([0..1, 1..1, 1..4, 4..6]));"), [0, 2, 2, 2, 3, 3]);
    let five = free(5, "dispatch(static_partition([0..1, 1..2, 2..3, 3..4, 4..5]));");
    assert_eq!(refused(&five, On::Aicpus(4, 2)).len(), 1);
}

fn work_steal() {
    assert_eq!(aicpus(6, "dispatch(work_steal);"), [0, 1, 2, 3, 0, 1]);
    let levels =
        |first: &str| format!("dispatch(affinity(3)); dispatch_threshold(b, [2], [{first}, affinity(2)]);");
    assert_eq!(aicpus(4, &levels("work_steal")), [0, 1, 2, 2]);
    assert_eq!(aicpus(4, &levels("affinity(3)")), [3, 3, 2, 2]);
}

/// Most tasks of each of two AICPUs in flight, and how often they waited for room.
fn in_flight(schedule: &str) -> (Vec<u32>, u64) {
    let outcome = ran(&free(20, &format!("{AFTER} {schedule}")), On::Aicpus(2, 1));
    let aicpus = outcome.aicpus.expect("figures of AICPUs").aicpus;
    (aicpus.iter().map(|aicpu| aicpu.max_in_flight).collect(), outcome.runtime.window_stalls)
}

fn window_stall() {
    let (most, stalls) = in_flight("task_window(6, stall);");
    assert!(most == [3, 3] && stalls > 0, "{most:?} {stalls}");
    assert_eq!(in_flight(""), (vec![10, 10], 0));
    assert_eq!(refused(&free(20, "task_window(1, stall);"), On::Aicpus(2, 1)).len(), 1);
}

fn window_abort() {
    let text = free(20, &format!("{AFTER} task_window(6, abort);"));
    assert_eq!(refused(&text, On::Aicpus(2, 1)), [859]);
    assert_eq!(refused(&text.replace("abort", "stall"), On::Aicpus(2, 1)), NONE);
}

fn window_benchmark() {
    let (most, stalls) = in_flight("task_window(6, benchmark);");
    assert!(most == [3, 3] && stalls > 0, "{most:?} {stalls}");
    assert_eq!(in_flight(""), (vec![10, 10], 0));
}

fn pools_by_unit() {
    let text = |pools: &str| {
        free(8, pools).replace("kernel k(inout a, number)", "kernel k(inout a, number) on cube")
    };
    let with = ran(&text("task_graph(pools = by_unit(3, 2));"), On::Aicpus(1, 2));
    assert_eq!(with.runtime.workers.len(), 5);
    assert!(with.runtime.trace.iter().all(|task| task.worker >= 3));
    assert_eq!(ran(&text(""), On::Aicpus(1, 2)).runtime.workers.len(), 2);
}

/// What became ready first starts first.
fn in_order(ready: &str) {
    let text = pairs(&format!("task_graph(ready = {ready}, start = after_orchestration);"));
    assert_eq!(order(&text, On::Aicpus(1, 1)), [0, 1, 2, 3, 4, 5]);
    let ranked = text.replace(&format!("ready = {ready}"), "ready = priority");
    let ranked = ranked.replace("schedule {", "schedule { priority(b + 10 * c);");
    assert_ne!(order(&ranked, On::Aicpus(1, 1)), [0, 1, 2, 3, 4, 5]);
}

fn ready_priority() {
    let text = |key: &str| {
        free(9, &format!("task_graph(ready = priority, start = after_orchestration); priority({key});"))
    };
    assert_eq!(order(&text("b"), On::Aicpus(1, 1)), (0..9).rev().collect::<Vec<i64>>());
    assert_eq!(order(&text("0"), On::Aicpus(1, 1)), (0..9).collect::<Vec<i64>>());
    // Each of three AICPUs its own.
    let started = order(&text("b"), On::Aicpus(3, 1));
    for aicpu in 0..3 {
        let own: Vec<i64> = started.iter().copied().filter(|task| task % 3 == aicpu).collect();
        assert_eq!(own, [6 + aicpu, 3 + aicpu, aicpu]);
    }
}

fn start_after() {
    let trace = ran(&free(400, AFTER), On::Aicpus(3, 2)).runtime.trace;
    let first = trace.iter().map(|task| task.started_ns).min();
    assert!(trace.iter().all(|task| Some(task.submitted_ns) <= first));
    assert_eq!((forced_on_aicpus(2, AFTER), forced_on_aicpus(2, "")), (1, 0));
}

fn start_threshold() {
    // Three tasks are generated before generation waits for a value.
    let forced = |n: u32| forced_on_aicpus(2, &format!("task_graph(start = threshold({n}));"));
    assert_eq!([3, 4].map(forced), [0, 1]);
}

fn trace_cycles() {
    assert_eq!(refused(&free(6, "task_graph(trace = cycles);"), On::Aicpus(2, 1)), [864]);
    assert_eq!(refused(&free(6, ""), On::Aicpus(2, 1)), NONE);
    // Six tasks on two cores of an AICPU each, in virtual time.
    let text = free(6, "task_graph(trace = cycles);");
    let makespan = |aicpus| simulated_on_aicpus(&text, 2, aicpus).simulation.makespan;
    assert_eq!([1, 2].map(makespan), [30; 2]);
}

fn core_groups() {
    let text = free(6, "core_groups(2); task_graph(ready = work_steal);");
    assert_eq!(refused(&text, On::Aicpus(2, 1)), [864]);
    assert_eq!(refused(&text, On::Threads(2)), NONE);
}

/// AICPUs refuse the grid, and each statement about it.
fn no_grid(statement: &str) {
    let text = free(6, &format!("spatial_map((2, 2)); {statement}"));
    let statements = 1 + usize::from(!statement.is_empty());
    assert_eq!(refused(&text, On::Aicpus(2, 1)), vec![864; statements]);
    assert_eq!(refused(&text, On::Threads(2)), NONE);
}

fn batch_deps() {
    let text = |batch: &str| {
        pairs(&format!(
            "task_graph(start = after_orchestration, ready = priority); priority(100 * c + b + 1); {batch}"
        ))
    };
    assert_eq!(order(&text(""), On::Aicpus(1, 1)), [2, 5, 1, 4, 0, 3]);
    assert_eq!(order(&text("batch_deps(3);"), On::Aicpus(1, 1)), [2, 1, 0, 5, 4, 3]);
}
