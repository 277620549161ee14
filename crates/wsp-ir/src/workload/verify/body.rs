//! Workloads and their statements.

use super::channel::{Channels, End};
use super::expr::Place;
use super::{Checker, error, rule};
use crate::workload::{AxisKind, Block, IntExpr, Iteration, Node, NodeKind, Workload};
use wsp_core::words::counted;
use wsp_core::{AxisId, LabelId, TensorId, VarId, WorkloadId};
use wsp_diag::Span;
use wsp_ordered::OrderedSet;

/// A workload while it is checked.
pub(super) struct Body<'m> {
    pub(super) workload: &'m Workload,
    /// Its index.
    index: usize,
    /// Variables that are visible, outermost first.
    open: Vec<VarId>,
    /// Variables that are or were visible.
    bound: OrderedSet<VarId>,
    /// How many labels are defined.
    labels: u32,
    /// Tensors that the task whose bounds are checked writes.
    written: Vec<TensorId>,
    /// Pipelines and channels so far.
    pub(super) channels: Channels,
}

impl<'m> Body<'m> {
    fn new(workload: &'m Workload, index: usize) -> Body<'m> {
        let (open, bound, written) = (Vec::new(), OrderedSet::new(), Vec::new());
        let channels = Channels::new(workload);
        Body { workload, index, open, bound, labels: 0, written, channels }
    }

    /// Whether a variable is visible.
    pub(super) fn is_open(&self, var: usize) -> bool {
        self.open.iter().any(|open| open.index() == var)
    }

    /// Whether an expression here is a bound of a task that writes this tensor.
    pub(super) fn bounds_write(&self, tensor: TensorId) -> bool {
        self.written.contains(&tensor)
    }

    /// Sets the tensors that the task whose bounds come next writes.
    pub(super) fn enter_bounds(&mut self, written: Vec<TensorId>) {
        self.written = written;
    }

    /// Ends [`Body::enter_bounds`], and gives back what it was given.
    pub(super) fn leave_bounds(&mut self) -> Vec<TensorId> {
        std::mem::take(&mut self.written)
    }

    /// Whether a label is defined before this point.
    pub(super) fn is_defined(&self, label: LabelId) -> bool {
        label.0 < self.labels
    }

    /// Defines a label; false when another one is next.
    pub(super) fn define(&mut self, label: LabelId) -> bool {
        let next = label.0 == self.labels;
        self.labels += u32::from(next);
        next
    }
}

impl<'m> Checker<'m> {
    pub(super) fn workloads(&mut self) {
        let module = self.module;
        for (index, workload) in module.workloads.iter().enumerate() {
            self.place = format!("workload `{}`", workload.name);
            self.workload(Body::new(workload, index));
        }
        self.place.clear();
        self.entry();
    }

    fn entry(&mut self) {
        let module = self.module;
        let runs = module.runs();
        let Some(workload) = runs.and_then(|id| module.workloads.get(id.index())) else {
            return self.require(module.entry.is_none(), || {
                error(rule::ENTRY, Span::default(), "there is no workload that could run")
            });
        };
        let name = &workload.name;
        self.require(module.entry == runs, || {
            error(rule::ENTRY, workload.span, format!("what runs is not `{name}`"))
                .note("the workload named `main` runs, else the last")
        });
        self.require(workload.params == 0, || {
            let takes = counted(workload.params as usize, "argument");
            error(rule::ENTRY, workload.span, format!("`{name}` runs, but takes {takes}"))
                .note("the workload named `main` runs, else the last")
                .help("add `workload main { … }`, which calls the others")
        });
    }

    fn workload(&mut self, mut body: Body<'m>) {
        let workload = body.workload;
        for var in &workload.vars {
            self.name(&var.name, var.span);
        }
        self.distinct(workload.labels.iter().map(|label| (&*label.name, label.span)));
        let formals = (workload.params as usize).min(workload.vars.len());
        self.require(formals == workload.params as usize, || {
            let message = format!(
                "{} formal arguments, but {formals}",
                workload.params,
                formals = counted(formals, "variable")
            );
            error(rule::UNKNOWN_ID, workload.span, message)
        });
        for var in 0..formals as u32 {
            self.bind(&mut body, VarId(var), workload.span);
        }
        self.channels(workload);
        self.block(&workload.body, &mut body);
        self.channel_ends(&body);
        self.pipelined.push(body.channels.has_pipeline());
        let (vars, labels) = (workload.vars.len(), workload.labels.len());
        self.require(body.bound.len() >= vars, || {
            let message = format!(
                "{} of {vars} are bound nowhere",
                vars - body.bound.len(),
                vars = counted(vars, "variable")
            );
            error(rule::VARIABLE, workload.span, message)
        });
        self.require(body.labels as usize >= labels, || {
            let message = format!("{} of {labels} labels have no task", labels - body.labels as usize);
            error(rule::LABEL, workload.span, message)
        });
    }

    /// Makes a variable visible.
    fn bind(&mut self, body: &mut Body<'m>, var: VarId, span: Span) {
        if let Some(entry) = self.lookup(&body.workload.vars, var.index(), "variable", span) {
            let next = VarId(body.bound.len() as u32);
            let name = &entry.name;
            if body.bound.contains(&var) {
                self.push(error(rule::VARIABLE, span, format!("`{name}` is bound twice")));
            } else if var != next {
                let message = format!("variable {} (`{name}`) is bound where {} is next", var.0, next.0);
                self.push(error(rule::VARIABLE, span, message));
            }
        }
        body.bound.insert(var);
        body.open.push(var);
    }

    pub(super) fn block(&mut self, block: &'m Block, body: &mut Body<'m>) {
        let closed = body.channels.closed();
        for node in block {
            self.node(node, body);
        }
        body.channels.forget_closed(closed);
    }

    /// Checks a block in which variables are visible.
    pub(super) fn scoped(&mut self, vars: &[VarId], block: &'m Block, body: &mut Body<'m>, span: Span) {
        let before = body.open.len();
        for var in vars {
            self.bind(body, *var, span);
        }
        self.block(block, body);
        body.open.truncate(before);
    }

    /// Checks an expression of a workload.
    pub(super) fn value(&mut self, tree: &'m IntExpr, body: &Body<'m>) {
        self.expr(tree, &Place::Workload(body));
    }

    fn node(&mut self, node: &'m Node, body: &mut Body<'m>) {
        match &node.kind {
            NodeKind::Task(task) => self.task(task, node.span, body),
            NodeKind::ParallelFor { var, over, body: inner } => {
                self.iteration(over, node.span, body);
                self.scoped(&[*var], inner, body, node.span);
            }
            NodeKind::ForEach { var, over, body: inner } => {
                self.iteration(over, node.span, body);
                let outer = body.channels.enter_ordered("for", node.span);
                self.scoped(&[*var], inner, body, node.span);
                body.channels.leave_ordered(outer);
            }
            NodeKind::Select { var, position, axis, row, body: inner } => {
                self.select(*axis, row, node.span, body);
                let vars: Vec<VarId> = [*var].into_iter().chain(*position).collect();
                self.scoped(&vars, inner, body, node.span);
            }
            NodeKind::Cond { condition, then, otherwise } => {
                self.value(condition, body);
                self.block(then, body);
                self.block(otherwise, body);
            }
            NodeKind::While { condition, max, body: inner } => {
                self.value(condition, body);
                if let Some(max) = max {
                    self.value(max, body);
                }
                let outer = body.channels.enter_ordered("while", node.span);
                self.block(inner, body);
                body.channels.leave_ordered(outer);
            }
            NodeKind::Combine(blocks) => blocks.iter().for_each(|inner| self.block(inner, body)),
            NodeKind::Sequential(blocks) => {
                let outer = body.channels.enter_ordered("sequential", node.span);
                blocks.iter().for_each(|inner| self.block(inner, body));
                body.channels.leave_ordered(outer);
            }
            NodeKind::Pipeline { processes } => self.pipeline(processes, node.span, body),
            NodeKind::Send { channel, var, body: inner } => {
                self.transfer(End::Send, *channel, node.span, body);
                body.channels.enter_send(*channel);
                self.scoped(&[*var], inner, body, node.span);
                body.channels.leave_send();
            }
            NodeKind::Consume { arms, .. } => self.consume(arms, node.span, body),
            NodeKind::Close { channel } => self.close(*channel, node.span, body),
            NodeKind::Call { workload, args } => {
                self.call(*workload, args, node.span, body);
                self.called_pipeline(*workload, node.span, body);
            }
        }
    }

    fn iteration(&mut self, over: &'m Iteration, span: Span, body: &Body<'m>) {
        match over {
            Iteration::Axis(axis) => {
                let Some(axis) = self.lookup(&self.module.axes, axis.index(), "axis", span) else { return };
                let name = &axis.name;
                let (kind, help) = match &axis.kind {
                    AxisKind::Dense { .. } | AxisKind::DenseDyn(_) => return,
                    AxisKind::Ragged { outer, .. } => {
                        ("ragged", format!("say of which {}: `{name}[i]`", self.outer_index(*outer)))
                    }
                    AxisKind::Sparse { .. } => ("sparse", format!("write `select e in {name}[i] {{ … }}`")),
                };
                let message =
                    format!("the loop over the {kind} axis `{name}` needs an index of its outer axis");
                self.push(error(rule::ITERATION, span, message).label(axis.span, "declared here").help(help));
            }
            Iteration::Ragged { axis, outer } => {
                self.value(outer, body);
                let Some(axis) = self.lookup(&self.module.axes, axis.index(), "axis", span) else { return };
                let name = &axis.name;
                let (kind, help) = match &axis.kind {
                    AxisKind::Ragged { .. } => return,
                    AxisKind::Sparse { .. } => ("sparse", format!("write `select e in {name}[i] {{ … }}`")),
                    _ => ("dense", format!("leave the index out: `for i in {name}`")),
                };
                let message = format!("a loop with an index runs over a ragged axis, and `{name}` is {kind}");
                self.push(error(rule::ITERATION, span, message).label(axis.span, "declared here").help(help));
            }
            Iteration::Range { lo, hi, step } => {
                self.value(lo, body);
                self.value(hi, body);
                let Some(step) = step else { return };
                self.value(step, body);
                if let Some(value) = step.as_const().filter(|value| *value < 1) {
                    let diagnostic = error(rule::STEP, step.span, format!("the step is {value}"))
                        .help("a step is at least 1; count down with `n - 1 - i`");
                    self.push(diagnostic);
                }
            }
        }
    }

    /// The outer axis of a ragged one, as a message names its index.
    fn outer_index(&self, outer: AxisId) -> String {
        let name = self.module.axes.get(outer.index()).map_or("", |axis| &axis.name);
        format!("index of `{name}`")
    }

    fn select(&mut self, axis: AxisId, row: &'m IntExpr, span: Span, body: &Body<'m>) {
        self.value(row, body);
        let Some(axis) = self.lookup(&self.module.axes, axis.index(), "axis", span) else { return };
        self.require(matches!(axis.kind, AxisKind::Sparse { .. }), || {
            let name = &axis.name;
            let index = if matches!(axis.kind, AxisKind::Ragged { .. }) { "[i]" } else { "" };
            error(rule::ITERATION, span, format!("`select` runs over a sparse axis, and `{name}` is none"))
                .label(axis.span, "declared here")
                .help(format!("write `for k in {name}{index}`"))
        });
    }

    fn call(&mut self, callee: WorkloadId, args: &'m [IntExpr], span: Span, body: &Body<'m>) {
        for arg in args {
            self.value(arg, body);
        }
        let Some(called) = self.lookup(&self.module.workloads, callee.index(), "workload", span) else {
            return;
        };
        let name = &called.name;
        if callee.index() >= body.index {
            let message = if callee.index() == body.index {
                format!("workload `{name}` calls itself")
            } else {
                format!("workload `{name}` is called before it is declared")
            };
            let diagnostic = error(rule::CALL, span, message)
                .label(called.span, "declared here")
                .note("a workload calls earlier ones only, so that calls end")
                .help("declare what is called first; repeat with `for` or `while`")
                .python("declare what is called first; repeat with `P.seq` or `P.loop`");
            return self.push(diagnostic);
        }
        self.require(args.len() == called.params as usize, || {
            let takes = counted(called.params as usize, "argument");
            let message = format!("`{name}` takes {takes}, not {}", args.len());
            error(rule::CALL, span, message).label(called.span, "declared here")
        });
    }
}
