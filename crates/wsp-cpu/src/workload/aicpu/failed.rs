//! What goes wrong on AICPUs, as the user sees it.

use super::super::codes;
use super::super::library::no_slot;
use super::super::settings::{cancelled, not_started};
use super::{Generated, GenerationFault};
use wsp_core::ptow::interp::Fault;
use wsp_core::words::counted;
use wsp_core::{KernelId, SlotId};
use wsp_diag::{Diagnostic, Span};
use wsp_kernel::Trap;
use wsp_plan::workload::{ExpandError, TaskRecord, TaskSink, expand};
use wsp_runtime::aicpu::{AicpuFailure, Refused};

/// A task that failed.
pub(super) enum TaskFailure<F> {
    /// Its kernel returned a fault.
    Fault { kernel: KernelId, payload: Vec<u32>, failure: F },
    /// Its kernel panicked.
    Panic { kernel: KernelId, payload: Vec<u32>, message: String },
}

impl Generated<'_> {
    /// A failed run.
    pub(super) fn failed<F>(
        &self,
        failure: AicpuFailure<F, GenerationFault>,
        spans: &[Span],
        of_task: impl FnOnce(TaskFailure<F>) -> Diagnostic,
    ) -> Diagnostic {
        match failure {
            AicpuFailure::Start(fault) => not_started(&fault),
            AicpuFailure::Task { kernel, payload, failure, .. } => {
                of_task(TaskFailure::Fault { kernel, payload, failure })
            }
            AicpuFailure::Panic { kernel, payload, message, .. } => {
                of_task(TaskFailure::Panic { kernel, payload, message })
            }
            AicpuFailure::Fault { fault: GenerationFault::Task(fault), .. } => fault,
            AicpuFailure::Fault { fault: GenerationFault::Program(fault), .. } => {
                self.program_fault(&fault, spans)
            }
            AicpuFailure::Fault { fault: GenerationFault::Partition { end, total, then }, .. } => {
                self.partition(end, total, then.as_ref())
            }
            AicpuFailure::Fault { fault: GenerationFault::Site(word), .. } => {
                Trap::internal(format!("instruction {word} belongs to no statement"), Span::default()).into()
            }
            AicpuFailure::Refused { ordinal, refused: Refused::WindowFull { capacity }, aicpu } => {
                let message = format!("task {ordinal} of AICPU {aicpu} finds its window of {capacity} full");
                Diagnostic::error(codes::WINDOW_OVERFLOW, message)
                    .help("write `task_window(n, stall)`, or a larger `n`")
                    .python("write `.task_graph(window=TaskWindow(n))`, or a larger `n`")
            }
            AicpuFailure::Refused { refused: Refused::NoSlot(slot), .. } => no_slot(self.module, slot),
            AicpuFailure::Cancelled => cancelled(),
            failure @ (AicpuFailure::Refused { .. }
            | AicpuFailure::NoticeLost { .. }
            | AicpuFailure::Stuck(_)) => Trap::internal(said(&failure), Span::default()).into(),
        }
    }

    /// Tasks that a static partition gives to nobody.
    fn partition(&self, end: u64, total: u64, then: Option<&Fault>) -> Diagnostic {
        let line = self.schedule.lines.iter().find(|line| line.primitive.starts_with("dispatch"));
        let fault = Diagnostic::error(codes::PARTITION, "a static partition does not tile the tasks")
            .at(line.map_or_else(Span::default, |line| line.span), format!("its ranges end at {end}"));
        match then {
            None => fault
                .note(format!("the workload generates {total}", total = counted(total, "task")))
                .help(format!("let the last range end at {total}")),
            Some(then) => fault
                .note(format!(
                    "the workload generates {total} before something goes wrong: {}",
                    then.kind,
                    total = counted(total, "task")
                ))
                .note("tasks behind the last range do not run, so what they would write is missing")
                .help("give every task to a range"),
        }
    }

    /// The fault of a program. The host goes the same way as far as it depends on no computed value, and says more.
    fn program_fault(&self, fault: &Fault, spans: &[Span]) -> Diagnostic {
        match expand(self.module, self.bindings, self.schedule, &mut Looking) {
            Err(ExpandError::Fault(found)) => *found,
            Ok(_) | Err(ExpandError::Sink(_) | ExpandError::Cancelled) => Diagnostic::error(
                codes::PROGRAM_REFUSED,
                format!("generating tasks went wrong: {}", fault.kind),
            )
            .at(spans.get(fault.word as usize).copied().unwrap_or_default(), "here")
            .note(format!("after {}", counted(fault.ordinal, "task"))),
        }
    }
}

/// What the runtime says of itself.
fn said<F>(failure: &AicpuFailure<F, GenerationFault>) -> String {
    match failure {
        AicpuFailure::Refused { aicpu, ordinal, refused } => {
            format!("task {ordinal} of AICPU {aicpu} was not taken: {refused}")
        }
        AicpuFailure::NoticeLost { from, to, .. } => {
            format!("a notice from AICPU {from} to AICPU {to} was lost")
        }
        AicpuFailure::Stuck(report) => report.to_string(),
        _ => String::new(),
    }
}

/// Goes through all tasks, up to the first that depends on a computed value.
struct Looking;

impl TaskSink for Looking {
    type Error = SlotId;

    fn task(&mut self, _: &TaskRecord<'_>) -> Result<(), SlotId> {
        Ok(())
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, SlotId> {
        Err(slot)
    }
}
