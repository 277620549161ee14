//! One way of the hosts of all devices as one order: launches, and in each the graph as a run lays it out for the device.

use super::super::Cx;
use super::Steps;
use super::conditions::{Condition, Declared, Forms};
use super::joint::{Does, Joint, Wait};
use super::way::Way;
use crate::Certainty;
use crate::plan::{FixedItem, GraphPlan, NotifyItem, UnitPlan};
use std::collections::{HashMap, HashSet};
use wsp_core::tg::image::{
    GuardRecord, LevelRecord, LoopKind, LoopRecord, NONE, NodeKind, WHEN_NONZERO, WHEN_SKIPPED, WHEN_ZERO,
};
use wsp_core::tg::{EventNo, ExprOp, Scalar};
use wsp_ir::tg::outline::Variable;
use wsp_ordered::{Arrange, OrderedMap};

/// Steps that one way costs at most.
const MOST_STEPS: usize = 4_000_000;
/// Rounds of a loop that are followed one by one.
const MOST_ROUNDS: i64 = 1 << 14;

/// What a node of a launch does, in a round of the loops around it.
pub(super) struct Done {
    pub(super) device: u32,
    /// The binding, the copy, the condition or the count.
    pub(super) instr: u32,
    pub(super) point: u32,
    /// Whether it does.
    pub(super) is_done: Certainty,
    /// The rounds, and the iteration if it is known.
    pub(super) values: Vec<(Variable, i64)>,
}

/// The order of the ways of hosts, each with the plan of its device, and what some instructions do in it. `None` if it is too long, or goes on from a
/// checkpoint.
pub(super) fn laid_way<'p>(
    cx: &Cx<'_>,
    forms: &mut Forms,
    hosts: impl Iterator<Item = (&'p UnitPlan, &'p Way)>,
    asked: &HashSet<u32>,
) -> Option<(Joint, Vec<Done>)> {
    let hosts: Vec<(&UnitPlan, &Way)> = hosts.collect();
    // Each device knows what those before it decided.
    let known = hosts.last()?.1;
    let devices = hosts.len() as u32;
    let joint = Joint::default();
    let mut steps = Steps::new(MOST_STEPS);
    let done = Vec::new();
    let mut builder = Builder { cx, forms, known, joint, steps: &mut steps, device: 0, devices, asked, done };
    for (device, (plan, way)) in (0..).zip(&hosts) {
        if !way.is_whole || way.launches.iter().any(|launch| launch.is_restored) {
            return None;
        }
        builder.device = device;
        builder.host(plan, way)?;
    }
    let Builder { mut joint, done, .. } = builder;
    joint.mates(&mut steps);
    (!steps.are_over()).then_some((joint, done))
}

struct Builder<'b, 'c, 'm> {
    cx: &'b Cx<'c>,
    forms: &'b mut Forms,
    known: &'m Way,
    joint: Joint,
    steps: &'b mut Steps,
    device: u32,
    devices: u32,
    /// Instructions of which it is noted what they do.
    asked: &'b HashSet<u32>,
    done: Vec<Done>,
}

/// Bindings, copies, conditions and counts by node, each with the numbers of the unrolled loops around it.
type Instrs = HashMap<u32, Vec<(u32, FixedItem)>>;

/// A launch that is laid out: its begin, its end, and what it has to do with events.
struct Launched {
    begin: u32,
    end: u32,
    signals: OrderedMap<EventNo, Vec<u32>>,
    /// Waits, and whether each takes place in every such launch.
    waits: Vec<(EventNo, u32, bool)>,
}

/// What is around the nodes of a level.
struct Around<'p> {
    plan: &'p GraphPlan,
    instrs: &'p Instrs,
    iteration: Option<i64>,
    /// Loops around it, with their rounds if those are known.
    rounds: Vec<(u32, Option<i64>)>,
    /// Whether it runs.
    runs: Certainty,
    /// Whether it stands for rounds that are not counted.
    many: bool,
}

impl Builder<'_, '_, '_> {
    fn point(&mut self, does: Does) -> u32 {
        self.steps.spend(4);
        self.joint.point(does)
    }

    fn edge(&mut self, from: u32, to: u32) {
        self.steps.spend(1);
        self.joint.edge(from, to);
    }

    /// The launches of a device, and its waits. `None` where there is too much.
    fn host(&mut self, plan: &UnitPlan, way: &Way) -> Option<()> {
        let mut launches: Vec<Launched> = Vec::new();
        let waits: Vec<u32> = way.waits.iter().map(|_| self.point(Does::Nothing)).collect();
        waits.windows(2).for_each(|pair| self.edge(pair[0], pair[1]));
        for launch in &way.launches {
            let graph = plan.graph(self.cx.graph_no(launch.graph))?;
            let made = self.launch(&plan.graphs[graph as usize], launch.iteration);
            launch.before.into_iter().for_each(|before| self.edge(launches[before].end, made.begin));
            launch.over.into_iter().for_each(|over| self.edge(made.end, waits[over]));
            launch.waits.checked_sub(1).into_iter().for_each(|last| self.edge(waits[last], made.begin));
            launches.push(made);
            if self.steps.are_over() {
                return None;
            }
        }
        self.events(&launches);
        Some(())
    }

    /// A wait for an event is for the signal of the last launch before its own that signals it, else for that of the first.
    fn events(&mut self, launches: &[Launched]) {
        for (at, launch) in launches.iter().enumerate() {
            for (event, wait, is_sure) in &launch.waits {
                let signals = |other: &&Launched| other.signals.contains_key(event);
                let by =
                    launches[..at].iter().rev().find(signals).or_else(|| launches[at..].iter().find(signals));
                for &signal in by.iter().flat_map(|other| &other.signals[event]) {
                    match is_sure {
                        true => self.edge(signal, *wait),
                        false => self.joint.open_edge(signal, *wait),
                    }
                }
            }
        }
    }

    fn launch(&mut self, plan: &GraphPlan, iteration: Option<i64>) -> Launched {
        let (begin, end) = (self.point(Does::Nothing), self.point(Does::Nothing));
        self.edge(begin, end);
        let mut made = Launched { begin, end, signals: OrderedMap::new(), waits: Vec::new() };
        let instrs = instrs(plan, self.asked);
        let instrs = &instrs;
        let around =
            Around { plan, instrs, iteration, rounds: Vec::new(), runs: Certainty::Surely, many: false };
        self.level(&around, plan.records.top, (begin, end), &mut made);
        made
    }

    /// The nodes of a level between two points. Says whether a break leaves it.
    fn level(
        &mut self,
        around: &Around<'_>,
        level: LevelRecord,
        (begin, end): (u32, u32),
        made: &mut Launched,
    ) -> Certainty {
        let records = &around.plan.records;
        let nodes = level.first..level.first + level.len;
        let (guards, leaves) = self.guards(around, nodes.clone());
        let is_on = |guard: u32| both(around.runs, guards.get(&guard).copied().unwrap_or(Certainty::Surely));
        // Where edges lead to, and where they come from.
        let mut ends: HashMap<u32, (u32, u32)> = HashMap::new();
        for node in nodes.clone() {
            let record = records.nodes[node as usize];
            let on = is_on(record.guard);
            let point = self.node(around, node, on, made);
            self.edge(begin, point.0);
            self.edge(point.1, end);
            ends.insert(node, point);
        }
        for node in nodes.clone() {
            let record = records.nodes[node as usize];
            for next in &records.succs[record.first as usize..record.end as usize] {
                self.edge(ends[&node].1, ends[next].0);
            }
        }
        for gang in &records.gangs[level.first_gang as usize..(level.first_gang + level.gangs) as usize] {
            // Members start when all may.
            let members = &records.members[gang.first as usize..(gang.first + gang.len) as usize];
            let start = self.point(Does::Nothing);
            for member in members {
                let before = nodes.clone().filter(|node| {
                    let record = records.nodes[*node as usize];
                    records.succs[record.first as usize..record.end as usize].contains(member)
                });
                before.for_each(|node| self.edge(ends[&node].1, start));
                self.edge(start, ends[member].0);
            }
        }
        leaves
    }

    /// A node: where it begins and where it ends.
    fn node(&mut self, around: &Around<'_>, node: u32, on: Certainty, made: &mut Launched) -> (u32, u32) {
        let plan = around.plan;
        let record = plan.records.nodes[node as usize];
        let does = match NodeKind::from_code(record.kind) {
            Some(NodeKind::Notify) => {
                let NotifyItem { device, notify, .. } = plan.notifies[record.item as usize];
                Does::Sends((self.device, device.0, notify.0), on, around.many)
            }
            Some(NodeKind::WaitNotify) => {
                let NotifyItem { device, notify, instr, .. } = plan.notify_waits[record.item as usize];
                let wait = Wait { device: self.device, from: device.0, notify: notify.0, at: instr };
                // A device that there is not sends nothing, and none waits for it.
                match wait.from < self.devices {
                    true => Does::Waits(wait, on, around.many),
                    false => Does::Nothing,
                }
            }
            _ => Does::Nothing,
        };
        let point = self.point(does);
        self.note(around, node, (point, on));
        match NodeKind::from_code(record.kind) {
            Some(NodeKind::Signal) => {
                let event = plan.signals[record.item as usize].event;
                made.signals.entry(event).or_default().push(point);
            }
            Some(NodeKind::WaitEvent) if on != Certainty::Never => {
                let event = plan.event_waits[record.item as usize].event;
                made.waits.push((event, point, on == Certainty::Surely));
            }
            Some(NodeKind::Loop) => return (point, self.rounds(around, record.item, (point, on), made)),
            _ => {}
        }
        (point, point)
    }

    /// Notes what a node does that is asked for.
    fn note(&mut self, around: &Around<'_>, node: u32, (point, is_done): (u32, Certainty)) {
        for (instr, fixed) in around.instrs.get(&node).into_iter().flatten() {
            let fixed = around.plan.fixed_of(*fixed).iter().map(|(iter, number)| (*iter, *number));
            let rounds = around.rounds.iter().filter_map(|(at, round)| {
                let iter = around.plan.loops[*at as usize].iter?;
                Some((iter, (*round)?))
            });
            let rounds = rounds.chain(fixed).map(|(iter, number)| (Variable::Loop(iter), number));
            let iteration = around.iteration.map(|iteration| (Variable::Iteration, iteration));
            let values: Vec<(Variable, i64)> = rounds.chain(iteration).collect();
            self.steps.spend(4 + values.len());
            self.done.push(Done { device: self.device, instr: *instr, point, is_done, values });
        }
    }

    /// The rounds of a loop that runs one after the other, and the point behind them.
    fn rounds(
        &mut self,
        around: &Around<'_>,
        at: u32,
        (begin, on): (u32, Certainty),
        made: &mut Launched,
    ) -> u32 {
        let record: LoopRecord = around.plan.records.loops[at as usize];
        let value = around.plan.conditions[record.condition as usize].value;
        let count = match record.kind == LoopKind::Count as u32 {
            true => self.number(around, value),
            false if self.condition(around, value) == Certainty::Never => Some(0),
            false => None,
        };
        let count = count.filter(|count| *count <= MOST_ROUNDS);
        let mut runs = if on == Certainty::Surely && count.is_none() { Certainty::Maybe } else { on };
        let mut last = begin;
        for round in 0..count.unwrap_or(1) {
            if self.steps.are_over() || runs == Certainty::Never {
                break;
            }
            let next = self.point(Does::Nothing);
            let mut rounds = around.rounds.clone();
            rounds.push((at, count.map(|_| round)));
            let inner = Around { rounds, runs, many: around.many || count.is_none(), ..*around };
            let leaves = self.level(&inner, record.body, (last, next), made);
            last = next;
            runs = match leaves {
                Certainty::Surely => Certainty::Never,
                Certainty::Maybe => both(runs, Certainty::Maybe),
                Certainty::Never => runs,
            };
        }
        last
    }

    /// Which guards of the nodes of a level are on, and whether a break leaves the level.
    fn guards(
        &mut self,
        around: &Around<'_>,
        nodes: std::ops::Range<u32>,
    ) -> (HashMap<u32, Certainty>, Certainty) {
        let records = &around.plan.records;
        let decides = [NodeKind::Decide as u32, NodeKind::Break as u32];
        let (mut on, mut leaves): (HashMap<u32, Certainty>, Certainty) = (HashMap::new(), Certainty::Never);
        let mut decisions: Vec<(u32, u32)> = nodes
            .map(|node| records.nodes[node as usize])
            .filter(|record| decides.contains(&record.kind))
            .map(|record| (record.item, record.guard))
            .collect();
        decisions.arrange();
        for (item, guard) in decisions {
            let decision = records.decisions[item as usize];
            let is_made = on.get(&guard).copied().unwrap_or(Certainty::Surely);
            let holds = self.condition(around, around.plan.conditions[decision.condition as usize].value);
            let outcomes = [
                (WHEN_SKIPPED, not(is_made)),
                (WHEN_ZERO, both(is_made, not(holds))),
                (WHEN_NONZERO, both(is_made, holds)),
            ];
            for guard in decision.first..decision.first + decision.len {
                let GuardRecord { parent, when } = records.guards[guard as usize];
                let of = outcomes.iter().filter(|(outcome, _)| when & outcome != 0).map(|(_, is)| *is);
                let turned = of.fold(Certainty::Never, either);
                // What is left open by the outcomes together is not, where all others are ruled out.
                let ruled_out = outcomes
                    .iter()
                    .filter(|(outcome, _)| when & outcome == 0)
                    .all(|(_, is)| *is == Certainty::Never);
                let turned = if ruled_out { Certainty::Surely } else { turned };
                let parent = if parent == NONE {
                    Certainty::Surely
                } else {
                    on.get(&parent).copied().unwrap_or(Certainty::Maybe)
                };
                on.insert(guard, both(parent, turned));
            }
            if decision.leaves != NONE {
                leaves = either(leaves, both(is_made, holds));
            }
        }
        (on, leaves)
    }

    fn condition(&mut self, around: &Around<'_>, scalar: Scalar) -> Certainty {
        let holds = match scalar {
            Scalar::Const(value) => Condition::Known(value != 0),
            scalar => {
                self.forms.condition_of(Declared::of(self.cx), ops(around, scalar), &|op| now(around, op))
            }
        };
        let (known, forms) = (self.known, &*self.forms);
        let mut allows = |goes: bool| known.allows(forms, &[(holds.clone(), goes)], self.steps);
        match (allows(true), allows(false)) {
            (true, false) => Certainty::Surely,
            (false, true) => Certainty::Never,
            _ => Certainty::Maybe,
        }
    }

    fn number(&mut self, around: &Around<'_>, scalar: Scalar) -> Option<i64> {
        match scalar {
            Scalar::Const(value) => Some(value),
            scalar => self.forms.number_of(Declared::of(self.cx), ops(around, scalar), &|op| now(around, op)),
        }
    }
}

/// Those of a graph that are asked for.
fn instrs(plan: &GraphPlan, asked: &HashSet<u32>) -> Instrs {
    let mut instrs = Instrs::new();
    let mut add = |node: u32, instr: u32, fixed: FixedItem| {
        if asked.contains(&instr) {
            instrs.entry(node).or_default().push((instr, fixed));
        }
    };
    if asked.is_empty() {
        return instrs;
    }
    for kernel in &plan.kernels {
        plan.binds_of(kernel).iter().for_each(|bind| add(kernel.node, bind.instr, kernel.fixed));
    }
    plan.copies.iter().for_each(|copy| add(copy.node, copy.instr, copy.fixed));
    let mut decides = |node: u32, condition: u32| {
        let condition = &plan.conditions[condition as usize];
        add(node, condition.instr, condition.fixed);
    };
    plan.records.loops.iter().for_each(|record| decides(record.node, record.condition));
    for (node, record) in (0..).zip(&plan.records.nodes) {
        if matches!(NodeKind::from_code(record.kind), Some(NodeKind::Decide | NodeKind::Break)) {
            decides(node, plan.records.decisions[record.item as usize].condition);
        }
    }
    instrs
}

/// The operations of a scalar of a graph.
fn ops<'p>(around: &Around<'p>, scalar: Scalar) -> &'p [ExprOp] {
    let ops = around.plan.expr(scalar);
    let end = ops.iter().position(|op| matches!(op, ExprOp::End)).unwrap_or(ops.len());
    &ops[..end]
}

/// The round of a loop around, or the iteration, if an operation pushes it and it is known.
fn now(around: &Around<'_>, op: ExprOp) -> Option<i64> {
    match op {
        ExprOp::Iter(at) => around.rounds.iter().find(|(of, _)| *of == at.0).and_then(|(_, round)| *round),
        ExprOp::Iteration => around.iteration,
        _ => None,
    }
}

fn not(of: Certainty) -> Certainty {
    match of {
        Certainty::Surely => Certainty::Never,
        Certainty::Maybe => Certainty::Maybe,
        Certainty::Never => Certainty::Surely,
    }
}

fn both(a: Certainty, b: Certainty) -> Certainty {
    match (a, b) {
        (Certainty::Never, _) | (_, Certainty::Never) => Certainty::Never,
        (Certainty::Surely, Certainty::Surely) => Certainty::Surely,
        _ => Certainty::Maybe,
    }
}

fn either(a: Certainty, b: Certainty) -> Certainty {
    not(both(not(a), not(b)))
}
