//! What becomes of the pipelines of a module, without a use for its tasks.

use super::super::Bindings;
use super::super::schedule::LoweredSchedule;
use super::faults::Fault;
use super::machine::{Machine, Stop};
use super::sink::Behind;
use super::{ChannelCount, TaskRecord, TaskSink, compile};
use std::cell::Cell;
use wsp_core::SlotId;
use wsp_diag::Diagnostic;
use wsp_ir::workload::WorkloadModule;

/// What was found.
pub(crate) struct Probe {
    /// What went through each channel.
    pub(crate) counts: Vec<ChannelCount>,
    pub(crate) end: End,
}

/// How it ended.
pub(crate) enum End {
    /// All processes ended.
    Ended,
    /// None can go on.
    Deadlock(Box<Diagnostic>),
    /// Another fault.
    Fault,
    /// It asked for the value of a slot.
    Slot,
    /// It took more looks than were allowed.
    Long,
}

/// Runs the processes of a module's pipelines, with at most so many looks at whether to go on: one for each 1,024 transfers and
/// iterations.
pub(crate) fn probe(module: &WorkloadModule, bindings: &Bindings, looks: &Cell<u32>) -> Probe {
    let Some(entry) = module.entry else { return Probe { counts: Vec::new(), end: End::Ended } };
    let schedule = LoweredSchedule::default();
    let program = compile::compile(module, bindings, &schedule, entry);
    let mut machine = Machine::new(&program);
    let mut sink = Looks { looks };
    let end = match Behind::driven(&mut sink, |sink| machine.go(sink)) {
        Ok(()) => End::Ended,
        Err(Stop::Sink(_)) => End::Slot,
        Err(Stop::Cancelled) => End::Long,
        Err(Stop::Fault(fault)) => match &fault {
            Fault::Deadlock(_) => End::Deadlock(Box::new(machine.diagnostic(&fault))),
            _ => End::Fault,
        },
    };
    Probe { counts: std::mem::take(&mut machine.turns.counts), end }
}

/// Takes no tasks and no slots.
pub(super) struct Looks<'l> {
    pub(super) looks: &'l Cell<u32>,
}

impl TaskSink for Looks<'_> {
    type Error = ();

    fn task(&mut self, _: &TaskRecord<'_>) -> Result<(), ()> {
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, ()> {
        Err(())
    }

    fn cancelled(&self) -> bool {
        let left = self.looks.get();
        self.looks.set(left.saturating_sub(1));
        left == 0
    }
}
