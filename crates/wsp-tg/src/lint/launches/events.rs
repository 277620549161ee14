//! Which kernels of a graph signal and wait for events of other graphs.

use super::super::Cx;
use super::super::access::Access;
use super::super::order::Order;
use super::super::reach::Lane;
use super::conditions::{Forms, Known};
use super::laid::{Ends, LaidOut, Use, Wait};
use super::skips::runs;
use super::{STEPS_TO_KEEP, Steps};
use crate::Certainty;
use std::cell::OnceCell;
use std::collections::HashMap;
use wsp_core::tg::{EventNo, GraphNo, Instr};
use wsp_ir::tg::earlier_waits;
use wsp_ir::tg::outline::NumberMap;
use wsp_ordered::{OrderedMap, OrderedSet};

/// Nodes by event.
type Uses = OrderedMap<EventNo, Vec<u32>>;

pub(super) struct Events<'o> {
    order: &'o Order,
    /// Made when a question needs it.
    laid: OnceCell<LaidOut>,
    /// Per graph.
    signals: Vec<Uses>,
    waits: Vec<Vec<Wait>>,
    /// Whether nodes are, or come before, one of others: answers so far.
    led: HashMap<Question, bool>,
    /// Whether rounds of a wait come before a signal, by graph, wait, event, iteration, and how surely they take place at least.
    laid_before: HashMap<(u32, u32, EventNo, Option<i64>, Certainty), bool>,
}

/// A question of order within a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Question {
    BeforeSignal(u32, u32, EventNo),
    BehindWait(u32, u32, u32),
    WaitsBefore(u32, u32, EventNo),
}

impl<'o> Events<'o> {
    /// Those of all graphs; `parts` are the graphs that each is made of.
    pub(super) fn new(cx: &Cx<'_>, order: &'o Order, parts: &[Vec<u32>], steps: &mut Steps) -> Events<'o> {
        let (signals, waits) = uses(cx);
        let merged = |uses: &OrderedMap<u32, Uses>| -> Vec<Uses> {
            let of = |parts: &Vec<u32>| {
                let mut nodes = Uses::new();
                for (event, of) in parts.iter().filter_map(|part| uses.get(part)).flatten() {
                    nodes.entry(*event).or_default().extend(of);
                }
                nodes
            };
            parts.iter().map(of).collect()
        };
        let mut forms = Forms::default();
        let mut is_sure =
            |node: &u32| runs(cx, (None, &mut forms), (*node, None), None, steps) == Certainty::Surely;
        let laid = OnceCell::new();
        let mut of = |graph: GraphNo, uses: Uses| {
            let mut waits = Vec::new();
            for (event, nodes) in uses {
                let (sure, open): (Vec<u32>, Vec<u32>) = nodes.into_iter().partition(&mut is_sure);
                let surely_waits = |node: &u32| {
                    let kernel = &cx.outline.kernels[*node as usize];
                    let unknown = (&Known::default(), &mut Forms::default());
                    laid_out(&laid, cx).surely_waits(cx, unknown, graph, (event, kernel.at), None)
                };
                let of_rounds: Vec<u32> = open.iter().copied().filter(surely_waits).collect();
                for (nodes, is_of_rounds) in [(sure, false), (of_rounds, true)] {
                    if !nodes.is_empty() {
                        waits.push(Wait { event, nodes, is_sure: true, is_of_rounds });
                    }
                }
                let open = open.into_iter().map(|node| vec![node]);
                waits.extend(open.map(|nodes| Wait { event, nodes, is_sure: false, is_of_rounds: false }));
            }
            waits
        };
        let graphs = cx.outline.graphs.iter();
        let waits = graphs.zip(merged(&waits)).map(|(graph, uses)| of(graph.no, uses)).collect();
        Events {
            order,
            laid,
            signals: merged(&signals),
            waits,
            led: HashMap::new(),
            laid_before: HashMap::new(),
        }
    }

    /// The unit as a run lays it out.
    pub(super) fn laid(&self, cx: &Cx<'_>) -> &LaidOut {
        laid_out(&self.laid, cx)
    }

    pub(super) fn signalled_by(&self, graph: u32) -> Vec<EventNo> {
        self.signals[graph as usize].keys().copied().collect()
    }

    /// The waits of a graph; elsewhere they go by their place here.
    pub(super) fn waits_of(&self, graph: u32) -> &[Wait] {
        &self.waits[graph as usize]
    }

    /// Whether an access is complete before its graph signals an event, in rounds in which it may touch bytes of the other.
    pub(super) fn is_before_signal(
        &mut self,
        cx: &Cx<'_>,
        ends: Ends<'_>,
        event: EventNo,
        steps: &mut Steps,
    ) -> bool {
        let (graph, node) = (ends.0.graph, ends.0.access.node);
        let nodes = |events: &Events<'_>| (vec![node], signalling(&events.signals, graph, event));
        self.leads(Question::BeforeSignal(graph, node, event), nodes, steps)
            || self.laid(cx).is_before(cx, ends, event)
    }

    /// Whether an access starts after a wait of its graph, in such rounds.
    pub(super) fn is_behind_wait(
        &mut self,
        cx: &Cx<'_>,
        wait: u32,
        ends: Ends<'_>,
        steps: &mut Steps,
    ) -> bool {
        let (graph, node) = (ends.0.graph, ends.0.access.node);
        let nodes = |events: &Events<'_>| (events.waiting(graph, wait), vec![node]);
        self.leads(Question::BehindWait(graph, wait, node), nodes, steps)
            || self.is_laid_behind(cx, wait, ends)
    }

    /// Whether a wait of a graph comes before it signals an event, in rounds in which the wait takes place at least so surely where a launch has this
    /// iteration.
    pub(super) fn waits_before(
        &mut self,
        cx: &Cx<'_>,
        (graph, wait): (u32, u32),
        (signalled, iteration, least): (EventNo, Option<i64>, Certainty),
        steps: &mut Steps,
    ) -> bool {
        let ends = |events: &Events<'_>| {
            (events.waiting(graph, wait), signalling(&events.signals, graph, signalled))
        };
        if self.leads(Question::WaitsBefore(graph, wait, signalled), ends, steps) {
            return true;
        }
        let key = (graph, wait, signalled, iteration, least);
        if let Some(&answer) = self.laid_before.get(&key) {
            return answer;
        }
        steps.spend(STEPS_TO_KEEP);
        let of = (cx.graph_no(graph), &self.waits[graph as usize][wait as usize]);
        let answer = self.laid(cx).waits_before(cx, of, (signalled, iteration, least));
        self.laid_before.insert(key, answer);
        answer
    }

    /// Whether a kernel of a wait runs in some round of a launch with an iteration, if that is known, where forms lie so.
    pub(super) fn surely_waits(
        &self,
        cx: &Cx<'_>,
        (known, forms): (&Known, &mut Forms),
        (graph, wait): (u32, u32),
        iteration: Option<i64>,
    ) -> bool {
        let Wait { event, nodes, .. } = &self.waits[graph as usize][wait as usize];
        let at = |node: &u32| cx.outline.kernels[*node as usize].at;
        let mut kernels = nodes.iter().map(at);
        let graph = cx.graph_no(graph);
        kernels.any(|at| self.laid(cx).surely_waits(cx, (known, &mut *forms), graph, (*event, at), iteration))
    }

    /// Kernels that wait whenever what edges lead to runs, in the same round.
    fn waiting(&self, graph: u32, wait: u32) -> Vec<u32> {
        let wait = &self.waits[graph as usize][wait as usize];
        if wait.is_of_rounds { Vec::new() } else { wait.nodes.clone() }
    }

    fn is_laid_behind(&self, cx: &Cx<'_>, wait: u32, ends: Ends<'_>) -> bool {
        let wait = &self.waits[ends.0.graph as usize][wait as usize];
        self.laid(cx).is_behind(cx, wait, ends)
    }

    /// Of each of some accesses of a graph the events that it signals only when the access is complete.
    pub(super) fn signals_behind(&self, cx: &Cx<'_>, graph: u32, accesses: &[&Access]) -> Vec<Vec<EventNo>> {
        let signals: Vec<(EventNo, u32)> = each(&self.signals[graph as usize]).collect();
        let targets: Vec<u32> = signals.iter().map(|(_, node)| self.rank(*node)).collect();
        let lane = |access: &&Access| Lane { starts: vec![self.rank(access.node)], targets: targets.clone() };
        let reached = match signals.is_empty() {
            true => vec![Vec::new(); accesses.len()],
            false => self.order.ordered().reached(&accesses.iter().map(lane).collect::<Vec<Lane>>()),
        };
        let of = |(access, reached): (&&Access, Vec<bool>)| {
            let is_before = |(of, reached): &(&(EventNo, u32), bool)| {
                *reached || self.laid(cx).is_before(cx, (Use { graph, access, iteration: None }, None), of.0)
            };
            let found = signals.iter().zip(reached).filter(is_before);
            let mut events: Vec<EventNo> = found.map(|((event, _), _)| *event).collect();
            events.dedup();
            events
        };
        accesses.iter().zip(reached).map(of).collect()
    }

    /// Of each of some accesses of a graph the waits before the access.
    pub(super) fn waits_ahead(&self, cx: &Cx<'_>, graph: u32, accesses: &[&Access]) -> Vec<Vec<u32>> {
        let targets: Vec<u32> = accesses.iter().map(|access| self.rank(access.node)).collect();
        let waits = &self.waits[graph as usize];
        let lane = |wait: u32| Lane {
            starts: self.waiting(graph, wait).iter().map(|node| self.rank(*node)).collect(),
            targets: targets.clone(),
        };
        let lanes: Vec<Lane> = (0..waits.len() as u32).map(lane).collect();
        let reached = self.order.ordered().reached(&lanes);
        let of = |at: usize| {
            let is_behind = |(wait, reached): &(u32, &Vec<bool>)| {
                let of = Use { graph, access: accesses[at], iteration: None };
                reached[at] || self.is_laid_behind(cx, *wait, (of, None))
            };
            let found = (0..).zip(&reached).filter(is_behind);
            found.map(|(wait, _)| wait).collect()
        };
        (0..accesses.len()).map(of).collect()
    }

    fn rank(&self, node: u32) -> u32 {
        self.order.rank[node as usize]
    }

    /// Whether one of some nodes of a graph is one of others, or comes before one. Where no steps are left, the answer is `false`.
    fn leads(
        &mut self,
        question: Question,
        ends: impl FnOnce(&Events<'_>) -> (Vec<u32>, Vec<u32>),
        steps: &mut Steps,
    ) -> bool {
        if let Some(&answer) = self.led.get(&question) {
            return answer;
        }
        let (from, to) = ends(self);
        if !steps.spend(STEPS_TO_KEEP + self.order.first.len() + from.len() + to.len()) {
            return false;
        }
        let lane = Lane {
            starts: from.into_iter().map(|node| self.rank(node)).collect(),
            targets: to.into_iter().map(|node| self.rank(node)).collect(),
        };
        let answer = self.order.ordered().reached(&[lane]).iter().flatten().any(|reached| *reached);
        self.led.insert(question, answer);
        answer
    }
}

fn laid_out<'l>(laid: &'l OnceCell<LaidOut>, cx: &Cx<'_>) -> &'l LaidOut {
    laid.get_or_init(|| LaidOut::new(cx))
}

/// Events with their nodes, by event.
fn each(uses: &Uses) -> impl Iterator<Item = (EventNo, u32)> {
    uses.iter().flat_map(|(event, nodes)| nodes.iter().map(|node| (*event, *node)))
}

/// Nodes of a graph that signal an event.
fn signalling(uses: &[Uses], graph: u32, event: EventNo) -> Vec<u32> {
    uses[graph as usize].get(&event).cloned().unwrap_or_default()
}

/// Per graph kernels that signal events, and kernels that wait for those of other launches.
fn uses(cx: &Cx<'_>) -> (OrderedMap<u32, Uses>, OrderedMap<u32, Uses>) {
    let (mut signals, mut waits) = (OrderedMap::new(), OrderedMap::new());
    let mut kernels = NumberMap::new(cx.module.instrs.len());
    let mut graph = None;
    let add = |uses: &mut OrderedMap<u32, Uses>, graph: Option<u32>, event: EventNo, node: Option<u32>| {
        if let (Some(graph), Some(node)) = (graph, node) {
            uses.entry(graph).or_default().entry(event).or_default().push(node);
        }
    };
    let earlier = earlier_waits(cx.module);
    let mut others: OrderedMap<u32, Uses> = OrderedMap::new();
    for (at, instr) in (0..).zip(&cx.module.instrs) {
        match *instr {
            Instr::TgBegin { graph_id } => {
                graph = cx.outline.graph(graph_id);
                if let Some(graph) = graph {
                    cx.outline.kernel_map(graph, &mut kernels);
                }
            }
            Instr::SySignal { event_id, src_kernel } => {
                add(&mut signals, graph, event_id, kernels.get(src_kernel.0));
            }
            Instr::SyWait { event_id, dst_kernel } => {
                let uses = if earlier.contains(&at) { &mut others } else { &mut waits };
                add(uses, graph, event_id, kernels.get(dst_kernel.0));
            }
            _ => {}
        }
    }
    // The caller may signal an external event at any time. A graph that signals an event waits for its own signal, or before that for one of another launch.
    let external: OrderedSet<EventNo> = cx.module.extern_events.iter().map(|(event, _)| *event).collect();
    signals.values_mut().for_each(|uses| uses.retain(|event, _| !external.contains(event)));
    for (graph, uses) in &mut waits {
        let own = |event: &EventNo| signals.get(graph).is_some_and(|signals| signals.contains_key(event));
        uses.retain(|event, _| !external.contains(event) && !own(event));
    }
    for (graph, uses) in others {
        let of_graph = waits.entry(graph).or_default();
        for (event, nodes) in uses.into_iter().filter(|(event, _)| !external.contains(event)) {
            of_graph.entry(event).or_default().extend(nodes);
        }
    }
    (signals, waits)
}
