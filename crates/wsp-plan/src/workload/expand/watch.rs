//! Clocks of processes while they take turns: a task sets that of its process forward to when the task was complete, the begin of a send to when a
//! slot was free, that of a consume to when the token was there. A clock that is set forward by a channel has waited for it.

use super::program::{Channel, CompiledModule};
use std::cell::Cell;
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

/// What sets clocks forward.
#[derive(Clone, Copy)]
pub(super) enum Clocks<'w> {
    /// When tasks ran, by ordinal.
    Ran(&'w dyn Fn(u64) -> Option<SpanOfTask>),
    /// What the tasks take that were generated since the last look.
    Costs(&'w Cell<u64>),
}

/// Looks at the channels of the pipeline under way.
pub(super) struct Watch<'w> {
    source: Clocks<'w>,
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
    pub(super) fn new(program: &CompiledModule<'_>, source: Clocks<'w>) -> Watch<'w> {
        let watched = |channel: &Channel<'_>| {
            // Depths have 32 bits.
            let figures = ChannelFigures { depth: channel.depth as u32, ..ChannelFigures::default() };
            Watched { slots: channel.slots(), figures, ..Watched::default() }
        };
        Watch {
            source,
            is_whole: true,
            next: 0,
            current: 0,
            clocks: vec![0; program.processes.len()],
            channels: program.channels.iter().map(watched).collect(),
        }
    }

    /// When the last process is done.
    pub(super) fn end(&self) -> u64 {
        self.clocks.iter().copied().max().unwrap_or(0)
    }

    /// The channels whose senders have waited, by their places in the program.
    pub(super) fn waited(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.channels.iter().enumerate();
        all.filter(|(_, channel)| channel.figures.sender_waited > 0).map(|(at, _)| at)
    }

    /// A pipeline begins, before the task of this ordinal: with it, but none of its processes before it is done with an earlier pipeline.
    pub(super) fn enter(&mut self, ordinal: u64, processes: Range<u32>, channels: Range<u32>) {
        let begin = match self.source {
            Clocks::Ran(times) => times(ordinal).map_or(0, |(started, _)| started),
            // Tasks before it are no part of it.
            Clocks::Costs(cost) => {
                cost.set(0);
                0
            }
        };
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

    /// The pipeline ends: what is left in channels goes.
    pub(super) fn leave(&mut self, ordinal: u64, processes: Range<u32>, channels: Range<u32>) {
        self.advance(ordinal);
        let clocks = &self.clocks[processes.start as usize..processes.end as usize];
        let end = clocks.iter().copied().max().unwrap_or(0);
        for channel in &mut self.channels[channels.start as usize..channels.end as usize] {
            let left = channel.held.drain(..);
            channel.spans.extend(left.map(|begin| (begin, end)));
        }
    }

    /// Sets the clock forward by the tasks before this one; what it is then.
    fn advance(&mut self, ordinal: u64) -> u64 {
        let clock = &mut self.clocks[self.current];
        match self.source {
            Clocks::Ran(times) => {
                for task in self.next..ordinal {
                    let span = times(task);
                    self.is_whole &= span.is_some();
                    *clock = span.map_or(0, |(_, ended)| ended).max(*clock);
                }
                self.next = ordinal;
            }
            Clocks::Costs(cost) => *clock = clock.saturating_add(cost.take()),
        }
        *clock
    }

    /// Sets the clock forward to a moment; how long that is.
    fn wait(&mut self, ordinal: u64, until: u64) -> u64 {
        let clock = self.advance(ordinal);
        self.clocks[self.current] = clock.max(until);
        until.saturating_sub(clock)
    }

    /// Another process goes on.
    pub(super) fn turn(&mut self, ordinal: u64, process: u32) {
        self.advance(ordinal);
        self.current = process as usize;
    }

    /// A send begins.
    pub(super) fn send(&mut self, ordinal: u64, channel: u32) {
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
    pub(super) fn sent(&mut self, ordinal: u64, channel: usize, tokens: u64) {
        let clock = self.advance(ordinal);
        let of = &mut self.channels[channel];
        of.figures.tokens += tokens;
        of.written.extend((0..tokens).map(|_| clock));
    }

    /// The sender of the only token goes on, as that is taken.
    pub(super) fn taken(&mut self, ordinal: u64, channel: u32) {
        let waited = self.wait(ordinal, self.channels[channel as usize].taken);
        let figures = &mut self.channels[channel as usize].figures;
        figures.sender_waited = figures.sender_waited.saturating_add(waited);
    }

    /// A token is taken.
    pub(super) fn consume(&mut self, ordinal: u64, channel: u32) {
        let there = self.channels[channel as usize].written.pop_front().unwrap_or(0);
        let waited = self.wait(ordinal, there);
        let of = &mut self.channels[channel as usize];
        of.figures.receiver_waited = of.figures.receiver_waited.saturating_add(waited);
        of.taken = self.clocks[self.current];
    }

    /// The channel is closed.
    pub(super) fn close(&mut self, ordinal: u64, channel: u32) {
        let clock = self.advance(ordinal);
        self.channels[channel as usize].closed = clock;
    }

    /// A consume ends, as its channels are closed and have no tokens. That is no wait for a token.
    pub(super) fn ended(&mut self, ordinal: u64, channels: impl Iterator<Item = u32>) {
        for channel in channels {
            self.wait(ordinal, self.channels[channel as usize].closed);
        }
    }

    /// So many slots are free.
    pub(super) fn consumed(&mut self, ordinal: u64, channel: usize, slots: u64) {
        let clock = self.advance(ordinal);
        let of = &mut self.channels[channel];
        for _ in 0..slots {
            let begin = of.held.pop_front().unwrap_or(clock);
            of.spans.push((begin, clock));
            of.freed.push_back(clock);
        }
    }
}
