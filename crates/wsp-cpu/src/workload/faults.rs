//! What goes wrong with the tasks of a workload, as the user sees it.

use super::codes;
use super::declared::{Cause, TaskFault};
use super::equal::NamedTensor;
use super::memory::NeverStored;
use super::settings::{cancelled, not_started, stopped, stuck};
use super::submit::{SequentialStop, StreamFault};
use super::tensors::ask_for;
use super::view_kernel::Misfit;
use wsp_backend::GraphListing;
use wsp_backend::PayloadSlot;
use wsp_diag::Diagnostic;
use wsp_ir::workload::WorkloadModule;
use wsp_plan::workload::ExpandError;
use wsp_runtime::Failure;

/// Why generation ended early; `of_sink` tells what the receiver of the tasks says.
pub(crate) fn generation<E>(error: ExpandError<E>, of_sink: impl FnOnce(E) -> Diagnostic) -> Diagnostic {
    match error {
        ExpandError::Fault(fault) => *fault,
        ExpandError::Sink(fault) => of_sink(fault),
        ExpandError::Cancelled => cancelled(),
    }
}

/// Why the tasks of a run on threads could not all be generated.
pub(crate) fn streaming(module: &WorkloadModule, error: ExpandError<StreamFault>) -> Diagnostic {
    generation(error, |fault| match fault {
        StreamFault::Stopped(reason) => stopped(&reason),
        StreamFault::Regions(fault) => fault.diagnostic(&NamedTensor::of_workload(module)),
    })
}

/// A failed run of declared kernels; `of_source` tells what generates tasks says.
pub(crate) fn failed<E>(
    module: &WorkloadModule,
    failure: Failure<Box<TaskFault>, E>,
    payload: Option<&PayloadSlot>,
    of_source: impl FnOnce(E) -> Diagnostic,
) -> Diagnostic {
    match failure {
        Failure::Task { failure, .. } => task(module, *failure, payload),
        Failure::Panic { message, .. } => {
            Diagnostic::error(codes::TASK_PANICKED, format!("a task panicked: {message}"))
        }
        Failure::Source(error) => of_source(error),
        Failure::Cancelled => cancelled(),
        Failure::Start(fault) => not_started(&fault),
        Failure::Stuck(report) => stuck(&report),
    }
}

/// A failed task; what it hands to the caller goes into the slot.
pub(crate) fn task(module: &WorkloadModule, fault: TaskFault, payload: Option<&PayloadSlot>) -> Diagnostic {
    let TaskFault { record, cause } = fault;
    let kernel = &module.kernels[record.kernel.index()];
    let failed = |code, what: &str| {
        Diagnostic::error(code, format!("kernel `{}` {what}", kernel.name)).at(kernel.span, "this kernel")
    };
    let names = NamedTensor::of_workload(module);
    let (diagnostic, handed) = match cause {
        Cause::Trap(trap) if trap.is_cancelled() => return cancelled(),
        Cause::Trap(trap) => (Diagnostic::from(*trap).note(format!("in kernel `{}`", kernel.name)), None),
        Cause::NeverStored(NeverStored { tensor, index }) => {
            let name = &names[tensor.index()].name;
            let message = format!("`{name}` is loaded where no task has stored anything");
            let fault = Diagnostic::error(crate::codes::NEVER_STORED, message)
                .at(kernel.span, "a task of this kernel loads it")
                .note(format!("the first such element is {name}{index:?}"));
            (ask_for(fault, name), None)
        }
        Cause::Fault(fault) => {
            (failed(codes::TASK_FAILED, &format!("failed: {}", fault.message)), fault.payload)
        }
        Cause::Panic(message) => (failed(codes::TASK_PANICKED, &format!("panicked: {message}")), None),
        Cause::Argument(Misfit { what, help, python }) => {
            let fault = failed(codes::VIEW_ARGUMENT, &format!("cannot run: {what}"));
            (fault.help(help).python(python), None)
        }
    };
    if let Some(slot) = payload {
        slot.put(handed);
    }
    let tensors = record.regions.iter().map(|region| names[region.tensor.index()].bounds(region));
    let args: Vec<String> = record.scalars.iter().map(i64::to_string).chain(tensors).collect();
    diagnostic
        .note(format!("in the task with the indices {:?}", record.indices.as_slice()))
        .note(format!("its arguments: {}", args.join(", ")))
}

/// Why a sequential run ended early.
pub(crate) fn sequential(
    module: &WorkloadModule,
    stop: SequentialStop,
    payload: Option<&PayloadSlot>,
) -> Diagnostic {
    match stop {
        SequentialStop::Task(fault) => task(module, *fault, payload),
        SequentialStop::Cancelled => cancelled(),
    }
}

/// Refuses tasks that conflict and that nothing orders: their run has no one result.
pub(crate) fn refuse_missed(module: &WorkloadModule, listing: &GraphListing) -> Result<(), Vec<Diagnostic>> {
    let Some(first) = listing.missed.first() else { return Ok(()) };
    let kernel = |id: u32| &listing.kernels[listing.tasks[id as usize] as usize].name;
    let task = |id: u32| format!("task {id} of kernel `{}`", kernel(id));
    let message =
        format!("{} and {} conflict, and nothing orders them", task(first.earlier), task(first.later));
    let mut fault = Diagnostic::error(codes::MISSED_HAZARD, message);
    if listing.missed_count > 1 {
        fault = fault.note(format!("{} such pairs in all", listing.missed_count));
    }
    if let Some(entry) = module.entry.and_then(|entry| module.workloads.get(entry.index())) {
        fault = fault.at(entry.span, "its tasks are ordered by `after`, ordered loops and streams only");
    }
    Err(vec![
        fault
            .help("add `after`, or write `task_graph(deps = hybrid)`")
            .python("add `after=[…]`, or write `.task_graph(deps=Deps.hybrid())`"),
    ])
}
