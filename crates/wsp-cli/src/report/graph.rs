//! What a task graph came to, as text and JSON.

use super::Sources;
use super::lines::Lines;
use crate::graph::{Fan, Missed, Summary};
use serde_json::{Value, json};
use wsp_core::words::counted;
use wsp_ir::workload::ExecPool;

/// Everything that `wsp graph --summary` prints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphReport {
    /// The workload's file.
    pub program: String,
    /// How dependences were found: exact, overlap, explicit or hybrid.
    pub deps: String,
    /// Where the arrays come from.
    pub sources: Sources,
    /// The statistics.
    pub summary: Summary,
    /// With exact dependences: the hazards that have no edge.
    pub missed: Option<Missed>,
    /// Tasks by tile, where the schedule has a grid.
    pub grid: Vec<String>,
}

impl GraphReport {
    /// For people.
    pub fn text(&self) -> String {
        let s = &self.summary;
        let mut lines = Lines::default();
        self.sources.add_to(&mut lines);
        let order = match s.barrier_nodes {
            0 => String::new(),
            n => format!(", {} of ordered loops", counted(n, "barrier node")),
        };
        lines.add("tasks", &format!("{}{order}", s.tasks));
        for kernel in &s.kernels {
            lines.add("", &format!("{} {}{}", kernel.tasks, kernel.name, suffix(kernel.unit)));
        }
        let repeated = if s.edges == s.distinct_edges {
            String::new()
        } else {
            format!(", {} of them distinct", s.distinct_edges)
        };
        lines.add_all("grid", &self.grid);
        lines.add("edges", &format!("{}{repeated} (deps = {})", s.edges, self.deps));
        lines.add("roots", &s.roots.to_string());
        lines.add("leaves", &s.leaves.to_string());
        lines.add("critical", &format!("{} on the longest path", counted(s.critical_path, "task")));
        if let Some(widest) = s.widest {
            lines.add("widest", &format!("{} at level {}", counted(widest.tasks, "task"), widest.level));
        }
        lines.add("fan-in", &fan(s.fan_in.as_ref()));
        lines.add("fan-out", &fan(s.fan_out.as_ref()));
        match &self.missed {
            Some(Missed { count: 0, .. }) => lines.add("missed", "no hazard"),
            Some(missed) => lines.add(
                "missed",
                &format!(
                    "{} between tasks that nothing orders; the first: {}",
                    counted(missed.count, "hazard"),
                    missed.first
                ),
            ),
            None => {}
        }
        lines.finish(&self.program)
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let s = &self.summary;
        let report = json!({
            "program": self.program,
            "deps": self.deps,
            "tasks": s.tasks,
            "barrier_nodes": s.barrier_nodes,
            "edges": s.edges,
            "distinct_edges": s.distinct_edges,
            "roots": s.roots,
            "leaves": s.leaves,
            "critical_path": s.critical_path,
            "widest_level": s.widest.map(|w| json!({ "level": w.level, "tasks": w.tasks })),
            "max_fan_in": s.fan_in.as_ref().map(fan_json),
            "max_fan_out": s.fan_out.as_ref().map(fan_json),
            "kernels": s.kernels.iter().map(|k| json!({
                "name": k.name, "unit": k.unit.word(), "tasks": k.tasks,
            })).collect::<Vec<_>>(),
            "grid": self.grid,
            "missed": self.missed.as_ref().map(|m| json!({
                "hazards": m.count, "first": (m.count > 0).then_some(&m.first),
            })),
        });
        self.sources.with_json(report)
    }
}

/// The unit of a kernel that needs a certain one.
fn suffix(of: ExecPool) -> String {
    if of == ExecPool::Any { String::new() } else { format!(" ({})", of.word()) }
}

fn fan(fan: Option<&Fan>) -> String {
    match fan {
        None => "0".to_owned(),
        Some(fan) => format!("at most {}: task {}, {}", fan.edges, fan.task, fan.kernel),
    }
}

fn fan_json(fan: &Fan) -> Value {
    json!({ "edges": fan.edges, "task": fan.task, "kernel": fan.kernel })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BARRIER_NODE, Graph, GraphKernel};
    use expect_test::expect;

    fn report(tasks: &[u32], edges: &[(u32, u32)], missed: Option<Missed>) -> GraphReport {
        let kernel = |name: &str, unit| GraphKernel { name: name.to_owned(), unit };
        let kernels = vec![
            kernel("norm", ExecPool::Vector),
            kernel("gemm", ExecPool::Cube),
            kernel(BARRIER_NODE, ExecPool::Any),
        ];
        let graph = Graph::new(kernels, tasks.to_vec(), edges.to_vec());
        GraphReport {
            program: "layer.wsp".to_owned(),
            deps: "exact".to_owned(),
            sources: Sources::default(),
            summary: Summary::of(&graph),
            missed,
            grid: Vec::new(),
        }
    }

    #[test]
    fn a_summary_fits_a_screen() {
        let missed = Missed { count: 2, first: "task 0 (norm) before task 3 (gemm)".to_owned() };
        let edges = [(0, 1), (0, 1), (0, 2), (1, 3), (2, 3)];
        expect![[r#"
            layer.wsp
              tasks      3, 1 barrier node of ordered loops
                         2 norm (vector)
                         1 gemm (cube)
              edges      5, 4 of them distinct (deps = exact)
              roots      1
              leaves     1
              critical   3 tasks on the longest path
              widest     1 task at level 0
              fan-in     at most 2: task 3, norm
              fan-out    at most 2: task 0, norm
              missed     2 hazards between tasks that nothing orders; the first: task 0 (norm) before task 3 (gemm)
        "#]]
        .assert_eq(&report(&[0, 1, 2, 0], &edges, Some(missed)).text());
    }

    #[test]
    fn numbers_are_where_scripts_look_for_them() {
        let json = report(&[0, 1], &[(0, 1)], Some(Missed { count: 0, first: String::new() })).json();
        assert_eq!((&json["tasks"], &json["critical_path"]), (&json!(2), &json!(2)));
        assert_eq!(json["max_fan_out"]["kernel"], "norm");
        assert_eq!(json["missed"], json!({ "hazards": 0, "first": null }));
        let none = report(&[], &[], None).json();
        assert!(none["missed"].is_null() && none["widest_level"].is_null() && none["max_fan_in"].is_null());
    }
}
