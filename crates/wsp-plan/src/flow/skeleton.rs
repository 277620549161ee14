//! What is left of a module for its pipelines: processes, channels, and what decides how often tokens are sent and consumed.

use super::alone;
use crate::ParamValue;
use crate::workload::written;
use wsp_core::{ChannelId, ParamId, SlotId, TableId, VarId};
use wsp_diag::Span;
use wsp_ir::workload::{
    ArgValue, Arm, AxisKind, Block, IntExpr, IntExprKind, Iteration, Node, NodeKind, ParamSource, Process,
    Slot, WorkloadModule,
};
use wsp_ordered::OrderedSet;

/// Why the rates of a pipeline are not known before a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Undecided {
    /// The statement that decides, or the channel.
    pub span: Span,
    /// What it depends on, such as "`n` has no value".
    pub why: String,
    /// Whether it is that following the statement takes too many steps.
    pub is_long: bool,
}

/// A module without tasks. What has no value and decides nothing is given one.
pub(super) struct Skeleton {
    pub(super) module: WorkloadModule,
    /// What cannot be followed, by where the pipeline stands: the first statement in it or around it, or one of its channels.
    pub(super) within: Vec<(Span, Undecided)>,
    /// Statements around pipelines that were left out, or calls, that repeat by what has no value.
    pub(super) open: Vec<Span>,
}

/// What is left of a module for its pipelines.
pub(super) fn skeleton(module: &WorkloadModule, set: &[(String, ParamValue)]) -> Skeleton {
    let unset = Unset::of(module, set);
    let pipelined = pipelined(module);
    let mut reducer = Reducer {
        module,
        unset: &unset,
        pipelined: &pipelined,
        bodies: Vec::new(),
        undecided: None,
        within: Vec::new(),
        open: Vec::new(),
    };
    let mut reduced = module.clone();
    for ((workload, original), pipelined) in
        reduced.workloads.iter_mut().zip(&module.workloads).zip(&pipelined)
    {
        workload.body = reducer.around(&original.body);
        reducer.bodies.push(workload.body.clone());
        for (at, channel) in (0..).map(ChannelId).zip(&mut workload.channels).filter(|_| *pipelined) {
            let span = channel.span;
            if let Some(found) = reducer.aside(|reducer| reducer.look(&channel.depth, span)) {
                channel.depth = 1.into();
                wsp_ir::workload::each_node(&original.body, &mut |node| {
                    if alone::is_of(node, at) {
                        reducer.within.push((node.span, found.clone()));
                    }
                });
            }
        }
    }
    let (within, open) = (reducer.within, reducer.open);
    unset.fill(&mut reduced);
    Skeleton { module: reduced, within, open }
}

impl Skeleton {
    /// Takes out the pipelines that cannot be followed, and what stands around them alone.
    pub(super) fn leave_decided(&mut self) {
        fn keep(block: &mut Block, without: &OrderedSet<Span>) {
            block.retain_mut(|node| match &mut node.kind {
                NodeKind::Pipeline { .. } => !without.contains(&node.span),
                NodeKind::Call { .. } => true,
                kind => {
                    kind.bodies_mut().into_iter().for_each(|body| keep(body, without));
                    !kind.bodies().into_iter().all(Vec::is_empty)
                }
            });
        }
        let without = self.within.iter().map(|(span, _)| *span).collect();
        self.module.workloads.iter_mut().for_each(|workload| keep(&mut workload.body, &without));
    }
}

/// The module with the values that its reduced one has.
pub(super) fn unreduced(module: &WorkloadModule, reduced: &WorkloadModule) -> WorkloadModule {
    let mut whole = reduced.clone();
    for (workload, written) in whole.workloads.iter_mut().zip(&module.workloads) {
        workload.body.clone_from(&written.body);
    }
    whole
}

/// What is known of the costs of the tasks of a pipeline.
#[derive(Default)]
pub(super) struct Costs {
    /// Whether a kernel has one.
    pub(super) any: bool,
    /// The first task whose cost is not known before a run.
    pub(super) unknown: Option<Undecided>,
}

/// The costs of the tasks of processes, those of workloads that are called included.
pub(super) fn costs(module: &WorkloadModule, processes: &[Process]) -> Costs {
    let mut costs = Costs::default();
    let mut called = vec![false; module.workloads.len()];
    for process in processes {
        costs.block(module, &process.body, &mut called);
    }
    for at in (0..called.len()).rev().filter(|at| called[*at]).collect::<Vec<_>>() {
        costs.block(module, &module.workloads[at].body, &mut []);
    }
    costs
}

impl Costs {
    fn block(&mut self, module: &WorkloadModule, block: &Block, called: &mut [bool]) {
        let mut slots = Vec::new();
        wsp_ir::workload::each_node(block, &mut |node| match &node.kind {
            NodeKind::Send { var, .. } => slots.push(*var),
            NodeKind::Consume { arms, .. } => slots.extend(arms.iter().map(|arm| arm.var)),
            NodeKind::Call { workload, .. } if !called.is_empty() => {
                let reached = module.reached(*workload);
                called.iter_mut().zip(reached).for_each(|(called, reached)| *called |= reached);
            }
            _ => {}
        });
        let mut note = |span: Span, why: String| {
            self.unknown.get_or_insert(Undecided { span, why, is_long: false });
        };
        wsp_ir::workload::each_node(block, &mut |node| {
            let by_slot = |arg: &IntExpr| named_in(arg, &slots);
            match &node.kind {
                NodeKind::Task(task) => {
                    let kernel = &module.kernels[usize::from(task.kernel.0)];
                    self.any |= kernel.cost.is_some();
                    let mut args = task.args.iter().filter_map(|arg| match &arg.value {
                        ArgValue::Scalar(value) => Some(value),
                        ArgValue::Access(_) => None,
                    });
                    match &kernel.cost {
                        None => note(node.span, format!("`{}` has no cost", kernel.name)),
                        Some(cost) if cost.as_const().is_none() && args.any(by_slot) => {
                            note(node.span, format!("a slot decides what `{}` costs", kernel.name));
                        }
                        Some(_) => {}
                    }
                }
                NodeKind::Call { args, .. } if args.iter().any(by_slot) => {
                    note(node.span, "a slot may decide what the tasks of a call cost".to_owned());
                }
                _ => {}
            }
        });
    }
}

/// The module with tasks that access all of their tensors: whatever the depths are, slots are within bounds.
pub(super) fn without_regions(module: &WorkloadModule) -> WorkloadModule {
    fn widen(block: &mut Block) {
        for node in block {
            if let NodeKind::Task(task) = &mut node.kind {
                for arg in &mut task.args {
                    if let ArgValue::Access(access) = &mut arg.value {
                        access.ranges.clear();
                    }
                }
            }
            node.kind.bodies_mut().into_iter().for_each(widen);
        }
    }
    let mut module = module.clone();
    module.workloads.iter_mut().for_each(|workload| widen(&mut workload.body));
    module
}

/// Of each workload whether it has a pipeline, those that it calls included.
pub(super) fn pipelined(module: &WorkloadModule) -> Vec<bool> {
    let mut found: Vec<bool> = Vec::new();
    for workload in &module.workloads {
        let mut has = false;
        wsp_ir::workload::each_node(&workload.body, &mut |node| {
            has |= match &node.kind {
                NodeKind::Pipeline { .. } => true,
                NodeKind::Call { workload, .. } => found.get(workload.index()) == Some(&true),
                _ => false,
            };
        });
        found.push(has);
    }
    found
}

/// What has no value before a launch.
struct Unset {
    params: Vec<bool>,
    tables: Vec<bool>,
    /// Those that tasks write; another has its first value for ever.
    slots: Vec<bool>,
}

impl Unset {
    fn of(module: &WorkloadModule, set: &[(String, ParamValue)]) -> Unset {
        let tables = module.tables.iter().map(|table| table.values.is_none()).collect();
        let mut unset = Unset { params: vec![false; module.params.len()], tables, slots: Vec::new() };
        for (at, param) in module.params.iter().enumerate() {
            unset.params[at] = match &param.source {
                ParamSource::Set(_) if set.iter().any(|(name, _)| *name == param.name) => false,
                ParamSource::Set(default) => {
                    default.as_ref().is_none_or(|default| unset.first(default).is_some())
                }
                ParamSource::Derived(value) => unset.first(value).is_some(),
            };
        }
        let written = written(&mut module.clone());
        let is_open = |slot: &Slot| {
            written.contains(&module.tensors[slot.tensor.index()].name) || unset.first(&slot.init).is_some()
        };
        unset.slots = module.slots.iter().map(is_open).collect();
        unset
    }

    /// The first parameter, table or slot of an expression that has no value.
    fn first(&self, expr: &IntExpr) -> Option<Missing> {
        let mut missing = None;
        expr.each(&mut |kind| {
            let found = match kind {
                IntExprKind::Param(id) if self.params[id.index()] => Some(Missing::Param(*id)),
                IntExprKind::Table(id, _) | IntExprKind::TableLen(id) if self.tables[id.index()] => {
                    Some(Missing::Table(*id))
                }
                IntExprKind::Slot(id) if self.slots[id.index()] => Some(Missing::Slot(*id)),
                _ => None,
            };
            missing = missing.or(found);
        });
        missing
    }

    /// Gives what has no value one that nothing depends on.
    fn fill(&self, module: &mut WorkloadModule) {
        for (param, unset) in module.params.iter_mut().zip(&self.params) {
            if *unset {
                param.source = ParamSource::Set(Some(1.into()));
            }
        }
        for (table, unset) in module.tables.iter_mut().zip(&self.tables) {
            if *unset {
                (table.values, table.len) = (Some(vec![0]), None);
            }
        }
        for axis in &mut module.axes {
            let asks = match &axis.kind {
                AxisKind::Dense { start, end } => [start, end].iter().any(|end| self.first(end).is_some()),
                AxisKind::DenseDyn(param) => self.params[param.index()],
                AxisKind::Ragged { lengths, .. } => self.tables[lengths.index()],
                AxisKind::Sparse { indptr, indices, .. } => {
                    self.tables[indptr.index()] || self.tables[indices.index()]
                }
            };
            if asks {
                axis.kind = AxisKind::Dense { start: 0.into(), end: 0.into() };
            }
        }
        module.tensors.iter_mut().for_each(|tensor| tensor.dims.fill(1.into()));
        for (slot, unset) in module.slots.iter_mut().zip(&self.slots) {
            if *unset {
                slot.init = 0.into();
            }
        }
    }
}

/// What has no value.
#[derive(Clone, Copy)]
enum Missing {
    Param(ParamId),
    Table(TableId),
    Slot(SlotId),
}

struct Reducer<'m> {
    module: &'m WorkloadModule,
    unset: &'m Unset,
    pipelined: &'m [bool],
    /// Of the workloads so far, without tasks.
    bodies: Vec<Block>,
    undecided: Option<Undecided>,
    within: Vec<(Span, Undecided)>,
    open: Vec<Span>,
}

impl Reducer<'_> {
    /// What stands around pipelines. What cannot be followed there decides how often a pipeline runs, and not how.
    fn around(&mut self, block: &Block) -> Block {
        let mut kept = Vec::new();
        for node in block {
            let kind = match &node.kind {
                NodeKind::Pipeline { processes } => {
                    let around = self.undecided.take();
                    let reduced = processes
                        .iter()
                        .map(|process| Process { body: self.within(&process.body), ..process.clone() });
                    let reduced = reduced.collect();
                    if let Some(undecided) = std::mem::replace(&mut self.undecided, around) {
                        self.within.push((node.span, undecided));
                    }
                    NodeKind::Pipeline { processes: reduced }
                }
                NodeKind::Call { workload, args } if self.pipelined[workload.index()] => {
                    if self.aside(|of| args.iter().for_each(|arg| of.look(arg, node.span))).is_some() {
                        self.open.push(node.span);
                    }
                    let args = (0..).map(VarId).zip(args).map(|(formal, arg)| {
                        if names(&self.bodies[workload.index()], &[formal]) { arg.clone() } else { 0.into() }
                    });
                    let args: Vec<IntExpr> = args.collect();
                    if let Some(found) = self.aside(|of| args.iter().for_each(|arg| of.look(arg, node.span)))
                    {
                        self.mark(node, &found);
                    }
                    NodeKind::Call { workload: *workload, args }
                }
                NodeKind::Call { .. } | NodeKind::Task(_) => continue,
                kind => {
                    let bodies: Vec<Block> =
                        kind.bodies().into_iter().map(|body| self.around(body)).collect();
                    if bodies.iter().all(Vec::is_empty) {
                        continue;
                    }
                    self.repeated(node, bodies)
                }
            };
            kept.push(Node { kind, span: node.span });
        }
        kept
    }

    /// A loop or a condition around a pipeline. It is left out where what is inside does not depend on it: one run is like the others.
    fn repeated(&mut self, node: &Node, bodies: Vec<Block>) -> NodeKind {
        let vars: Vec<VarId> = match &node.kind {
            NodeKind::ParallelFor { var, .. } | NodeKind::ForEach { var, .. } => vec![*var],
            NodeKind::Select { var, position, .. } => [*var].into_iter().chain(*position).collect(),
            // Which rounds have a pipeline may depend on it.
            NodeKind::Cond { condition, .. } if names_any(condition) => {
                self.depends(node);
                return with_bodies(node, bodies);
            }
            _ => Vec::new(),
        };
        if !bodies.iter().any(|body| names(body, &vars)) {
            if self.aside(|of| of.look_at(node)).is_some() {
                self.open.push(node.span);
            }
            return NodeKind::Combine(bodies);
        }
        self.depends(node);
        with_bodies(node, bodies)
    }

    /// The pipelines in a statement depend on it.
    fn depends(&mut self, node: &Node) {
        if let Some(found) = self.aside(|of| of.look_at(node)) {
            self.open.push(node.span);
            self.mark(node, &found);
        }
    }

    /// What has no value of what is looked at.
    fn aside(&mut self, look: impl FnOnce(&mut Self)) -> Option<Undecided> {
        let around = self.undecided.take();
        look(self);
        std::mem::replace(&mut self.undecided, around)
    }

    /// Notes that pipelines in a statement, those of workloads that are called included, cannot be followed.
    fn mark(&mut self, node: &Node, found: &Undecided) {
        let mut called = vec![false; self.module.workloads.len()];
        let mut note = |node: &Node, called: &mut [bool]| match &node.kind {
            NodeKind::Pipeline { .. } => self.within.push((node.span, found.clone())),
            NodeKind::Call { workload, .. } if !called.is_empty() => {
                let reached = self.module.reached(*workload);
                called.iter_mut().zip(reached).for_each(|(called, reached)| *called |= reached);
            }
            _ => {}
        };
        note(node, &mut called);
        let bodies = node.kind.bodies().into_iter();
        bodies.for_each(|body| wsp_ir::workload::each_node(body, &mut |node| note(node, &mut called)));
        for (workload, _) in self.module.workloads.iter().zip(called).filter(|(_, called)| *called) {
            wsp_ir::workload::each_node(&workload.body, &mut |node| note(node, &mut []));
        }
    }

    /// What stands in a process.
    fn within(&mut self, block: &Block) -> Block {
        let mut kept = Vec::new();
        for node in block {
            let kind = match &node.kind {
                NodeKind::Task(_) | NodeKind::Call { .. } | NodeKind::Pipeline { .. } => continue,
                NodeKind::Close { .. } => node.kind.clone(),
                NodeKind::Send { channel, var, body } => {
                    NodeKind::Send { channel: *channel, var: *var, body: self.within(body) }
                }
                NodeKind::Consume { arms, all } => {
                    let arms =
                        arms.iter().map(|arm| Arm { body: self.within(&arm.body), ..arm.clone() }).collect();
                    NodeKind::Consume { arms, all: *all }
                }
                kind => {
                    let bodies: Vec<Block> =
                        kind.bodies().into_iter().map(|body| self.within(body)).collect();
                    if bodies.iter().all(Vec::is_empty) {
                        continue;
                    }
                    self.look_at(node);
                    with_bodies(node, bodies)
                }
            };
            kept.push(Node { kind, span: node.span });
        }
        kept
    }

    /// Notes a statement that asks for what is not known.
    fn look_at(&mut self, node: &Node) {
        node.kind.exprs().into_iter().for_each(|expr| self.look(expr, node.span));
        let axis = match &node.kind {
            NodeKind::ParallelFor { over, .. } | NodeKind::ForEach { over, .. } => match over {
                Iteration::Axis(axis) | Iteration::Ragged { axis, .. } => *axis,
                Iteration::Range { .. } => return,
            },
            NodeKind::Select { axis, .. } => *axis,
            _ => return,
        };
        match &self.module.axes[axis.index()].kind {
            AxisKind::Dense { start, end } => [start, end].iter().for_each(|end| self.look(end, node.span)),
            AxisKind::DenseDyn(param) => self.look(&IntExpr::new(IntExprKind::Param(*param)), node.span),
            AxisKind::Ragged { lengths, .. } => {
                self.look(&IntExpr::new(IntExprKind::TableLen(*lengths)), node.span)
            }
            AxisKind::Sparse { indptr, indices, .. } => {
                [indptr, indices]
                    .iter()
                    .for_each(|table| self.look(&IntExpr::new(IntExprKind::TableLen(**table)), node.span));
            }
        }
    }

    fn look(&mut self, expr: &IntExpr, span: Span) {
        let Some(missing) = self.unset.first(expr).filter(|_| self.undecided.is_none()) else { return };
        let why = match missing {
            Missing::Param(id) => format!("`{}` has no value", self.module.params[id.index()].name),
            Missing::Table(id) => format!("table `{}` has no elements", self.module.tables[id.index()].name),
            Missing::Slot(id) => {
                let tensor = self.module.slots[id.index()].tensor;
                format!("tasks compute `{}`", self.module.tensors[tensor.index()].name)
            }
        };
        self.undecided = Some(Undecided { span, why, is_long: false });
    }
}

/// A statement with other blocks inside.
fn with_bodies(node: &Node, bodies: Vec<Block>) -> NodeKind {
    let mut kind = node.kind.clone();
    for (body, reduced) in kind.bodies_mut().into_iter().zip(bodies) {
        *body = reduced;
    }
    kind
}

/// Whether an expression names a variable.
pub(super) fn names_any(expr: &IntExpr) -> bool {
    let mut found = false;
    expr.each(&mut |kind| found |= matches!(kind, IntExprKind::Var(_)));
    found
}

/// Whether a block names one of these variables.
fn names(block: &Block, vars: &[VarId]) -> bool {
    let mut found = false;
    wsp_ir::workload::each_node(block, &mut |node| found |= names_of(&node.kind, vars));
    found
}

/// Whether a statement itself names one of these variables.
pub(super) fn names_of(kind: &NodeKind, vars: &[VarId]) -> bool {
    kind.exprs().into_iter().any(|expr| named_in(expr, vars))
}

fn named_in(expr: &IntExpr, vars: &[VarId]) -> bool {
    let mut found = false;
    expr.each(&mut |kind| found |= matches!(kind, IntExprKind::Var(var) if vars.contains(var)));
    found
}

/// Whether something is sent, consumed or closed in a statement.
pub(super) fn transfers(kind: &NodeKind) -> bool {
    let mut found = false;
    kind.bodies().into_iter().for_each(|body| {
        wsp_ir::workload::each_node(body, &mut |node| {
            found |= matches!(
                node.kind,
                NodeKind::Send { .. } | NodeKind::Consume { .. } | NodeKind::Close { .. }
            );
        });
    });
    found
}
