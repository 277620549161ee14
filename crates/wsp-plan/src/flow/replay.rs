//! When the processes of a recorded pipeline end, with other depths: each does one thing after the other, and waits where a slot or a token is not there.

use crate::workload::expand::observer::Step;
use crate::workload::expand::record::{Event, Record};
use std::cell::Cell;

/// How processes end.
pub(super) struct Ends {
    /// When the last one does, in cycles; none where one does not.
    pub(super) end: Option<u64>,
    /// Of each channel whether its sender has waited for a slot, or for its token to be taken. With other depths that are equal at these channels,
    /// and nowhere smaller, everything happens at the same time.
    pub(super) waited: Vec<bool>,
}

/// Replays a record with a depth for each channel. Each event is a step; none where more are needed than are left.
pub(super) fn replay(record: &Record, depths: &[u32], steps: &Cell<u64>) -> Option<Ends> {
    let count = record.runs.first().map_or(0, Vec::len);
    let channel = |depth: &u32| Channel { depth: *depth, ..Channel::default() };
    let mut replay = Replay {
        record,
        channels: depths.iter().map(channel).collect(),
        processes: vec![Process::default(); count],
        ready: Vec::new(),
    };
    for run in &record.runs {
        if !replay.run(run, steps)? {
            return Some(replay.ends(None));
        }
    }
    let end = replay.processes.iter().map(|process| process.clock).max();
    Some(replay.ends(Some(end.unwrap_or(0))))
}

struct Replay<'r> {
    record: &'r Record,
    channels: Vec<Channel>,
    processes: Vec<Process>,
    /// Processes that may go on.
    ready: Vec<u32>,
}

#[derive(Clone, Default)]
struct Process {
    clock: u64,
    next: usize,
    /// The channel that it waits for.
    waits: Option<u32>,
}

#[derive(Default)]
struct Channel {
    depth: u32,
    /// Sends and consumes that have begun.
    begun: usize,
    taken: usize,
    /// When each token was there, and each slot was freed.
    there: Vec<u64>,
    freed: Vec<u64>,
    last_taken: u64,
    closed: Option<u64>,
    waited: bool,
}

impl Channel {
    /// Its state when the pipeline begins.
    fn clear(&mut self) {
        (self.begun, self.taken, self.last_taken, self.closed) = (0, 0, 0, None);
        self.there.clear();
        self.freed.clear();
    }

    /// What a process does at a moment: when it is done; none where it has to wait.
    fn step(&mut self, step: Step, clock: u64) -> Option<u64> {
        let mut at = clock;
        match step {
            Step::Send(_) => {
                let slots = self.depth.max(1) as usize;
                if let Some(before) = self.begun.checked_sub(slots) {
                    at = clock.max(*self.freed.get(before)?);
                    self.waited |= at > clock;
                }
                self.begun += 1;
            }
            Step::Sent(_, tokens) => self.there.extend((0..tokens).map(|_| clock)),
            Step::Taken(_) if self.depth > 0 => {}
            Step::Taken(_) => {
                at = (self.taken >= self.there.len()).then(|| clock.max(self.last_taken))?;
                self.waited |= at > clock;
            }
            Step::Consume(_) => {
                at = clock.max(*self.there.get(self.taken)?);
                self.taken += 1;
                self.last_taken = at;
            }
            Step::Consumed(_, slots) => self.freed.extend((0..slots).map(|_| clock)),
            Step::Close(_) => self.closed = Some(clock),
            Step::Ended(_) => at = clock.max(self.closed?),
        }
        Some(at)
    }
}

impl Replay<'_> {
    /// Whether every process ends.
    fn run(&mut self, run: &[Vec<Event>], steps: &Cell<u64>) -> Option<bool> {
        self.channels.iter_mut().for_each(Channel::clear);
        for process in &mut self.processes {
            (process.next, process.waits) = (0, None);
        }
        self.ready.extend((0..self.processes.len() as u32).rev());
        while let Some(at) = self.ready.pop() {
            let from = self.processes[at as usize].next;
            self.go(at as usize, &run[at as usize]);
            let done = (self.processes[at as usize].next - from) as u64 + 1;
            steps.set(steps.get().checked_sub(done)?);
        }
        let mut all = true;
        for (process, events) in self.processes.iter().zip(run) {
            let Some(event) = events.get(process.next) else { continue };
            all = false;
            if let Event::Step(Step::Send(channel) | Step::Taken(channel)) = event {
                self.channels[*channel as usize].waited = true;
            }
        }
        Some(all)
    }

    /// Lets a process go on until it waits or ends.
    fn go(&mut self, at: usize, events: &[Event]) {
        while let Some(event) = events.get(self.processes[at].next) {
            let process = &mut self.processes[at];
            match event {
                Event::Work(cycles) => process.clock = process.clock.saturating_add(*cycles),
                Event::Step(step) => {
                    let (channel, other) = wakes(*step);
                    let Some(done) = self.channels[channel as usize].step(*step, process.clock) else {
                        process.waits = Some(channel);
                        return;
                    };
                    process.clock = done;
                    if let Some(other) = other {
                        self.wake(channel, other);
                    }
                }
            }
            self.processes[at].next += 1;
        }
    }

    /// The process at an end of a channel may go on, if it waits for it.
    fn wake(&mut self, channel: u32, end: usize) {
        let Some(process) = self.record.channels[channel as usize].ends[end] else { return };
        let state = &mut self.processes[process as usize];
        if state.waits == Some(channel) {
            state.waits = None;
            self.ready.push(process);
        }
    }

    fn ends(&self, end: Option<u64>) -> Ends {
        Ends { end, waited: self.channels.iter().map(|channel| channel.waited).collect() }
    }
}

/// The channel of a step, and which of its ends may go on then.
fn wakes(step: Step) -> (u32, Option<usize>) {
    match step {
        Step::Sent(channel, _) | Step::Close(channel) => (channel, Some(1)),
        Step::Consume(channel) | Step::Consumed(channel, _) => (channel, Some(0)),
        Step::Send(channel) | Step::Taken(channel) | Step::Ended(channel) => (channel, None),
    }
}
