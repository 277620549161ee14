//! Which kernels of a graph signal and wait for events of other graphs.

use super::super::Cx;
use super::super::order::Order;
use super::super::reach::Lane;
use super::conditions::Forms;
use super::skips::runs;
use super::{STEPS_TO_KEEP, Steps};
use crate::tg::Certainty;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wsp_core::tg::{EventNo, Instr};
use wsp_ir::tg::outline::NumberMap;

/// Nodes by event.
type Uses = BTreeMap<EventNo, Vec<u32>>;

/// A wait of a graph for an event of others.
pub(super) struct Wait {
    pub(super) event: EventNo,
    /// The kernels that wait.
    pub(super) nodes: Vec<u32>,
    /// Whether they run in every launch. Otherwise it is one kernel, and where that is skipped, nothing is waited for.
    pub(super) is_sure: bool,
}

pub(super) struct Events<'o> {
    order: &'o Order,
    /// Per graph.
    signals: Vec<Uses>,
    waits: Vec<Vec<Wait>>,
    /// Whether nodes are, or come before, one of others: answers so far.
    led: HashMap<Question, bool>,
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
        let merged = |uses: &BTreeMap<u32, Uses>| -> Vec<Uses> {
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
        let mut of = |uses: Uses| {
            let mut waits = Vec::new();
            for (event, nodes) in uses {
                let (sure, open): (Vec<u32>, Vec<u32>) = nodes.into_iter().partition(&mut is_sure);
                if !sure.is_empty() {
                    waits.push(Wait { event, nodes: sure, is_sure: true });
                }
                waits.extend(open.into_iter().map(|node| Wait { event, nodes: vec![node], is_sure: false }));
            }
            waits
        };
        let waits = merged(&waits).into_iter().map(&mut of).collect();
        Events { order, signals: merged(&signals), waits, led: HashMap::new() }
    }

    pub(super) fn signalled_by(&self, graph: u32) -> Vec<EventNo> {
        self.signals[graph as usize].keys().copied().collect()
    }

    /// The waits of a graph; elsewhere they go by their place here.
    pub(super) fn waits_of(&self, graph: u32) -> &[Wait] {
        &self.waits[graph as usize]
    }

    /// Whether a node is complete before its graph signals an event.
    pub(super) fn is_before_signal(
        &mut self,
        graph: u32,
        node: u32,
        event: EventNo,
        steps: &mut Steps,
    ) -> bool {
        let ends = |events: &Events<'_>| (vec![node], signalling(&events.signals, graph, event));
        self.leads(Question::BeforeSignal(graph, node, event), ends, steps)
    }

    /// Whether a node starts after a wait of its graph.
    pub(super) fn is_behind_wait(&mut self, graph: u32, wait: u32, node: u32, steps: &mut Steps) -> bool {
        let ends = |events: &Events<'_>| (events.waiting(graph, wait), vec![node]);
        self.leads(Question::BehindWait(graph, wait, node), ends, steps)
    }

    /// Whether a wait of a graph comes before it signals an event.
    pub(super) fn waits_before(
        &mut self,
        graph: u32,
        wait: u32,
        signalled: EventNo,
        steps: &mut Steps,
    ) -> bool {
        let ends = |events: &Events<'_>| {
            (events.waiting(graph, wait), signalling(&events.signals, graph, signalled))
        };
        self.leads(Question::WaitsBefore(graph, wait, signalled), ends, steps)
    }

    fn waiting(&self, graph: u32, wait: u32) -> Vec<u32> {
        self.waits[graph as usize][wait as usize].nodes.clone()
    }

    /// Of each of some nodes of a graph the events that it signals only when the node is complete.
    pub(super) fn signals_behind(&self, graph: u32, nodes: &[u32]) -> Vec<Vec<EventNo>> {
        let signals: Vec<(EventNo, u32)> = each(&self.signals[graph as usize]).collect();
        let targets: Vec<u32> = signals.iter().map(|(_, node)| self.rank(*node)).collect();
        let lane = |node: &u32| Lane { starts: vec![self.rank(*node)], targets: targets.clone() };
        let reached = match signals.is_empty() {
            true => vec![Vec::new(); nodes.len()],
            false => self.order.ordered().reached(&nodes.iter().map(lane).collect::<Vec<Lane>>()),
        };
        let of = |reached: Vec<bool>| {
            let found = signals.iter().zip(reached).filter(|(_, reached)| *reached);
            let mut events: Vec<EventNo> = found.map(|((event, _), _)| *event).collect();
            events.dedup();
            events
        };
        reached.into_iter().map(of).collect()
    }

    /// Of each of some nodes of a graph the waits before the node starts.
    pub(super) fn waits_ahead(&self, graph: u32, nodes: &[u32]) -> Vec<Vec<u32>> {
        let targets: Vec<u32> = nodes.iter().map(|node| self.rank(*node)).collect();
        let waits = &self.waits[graph as usize];
        let lane = |wait: &Wait| Lane {
            starts: wait.nodes.iter().map(|node| self.rank(*node)).collect(),
            targets: targets.clone(),
        };
        let reached = self.order.ordered().reached(&waits.iter().map(lane).collect::<Vec<Lane>>());
        let of = |at: usize| {
            let found = (0..).zip(&reached).filter(|(_, reached)| reached[at]);
            found.map(|(wait, _)| wait).collect()
        };
        (0..nodes.len()).map(of).collect()
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

/// Events with their nodes, by event.
fn each(uses: &Uses) -> impl Iterator<Item = (EventNo, u32)> {
    uses.iter().flat_map(|(event, nodes)| nodes.iter().map(|node| (*event, *node)))
}

/// Nodes of a graph that signal an event.
fn signalling(uses: &[Uses], graph: u32, event: EventNo) -> Vec<u32> {
    uses[graph as usize].get(&event).cloned().unwrap_or_default()
}

/// Per graph kernels that signal events of other graphs, and kernels that wait for events of others.
fn uses(cx: &Cx<'_>) -> (BTreeMap<u32, Uses>, BTreeMap<u32, Uses>) {
    let (mut signals, mut waits) = (BTreeMap::new(), BTreeMap::new());
    let mut kernels = NumberMap::new(cx.module.instrs.len());
    let mut graph = None;
    let add = |uses: &mut BTreeMap<u32, Uses>, graph: Option<u32>, event: EventNo, node: Option<u32>| {
        if let (Some(graph), Some(node)) = (graph, node) {
            uses.entry(graph).or_default().entry(event).or_default().push(node);
        }
    };
    for instr in &cx.module.instrs {
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
                add(&mut waits, graph, event_id, kernels.get(dst_kernel.0));
            }
            _ => {}
        }
    }
    // The caller may signal an external event at any time. A graph that signals an event waits for its own signal.
    let external: BTreeSet<EventNo> = cx.module.extern_events.iter().map(|(event, _)| *event).collect();
    signals.values_mut().for_each(|uses| uses.retain(|event, _| !external.contains(event)));
    for (graph, uses) in &mut waits {
        let own = |event: &EventNo| signals.get(graph).is_some_and(|signals| signals.contains_key(event));
        uses.retain(|event, _| !external.contains(event) && !own(event));
    }
    (signals, waits)
}
