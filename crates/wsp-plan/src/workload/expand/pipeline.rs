//! Pipelines of a run: processes are coroutines that take turns.
//!
//! A turn ends when the process has sent a token, has to wait, or ends; then the next process that can go on does so,
//! in the order in which they are written, round and round. So the order of tasks follows from the program alone, and
//! stages of a pipeline stay close together in it, whatever the window.
//!
//! A process that waits tries again on its next turn after something was done with its channel. Where nothing was for any
//! that has not ended, none ever goes on.

use super::super::deadlock::Want;
use super::faults::{Awaited, Deadlock, Fault, Waiting};
use super::machine::{Machine, Stop};
use super::observer::Step;
use super::program::Op;
use super::sink::{Refused, Sink};
use super::turns::Tokens;
use std::mem::{swap, take};
use wsp_ir::workload::StatementKind;

impl Machine<'_, '_> {
    /// Begins a pipeline; where to go on.
    pub(super) fn enter_pipeline(&mut self, id: u32) -> u32 {
        let pipeline = &self.program.pipelines[id as usize];
        let processes = pipeline.processes.clone();
        if processes.is_empty() {
            return pipeline.exit;
        }
        let turns = &mut self.turns;
        turns.channels[pipeline.channels.start as usize..pipeline.channels.end as usize]
            .fill(Tokens::default());
        for process in processes.clone() {
            let state = &mut turns.processes[process as usize];
            state.pc = self.program.processes[process as usize].start;
            state.ended = false;
            state.path.clear();
            state.indices.clear();
            state.axes.clone_from(&self.axes);
            turns.ready[process as usize] = true;
        }
        (turns.pipeline, turns.current, turns.around) = (id, processes.start, self.path.len());
        turns.live = processes.len() as u32;
        if let Some(observer) = &mut turns.observer {
            observer.enter(self.ordinal, processes.clone(), pipeline.channels.clone());
        }
        turns.processes[processes.start as usize].pc
    }

    /// Ends the process that runs; where to go on.
    pub(super) fn end_process<E>(&mut self) -> Result<u32, Stop<E>> {
        let turns = &mut self.turns;
        turns.live -= 1;
        turns.ready[turns.current as usize] = false;
        turns.processes[turns.current as usize].ended = true;
        if turns.live == 0 {
            if let Some(observer) = &mut turns.observer {
                let pipeline = &self.program.pipelines[turns.pipeline as usize];
                observer.leave(self.ordinal, pipeline.processes.clone(), pipeline.channels.clone());
            }
            return Ok(self.program.pipelines[turns.pipeline as usize].exit);
        }
        self.switch()
    }

    /// Gives the turn to the next process that can go on; where it does.
    fn switch<E>(&mut self) -> Result<u32, Stop<E>> {
        let turns = &mut self.turns;
        let Some(next) = turns.next(&self.program.pipelines[turns.pipeline as usize].processes) else {
            return Err(Stop::Fault(self.deadlock()));
        };
        if next != turns.current {
            let before = &mut turns.processes[turns.current as usize];
            before.path.extend(self.path.drain(turns.around..));
            before.indices.extend(self.indices.drain(turns.around..));
            swap(&mut before.axes, &mut self.axes);
            let after = &mut turns.processes[next as usize];
            self.path.append(&mut after.path);
            self.indices.append(&mut after.indices);
            swap(&mut self.axes, &mut after.axes);
            turns.current = next;
            if let Some(observer) = &mut turns.observer {
                observer.turn(self.ordinal, next);
            }
        }
        Ok(turns.processes[next as usize].pc)
    }

    /// Begins a send, or lets the next process go on; where to go on.
    pub(super) fn send(&mut self, id: u32, pc: u32, sink: &Sink<'_>) -> Result<u32, Stop<Refused>> {
        self.tick(sink)?;
        let transfer = &self.program.transfers[id as usize];
        let slots = self.program.channels[transfer.channel as usize].slots();
        let tokens = &mut self.turns.channels[transfer.channel as usize];
        if let Some(closed) = tokens.closed {
            return Err(Stop::Fault(Fault::Closed {
                done: StatementKind::Send,
                at: transfer.span,
                by: closed,
            }));
        }
        if tokens.held() >= slots {
            return self.wait(pc);
        }
        let slot = tokens.begun % slots;
        tokens.begun += 1;
        tokens.sending += 1;
        self.turns.saw(self.ordinal, Step::Send(transfer.channel));
        self.begin_transfer(id, slot);
        Ok(pc + 1)
    }

    /// Ends a send, and with it the turn; where to go on.
    pub(super) fn sent<E>(&mut self, id: u32, next: u32) -> Result<u32, Stop<E>> {
        let turns = &mut self.turns;
        let channel = self.program.transfers[id as usize].channel;
        turns.counts[channel as usize].sent += 1;
        let tokens = &mut turns.channels[channel as usize];
        tokens.sending -= 1;
        if tokens.sending == 0 {
            let sent = tokens.begun - std::mem::replace(&mut tokens.sent, tokens.begun);
            turns.saw(self.ordinal, Step::Sent(channel, sent));
            turns.wake(self.program.channels[channel as usize].ends[1]);
        }
        turns.processes[turns.current as usize].pc = next;
        self.switch()
    }

    /// Goes on when the only token of a channel is taken; where to go on.
    pub(super) fn taken(&mut self, id: u32, pc: u32) -> Result<u32, Stop<Refused>> {
        let channel = self.program.transfers[id as usize].channel;
        let tokens = &self.turns.channels[channel as usize];
        if tokens.taken < tokens.sent {
            return self.wait(pc);
        }
        self.turns.saw(self.ordinal, Step::Taken(channel));
        Ok(pc + 1)
    }

    /// Begins a consume, or goes past it, or lets the next process go on; where to go on.
    pub(super) fn consume(&mut self, id: u32, pc: u32, sink: &Sink<'_>) -> Result<u32, Stop<Refused>> {
        self.tick(sink)?;
        let program = self.program;
        let receive = &program.receives[id as usize];
        let (mut open, mut closed) = (false, None);
        for arm in receive.arms.clone() {
            let transfer = &program.transfers[arm as usize];
            let tokens = &mut self.turns.channels[transfer.channel as usize];
            if tokens.taken < tokens.sent {
                let slot = tokens.taken % program.channels[transfer.channel as usize].slots();
                tokens.taken += 1;
                tokens.consuming += 1;
                self.turns.saw(self.ordinal, Step::Consume(transfer.channel));
                self.turns.wake(program.channels[transfer.channel as usize].ends[0]);
                self.begin_transfer(arm, slot);
                return Ok(transfer.body);
            }
            open |= tokens.closed.is_none();
            closed = closed.or(tokens.closed);
        }
        if open {
            return self.wait(pc);
        }
        match closed {
            Some(closed) if !receive.all => {
                Err(Stop::Fault(Fault::Closed { done: StatementKind::Consume, at: receive.span, by: closed }))
            }
            _ => {
                for arm in receive.arms.clone() {
                    self.turns.saw(self.ordinal, Step::Ended(program.transfers[arm as usize].channel));
                }
                Ok(receive.exit)
            }
        }
    }

    /// Ends a consume.
    pub(super) fn consumed(&mut self, id: u32) {
        let turns = &mut self.turns;
        let channel = self.program.transfers[id as usize].channel;
        turns.counts[channel as usize].consumed += 1;
        let tokens = &mut turns.channels[channel as usize];
        tokens.consuming -= 1;
        if tokens.consuming == 0 {
            let freed = tokens.taken - std::mem::replace(&mut tokens.freed, tokens.taken);
            turns.saw(self.ordinal, Step::Consumed(channel, freed));
            turns.wake(self.program.channels[channel as usize].ends[0]);
        }
    }

    /// Closes a channel.
    pub(super) fn close(&mut self, id: u32) -> Result<(), Stop<Refused>> {
        let close = &self.program.closes[id as usize];
        let tokens = &mut self.turns.channels[close.channel as usize];
        if let Some(closed) = tokens.closed {
            return Err(Stop::Fault(Fault::Closed {
                done: StatementKind::Close,
                at: close.span,
                by: closed,
            }));
        }
        tokens.closed = Some(id);
        self.turns.saw(self.ordinal, Step::Close(close.channel));
        let ends = self.program.channels[close.channel as usize].ends;
        ends.into_iter().for_each(|end| self.turns.wake(end));
        Ok(())
    }

    /// Binds the slot of a send or consume.
    fn begin_transfer(&mut self, id: u32, slot: u64) {
        let transfer = &self.program.transfers[id as usize];
        // Below a depth, which has 32 bits.
        self.set(transfer.register, slot as i64);
        self.refresh(transfer.level as usize);
    }

    /// Lets the next process go on, and this one try the same instruction again when something was done with its channel.
    fn wait<E>(&mut self, pc: u32) -> Result<u32, Stop<E>> {
        let turns = &mut self.turns;
        turns.processes[turns.current as usize].pc = pc;
        turns.ready[turns.current as usize] = false;
        self.switch()
    }

    /// Who waits for what, where none can go on. Leaves the loops around the pipeline.
    #[cold]
    fn deadlock(&mut self) -> Fault {
        let program = self.program;
        let turns = &mut self.turns;
        let current = &mut turns.processes[turns.current as usize];
        current.path.extend(self.path.drain(turns.around..));
        current.indices.extend(self.indices.drain(turns.around..));
        let mut found = Deadlock { pipeline: turns.pipeline, waiting: Vec::new(), ended: Vec::new() };
        for process in program.pipelines[turns.pipeline as usize].processes.clone() {
            let state = &mut turns.processes[process as usize];
            let (want, transfers) = match program.ops[state.pc as usize] {
                Op::Send(transfer) if !state.ended => (Want::Slot, transfer..transfer + 1),
                Op::Taken(transfer) if !state.ended => (Want::Taken, transfer..transfer + 1),
                Op::Consume(receive) if !state.ended => {
                    let receive = &program.receives[receive as usize];
                    (if receive.all { Want::Rest } else { Want::Token }, receive.arms.clone())
                }
                _ => {
                    found.ended.push(process);
                    continue;
                }
            };
            let tokens = |id: &u32| &turns.channels[program.transfers[*id as usize].channel as usize];
            let open = transfers.filter(|id| tokens(id).closed.is_none());
            let awaited = |id: u32| {
                let of = tokens(&id);
                Awaited { id, held: of.held(), sending: of.sending > 0 && of.freed == of.sent }
            };
            let transfers = open.map(awaited).collect();
            let (loops, indices) = (take(&mut state.path), take(&mut state.indices));
            found.waiting.push(Waiting { process, transfers, want, loops, indices });
        }
        Fault::Deadlock(Box::new(found))
    }
}
