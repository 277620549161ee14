//! The kinds of statements of workloads, and what targets do with each.

use super::{Block, Node, NodeKind, WorkloadModule};
use crate::{CapabilityRow, Support};
use wsp_core::WorkloadId;

macro_rules! statements {
    ($($(#[$doc:meta])* $kind:ident: $row:expr;)*) => {
        /// A kind of statements: a [`NodeKind`] without what it holds.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum StatementKind {
            $($(#[$doc])* $kind,)*
        }

        impl StatementKind {
            /// All of them.
            pub const ALL: &'static [StatementKind] = &[$(StatementKind::$kind),*];

            /// What targets do with it.
            pub fn row(self) -> &'static CapabilityRow {
                match self {
                    $(StatementKind::$kind => const { &$row },)*
                }
            }
        }
    };
}

const fn enforced(primitive: &'static str, meaning: &'static str) -> CapabilityRow {
    CapabilityRow::new(primitive, Support::Enforced, meaning)
}

/// Of a pipeline: a program for AICPUs has no instruction with which a process keeps its place while others go on.
const fn expanded_by_the_host(row: CapabilityRow) -> CapabilityRow {
    row.on_aicpus(
        Support::Error,
        "AICPUs cannot generate its tasks, and issue those that the host generates (`--expand host`)",
    )
}

statements! {
    /// A task.
    Task: enforced("kernel(…)", "one task");
    /// `parallel for`.
    ParallelFor: enforced("parallel for", "the tasks of all iterations, ordered by their data only");
    /// `for`.
    ForEach: enforced("for", "an iteration's tasks start after all tasks of the iteration before");
    /// `select`.
    Select: enforced("select", "as `parallel for`, over the columns of one row of a sparse axis");
    /// `if`.
    Cond: enforced("if", "the tasks of one branch");
    /// `while`.
    While: enforced("while", "as `for`, as long as the condition holds");
    /// `combine`.
    Combine: enforced("combine", "the tasks of all branches, ordered by their data only");
    /// `sequential`.
    Sequential: enforced("sequential", "a step's tasks start after all tasks of the step before");
    /// `call`.
    Call: enforced("call", "the tasks of another workload");
    /// `pipeline`.
    Pipeline: expanded_by_the_host(enforced("pipeline", "the tasks of processes that take turns, ordered by their data only"));
    /// `send`.
    Send: expanded_by_the_host(enforced("send", "the tasks of its body, when the channel has a free slot"));
    /// `consume`.
    Consume: expanded_by_the_host(enforced("consume", "the tasks of its body, when the channel has a token"));
}

impl NodeKind {
    /// What kind of statement it is.
    pub fn statement(&self) -> StatementKind {
        match self {
            NodeKind::Task(_) => StatementKind::Task,
            NodeKind::ParallelFor { .. } => StatementKind::ParallelFor,
            NodeKind::ForEach { .. } => StatementKind::ForEach,
            NodeKind::Select { .. } => StatementKind::Select,
            NodeKind::Cond { .. } => StatementKind::Cond,
            NodeKind::While { .. } => StatementKind::While,
            NodeKind::Combine(_) => StatementKind::Combine,
            NodeKind::Sequential(_) => StatementKind::Sequential,
            NodeKind::Call { .. } => StatementKind::Call,
            NodeKind::Pipeline { .. } => StatementKind::Pipeline,
            NodeKind::Send { .. } => StatementKind::Send,
            NodeKind::Consume { .. } => StatementKind::Consume,
        }
    }

    /// The blocks inside the statement.
    pub fn bodies(&self) -> Vec<&Block> {
        match self {
            NodeKind::ParallelFor { body, .. }
            | NodeKind::ForEach { body, .. }
            | NodeKind::Select { body, .. }
            | NodeKind::While { body, .. }
            | NodeKind::Send { body, .. }
            | NodeKind::Consume { body, .. } => vec![body],
            NodeKind::Pipeline { processes } => processes.iter().map(|process| &process.body).collect(),
            NodeKind::Cond { then, otherwise, .. } => vec![then, otherwise],
            NodeKind::Combine(blocks) | NodeKind::Sequential(blocks) => blocks.iter().collect(),
            NodeKind::Task(_) | NodeKind::Call { .. } => Vec::new(),
        }
    }
}

impl WorkloadModule {
    /// Which workloads a workload reaches by calls, itself included. A call names an earlier workload, so one pass from the last is enough.
    pub fn reached(&self, entry: WorkloadId) -> Vec<bool> {
        let mut reached = vec![false; self.workloads.len()];
        reached[entry.index()] = true;
        for index in (0..=entry.index()).rev() {
            if reached[index] {
                each_node(&self.workloads[index].body, &mut |node| {
                    if let NodeKind::Call { workload, .. } = &node.kind {
                        reached[workload.index()] = true;
                    }
                });
            }
        }
        reached
    }
}

/// Visits every statement of a block, outer ones first.
pub fn each_node<'m>(block: &'m Block, visit: &mut impl FnMut(&'m Node)) {
    for node in block {
        visit(node);
        node.kind.bodies().into_iter().for_each(|body| each_node(body, visit));
    }
}
