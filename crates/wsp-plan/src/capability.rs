//! Which target does what with each schedule primitive: of spaces in `.pto`, and of workloads in `.wsp`.

use std::fmt::Write;
use wsp_ir::workload::{
    Deps, DirectiveKind, Dispatch, Gate, GateScope, PoolSizes, Ready, Start, Timing, Trace, Window,
    WindowMode,
};
use wsp_ir::{AffinityPolicy, AxisTile, OrderPolicy, SplitPolicy, TileSize};

/// Targets for which plans can be made.
pub const TARGETS: &[&str] = &["cpu_sim"];

/// What a target does with a primitive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Support {
    /// It holds in every run.
    Enforced,
    /// Recorded in plan and trace; a run may depart from it.
    Hint,
    /// Accepted without effect; the user is told.
    NoOp,
    /// Refused.
    Error,
}

impl Support {
    /// One word or two for tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Support::Enforced => "enforced",
            Support::Hint => "hint",
            Support::NoOp => "no effect",
            Support::Error => "error",
        }
    }
}

/// One row of the capability table.
#[derive(Clone, Copy, Debug)]
pub struct Capability {
    /// Spelling in the source.
    pub primitive: &'static str,
    /// What `cpu_sim` does.
    pub cpu_sim: Support,
    /// What that means, in one sentence.
    pub meaning: &'static str,
}

impl Capability {
    /// The spelling with an axis and a number in place of the placeholders.
    pub(crate) fn spelled(&self, axis: &str, number: &str) -> String {
        self.primitive
            .replace("(axis", &format!("({axis}"))
            .replace("(n)", &format!("({number})"))
            .replace("depth", number)
    }
}

macro_rules! table {
    (#[doc = $doc:literal] $table:ident; $($name:ident: $primitive:literal, $support:ident, $meaning:literal;)*) => {
        $(const $name: &Capability =
            &Capability { primitive: $primitive, cpu_sim: Support::$support, meaning: $meaning };)*

        #[doc = $doc]
        pub const $table: &[Capability] = &[$(*$name),*];
    };
}

table! {
    /// The table of what schedules of spaces say.
    CAPABILITIES;
    TILE_FIXED: "PTO_TILE(axis, size)", Enforced,
        "the index counts tiles of `size` elements, the last of which may be shorter";
    TILE_AUTO: "PTO_TILE(axis, PTO_AUTO)", Enforced,
        "the size is the one that PTO_SET_TILE gives, else it is chosen at launch from lengths and cores";
    TILE_PAD_LAST: "PTO_TILE(axis, size, PTO_PAD_LAST)", Enforced,
        "as without PTO_PAD_LAST: TLOAD makes only existing rows valid, so that lanes past the end are masked";
    WHERE: "PTO_WHERE(condition)", Enforced,
        "items for which the condition is false are not generated";
    CORE_GROUP: "PTO_AFFINITY(axis, PTO_CORE_GROUP)", Hint,
        "tasks with one axis value go to one group of workers, and idle workers of other groups may take them";
    CORE_LOCAL: "PTO_AFFINITY(axis, PTO_CORE_LOCAL)", Hint,
        "tasks with one axis value go to one worker, and workers that stay idle may take them";
    SPREAD: "PTO_AFFINITY(axis, PTO_SPREAD)", Hint,
        "tasks go to successive workers in the order of issue, whatever their axis values, and idle workers may take them";
    SEQUENTIAL: "PTO_ORDER(axis, PTO_SEQUENTIAL)", Enforced,
        "tasks are issued by increasing index and ready ones start in issue order, without waiting for each other";
    STRICT: "PTO_ORDER(axis, PTO_SEQUENTIAL_STRICT)", Enforced,
        "tasks of an index start when all tasks issued before that index are complete";
    PARALLEL: "PTO_ORDER(axis, PTO_PARALLEL)", Enforced,
        "no order is asked for, and when every axis says so ready tasks start as is fastest";
    INTERLEAVED: "PTO_ORDER(axis, PTO_INTERLEAVED(n))", Enforced,
        "groups of `n` indices are issued in turn, one item of the next axis from each, skipping those that have no more";
    BLOCKED: "PTO_ORDER(axis, PTO_BLOCKED(n))", Enforced,
        "every index issues `n` items of the next axis before any index issues more";
    LONGEST_FIRST: "PTO_ORDER(axis, PTO_LONGEST_FIRST)", Enforced,
        "indices are issued by falling number of elements of the dynamic axis, equal ones by increasing index";
    SPLIT_WHOLE: "PTO_SPLIT(axis, PTO_WHOLE)", Enforced,
        "the axis has one item for every index of the others";
    SPLIT_FIXED: "PTO_SPLIT(axis, PTO_FIXED(n))", Enforced,
        "items have `n` elements, the last may be shorter: what an item holds depends on its own length only";
    SPLIT_BALANCED: "PTO_SPLIT(axis, PTO_BALANCED(n))", Enforced,
        "cores get equal shares of all elements: items end where shares end, at multiples of `n` elements";
    PREFETCH: "PTO_PREFETCH(axis, depth)", Hint,
        "when a task starts, the small inputs of the task `depth` indices ahead are fetched if it is already generated";
    DEPENDENCY: "PTO_DEPENDENCY(reader.tensor, writer.tensor)", Enforced,
        "tasks wait for those whose data they load, which is inferred from kernels and checked against the statement";
    PROFILE_GUIDED: "PTO_PROFILE_GUIDED(axis, policies)", Error,
        "a schedule has one order per axis; choose between schedules with `--schedule NAME`";
    COMPUTE: "PTO_COMPUTE(kernel, inputs)", Error,
        "a generator reads integer arrays only; compute them in an earlier launch and pass them in";
}

table! {
    /// The table of what schedules of workloads say.
    WORKLOAD_CAPABILITIES;
    ROUND_ROBIN: "dispatch(round_robin)", Hint,
        "tasks go to the workers in turn, and workers that stay idle may take them";
    AFFINITY: "dispatch(affinity(key))", Hint,
        "a task goes to worker `key` modulo the number of workers, and workers that stay idle may take it";
    HASH: "dispatch(hash(key))", Hint,
        "a task goes to a worker by a fixed hash of `key`, and workers that stay idle may take it";
    STATIC_PARTITION: "dispatch(static_partition([0..n, …]))", Hint,
        "worker `i` gets the tasks of range `i` of elaboration order, and workers that stay idle may take them";
    STEAL: "dispatch(work_steal)", Enforced,
        "tasks go to no worker in particular, and whichever is idle takes them";
    DISPATCH_THRESHOLD: "dispatch_threshold(metric, [t, …], [policy, …])", Enforced,
        "a task goes by the policy whose number is how many thresholds are not above the metric: a dispatch, or a pool of `by_unit`";
    STREAMS: "streams(n)", Enforced,
        "tasks go to `n` streams, in turn without `stream_by`, and a stream starts a task when the one before is complete, or as its `pipeline_depth` says";
    STREAM_BY: "stream_by(key)", Enforced,
        "a task goes to stream `key` modulo the number of streams";
    DEPS_EXACT: "task_graph(deps = exact)", Enforced,
        "tasks wait for those that access the same box, and boxes that overlap without being equal are an error";
    DEPS_OVERLAP: "task_graph(deps = overlap)", Enforced,
        "tasks wait for those that access a box that shares an element with theirs, when one of the two writes";
    DEPS_EXPLICIT: "task_graph(deps = explicit)", Enforced,
        "tasks wait for those that `after` names and no others";
    DEPS_HYBRID: "task_graph(deps = hybrid)", Enforced,
        "tasks wait as with `overlap`, and for those that `after` names";
    WINDOW_STALL: "task_graph(window = (n, stall))", Enforced,
        "generation waits while `n` tasks are unfinished";
    WINDOW_ABORT: "task_graph(window = (n, abort))", Enforced,
        "the run fails when a task is generated while `n` are unfinished";
    WINDOW_BENCHMARK: "task_graph(window = (n, benchmark))", Enforced,
        "generation waits while `n` tasks are unfinished, and every wait is recorded";
    POOLS_SHARED: "task_graph(pools = shared)", Enforced,
        "every worker takes tasks of every execution unit";
    POOLS_BY_UNIT: "task_graph(pools = by_unit(v, c))", Enforced,
        "`v` workers take tasks of vector kernels, `c` those of cube kernels, and all take those of kernels for either";
    READY_AUTO: "task_graph(ready = auto)", Enforced,
        "as `fifo` below four workers, else as `work_steal`";
    READY_FIFO: "task_graph(ready = fifo)", Enforced,
        "of the ready tasks, the one that became ready first starts first";
    READY_STEAL: "task_graph(ready = work_steal)", Enforced,
        "a worker goes on with the tasks that it made ready, and idle workers take the oldest of others";
    READY_PRIORITY: "task_graph(ready = priority)", Enforced,
        "of the ready tasks that a worker may take, the one with the largest `priority` starts first, the oldest of equals";
    START_IMMEDIATE: "task_graph(start = immediate)", Enforced,
        "tasks start while others are generated";
    START_AFTER: "task_graph(start = after_orchestration)", Enforced,
        "no task starts before all are generated, the window is full or generation waits for a computed value";
    START_THRESHOLD: "task_graph(start = threshold(n))", Enforced,
        "no task starts before `n` are generated, generation ends or waits for a computed value, or the window is full";
    TRACE_NONE: "task_graph(trace = none)", Enforced,
        "no times of single tasks are recorded, only sums per kernel and worker";
    TRACE_MEASURED: "task_graph(trace = measured)", Enforced,
        "start, end and worker of every task are recorded";
    TRACE_CYCLES: "task_graph(trace = cycles)", Enforced,
        "no kernel runs: tasks take the `cost` of their kernel in virtual time, which is recorded";
    GATE_GLOBAL: "pipeline_depth(n, global)", Enforced,
        "at most `n` tasks run at once";
    GATE_STREAM: "pipeline_depth(n, per_stream)", Enforced,
        "at most `n` tasks of one stream run at once: the next in its order starts when fewer do";
    GATE_POOL: "pipeline_depth(n, per_pool)", Enforced,
        "at most `n` tasks of one pool run at once";
    BATCH_DEPS: "batch_deps(n)", Enforced,
        "a worker releases successors after `n` completions, when it runs out of tasks, and at the end";
    PRIORITY: "priority(key)", Enforced,
        "the order of ready tasks under `ready = priority`, larger keys first";
    TIMING_IMMEDIATE: "timing(immediate)", Enforced,
        "a ready task is handed to a worker as soon as one is free, as without `timing`";
    TIMING_BATCHED: "timing(batched(n))", Error,
        "workers take tasks one by one; `batch_deps(n)` releases successors `n` completions at a time";
    TIMING_INTERLEAVED: "timing(interleaved(n))", Error,
        "tasks have no streams of their own here; `streams(n)` deals them to `n` streams in turn";
    TIMING_RATE_LIMIT: "timing(rate_limit(n))", Error,
        "tasks are issued by no clock; `pipeline_depth(n)` bounds how many run at once";
    SPATIAL_MAP: "spatial_map((x, y))", Error,
        "`cpu_sim` has no tile array; `dispatch(affinity(key))` places tasks";
}

table! {
    /// What differs from [`WORKLOAD_CAPABILITIES`] where AICPUs generate the tasks (`--aicpus N`).
    AICPU_CAPABILITIES;
    ON_AICPUS_ROUND_ROBIN: "dispatch(round_robin)", Enforced,
        "AICPU `i` generates and issues the tasks whose number in elaboration order is `i` modulo `N`, as it does without `dispatch`";
    ON_AICPUS_AFFINITY: "dispatch(affinity(key))", Enforced,
        "AICPU `key` modulo `N` generates and issues a task";
    ON_AICPUS_HASH: "dispatch(hash(key))", Enforced,
        "an AICPU by a fixed hash of `key` generates and issues a task";
    ON_AICPUS_STATIC_PARTITION: "dispatch(static_partition([0..n, …]))", Enforced,
        "AICPU `i` generates and issues range `i` of elaboration order, and more ranges than AICPUs are an error";
    ON_AICPUS_STEAL: "dispatch(work_steal)", Hint,
        "AICPUs generate tasks in turn, and none takes another's";
    ON_AICPUS_WINDOW_STALL: "task_graph(window = (n, stall))", Enforced,
        "an AICPU stops generating while `n / N` of its tasks are unfinished, and fewer than `N` are an error";
    ON_AICPUS_WINDOW_ABORT: "task_graph(window = (n, abort))", Enforced,
        "the run fails when an AICPU has a task to generate while `n / N` of its own are unfinished";
    ON_AICPUS_WINDOW_BENCHMARK: "task_graph(window = (n, benchmark))", Enforced,
        "an AICPU stops generating while `n / N` of its tasks are unfinished, and waits are counted";
    ON_AICPUS_POOLS_BY_UNIT: "task_graph(pools = by_unit(v, c))", Enforced,
        "`v` cores take tasks of vector kernels, `c` those of cube kernels, whatever the number of threads";
    ON_AICPUS_READY_AUTO: "task_graph(ready = auto)", Enforced,
        "as `fifo`";
    ON_AICPUS_READY_FIFO: "task_graph(ready = fifo)", Enforced,
        "of an AICPU's ready tasks, the one that became ready first starts first, of several at once the one generated first";
    ON_AICPUS_READY_STEAL: "task_graph(ready = work_steal)", Hint,
        "as `fifo`: an AICPU issues its own tasks only";
    ON_AICPUS_READY_PRIORITY: "task_graph(ready = priority)", Enforced,
        "of an AICPU's ready tasks, the one with the largest `priority` starts first, the oldest of equals";
    ON_AICPUS_START_AFTER: "task_graph(start = after_orchestration)", Enforced,
        "no task starts before every AICPU has generated all of its tasks or a window is full";
    ON_AICPUS_START_THRESHOLD: "task_graph(start = threshold(n))", Enforced,
        "no task starts before all AICPUs together have generated `n`, generation ends or a window is full";
    ON_AICPUS_TRACE_CYCLES: "task_graph(trace = cycles)", Error,
        "virtual time has no AICPUs; leave out `--aicpus`";
    ON_AICPUS_BATCH_DEPS: "batch_deps(n)", Enforced,
        "an AICPU releases successors after `n` completions, when it has nothing else to do, and at the end";
}

/// The row of [`AICPU_CAPABILITIES`] for a primitive, where there is one.
pub(crate) fn on_aicpus(primitive: &str) -> Option<&'static Capability> {
    AICPU_CAPABILITIES.iter().find(|row| row.primitive == primitive)
}

/// The row for a directive of a workload's schedule.
pub(crate) fn of_directive(kind: &DirectiveKind) -> &'static Capability {
    match kind {
        DirectiveKind::Dispatch(dispatch) => of_dispatch(dispatch),
        DirectiveKind::DispatchThreshold { .. } => DISPATCH_THRESHOLD,
        DirectiveKind::Streams(_) => STREAMS,
        DirectiveKind::StreamBy(_) => STREAM_BY,
        DirectiveKind::Dependences(Deps::Exact) => DEPS_EXACT,
        DirectiveKind::Dependences(Deps::Overlap) => DEPS_OVERLAP,
        DirectiveKind::Dependences(Deps::Explicit) => DEPS_EXPLICIT,
        DirectiveKind::Dependences(Deps::Hybrid) => DEPS_HYBRID,
        DirectiveKind::Window(Window { mode: WindowMode::Stall, .. }) => WINDOW_STALL,
        DirectiveKind::Window(Window { mode: WindowMode::Abort, .. }) => WINDOW_ABORT,
        DirectiveKind::Window(Window { mode: WindowMode::Benchmark, .. }) => WINDOW_BENCHMARK,
        DirectiveKind::Pools(PoolSizes::Shared) => POOLS_SHARED,
        DirectiveKind::Pools(PoolSizes::ByUnit { .. }) => POOLS_BY_UNIT,
        DirectiveKind::Ready(Ready::Auto) => READY_AUTO,
        DirectiveKind::Ready(Ready::Fifo) => READY_FIFO,
        DirectiveKind::Ready(Ready::WorkSteal) => READY_STEAL,
        DirectiveKind::Ready(Ready::Priority) => READY_PRIORITY,
        DirectiveKind::Start(Start::Immediate) => START_IMMEDIATE,
        DirectiveKind::Start(Start::AfterOrchestration) => START_AFTER,
        DirectiveKind::Start(Start::Threshold(_)) => START_THRESHOLD,
        DirectiveKind::Trace(Trace::None) => TRACE_NONE,
        DirectiveKind::Trace(Trace::Measured) => TRACE_MEASURED,
        DirectiveKind::Trace(Trace::Cycles) => TRACE_CYCLES,
        DirectiveKind::Gate(Gate { scope: GateScope::Global, .. }) => GATE_GLOBAL,
        DirectiveKind::Gate(Gate { scope: GateScope::PerStream, .. }) => GATE_STREAM,
        DirectiveKind::Gate(Gate { scope: GateScope::PerPool, .. }) => GATE_POOL,
        DirectiveKind::BatchDeps(_) => BATCH_DEPS,
        DirectiveKind::Priority(_) => PRIORITY,
        DirectiveKind::Timing(Timing::Immediate) => TIMING_IMMEDIATE,
        DirectiveKind::Timing(Timing::Batched(_)) => TIMING_BATCHED,
        DirectiveKind::Timing(Timing::Interleaved(_)) => TIMING_INTERLEAVED,
        DirectiveKind::Timing(Timing::RateLimit(_)) => TIMING_RATE_LIMIT,
        DirectiveKind::SpatialMap { .. } => SPATIAL_MAP,
    }
}

/// The row for a dispatch policy.
pub(crate) fn of_dispatch(dispatch: &Dispatch) -> &'static Capability {
    match dispatch {
        Dispatch::RoundRobin => ROUND_ROBIN,
        Dispatch::Affinity(_) => AFFINITY,
        Dispatch::Hash(_) => HASH,
        Dispatch::StaticPartition(_) => STATIC_PARTITION,
        Dispatch::WorkSteal => STEAL,
    }
}

/// The rows for a tile.
pub(crate) fn of_tile(tile: &AxisTile) -> impl Iterator<Item = &'static Capability> {
    let size = match tile.size {
        TileSize::Fixed(_) => TILE_FIXED,
        TileSize::Auto => TILE_AUTO,
    };
    std::iter::once(size).chain(tile.pad_last.then_some(TILE_PAD_LAST))
}

/// The row for `PTO_WHERE`.
pub(crate) fn of_where() -> &'static Capability {
    WHERE
}

/// The row for an affinity.
pub(crate) fn of_affinity(policy: AffinityPolicy) -> &'static Capability {
    match policy {
        AffinityPolicy::CoreGroup => CORE_GROUP,
        AffinityPolicy::CoreLocal => CORE_LOCAL,
        AffinityPolicy::Spread => SPREAD,
    }
}

/// The row for an order.
pub(crate) fn of_order(policy: OrderPolicy) -> &'static Capability {
    match policy {
        OrderPolicy::Sequential => SEQUENTIAL,
        OrderPolicy::SequentialStrict => STRICT,
        OrderPolicy::Parallel => PARALLEL,
        OrderPolicy::Interleaved(_) => INTERLEAVED,
        OrderPolicy::Blocked(_) => BLOCKED,
        OrderPolicy::LongestFirst => LONGEST_FIRST,
    }
}

/// The row for a split.
pub(crate) fn of_split(policy: &SplitPolicy) -> &'static Capability {
    match policy {
        SplitPolicy::Whole => SPLIT_WHOLE,
        SplitPolicy::Fixed(_) => SPLIT_FIXED,
        SplitPolicy::Balanced(_) => SPLIT_BALANCED,
    }
}

/// The row for `PTO_PREFETCH`.
pub(crate) fn of_prefetch() -> &'static Capability {
    PREFETCH
}

/// The table of spaces as Markdown, as the reference prints it; ends with a newline.
pub fn capabilities_markdown() -> String {
    markdown(CAPABILITIES)
}

/// The table of workloads as Markdown, as the reference prints it; ends with a newline.
pub fn workload_capabilities_markdown() -> String {
    markdown(WORKLOAD_CAPABILITIES)
}

/// The table of what differs where AICPUs generate the tasks, as Markdown; ends with a newline.
pub fn aicpu_capabilities_markdown() -> String {
    markdown(AICPU_CAPABILITIES)
}

fn markdown(table: &[Capability]) -> String {
    let mut out = String::from("| primitive | `cpu_sim` | what it means |\n|---|---|---|\n");
    for row in table {
        let _ = writeln!(out, "| `{}` | {} | {} |", row.primitive, row.cpu_sim.name(), row.meaning);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_page_prints_these_tables() {
        let page = include_str!("../../../docs/reference/schedules.md");
        let tables =
            [capabilities_markdown(), workload_capabilities_markdown(), aicpu_capabilities_markdown()];
        for table in tables {
            assert!(page.contains(&table), "the page should hold:\n{table}");
        }
    }

    #[test]
    fn the_reference_page_shows_every_primitive_in_use() {
        let page = include_str!("../../../docs/reference/schedules.md");
        let code: String = page.split("```").skip(1).step_by(2).collect();
        for row in CAPABILITIES.iter().filter(|row| row.cpu_sim != Support::Error) {
            let words = row.primitive.split(|c: char| !(c.is_ascii_uppercase() || c == '_'));
            for word in words.filter(|word| word.starts_with("PTO_")) {
                assert!(code.contains(word), "no example uses {word}");
            }
        }
    }

    #[test]
    fn a_row_for_aicpus_takes_the_place_of_one_that_is_there() {
        for row in AICPU_CAPABILITIES {
            let usual = WORKLOAD_CAPABILITIES.iter().filter(|usual| usual.primitive == row.primitive);
            assert_eq!(usual.count(), 1, "{}", row.primitive);
        }
        assert_eq!(on_aicpus(STEAL.primitive).map(|row| row.cpu_sim), Some(Support::Hint));
        assert!(on_aicpus(STREAMS.primitive).is_none());
    }

    #[test]
    fn placeholders_give_way_to_names_and_numbers() {
        assert_eq!(INTERLEAVED.spelled("batch", "4"), "PTO_ORDER(batch, PTO_INTERLEAVED(4))");
        assert_eq!(PREFETCH.spelled("batch", "1"), "PTO_PREFETCH(batch, 1)");
    }
}
