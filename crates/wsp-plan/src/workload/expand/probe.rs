//! What becomes of the pipelines of a module, without a use for its tasks.

use super::super::Bindings;
use super::super::schedule::LoweredSchedule;
use super::faults::Fault;
use super::machine::{Machine, Stop};
use super::sink::Behind;
use super::{ChannelCount, TaskRecord, TaskSink, compile};
use std::cell::Cell;
use wsp_core::SlotId;
use wsp_diag::{Diagnostic, Span};
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
    /// It took more looks than were allowed; the loop under way that has most iterations before it.
    Long(Option<Longest>),
}

/// A loop under way.
pub(crate) struct Longest {
    /// Where it stands.
    pub(crate) span: Span,
    /// The name of its variable.
    pub(crate) var: String,
    /// Iterations after this one.
    pub(crate) remaining: u64,
}

/// Runs the processes of a module's pipelines; of slots, `known` says whether all have their first values for
/// ever. There are at most so many looks at whether to go on: one for each 1,024 transfers and iterations.
pub(crate) fn probe(module: &WorkloadModule, bindings: &Bindings, looks: &Cell<u32>, known: bool) -> Probe {
    let Some(entry) = module.entry else { return Probe { counts: Vec::new(), end: End::Ended } };
    let schedule = LoweredSchedule::default();
    let program = compile::compile(module, bindings, &schedule, entry);
    let mut machine = Machine::new(&program);
    let mut sink = Looks { looks, slots: known.then_some(bindings) };
    let end = match Behind::driven(&mut sink, |sink| machine.go(sink)) {
        Ok(()) => End::Ended,
        Err(Stop::Sink(_)) => End::Slot,
        Err(Stop::Cancelled) => End::Long(machine.longest().map(|(span, var, remaining)| Longest {
            span,
            var: var.to_owned(),
            remaining,
        })),
        Err(Stop::Fault(fault)) => match &fault {
            Fault::Deadlock(_) => End::Deadlock(Box::new(machine.diagnostic(&fault, None))),
            _ => End::Fault,
        },
    };
    Probe { counts: std::mem::take(&mut machine.turns.counts), end }
}

/// Takes no tasks.
pub(super) struct Looks<'l> {
    pub(super) looks: &'l Cell<u32>,
    /// What has the values of slots, where these are known.
    pub(super) slots: Option<&'l Bindings>,
}

impl TaskSink for Looks<'_> {
    type Error = ();

    fn task(&mut self, _: &TaskRecord<'_>) -> Result<(), ()> {
        Ok(())
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, ()> {
        self.slots.map(|of| of.slot(slot)).ok_or(())
    }

    fn cancelled(&self) -> bool {
        let left = self.looks.get();
        self.looks.set(left.saturating_sub(1));
        left == 0
    }
}
