//! Bodies: how they are entered, what follows when one has ended.

use super::super::bounds::{Bounds, BoundsHalt, bounds};
use super::super::{Op, Word};
use super::frame::{Frame, Kind, Plan};
use super::machine::{Budget, Interpreter, Stop, after};
use super::skip::Choice;
use super::values::{Live, NO_AXIS};
use super::{FaultKind, Host, Ordered};
use crate::limits;

impl<S> From<BoundsHalt> for Stop<S> {
    fn from(halt: BoundsHalt) -> Stop<S> {
        match halt {
            BoundsHalt::Expr(halt) => halt.into(),
            other => Stop::Fault(FaultKind::Bounds(other)),
        }
    }
}

impl<'a> Interpreter<'a> {
    pub(super) fn enter_loop<H: Host>(
        &mut self,
        at: u32,
        word: &Word,
        host: &mut H,
        budget: &mut Budget,
    ) -> Result<(), Stop<H::Stop>> {
        let mut live = Live { scope: &self.scope, host, ordinal: self.ordinal };
        let depth = self.scope.depth as u16;
        let bounds = bounds(&self.program, &self.launch, at, depth, &mut live)?;
        self.tick(budget)?;
        if bounds.trip == 0 {
            self.pc = after(at, word);
            return Ok(());
        }
        let (plan, own) = match self.choose(at, word, &bounds, host) {
            Choice::Leave(tasks) => {
                self.count(tasks)?;
                self.pc = after(at, word);
                return Ok(());
            }
            Choice::Go(plan, own) => (plan, own),
        };
        let kind = if word.opcode == Op::ForEach.code() { Kind::OrderedLoop } else { Kind::Loop };
        let frame = Frame { bounds, plan, trip: bounds.trip, ..self.frame(kind, at, word.operand2) };
        let is_strip = self.prepare(word, &bounds, &frame.plan, &own);
        self.push(frame)?;
        let (value, position) = (bounds.variable(&self.launch, 0), bounds.index(0));
        self.scope
            .push(value, position, u32::from(word.operand1))
            .ok_or(Stop::Fault(FaultKind::Structure))?;
        self.own = own;
        if is_strip { self.enter_strip() } else { self.seek(0) }
    }

    pub(super) fn enter_once<S>(&mut self, at: u32, body: u32, budget: &mut Budget) -> Result<(), Stop<S>> {
        self.tick(budget)?;
        if body == 0 {
            self.pc = after(at, &self.word(at)?);
            return Ok(());
        }
        self.push(self.frame(Kind::Once, at, body))
    }

    pub(super) fn enter_let<S>(
        &mut self,
        at: u32,
        body: u32,
        value: i64,
        budget: &mut Budget,
    ) -> Result<(), Stop<S>> {
        self.tick(budget)?;
        self.push(self.frame(Kind::Let, at, body))?;
        self.scope.push(value, value, NO_AXIS).ok_or(Stop::Fault(FaultKind::Structure))
    }

    pub(super) fn enter_branches<S>(
        &mut self,
        at: u32,
        word: &Word,
        kind: Kind,
        budget: &mut Budget,
    ) -> Result<(), Stop<S>> {
        self.tick(budget)?;
        if word.flags == 0 {
            self.pc = after(at, word);
            return Ok(());
        }
        let body = self.word(at.wrapping_add(1))?.operand2;
        let frame = Frame { trip: u64::from(word.flags), ..self.frame(kind, at, body) };
        self.push(frame)?;
        self.again(&frame, 0, body);
        Ok(())
    }

    pub(super) fn enter_while<H: Host>(
        &mut self,
        at: u32,
        word: &Word,
        host: &mut H,
        budget: &mut Budget,
    ) -> Result<(), Stop<H::Stop>> {
        let max = match self.word(at.wrapping_add(1))?.operand2 {
            u32::MAX => u64::from(limits::MAX_WHILE_ROUNDS),
            expr => self.eval(expr, host)?.max(0).cast_unsigned(),
        };
        self.scope.push(0, 0, NO_AXIS).ok_or(Stop::Fault(FaultKind::Structure))?;
        let holds = self.eval(u32::from(word.operand1), host);
        if !matches!(holds, Ok(value) if value != 0) {
            self.scope.pop();
            holds?;
            self.tick(budget)?;
            self.pc = after(at, word);
            return Ok(());
        }
        if max == 0 {
            return Err(Stop::Fault(FaultKind::Rounds { max }));
        }
        self.tick(budget)?;
        let frame = Frame { trip: max, ..self.frame(Kind::While, at, word.operand2) };
        self.push(frame)?;
        self.stats.while_rounds = self.stats.while_rounds.wrapping_add(1);
        self.again(&frame, 0, frame.body);
        Ok(())
    }

    /// Goes on behind the end of the innermost body: to its next iteration, branch or round, or behind its instruction.
    pub(super) fn end_of_body<H: Host>(
        &mut self,
        host: &mut H,
        budget: &mut Budget,
    ) -> Result<(), Stop<H::Stop>> {
        let frame = *self.frames.top().ok_or(Stop::Fault(FaultKind::Structure))?;
        let at = frame.at.wrapping_add(1);
        match frame.kind {
            Kind::Once | Kind::Let => self.leave(&frame),
            Kind::Combine | Kind::Sequential => self.next_branch(&frame, at, budget),
            Kind::While => self.next_round(&frame, at, host, budget),
            Kind::Loop | Kind::OrderedLoop => {
                self.tick(budget)?;
                self.seek(at)
            }
        }
    }

    fn next_branch<S>(&mut self, frame: &Frame<'a>, at: u64, budget: &mut Budget) -> Result<(), Stop<S>> {
        if at >= frame.trip {
            return self.leave(frame);
        }
        // Branches are no more than an instruction has extension words.
        let body = self.word(frame.word.wrapping_add(1).wrapping_add(at as u32))?.operand2;
        self.tick(budget)?;
        self.again(frame, at, body);
        Ok(())
    }

    fn next_round<H: Host>(
        &mut self,
        frame: &Frame<'a>,
        at: u64,
        host: &mut H,
        budget: &mut Budget,
    ) -> Result<(), Stop<H::Stop>> {
        let round = at.cast_signed();
        self.scope.set(round, round);
        let condition = u32::from(self.word(frame.word)?.operand1);
        let holds = match self.eval(condition, host) {
            Ok(0) => return self.leave(frame),
            Ok(_) if at >= frame.trip => Err(Stop::Fault(FaultKind::Rounds { max: frame.trip })),
            Ok(_) => Ok(()),
            Err(stop) => Err(stop),
        };
        if matches!(holds, Err(Stop::Fault(_))) {
            self.pc = frame.word;
        }
        holds?;
        self.tick(budget)?;
        self.stats.while_rounds = self.stats.while_rounds.wrapping_add(1);
        self.again(frame, at, frame.body);
        Ok(())
    }

    /// Begins an iteration, branch or round of the innermost frame.
    pub(super) fn again(&mut self, frame: &Frame<'a>, at: u64, body: u32) {
        if let Some(top) = self.frames.top() {
            top.at = at;
            top.body = body;
            top.told = true;
        }
        if frame.kind.is_ordered() {
            if !frame.told {
                self.stats.scopes = self.stats.scopes.wrapping_add(1);
                self.note(Ordered::Begin, frame.first);
            }
            if at > 0 {
                self.note(Ordered::Step, self.ordinal);
            }
        }
        self.attrs = frame.attrs;
        self.pc = body;
    }

    /// Leaves the innermost body for good.
    pub(super) fn leave<S>(&mut self, frame: &Frame<'a>) -> Result<(), Stop<S>> {
        self.pc = after(frame.word, &self.word(frame.word)?);
        self.attrs = frame.attrs;
        if matches!(frame.kind, Kind::Let | Kind::While | Kind::Loop | Kind::OrderedLoop) {
            self.scope.pop();
        }
        if frame.kind.is_ordered() && frame.told {
            self.note(Ordered::End, self.ordinal);
        }
        self.own = frame.own;
        self.frames.pop();
        Ok(())
    }

    /// A frame for a body of an instruction.
    fn frame(&self, kind: Kind, word: u32, body: u32) -> Frame<'a> {
        Frame {
            kind,
            word,
            body,
            attrs: self.attrs,
            own: self.own,
            bounds: Bounds::default(),
            plan: Plan::Walk,
            at: 0,
            trip: 0,
            first: self.ordinal,
            told: false,
        }
    }

    /// Goes into a body.
    fn push<S>(&mut self, frame: Frame<'a>) -> Result<(), Stop<S>> {
        self.pc = frame.body;
        self.frames.push(frame).ok_or(Stop::Fault(FaultKind::Structure))
    }
}
