//! Expands a workload, or counts its tasks, without running it.

use crate::engine::program;
use std::cell::Cell;
use wsp_backend::Args;
use wsp_core::policy::{Deps, Trace};
use wsp_core::{SlotId, limits};
use wsp_diag::{Code, Diagnostic, Severity};
use wsp_ir::workload::verify::COST;
use wsp_ir::workload::{Param, ParamSource, SchedulePolicy, WorkloadModule};
use wsp_kernel::{Engine, Mode};
use wsp_ordered::OrderedMap;
use wsp_plan::flow::FOLLOWED;
use wsp_plan::workload::{
    ExpandError, TaskRecord, TaskSink, WorkloadPlan, bind, check_schedule, count, expand, lower_schedule,
};
use wsp_plan::{Arrays, CompileOptions, ParamValue};

/// Codes of findings about tasks over arrays that are made up: no order, and no tasks that are known.
const MISSED_HAZARD: Code = Code(860);
const SLOT_IN_GRAPH: Code = Code(854);

/// Codes of findings about layouts over a grid.
pub(in crate::commands) const LAYOUTS: [Code; 4] = [Code(430), Code(431), Code(432), Code(433)];

/// Layouts that depend on values or arrays that only a run has.
pub(in crate::commands) fn layouts_undecided() -> Diagnostic {
    let message =
        "layouts are not followed before a run: its tasks depend on values or arrays that it is given";
    Diagnostic::new(LAYOUTS[1], Severity::Note, message)
}

/// What is to be said of the tasks that a workload has when every value is its default, as far as these are known: up to
/// the first that other tasks decide on, and not beyond very many. Nothing when some value has no default.
pub(super) fn check_defaults(module: &WorkloadModule) -> Vec<Diagnostic> {
    match has_defaults(module) {
        true => expand_defaults(module).unwrap_or_else(|faults| faults),
        false => Vec::new(),
    }
}

/// Most tasks of which the order and the costs are checked.
const MOST_ORDERED: u32 = 1 << 16;

/// What a schedule's dependences miss between the tasks that a workload has when every value is its default, what of its layouts does not fit them,
/// and what is wrong with costs that it asks for. `arrays` are those of a used file, of which conflicts alone are told, as warnings: they are made up. Nothing of more
/// tasks than 65,536, and of those behind the first that others decide on, where the schedule does not refuse that.
pub(super) fn check_order(plan: &WorkloadPlan, arrays: &Arrays) -> Vec<Diagnostic> {
    let policy = &plan.schedule.policy;
    let is_virtual = policy.trace == Trace::Cycles;
    if !asks_order(plan) {
        return Vec::new();
    }
    let mut plan = plan.clone();
    // What is found must not follow from how many workers this machine has, nor from costs that no run asks for.
    plan.schedule.policy = SchedulePolicy {
        deps: policy.deps,
        streams: policy.streams,
        stream_by: policy.stream_by.clone(),
        gates: policy.gates.clone(),
        grid: policy.grid,
        layouts: policy.layouts.clone(),
        relayouts: policy.relayouts.clone(),
        ..SchedulePolicy::default()
    };
    if !is_virtual {
        plan.module.kernels.iter_mut().for_each(|kernel| kernel.cost = None);
    }
    let is_used = plan.library.is_some();
    let of_layout = |fault: &Diagnostic| LAYOUTS.contains(&fault.code);
    let is_told = |fault: &Diagnostic| {
        !is_used || [MISSED_HAZARD, SLOT_IN_GRAPH].contains(&fault.code) || of_layout(fault)
    };
    let args = Args { arrays: arrays.clone(), ..Args::default() };
    let checked = program(&plan.into(), Mode::default(), Engine::default(), None)
        .and_then(|program| Ok(program.check_order(&args, MOST_ORDERED)?));
    let mut found: Vec<Diagnostic> = checked.err().unwrap_or_default();
    found.retain(is_told);
    for fault in found.iter_mut().filter(|fault| is_used && of_layout(fault)) {
        fault.notes.push("of arrays of the sizes that are made up for them".to_owned());
    }
    // That of a negative cost says where it stands.
    for fault in found.iter_mut().filter(|fault| fault.code == COST && fault.primary.is_none()) {
        fault.severity = Severity::Warning;
        fault
            .notes
            .push("of all tasks one after another; on several workers a run may end before".to_owned());
    }
    for fault in found.iter_mut().filter(|fault| is_used && fault.code == MISSED_HAZARD) {
        // Sizes of given arrays may bring other regions.
        fault.severity = Severity::Warning;
        fault.notes.push("of arrays as they are made up; a run over given ones compares theirs".to_owned());
    }
    found
}

/// Whether order, layouts or costs of tasks are to be checked under a schedule, and all values are known.
pub(super) fn asks_order(plan: &WorkloadPlan) -> bool {
    let policy = &plan.schedule.policy;
    let may_fail = policy.trace == Trace::Cycles || matches!(policy.deps, Deps::Exact | Deps::Explicit);
    may_fail && has_defaults(&plan.module) || policy.grid.is_some() && has_values(plan)
}

/// Whether every value that the tasks depend on has a default, in the used file if not in the workload.
fn has_values(plan: &WorkloadPlan) -> bool {
    let Some(library) = &plan.library else { return has_defaults(&plan.module) };
    let there = |name: &str| library.plan.module.params.iter().any(|param| param.name == name);
    let is_set = |p: &Param| !matches!(p.source, ParamSource::Set(None)) || there(&p.name);
    plan.module.params.iter().all(is_set) && plan.module.tables.iter().all(|t| t.values.is_some())
}

/// Whether every value that the tasks depend on has a default.
fn has_defaults(module: &WorkloadModule) -> bool {
    let unset = module.params.iter().any(|p| matches!(p.source, ParamSource::Set(None)));
    !unset && module.tables.iter().all(|t| t.values.is_some()) && module.entry.is_some()
}

/// How many tasks a launch has, where parameters alone say so.
pub(super) fn known_tasks(module: &WorkloadModule, set: &[(String, ParamValue)]) -> Option<u64> {
    // What is wrong with the values is found when they are bound for good.
    let bindings = bind(module, set, &OrderedMap::new()).ok()?;
    count(module, &bindings)
}

/// Warnings, or faults.
fn expand_defaults(module: &WorkloadModule) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let bindings = bind(module, &[], &OrderedMap::new())?;
    let schedule = lower_schedule(module, None, CompileOptions::default().target)?;
    let found = check_schedule(module, &bindings, &schedule);
    if found.iter().any(Diagnostic::is_error) {
        return Ok(found);
    }
    let mut sink = Looking { left: limits::MAX_DESCRIPTORS, polls: Cell::new(FOLLOWED) };
    match expand(module, &bindings, &schedule, &mut sink) {
        Err(ExpandError::Fault(fault)) => Err(vec![*fault]),
        Ok(_) | Err(ExpandError::Cancelled | ExpandError::Sink(Enough)) => Ok(found),
    }
}

/// The first tasks were looked at, or a task decides what comes next.
struct Enough;

/// Takes the first tasks and does nothing with them.
struct Looking {
    left: u32,
    polls: Cell<u32>,
}

impl TaskSink for Looking {
    type Error = Enough;

    fn task(&mut self, _: &TaskRecord<'_>) -> Result<(), Enough> {
        self.left = self.left.checked_sub(1).ok_or(Enough)?;
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, Enough> {
        Err(Enough)
    }

    fn cancelled(&self) -> bool {
        self.polls.set(self.polls.get().saturating_sub(1));
        self.polls.get() == 0
    }
}
