//! What is known of the owners of tasks.

use super::super::dispatch::Rule;
use crate::ExecPool;

/// A rule that decides, and the pool that thresholds before it have chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deciding<'a> {
    pub(super) rule: Rule<'a>,
    pub(super) pool: Option<ExecPool>,
}

/// A task of this AICPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mine {
    /// The pool, where a threshold chooses it.
    pub(super) pool: Option<ExecPool>,
}

/// What is known of the owners of the tasks that come next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Own<'a> {
    /// Nothing: filters decide.
    Test,
    /// This rule decides, and no filter stands in its way.
    Rule(Deciding<'a>),
    /// This AICPU owns them all.
    Mine(Mine),
}
