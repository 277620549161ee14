//! Launches whose bytes only a run knows: what a run needs to compare them, and what it says of those that meet.

use super::super::access::Access;
use super::super::flow::verb_of;
use super::super::open::depends_on;
use super::super::order::Node;
use super::super::{AT_LAUNCH, Cx, LAUNCHES, note};
use super::Steps;
use super::checker::Checker;
use super::events::{Events, Wait};
use super::tell::{launched_by, waits_for};
use crate::Certainty;
use std::collections::BTreeSet;
use std::ops::Range;
use wsp_core::tg::{Direction, EventNo, GraphNo, Instr, IterNo};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::tg::outline::Block;

/// What a run compares of launches on different streams.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpenLaunches {
    /// Uses of bytes that may meet those of another launch in no order.
    pub uses: Vec<OpenUse>,
    /// By which events launches wait for each other.
    pub events: Vec<GraphEvents>,
}

/// A use of bytes by the launches of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenUse {
    /// The graph that is launched.
    pub graph: GraphNo,
    /// The instruction: a binding or a copy, or one with a condition or count.
    pub at: u32,
    /// What is done with the bytes; [`Direction::Auto`] if nothing says it.
    pub direction: Direction,
    /// The kernel's or copy's name, or what a condition or count is called.
    pub name: String,
    /// Who uses them.
    pub user: UsedBy,
    /// Where it stands.
    pub span: Span,
    /// Events that the graph signals only when this is complete, in every round; for the others see [`EventOrder`](super::EventOrder).
    pub signals: Vec<EventNo>,
    /// Waits of the graph before it does this.
    pub waits: Vec<UseWait>,
}

/// A wait before a use of bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UseWait {
    /// Its place in [`GraphEvents::waits`].
    pub wait: u32,
    /// Variables of the unrolled loops around both, the outermost first: a kernel that a launch may skip is waited for in the same round.
    pub iters: Vec<IterNo>,
}

/// Who uses bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum UsedBy {
    /// A kernel that is bound to them.
    Kernel,
    /// A copy.
    Copy,
    /// A condition or count, which loads them.
    Condition,
}

impl UsedBy {
    /// What messages call it, whose name is this.
    pub(super) fn said(self, name: &str) -> String {
        match self {
            UsedBy::Condition => name.to_owned(),
            _ => format!("`{name}`"),
        }
    }
}

/// Who does an access, with its name.
pub(super) fn user_of(cx: &Cx<'_>, access: &Access) -> (UsedBy, String) {
    let name = || cx.node_name(Node(access.node));
    match (access.load, &cx.module.instrs[access.at as usize]) {
        (None, Instr::McCopy { .. }) => (UsedBy::Copy, name()),
        (None, _) => (UsedBy::Kernel, name()),
        (Some(_), Instr::CfLoop { .. }) => (UsedBy::Condition, "the count of the loop".to_owned()),
        (Some(_), _) => (UsedBy::Condition, "the condition".to_owned()),
    }
}

/// Who uses bytes in a launch: with its name, and that of the graph.
type End<'a> = (UsedBy, &'a str, &'a str);

/// Says how an event orders a launch with a condition of another, if one of two ends is such; the first was submitted first.
pub(super) fn by_event(found: Diagnostic, first: End<'_>, second: End<'_>) -> Diagnostic {
    let ((_, name, graph), is_first) = match (first.0, second.0) {
        (UsedBy::Condition, _) => (first, true),
        (_, UsedBy::Condition) => (second, false),
        _ => return found,
    };
    let found = found.note(format!(
        "{name} is looked at as soon as kernels before it in `{graph}` have written what it loads: it waits for no event itself"
    ));
    let other = if is_first { second.2 } else { first.2 };
    found.help(match is_first {
        true => format!(
            "or an event: SY_SIGNAL(EVENT, KERNEL) of a kernel in `{graph}` that runs as {name} says, and SY_WAIT of it in `{other}`"
        ),
        false => format!(
            "or an event that `{other}` signals: SY_WAIT(EVENT, KERNEL) of a kernel in `{graph}` that writes what {name} then loads"
        ),
    })
}

impl OpenUse {
    /// Whether it may write the bytes.
    pub fn writes(&self) -> bool {
        self.direction != Direction::In
    }
}

/// Events of a graph that join its launches with those of other graphs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphEvents {
    /// The graph that is launched.
    pub graph: GraphNo,
    /// Those that it signals.
    pub signals: Vec<EventNo>,
    /// Its waits.
    pub waits: Vec<EventWait>,
    /// Waits by their place, and what it signals behind them.
    pub before: Vec<(u32, EventNo)>,
}

/// A wait of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventWait {
    /// The event.
    pub event: EventNo,
    /// The kernel that waits, by its instruction, if a launch may skip it. Then the launch waits for nothing.
    pub kernel: Option<u32>,
}

/// A use of bytes by a launch.
#[derive(Clone, Debug)]
pub struct LaunchUse<'a> {
    /// What is used.
    pub of: &'a OpenUse,
    /// The graph's name.
    pub graph: &'a str,
    /// Which launch it is, from 1 on in the order of submission.
    pub launch: u64,
    /// The stream's name.
    pub stream: &'a str,
    /// The iteration.
    pub iteration: i64,
    /// Where the launch stands.
    pub launched: Span,
}

impl LaunchUse<'_> {
    /// What a run says whose launches met; `self` was submitted first.
    pub fn meets(&self, other: &LaunchUse<'_>, tensor: &str, bytes: Range<u64>) -> Diagnostic {
        let is_same = self.of.graph == other.of.graph;
        let is_guess = [self, other].iter().any(|end| end.of.direction == Direction::Auto);
        let message = match is_same {
            true => format!("two launches of graph `{}` use `{tensor}` in no order", self.graph),
            false => {
                let graphs = (self.graph, other.graph);
                format!("launches of graphs `{}` and `{}` use `{tensor}` in no order", graphs.0, graphs.1)
            }
        };
        let of = if is_same || is_guess { Diagnostic::warning } else { Diagnostic::error };
        let mut found = of(LAUNCHES, message);
        let places = [
            (other.launched, "submitted while the other may run".to_owned()),
            (self.launched, "the other launch".to_owned()),
            (self.of.span, format!("{} of the other {} it here", self.user(), self.verb())),
            (other.of.span, format!("{} {} it here", other.user(), other.verb())),
        ];
        for (span, text) in places.iter().filter(|(span, _)| *span != Span::default()) {
            found = match found.primary.is_none() {
                true => found.at(*span, text),
                false => found.label(*span, text),
            };
        }
        found = found.note(self.told()).note(other.told());
        found = found.note(format!("both touch bytes {} to {} of `{tensor}`", bytes.start, bytes.end));
        if is_same {
            found = found.note("a simulation runs them one after another; a device does not");
        }
        found = found.note("TG_SYNC behind the other launch orders them, and so does one stream for both");
        found = found.help(format!("TG_SYNC({})", self.graph));
        if is_same || [self, other].iter().any(|end| end.of.user == UsedBy::Copy) {
            return found;
        }
        if [self, other].iter().any(|end| end.of.user == UsedBy::Condition) {
            return by_event(found, self.end(), other.end());
        }
        found.help(format!(
            "or an event: SY_SIGNAL(EVENT, {}) in `{}`, SY_WAIT(EVENT, {}) in `{}`",
            self.of.name, self.graph, other.of.name, other.graph
        ))
    }

    fn end(&self) -> End<'_> {
        (self.of.user, &self.of.name, self.graph)
    }

    fn user(&self) -> String {
        self.of.user.said(&self.of.name)
    }

    fn verb(&self) -> &'static str {
        verb_of(self.of.direction)
    }

    fn told(&self) -> String {
        let LaunchUse { of, graph, launch, stream, iteration, .. } = self;
        let user = of.user.said(&of.name);
        format!("{user} in launch {launch}, of graph `{graph}` on stream {stream}, iteration {iteration}")
    }
}

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
        let graphs: BTreeSet<u32> = launched_graphs(cx).collect();
        let of = |graph: u32| self.uses_of[graph as usize].iter().map(move |at| (graph, *at));
        let mut all: Vec<(u32, usize)> = graphs.into_iter().flat_map(of).collect();
        let tensor = |at: usize| self.list[at].tensor;
        let written = all.iter().filter(|(_, at)| self.list[*at].writes());
        let written: BTreeSet<u32> = written.map(|(_, at)| tensor(*at)).collect();
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
        uses.sort_by_key(|of| (of.graph, of.at, of.user, of.direction as u32));
        uses.dedup();
        let graphs: BTreeSet<u32> = launched_graphs(cx).collect();
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

pub(super) fn launched_graphs(cx: &Cx<'_>) -> impl Iterator<Item = u32> {
    cx.module.instrs.iter().filter_map(|instr| match instr {
        Instr::TgLaunch { graph_id, .. }
        | Instr::TgInvoke { graph_id, .. }
        | Instr::TgRestore { graph_id, .. } => cx.outline.graph(*graph_id),
        _ => None,
    })
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
