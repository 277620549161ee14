//! Whose turn it is among the processes of a pipeline, and what the others keep.

use super::ChannelCount;
use super::observer::{Observer, Step};
use super::program::{Channel, CompiledModule};
use std::ops::Range;

/// Counts of tokens of a channel, since its pipeline began.
#[derive(Clone, Copy, Default)]
pub(super) struct Tokens {
    /// Sends that have begun.
    pub(super) begun: u64,
    /// Tokens that can be consumed: those before the oldest send under way.
    pub(super) sent: u64,
    /// Sends under way; one may stand in the body of another.
    pub(super) sending: u32,
    /// Consumes that have begun.
    pub(super) taken: u64,
    /// Slots that were freed: those before the oldest consume under way.
    pub(super) freed: u64,
    /// Consumes under way.
    pub(super) consuming: u32,
    /// What has closed it.
    pub(super) closed: Option<u32>,
}

impl Tokens {
    /// Slots that are taken.
    pub(super) fn held(self) -> u64 {
        self.begun - self.freed
    }
}

/// What a process keeps while others have their turns.
#[derive(Clone, Default)]
pub(super) struct Suspended {
    /// Where it goes on.
    pub(super) pc: u32,
    pub(super) ended: bool,
    /// Ids and indices of the loops around it, from the pipeline on.
    pub(super) path: Vec<u32>,
    pub(super) indices: Vec<i64>,
    /// Index of the innermost loop over each axis.
    pub(super) axes: Vec<i64>,
}

/// Whose turn it is.
pub(super) struct Turns<'w> {
    /// The pipeline under way.
    pub(super) pipeline: u32,
    /// The process that runs.
    pub(super) current: u32,
    /// Loops around the pipeline.
    pub(super) around: usize,
    /// Processes that have not ended.
    pub(super) live: u32,
    /// Of each process whether it may go on: it waits for nothing, or something was done with what it waits for.
    pub(super) ready: Vec<bool>,
    pub(super) processes: Vec<Suspended>,
    pub(super) channels: Vec<Tokens>,
    /// Of each channel, over all pipelines so far.
    pub(super) counts: Vec<ChannelCount>,
    /// What looks at channels, where that is asked for.
    pub(super) observer: Option<&'w mut (dyn Observer + 'w)>,
}

impl<'w> Turns<'w> {
    pub(super) fn new(program: &CompiledModule<'_>) -> Turns<'w> {
        Turns {
            pipeline: 0,
            current: 0,
            around: 0,
            live: 0,
            ready: vec![false; program.processes.len()],
            processes: vec![Suspended::default(); program.processes.len()],
            channels: vec![Tokens::default(); program.channels.len()],
            counts: program.channels.iter().map(count).collect(),
            observer: None,
        }
    }

    /// The next process that may go on, round and round; the one that runs comes last.
    pub(super) fn next(&self, all: &Range<u32>) -> Option<u32> {
        let ready = |from: u32, to: u32| {
            let at = self.ready[from as usize..to as usize].iter().position(|ready| *ready)?;
            Some(from + at as u32)
        };
        let after = self.current + 1;
        ready(after, all.end).or_else(|| ready(all.start, after))
    }

    /// The process that runs does something with a channel.
    pub(super) fn saw(&mut self, ordinal: u64, step: Step) {
        if let Some(observer) = &mut self.observer {
            observer.step(ordinal, step);
        }
    }

    /// Something was done with a channel that the process at this end may wait for.
    pub(super) fn wake(&mut self, end: Option<u32>) {
        if let Some(process) = end {
            self.ready[process as usize] = !self.processes[process as usize].ended;
        }
    }
}

/// Before its first token.
fn count(channel: &Channel<'_>) -> ChannelCount {
    ChannelCount { workload: channel.workload, channel: channel.id, sent: 0, consumed: 0 }
}
