//! What went through channels in a run, from the times of its tasks.
//!
//! Which task stands in which send or consume follows from the program, whatever ran the tasks. So the processes take their turns once more after the
//! run, each with a clock ([`Watch`]).

use super::super::Bindings;
use super::super::schedule::LoweredSchedule;
use super::machine::Machine;
use super::program::Channel;
use super::sink::Behind;
use super::watch::{SpanOfTask, Watch, Watched};
use super::{TaskRecord, TaskSink, compile};
use wsp_core::{ChannelFigures, SlotId};
use wsp_ir::workload::WorkloadModule;
use wsp_ordered::Arrange;

/// What went through a channel in a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelUse {
    /// Its name; of a workload that is called, behind the name of that workload and a point.
    pub name: String,
    /// The process that sends or closes and the one that consumes; empty where there is none.
    pub ends: [String; 2],
    /// Its figures.
    pub figures: ChannelFigures,
    /// The moments at which the number of its slots that are in use changed, ascending, with what it was from then on.
    pub levels: Vec<(u64, u64)>,
}

/// What went through each channel of a run whose tasks, by ordinal, ran when `times` says. `slots` has the value of a slot that the task with
/// this ordinal, or one behind it, depended on.
///
/// None where there is no channel, and where the tasks are not known any more: `times` does not have one of them, or `slots` a value.
pub fn channels(
    module: &WorkloadModule,
    bindings: &Bindings,
    times: &dyn Fn(u64) -> Option<SpanOfTask>,
    slots: &dyn Fn(SlotId, u64) -> Option<i64>,
) -> Option<Vec<ChannelUse>> {
    let entry = module.entry?;
    if module.workloads.iter().all(|workload| workload.channels.is_empty()) {
        return None;
    }
    let schedule = LoweredSchedule::default();
    let program = compile::compile(module, bindings, &schedule, entry);
    let mut watch = Watch::new(&program, times);
    let mut machine = Machine::new(&program);
    machine.turns.observer = Some(&mut watch);
    let mut known = Known { slots, ordinal: 0 };
    Behind::driven(&mut known, |sink| machine.go(sink)).ok()?;
    let Watch { channels, is_whole, .. } = watch;
    let of = |(watched, channel): (Watched, &Channel<'_>)| {
        let workload = &module.workloads[channel.workload.index()].name;
        let shown = channel.declared.shown();
        let is_called = channel.workload != entry;
        ChannelUse {
            name: if is_called { format!("{workload}.{shown}") } else { shown.to_owned() },
            ends: channel
                .ends
                .map(|end| end.map_or("", |end| program.processes[end as usize].name).to_owned()),
            figures: watched.figures,
            levels: Vec::new(),
        }
        .with_levels(watched.spans)
    };
    let reached = module.reached(entry);
    let all = channels.into_iter().zip(&program.channels);
    is_whole.then(|| all.filter(|(_, channel)| reached[channel.workload.index()]).map(of).collect())
}

impl ChannelUse {
    /// With how many slots were in use, and when.
    fn with_levels(mut self, spans: Vec<SpanOfTask>) -> ChannelUse {
        // A slot that is freed is used again in the same moment at the earliest.
        let lasting = || spans.iter().filter(|(begin, end)| begin < end);
        let mut changes: Vec<(u64, bool)> =
            lasting().flat_map(|(begin, end)| [(*begin, true), (*end, false)]).collect();
        changes.arrange();
        let mut level = 0_u64;
        let mut left = changes.iter().peekable();
        while let Some((moment, up)) = left.next() {
            level = if *up { level + 1 } else { level.saturating_sub(1) };
            let is_last = left.peek().is_none_or(|(next, _)| next != moment);
            if is_last && self.levels.last().map_or(0, |(_, level)| *level) != level {
                self.levels.push((*moment, level));
                self.figures.fullest = self.figures.fullest.max(level);
            }
        }
        self
    }
}

/// Knows slots, and counts tasks.
struct Known<'k> {
    slots: &'k dyn Fn(SlotId, u64) -> Option<i64>,
    ordinal: u64,
}

impl TaskSink for Known<'_> {
    type Error = ();

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), ()> {
        self.ordinal = task.ordinal + 1;
        Ok(())
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, ()> {
        (self.slots)(slot, self.ordinal).ok_or(())
    }
}
