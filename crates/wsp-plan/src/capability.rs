//! Which target does what with each schedule primitive: of spaces in `.pto`, and of workloads in `.wsp`.

use crate::LoweredPlan;
use crate::lower::codes;
use crate::target::CPU_SIM;
use std::fmt::Write;
use wsp_core::policy::{Gate, GateScope, PoolSizes};
use wsp_diag::{Diagnostic, Severity};
use wsp_ir::workload::{DirectiveKind, StatementKind};
use wsp_ir::{
    AffinityPolicy, AxisPolicy, AxisTile, Capability, LaunchPolicy, OrderPolicy, SplitPolicy, Support,
    TileSize,
};

macro_rules! table {
    (#[doc = $doc:literal] $table:ident; $($name:ident: $primitive:literal, $support:ident, $meaning:literal;)*) => {
        $(const $name: &Capability =
            &Capability { primitive: $primitive, support: Support::$support, meaning: $meaning };)*

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
    PRIORITY: "PTO_PRIORITY(axis)", Enforced,
        "of the ready tasks that a worker may take, the one with the largest index starts first, of equals the one that became ready first";
    GATE: "PTO_PIPELINE_DEPTH(n)", Enforced,
        "at most `n` tasks run at once";
    GATE_PER_POOL: "PTO_PIPELINE_DEPTH(n, PTO_PER_POOL)", Enforced,
        "at most `n` tasks of one pool run at once";
    POOLS: "PTO_POOLS(vector, cube)", Enforced,
        "so many workers take tasks of kernels `on vector`, so many those of kernels `on cube`, and all take those of other kernels";
    GRID: "PTO_SPATIAL_MAP(x, y)", Simulated,
        "a task is for the tile of `PTO_LAYOUT`, else for tile `n` modulo `x * y`, `n` its number in the order of issue; tile `t` goes to worker `t` modulo the number of workers, and idle workers may take its tasks";
    LAYOUT: "PTO_LAYOUT(tensor, PTO_SHARD(x), PTO_REPLICATE, …)", Simulated,
        "a task is for the tile that has the first element that it stores of a sharded tensor, or, along axes over which it stores none, loads; kernels that read what no tile has whole are an error that says what to write";
    RELAYOUT: "PTO_RELAYOUT(tensor, PTO_SHARD(x), PTO_REPLICATE, …)", Simulated,
        "tasks load the tensor in this layout, and sums whose parts tiles have are added up; here every worker sees all of every tensor, and nothing is moved";
    DEPENDENCY: "PTO_DEPENDENCY(reader.tensor, writer.tensor)", Enforced,
        "tasks wait for those whose data they load, which is inferred from kernels and checked against the statement";
    PROFILE_GUIDED: "PTO_PROFILE_GUIDED(axis, policies)", Error,
        "a schedule has one order per axis; choose between schedules with `--schedule NAME`";
    COMPUTE: "PTO_COMPUTE(kernel, inputs)", Error,
        "a generator reads integer arrays only; compute them in an earlier launch and pass them in";
}

table! {
    /// What differs from [`CAPABILITIES`] where AICPUs generate the tasks (`--aicpus N`).
    AICPU_SPACES;
    CORE_GROUP_THERE: "PTO_AFFINITY(axis, PTO_CORE_GROUP)", NoOp,
        "AICPU `i` issues the tasks whose number in the order of issue is `i` modulo their count, to any core that is free";
    CORE_LOCAL_THERE: "PTO_AFFINITY(axis, PTO_CORE_LOCAL)", NoOp,
        "AICPU `i` issues the tasks whose number in the order of issue is `i` modulo their count, to any core that is free";
    SPREAD_THERE: "PTO_AFFINITY(axis, PTO_SPREAD)", NoOp,
        "AICPU `i` issues the tasks whose number in the order of issue is `i` modulo their count, to any core that is free";
    PARALLEL_THERE: "PTO_ORDER(axis, PTO_PARALLEL)", Enforced,
        "no order is asked for, and ready tasks of an AICPU start in the order in which they became ready";
    PREFETCH_THERE: "PTO_PREFETCH(axis, depth)", NoOp,
        "a core fetches nothing before the task that it is given";
    GRID_THERE: "PTO_SPATIAL_MAP(x, y)", Error,
        "AICPUs have no grid of tiles; `cpu_sim` without `--aicpus` has one, simulated";
    LAYOUT_THERE: "PTO_LAYOUT(tensor, PTO_SHARD(x), PTO_REPLICATE, …)", Error,
        "AICPUs have no grid of tiles; `cpu_sim` without `--aicpus` has one, simulated";
    RELAYOUT_THERE: "PTO_RELAYOUT(tensor, PTO_SHARD(x), PTO_REPLICATE, …)", Error,
        "AICPUs have no grid of tiles; `cpu_sim` without `--aicpus` has one, simulated";
    PRIORITY_THERE: "PTO_PRIORITY(axis)", Enforced,
        "of an AICPU's ready tasks, the one with the largest index starts first, of equals the one that became ready first";
    POOLS_THERE: "PTO_POOLS(vector, cube)", Enforced,
        "so many cores take tasks of kernels `on vector`, so many those of kernels `on cube`, whatever the number of threads";
}

table! {
    /// What differs from [`CAPABILITIES`] in a package for an NPU, whose AICPUs generate the tasks and give them to cores.
    PACKAGE_SPACES;
    CORE_GROUP_IN_PACKAGES: "PTO_AFFINITY(axis, PTO_CORE_GROUP)", NoOp,
        "a task goes to whichever core of its kind is idle";
    CORE_LOCAL_IN_PACKAGES: "PTO_AFFINITY(axis, PTO_CORE_LOCAL)", NoOp,
        "a task goes to whichever core of its kind is idle";
    SPREAD_IN_PACKAGES: "PTO_AFFINITY(axis, PTO_SPREAD)", NoOp,
        "a task goes to whichever core of its kind is idle";
    PARALLEL_IN_PACKAGES: "PTO_ORDER(axis, PTO_PARALLEL)", Enforced,
        "no order is asked for, and ready tasks start in the order in which they became ready";
    PREFETCH_IN_PACKAGES: "PTO_PREFETCH(axis, depth)", NoOp,
        "cores load what they need when a task starts";
    GRID_IN_PACKAGES: "PTO_SPATIAL_MAP(x, y)", Error,
        "an NPU has no grid of tiles; `cpu_sim` has one, simulated";
    LAYOUT_IN_PACKAGES: "PTO_LAYOUT(tensor, PTO_SHARD(x), PTO_REPLICATE, …)", Error,
        "an NPU has no grid of tiles; `cpu_sim` has one, simulated";
    RELAYOUT_IN_PACKAGES: "PTO_RELAYOUT(tensor, PTO_SHARD(x), PTO_REPLICATE, …)", Error,
        "an NPU has no grid of tiles; `cpu_sim` has one, simulated";
    PRIORITY_IN_PACKAGES: "PTO_PRIORITY(axis)", Enforced,
        "of the ready tasks for a kind of cores, the one with the largest index starts first, of equals the one that became ready first";
    POOLS_IN_PACKAGES: "PTO_POOLS(vector, cube)", Enforced,
        "the numbers of vector and of cube cores, and tasks of other kernels go to either";
}

impl LoweredPlan {
    /// The statements of its schedules that have no effect where AICPUs generate the tasks: notes.
    pub fn notes_on_aicpus(&self) -> Vec<Diagnostic> {
        let named = |name: &str| self.module.schedules.iter().find(|schedule| schedule.name == name);
        let applied = self.stages.iter().filter_map(|stage| named(stage.schedule.name.as_deref()?));
        let mut notes: Vec<Diagnostic> = Vec::new();
        for statement in applied.flat_map(|schedule| &schedule.axes) {
            let (row, number) = of_axis(&statement.policy);
            let there = AICPU_SPACES.iter().find(|there| there.primitive == row.primitive);
            let Some(there) = there.filter(|there| there.support == Support::NoOp) else { continue };
            let message = format!("`{}` has no effect on AICPUs", row.spelled(&statement.axis, &number));
            let note = Diagnostic::new(codes::NO_EFFECT, Severity::Note, message);
            let note = note.at(statement.span, "").note(there.meaning);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }
}

/// The table of what schedules of workloads say.
pub fn workload_capabilities() -> impl Iterator<Item = Capability> {
    DirectiveKind::rows().map(|row| row.host)
}

/// What differs from [`workload_capabilities`] where AICPUs generate the tasks (`--aicpus N`).
pub fn aicpu_capabilities() -> impl Iterator<Item = Capability> {
    DirectiveKind::rows().filter_map(|row| row.aicpus)
}

/// The table of the statements of workloads.
pub fn statement_capabilities() -> impl Iterator<Item = Capability> {
    StatementKind::ALL.iter().map(|kind| kind.row().host)
}

/// What an AIE array does with a primitive of workloads, beside what the simulation does.
pub fn on_arrays(host: Capability) -> Capability {
    if host.support == Support::Error {
        return host;
    }
    let is = |words: &[&str]| words.iter().any(|word| host.primitive.starts_with(word));
    let with = |support, meaning| Capability { primitive: host.primitive, support, meaning };
    if is(&["spatial_map"]) {
        with(
            Support::Enforced,
            "each tile of the grid with tasks is the core at its column and, counted from row 2, its row",
        )
    } else if is(&["layout", "relayout"]) {
        with(Support::Enforced, "a task is on the core that has what it stores; what it loads flows to it")
    } else if is(&["task_graph(ready = work_steal)", "dispatch(work_steal)"]) {
        with(Support::NoOp, "each core is given as many tasks as another before the run")
    } else if is(&["workers"]) {
        with(Support::Enforced, "tasks outside of pipelines are dealt to at most `n` cores")
    } else if is(&["task_graph(deps"]) {
        with(Support::Enforced, "what a task loads has been stored before it, in elaboration order")
    } else if is(&["task_graph(trace = cycles)"]) {
        with(Support::Error, "an array has no virtual time; `cpu_sim` has")
    } else {
        with(Support::NoOp, "tasks are on cores, and in order on each, before a run")
    }
}

/// What AIE arrays do with the primitives of workloads.
pub fn array_capabilities() -> impl Iterator<Item = Capability> {
    workload_capabilities().map(on_arrays)
}

/// The table of what AIE arrays do with primitives of workloads, as Markdown; ends with a newline.
pub fn array_capabilities_markdown() -> String {
    let table = markdown(array_capabilities());
    table.replacen(&format!("`{}`", CPU_SIM.name), "`xdna1`, `xdna2`", 1)
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

/// The row for what is said of an axis, and its number.
pub(crate) fn of_axis(policy: &AxisPolicy) -> (&'static Capability, String) {
    let without = |row| (row, String::new());
    match policy {
        AxisPolicy::Affinity(AffinityPolicy::CoreGroup) => without(CORE_GROUP),
        AxisPolicy::Affinity(AffinityPolicy::CoreLocal) => without(CORE_LOCAL),
        AxisPolicy::Affinity(AffinityPolicy::Spread) => without(SPREAD),
        AxisPolicy::Order(OrderPolicy::Sequential) => without(SEQUENTIAL),
        AxisPolicy::Order(OrderPolicy::SequentialStrict) => without(STRICT),
        AxisPolicy::Order(OrderPolicy::Parallel) => without(PARALLEL),
        AxisPolicy::Order(OrderPolicy::LongestFirst) => without(LONGEST_FIRST),
        AxisPolicy::Order(OrderPolicy::Interleaved(n)) => (INTERLEAVED, n.to_string()),
        AxisPolicy::Order(OrderPolicy::Blocked(n)) => (BLOCKED, n.to_string()),
        AxisPolicy::Split(SplitPolicy::Whole) => without(SPLIT_WHOLE),
        AxisPolicy::Split(SplitPolicy::Fixed(size)) => {
            (SPLIT_FIXED, size.as_const_int().map_or("…".to_owned(), |n| n.to_string()))
        }
        AxisPolicy::Split(SplitPolicy::Balanced(align)) => (SPLIT_BALANCED, align.to_string()),
        AxisPolicy::Prefetch(depth) => (PREFETCH, depth.to_string()),
        AxisPolicy::Priority => without(PRIORITY),
    }
}

/// The row for what is said of the launch, and its numbers.
pub(crate) fn of_launch(policy: LaunchPolicy) -> (&'static Capability, String) {
    match policy {
        LaunchPolicy::Gate(Gate { scope: GateScope::PerPool, capacity }) => {
            (GATE_PER_POOL, capacity.to_string())
        }
        LaunchPolicy::Gate(Gate { capacity, .. }) => (GATE, capacity.to_string()),
        LaunchPolicy::Pools(PoolSizes::ByUnit { vector, cube }) => (POOLS, format!("{vector}, {cube}")),
        LaunchPolicy::Pools(PoolSizes::Shared) => (POOLS, "shared".to_owned()),
        LaunchPolicy::Grid(grid) => (GRID, format!("{}, {}", grid.x, grid.y)),
    }
}

/// The row for what is said of a tensor.
pub(crate) fn of_layout(where_read: bool) -> &'static Capability {
    if where_read { RELAYOUT } else { LAYOUT }
}

/// The table of spaces as Markdown, as the reference prints it; ends with a newline.
pub fn capabilities_markdown() -> String {
    markdown(CAPABILITIES.iter().copied())
}

/// The table of what differs for spaces where AICPUs generate the tasks, as Markdown; ends with a newline.
pub fn aicpu_spaces_markdown() -> String {
    markdown(AICPU_SPACES.iter().copied())
}

/// The table of what differs for spaces in a package for an NPU, as Markdown; ends with a newline.
pub fn package_spaces_markdown() -> String {
    let table = markdown(PACKAGE_SPACES.iter().copied());
    table.replacen(&format!("`{}`", CPU_SIM.name), "NPU", 1)
}

/// The table of workloads as Markdown, as the reference prints it; ends with a newline.
pub fn workload_capabilities_markdown() -> String {
    markdown(workload_capabilities())
}

/// The table of what differs where AICPUs generate the tasks, as Markdown; ends with a newline.
pub fn aicpu_capabilities_markdown() -> String {
    markdown(aicpu_capabilities())
}

/// The table of the statements of workloads as Markdown, as the reference prints it; ends with a newline.
pub fn statement_capabilities_markdown() -> String {
    markdown(statement_capabilities())
}

fn markdown(table: impl Iterator<Item = Capability>) -> String {
    let mut out = format!("| primitive | `{}` | what it means |\n|---|---|---|\n", CPU_SIM.name);
    for row in table {
        let _ = writeln!(out, "| `{}` | {} | {} |", row.primitive, row.support.name(), row.meaning);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_page_prints_these_tables() {
        let page = include_str!("../../../docs/reference/schedules.md");
        let tables = [
            capabilities_markdown(),
            aicpu_spaces_markdown(),
            package_spaces_markdown(),
            workload_capabilities_markdown(),
            aicpu_capabilities_markdown(),
            array_capabilities_markdown(),
        ];
        for table in tables {
            assert!(page.contains(&table), "the page should hold:\n{table}");
        }
    }

    #[test]
    fn the_reference_page_prints_what_becomes_of_statements() {
        let page = include_str!("../../../docs/reference/wsp.md");
        let table = statement_capabilities_markdown();
        assert!(page.contains(&table), "the page should hold:\n{table}");
    }

    #[test]
    fn the_reference_page_shows_every_primitive_in_use() {
        let page = include_str!("../../../docs/reference/schedules.md");
        let code: String = page.split("```").skip(1).step_by(2).collect();
        for row in CAPABILITIES.iter().filter(|row| row.support != Support::Error) {
            let words = row.primitive.split(|c: char| !(c.is_ascii_uppercase() || c == '_'));
            for word in words.filter(|word| word.starts_with("PTO_")) {
                assert!(code.contains(word), "no example uses {word}");
            }
        }
    }

    #[test]
    fn placeholders_give_way_to_names_and_numbers() {
        assert_eq!(INTERLEAVED.spelled("batch", "4"), "PTO_ORDER(batch, PTO_INTERLEAVED(4))");
        assert_eq!(PREFETCH.spelled("batch", "1"), "PTO_PREFETCH(batch, 1)");
    }
}
