//! Which target does what with each schedule primitive.

use std::fmt::Write;
use wsp_ir::{AffinityPolicy, AxisTile, OrderPolicy, TileSize};

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
    ($($name:ident: $primitive:literal, $support:ident, $meaning:literal;)*) => {
        $(const $name: &Capability =
            &Capability { primitive: $primitive, cpu_sim: Support::$support, meaning: $meaning };)*

        /// The table.
        pub const CAPABILITIES: &[Capability] = &[$(*$name),*];
    };
}

table! {
    TILE_FIXED: "PTO_TILE(axis, size)", Enforced,
        "the index counts tiles of `size` elements, the last of which may be shorter";
    TILE_AUTO: "PTO_TILE(axis, PTO_AUTO)", Enforced,
        "the size is the one that PTO_SET_TILE gives, else it is chosen at launch from lengths and cores";
    TILE_PAD_LAST: "PTO_TILE(axis, size, PTO_PAD_LAST)", Enforced,
        "bounds are given as they are and lanes past the end are masked: TLOAD makes only existing rows valid";
    WHERE: "PTO_WHERE(condition)", Enforced,
        "items for which the condition is false are not generated";
    CORE_GROUP: "PTO_AFFINITY(axis, PTO_CORE_GROUP)", Hint,
        "tasks with one axis value go to one group of workers, and idle workers of other groups may take them";
    CORE_LOCAL: "PTO_AFFINITY(axis, PTO_CORE_LOCAL)", Hint,
        "tasks with one axis value go to one worker, and workers that stay idle may take them";
    SPREAD: "PTO_AFFINITY(axis, PTO_SPREAD)", Hint,
        "tasks with successive axis values go to successive workers, and idle workers may take them";
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
    PREFETCH: "PTO_PREFETCH(axis, depth)", Hint,
        "when a task starts, the inputs of the task `depth` indices ahead are fetched if it is already generated";
    DEPENDENCY: "PTO_DEPENDENCY(reader.tensor, writer.tensor)", Enforced,
        "tasks wait for those whose data they load, which is inferred from kernels and checked against the statement";
    PROFILE_GUIDED: "PTO_PROFILE_GUIDED(axis, policies)", Error,
        "a schedule has one order per axis; choose between schedules with `--schedule NAME`";
    COMPUTE: "PTO_COMPUTE(kernel, inputs)", Error,
        "a generator reads integer arrays only; compute them in an earlier launch and pass them in";
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
    }
}

/// The row for `PTO_PREFETCH`.
pub(crate) fn of_prefetch() -> &'static Capability {
    PREFETCH
}

/// The table as Markdown, as the reference prints it; ends with a newline.
pub fn capabilities_markdown() -> String {
    let mut out = String::from("| primitive | `cpu_sim` | what it means |\n|---|---|---|\n");
    for row in CAPABILITIES {
        let _ = writeln!(out, "| `{}` | {} | {} |", row.primitive, row.cpu_sim.name(), row.meaning);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_page_prints_this_table() {
        let page = include_str!("../../../docs/reference/schedules.md");
        assert!(
            page.contains(&capabilities_markdown()),
            "the page should hold:\n{}",
            capabilities_markdown()
        );
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
    fn placeholders_give_way_to_names_and_numbers() {
        assert_eq!(INTERLEAVED.spelled("batch", "4"), "PTO_ORDER(batch, PTO_INTERLEAVED(4))");
        assert_eq!(PREFETCH.spelled("batch", "1"), "PTO_PREFETCH(batch, 1)");
    }
}
