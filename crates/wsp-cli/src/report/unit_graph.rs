//! What the graphs of a unit come to, as text and JSON.

use super::lines::Lines;
use super::units::bytes;
use crate::unit::GraphStats;
use serde_json::{Value, json};
use wsp_core::words::counted;

/// Everything that `wsp graph FILE.tg` prints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitGraphReport {
    /// The unit's file.
    pub program: String,
    /// Its graphs.
    pub graphs: Vec<GraphStats>,
    /// Bytes of its external tensors, as far as they are known.
    pub external: u64,
    /// External tensors whose bytes are not known.
    pub unknown: Vec<String>,
    /// Bytes that the unit itself allocates.
    pub allocated: u64,
}

impl UnitGraphReport {
    /// The most that one launch of each graph at a time takes, as far as it is known: what is external, what the unit
    /// allocates, and the largest graph with the workspace of its kernels.
    pub fn peak(&self) -> u64 {
        let graphs = self.graphs.iter().map(|g| g.allocated.saturating_add(g.workspace));
        self.external.saturating_add(self.allocated).saturating_add(graphs.max().unwrap_or(0))
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = self.graphs.iter().map(graph_text).collect::<String>();
        let mut lines = Lines::default();
        let unknown = match self.unknown.as_slice() {
            [] => String::new(),
            names => format!(", and those of {}, which are not known", names.join(", ")),
        };
        lines.add("external", &format!("{}{unknown}", bytes(self.external)));
        lines.add("unit", &format!("{} allocated outside of graphs", bytes(self.allocated)));
        lines.add("memory", &format!("{} with one launch at a time", bytes(self.peak())));
        text.push_str(&lines.finish(&self.program));
        text
    }

    /// For machines.
    pub fn json(&self) -> Value {
        json!({
            "program": self.program,
            "graphs": self.graphs.iter().map(graph_json).collect::<Vec<_>>(),
            "memory": {
                "external": self.external,
                "unknown": self.unknown,
                "unit": self.allocated,
                "peak": self.peak(),
            },
        })
    }
}

fn graph_text(graph: &GraphStats) -> String {
    let mut lines = Lines::default();
    let mut nodes = vec![format!("{} with {}", graph.kernels, counted(graph.blocks, "block"))];
    if graph.copies > 0 {
        nodes.push(if graph.copies == 1 {
            "1 copy".to_owned()
        } else {
            format!("{}", counted(graph.copies, "copy"))
        });
    }
    if graph.loops > 0 {
        nodes.push(format!("{} at run time", counted(graph.loops, "loop")));
    }
    lines.add("kernels", &nodes.join(", "));
    let edges: Vec<String> = graph.edges.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    let edges = if edges.is_empty() { "none".to_owned() } else { edges.join(", ") };
    lines.add("edges", &edges);
    lines.add(
        "critical",
        &graph.critical_path.map_or("nodes that wait for each other".to_owned(), |n| {
            format!("{} on the longest path", counted(n, "kernel"))
        }),
    );
    lines.add("widest", &format!("{} at one level", counted(graph.widest, "kernel")));
    let (allocated, workspace) = (bytes(graph.allocated), bytes(graph.workspace));
    lines.add("memory", &format!("{allocated} for each launch, {workspace} of workspace"));
    lines.finish(&graph.name)
}

fn graph_json(graph: &GraphStats) -> Value {
    let edges: serde_json::Map<_, _> =
        graph.edges.iter().map(|(kind, n)| ((*kind).to_owned(), json!(n))).collect();
    json!({
        "name": graph.name,
        "kernels": graph.kernels,
        "blocks": graph.blocks,
        "copies": graph.copies,
        "loops": graph.loops,
        "edges": edges,
        "critical_path": graph.critical_path,
        "widest_level": graph.widest,
        "allocated": graph.allocated,
        "workspace": graph.workspace,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use wsp_ordered::OrderedMap;

    #[test]
    fn a_summary_has_a_part_for_each_graph() {
        let graph = GraphStats {
            name: "ATTENTION".to_owned(),
            kernels: 4,
            blocks: 96,
            copies: 1,
            loops: 0,
            edges: OrderedMap::from([("data", 3), ("soft", 1)]),
            critical_path: Some(3),
            widest: 2,
            allocated: 1_000_000,
            workspace: 2000,
        };
        let report = UnitGraphReport {
            program: "a.tg".to_owned(),
            graphs: vec![graph],
            external: 500,
            unknown: vec!["OUTPUT".to_owned()],
            allocated: 0,
        };
        expect![[r#"
            ATTENTION
              kernels    4 with 96 blocks, 1 copy
              edges      3 data, 1 soft
              critical   3 kernels on the longest path
              widest     2 kernels at one level
              memory     1.0 MB for each launch, 2.0 KB of workspace
            a.tg
              external   500 bytes, and those of OUTPUT, which are not known
              unit       0 bytes allocated outside of graphs
              memory     1.0 MB with one launch at a time
        "#]]
        .assert_eq(&report.text());
        let json = report.json();
        assert_eq!(
            (&json["graphs"][0]["edges"]["data"], &json["memory"]["peak"]),
            (&json!(3), &json!(1_002_500))
        );
    }
}
