//! What the variables of a workload are in one inlined copy of it.

use wsp_core::{ChannelId, LabelId, ParamId, TableId, VarId};
use wsp_ir::workload::Workload;

/// What a variable stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binding {
    /// The variable at a depth.
    Depth(u32),
    /// The position of the entry of the `SELECT` at a depth.
    Position(u32),
    /// A number.
    Const(i64),
    /// A parameter.
    Param(ParamId),
    /// The length of a table.
    TableLen(TableId),
}

/// One inlined copy of a workload.
pub(super) struct InlinedWorkload<'m> {
    workload: &'m Workload,
    /// By variable. The verifier lets expressions name only those that are in scope, whose entries are set.
    bindings: Vec<Binding>,
    first_label: u32,
    /// The number of the next task statement.
    next_statement: u32,
    /// The channels of the pipeline that is written, in the order of their numbers.
    pub(super) channels: Vec<ChannelId>,
}

impl<'m> InlinedWorkload<'m> {
    /// A copy with these arguments; an entry has none.
    pub(super) fn new(
        workload: &'m Workload,
        mut arguments: Vec<Binding>,
        first_label: u32,
        first_statement: u32,
    ) -> InlinedWorkload<'m> {
        arguments.resize(workload.vars.len(), Binding::Const(0));
        let channels = Vec::new();
        InlinedWorkload {
            workload,
            bindings: arguments,
            first_label,
            next_statement: first_statement,
            channels,
        }
    }

    pub(super) fn bind(&mut self, var: VarId, binding: Binding) {
        self.bindings[var.index()] = binding;
    }

    pub(super) fn binding(&self, var: VarId) -> Binding {
        self.bindings[var.index()]
    }

    pub(super) fn name(&self, var: VarId) -> &'m str {
        &self.workload.vars[var.index()].name
    }

    pub(super) fn span(&self, var: VarId) -> wsp_diag::Span {
        self.workload.vars[var.index()].span
    }

    /// A label of this copy, numbered over the program.
    pub(super) fn label(&self, label: LabelId) -> u32 {
        self.first_label + label.0
    }

    /// The number of a channel of the pipeline.
    pub(super) fn channel(&self, channel: ChannelId) -> u32 {
        self.channels.iter().position(|known| *known == channel).unwrap_or_default() as u32
    }

    pub(super) fn declared(&self, channel: ChannelId) -> &'m wsp_ir::workload::Channel {
        &self.workload.channels[channel.index()]
    }

    /// The number of the next task statement, which is then the one after.
    pub(super) fn statement(&mut self) -> u32 {
        self.next_statement += 1;
        self.next_statement - 1
    }
}
