//! The kinds of statements of workloads, and what targets do with each.

use super::{ArgValue, Block, DimRange, IntExpr, Iteration, Node, NodeKind, WorkloadModule};
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
    Pipeline: enforced("pipeline", "the tasks of processes that take turns, ordered by their data only");
    /// `send`.
    Send: enforced("send", "the tasks of its body, when the channel has a free slot");
    /// `consume`.
    Consume: enforced("consume", "the tasks of its body, when the channel has a token");
    /// `close`.
    Close: enforced("close", "no tasks: consumes of the channel end when its tokens are taken");
}

/// The blocks inside a statement; `$iter` and `$part` say whether they may be changed.
macro_rules! bodies {
    ($kind:expr, $iter:ident, $($part:tt)+) => {
        match $kind {
            NodeKind::ParallelFor { body, .. }
            | NodeKind::ForEach { body, .. }
            | NodeKind::Select { body, .. }
            | NodeKind::While { body, .. }
            | NodeKind::Send { body, .. } => vec![body],
            NodeKind::Consume { arms, .. } => arms.$iter().map(|arm| $($part)+ arm.body).collect(),
            NodeKind::Pipeline { processes } => {
                processes.$iter().map(|process| $($part)+ process.body).collect()
            }
            NodeKind::Cond { then, otherwise, .. } => vec![then, otherwise],
            NodeKind::Combine(blocks) | NodeKind::Sequential(blocks) => blocks.$iter().collect(),
            NodeKind::Task(_) | NodeKind::Call { .. } | NodeKind::Close { .. } => Vec::new(),
        }
    };
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
            NodeKind::Close { .. } => StatementKind::Close,
        }
    }

    /// The expressions of the statement itself, in the order of the text: not those of the blocks inside.
    pub fn exprs(&self) -> Vec<&IntExpr> {
        match self {
            NodeKind::Task(task) => task.args.iter().flat_map(|arg| arg.value.exprs()).collect(),
            NodeKind::ParallelFor { over, .. } | NodeKind::ForEach { over, .. } => match over {
                Iteration::Axis(_) => Vec::new(),
                Iteration::Ragged { outer, .. } => vec![outer],
                Iteration::Range { lo, hi, step } => [lo, hi].into_iter().chain(step).collect(),
            },
            NodeKind::Select { row, .. } => vec![row],
            NodeKind::Cond { condition, .. } => vec![condition],
            NodeKind::While { condition, max, .. } => [condition].into_iter().chain(max).collect(),
            NodeKind::Call { args, .. } => args.iter().collect(),
            NodeKind::Combine(_)
            | NodeKind::Sequential(_)
            | NodeKind::Pipeline { .. }
            | NodeKind::Send { .. }
            | NodeKind::Consume { .. }
            | NodeKind::Close { .. } => Vec::new(),
        }
    }

    /// The blocks inside the statement, in the order of the text.
    pub fn bodies(&self) -> Vec<&Block> {
        bodies!(self, iter, &)
    }

    /// The blocks inside the statement, for change in place.
    pub fn bodies_mut(&mut self) -> Vec<&mut Block> {
        bodies!(self, iter_mut, &mut)
    }
}

impl ArgValue {
    /// Its expressions, in the order of the text.
    pub fn exprs(&self) -> Vec<&IntExpr> {
        let access = match self {
            ArgValue::Scalar(value) => return vec![value],
            ArgValue::Access(access) => access,
        };
        let of = |range| match range {
            &DimRange::Whole => [None, None],
            DimRange::Index(lo) => [Some(lo), None],
            DimRange::Range { lo, hi: other } | DimRange::Sized { lo, len: other } => [Some(lo), Some(other)],
        };
        access.ranges.iter().flat_map(of).flatten().collect()
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
pub fn each_node<'m>(block: &'m [Node], visit: &mut impl FnMut(&'m Node)) {
    for node in block {
        visit(node);
        node.kind.bodies().into_iter().for_each(|body| each_node(body, visit));
    }
}
