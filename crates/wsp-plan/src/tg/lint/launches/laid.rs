//! Graphs as a run lays them out: what comes behind waits for events of other graphs and before signals, in every round of unrolled loops.
//!
//! Edges of the text order kernels in each round, and some only in rounds in which they touch the same bytes. The nodes of a plan have a round each, with
//! numbers in the place of the variables of unrolled loops, so which of them come behind which others is not a question of forms.

use super::super::Cx;
use super::super::access::Access;
use super::events::Wait;
use crate::tg::elaborate::elaborate;
use crate::tg::plan::{BindTensor, ElaborateOptions, GraphPlan, UnitPlan};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use wsp_core::tg::image::{NONE, NodeKind};
use wsp_core::tg::{EventNo, ExprOp, GraphNo, Scalar, TensorNo};
use wsp_ir::tg::outline::{Affine, Variable};

/// An access of one round.
struct Round {
    /// The node of the graph's own level; for what stands in a loop that runs round by round the loop's node.
    node: u32,
    /// The tensor, if a plan says which of several it is.
    tensor: Option<TensorNo>,
    /// Of a binding the first byte and the bytes, in the expressions of the plan.
    bytes: Option<(Scalar, Scalar)>,
}

/// A graph as it is laid out.
struct Laid {
    exprs: Vec<ExprOp>,
    /// By the instruction of the binding, the copy or the condition.
    rounds: HashMap<u32, Vec<Round>>,
    /// Of each event and each kernel that waits for it, by instruction, whether nodes come behind such a wait.
    behind: BTreeMap<(EventNo, u32), Vec<bool>>,
    /// The same of waits that take place in every launch.
    surely: BTreeMap<(EventNo, u32), Vec<bool>>,
    /// Of each signal, whether nodes come before it.
    before: BTreeMap<EventNo, Vec<bool>>,
}

/// An access of a launch: with its graph, and the iteration if that is known.
#[derive(Clone, Copy)]
pub(super) struct Use<'a> {
    pub(super) graph: u32,
    pub(super) access: &'a Access,
    pub(super) iteration: Option<i64>,
}

/// An access, and one of another launch that it may meet, if there is one.
pub(super) type Ends<'a> = (Use<'a>, Option<Use<'a>>);

/// The graphs of a unit.
pub(super) struct LaidOut {
    /// Declared scalars with values.
    scalars: Vec<(Variable, i64)>,
    graphs: HashMap<GraphNo, Laid>,
}

impl LaidOut {
    /// Those of a unit; none if a run does not lay it out.
    pub(super) fn new(cx: &Cx<'_>) -> LaidOut {
        let plan = elaborate(cx.module, cx.signatures, &ElaborateOptions::default());
        let laid =
            |unit: UnitPlan| unit.graphs.iter().map(|graph| (graph.no, Laid::new(&unit, graph))).collect();
        let scalars = cx.module.exprs.iter().zip(&cx.known.exprs).filter_map(|ops| match ops {
            (ExprOp::Arg(arg), ExprOp::Const(value)) => Some((Variable::Arg(*arg), *value)),
            _ => None,
        });
        let scalars: BTreeSet<(Variable, i64)> = scalars.collect();
        LaidOut { scalars: scalars.into_iter().collect(), graphs: plan.map_or_else(|_| HashMap::new(), laid) }
    }

    /// Whether an access comes behind a wait, in all rounds in which it may touch bytes of another, if one is given.
    pub(super) fn is_behind(&self, cx: &Cx<'_>, wait: &Wait, ends: Ends<'_>) -> bool {
        self.all(cx, ends, |graph| graph.waited(cx, wait))
    }

    /// Whether an access comes before a signal in all of these rounds.
    pub(super) fn is_before(&self, cx: &Cx<'_>, ends: Ends<'_>, event: EventNo) -> bool {
        self.all(cx, ends, |graph| graph.before.get(&event).into_iter().collect())
    }

    /// Whether a wait comes before a signal.
    pub(super) fn waits_before(&self, cx: &Cx<'_>, graph: GraphNo, wait: &Wait, event: EventNo) -> bool {
        self.graphs.get(&graph).is_some_and(|graph| {
            let before = graph.before.get(&event);
            let leads = |behind: &Vec<bool>| {
                before.is_some_and(|before| {
                    behind.iter().zip(before).any(|(behind, before)| *behind && *before)
                })
            };
            graph.waited(cx, wait).into_iter().any(leads)
        })
    }

    /// Whether a kernel waits for an event in some round of every launch.
    pub(super) fn surely_waits(&self, graph: GraphNo, event: EventNo, instr: u32) -> bool {
        self.graphs.get(&graph).is_some_and(|graph| graph.surely.contains_key(&(event, instr)))
    }

    /// Whether two accesses of launches may touch the same bytes in some round of each.
    pub(super) fn may_meet(&self, cx: &Cx<'_>, [a, b]: [Use<'_>; 2]) -> bool {
        let of_b = self.bytes_of(cx, b);
        self.bytes_of(cx, a).iter().any(|bytes| meets_one(&of_b, bytes))
    }

    /// Bytes that an access may touch in its rounds, in order and apart from each other.
    fn bytes_of(&self, cx: &Cx<'_>, of: Use<'_>) -> Vec<Range<u64>> {
        let Some(graph) = self.graphs.get(&cx.graph_no(of.graph)) else {
            return std::iter::once(of.access.low..of.access.high).collect();
        };
        let mut all: Vec<Range<u64>> =
            graph.rounds_of(cx, &self.scalars, of).map(|(_, bytes)| bytes).collect();
        all.sort_unstable_by_key(|bytes| (bytes.start, bytes.end));
        all.dedup_by(|next, last| {
            let joins = next.start <= last.end;
            if joins {
                last.end = last.end.max(next.end);
            }
            joins
        });
        all
    }

    fn all<'l>(
        &'l self,
        cx: &Cx<'_>,
        (access, other): Ends<'_>,
        of: impl Fn(&'l Laid) -> Vec<&'l Vec<bool>>,
    ) -> bool {
        let Some(graph) = self.graphs.get(&cx.graph_no(access.graph)) else { return false };
        let of = of(graph);
        if of.is_empty() {
            return false;
        }
        let other = other.map(|other| self.bytes_of(cx, other));
        let meets = |bytes: &Range<u64>| other.as_ref().is_none_or(|other| meets_one(other, bytes));
        let mut rounds = graph.rounds_of(cx, &self.scalars, access).filter(|(_, bytes)| meets(bytes));
        rounds.all(|(round, _)| of.iter().any(|of| of[round.node as usize]))
    }
}

/// Whether a range meets one of some that are in order and apart from each other.
fn meets_one(of: &[Range<u64>], bytes: &Range<u64>) -> bool {
    let near = of.partition_point(|of| of.end <= bytes.start);
    of.get(near).is_some_and(|of| of.start < bytes.end)
}

impl Laid {
    /// The rounds in which an access may be one to its tensor, each with the bytes that it may touch.
    fn rounds_of(
        &self,
        cx: &Cx<'_>,
        scalars: &[(Variable, i64)],
        Use { access, iteration, .. }: Use<'_>,
    ) -> impl Iterator<Item = (&Round, Range<u64>)> {
        let tensor = cx.outline.tensors[access.tensor as usize].no;
        let hull = access.low..access.high;
        let iteration = iteration.map(|iteration| (Variable::Iteration, iteration));
        let values: Vec<(Variable, i64)> = iteration.into_iter().chain(scalars.iter().copied()).collect();
        let rounds = self.rounds.get(&access.at).map_or(&[][..], Vec::as_slice).iter();
        let of_tensor = rounds.filter(move |round| round.tensor.is_none_or(|of| of == tensor));
        let number = move |scalar: Scalar| match scalar {
            Scalar::Const(number) => u64::try_from(number).ok(),
            Scalar::Expr(expr) => {
                let ops = self.exprs.get(expr.0 as usize..)?;
                let end = ops.iter().position(|op| *op == ExprOp::End)?;
                let value = Affine::on_top(&ops[..end], &values)?;
                u64::try_from(value.as_constant()?).ok()
            }
        };
        of_tensor.map(move |round| {
            let numbers = round.bytes.and_then(|(first, size)| number(first).zip(number(size)));
            let bytes = numbers
                .map(|(first, size)| first..if size == 0 { u64::MAX } else { first.saturating_add(size) });
            (round, bytes.unwrap_or(hull.clone()))
        })
    }

    /// What comes behind the kernels of a wait.
    fn waited(&self, cx: &Cx<'_>, wait: &Wait) -> Vec<&Vec<bool>> {
        let behind = if wait.is_of_rounds { &self.surely } else { &self.behind };
        let of = |node: &u32| behind.get(&(wait.event, cx.outline.kernels[*node as usize].at));
        wait.nodes.iter().filter_map(of).collect()
    }

    fn new(unit: &UnitPlan, plan: &GraphPlan) -> Laid {
        let records = &plan.records;
        let count = records.nodes.len();
        let decides = [NodeKind::Decide as u32, NodeKind::Break as u32];
        let succs = |node: u32| succs(plan, node);
        let mut preds = vec![Vec::new(); count];
        (0..count as u32)
            .for_each(|node| succs(node).iter().for_each(|next| preds[*next as usize].push(node)));
        let after = |from: u32| reached(count, vec![from], &succs);
        let ahead = |from: u32| reached(count, vec![from], &|node| &preds[node as usize]);
        let tops = tops(plan);
        let is_top = |node: u32| tops[node as usize] == node;
        let mut laid = Laid {
            exprs: plan.exprs.clone(),
            rounds: HashMap::new(),
            behind: BTreeMap::new(),
            before: BTreeMap::new(),
            surely: BTreeMap::new(),
        };
        let mut add = |instr: u32, node: u32, tensor: Option<TensorNo>, bytes: Option<(Scalar, Scalar)>| {
            let node = tops[node as usize];
            laid.rounds.entry(instr).or_default().push(Round { node, tensor, bytes });
        };
        for kernel in &plan.kernels {
            for bind in plan.binds_of(kernel) {
                let tensor = match bind.tensor {
                    BindTensor::One(tensor) => Some(unit.tensors[tensor as usize].no),
                    BindTensor::Table { .. } => None,
                };
                add(bind.instr, kernel.node, tensor, Some((bind.offset, bind.size)));
            }
        }
        plan.copies.iter().for_each(|of| add(of.instr, of.node, None, None));
        plan.loops.iter().zip(&records.loops).for_each(|(of, record)| add(of.instr, record.node, None, None));
        for (node, record) in (0..).zip(&records.nodes).filter(|(_, record)| decides.contains(&record.kind)) {
            let decision = &records.decisions[record.item as usize];
            add(plan.conditions[decision.condition as usize].instr, node, None, None);
        }
        let kernels: HashMap<u32, u32> =
            plan.kernels.iter().map(|of| (of.node, plan.defs[of.def as usize].instr)).collect();
        for wait in plan.event_waits.iter().filter(|wait| is_top(wait.node)) {
            let (is_sure, reached) = (records.nodes[wait.node as usize].guard == NONE, after(wait.node));
            for instr in succs(wait.node).iter().filter_map(|node| kernels.get(node)) {
                let key = (wait.event, *instr);
                join(laid.behind.entry(key).or_default(), &reached);
                if is_sure {
                    join(laid.surely.entry(key).or_default(), &reached);
                }
            }
        }
        for signal in &plan.signals {
            join(laid.before.entry(signal.event).or_default(), &ahead(signal.node));
        }
        laid
    }
}

/// Which nodes of a plan come before signals and behind waits for events.
#[derive(Debug, Default)]
pub struct EventOrder {
    tops: Vec<u32>,
    /// Of each event, whether nodes of the graph's own level come before a signal of it.
    before: BTreeMap<EventNo, Vec<bool>>,
    /// Of each event, whether they come behind a wait for it that takes place in every launch.
    behind: BTreeMap<EventNo, Vec<bool>>,
}

impl EventOrder {
    /// That of a graph.
    pub fn new(plan: &GraphPlan) -> EventOrder {
        let mut preds = vec![Vec::new(); plan.records.nodes.len()];
        (0..preds.len() as u32)
            .for_each(|node| succs(plan, node).iter().for_each(|next| preds[*next as usize].push(node)));
        let tops = tops(plan);
        let (mut signals, mut waits) = (BTreeMap::<_, Vec<u32>>::new(), BTreeMap::<_, Vec<u32>>::new());
        plan.signals.iter().for_each(|of| signals.entry(of.event).or_default().push(of.node));
        let is_sure =
            |node: u32| tops[node as usize] == node && plan.records.nodes[node as usize].guard == NONE;
        for wait in plan.event_waits.iter().filter(|wait| is_sure(wait.node)) {
            waits.entry(wait.event).or_default().push(wait.node);
        }
        let ahead = |nodes: Vec<u32>| reached(preds.len(), nodes, &|node| &preds[node as usize]);
        let after = |nodes: Vec<u32>| reached(preds.len(), nodes, &|node| succs(plan, node));
        let before = signals.into_iter().map(|(event, nodes)| (event, ahead(nodes))).collect();
        let behind = waits.into_iter().map(|(event, nodes)| (event, after(nodes))).collect();
        EventOrder { tops, before, behind }
    }

    /// Whether a node is complete before the graph signals an event.
    pub fn is_before(&self, node: u32, event: EventNo) -> bool {
        self.has(&self.before, node, event)
    }

    /// Whether a node starts behind a wait for an event in every launch.
    pub fn is_behind(&self, node: u32, event: EventNo) -> bool {
        self.has(&self.behind, node, event)
    }

    /// Whether a node is one of some, or comes behind one of them.
    pub fn leads(&self, plan: &GraphPlan, from: Vec<u32>, to: u32) -> bool {
        let top = |node: u32| self.tops[node as usize];
        let out = from.iter().map(|node| top(*node)).filter(|of| *of != top(to)).collect();
        let reaches = |from: Vec<u32>, to: u32| {
            !from.is_empty() && reached(self.tops.len(), from, &|node| succs(plan, node))[to as usize]
        };
        reaches(from, to) || reaches(out, top(to))
    }

    fn has(&self, of: &BTreeMap<EventNo, Vec<bool>>, node: u32, event: EventNo) -> bool {
        let top = self.tops.get(node as usize);
        top.zip(of.get(&event)).is_some_and(|(top, of)| of[*top as usize])
    }
}

fn succs(plan: &GraphPlan, node: u32) -> &[u32] {
    let record = &plan.records.nodes[node as usize];
    &plan.records.succs[record.first as usize..record.end as usize]
}

/// Of each node the one of the graph's own level that it is, or in which it stands.
fn tops(plan: &GraphPlan) -> Vec<u32> {
    let mut tops: Vec<u32> = (0..plan.records.nodes.len() as u32).collect();
    // The loops around a node have it in their bodies, the outermost as well.
    let mut around = vec![NONE; tops.len()];
    for record in &plan.records.loops {
        for node in record.body.first..record.body.first + record.body.len {
            around[node as usize] = record.node;
        }
    }
    for top in &mut tops {
        while around[*top as usize] != NONE {
            *top = around[*top as usize];
        }
    }
    tops
}

/// Nodes that some steps lead to from one of some nodes, and these.
fn reached<'s>(count: usize, from: Vec<u32>, next: &dyn Fn(u32) -> &'s [u32]) -> Vec<bool> {
    let (mut seen, mut open) = (vec![false; count], from);
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut seen[node as usize], true) {
            open.extend_from_slice(next(node));
        }
    }
    seen
}

fn join(all: &mut Vec<bool>, more: &[bool]) {
    match all.is_empty() {
        true => *all = more.to_vec(),
        false => all.iter_mut().zip(more).for_each(|(all, more)| *all |= more),
    }
}
