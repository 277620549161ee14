//! Launches that use the same bytes in no order, and tensors that the host releases under a launch.
//!
//! The statements of the host are gone through along every way that conditions leave open, a loop as if it had at most three rounds. A launch comes
//! behind the launch before it on its stream, and behind those that the host waited for before it. Events join kernels of launches as the
//! runtime joins them: a wait means the launch that signals and was submitted last before it, else the first that comes.

use super::access::{Access, Overlap, overlap};
use super::order::{Node, Order};
use super::reach::Lane;
use super::{Cx, LAUNCHES, NOT_ALL, error, note, warning};
use std::collections::{BTreeMap, BTreeSet};
use wsp_core::tg::{EventNo, ExprOp, GraphNo, Instr, MemLocation, Scalar, StreamNo};
use wsp_ir::tg::outline::{Home, NumberMap};

/// Ways through the host's statements that are followed.
const MOST_WAYS: usize = 64;
/// Launches on one of them.
const MOST_LAUNCHES: usize = 96;
/// Pairs of accesses that are compared.
const MOST_PAIRS: usize = 4_000_000;
/// Rounds that a loop is taken to have at most.
const ROUNDS: i64 = 3;

/// A statement of the host.
enum Statement {
    Launch {
        graph: u32,
        stream: StreamNo,
        at: u32,
    },
    Sync(u32),
    Free {
        tensor: u32,
        at: u32,
    },
    /// Reads memory: the host waits for everything in flight.
    Read,
    If {
        value: Option<i64>,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Loop {
        count: Option<i64>,
        body: Vec<Statement>,
    },
    Break {
        value: Option<i64>,
    },
}

/// A launch on a way.
#[derive(Clone, Copy)]
struct Launch {
    graph: u32,
    stream: StreamNo,
    at: u32,
}

/// What stands on one way.
#[derive(Default)]
struct Way {
    launches: Vec<Launch>,
    /// Launches after which each comes directly.
    after: Vec<Vec<usize>>,
    /// Releases: the tensor, the instruction, and the launches that may be in flight.
    frees: Vec<(u32, u32, Vec<usize>)>,
    /// Launches that the host waited for.
    over: BTreeSet<usize>,
    /// Whether not all of it is there.
    is_cut: bool,
}

/// Decisions on a way, and those that are still to be made the other way.
#[derive(Default)]
struct Choices {
    taken: Vec<bool>,
    next: usize,
}

impl Choices {
    fn choose(&mut self) -> bool {
        if self.next == self.taken.len() {
            self.taken.push(false);
        }
        self.next += 1;
        self.taken[self.next - 1]
    }

    /// Goes to the next way; `false` if there is none.
    fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some(last) = self.taken.pop() {
            if !last {
                self.taken.push(true);
                return true;
            }
        }
        false
    }
}

pub(super) fn check(cx: &mut Cx<'_>, order: &Order) {
    let launches = cx
        .module
        .instrs
        .iter()
        .filter(|instr| matches!(instr, Instr::TgLaunch { .. } | Instr::TgInvoke { .. }));
    if launches.count() == 0 {
        return;
    }
    let mut at = 0;
    let statements = read(cx, &mut at);
    let mut checker = Checker::new(cx, order);
    let (mut choices, mut ways) = (Choices::default(), 0);
    loop {
        let mut way = Way::default();
        follow(&statements, &mut way, &mut choices);
        checker.way(cx, &way);
        ways += 1;
        checker.is_cut |= way.is_cut;
        if !choices.advance() {
            break;
        }
        if ways == MOST_WAYS {
            checker.is_cut = true;
            break;
        }
    }
    checker.report(cx);
}

/// Statements from an instruction on, up to the end of their block.
fn read(cx: &Cx<'_>, at: &mut u32) -> Vec<Statement> {
    let mut statements = Vec::new();
    let reads = |scalar: Scalar| cx.module.scalar(scalar).iter().any(|op| matches!(op, ExprOp::Load(..)));
    while let Some(instr) = cx.module.instrs.get(*at as usize) {
        let here = *at;
        *at += 1;
        let read_of = |scalar: Scalar, statements: &mut Vec<Statement>| {
            if reads(scalar) {
                statements.push(Statement::Read);
            }
        };
        match *instr {
            Instr::TgBegin { graph_id } => {
                if let Some(graph) = cx.outline.graph(graph_id) {
                    *at = cx.outline.graphs[graph as usize].end + 1;
                }
            }
            Instr::TgLaunch { graph_id, stream, .. } => {
                let graph = cx.outline.graph(graph_id);
                statements.extend(graph.map(|graph| Statement::Launch { graph, stream, at: here }));
            }
            Instr::TgInvoke { graph_id, iteration } => {
                read_of(iteration, &mut statements);
                let graph = cx.outline.graph(graph_id);
                let stream = StreamNo(0);
                statements.extend(graph.map(|graph| Statement::Launch { graph, stream, at: here }));
            }
            Instr::TgSync { graph_id } => {
                statements.extend(cx.outline.graph(graph_id).map(Statement::Sync));
            }
            Instr::McFree { tensor_id } => {
                let tensor = cx.outline.tensor_index(tensor_id);
                statements.extend(tensor.map(|tensor| Statement::Free { tensor, at: here }));
            }
            Instr::CfIf { condition } => {
                read_of(condition, &mut statements);
                let then = read(cx, at);
                let has_else = matches!(cx.module.instrs.get(*at as usize - 1), Some(Instr::CfElse {}));
                let otherwise = if has_else { read(cx, at) } else { Vec::new() };
                statements.push(Statement::If { value: condition.as_const(), then, otherwise });
            }
            Instr::CfLoop { count, .. } => {
                read_of(count, &mut statements);
                let body = read(cx, at);
                statements.push(Statement::Loop { count: count.as_const(), body });
            }
            Instr::CfWhile { condition, .. } => {
                let mut body = Vec::new();
                read_of(condition, &mut body);
                body.extend(read(cx, at));
                read_of(condition, &mut body);
                let count = condition.as_const().filter(|value| *value == 0);
                statements.push(Statement::Loop { count, body });
            }
            Instr::CfBreak { condition } => {
                read_of(condition, &mut statements);
                statements.push(Statement::Break { value: condition.as_const() });
            }
            Instr::CfElse {} | Instr::CfEndif {} | Instr::CfEndloop {} | Instr::CfEndwhile {} => break,
            _ => {}
        }
    }
    statements
}

/// Follows statements; `false` if a break leaves the loop around them.
fn follow(statements: &[Statement], way: &mut Way, choices: &mut Choices) -> bool {
    for statement in statements {
        match statement {
            Statement::Launch { graph, stream, at } => {
                if way.launches.len() == MOST_LAUNCHES {
                    way.is_cut = true;
                    return true;
                }
                let mut after: Vec<usize> = way.over.iter().copied().collect();
                after.extend(way.launches.iter().rposition(|other| other.stream == *stream));
                way.launches.push(Launch { graph: *graph, stream: *stream, at: *at });
                way.after.push(after);
            }
            Statement::Sync(graph) => {
                let launches = way.launches.iter().enumerate().filter(|(_, launch)| launch.graph == *graph);
                way.over.extend(launches.map(|(at, _)| at));
            }
            Statement::Free { tensor, at } => {
                let flying = (0..way.launches.len()).filter(|launch| !way.over.contains(launch)).collect();
                way.frees.push((*tensor, *at, flying));
            }
            Statement::Read => way.over.extend(0..way.launches.len()),
            Statement::If { value, then, otherwise } => {
                let taken = value.map_or_else(|| choices.choose(), |value| value != 0);
                if !follow(if taken { then } else { otherwise }, way, choices) {
                    return false;
                }
            }
            Statement::Loop { count, body } => {
                let rounds = count.unwrap_or(ROUNDS).clamp(0, ROUNDS);
                for _ in 0..rounds {
                    if !follow(body, way, choices) {
                        break;
                    }
                }
            }
            Statement::Break { value } => {
                if value.map_or_else(|| choices.choose(), |value| value != 0) {
                    return false;
                }
            }
        }
    }
    true
}

/// A kernel or copy that signals an event or waits for one.
#[derive(Clone, Copy)]
struct Use {
    event: EventNo,
    graph: u32,
    node: u32,
}

/// Two accesses of two launches.
#[derive(Clone, Copy)]
struct Meeting {
    a: Access,
    b: Access,
    is_sure: bool,
}

/// Where two launches meet: two nodes, a tensor, and the instructions of both launches.
type Place = (u32, u32, u32, u32, u32);

struct Checker<'o> {
    order: &'o Order,
    /// Per graph the graphs that it is made of.
    parts: Vec<Vec<u32>>,
    signals: Vec<Use>,
    waits: Vec<Use>,
    meetings: BTreeMap<(u32, u32), Vec<Meeting>>,
    compared: usize,
    /// What is to be said.
    found: BTreeMap<Place, (bool, Meeting)>,
    frees: BTreeMap<(u32, u32), u32>,
    /// Tensors of accesses whose bytes are not known here.
    open: BTreeSet<u32>,
    is_cut: bool,
}

impl<'o> Checker<'o> {
    fn new(cx: &Cx<'_>, order: &'o Order) -> Checker<'o> {
        let mut parts: Vec<Vec<u32>> = Vec::new();
        for (at, graph) in (0u32..).zip(&cx.outline.graphs) {
            let of = |no: GraphNo| cx.outline.graph(no).filter(|part| *part < at);
            let made = match graph.parts {
                Some((first, second)) => [first, second]
                    .into_iter()
                    .filter_map(of)
                    .flat_map(|part| parts[part as usize].clone())
                    .collect(),
                None => vec![at],
            };
            parts.push(made);
        }
        let (signals, waits) = events(cx);
        Checker {
            order,
            parts,
            signals,
            waits,
            meetings: BTreeMap::new(),
            compared: 0,
            found: BTreeMap::new(),
            frees: BTreeMap::new(),
            open: BTreeSet::new(),
            is_cut: false,
        }
    }

    fn way(&mut self, cx: &Cx<'_>, way: &Way) {
        let flow = Instances::new(self, way);
        for second in 0..way.launches.len() {
            for first in 0..second {
                if !flow.is_behind(first, second) {
                    self.pair(cx, way, &flow, first, second);
                }
            }
        }
        for (tensor, at, flying) in &way.frees {
            let uses = |launch: &usize| {
                let graphs = &self.parts[way.launches[*launch].graph as usize];
                cx.accesses.of(*tensor).iter().any(|access| graphs.contains(&access.graph))
            };
            if let Some(&launch) = flying.iter().find(|launch| uses(launch)) {
                self.frees.entry((*at, *tensor)).or_insert(way.launches[launch].at);
            }
        }
    }

    fn pair(&mut self, cx: &Cx<'_>, way: &Way, flow: &Instances, first: usize, second: usize) {
        let (a, b) = (way.launches[first], way.launches[second]);
        let key = (a.graph, b.graph);
        if !self.meetings.contains_key(&key) {
            let meetings = self.meet(cx, a.graph, b.graph);
            self.meetings.insert(key, meetings);
        }
        let Some(meetings) = self.meetings.get(&key) else { return };
        let mut found = Vec::new();
        for meeting in meetings {
            let places = (meeting.a.node, meeting.b.node, meeting.a.tensor, a.at, b.at);
            if self.found.contains_key(&places) {
                continue;
            }
            let is_ordered = flow.is_ordered(self, (first, meeting.a.node), (second, meeting.b.node))
                || flow.is_ordered(self, (second, meeting.b.node), (first, meeting.a.node));
            if !is_ordered {
                found.push((places, (a.graph == b.graph, *meeting)));
            }
        }
        for (places, finding) in found {
            if finding.1.is_sure {
                self.found.insert(places, finding);
            } else {
                self.open.insert(finding.1.a.tensor);
            }
        }
    }

    /// Accesses of two graphs that touch the same bytes, one of which writes: the first of each pair of nodes and tensor.
    fn meet(&mut self, cx: &Cx<'_>, first: u32, second: u32) -> Vec<Meeting> {
        let mut meetings: Vec<Meeting> = Vec::new();
        for tensor in 0..cx.outline.tensors.len() as u32 {
            let def = &cx.outline.tensors[tensor as usize];
            if matches!(def.home, Home::Graph(_)) && def.location != MemLocation::Shared {
                continue;
            }
            let of = |graph: u32| {
                let parts = self.parts[graph as usize].clone();
                let all = cx.accesses.of(tensor).iter();
                all.filter(move |access| parts.contains(&access.graph) && access.low < access.high)
            };
            let seconds: Vec<&Access> = of(second).collect();
            for a in of(first) {
                self.compared += seconds.len();
                if self.compared > MOST_PAIRS {
                    self.is_cut = true;
                    return meetings;
                }
                for b in seconds.iter().filter(|b| a.writes() || b.writes()) {
                    let known =
                        meetings.iter().rev().take(64).any(|m| {
                            (m.a.node, m.b.node, m.a.tensor) == (a.node, b.node, tensor) && m.is_sure
                        });
                    let meets = match overlap(cx.known, cx.outline, a, b) {
                        Overlap::Surely => Some(!moves(cx, a) && !moves(cx, b)),
                        Overlap::Maybe => Some(false),
                        Overlap::Never if moves(cx, a) || moves(cx, b) => Some(false),
                        Overlap::Never => None,
                    };
                    if let Some(is_sure) = meets.filter(|_| !known) {
                        meetings.push(Meeting { a: *a, b: **b, is_sure });
                    }
                }
            }
        }
        meetings
    }

    fn report(self, cx: &mut Cx<'_>) {
        for ((.., at, behind), (is_same, Meeting { a, b, .. })) in &self.found {
            race(cx, (*at, *behind), *is_same, a, b);
        }
        for ((at, tensor), launch) in &self.frees {
            let name = cx.tensor_name(*tensor);
            let graph = launched(cx, *launch);
            let message = format!("`{name}` is released while a launch of graph `{graph}` may use it");
            let found = cx.on(error(LAUNCHES, message), *at, "released here");
            let found = cx.and(found, *launch, "launched here, and not waited for");
            cx.report(found.help(format!("TG_SYNC({graph})")));
        }
        for tensor in &self.open {
            let message = format!(
                "whether launches use the same bytes of `{}` at the same time was not compared",
                cx.tensor_name(*tensor)
            );
            let found = note(NOT_ALL, message).note(
                "nothing orders the launches, and the bytes depend on what is known only when they run",
            );
            cx.report(found.help("order the launches with TG_SYNC, an event, or one stream"));
        }
        if self.is_cut {
            let message = "not every way through the statements of the host was checked";
            cx.report(
                note(NOT_ALL, message)
                    .note("launches on different streams may touch the same bytes in no order"),
            );
        }
    }
}

/// Whether the bytes of an access differ from launch to launch.
fn moves(cx: &Cx<'_>, access: &Access) -> bool {
    let Instr::McBind { offset, size, .. } = cx.module.instrs[access.at as usize] else { return false };
    let moves = |scalar: Scalar| cx.module.scalar(scalar).contains(&ExprOp::Iteration);
    !access.exact && (moves(offset) || moves(size))
}

fn launched(cx: &Cx<'_>, at: u32) -> String {
    match cx.module.instrs[at as usize] {
        Instr::TgLaunch { graph_id, .. } | Instr::TgInvoke { graph_id, .. } => {
            cx.outline.graph(graph_id).map_or_else(String::new, |graph| cx.graph_name(graph))
        }
        _ => String::new(),
    }
}

fn race(cx: &mut Cx<'_>, (first, second): (u32, u32), is_same: bool, a: &Access, b: &Access) {
    let graphs = [launched(cx, first), launched(cx, second)];
    let tensor = cx.tensor_name(a.tensor);
    let names = [cx.node_name(Node(a.node)), cx.node_name(Node(b.node))];
    let message = match is_same {
        true => format!("two launches of graph `{}` use `{tensor}` in no order", graphs[0]),
        false => format!("launches of graphs `{}` and `{}` use `{tensor}` in no order", graphs[0], graphs[1]),
    };
    let in_arm = [a, b]
        .iter()
        .any(|access| cx.outline.blocks.outwards(access.block).any(|(_, around)| around.kind.is_arm()));
    let is_sure = a.is_known() && b.is_known() && !in_arm && !is_same;
    let found = if is_sure { error(LAUNCHES, message) } else { warning(LAUNCHES, message) };
    let mut found = cx.on(found, second, "submitted while the other may run");
    if first != second {
        found = cx.and(found, first, "the other launch");
    }
    found = cx.and(found, a.at, &format!("`{}` of the other {} it here", names[0], super::flow::verb(a)));
    found = cx.and(found, b.at, &format!("`{}` {} it here", names[1], super::flow::verb(b)));
    if is_same {
        found = found.note("a simulation runs them one after another; a device does not");
    }
    found = found.note("TG_SYNC behind the other launch orders them, and so does one stream for both");
    cx.report(found.help(format!("TG_SYNC({})", graphs[0])));
}

/// Kernels that signal events of other graphs, and kernels that wait for events of others.
fn events(cx: &Cx<'_>) -> (Vec<Use>, Vec<Use>) {
    let (mut signals, mut waits) = (Vec::new(), Vec::new());
    let mut kernels = NumberMap::new(cx.module.instrs.len());
    let mut graph = None;
    for instr in &cx.module.instrs {
        match *instr {
            Instr::TgBegin { graph_id } => {
                graph = cx.outline.graph(graph_id);
                if let Some(graph) = graph {
                    cx.outline.kernel_map(graph, &mut kernels);
                }
            }
            Instr::SySignal { event_id: event, src_kernel } => {
                let node = kernels.get(src_kernel.0);
                signals.extend(graph.zip(node).map(|(graph, node)| Use { event, graph, node }));
            }
            Instr::SyWait { event_id: event, dst_kernel } => {
                let node = kernels.get(dst_kernel.0);
                waits.extend(graph.zip(node).map(|(graph, node)| Use { event, graph, node }));
            }
            _ => {}
        }
    }
    // The caller may signal an external event at any time. A graph that signals an event waits for its own signal.
    let external = |event: EventNo| cx.module.extern_events.iter().any(|(other, _)| *other == event);
    signals.retain(|signal| !external(signal.event));
    let own: BTreeSet<(EventNo, u32)> = signals.iter().map(|signal| (signal.event, signal.graph)).collect();
    waits.retain(|wait| !external(wait.event) && !own.contains(&(wait.event, wait.graph)));
    (signals, waits)
}

/// The launches of a way with the orders between them: of each its begin, its end, and the events that it signals and waits for.
struct Instances {
    graphs: Vec<u32>,
    /// Edges between places: `2 * n` is the begin of launch `n`, `2 * n + 1` its end; events stand behind.
    edges: Vec<Vec<usize>>,
    /// Places of signals and of waits, by launch and event.
    signals: BTreeMap<(usize, EventNo), usize>,
    waits: BTreeMap<(usize, EventNo), usize>,
}

impl Instances {
    fn new(checker: &Checker<'_>, way: &Way) -> Instances {
        let count = way.launches.len();
        let mut made = Instances {
            graphs: way.launches.iter().map(|launch| launch.graph).collect(),
            edges: vec![Vec::new(); 2 * count],
            signals: BTreeMap::new(),
            waits: BTreeMap::new(),
        };
        for (at, after) in way.after.iter().enumerate() {
            made.edges[2 * at].push(2 * at + 1);
            after.iter().for_each(|before| made.edges[2 * before + 1].push(2 * at));
        }
        let mut opened: BTreeMap<EventNo, Vec<usize>> = BTreeMap::new();
        for (at, launch) in way.launches.iter().enumerate() {
            for event in checker.events_of(&checker.signals, launch.graph) {
                opened.entry(event).or_default().push(at);
                let place = made.place();
                made.edges[2 * at].push(place);
                made.signals.insert((at, event), place);
            }
        }
        for (at, launch) in way.launches.iter().enumerate() {
            for event in checker.events_of(&checker.waits, launch.graph) {
                let place = made.place();
                made.edges[place].push(2 * at + 1);
                made.waits.insert((at, event), place);
                let by = opened.get(&event).map_or(&[][..], Vec::as_slice);
                let bound = by.iter().rev().find(|signal| **signal < at).or_else(|| by.first());
                if let Some(signal) = bound.and_then(|signal| made.signals.get(&(*signal, event)).copied()) {
                    made.edges[signal].push(place);
                }
                for signalled in checker.events_of(&checker.signals, launch.graph) {
                    if checker.waits_before(launch.graph, event, signalled)
                        && let Some(&signal) = made.signals.get(&(at, signalled))
                    {
                        made.edges[place].push(signal);
                    }
                }
            }
        }
        made
    }

    fn place(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    fn reaches(&self, from: Vec<usize>, targets: &[usize]) -> bool {
        let mut seen = vec![false; self.edges.len()];
        let mut open = from;
        while let Some(place) = open.pop() {
            if targets.contains(&place) {
                return true;
            }
            if !std::mem::replace(&mut seen[place], true) {
                open.extend_from_slice(&self.edges[place]);
            }
        }
        false
    }

    /// Whether a launch as a whole comes behind another.
    fn is_behind(&self, first: usize, second: usize) -> bool {
        self.reaches(vec![2 * first + 1], &[2 * second])
    }

    /// Whether a node of one launch comes before a node of another.
    fn is_ordered(&self, checker: &Checker<'_>, (first, a): (usize, u32), (second, b): (usize, u32)) -> bool {
        let mut from = vec![2 * first + 1];
        for (&(_, event), &place) in self.signals.range((first, EventNo(0))..=(first, EventNo(u32::MAX))) {
            if checker.leads(a, checker.nodes(&checker.signals, self.graphs[first], event)) {
                from.push(place);
            }
        }
        let mut targets = vec![2 * second];
        for (&(_, event), &place) in self.waits.range((second, EventNo(0))..=(second, EventNo(u32::MAX))) {
            let waits = checker.nodes(&checker.waits, self.graphs[second], event);
            if waits.into_iter().any(|wait| checker.leads(wait, vec![b])) {
                targets.push(place);
            }
        }
        self.reaches(from, &targets)
    }
}

impl Checker<'_> {
    fn events_of(&self, uses: &[Use], graph: u32) -> BTreeSet<EventNo> {
        let parts = &self.parts[graph as usize];
        uses.iter().filter(|of| parts.contains(&of.graph)).map(|of| of.event).collect()
    }

    fn nodes(&self, uses: &[Use], graph: u32, event: EventNo) -> Vec<u32> {
        let parts = &self.parts[graph as usize];
        uses.iter().filter(|of| of.event == event && parts.contains(&of.graph)).map(|of| of.node).collect()
    }

    /// Whether a node is one of others of its graph, or comes before one.
    fn leads(&self, node: u32, others: Vec<u32>) -> bool {
        if others.contains(&node) {
            return true;
        }
        let rank = |node: u32| self.order.rank[node as usize];
        let targets = others.into_iter().map(rank).collect();
        let lane = Lane { starts: vec![rank(node)], targets };
        self.order.ordered().reached(&[lane]).iter().flatten().any(|reached| *reached)
    }

    /// Whether a graph waits for an event before it signals another.
    fn waits_before(&self, graph: u32, event: EventNo, signalled: EventNo) -> bool {
        let signals = self.nodes(&self.signals, graph, signalled);
        self.nodes(&self.waits, graph, event).into_iter().any(|wait| self.leads(wait, signals.clone()))
    }
}
