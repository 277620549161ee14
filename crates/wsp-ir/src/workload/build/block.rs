//! The statements of a workload.

use super::ModuleBuilder;
use super::expr::Expr;
use super::handle::{Index, Kernel, Label, Tensor, Workload};
use super::origin::{Origin, Owner};
use super::place::{Argument, Over, Row, Value};
use crate::workload::{self as model, Access, Arg, ArgValue, Block, IntExpr, Node, NodeKind};
use wsp_core::{LabelId, VarId};
use wsp_diag::Span;

/// Writes the statements of one block of a workload, in order.
pub struct WorkloadBuilder<'m> {
    pub(super) module: &'m mut ModuleBuilder,
    pub(super) workload: &'m mut model::Workload,
    pub(super) owner: Owner,
    block: Block,
}

impl<'m> WorkloadBuilder<'m> {
    /// A builder of the outermost block.
    pub(super) fn new(
        module: &'m mut ModuleBuilder,
        workload: &'m mut model::Workload,
        owner: Owner,
    ) -> Self {
        WorkloadBuilder { module, workload, owner, block: Vec::new() }
    }

    /// The statements.
    pub(super) fn into_block(self) -> Block {
        self.block
    }

    /// Declares a variable.
    pub(super) fn var(&mut self, name: &str) -> Index {
        let id = VarId(self.workload.vars.len() as u32);
        self.workload.vars.push(model::Var { name: name.to_owned(), span: Span::default() });
        Index { id, owner: self.owner }
    }

    pub(super) fn push(&mut self, kind: NodeKind) {
        self.block.push(Node { kind, span: Span::default() });
    }

    /// The statements that `body` writes.
    pub(super) fn inner(&mut self, body: impl FnOnce(&mut WorkloadBuilder<'_>)) -> Block {
        let mut inner = WorkloadBuilder {
            module: &mut *self.module,
            workload: &mut *self.workload,
            owner: self.owner,
            block: Vec::new(),
        };
        body(&mut inner);
        inner.block
    }

    pub(super) fn place(&self) -> String {
        format!("workload `{}`", self.workload.name)
    }

    fn accept(&mut self, expr: impl Into<Expr>) -> IntExpr {
        let place = self.place();
        self.module.accept(expr.into(), Some(self.owner), &place)
    }

    pub(super) fn check(&mut self, origin: Origin) {
        let place = self.place();
        self.module.check(origin, Some(self.owner), &place);
    }

    /// A task; [`Task::arg`] gives it its arguments.
    pub fn task(&mut self, kernel: Kernel) -> Task<'_, 'm> {
        self.check(Origin::of_module(kernel.owner));
        let task = model::Task { kernel: kernel.id, label: None, args: Vec::new(), after: Vec::new() };
        self.push(NodeKind::Task(task));
        Task { of: self }
    }

    /// `call w(…);`; [`Call::arg`] gives it its arguments.
    pub fn call(&mut self, workload: Workload) -> Call<'_, 'm> {
        self.check(Origin::of_module(workload.owner));
        self.push(NodeKind::Call { workload: workload.id, args: Vec::new() });
        Call { of: self }
    }

    /// `parallel for i in … { }`: iterations are ordered by their data only.
    pub fn parallel_for(
        &mut self,
        name: &str,
        over: impl Into<Over>,
        body: impl FnOnce(&mut WorkloadBuilder<'_>, Index),
    ) {
        let over = over.into();
        self.check(over.origin);
        let index = self.var(name);
        let body = self.inner(|w| body(w, index));
        self.push(NodeKind::ParallelFor { var: index.id, over: over.iteration, body });
    }

    /// `for i in … { }`: an iteration's tasks start after all tasks of the iteration before.
    pub fn for_each(
        &mut self,
        name: &str,
        over: impl Into<Over>,
        body: impl FnOnce(&mut WorkloadBuilder<'_>, Index),
    ) {
        let over = over.into();
        self.check(over.origin);
        let index = self.var(name);
        let body = self.inner(|w| body(w, index));
        self.push(NodeKind::ForEach { var: index.id, over: over.iteration, body });
    }

    /// `select e in axis[row] { }`: over the columns of a row.
    pub fn select(&mut self, name: &str, row: Row, body: impl FnOnce(&mut WorkloadBuilder<'_>, Index)) {
        let (axis, row) = (row.axis, self.accept(row.row));
        let column = self.var(name);
        let body = self.inner(|w| body(w, column));
        self.push(NodeKind::Select { var: column.id, position: None, axis, row, body });
    }

    /// `select e @ p in axis[row] { }`: over the columns of a row, each with the position of its entry.
    pub fn select_at(
        &mut self,
        names: [&str; 2],
        row: Row,
        body: impl FnOnce(&mut WorkloadBuilder<'_>, Index, Index),
    ) {
        let (axis, row) = (row.axis, self.accept(row.row));
        let [column, position] = names.map(|name| self.var(name));
        let body = self.inner(|w| body(w, column, position));
        self.push(NodeKind::Select { var: column.id, position: Some(position.id), axis, row, body });
    }

    /// `if c { }`.
    pub fn when(&mut self, condition: impl Into<Expr>, then: impl FnOnce(&mut WorkloadBuilder<'_>)) {
        self.cond(condition, then, |_| {});
    }

    /// `if c { } else { }`.
    pub fn cond(
        &mut self,
        condition: impl Into<Expr>,
        then: impl FnOnce(&mut WorkloadBuilder<'_>),
        otherwise: impl FnOnce(&mut WorkloadBuilder<'_>),
    ) {
        let condition = self.accept(condition);
        let (then, otherwise) = (self.inner(then), self.inner(otherwise));
        self.push(NodeKind::Cond { condition, then, otherwise });
    }

    /// `while c { }`: at most [`wsp_core::limits::MAX_WHILE_ROUNDS`] rounds.
    pub fn while_(&mut self, condition: impl Into<Expr>, body: impl FnOnce(&mut WorkloadBuilder<'_>)) {
        let condition = self.accept(condition);
        let body = self.inner(body);
        self.push(NodeKind::While { condition, max: None, body });
    }

    /// `while c max n { }`: a condition that still holds after `n` rounds is a fault of the run.
    pub fn while_max(
        &mut self,
        condition: impl Into<Expr>,
        max: impl Into<Expr>,
        body: impl FnOnce(&mut WorkloadBuilder<'_>),
    ) {
        let (condition, max) = (self.accept(condition), Some(self.accept(max)));
        let body = self.inner(body);
        self.push(NodeKind::While { condition, max, body });
    }

    /// `combine { { … } { … } }`: branches are ordered by their data only.
    pub fn combine(&mut self, branches: impl FnOnce(&mut Blocks<'_, '_>)) {
        let blocks = self.blocks(branches);
        self.push(NodeKind::Combine(blocks));
    }

    /// `sequential { { … } { … } }`: a step's tasks start after all tasks of the step before.
    pub fn sequential(&mut self, steps: impl FnOnce(&mut Blocks<'_, '_>)) {
        let blocks = self.blocks(steps);
        self.push(NodeKind::Sequential(blocks));
    }

    fn blocks(&mut self, parts: impl FnOnce(&mut Blocks<'_, '_>)) -> Vec<Block> {
        let mut builder = WorkloadBuilder {
            module: &mut *self.module,
            workload: &mut *self.workload,
            owner: self.owner,
            block: Vec::new(),
        };
        let mut blocks = Blocks { of: &mut builder, blocks: Vec::new() };
        parts(&mut blocks);
        blocks.blocks
    }

    fn last_task(&mut self) -> Option<&mut model::Task> {
        match &mut self.block.last_mut()?.kind {
            NodeKind::Task(task) => Some(task),
            _ => None,
        }
    }
}

/// The branches of `combine`, or the steps of `sequential`.
pub struct Blocks<'b, 'm> {
    of: &'b mut WorkloadBuilder<'m>,
    blocks: Vec<Block>,
}

impl Blocks<'_, '_> {
    /// Adds a branch.
    pub fn branch(&mut self, body: impl FnOnce(&mut WorkloadBuilder<'_>)) -> &mut Self {
        let block = self.of.inner(body);
        self.blocks.push(block);
        self
    }

    /// Adds a step.
    pub fn step(&mut self, body: impl FnOnce(&mut WorkloadBuilder<'_>)) -> &mut Self {
        self.branch(body)
    }
}

/// A task that is written already, to be given arguments.
pub struct Task<'b, 'm> {
    of: &'b mut WorkloadBuilder<'m>,
}

impl Task<'_, '_> {
    fn add(self, name: Option<String>, value: Argument) -> Self {
        let value = match value.0 {
            Value::Scalar(value) => ArgValue::Scalar(self.of.accept(value)),
            Value::Region(part) => {
                let Tensor { id, owner } = part.tensor;
                self.of.check(Origin::of_module(owner));
                part.bounds.iter().for_each(|bound| self.of.check(bound.origin));
                let ranges = part.bounds.into_iter().map(|bound| bound.range).collect();
                ArgValue::Access(Access { tensor: id, ranges, span: Span::default() })
            }
        };
        if let Some(task) = self.of.last_task() {
            task.args.push(Arg { name, value });
        }
        self
    }

    /// The next argument.
    pub fn arg(self, value: impl Into<Argument>) -> Self {
        self.add(None, value.into())
    }

    /// A field of the descriptor of a used file's kernel.
    pub fn field(self, name: &str, value: impl Into<Expr>) -> Self {
        self.add(Some(name.to_owned()), Argument(Value::Scalar(value.into())))
    }

    /// With explicit and hybrid dependences: starts after the last task of this label.
    pub fn after(self, label: Label) -> Self {
        self.of.check(Origin::of_scope(label.owner));
        if let Some(task) = self.of.last_task() {
            task.after.push(label.id);
        }
        self
    }

    /// Labels the task, for [`Task::after`].
    pub fn label(self, name: &str) -> Label {
        let label = Label { id: LabelId(self.of.workload.labels.len() as u32), owner: self.of.owner };
        self.of.workload.labels.push(model::Label { name: name.to_owned(), span: Span::default() });
        if let Some(task) = self.of.last_task() {
            task.label = Some(label.id);
        }
        label
    }
}

/// A call that is written already, to be given arguments.
pub struct Call<'b, 'm> {
    of: &'b mut WorkloadBuilder<'m>,
}

impl Call<'_, '_> {
    /// The next argument.
    pub fn arg(self, value: impl Into<Expr>) -> Self {
        let value = self.of.accept(value);
        if let Some(Node { kind: NodeKind::Call { args, .. }, .. }) = self.of.block.last_mut() {
            args.push(value);
        }
        self
    }
}
