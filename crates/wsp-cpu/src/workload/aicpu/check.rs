//! What is checked of the tasks of a workload before AICPUs generate them.

use super::super::equal::EqualRegions;
use super::super::faults;
use super::super::graph::GraphFault;
use super::super::settings::RegionRule;
use super::Generated;
use super::issue::Issue;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_core::SlotId;
use wsp_diag::Diagnostic;
use wsp_plan::workload::{TaskRecord, TaskSink, expand};

/// Under `exact`: refuses regions that overlap without being equal. The host looks at all tasks, as no AICPU sees them all.
pub(super) fn equal_regions<I: Issue>(
    generated: &Generated<'_>,
    issue: &mut I,
) -> Result<(), Vec<Diagnostic>> {
    let mut sink = Comparing {
        generated,
        issue,
        equal: EqualRegions::new(RegionRule::EqualOrDisjoint),
        cancel: generated.options.cancel.as_deref(),
    };
    let expanded = expand(generated.module, generated.bindings, generated.schedule, &mut sink);
    expanded.map(|_| ()).map_err(|error| vec![faults::generation(error, |fault| *fault)])
}

/// Compares the regions of every task with those before it.
struct Comparing<'c, 'g, I> {
    generated: &'c Generated<'g>,
    issue: &'c mut I,
    equal: EqualRegions,
    cancel: Option<&'c AtomicBool>,
}

impl<I: Issue> TaskSink for Comparing<'_, '_, I> {
    type Error = Box<Diagnostic>;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Box<Diagnostic>> {
        let (reads, writes) = self.issue.regions(task).map_err(Box::new)?;
        let checked = self.equal.check(task.ordinal, reads, writes);
        checked.map_err(|fault| Box::new(fault.diagnostic(self.generated.tensors)))
    }

    fn ordered_begin(&mut self) -> Result<(), Box<Diagnostic>> {
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), Box<Diagnostic>> {
        Ok(())
    }

    fn ordered_end(&mut self) -> Result<(), Box<Diagnostic>> {
        Ok(())
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, Box<Diagnostic>> {
        let instead = [
            "write `task_graph(deps = overlap)`: `exact` compares all regions before tasks run on AICPUs",
            "write `.task_graph(deps=Deps.infer_bytes_overlap())`: exact dependences compare all regions before tasks run on \
             AICPUs",
        ];
        Err(Box::new(GraphFault::Computed(slot).diagnostic(self.generated.module, instead)))
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}
