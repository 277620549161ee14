//! What becomes of the pipelines of a module, without a use for its tasks.

use super::super::Bindings;
use super::super::schedule::LoweredSchedule;
use super::faults::{Deadlock, Fault};
use super::machine::{Machine, Stop};
use super::program::{Channel, CompiledModule};
use super::sink::Behind;
use super::watch::{Clocks, Watch};
use super::{ChannelCount, TaskRecord, TaskSink, compile};
use crate::cost;
use std::cell::Cell;
use wsp_core::{ChannelId, SlotId, WorkloadId};
use wsp_diag::Diagnostic;
use wsp_ir::workload::WorkloadModule;
use wsp_ordered::OrderedMap;

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
    /// None can go on. For each circle of processes, and each that waits for one that has ended, the channels whose depth keeps one from sending.
    Deadlock { full: Vec<Vec<(WorkloadId, ChannelId)>>, diagnostic: Box<Diagnostic> },
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
            Fault::Deadlock(deadlock) => {
                let full = full(&program, deadlock);
                End::Deadlock { full, diagnostic: Box::new(machine.diagnostic(&fault)) }
            }
            _ => End::Fault,
        },
    };
    Probe { counts: std::mem::take(&mut machine.turns.counts), end }
}

/// A run in which each process does one thing after the other.
pub(crate) struct Timed {
    /// When the last process is done, in cycles; none where none can go on.
    pub(crate) end: Option<u64>,
    /// Lists of channels of which one each has to be deeper for an earlier end: those in which senders waited for slots.
    pub(crate) wanted: Vec<Vec<(WorkloadId, ChannelId)>>,
}

/// The full channels of each circle of processes that wait for each other, and of each process that waits for one that has ended. Each waits for one,
/// where every consume has one channel.
fn full(program: &CompiledModule<'_>, deadlock: &Deadlock) -> Vec<Vec<(WorkloadId, ChannelId)>> {
    let all = &deadlock.waiting;
    let places: OrderedMap<u32, usize> = all.iter().map(|waiting| waiting.process).zip(0..).collect();
    let channel = |at: usize| {
        let (id, _) = all[at].transfers.first()?;
        Some(&program.channels[program.transfers[*id as usize].channel as usize])
    };
    let next = |at: usize| {
        let other = channel(at)?.ends[usize::from(all[at].want.sends())]?;
        places.get(&other).copied()
    };
    let (mut seen, mut found) = (vec![false; all.len()], Vec::new());
    for start in 0..all.len() {
        let mut path = Vec::new();
        let mut at = Some(start).filter(|at| !seen[*at]);
        while let Some(here) = at.filter(|at| !std::mem::replace(&mut seen[*at], true)) {
            path.push(here);
            at = next(here);
        }
        let from = match at {
            Some(at) => path.iter().position(|on_path| *on_path == at),
            None => path.len().checked_sub(1),
        };
        let Some(from) = from else { continue };
        let sends = path[from..].iter().filter(|at| all[**at].want.sends());
        found.push(sends.filter_map(|at| channel(*at)).map(|of| (of.workload, of.id)).collect());
    }
    found
}

/// Runs the processes with what their tasks cost. None where a kernel has no cost, and where [`probe`] would not end.
pub(crate) fn timed(module: &WorkloadModule, bindings: &Bindings, looks: &Cell<u32>) -> Option<Timed> {
    let schedule = LoweredSchedule::default();
    let program = compile::compile(module, bindings, &schedule, module.entry?);
    let cost = Cell::new(0);
    let mut machine = Machine::new(&program);
    machine.turns.watch = Some(Watch::new(&program, Clocks::Costs(&cost)));
    let mut sink = Costs { module, bindings, looks: Looks { looks }, cost: &cost };
    let ran = Behind::driven(&mut sink, |sink| machine.go(sink));
    let watch = machine.turns.watch.as_ref()?;
    let of = |channel: &Channel<'_>| (channel.workload, channel.id);
    match ran {
        Ok(()) => {
            let waited = watch.waited().map(|at| of(&program.channels[at])).collect();
            Some(Timed { end: Some(watch.end()), wanted: vec![waited] })
        }
        Err(Stop::Fault(Fault::Deadlock(deadlock))) => {
            Some(Timed { end: None, wanted: full(&program, &deadlock) })
        }
        Err(_) => None,
    }
}

/// Counts what tasks cost.
struct Costs<'c> {
    module: &'c WorkloadModule,
    bindings: &'c Bindings,
    looks: Looks<'c>,
    cost: &'c Cell<u64>,
}

impl TaskSink for Costs<'_> {
    type Error = ();

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), ()> {
        let cost = cost::declared(self.module, self.bindings, task).map_err(drop)?.ok_or(())?;
        self.cost.set(self.cost.get().saturating_add(cost));
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, ()> {
        Err(())
    }

    fn cancelled(&self) -> bool {
        self.looks.cancelled()
    }
}

/// Takes no tasks and no slots.
struct Looks<'l> {
    looks: &'l Cell<u32>,
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
