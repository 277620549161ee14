//! What waits for itself.

use super::order::{Edge, Node, Order, Point, Why};
use super::{CYCLE, Cx, error};
use std::collections::VecDeque;
use wsp_core::tg::GraphNo;
use wsp_ir::tg::Namespace;
use wsp_ordered::OrderedSet;

/// Most cycles that are told of one unit.
const MAX_CYCLES: usize = 8;

/// Reports cycles of an order that has some: each time the shortest through a node, without nodes that were in one before.
pub(super) fn report(cx: &mut Cx<'_>, order: &Order) {
    let nodes = order.first.len() - 1;
    let mut gone = vec![false; nodes];
    for _ in 0..MAX_CYCLES {
        let Some(on_cycle) = node_on_cycle(order, &gone) else { return };
        let cycle = shortest(order, on_cycle, &gone);
        for edge in &cycle {
            gone[edge.from as usize] = true;
        }
        tell(cx, order, cycle);
    }
}

/// A node on a cycle of nodes that are not gone: what is left when whatever waits for nothing has been taken away, and
/// then a walk against the edges until a node comes again.
fn node_on_cycle(order: &Order, gone: &[bool]) -> Option<u32> {
    let nodes = gone.len();
    let mut waiting = vec![0u32; nodes];
    let left = |edge: &&Edge| !gone[edge.from as usize] && !gone[edge.to as usize];
    for edge in order.edges.iter().filter(left) {
        waiting[edge.to as usize] += 1;
    }
    let mut ready: Vec<u32> =
        (0..nodes as u32).filter(|&node| !gone[node as usize] && waiting[node as usize] == 0).collect();
    while let Some(node) = ready.pop() {
        for edge in order.from(Node(node)).iter().filter(left) {
            waiting[edge.to as usize] -= 1;
            if waiting[edge.to as usize] == 0 {
                ready.push(edge.to);
            }
        }
    }
    let mut before = vec![u32::MAX; nodes];
    for edge in order.edges.iter().filter(left) {
        if waiting[edge.from as usize] > 0 {
            before[edge.to as usize] = edge.from;
        }
    }
    let mut at = (0..nodes as u32).find(|&node| waiting[node as usize] > 0)?;
    let mut seen = vec![false; nodes];
    while !std::mem::replace(&mut seen[at as usize], true) {
        at = before[at as usize];
    }
    Some(at)
}

/// The shortest cycle through a node.
fn shortest(order: &Order, start: u32, gone: &[bool]) -> Vec<Edge> {
    let mut by: Vec<Option<Edge>> = vec![None; gone.len()];
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for edge in order.from(Node(node)).iter().filter(|edge| !gone[edge.to as usize]) {
            if by[edge.to as usize].is_none() {
                by[edge.to as usize] = Some(*edge);
                open.push_back(edge.to);
            }
        }
        if by[start as usize].is_some() {
            break;
        }
    }
    let mut cycle = Vec::new();
    let mut at = start;
    while let Some(edge) = by[at as usize] {
        cycle.push(edge);
        at = edge.from;
        if at == start {
            break;
        }
    }
    cycle.reverse();
    cycle
}

fn tell(cx: &mut Cx<'_>, order: &Order, mut cycle: Vec<Edge>) {
    let first = (0..cycle.len()).min_by_key(|&at| cycle[at].from).unwrap_or(0);
    cycle.rotate_left(first);
    let graphs: OrderedSet<u32> = cycle.iter().filter_map(|edge| graph_of(cx, edge.from)).collect();
    let name = |node: u32| name(cx, order, node, graphs.len() > 1);
    let mut path: Vec<String> = cycle.iter().map(|edge| name(edge.from)).collect();
    path.push(path[0].clone());
    path.dedup();
    let mut found = error(CYCLE, format!("{} waits for itself: {}", path[0], path.join(" → ")));
    let texts: Vec<String> =
        cycle.iter().map(|edge| describe(order, edge, [name(edge.from), name(edge.to)])).collect();
    for (at, (edge, text)) in cycle.iter().zip(texts).enumerate() {
        found = if at == 0 { cx.on(found, edge.origin, &text) } else { cx.and(found, edge.origin, &text) };
    }
    found = found.help("remove one of these, or put what is to follow into another launch");
    cx.report(match for_earlier(cx, order, &cycle) {
        Some([wait, signal]) => found.help(format!(
            "if `{wait}` is to wait for the signal of an earlier launch, say that it comes before this one: TG_DEPEND({wait}, {signal})"
        )),
        None => found,
    });
}

/// Of a cycle through an event a kernel that waits for it and one that signals it, if an edge from the first to the second makes the wait one for an
/// earlier launch. Members of a gang have no such edge.
fn for_earlier(cx: &Cx<'_>, order: &Order, cycle: &[Edge]) -> Option<[String; 2]> {
    if cycle.iter().any(|edge| matches!(order.point(edge.from), Some(Point::Gang(_)))) {
        return None;
    }
    let pairs = cycle.iter().zip(cycle.iter().cycle().skip(1));
    let mut found = pairs.filter(|(signal, wait)| {
        let is_event = matches!(order.point(signal.to), Some(Point::Event(_)));
        is_event && [signal.from, wait.to].iter().all(|node| (*node as usize) < cx.outline.kernels.len())
    });
    found.next().map(|(signal, wait)| [wait.to, signal.from].map(|node| cx.node_name(Node(node))))
}

fn describe(order: &Order, edge: &Edge, [from, to]: [String; 2]) -> String {
    match edge.why {
        Why::After | Why::Data(_) => format!("{to} after {from}"),
        Why::Join => match (order.point(edge.from), order.point(edge.to)) {
            (None, _) => format!("{from} stands before it"),
            (_, None) => format!("{to} stands behind it"),
            _ => "and nothing behind it starts before".to_owned(),
        },
        Why::Event => format!("from {from} to {to}"),
        Why::Gang => format!("{to} starts with the gang"),
        Why::Copy => format!("{to} after {from}: they touch the same bytes, in program order"),
        Why::Control => format!("{to} after {from}: by control flow"),
    }
}

/// The graph of a kernel or copy.
fn graph_of(cx: &Cx<'_>, node: u32) -> Option<u32> {
    let kernels = &cx.outline.kernels;
    match kernels.get(node as usize) {
        Some(kernel) => Some(kernel.graph),
        None => {
            let copy = node - kernels.len() as u32;
            let graph = cx.outline.graphs.iter().position(|graph| graph.copies.contains(&copy));
            graph.map(|graph| graph as u32)
        }
    }
}

/// What messages call a node; `says_graph` if its graph is to be said too.
fn name(cx: &Cx<'_>, order: &Order, node: u32, says_graph: bool) -> String {
    match order.point(node) {
        None => match graph_of(cx, node).filter(|_| says_graph) {
            Some(graph) => format!("`{}` of graph `{}`", cx.node_name(Node(node)), cx.graph_name(graph)),
            None => format!("`{}`", cx.node_name(Node(node))),
        },
        Some(Point::Event(event)) => {
            format!("event `{}`", cx.module.name(Namespace::Event, GraphNo(0), event.0))
        }
        Some(Point::Join(_)) => "barrier".to_owned(),
        Some(Point::Gang(_)) => "gang".to_owned(),
        Some(Point::Decision(_)) => "condition".to_owned(),
        Some(Point::LoopBegin(_)) => "loop".to_owned(),
        Some(Point::LoopEnd(_)) => "end of the loop".to_owned(),
    }
}
