//! Loops, rounds and calls of a run.

use super::faults::Fault;
use super::machine::{LoopState, Machine, NONE, Stop};
use super::program::Over;
use super::sink::{Refused, Sink};
use wsp_core::{AxisId, WorkloadId, limits};
use wsp_ir::workload::IntExpr;

impl Machine<'_, '_> {
    /// Enters a loop; whether it has an iteration.
    pub(super) fn enter(&mut self, id: usize, sink: &mut Sink<'_>) -> Result<bool, Stop<Refused>> {
        let loop_ = &self.program.loops[id];
        let state = self.bounds(id, sink)?;
        let Some(mut state) = state else { return Ok(false) };
        if let Some(axis) = loop_.axis {
            state.outer_axis = self.axes[axis.index()];
        }
        self.loops[id] = state;
        self.path.push(id as u32);
        self.indices.push(state.at);
        if loop_.ordered {
            self.stats.ordered_scopes += 1;
            sink.ordered_begin().map_err(Stop::Sink)?;
        }
        self.iteration(id);
        Ok(true)
    }

    /// The first iteration of a loop; none when it has none.
    fn bounds(&mut self, id: usize, sink: &mut Sink<'_>) -> Result<Option<LoopState>, Stop<Refused>> {
        let program = self.program;
        let base = program.loops[id].base;
        let (start, end, step) = match &program.loops[id].over {
            Over::Fixed { start, end } => (*start, *end, 1),
            Over::Range { lo, hi, step } => {
                let (lo, hi) = (self.eval(lo, base, sink)?, self.eval(hi, base, sink)?);
                (lo, hi, self.step(*step, base, sink)?)
            }
            Over::Ragged { axis, lengths, outer } => {
                let rows = lengths.len();
                let row = self.row(*axis, outer, rows, base, sink)?;
                (0, lengths[row], 1)
            }
            Over::Sparse { axis, indptr, row, .. } => {
                let rows = indptr.len().saturating_sub(1);
                let row = self.row(*axis, row, rows, base, sink)?;
                (indptr[row], indptr[row + 1], 1)
            }
        };
        if start >= end {
            return Ok(None);
        }
        let remaining = (end.abs_diff(start) - 1) / step.unsigned_abs();
        if remaining >= limits::MAX_GENERATOR_STEPS {
            return Err(Stop::Fault(Fault::Iterations { more: remaining, span: program.loops[id].span }));
        }
        Ok(Some(LoopState { at: start, step, remaining, outer_axis: 0 }))
    }

    /// The step of a range.
    fn step(&self, step: Option<&IntExpr>, base: u32, sink: &mut Sink<'_>) -> Result<i64, Stop<Refused>> {
        let Some(expr) = step else { return Ok(1) };
        let value = self.eval(expr, base, sink)?;
        let fault = Fault::Step { value, span: expr.span };
        if value < 1 { Err(Stop::Fault(fault)) } else { Ok(value) }
    }

    /// A row of an axis.
    fn row(
        &self,
        axis: AxisId,
        expr: &IntExpr,
        rows: usize,
        base: u32,
        sink: &mut Sink<'_>,
    ) -> Result<usize, Stop<Refused>> {
        let row = self.eval(expr, base, sink)?;
        let fault = Fault::Row { axis, row, rows: rows as u64, span: expr.span };
        usize::try_from(row).ok().filter(|row| *row < rows).ok_or(Stop::Fault(fault))
    }

    /// Goes on to the next iteration of a loop; whether there is one.
    #[inline]
    pub(super) fn next(&mut self, id: usize, sink: &mut Sink<'_>) -> Result<bool, Stop<Refused>> {
        self.tick(sink)?;
        let loop_ = &self.program.loops[id];
        let state = &mut self.loops[id];
        if state.remaining == 0 {
            if let Some(axis) = loop_.axis {
                self.axes[axis.index()] = state.outer_axis;
            }
            self.path.pop();
            self.indices.pop();
            if loop_.ordered {
                sink.ordered_end().map_err(Stop::Sink)?;
            }
            return Ok(false);
        }
        state.remaining -= 1;
        // Within the bounds, as there is an iteration more.
        state.at += state.step;
        if loop_.ordered {
            sink.ordered_step().map_err(Stop::Sink)?;
        }
        self.iteration(id);
        Ok(true)
    }

    /// Begins an iteration: the variables, the axis, and all that depends on them.
    #[inline(always)]
    fn iteration(&mut self, id: usize) {
        let loop_ = &self.program.loops[id];
        let mut index = self.loops[id].at;
        if let Over::Sparse { columns, position, .. } = &loop_.over {
            if let Some(position) = position {
                self.set(loop_.base + position.0, index);
            }
            index = columns[index as usize];
        }
        self.set(loop_.base + loop_.var.0, index);
        if let Some(last) = self.indices.last_mut() {
            *last = index;
        }
        if let Some(axis) = loop_.axis {
            self.axes[axis.index()] = index;
        }
        self.refresh(loop_.level as usize);
    }

    pub(super) fn enter_while(&mut self, id: usize, sink: &mut Sink<'_>) -> Result<bool, Stop<Refused>> {
        let while_ = &self.program.whiles[id];
        let max = match while_.max {
            Some(max) => self.eval(max, while_.base, sink)?.max(0) as u64,
            None => u64::from(limits::MAX_WHILE_ROUNDS),
        };
        self.rounds[id] = (0, max);
        if !self.round(id, sink)? {
            return Ok(false);
        }
        self.stats.ordered_scopes += 1;
        sink.ordered_begin().map_err(Stop::Sink)?;
        Ok(true)
    }

    pub(super) fn again(&mut self, id: usize, sink: &mut Sink<'_>) -> Result<bool, Stop<Refused>> {
        self.tick(sink)?;
        let goes_on = self.round(id, sink)?;
        let told = if goes_on { sink.ordered_step() } else { sink.ordered_end() };
        told.map_err(Stop::Sink)?;
        Ok(goes_on)
    }

    /// Whether a `while` has another round.
    fn round(&mut self, id: usize, sink: &mut Sink<'_>) -> Result<bool, Stop<Refused>> {
        let while_ = &self.program.whiles[id];
        if self.eval(while_.condition, while_.base, sink)? == 0 {
            return Ok(false);
        }
        let (done, max) = &mut self.rounds[id];
        if done == max {
            return Err(Stop::Fault(Fault::Rounds { max: *max, span: while_.span }));
        }
        *done += 1;
        self.stats.while_rounds += 1;
        Ok(true)
    }

    /// Hands a call's arguments over; the workload that is called.
    pub(super) fn call(&mut self, id: usize, sink: &mut Sink<'_>) -> Result<WorkloadId, Stop<Refused>> {
        self.tick(sink)?;
        let call = &self.program.calls[id];
        let frame = &self.program.workloads[call.workload.index()];
        for (index, arg) in call.args.iter().enumerate() {
            let value = self.eval(arg, call.base, sink)?;
            self.set(frame.base + index as u32, value);
        }
        self.labels[frame.labels.start as usize..frame.labels.end as usize].fill(NONE);
        self.refresh(frame.level as usize);
        Ok(call.workload)
    }
}
