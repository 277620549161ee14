//! Task statements by number, and how many statements there are when calls are inlined.

use wsp_core::WorkloadId;
use wsp_diag::Span;
use wsp_ir::workload::{NodeKind, Task, WorkloadModule, each_node};

/// A task statement of a module.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'m> {
    /// What it says.
    pub task: &'m Task,
    /// Where it stands.
    pub span: Span,
    /// The workload that it belongs to.
    pub workload: WorkloadId,
}

/// Every task statement of a module: by workload, in source order. [`super::Site::statement`] is an index into it.
pub fn statements(module: &WorkloadModule) -> Vec<Statement<'_>> {
    let mut found = Vec::new();
    for (workload, index) in module.workloads.iter().zip(0..) {
        each_node(&workload.body, &mut |node| {
            if let NodeKind::Task(task) = &node.kind {
                found.push(Statement { task, span: node.span, workload: WorkloadId(index) });
            }
        });
    }
    found
}

/// How many task statements stand before those of each workload.
pub(super) fn first_statements(module: &WorkloadModule) -> Vec<u32> {
    let mut next = 0;
    let of = |workload: &wsp_ir::workload::Workload| {
        let first = next;
        each_node(&workload.body, &mut |node| next += u32::from(matches!(node.kind, NodeKind::Task(_))));
        first
    };
    module.workloads.iter().map(of).collect()
}

/// Statements of a workload, those of called ones at every call. A call names an earlier workload.
pub(super) fn inlined(module: &WorkloadModule, entry: WorkloadId) -> u64 {
    let mut counts: Vec<u64> = Vec::with_capacity(module.workloads.len());
    for workload in module.workloads.iter().take(entry.index() + 1) {
        let mut count = 0u64;
        each_node(&workload.body, &mut |node| {
            let called = match &node.kind {
                NodeKind::Call { workload, .. } => counts.get(workload.index()).copied().unwrap_or(0),
                _ => 0,
            };
            count = count.saturating_add(1).saturating_add(called);
        });
        counts.push(count);
    }
    counts.last().copied().unwrap_or(0)
}
