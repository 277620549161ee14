//! Processes take turns, and send each other tokens.
//!
//! A process that does not have its turn keeps the bodies that are under way in it, with their variables, in the workspace.
//! All of them are walked, as the number of tasks of a body that waits is not known; so what is known of owners is the same
//! in all of them.

use super::super::{Op, Word};
use super::frame::{Body, Frame, Kind, Plan};
use super::machine::{Budget, Interpreter};
use super::stop::Stop;
use super::turns::{Channel, ENDED, NO_TOKEN, Process, Suspended};
use super::values::NO_AXIS;
use super::words::after;
use super::{FaultKind, Host};

/// What no host says: processes take their turns without one, so that this code is there once for all kinds of hosts.
type Never = core::convert::Infallible;

impl Interpreter<'_> {
    /// Gives a channel its depth.
    pub(super) fn declare<H: Host>(
        &mut self,
        at: u32,
        word: &Word,
        host: &mut H,
    ) -> Result<(), Stop<H::Stop>> {
        let value = self.eval(word.operand2, host)?;
        let depth = u32::try_from(value).map_err(|_| Stop::Fault(FaultKind::Depth { value }))?;
        *self.channel(word.operand1).map_err(Stop::settled)? = Channel::empty(u64::from(depth));
        self.pc = after(at, word);
        Ok(())
    }

    /// Takes an instruction of processes.
    pub(super) fn turn(
        &mut self,
        op: Op,
        at: u32,
        word: &Word,
        budget: &mut Budget,
    ) -> Result<(), Stop<Never>> {
        match op {
            Op::Process => self.enter_processes(at, word, budget),
            Op::Send => self.send(at, word, budget),
            Op::Recv => self.receive(at, word, budget),
            Op::SelectCh | Op::SelectAll => self.receive_of(at, word, budget),
            _ => self.close(at, word),
        }
    }

    /// Goes on behind the end of a process, or of what it does with a token.
    pub(super) fn end_of_turn(&mut self, body: &Body) -> Result<(), Stop<Never>> {
        match body.kind {
            Kind::Process => self.end_process(body),
            Kind::Send => self.sent(body),
            _ => self.received(body),
        }
    }

    /// Begins the processes of an instruction.
    fn enter_processes(&mut self, at: u32, word: &Word, budget: &mut Budget) -> Result<(), Stop<Never>> {
        self.tick(budget)?;
        if word.flags == 0 {
            self.pc = after(at, word);
            return Ok(());
        }
        let begin = self.word(at.wrapping_add(1))?.operand2;
        let body = self.body(Kind::Process, at, begin);
        self.push_once(body)?;
        for channel in self.turns.channels.iter_mut() {
            *channel = Channel::empty(channel.depth());
        }
        let begins = self.program.words.get(at.wrapping_add(1) as usize..).unwrap_or(&[]);
        for (process, begin) in self.turns.processes.iter_mut().zip(begins).take(usize::from(word.flags)) {
            process.begin(begin.operand2, self.attrs);
        }
        let around = self.frames.height();
        self.turns.enter(at, u32::from(word.flags), around);
        Ok(())
    }

    /// Ends the process that has its turn.
    fn end_process(&mut self, body: &Body) -> Result<(), Stop<Never>> {
        self.turns.stuck = 0;
        self.turns.live = self.turns.live.saturating_sub(1);
        if self.turns.live == 0 {
            return self.leave(body);
        }
        self.process()?.state = ENDED;
        self.suspend()?;
        self.switch()
    }

    /// Begins a send, or lets the next process go on.
    fn send(&mut self, at: u32, word: &Word, budget: &mut Budget) -> Result<(), Stop<Never>> {
        self.tick(budget)?;
        let channel = self.channel(word.operand1)?;
        if let Some(closed) = channel.closed() {
            return Err(Stop::Fault(FaultKind::Closed { closed }));
        }
        let Some(slot) = channel.begin_send() else { return self.wait() };
        self.begin_transfer(Kind::Send, at, (word.operand2, 0), slot)
    }

    /// Ends a send, and with it the turn.
    fn sent(&mut self, body: &Body) -> Result<(), Stop<Never>> {
        self.leave(body)?;
        let channel = self.word(body.word)?.operand1;
        let channel = self.channel(channel)?;
        channel.end_send();
        if channel.depth() == 0 {
            self.process()?.state = body.word;
        }
        self.turns.stuck = 0;
        self.suspend()?;
        self.switch()
    }

    /// Takes the token of a `RECV`, or lets the next process go on.
    fn receive(&mut self, at: u32, word: &Word, budget: &mut Budget) -> Result<(), Stop<Never>> {
        self.tick(budget)?;
        let channel = self.channel(word.operand1)?;
        if let Some(slot) = channel.begin_receive() {
            return self.begin_transfer(Kind::Receive, at, (word.operand2, 0), slot);
        }
        match channel.closed() {
            Some(closed) => Err(Stop::Fault(FaultKind::Closed { closed })),
            None => self.wait(),
        }
    }

    /// Takes a token of one of several channels, goes past them, or lets the next process go on.
    fn receive_of(&mut self, at: u32, word: &Word, budget: &mut Budget) -> Result<(), Stop<Never>> {
        self.tick(budget)?;
        let (mut open, mut ended) = (false, None);
        for arm in 0..u64::from(word.flags) {
            let Word { operand1, operand2, .. } = self.arm(at, arm)?;
            let channel = self.channel(operand1)?;
            if let Some(slot) = channel.begin_receive() {
                return self.begin_transfer(Kind::Receive, at, (operand2, arm), slot);
            }
            open |= channel.closed().is_none();
            ended = ended.or(channel.closed());
        }
        match ended {
            _ if open => return self.wait(),
            Some(closed) if word.opcode == Op::SelectCh.code() => {
                return Err(Stop::Fault(FaultKind::Closed { closed }));
            }
            _ => {}
        }
        self.turns.stuck = 0;
        self.pc = after(at, word);
        Ok(())
    }

    /// Ends what uses a token.
    fn received(&mut self, body: &Body) -> Result<(), Stop<Never>> {
        self.leave(body)?;
        let word = self.word(body.word)?;
        let channel = match Op::from_code(word.opcode) {
            Some(Op::Recv) => word.operand1,
            _ => self.arm(body.word, body.at)?.operand1,
        };
        self.channel(channel)?.end_receive();
        self.turns.stuck = 0;
        if word.opcode == Op::SelectAll.code() {
            self.pc = body.word;
        }
        Ok(())
    }

    /// Closes a channel.
    fn close(&mut self, at: u32, word: &Word) -> Result<(), Stop<Never>> {
        let channel = self.channel(word.operand1)?;
        if let Some(closed) = channel.closed() {
            return Err(Stop::Fault(FaultKind::Closed { closed }));
        }
        channel.close(at);
        self.turns.stuck = 0;
        self.pc = after(at, word);
        Ok(())
    }

    /// The extension word of an arm.
    fn arm(&self, at: u32, arm: u64) -> Result<Word, Stop<Never>> {
        // Arms are no more than an instruction has extension words.
        self.word(at.wrapping_add(1).wrapping_add(arm as u32))
    }

    /// Goes into the body of a send or a receive, with the slot as its variable.
    fn begin_transfer(
        &mut self,
        kind: Kind,
        at: u32,
        (begin, arm): (u32, u64),
        slot: u64,
    ) -> Result<(), Stop<Never>> {
        self.turns.stuck = 0;
        let body = Body { at: arm, ..self.body(kind, at, begin) };
        self.push_once(body)?;
        // Below a depth, which has 32 bits.
        let slot = slot.cast_signed();
        self.scope.push(slot, slot, NO_AXIS).ok_or(Stop::Fault(FaultKind::Structure))
    }

    /// Lets the next process go on, and this one try the same instruction again on its next turn.
    fn wait(&mut self) -> Result<(), Stop<Never>> {
        self.suspend()?;
        if self.turns.is_stuck() {
            return self.deadlock();
        }
        self.switch()
    }

    /// No process can go on. The loops in the processes are left: they are told of one by one.
    #[cold]
    fn deadlock(&mut self) -> Result<(), Stop<Never>> {
        self.pc = self.turns.word;
        Err(Stop::Fault(FaultKind::Deadlock))
    }

    /// Gives the turn to the next process that can have it; the one before is suspended.
    fn switch(&mut self) -> Result<(), Stop<Never>> {
        loop {
            self.turns.next();
            let state = self.process()?.state;
            if state != NO_TOKEN {
                let channel = self.word(state)?.operand1;
                if !self.channel(channel)?.is_taken() {
                    if self.turns.is_stuck() {
                        return self.deadlock();
                    }
                    continue;
                }
                self.turns.stuck = 0;
                self.process()?.state = NO_TOKEN;
            }
            return self.resume();
        }
    }

    /// Keeps the bodies of the process that has its turn.
    fn suspend(&mut self) -> Result<(), Stop<Never>> {
        let malformed = || Stop::Fault(FaultKind::Structure);
        let Interpreter { turns, frames, scope, pc, attrs, .. } = self;
        let around = turns.around;
        let process = turns.processes.get_mut(turns.current as usize).ok_or_else(malformed)?;
        (process.pc, process.attrs) = (*pc, *attrs);
        let height = frames.height().wrapping_sub(around);
        process.height = height as u32;
        for at in (0..height).rev() {
            let Frame { body, bounds, .. } = *frames.top().ok_or_else(malformed)?;
            let (value, position) = if body.kind.binds() { scope.innermost() } else { (0, 0) };
            *process.frames.get_mut(at).ok_or_else(malformed)? = Suspended {
                bounds,
                at: body.at,
                trip: body.trip,
                value,
                position,
                word: body.word,
                begin: body.begin,
                attrs: body.attrs,
                reserved: 0,
            };
            frames.pop();
            if body.kind.binds() {
                scope.pop();
            }
        }
        Ok(())
    }

    /// Goes on with the process that has its turn.
    fn resume(&mut self) -> Result<(), Stop<Never>> {
        let malformed = || Stop::Fault(FaultKind::Structure);
        let Interpreter { program, turns, frames, scope, pc, attrs, own, .. } = self;
        let process = turns.processes.get(turns.current as usize).ok_or_else(malformed)?;
        (*pc, *attrs) = (process.pc, process.attrs);
        for kept in process.bodies() {
            let word = program.words.get(kept.word as usize).ok_or_else(malformed)?;
            let kind = Kind::of(word).ok_or_else(malformed)?;
            let body = Body {
                kind,
                word: kept.word,
                begin: kept.begin,
                attrs: kept.attrs,
                at: kept.at,
                trip: kept.trip,
                first: 0,
                told: true,
            };
            let frame = Frame { body, own: *own, bounds: kept.bounds, plan: Plan::Walk };
            frames.push(frame).ok_or_else(malformed)?;
            if kind.binds() {
                let axis = if kind == Kind::Loop { u32::from(word.operand1) } else { NO_AXIS };
                scope.push(kept.value, kept.position, axis).ok_or_else(malformed)?;
            }
        }
        Ok(())
    }

    /// The process that has its turn.
    fn process(&mut self) -> Result<&mut Process, Stop<Never>> {
        let current = self.turns.current as usize;
        self.turns.processes.get_mut(current).ok_or(Stop::Fault(FaultKind::Structure))
    }

    fn channel(&mut self, channel: u16) -> Result<&mut Channel, Stop<Never>> {
        self.turns.channels.get_mut(usize::from(channel)).ok_or(Stop::Fault(FaultKind::Structure))
    }
}
