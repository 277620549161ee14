//! The graphs of a unit as tables of comma-separated values and in the DOT language. Nodes are numbered over all graphs of the
//! unit, in order.

use super::{DrawnEdge, UnitGraph, UnitNode};
use crate::graph::{Rows, escaped};
use wsp_core::tg::CoreType;
use wsp_core::tg::image::NodeKind;

/// Each graph with the number of its first node.
fn numbered(graphs: &[UnitGraph]) -> impl Iterator<Item = (u64, &UnitGraph)> {
    graphs.iter().scan(0u64, |next, graph| {
        let first = *next;
        *next += graph.nodes.len() as u64;
        Some((first, graph))
    })
}

/// Writes a line per node.
///
/// # Errors
/// What the writer says, or that the work is to stop.
pub fn write_unit_tasks(rows: &mut Rows<'_>, graphs: &[UnitGraph]) -> std::io::Result<()> {
    rows.text("task_id,graph,kind,name,entry,core_type,blocks,loop").end()?;
    for (first, graph) in numbered(graphs) {
        let name = quoted(&graph.name);
        for (id, node) in (first..).zip(&graph.nodes) {
            rows.number(id).text(",").text(&name).text(",").text(kind(node.kind)).text(",");
            rows.text(&quoted(&node.name)).text(",");
            match &node.kernel {
                Some((entry, core_type, blocks)) => {
                    rows.text(&quoted(entry))
                        .text(",")
                        .text(core_type.name())
                        .text(",")
                        .number(*blocks)
                        .text(",");
                }
                None => {
                    rows.text(",,,");
                }
            }
            if let Some(body) = node.body {
                rows.number(body);
            }
            rows.end()?;
        }
    }
    rows.flush()
}

/// Writes a line per edge, by source, then destination.
///
/// # Errors
/// As [`write_unit_tasks`].
pub fn write_unit_edges(rows: &mut Rows<'_>, graphs: &[UnitGraph]) -> std::io::Result<()> {
    rows.text("src,dst,kind").end()?;
    for (first, graph) in numbered(graphs) {
        for edge in &graph.edges {
            rows.number(first + u64::from(edge.src)).text(",").number(first + u64::from(edge.dst));
            rows.text(",").text(edge.kind_name()).end()?;
        }
    }
    rows.flush()
}

/// Writes a digraph with a cluster per graph; `edges` are those of each, as [`drawn_edges`](super::drawn_edges) gives them.
///
/// # Errors
/// As [`write_unit_tasks`].
pub fn write_unit_dot(
    rows: &mut Rows<'_>,
    graphs: &[UnitGraph],
    edges: &[Vec<DrawnEdge>],
    name: &str,
) -> std::io::Result<()> {
    rows.text("digraph \"").text(&escaped(name)).text("\" {").end()?;
    rows.text("  node [shape=box];").end()?;
    for (at, (first, graph)) in (0u32..).zip(numbered(graphs)) {
        rows.text("  subgraph cluster_").number(at).text(" {").end()?;
        rows.text("    label=\"").text(&escaped(&graph.name)).text("\";").end()?;
        for (id, node) in (first..).zip(&graph.nodes) {
            rows.text("    ").number(id).text(&looks(node)).end()?;
        }
        rows.text("  }").end()?;
        for edge in edges.get(at as usize).into_iter().flatten() {
            rows.text("  ")
                .number(first + u64::from(edge.src))
                .text(" -> ")
                .number(first + u64::from(edge.dst));
            let dashed = if edge.is_loose { ", style=dashed, constraint=false" } else { "" };
            rows.text(&format!(" [label=\"{}\"{dashed}];", escaped(&edge.label))).end()?;
        }
    }
    rows.text("}").end()?;
    rows.flush()
}

/// The label of a node and its looks; cores differ by shape, so that no colour is needed.
fn looks(node: &UnitNode) -> String {
    let shape = match (node.kind, &node.kernel) {
        (NodeKind::Join, _) => return " [shape=point];".to_owned(),
        (_, Some((_, CoreType::Aic | CoreType::AicAiv, _))) => ", shape=box3d",
        (_, Some(_)) => "",
        (NodeKind::Copy | NodeKind::Free, _) => ", shape=cds",
        (NodeKind::Decide | NodeKind::Break, _) => ", shape=diamond",
        (NodeKind::Loop | NodeKind::LoopEnd, _) => ", shape=octagon",
        _ => ", shape=ellipse",
    };
    let blocks = match &node.kernel {
        Some((_, core_type, blocks)) => format!("\\n{blocks} x {}", core_type.name()),
        None => String::new(),
    };
    format!(" [label=\"{}{blocks}\"{shape}];", escaped(&node.name))
}

/// What a node is called in lists.
fn kind(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Kernel => "kernel",
        NodeKind::Copy => "copy",
        NodeKind::Free => "free",
        NodeKind::Notify => "notify",
        NodeKind::WaitNotify => "wait_notify",
        NodeKind::WaitEvent => "wait",
        NodeKind::Checkpoint => "checkpoint",
        NodeKind::Signal => "signal",
        NodeKind::Join => "join",
        NodeKind::Decide => "if",
        NodeKind::Break => "break",
        NodeKind::Loop => "loop",
        NodeKind::LoopEnd => "end_loop",
    }
}

/// A cell, in quotes if it needs them: names in bytes can be any text.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::UnitEdge;
    use wsp_tg::plan::EdgeKind;

    fn written(write: impl Fn(&mut Rows<'_>, &[UnitGraph]) -> std::io::Result<()>) -> String {
        let node = |kind, name: &str, kernel| UnitNode { kind, name: name.to_owned(), kernel, body: None };
        let kernel = Some(("a,b".to_owned(), CoreType::Aiv, 24));
        let graph = UnitGraph {
            name: "G".to_owned(),
            nodes: vec![node(NodeKind::Kernel, "A", kernel), node(NodeKind::Copy, "copy.0", None)],
            edges: vec![
                UnitEdge { src: 0, dst: 1, kind: Some(EdgeKind::Data) },
                UnitEdge { src: 1, dst: 0, kind: None },
            ],
            loops: Vec::new(),
            allocated: 0,
            workspace: 0,
        };
        let mut out = Vec::new();
        write(&mut Rows::new(&mut out), &[graph.clone(), graph]).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nodes_are_numbered_over_all_graphs() {
        let tasks = written(write_unit_tasks);
        assert!(tasks.contains("\n0,G,kernel,A,\"a,b\",AIV,24,\n1,G,copy,copy.0,,,,\n2,G,kernel"), "{tasks}");
        assert!(written(write_unit_edges).ends_with("1,0,soft\n2,3,data\n3,2,soft\n"));
        let edge = DrawnEdge { src: 0, dst: 1, label: "data T".to_owned(), is_loose: false };
        let edges = vec![vec![edge]; 2];
        let dot = written(|rows, graphs| write_unit_dot(rows, graphs, &edges, "a\"b"));
        assert!(dot.contains("digraph \"a\\\"b\"") && dot.contains("2 -> 3 [label=\"data T\"];"), "{dot}");
    }
}
