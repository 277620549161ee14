//! Graphs in the DOT language of Graphviz.

use super::{BARRIER_NODE, Graph, Rows};
use wsp_ir::workload::ExecPool;

/// Writes a digraph: a node per task, a point per barrier node; repeated edges once, with how many they are.
///
/// # Errors
/// What the writer says, or that the work is to stop.
pub fn write_dot(rows: &mut Rows<'_>, graph: &Graph, name: &str) -> std::io::Result<()> {
    rows.text("digraph \"").text(&escaped(name)).text("\" {").end()?;
    rows.text("  node [shape=box];").end()?;
    let tails: Vec<String> = graph.kernels().iter().map(|k| tail(&k.name, k.unit)).collect();
    for (id, &kernel) in (0u32..).zip(graph.tasks()) {
        rows.text("  ").number(id);
        match tails[kernel as usize].as_str() {
            tail if graph.kernels()[kernel as usize].name == BARRIER_NODE => rows.text(tail).end()?,
            tail => rows.text(" [label=\"").number(id).text(tail).end()?,
        }
    }
    for ((src, dst), times) in graph.distinct_edges() {
        rows.text("  ").number(src).text(" -> ").number(dst);
        if times > 1 {
            rows.text(&format!(" [label=\"x{times}\"]"));
        }
        rows.text(";").end()?;
    }
    rows.text("}").end()?;
    rows.flush()
}

/// What follows the id of a node: the rest of its label and its looks. Units differ by shape, so that no colour is needed.
fn tail(name: &str, unit: ExecPool) -> String {
    if name == BARRIER_NODE {
        return " [shape=point];".to_owned();
    }
    let looks = match unit {
        ExecPool::Cube => ", shape=box3d",
        ExecPool::Vector => "",
        ExecPool::Any => ", style=rounded",
    };
    format!(" {}\"{looks}];", escaped(name))
}

/// Text between the quotes of DOT.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::tests::kernel;
    use expect_test::expect;

    #[test]
    fn nodes_come_before_edges() {
        let kernels = vec![
            kernel("norm", ExecPool::Vector),
            kernel("gemm", ExecPool::Cube),
            kernel(BARRIER_NODE, ExecPool::Any),
        ];
        let graph = Graph::new(kernels, vec![0, 2, 1], vec![(0, 1), (0, 2), (0, 2), (1, 2)]);
        let mut out = Vec::new();
        write_dot(&mut Rows::new(&mut out), &graph, "a\\\"b\".wsp").unwrap();
        expect![[r#"
            digraph "a\\\"b\".wsp" {
              node [shape=box];
              0 [label="0 norm"];
              1 [shape=point];
              2 [label="2 gemm", shape=box3d];
              0 -> 1;
              0 -> 2 [label="x2"];
              1 -> 2;
            }
        "#]]
        .assert_eq(&String::from_utf8(out).unwrap());
    }
}
