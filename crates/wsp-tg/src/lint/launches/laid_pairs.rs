//! Whether two accesses of a graph are in order, node by node as a run lays the graph out.
//!
//! Edges of the text hold in each round. A run adds others: copies and conditions are in order with what touches the same bytes in their rounds, and rounds
//! that touch the same bytes are in order themselves. The nodes of a plan have a round each, with numbers in the place of the variables of unrolled loops.

use super::super::Cx;
use super::super::access::Access;
use super::super::order::{Node, Order, Why};
use super::super::overlap::Overlaps;
use super::Steps;
use super::arms::iterations;
use super::conditions::{Condition, Forms, Known};
use super::goes::{Goes, agree, conditions, goes_of};
use super::levels::Levels;
use crate::Certainty;
use crate::plan::{BindTensor, ConditionItem, EdgeKind, FixedItem, GraphPlan, UnitPlan};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use wsp_core::tg::image::{NONE, WHEN_NONZERO, WHEN_ZERO};
use wsp_core::tg::{ExprOp, Instr, IterNo, TensorNo};
use wsp_ir::tg::outline::Variable;
use wsp_ordered::OrderedSet;

/// Answers on what comes behind a node that are kept: of so many pairs of nodes.
const MOST_KEPT: usize = 1 << 26;
/// Nodes whose order is looked up in one step.
const NODES_IN_A_STEP: usize = 64;
/// Steps that it takes to compare two accesses.
const STEPS_TO_COMPARE: usize = 32;

/// What is asked of two accesses.
#[derive(Clone, Copy)]
pub(in super::super) struct Asked<'a> {
    pub(in super::super) pair: [&'a Access; 2],
    /// The tensor that what comes first has to show.
    pub(in super::super) shown: Option<TensorNo>,
}

/// What is known of a launch.
#[derive(Clone, Copy)]
struct Launched {
    iteration: Option<i64>,
    /// Whether gangs run that may.
    may: bool,
}

/// Whether two accesses are in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum InOrder {
    No,
    Yes,
    /// In the launches of the host, by their iterations, but not in every launch that a caller may make.
    ByIteration,
    /// In launches in which conditions that are not known let gangs run.
    Maybe,
}

/// The graphs of a unit.
pub(in super::super) struct LaidPairs<'p> {
    graphs: HashMap<u32, Option<Laid<'p>>>,
    overlaps: Rc<Overlaps<'p>>,
    /// Of each graph the iterations with which it is launched, if all are known; once they were asked for.
    iterations: Option<Vec<Option<OrderedSet<i64>>>>,
    /// Whether the second of two accesses came before the first.
    are_reversed: bool,
}

/// A graph as it is laid out.
struct Laid<'p> {
    plan: &'p GraphPlan,
    overlaps: Rc<Overlaps<'p>>,
    levels: Levels,
    /// Nodes by the instruction of the binding or the copy.
    nodes: HashMap<u32, Vec<Place>>,
    /// Guards of members of gangs.
    guards: OrderedSet<u32>,
    /// Whether conditions go by the iteration.
    has_iteration: bool,
    goes: HashMap<u32, Rc<Goes>>,
    rows: HashMap<Row, Rc<[bool]>>,
}

/// An access in one round of the unrolled loops around it.
#[derive(Clone, Copy)]
struct Place {
    node: u32,
    /// The tensor, if a plan says which of several it is.
    tensor: Option<TensorNo>,
    fixed: FixedItem,
}

/// What comes behind a node: by ways that show a tensor, if one is given, where these guards of members of gangs are on.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Row {
    node: u32,
    shown: Option<TensorNo>,
    on: Vec<u32>,
}

impl<'p> LaidPairs<'p> {
    /// Of a unit whose accesses touch the same bytes as `overlaps` says.
    pub(in super::super) fn new(overlaps: Rc<Overlaps<'p>>) -> LaidPairs<'p> {
        LaidPairs { graphs: HashMap::new(), overlaps, iterations: None, are_reversed: false }
    }

    /// Whether of two accesses that were in order the second came before the first.
    pub(in super::super) fn are_reversed(&self) -> bool {
        self.are_reversed
    }

    /// Whether two accesses are in order in every round in which both may run and touch the same bytes. Where no steps are left, the answer is
    /// [`InOrder::No`].
    pub(in super::super) fn are_in_order(
        &mut self,
        of: (&Cx<'p>, &Order),
        asked: Asked<'_>,
        steps: &mut Steps,
    ) -> InOrder {
        let (cx, graph) = (of.0, asked.pair[0].graph);
        let laid = self.graphs.entry(graph).or_insert_with(|| {
            let (unit, no) = (cx.plan()?, cx.graph_no(graph));
            Some(Laid::new(cx, unit, &unit.graphs[unit.graph(no)? as usize], &self.overlaps))
        });
        let Some(laid) = laid else { return InOrder::No };
        let known = if laid.has_iteration {
            self.iterations.get_or_insert_with(|| iterations(cx))[graph as usize].clone()
        } else {
            None
        };
        let known: Option<Vec<Option<i64>>> = known.map(|known| known.into_iter().map(Some).collect());
        let (mut is_reversed, has_gangs) = (false, !laid.guards.is_empty());
        let mut by = |iterations: &[Option<i64>], may: bool| {
            iterations.iter().all(|iteration| {
                let launched = Launched { iteration: *iteration, may };
                laid.in_each_round(of, asked, launched, &mut is_reversed, steps)
            })
        };
        let found = match known {
            _ if by(&[None], false) => InOrder::Yes,
            Some(known) if by(&known, false) => InOrder::ByIteration,
            known if has_gangs && by(known.as_deref().unwrap_or(&[None]), true) => InOrder::Maybe,
            _ => InOrder::No,
        };
        self.are_reversed |= is_reversed && found != InOrder::No;
        found
    }
}

impl<'p> Laid<'p> {
    fn new(cx: &Cx<'_>, unit: &UnitPlan, plan: &'p GraphPlan, overlaps: &Rc<Overlaps<'p>>) -> Laid<'p> {
        let mut nodes: HashMap<u32, Vec<Place>> = HashMap::new();
        for kernel in &plan.kernels {
            for bind in plan.binds_of(kernel) {
                let tensor = match bind.tensor {
                    BindTensor::One(tensor) => Some(unit.tensors[tensor as usize].no),
                    BindTensor::Table { .. } => None,
                };
                let place = Place { node: kernel.node, tensor, fixed: kernel.fixed };
                nodes.entry(bind.instr).or_default().push(place);
            }
        }
        for copy in &plan.copies {
            let place = Place { node: copy.node, tensor: None, fixed: copy.fixed };
            nodes.entry(copy.instr).or_default().push(place);
        }
        let guard = |member: &u32| plan.records.nodes[*member as usize].guard;
        let guards = plan.records.members.iter().map(guard).filter(|guard| *guard != NONE).collect();
        let by_iteration = |condition: &ConditionItem| match cx.module.instrs[condition.instr as usize] {
            Instr::CfIf { condition } => cx.module.scalar(condition).contains(&ExprOp::Iteration),
            _ => false,
        };
        let has_iteration = plan.conditions.iter().any(by_iteration);
        let (goes, rows) = (HashMap::new(), HashMap::new());
        let overlaps = Rc::clone(overlaps);
        Laid { plan, overlaps, levels: Levels::new(plan), nodes, guards, has_iteration, goes, rows }
    }

    /// Whether two accesses are in order, in each round, in a launch with an iteration if that is known.
    fn in_each_round(
        &mut self,
        of: (&Cx<'_>, &Order),
        asked: Asked<'_>,
        launched: Launched,
        is_reversed: &mut bool,
        steps: &mut Steps,
    ) -> bool {
        let cx = of.0;
        let (meet, ..) = cx.outline.blocks.meet(asked.pair[0].block, asked.pair[1].block);
        let loops = cx.outline.blocks.outwards(meet);
        let shared: HashSet<IterNo> = loops
            .filter_map(|(_, block)| match cx.module.instrs.get(block.open as usize) {
                Some(&Instr::CfLoop { iterator, .. }) if block.kind.is_loop() => Some(iterator),
                _ => None,
            })
            .collect();
        let [first, second] = asked.pair.map(|access| self.places(cx, access));
        let mut by_round: HashMap<Vec<i64>, Vec<Place>> = HashMap::new();
        for place in second {
            by_round.entry(self.round(&place, &shared)).or_default().push(place);
        }
        first.iter().all(|a| {
            let in_round = by_round.get(&self.round(a, &shared)).map_or(&[][..], Vec::as_slice);
            steps.spend(1)
                && in_round.iter().all(|b| {
                    steps.spend(1)
                        && match self.leads(of, asked, [a, b], launched, steps) {
                            Some(first) => {
                                *is_reversed |= first != 0;
                                true
                            }
                            None => self.are_apart(cx, asked.pair, [a, b], launched.iteration, steps),
                        }
                })
        })
    }

    /// The nodes of an access.
    fn places(&self, cx: &Cx<'_>, access: &Access) -> Vec<Place> {
        let tensor = cx.outline.tensors[access.tensor as usize].no;
        let all = self.nodes.get(&access.at).into_iter().flatten();
        all.filter(|place| place.tensor.is_none_or(|of| of == tensor)).copied().collect()
    }

    /// The numbers of some unrolled loops around a node.
    fn round(&self, place: &Place, of: &HashSet<IterNo>) -> Vec<i64> {
        let fixed = self.plan.fixed_of(place.fixed).iter();
        fixed.filter(|(iter, _)| of.contains(iter)).map(|(_, number)| *number).collect()
    }

    /// Whether two accesses touch no bytes in common in their rounds, or do not both run.
    fn are_apart(
        &mut self,
        cx: &Cx<'_>,
        pair: [&Access; 2],
        places: [&Place; 2],
        iteration: Option<i64>,
        steps: &mut Steps,
    ) -> bool {
        let values = places.map(|place| -> Vec<(Variable, i64)> {
            let fixed = self.plan.fixed_of(place.fixed).iter();
            let fixed = fixed.map(|(iter, number)| (Variable::Loop(*iter), *number));
            fixed.chain(iteration.map(|iteration| (Variable::Iteration, iteration))).collect()
        });
        let [of_a, of_b] = [(pair[0], values[0].as_slice()), (pair[1], values[1].as_slice())];
        steps.spend(STEPS_TO_COMPARE);
        let overlaps = &self.overlaps;
        if overlaps.of_where(of_a, of_b) == Certainty::Never
            || overlaps.in_rounds(of_a, of_b) == Certainty::Never
        {
            return true;
        }
        let [a, b] = places.map(|place| self.goes_around(place.node, steps));
        if a.is_empty() && b.is_empty() {
            return false;
        }
        let mut forms = Forms::of_one_launch();
        let given = self.given(cx, &mut forms, [&a, &b], iteration);
        !agree(&a, &b) || !Known::default().allows(&forms, &given, steps) && !steps.are_over()
    }

    /// How conditions go where a node runs, those of the loops around it that run round by round among them.
    fn goes_around(&mut self, node: u32, steps: &mut Steps) -> Rc<Goes> {
        if let Some(known) = self.goes.get(&node) {
            return known.clone();
        }
        let parent = |of: &u32| self.levels.parent(self.plan, *of);
        let mut goes = Goes::new();
        for of in std::iter::successors(Some(node), parent) {
            let guard = self.plan.records.nodes[of as usize].guard;
            if guard != NONE {
                steps.spend(self.plan.records.decisions.len() / NODES_IN_A_STEP + 1);
                goes.extend(goes_of(self.plan, guard));
            }
        }
        let goes = Rc::new(goes);
        self.goes.insert(node, goes.clone());
        goes
    }

    /// Conditions that hold where two nodes run, but for those that name a variable of a loop that runs round by round: that may be another for each.
    fn given(
        &self,
        cx: &Cx<'_>,
        forms: &mut Forms,
        [a, b]: [&Goes; 2],
        iteration: Option<i64>,
    ) -> Vec<(Condition, bool)> {
        let both: Goes = a.iter().chain(b).map(|(decision, is)| (*decision, *is)).collect();
        let both = both.into_iter().filter(|(decision, _)| self.is_of_launch(cx, *decision)).collect();
        conditions(cx, self.plan, forms, &both, iteration)
    }

    /// Whether a decision is the same in each round of the loops around it that run round by round.
    fn is_of_launch(&self, cx: &Cx<'_>, decision: u32) -> bool {
        let item = self.plan.records.decisions[decision as usize].condition;
        let item = &self.plan.conditions[item as usize];
        let fixed = self.plan.fixed_of(item.fixed);
        let Some(Instr::CfIf { condition }) = cx.module.instrs.get(item.instr as usize) else { return false };
        cx.module.scalar(*condition).iter().all(|op| match op {
            ExprOp::Iter(iter) => fixed.iter().any(|(of, _)| of == iter),
            ExprOp::Load(..) => false,
            _ => true,
        })
    }

    /// Which of two nodes the other comes behind, if one does.
    fn leads(
        &mut self,
        of: (&Cx<'_>, &Order),
        asked: Asked<'_>,
        [a, b]: [&Place; 2],
        launched: Launched,
        steps: &mut Steps,
    ) -> Option<usize> {
        let on = self.guards_on(of.0, [a.node, b.node], launched, steps);
        let [first, second] = asked.pair;
        let ways = [(a.node, b.node, [first, second]), (b.node, a.node, [second, first])];
        ways.into_iter().position(|(from, to, [first, second])| {
            let shown = asked.shown.filter(|_| first.writes() && second.reads());
            self.row(of, Row { node: from, shown, on: on.clone() }, first, steps)
                .is_some_and(|row| row[to as usize])
        })
    }

    /// Guards of members of gangs that are on, or may be, where two nodes run.
    fn guards_on(
        &mut self,
        cx: &Cx<'_>,
        nodes: [u32; 2],
        Launched { iteration, may }: Launched,
        steps: &mut Steps,
    ) -> Vec<u32> {
        if self.guards.is_empty() {
            return Vec::new();
        }
        let records = &self.plan.records;
        let parent = |guard: &u32| Some(records.guards.get(*guard as usize)?.parent);
        let chain = |guard: u32| std::iter::successors(Some(guard), parent).filter(|guard| *guard != NONE);
        let around = |node: u32| std::iter::successors(Some(node), |of| self.levels.parent(self.plan, *of));
        let all = nodes.into_iter().flat_map(around);
        let own: OrderedSet<u32> = all.flat_map(|node| chain(records.nodes[node as usize].guard)).collect();
        let [a, b] = nodes.map(|node| self.goes_around(node, steps));
        let mut forms = Forms::of_one_launch();
        let given = self.given(cx, &mut forms, [&a, &b], iteration);
        let mut found = Vec::new();
        for &guard in &self.guards {
            let is_arm = |guard: u32| {
                matches!(self.plan.records.guards[guard as usize].when, WHEN_NONZERO | WHEN_ZERO)
            };
            steps.spend(self.plan.records.decisions.len() / NODES_IN_A_STEP + 1);
            let needed = goes_of(self.plan, guard);
            let is_decided = chain(guard).all(|guard| own.contains(&guard) || is_arm(guard))
                && needed.keys().all(|decision| self.is_of_launch(cx, *decision));
            let needed = conditions(cx, self.plan, &mut forms, &needed, iteration);
            let mut allows = |more: &[(Condition, bool)]| {
                let all = [&given[..], more].concat();
                Known::default().allows(&forms, &all, steps) || steps.are_over()
            };
            let is_on = match may {
                true => allows(&needed),
                false => !needed.iter().any(|(condition, is)| allows(&[(condition.clone(), !is)])),
            };
            found.extend((own.contains(&guard) || (is_decided && is_on)).then_some(guard));
        }
        found
    }

    /// What comes behind a node. `None` where no steps are left.
    fn row(
        &mut self,
        (cx, order): (&Cx<'_>, &Order),
        row: Row,
        access: &Access,
        steps: &mut Steps,
    ) -> Option<Rc<[bool]>> {
        if let Some(known) = self.rows.get(&row) {
            return Some(known.clone());
        }
        let plan = self.plan;
        let nodes = plan.records.nodes.len();
        if !steps.spend((nodes + plan.records.succs.len()) / NODES_IN_A_STEP + 1) {
            return None;
        }
        if (self.rows.len() + 1) * nodes > MOST_KEPT {
            self.rows.clear();
        }
        let starts = |member: u32, _: u32| {
            let guard = plan.records.nodes[member as usize].guard;
            guard == NONE || row.on.contains(&guard)
        };
        let shows = |edge: u32| row.shown.is_none_or(|shown| self.shows((cx, order), access, edge, shown));
        let behind: Rc<[bool]> = self.levels.behind_by(plan, row.node, |_| true, shows, starts).into();
        self.rows.insert(row, behind.clone());
        Some(behind)
    }

    /// Whether an edge from the node of an access, or from a loop around it, makes visible what that wrote to a tensor.
    fn shows(&self, (cx, order): (&Cx<'_>, &Order), access: &Access, edge: u32, tensor: TensorNo) -> bool {
        let kind = self.plan.edges[edge as usize];
        if kind != EdgeKind::Data {
            return kind.shows();
        }
        // The plan does not say of which tensor: the text does, by the kernel or copy that the edge leads to, if it leads to one.
        let to = self.plan.instr_of(self.plan.records.succs[edge as usize]);
        let kernels = cx.outline.kernels.len();
        let instr = |node: u32| match (node as usize).checked_sub(kernels) {
            None => Some(cx.outline.kernels[node as usize].at),
            Some(copy) => cx.outline.copies.get(copy).map(|copy| copy.at),
        };
        let data = || order.from(Node(access.node)).iter().filter(|edge| matches!(edge.why, Why::Data(_)));
        let mut told = data().filter(|edge| to.is_some() && instr(edge.to) == to).peekable();
        match told.peek() {
            Some(_) => told.any(|edge| edge.why.shows(tensor)),
            None => data().next().is_some() && data().all(|edge| edge.why.shows(tensor)),
        }
    }
}
