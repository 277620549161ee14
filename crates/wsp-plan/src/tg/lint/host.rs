//! Launches that wait for launches which cannot come.
//!
//! The statements of a host without control flow are gone through in order. A launch that waits for an event which other graphs
//! signal needs one of them launched before the host waits for it, and before it on its own stream.

use super::{Cx, NEVER_HAPPENS, error};
use std::collections::BTreeMap;
use wsp_core::tg::{EventNo, GraphNo, Instr, StreamNo};
use wsp_ir::tg::Namespace;
use wsp_ir::tg::outline::{BlockKind, NumberMap};

/// What a graph waits for: the event, the instruction, and whether it stands in an arm or a loop.
type Wait = (EventNo, u32);

/// A launch whose events have not all been signalled by launches so far.
struct Pending {
    graph: u32,
    stream: StreamNo,
    at: u32,
    waits: Vec<Wait>,
}

pub(super) fn check(cx: &mut Cx<'_>) {
    let is_host = |kind: BlockKind| kind.is_loop() || kind.is_arm();
    let branches = cx.outline.blocks.iter().any(|(id, block)| {
        is_host(block.kind)
            && cx.outline.blocks.outwards(id).all(|(_, around)| around.kind != BlockKind::Graph)
    });
    let fused = cx.outline.graphs.iter().any(|graph| graph.parts.is_some());
    let launches = cx.module.instrs.iter().any(|instr| matches!(instr, Instr::TgLaunch { .. }));
    if branches || fused || !launches {
        return;
    }
    let (waits, signals) = events(cx);
    if waits.is_empty() {
        return;
    }
    go_through(cx, &waits, &signals);
}

/// What each graph waits for that it does not signal itself, and who signals what.
fn events(cx: &Cx<'_>) -> (BTreeMap<u32, Vec<Wait>>, BTreeMap<EventNo, Vec<u32>>) {
    let mut external = NumberMap::new(cx.module.instrs.len());
    for (event, _) in &cx.module.extern_events {
        external.insert(event.0, 0);
    }
    let mut waits: BTreeMap<u32, Vec<Wait>> = BTreeMap::new();
    let mut signals: BTreeMap<EventNo, Vec<u32>> = BTreeMap::new();
    let mut graph = None;
    for (at, instr) in cx.module.instrs.iter().enumerate() {
        let at = at as u32;
        match *instr {
            Instr::TgBegin { graph_id } => graph = cx.outline.graph(graph_id),
            Instr::SySignal { event_id, .. } => {
                let by = signals.entry(event_id).or_default();
                by.extend(graph.filter(|graph| by.last() != Some(graph)));
            }
            Instr::SyWait { event_id, .. } if external.get(event_id.0).is_none() => {
                let around = cx.outline.blocks.get(cx.outline.blocks.around(at)).kind;
                if let (Some(graph), BlockKind::Graph) = (graph, around) {
                    waits.entry(graph).or_default().push((event_id, at));
                }
            }
            _ => {}
        }
    }
    for (graph, list) in &mut waits {
        list.retain(|(event, _)| signals.get(event).is_some_and(|by| !by.contains(graph)));
    }
    waits.retain(|_, list| !list.is_empty());
    (waits, signals)
}

fn go_through(cx: &mut Cx<'_>, waits: &BTreeMap<u32, Vec<Wait>>, signals: &BTreeMap<EventNo, Vec<u32>>) {
    let mut launched = vec![false; cx.outline.graphs.len()];
    let mut pending: Vec<Pending> = Vec::new();
    for (at, instr) in cx.module.instrs.iter().enumerate() {
        let at = at as u32;
        let (graph_id, stream) = match *instr {
            Instr::TgLaunch { graph_id, stream, .. } => (graph_id, Some(stream)),
            Instr::TgInvoke { graph_id, .. } => (graph_id, Some(StreamNo(0))),
            Instr::TgSync { graph_id } => (graph_id, None),
            _ => continue,
        };
        let Some(graph) = cx.outline.graph(graph_id) else { continue };
        let Some(stream) = stream else {
            if let Some(stuck) = pending.iter().position(|launch| launch.graph == graph) {
                let stuck = pending.swap_remove(stuck);
                tell(cx, &stuck, signals, at, "the host waits here for ever");
            }
            continue;
        };
        // What waits on the same stream holds this launch back; so it signals nothing to it.
        let ahead = pending.iter().position(|launch| launch.stream == stream);
        if let Some(ahead) = ahead
            && pending[ahead].waits.iter().any(|(event, _)| signals[event].contains(&graph))
        {
            let stuck = pending.swap_remove(ahead);
            tell(cx, &stuck, signals, at, "this launch is behind it on the same stream");
            continue;
        }
        launched[graph as usize] = true;
        for launch in &mut pending {
            launch.waits.retain(|(event, _)| !signals[event].contains(&graph));
        }
        pending.retain(|launch| !launch.waits.is_empty());
        let missing = |wait: &&Wait| signals[&wait.0].iter().all(|by| !launched[*by as usize]);
        let open: Vec<Wait> = waits.get(&graph).into_iter().flatten().filter(missing).copied().collect();
        if !open.is_empty() {
            pending.push(Pending { graph, stream, at, waits: open });
        }
    }
    for stuck in pending {
        tell(cx, &stuck, signals, stuck.at, "");
    }
}

fn tell(cx: &mut Cx<'_>, stuck: &Pending, signals: &BTreeMap<EventNo, Vec<u32>>, at: u32, text: &str) {
    let (event, wait) = stuck.waits[0];
    let name = cx.module.name(Namespace::Event, GraphNo(0), event.0);
    let graph = cx.graph_name(stuck.graph);
    let message = format!("graph `{graph}` waits for event `{name}`, which nobody can signal by then");
    let mut found = cx.on(error(NEVER_HAPPENS, message), stuck.at, "launched here");
    found = cx.and(found, wait, "waits here");
    if at != stuck.at {
        found = cx.and(found, at, text);
    }
    let by: Vec<String> =
        signals[&event].iter().map(|graph| format!("`{}`", cx.graph_name(*graph))).collect();
    found = found.note(format!("signalled by {}", by.join(", ")));
    let first = cx.graph_name(signals[&event][0]);
    cx.report(found.help(format!("launch `{first}` before, or on another stream and before the host waits")));
}
