//! What goes wrong on AICPUs, as the user sees it.

use super::super::codes;
use super::super::library::no_slot;
use super::super::settings::{cancelled, next_not_started, not_replayed, not_started, overflow, stuck};
use super::Generated;
use super::generation::GenerationFault;
use wsp_backend::WindowOverflow;
use wsp_core::words::counted;
use wsp_core::{KernelId, SlotId};
use wsp_diag::{Diagnostic, Span};
use wsp_kernel::Trap;
use wsp_plan::ptow::{Found, Lowered, expand};
use wsp_plan::workload::{ExpandError, TaskRecord, TaskSink};
use wsp_runtime::aicpu::{AicpuFailure, Refused, SourceFault};
use wsp_runtime::{FailedTask, Failure};

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
        lowered: Option<&Lowered>,
        of_task: impl FnOnce(TaskFailure<F>) -> Diagnostic,
    ) -> Diagnostic {
        let fault = match failure {
            Failure::Start(fault) => return not_started(&fault),
            Failure::Task { task: FailedTask { kernel, payload, .. }, failure } => {
                return of_task(TaskFailure::Fault { kernel, payload, failure });
            }
            Failure::Panic { task: FailedTask { kernel, payload, .. }, message } => {
                return of_task(TaskFailure::Panic { kernel, payload, message });
            }
            Failure::Cancelled => return cancelled(),
            Failure::Stuck(report) => return stuck(&report),
            Failure::Source(fault) => fault,
        };
        match fault {
            SourceFault::Fault { fault: GenerationFault::Task(fault), .. } => fault,
            SourceFault::Fault { fault: GenerationFault::Program(found), .. } => {
                self.first_fault(&found, lowered)
            }
            SourceFault::Fault { fault: GenerationFault::Partition { end, total, then }, .. } => {
                self.partition(end, total, then.map(|found| self.program_fault(&found, lowered)))
            }
            SourceFault::Fault { fault: GenerationFault::Site(word), .. } => {
                Trap::internal(format!("instruction {word} belongs to no statement"), Span::default()).into()
            }
            SourceFault::Refused { ordinal, refused: Refused::WindowFull { capacity }, aicpu } => {
                let message = format!(
                    "task {ordinal} of AICPU {aicpu} finds its window of {capacity} full, its share of the schedule's"
                );
                let full = u64::from(capacity);
                overflow(message, WindowOverflow { capacity: full, active: full, task: ordinal })
            }
            SourceFault::Refused { refused: Refused::NoSlot(slot), .. } => no_slot(self.module, slot),
            SourceFault::Refused { ordinal, refused: refused @ Refused::NotReplayed(_), .. } => {
                not_replayed(format!("task {ordinal}: {refused}"))
            }
            SourceFault::NotReplayed { task } => next_not_started(task),
            SourceFault::Refused { aicpu, ordinal, refused } => {
                let message = format!("task {ordinal} of AICPU {aicpu} was not taken: {refused}");
                Trap::internal(message, Span::default()).into()
            }
            SourceFault::NoticeLost { from, to, .. } => {
                let message = format!("a notice from AICPU {from} to AICPU {to} was lost");
                Trap::internal(message, Span::default()).into()
            }
        }
    }

    /// Tasks that a static partition gives to nobody.
    fn partition(&self, end: u64, total: u64, then: Option<Diagnostic>) -> Diagnostic {
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
                    then.message,
                    total = counted(total, "task")
                ))
                .note("tasks behind the last range do not run, so what they would write is missing")
                .help("give every task to a range"),
        }
    }

    /// The fault of a program. AICPUs find faults in no particular order, so the first of all tasks is looked for, among those
    /// that depend on no computed value.
    fn first_fault(&self, found: &Found, lowered: Option<&Lowered>) -> Diagnostic {
        match expand(self.module, self.bindings, self.schedule, &mut Looking) {
            Err(ExpandError::Fault(first)) => *first,
            Ok(_) | Err(ExpandError::Sink(_) | ExpandError::Cancelled) => self.program_fault(found, lowered),
        }
    }

    /// A fault that an AICPU has found.
    fn program_fault(&self, found: &Found, lowered: Option<&Lowered>) -> Diagnostic {
        let source = (self.module, self.bindings, self.schedule);
        match lowered {
            Some(lowered) => lowered.fault(source, found),
            None => Trap::internal(found.fault.to_string(), Span::default()).into(),
        }
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
