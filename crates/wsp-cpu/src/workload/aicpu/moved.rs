//! What AICPUs are given, without running anything.

use super::check_aicpus;
use crate::workload::inputs::WorkloadOptions;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_backend::{Expand, Transferred};
use wsp_core::SlotId;
use wsp_diag::Diagnostic;
use wsp_ir::workload::WorkloadModule;
use wsp_plan::ptow::{HostList, LaunchData, dispatch_configs, lower, transfer};
use wsp_plan::workload::{
    Bindings, ExpandError, LoweredSchedule, TaskRecord, TaskSink, count, expand, modes,
};

/// Most tasks whose parameters and accesses are counted one by one.
const MOST_LOOKED_AT: u64 = 1 << 26;

/// Lowers a workload and counts bytes.
///
/// # Errors
/// A schedule that AICPUs do not keep; no program can be made of the workload; a fault of its tasks; cancellation.
pub(crate) fn moved(
    module: &WorkloadModule,
    schedule: &LoweredSchedule,
    bindings: &Bindings,
    aicpus: u16,
    cancel: Option<&AtomicBool>,
) -> Result<Transferred, Vec<Diagnostic>> {
    check_aicpus(schedule, aicpus)?;
    let lowered = lower(module, schedule)?;
    dispatch_configs(&lowered, aicpus)?;
    let launch = LaunchData::new(&lowered, module, bindings);
    let transfer = transfer(&lowered.program, &launch, aicpus);
    let tasks = count(module, bindings);
    let rows_only = tasks.is_some_and(|tasks| tasks > MOST_LOOKED_AT);
    let list = match tasks {
        Some(tasks) if rows_only => Some(HostList::new(tasks, 0, 0)),
        Some(_) => listed(module, schedule, bindings, cancel)?,
        None => None,
    };
    Ok(Transferred { program: lowered.program, transfer, list, rows_only, notes: lowered.notes })
}

/// Bytes that a launch brings to the device: the program, or the list of tasks that the host makes; 0 where tasks depend on what others compute.
///
/// # Errors
/// As [`moved`], of what is asked for.
pub(crate) fn bytes(
    (module, bindings): (&WorkloadModule, &Bindings),
    schedule: &LoweredSchedule,
    options: &WorkloadOptions,
) -> Result<u64, Vec<Diagnostic>> {
    match options.expand {
        Expand::Host | Expand::Loops | Expand::Table => {
            Ok(listed(module, schedule, bindings, options.cancel.as_deref())?.map_or(0, |list| list.rows))
        }
        Expand::Usual | Expand::Bytecode => {
            let lowered = lower(module, schedule)?;
            dispatch_configs(&lowered, options.aicpus)?;
            let launch = LaunchData::new(&lowered, module, bindings);
            Ok(transfer(&lowered.program, &launch, options.aicpus).total())
        }
    }
}

/// The list that the host would make.
fn listed(
    module: &WorkloadModule,
    schedule: &LoweredSchedule,
    bindings: &Bindings,
    cancel: Option<&AtomicBool>,
) -> Result<Option<HostList>, Vec<Diagnostic>> {
    let accesses = module.kernels.iter().map(|kernel| modes(kernel).len() as u64).collect();
    let mut sink = Counting { accesses, tasks: 0, parameters: 0, all: 0, cancel };
    match expand(module, bindings, schedule, &mut sink) {
        Ok(_) => Ok(Some(HostList::new(sink.tasks, sink.parameters, sink.all))),
        Err(ExpandError::Sink(_)) => Ok(None),
        Err(ExpandError::Fault(fault)) => Err(vec![*fault]),
        Err(ExpandError::Cancelled) => Err(vec![super::super::settings::cancelled()]),
    }
}

/// Counts what a list would hold.
struct Counting<'c> {
    /// Accesses of a task of each kernel.
    accesses: Vec<u64>,
    tasks: u64,
    parameters: u64,
    all: u64,
    cancel: Option<&'c AtomicBool>,
}

impl TaskSink for Counting<'_> {
    type Error = SlotId;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), SlotId> {
        self.tasks += 1;
        self.parameters += task.scalars.len() as u64;
        self.all += self.accesses[task.kernel.index()];
        Ok(())
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, SlotId> {
        Err(slot)
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}
