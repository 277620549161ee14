//! Bodies: how they are entered, what follows when one has ended.

use super::super::bounds::{Bounds, bounds};
use super::super::{Op, Word};
use super::frame::{Body, Frame, Kind, Plan};
use super::machine::{Budget, Interpreter};
use super::skip::Choice;
use super::stop::Stop;
use super::values::{Live, NO_AXIS};
use super::words::after;
use super::{FaultKind, Host, Ordered};
use crate::limits;

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
        let body = Body { trip: bounds.trip, ..self.body(kind, at, word.operand2) };
        let is_strip = self.prepare(word, &bounds, &plan, &own);
        self.push(body, bounds, plan)?;
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
        self.push_once(self.body(Kind::Once, at, body))
    }

    pub(super) fn enter_let<S>(
        &mut self,
        at: u32,
        body: u32,
        value: i64,
        budget: &mut Budget,
    ) -> Result<(), Stop<S>> {
        self.tick(budget)?;
        self.push_once(self.body(Kind::Let, at, body))?;
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
        let begin = self.word(at.wrapping_add(1))?.operand2;
        let body = Body { trip: u64::from(word.flags), ..self.body(kind, at, begin) };
        self.push_once(body)?;
        self.again(&body, 0, begin);
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
        let body = Body { trip: max, ..self.body(Kind::While, at, word.operand2) };
        self.push_once(body)?;
        self.stats.while_rounds = self.stats.while_rounds.wrapping_add(1);
        self.again(&body, 0, body.begin);
        Ok(())
    }

    /// Goes on behind the end of the innermost body: to its next iteration, branch or round, or behind its instruction.
    pub(super) fn end_of_body<H: Host>(
        &mut self,
        host: &mut H,
        budget: &mut Budget,
    ) -> Result<(), Stop<H::Stop>> {
        let body = self.frames.top().ok_or(Stop::Fault(FaultKind::Structure))?.body;
        let at = body.at.wrapping_add(1);
        match body.kind {
            Kind::Once | Kind::Let => self.leave(&body),
            Kind::Combine | Kind::Sequential => self.next_branch(&body, at, budget),
            Kind::While => self.next_round(&body, at, host, budget),
            Kind::Process | Kind::Send | Kind::Receive => self.end_of_turn(&body).map_err(Stop::settled),
            Kind::Loop | Kind::OrderedLoop => {
                self.tick(budget)?;
                self.seek(at)
            }
        }
    }

    fn next_branch<S>(&mut self, body: &Body, at: u64, budget: &mut Budget) -> Result<(), Stop<S>> {
        if at >= body.trip {
            return self.leave(body);
        }
        // Branches are no more than an instruction has extension words.
        let begin = self.word(body.word.wrapping_add(1).wrapping_add(at as u32))?.operand2;
        self.tick(budget)?;
        self.again(body, at, begin);
        Ok(())
    }

    fn next_round<H: Host>(
        &mut self,
        body: &Body,
        at: u64,
        host: &mut H,
        budget: &mut Budget,
    ) -> Result<(), Stop<H::Stop>> {
        let round = at.cast_signed();
        self.scope.set(round, round);
        let condition = u32::from(self.word(body.word)?.operand1);
        let holds = match self.eval(condition, host) {
            Ok(0) => return self.leave(body),
            Ok(_) if at >= body.trip => Err(Stop::Fault(FaultKind::Rounds { max: body.trip })),
            Ok(_) => Ok(()),
            Err(stop) => Err(stop),
        };
        if matches!(holds, Err(Stop::Fault(_))) {
            self.pc = body.word;
        }
        holds?;
        self.tick(budget)?;
        self.stats.while_rounds = self.stats.while_rounds.wrapping_add(1);
        self.again(body, at, body.begin);
        Ok(())
    }

    /// Begins an iteration, branch or round of the innermost body.
    pub(super) fn again(&mut self, body: &Body, at: u64, begin: u32) {
        if let Some(top) = self.frames.top() {
            top.body.at = at;
            top.body.begin = begin;
            top.body.told = true;
        }
        if body.kind.is_ordered() {
            if !body.told {
                self.stats.scopes = self.stats.scopes.wrapping_add(1);
                self.note(Ordered::Begin, body.first);
            }
            if at > 0 {
                self.note(Ordered::Step, self.ordinal);
            }
        }
        self.attrs = body.attrs;
        self.pc = begin;
    }

    /// Leaves the innermost body for good.
    pub(super) fn leave<S>(&mut self, body: &Body) -> Result<(), Stop<S>> {
        self.pc = after(body.word, &self.word(body.word)?);
        self.attrs = body.attrs;
        if body.kind.binds() {
            self.scope.pop();
        }
        if body.kind.is_ordered() && body.told {
            self.note(Ordered::End, self.ordinal);
        }
        if let Some(top) = self.frames.top() {
            self.own = top.own;
        }
        self.frames.pop();
        Ok(())
    }

    /// A body of an instruction.
    pub(super) fn body(&self, kind: Kind, word: u32, begin: u32) -> Body {
        Body { kind, word, begin, attrs: self.attrs, at: 0, trip: 0, first: self.ordinal, told: false }
    }

    /// Goes into a body of a loop.
    fn push<S>(&mut self, body: Body, bounds: Bounds, plan: Plan<'a>) -> Result<(), Stop<S>> {
        self.pc = body.begin;
        let frame = Frame { body, own: self.own, bounds, plan };
        self.frames.push(frame).ok_or(Stop::Fault(FaultKind::Structure))
    }

    /// Goes into a body of another instruction.
    pub(super) fn push_once<S>(&mut self, body: Body) -> Result<(), Stop<S>> {
        self.push(body, Bounds::default(), Plan::Walk)
    }
}
