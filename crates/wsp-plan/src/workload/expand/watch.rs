//! Clocks of processes while they take turns: a task sets that of its process forward to when the task was complete, the begin of a send to when a
//! slot was free, that of a consume to when the token was there. A clock that is set forward by a channel has waited for it.

use super::observer::{Observer, Step};
use super::program::{Channel, CompiledModule};
use std::collections::VecDeque;
use std::ops::Range;
use wsp_core::ChannelFigures;

/// When a task started and when it was complete.
pub type SpanOfTask = (u64, u64);

/// What a channel is at the clocks of its processes.
#[derive(Default)]
pub(super) struct Watched {
    slots: u64,
    /// Slots that were never used since the pipeline began.
    unused: u64,
    pub(super) figures: ChannelFigures,
    /// When tokens were there that are not taken.
    written: VecDeque<u64>,
    /// When slots were freed that are not used again.
    freed: VecDeque<u64>,
    /// When the tokens that are not freed got their slots.
    held: VecDeque<u64>,
    /// When the last token was taken.
    taken: u64,
    /// When the channel was closed.
    closed: u64,
    /// From when to when a slot was in use.
    pub(super) spans: Vec<SpanOfTask>,
}

/// Looks at the channels of the pipeline under way.
pub(super) struct Watch<'w> {
    /// When tasks ran, by ordinal.
    times: &'w dyn Fn(u64) -> Option<SpanOfTask>,
    /// Whether the time of every task was known.
    pub(super) is_whole: bool,
    /// The first task that was not looked at.
    next: u64,
    /// The process that runs.
    current: usize,
    /// Up to when each process is done with what it did so far.
    clocks: Vec<u64>,
    pub(super) channels: Vec<Watched>,
}

impl<'w> Watch<'w> {
    pub(super) fn new(
        program: &CompiledModule<'_>,
        times: &'w dyn Fn(u64) -> Option<SpanOfTask>,
    ) -> Watch<'w> {
        let watched = |channel: &Channel<'_>| {
            // Depths have 32 bits.
            let figures = ChannelFigures { depth: channel.depth as u32, ..ChannelFigures::default() };
            Watched { slots: channel.slots(), figures, ..Watched::default() }
        };
        Watch {
            times,
            is_whole: true,
            next: 0,
            current: 0,
            clocks: vec![0; program.processes.len()],
            channels: program.channels.iter().map(watched).collect(),
        }
    }

    /// Sets the clock forward by the tasks before this one; what it is then.
    fn advance(&mut self, ordinal: u64) -> u64 {
        let clock = &mut self.clocks[self.current];
        for task in self.next..ordinal {
            let span = (self.times)(task);
            self.is_whole &= span.is_some();
            *clock = span.map_or(0, |(_, ended)| ended).max(*clock);
        }
        self.next = ordinal;
        *clock
    }

    /// Sets the clock forward to a moment; how long that is.
    fn wait(&mut self, ordinal: u64, until: u64) -> u64 {
        let clock = self.advance(ordinal);
        self.clocks[self.current] = clock.max(until);
        until.saturating_sub(clock)
    }

    /// A send begins.
    fn send(&mut self, ordinal: u64, channel: u32) {
        let of = &mut self.channels[channel as usize];
        let free = if of.unused > 0 {
            of.unused -= 1;
            0
        } else {
            of.freed.pop_front().unwrap_or(0)
        };
        let waited = self.wait(ordinal, free);
        let of = &mut self.channels[channel as usize];
        of.figures.sender_waited = of.figures.sender_waited.saturating_add(waited);
        of.held.push_back(self.clocks[self.current]);
    }

    /// So many tokens are there.
    fn sent(&mut self, ordinal: u64, channel: u32, tokens: u64) {
        let clock = self.advance(ordinal);
        let of = &mut self.channels[channel as usize];
        of.figures.tokens += tokens;
        of.written.extend((0..tokens).map(|_| clock));
    }

    /// The sender of the only token goes on, as that is taken.
    fn taken(&mut self, ordinal: u64, channel: u32) {
        let waited = self.wait(ordinal, self.channels[channel as usize].taken);
        let figures = &mut self.channels[channel as usize].figures;
        figures.sender_waited = figures.sender_waited.saturating_add(waited);
    }

    /// A token is taken.
    fn consume(&mut self, ordinal: u64, channel: u32) {
        let there = self.channels[channel as usize].written.pop_front().unwrap_or(0);
        let waited = self.wait(ordinal, there);
        let of = &mut self.channels[channel as usize];
        of.figures.receiver_waited = of.figures.receiver_waited.saturating_add(waited);
        of.taken = self.clocks[self.current];
    }

    /// So many slots are free.
    fn consumed(&mut self, ordinal: u64, channel: u32, slots: u64) {
        let clock = self.advance(ordinal);
        let of = &mut self.channels[channel as usize];
        for _ in 0..slots {
            let begin = of.held.pop_front().unwrap_or(clock);
            of.spans.push((begin, clock));
            of.freed.push_back(clock);
        }
    }
}

impl Observer for Watch<'_> {
    fn enter(&mut self, ordinal: u64, processes: Range<u32>, channels: Range<u32>) {
        let begin = (self.times)(ordinal).map_or(0, |(started, _)| started);
        (self.next, self.current) = (ordinal, processes.start as usize);
        for clock in &mut self.clocks[processes.start as usize..processes.end as usize] {
            *clock = begin.max(*clock);
        }
        for channel in &mut self.channels[channels.start as usize..channels.end as usize] {
            (channel.unused, channel.closed) = (channel.slots, 0);
            channel.written.clear();
            channel.freed.clear();
        }
    }

    fn leave(&mut self, ordinal: u64, processes: Range<u32>, channels: Range<u32>) {
        self.advance(ordinal);
        let clocks = &self.clocks[processes.start as usize..processes.end as usize];
        let end = clocks.iter().copied().max().unwrap_or(0);
        for channel in &mut self.channels[channels.start as usize..channels.end as usize] {
            let left = channel.held.drain(..);
            channel.spans.extend(left.map(|begin| (begin, end)));
        }
    }

    fn turn(&mut self, ordinal: u64, process: u32) {
        self.advance(ordinal);
        self.current = process as usize;
    }

    fn step(&mut self, ordinal: u64, step: Step) {
        match step {
            Step::Send(channel) => self.send(ordinal, channel),
            Step::Sent(channel, tokens) => self.sent(ordinal, channel, tokens),
            Step::Taken(channel) => self.taken(ordinal, channel),
            Step::Consume(channel) => self.consume(ordinal, channel),
            Step::Consumed(channel, slots) => self.consumed(ordinal, channel, slots),
            Step::Close(channel) => {
                let clock = self.advance(ordinal);
                self.channels[channel as usize].closed = clock;
            }
            // That is no wait for a token.
            Step::Ended(channel) => {
                self.wait(ordinal, self.channels[channel as usize].closed);
            }
        }
    }
}
