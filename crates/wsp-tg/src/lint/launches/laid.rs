//! Graphs as a run lays them out: what comes behind waits for events of other graphs and before signals, in every round of unrolled loops.
//!
//! Edges of the text order kernels in each round, and some only in rounds in which they touch the same bytes. The nodes of a plan have a round each, with
//! numbers in the place of the variables of unrolled loops, so which of them come behind which others is not a question of forms.

use super::super::Cx;
use super::super::access::Access;
use super::conditions::{Forms, Known};
use super::event_order::{before_signals, join};
use super::levels::{Levels, is_certain_in_level};
use super::rounds::in_some_round;
use crate::Certainty;
use crate::plan::{BindTensor, FixedItem, GraphPlan, KernelItem, UnitPlan};
use std::collections::HashMap;
use std::ops::Range;
use wsp_core::tg::image::NodeKind;
use wsp_core::tg::{EventNo, ExprOp, GraphNo, IterNo, Scalar, TensorNo};
use wsp_ir::tg::outline::{Affine, Variable};
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};

/// Rounds of a loop in which a wait is looked for that later rounds come behind.
const MOST_TURNS: i64 = 16;

/// A wait of a graph for an event of others.
pub(super) struct Wait {
    pub(super) event: EventNo,
    /// The kernels that wait.
    pub(super) nodes: Vec<u32>,
    /// Whether they run in every launch. Otherwise it is one kernel, and where that is skipped, nothing is waited for.
    pub(super) is_sure: bool,
    /// Whether they run only in some rounds of unrolled loops: what edges of the text order behind them may stand in others.
    pub(super) is_of_rounds: bool,
}

/// An access of one round.
struct Round {
    node: u32,
    /// The tensor, if a plan says which of several it is.
    tensor: Option<TensorNo>,
    /// Of a binding the first byte and the bytes, in the expressions of the plan.
    bytes: Option<(Scalar, Scalar)>,
    /// Numbers of the unrolled loops around it.
    fixed: FixedItem,
}

/// A round of a loop that runs round by round: the loop's place in the plan, its variable, the number.
#[derive(Clone, Copy)]
struct Turn {
    at: u32,
    iter: IterNo,
    number: i64,
}

/// A graph as it is laid out.
struct Laid {
    exprs: Vec<ExprOp>,
    /// Numbers of unrolled loops, as the plan has them.
    fixed: Vec<(IterNo, i64)>,
    /// Of each node the outermost loop of known count that runs round by round around it, by place and variable.
    turns: Vec<Option<(u32, IterNo)>>,
    /// By the instruction of the binding, the copy or the condition.
    rounds: HashMap<u32, Vec<Round>>,
    /// Rounds in which kernels wait, by event and kernel.
    waits: OrderedMap<(EventNo, u32), Vec<LaidWait>>,
    /// Of each event and each kernel that waits for it, by instruction, whether nodes come behind such a wait.
    behind: OrderedMap<(EventNo, u32), Vec<bool>>,
    /// The same of waits that take place in every launch.
    surely: OrderedMap<(EventNo, u32), Vec<bool>>,
    /// Of each signal, whether nodes come before it.
    before: OrderedMap<EventNo, Vec<bool>>,
}

/// A kernel that waits, in one round of the unrolled loops around it.
struct LaidWait {
    /// The kernel's instruction.
    instr: u32,
    node: u32,
    /// Numbers of these loops.
    fixed: Vec<(IterNo, i64)>,
    /// Whether it runs in every launch, by what the plan says.
    is_certain: bool,
}

impl LaidWait {
    /// Whether the kernel runs in some round of the other loops around it, in a launch with an iteration, if that is known.
    fn runs(&self, cx: &Cx<'_>, iteration: Option<i64>) -> Certainty {
        self.runs_where(cx, (&Known::default(), &mut Forms::default()), iteration, None)
    }

    /// The same where forms lie so, and in one round of a loop, if one is given.
    fn runs_where(
        &self,
        cx: &Cx<'_>,
        known: (&Known, &mut Forms),
        iteration: Option<i64>,
        turn: Option<Turn>,
    ) -> Certainty {
        if self.is_certain {
            return Certainty::Surely;
        }
        let place = (cx.outline.blocks.around(self.instr), self.instr);
        let turn = turn.map(|turn| (turn.iter, turn.number));
        let fixed: Vec<(IterNo, i64)> = self.fixed.iter().copied().chain(turn).collect();
        in_some_round(cx, known, place, iteration, &fixed)
    }
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
        let laid = |unit: &UnitPlan| {
            unit.graphs.iter().map(|graph| (graph.no, Laid::new(cx, unit, graph))).collect()
        };
        let scalars = cx.module.exprs.iter().zip(&cx.known.exprs).filter_map(|ops| match ops {
            (ExprOp::Arg(arg), ExprOp::Const(value)) => Some((Variable::Arg(*arg), *value)),
            _ => None,
        });
        let scalars: OrderedSet<(Variable, i64)> = scalars.collect();
        LaidOut { scalars: scalars.into_iter().collect(), graphs: cx.plan().map_or_else(HashMap::new, laid) }
    }

    /// Whether an access comes behind a wait, in all rounds in which it may touch bytes of another, if one is given.
    pub(super) fn is_behind(&self, cx: &Cx<'_>, wait: &Wait, ends: Ends<'_>) -> bool {
        self.all(cx, ends, |graph| graph.waited(cx, wait)) || self.is_in_later_rounds(cx, wait, ends)
    }

    /// Whether an access comes behind a wait because that surely takes place in an earlier round of a loop which is around both and runs round by round:
    /// up to that round the access may not touch bytes of the other.
    fn is_in_later_rounds(&self, cx: &Cx<'_>, wait: &Wait, (access, other): Ends<'_>) -> bool {
        let Some(graph) = self.graphs.get(&cx.graph_no(access.graph)) else { return false };
        let kernels = wait.nodes.iter().map(|node| (wait.event, cx.outline.kernels[*node as usize].at));
        let waits: Vec<&LaidWait> = kernels.filter_map(|key| graph.waits.get(&key)).flatten().collect();
        let other = other.map(|other| self.bytes_of(cx, other));
        let meets = |bytes: &Range<u64>| other.as_ref().is_none_or(|other| meets_one(other, bytes));
        let behind = graph.waited(cx, wait);
        let mut forms = Forms::default();
        let mut rounds = graph.rounds_of(cx, &self.scalars, access, None).filter(|(_, bytes)| meets(bytes));
        rounds.all(|(round, _)| {
            if behind.iter().any(|behind| behind[round.node as usize]) {
                return true;
            }
            let Some((at, iter)) = graph.turns[round.node as usize] else { return false };
            let waits = waits.iter().filter(|of| graph.turns[of.node as usize] == Some((at, iter)));
            let waits: Vec<&&LaidWait> = waits.collect();
            (0..if waits.is_empty() { 0 } else { MOST_TURNS })
                .map(|number| Turn { at, iter, number })
                .find_map(|turn| {
                    let mut in_turn = graph.rounds_of(cx, &self.scalars, access, Some(turn));
                    let bytes = in_turn.find(|(of, _)| of.node == round.node && of.bytes == round.bytes);
                    let takes = bytes.is_none_or(|(_, bytes)| meets(&bytes))
                        && graph.may_run(cx, &mut forms, access, round, turn);
                    if takes {
                        return Some(false);
                    }
                    let known = Known::default();
                    let mut runs =
                        |of: &LaidWait| of.runs_where(cx, (&known, &mut forms), access.iteration, Some(turn));
                    waits.iter().any(|of| runs(of) == Certainty::Surely).then_some(true)
                })
                == Some(true)
        })
    }

    /// Whether an access comes before a signal in all of these rounds.
    pub(super) fn is_before(&self, cx: &Cx<'_>, ends: Ends<'_>, event: EventNo) -> bool {
        self.all(cx, ends, |graph| graph.before.get(&event).into_iter().collect())
    }

    /// Whether a round of a wait comes before a signal, of those that take place at least so surely in a launch with an iteration, if that is known.
    pub(super) fn waits_before(
        &self,
        cx: &Cx<'_>,
        (graph, wait): (GraphNo, &Wait),
        (event, iteration, least): (EventNo, Option<i64>, Certainty),
    ) -> bool {
        let Some(graph) = self.graphs.get(&graph) else { return false };
        let Some(before) = graph.before.get(&event) else { return false };
        let of_kernel = |node: &u32| graph.waits.get(&(wait.event, cx.outline.kernels[*node as usize].at));
        let mut rounds = wait.nodes.iter().filter_map(of_kernel).flatten();
        rounds.any(|of| before[of.node as usize] && of.runs(cx, iteration) >= least)
    }

    /// Whether a kernel waits for an event in some round of every launch, or of those with an iteration.
    pub(super) fn surely_waits(
        &self,
        cx: &Cx<'_>,
        (known, forms): (&Known, &mut Forms),
        graph: GraphNo,
        (event, instr): (EventNo, u32),
        iteration: Option<i64>,
    ) -> bool {
        let mut rounds =
            self.graphs.get(&graph).and_then(|graph| graph.waits.get(&(event, instr))).into_iter().flatten();
        rounds.any(|of| of.runs_where(cx, (known, &mut *forms), iteration, None) == Certainty::Surely)
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
            graph.rounds_of(cx, &self.scalars, of, None).map(|(_, bytes)| bytes).collect();
        all.arrange_by_key(|bytes| (bytes.start, bytes.end));
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
        let mut rounds = graph.rounds_of(cx, &self.scalars, access, None).filter(|(_, bytes)| meets(bytes));
        rounds.all(|(round, _)| of.iter().any(|of| of[round.node as usize]))
    }
}

/// Whether a range meets one of some that are in order and apart from each other.
fn meets_one(of: &[Range<u64>], bytes: &Range<u64>) -> bool {
    let near = of.partition_point(|of| of.end <= bytes.start);
    of.get(near).is_some_and(|of| of.start < bytes.end)
}

impl Laid {
    /// The rounds in which an access may be one to its tensor, each with the bytes that it may touch, in one round of a loop if one is given.
    fn rounds_of(
        &self,
        cx: &Cx<'_>,
        scalars: &[(Variable, i64)],
        Use { access, iteration, .. }: Use<'_>,
        turn: Option<Turn>,
    ) -> impl Iterator<Item = (&Round, Range<u64>)> {
        let tensor = cx.outline.tensors[access.tensor as usize].no;
        let hull = access.low..access.high;
        let iteration = iteration.map(|iteration| (Variable::Iteration, iteration));
        let turn = turn.map(|turn| (Variable::Loop(IterNo(turn.at)), turn.number));
        let values: Vec<(Variable, i64)> =
            turn.into_iter().chain(iteration).chain(scalars.iter().copied()).collect();
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

    /// Whether an access may take place in a round of a loop.
    fn may_run(&self, cx: &Cx<'_>, forms: &mut Forms, of: Use<'_>, round: &Round, turn: Turn) -> bool {
        let fixed = &self.fixed[round.fixed.first as usize..][..round.fixed.len as usize];
        let fixed: Vec<(IterNo, i64)> = fixed.iter().copied().chain([(turn.iter, turn.number)]).collect();
        let place = (of.access.block, of.access.place);
        in_some_round(cx, (&Known::default(), forms), place, of.iteration, &fixed) != Certainty::Never
    }

    /// What comes behind the kernels of a wait.
    fn waited(&self, cx: &Cx<'_>, wait: &Wait) -> Vec<&Vec<bool>> {
        let behind = if wait.is_of_rounds { &self.surely } else { &self.behind };
        let of = |node: &u32| behind.get(&(wait.event, cx.outline.kernels[*node as usize].at));
        wait.nodes.iter().filter_map(of).collect()
    }

    fn new(cx: &Cx<'_>, unit: &UnitPlan, plan: &GraphPlan) -> Laid {
        let records = &plan.records;
        let decides = [NodeKind::Decide as u32, NodeKind::Break as u32];
        let levels = Levels::new(plan);
        let mut laid = Laid {
            exprs: plan.exprs.clone(),
            fixed: plan.fixed.clone(),
            turns: (0..records.nodes.len() as u32).map(|node| levels.turn(plan, node)).collect(),
            rounds: HashMap::new(),
            waits: OrderedMap::new(),
            behind: OrderedMap::new(),
            before: before_signals(plan, &levels),
            surely: OrderedMap::new(),
        };
        let mut add = |instr: u32, round: Round| laid.rounds.entry(instr).or_default().push(round);
        let whole = |node: u32, fixed: FixedItem| Round { node, tensor: None, bytes: None, fixed };
        for kernel in &plan.kernels {
            for bind in plan.binds_of(kernel) {
                let tensor = match bind.tensor {
                    BindTensor::One(tensor) => Some(unit.tensors[tensor as usize].no),
                    BindTensor::Table { .. } => None,
                };
                let bytes = Some((bind.offset, bind.size));
                add(bind.instr, Round { node: kernel.node, tensor, bytes, fixed: kernel.fixed });
            }
        }
        plan.copies.iter().for_each(|of| add(of.instr, whole(of.node, of.fixed)));
        let decided = |condition: u32| plan.conditions[condition as usize];
        for (of, record) in plan.loops.iter().zip(&records.loops) {
            add(of.instr, whole(record.node, decided(record.condition).fixed));
        }
        for (node, record) in (0..).zip(&records.nodes).filter(|(_, record)| decides.contains(&record.kind)) {
            let condition = decided(records.decisions[record.item as usize].condition);
            add(condition.instr, whole(node, condition.fixed));
        }
        laid.waits(cx, plan, &levels);
        laid
    }

    /// Enters what comes behind the waits of a graph.
    fn waits(&mut self, cx: &Cx<'_>, plan: &GraphPlan, levels: &Levels) {
        let mut kernels: HashMap<u32, Vec<&KernelItem>> = HashMap::new();
        plan.kernels.iter().for_each(|of| kernels.entry(of.node).or_default().push(of));
        for item in &plan.event_waits {
            let kernels = plan.succs_of(item.node).iter().filter_map(|node| kernels.get(node)).flatten();
            let behind = levels.behind(plan, item.node, |_| true);
            let in_each = levels.behind(plan, item.node, |node| is_certain_in_level(plan, node));
            let is_certain = levels.is_certain(plan, item.node);
            for kernel in kernels {
                let instr = plan.defs[kernel.def as usize].instr;
                let fixed = plan.fixed_of(kernel.fixed).to_vec();
                let wait = LaidWait { instr, node: item.node, fixed, is_certain };
                let (runs, key) = (wait.runs(cx, None), (item.event, instr));
                if runs != Certainty::Never {
                    join(self.behind.entry(key).or_default(), &behind);
                }
                if runs == Certainty::Surely {
                    join(self.surely.entry(key).or_default(), &in_each);
                }
                self.waits.entry(key).or_default().push(wait);
            }
        }
    }
}
