//! Pools of workers against the units that tasks are for.

use crate::lower::codes::IDLE_POOL;
use wsp_core::policy::{ExecPool, PoolSizes};
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, Span};

/// A warning where pools have workers of a unit that none of these tasks is for; `at` is where the pools are asked for.
pub(crate) fn idle_pool(pools: PoolSizes, tasks: &[ExecPool], at: Span) -> Option<Diagnostic> {
    let PoolSizes::ByUnit { vector, cube } = pools else { return None };
    let idle = |unit| !tasks.is_empty() && !tasks.iter().any(|of| *of == unit || *of == ExecPool::Any);
    let (unit, workers) = match () {
        () if idle(ExecPool::Vector) => ("vector", vector),
        () if idle(ExecPool::Cube) => ("cube", cube),
        () => return None,
    };
    let have = if workers == 1 { "has" } else { "have" };
    let workers = counted(u64::from(workers), "worker");
    Some(
        Diagnostic::warning(IDLE_POOL, format!("{workers} of the {unit} units {have} nothing to run"))
            .at(at, "every task is for the other units")
            .help("leave the pools out: then every worker takes every task"),
    )
}
