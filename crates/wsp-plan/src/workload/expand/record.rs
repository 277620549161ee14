//! What the processes of a pipeline do with channels, one thing after the other, and what their tasks take in between.
//!
//! Without a `select` over several channels that depends on no depth: with other depths, processes do the same at other times.

use super::super::Bindings;
use super::super::schedule::LoweredSchedule;
use super::machine::Machine;
use super::observer::{Observer, Step};
use super::probe::Looks;
use super::sink::Behind;
use super::{TaskRecord, TaskSink, compile};
use crate::cost;
use std::cell::Cell;
use std::ops::Range;
use wsp_core::{ChannelId, SlotId, WorkloadId};
use wsp_ir::workload::WorkloadModule;

/// What a process does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// Its tasks take so many cycles.
    Work(u64),
    /// It does something with a channel. `Taken` stands behind each `Sent`, whatever the depth is.
    Step(Step),
}

/// All that the processes of a pipeline do.
pub(crate) struct Record {
    /// The channels.
    pub(crate) channels: Vec<RecordedChannel>,
    /// Of each run of the pipeline what each process does.
    pub(crate) runs: Vec<Vec<Vec<Event>>>,
}

/// A channel, by its place in the program.
pub(crate) struct RecordedChannel {
    pub(crate) workload: WorkloadId,
    pub(crate) id: ChannelId,
    /// The processes that send and consume, counted from the first of the pipeline.
    pub(crate) ends: [Option<u32>; 2],
    /// Tokens of the run that has most.
    pub(crate) most: u32,
}

/// Follows the pipeline of a module with channels that hold all tokens; `costed` says whether tasks take what their kernels cost, and else they take
/// nothing. None where not every process ends, where a kernel has no cost that is known, and where it takes more looks than are left.
pub(crate) fn record(
    module: &WorkloadModule,
    bindings: &Bindings,
    looks: &Cell<u32>,
    costed: bool,
) -> Option<Record> {
    let unlimited: Vec<Vec<u32>> =
        bindings.depths().iter().map(|of| of.iter().map(|_| u32::MAX).collect()).collect();
    let bindings = &bindings.with_depths(&unlimited);
    let schedule = LoweredSchedule::default();
    let program = compile::compile(module, bindings, &schedule, module.entry?);
    let cost = Cell::new(0);
    let channels = program.channels.iter().map(|channel| RecordedChannel {
        workload: channel.workload,
        id: channel.id,
        ends: channel.ends,
        most: 0,
    });
    let record = Record { channels: channels.collect(), runs: Vec::new() };
    let mut recorder = Recorder { record, cost: &cost, first: 0, current: 0 };
    let mut machine = Machine::new(&program);
    machine.turns.observer = Some(&mut recorder);
    let slots = (!costed).then_some(bindings);
    let costed = costed.then_some((module, bindings));
    let mut sink = Costs { costed, looks: Looks { looks, slots }, cost: &cost };
    Behind::driven(&mut sink, |sink| machine.go(sink)).ok()?;
    Some(recorder.counted())
}

/// Records a pipeline under way.
struct Recorder<'r> {
    record: Record,
    /// What the tasks take that were generated since the last event.
    cost: &'r Cell<u64>,
    /// The first process of the pipeline in the program, and the one that runs, counted from it.
    first: u32,
    current: usize,
}

impl Recorder<'_> {
    fn event(&mut self, event: Option<Event>) {
        let Some(process) = self.record.runs.last_mut().and_then(|run| run.get_mut(self.current)) else {
            return;
        };
        let work = Some(self.cost.take()).filter(|work| *work > 0).map(Event::Work);
        process.extend(work.into_iter().chain(event));
    }

    /// The record, with the tokens of channels.
    fn counted(self) -> Record {
        let mut record = self.record;
        for channel in &mut record.channels {
            channel.ends = channel.ends.map(|end| end?.checked_sub(self.first));
        }
        for run in &record.runs {
            let mut tokens = vec![0_u32; record.channels.len()];
            for event in run.iter().flatten() {
                if let Event::Step(Step::Send(channel)) = event {
                    tokens[*channel as usize] += 1;
                }
            }
            for (channel, tokens) in record.channels.iter_mut().zip(tokens) {
                channel.most = channel.most.max(tokens);
            }
        }
        record
    }
}

impl Observer for Recorder<'_> {
    fn enter(&mut self, _: u64, processes: Range<u32>, _: Range<u32>) {
        // Tasks before it are no part of it.
        self.cost.set(0);
        (self.first, self.current) = (processes.start, 0);
        self.record.runs.push(vec![Vec::new(); processes.len()]);
    }

    fn leave(&mut self, _: u64, _: Range<u32>, _: Range<u32>) {
        self.event(None);
    }

    fn turn(&mut self, _: u64, process: u32) {
        self.event(None);
        self.current = (process - self.first) as usize;
    }

    fn step(&mut self, _: u64, step: Step) {
        self.event(Some(Event::Step(step)));
        if let Step::Sent(channel, _) = step {
            self.event(Some(Event::Step(Step::Taken(channel))));
        }
    }
}

/// Counts what tasks cost.
struct Costs<'c> {
    costed: Option<(&'c WorkloadModule, &'c Bindings)>,
    looks: Looks<'c>,
    cost: &'c Cell<u64>,
}

impl TaskSink for Costs<'_> {
    type Error = ();

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), ()> {
        if let Some((module, bindings)) = self.costed {
            let cost = cost::declared(module, bindings, task).map_err(drop)?.ok_or(())?;
            self.cost.set(self.cost.get().saturating_add(cost));
        }
        Ok(())
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, ()> {
        self.looks.slot(slot)
    }

    fn cancelled(&self) -> bool {
        self.looks.cancelled()
    }
}
