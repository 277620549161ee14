//! What cannot be compared of launches: what is said of it, and what is handed over to the run.

use super::super::access::Access;
use super::super::values::depends_on;
use super::super::{AT_LAUNCH, Cx, note};
use super::Steps;
use super::checker::Checker;
use super::events::Events;
use super::laid::Wait;
use super::meets::launched_graphs;
use super::open::{EventWait, GraphEvents, OpenLaunches, OpenUse, UseWait, user_of};
use super::tell::{launched_by, waits_for};
use crate::Certainty;
use wsp_core::tg::{Instr, IterNo};
use wsp_ir::tg::outline::Block;
use wsp_ordered::{Arrange, OrderedSet};

impl Checker<'_> {
    /// Says which tensors cannot be compared here, and keeps what a run needs to compare them.
    pub(super) fn leave_open(&mut self, cx: &mut Cx<'_>) {
        for (&tensor, &(meeting, launches, may_wait)) in &self.open {
            let ends = [meeting.a, meeting.b].map(|at| self.list[at]);
            tell(cx, tensor, (&ends, may_wait), launches);
        }
        if self.is_cut && self.has_streams {
            self.uses.extend(self.all(cx));
            let message = "not every two launches on different streams were compared here";
            let found = note(AT_LAUNCH, message)
                .note("the host has too many ways through its conditions and loops, or too many launches")
                .note("every run compares the launches that it makes");
            cx.report(found.help("order the launches with TG_SYNC, or put all of them on one stream"));
        }
        if !self.uses.is_empty() {
            cx.launches = self.handed_over(cx);
        }
    }

    /// Uses of all graphs that the host launches, of bytes that one of them may write.
    fn all(&self, cx: &Cx<'_>) -> Vec<(u32, usize)> {
        let graphs: OrderedSet<u32> = launched_graphs(cx).collect();
        let of = |graph: u32| self.uses_of[graph as usize].iter().map(move |at| (graph, *at));
        let mut all: Vec<(u32, usize)> = graphs.into_iter().flat_map(of).collect();
        let tensor = |at: usize| self.list[at].tensor;
        let written = all.iter().filter(|(_, at)| self.list[*at].writes());
        let written: OrderedSet<u32> = written.map(|(_, at)| tensor(*at)).collect();
        all.retain(|(_, at)| written.contains(&tensor(*at)));
        all
    }

    fn handed_over(&mut self, cx: &Cx<'_>) -> OpenLaunches {
        let all: Vec<(u32, usize)> = self.uses.iter().copied().collect();
        let mut uses = Vec::with_capacity(all.len());
        for of_graph in all.chunk_by(|a, b| a.0 == b.0) {
            let graph = of_graph[0].0;
            let accesses: Vec<&Access> = of_graph.iter().map(|(_, at)| &self.list[*at]).collect();
            let signals = self.events.signals_behind(cx, graph, &accesses);
            let waits = self.events.waits_ahead(cx, graph, &accesses);
            for ((&(_, at), signals), waits) in of_graph.iter().zip(signals).zip(waits) {
                let access = &self.list[at];
                let (user, name) = user_of(cx, access);
                let waits = waits.into_iter().map(|wait| {
                    let of = &self.events.waits_of(graph)[wait as usize];
                    UseWait { wait, iters: rounds_of_both(cx, of, access) }
                });
                let waits = waits.collect();
                uses.push(OpenUse {
                    graph: cx.graph_no(graph),
                    at: access.at,
                    direction: access.direction,
                    name,
                    user,
                    span: cx.module.spans.get(access.at as usize).copied().unwrap_or_default(),
                    signals,
                    waits,
                });
            }
        }
        // A binding to one of several tensors is one use, and so is all that one condition loads.
        uses.arrange_by_key(|of| (of.graph, of.at, of.user, of.direction as u32));
        uses.dedup();
        let graphs: OrderedSet<u32> = launched_graphs(cx).collect();
        let events = graphs.into_iter().filter_map(|graph| events_of(cx, &mut self.events, graph)).collect();
        OpenLaunches { uses, events }
    }
}

/// Variables of the unrolled loops around an access and a wait that a launch may skip.
fn rounds_of_both(cx: &Cx<'_>, wait: &Wait, access: &Access) -> Vec<IterNo> {
    let Some(kernel) = wait.nodes.first().filter(|_| !wait.is_sure) else { return Vec::new() };
    let (blocks, rounds) = (&cx.outline.blocks, cx.rounds());
    let (meet, ..) = blocks.meet(cx.outline.kernels[*kernel as usize].block, access.block);
    let loops = blocks.outwards(meet).filter(|(id, block)| block.kind.is_loop() && rounds.is_unrolled(*id));
    let iter = |(_, block): (_, &Block)| match cx.module.instrs[block.open as usize] {
        Instr::CfLoop { iterator, .. } => Some(iterator),
        _ => None,
    };
    let mut iters: Vec<IterNo> = loops.filter_map(iter).collect();
    iters.reverse();
    iters
}

/// The events of a graph; none if it has none.
fn events_of(cx: &Cx<'_>, events: &mut Events<'_>, graph: u32) -> Option<GraphEvents> {
    let signals = events.signalled_by(graph);
    let kernel = |wait: &Wait| wait.nodes.first().filter(|_| !wait.is_sure).copied();
    let of = |wait: &Wait| EventWait {
        event: wait.event,
        kernel: kernel(wait).map(|node| cx.outline.kernels[node as usize].at),
    };
    let waits: Vec<EventWait> = events.waits_of(graph).iter().map(of).collect();
    if signals.is_empty() && waits.is_empty() {
        return None;
    }
    let mut steps = Steps::new(usize::MAX);
    let mut before = Vec::new();
    let numbers = 0..waits.len() as u32;
    for (wait, &signal) in numbers.flat_map(|wait| signals.iter().map(move |signal| (wait, signal))) {
        if events.waits_before(cx, (graph, wait), (signal, None, Certainty::Maybe), &mut steps) {
            before.push((wait, signal));
        }
    }
    Some(GraphEvents { graph: cx.graph_no(graph), signals, waits, before })
}

fn tell(cx: &mut Cx<'_>, tensor: u32, (ends, may_wait): (&[Access; 2], bool), (first, second): (u32, u32)) {
    let graphs = [launched_by(cx, first), launched_by(cx, second)];
    let message = format!(
        "launches of graphs `{}` and `{}` use `{}` in no order, maybe the same bytes",
        graphs[0],
        graphs[1],
        cx.tensor_name(tensor)
    );
    let mut found = cx.on(note(AT_LAUNCH, message), second, "submitted while the other may run");
    if first != second {
        found = cx.and(found, first, "the other launch");
    }
    let places = if ends[0].at == ends[1].at { &ends[..1] } else { &ends[..] };
    for access in places {
        let on = depends_on(cx, access);
        let text = match access.load {
            _ if !on.is_empty() => format!("depends on {on}"),
            Some(_) => "loaded here".to_owned(),
            None => "bound here".to_owned(),
        };
        found = cx.and(found, access.at, &text);
    }
    if may_wait {
        found = found.note("a wait for an event may order them; a kernel that is skipped waits for nothing");
    }
    let found = found.note("not checked here: every run compares the bytes as soon as it knows them");
    cx.report(waits_for(cx, found, first));
}
