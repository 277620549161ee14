//! Expands a workload, or counts its tasks, without running it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use wsp_core::{SlotId, limits};
use wsp_ir::diag::Diagnostic;
use wsp_ir::workload::{ParamSource, WorkloadModule};
use wsp_plan::workload::{
    ExpandError, TaskRecord, TaskSink, bind, check_schedule, count, expand, lower_schedule,
};
use wsp_plan::{CompileOptions, ParamValue};

/// What is to be said of the tasks that a workload has when every value is its default. Nothing when some value has no
/// default, or when tasks decide which other tasks there are.
pub fn check_defaults(module: &WorkloadModule) -> Vec<Diagnostic> {
    let unset = module.params.iter().any(|p| matches!(p.source, ParamSource::Set(None)));
    if unset || module.tables.iter().any(|t| t.values.is_none()) || module.entry.is_none() {
        return Vec::new();
    }
    expand_defaults(module).unwrap_or_else(|faults| faults)
}

/// How many tasks a launch has, where parameters alone say so.
pub fn known_tasks(module: &WorkloadModule, set: &[(String, ParamValue)]) -> Option<u64> {
    // What is wrong with the values is found when they are bound for good.
    let bindings = bind(module, set, &BTreeMap::new()).ok()?;
    count(module, &bindings)
}

/// Warnings, or faults.
fn expand_defaults(module: &WorkloadModule) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let bindings = bind(module, &[], &BTreeMap::new())?;
    let schedule = lower_schedule(module, None, &CompileOptions::default().target)?;
    let found = check_schedule(module, &bindings, &schedule);
    let few = count(module, &bindings).is_some_and(|tasks| tasks <= limits::MAX_DESCRIPTORS.into());
    if found.iter().any(Diagnostic::is_error) || !few {
        return Ok(found);
    }
    match expand(module, &bindings, &schedule, &mut Nothing) {
        Err(ExpandError::Fault(fault)) => Err(vec![*fault]),
        Ok(_) | Err(ExpandError::Cancelled) => Ok(found),
    }
}

/// Takes tasks and does nothing with them.
struct Nothing;

impl TaskSink for Nothing {
    type Error = Infallible;

    fn task(&mut self, _: &TaskRecord<'_>) -> Result<(), Infallible> {
        Ok(())
    }

    fn ordered_begin(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn ordered_end(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, Infallible> {
        Ok(0)
    }

    fn cancelled(&self) -> bool {
        false
    }
}
