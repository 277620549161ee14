//! The state of an interpreter, and its instructions.

use super::super::dispatch::Filter;
use super::super::eval::eval;
use super::super::prefix::Prefixes;
use super::super::summary::Summaries;
use super::super::{Launch, Op, Program, Word};
use super::frame::{Attrs, Frames, Kind};
use super::own::Own;
use super::stop::Stop;
use super::strip::Strip;
use super::turns::Turns;
use super::values::{Live, LoopVars, NO_TASK, Record};
use super::words::{after, argument_count, pool_of};
use super::{Fault, FaultKind, Host, InterpStats, Mode, Ordered, Progress, Task};
use crate::{ExecPool, KernelId, LabelId, limits};

/// What is left of a run.
pub(super) struct Budget {
    pub(super) tasks: u32,
    pub(super) steps: u32,
}

/// Boundaries of ordered scopes that the host has not yet been told of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    first: Option<(Ordered, u64)>,
    second: Option<(Ordered, u64)>,
}

/// The interpreter of a program on one AICPU.
pub struct Interpreter<'a> {
    pub(super) program: Program<'a>,
    pub(super) launch: Launch<'a>,
    pub(super) shared: Prefixes<'a>,
    pub(super) mode: Mode,
    /// What is known of every instruction; nothing when no task is left out.
    pub(super) summaries: Summaries<'a>,
    /// Whether some task waits for a label.
    pub(super) labels_matter: bool,
    /// AICPUs in all, and this one.
    pub(super) n: u16,
    pub(super) me: u16,
    /// The filter of the configuration.
    pub(super) config: Filter<'a>,
    /// The last task of each label.
    pub(super) labels: &'a mut [u64],
    /// Tasks that the task under way waits for.
    pub(super) after: &'a mut [u64],
    /// By instruction: of a `DISPATCH_FILTER` the one that was in force before.
    pub(super) outer_filters: &'a mut [u32],
    pub(super) pc: u32,
    pub(super) frames: Frames<'a>,
    pub(super) scope: LoopVars,
    pub(super) attrs: Attrs,
    pub(super) own: Own<'a>,
    pub(super) ordinal: u64,
    pub(super) record: Record,
    /// The innermost loop under way, if it is nothing but tasks.
    pub(super) strip: Strip,
    pub(super) pending: Pending,
    /// Whose turn it is among processes.
    pub(super) turns: Turns<'a>,
    pub(super) stats: InterpStats,
    pub(super) end: Option<Progress>,
}

impl<'a> Interpreter<'a> {
    /// Goes on until `tasks` tasks were handed over, `steps` loop steps were taken, a slot's value is needed, or it ends.
    ///
    /// # Errors
    /// What the host says. Another call goes on from there.
    pub fn run<H: Host>(&mut self, host: &mut H, tasks: u32, steps: u32) -> Result<Progress, H::Stop> {
        let mut budget = Budget { tasks, steps };
        match self.go(host, &mut budget) {
            Ok(progress) => Ok(progress),
            Err(Stop::Waits(slot)) => Ok(Progress::Waits(slot)),
            Err(Stop::Host(stop)) => Err(stop),
            Err(Stop::Fault(kind)) => {
                let fault = Fault { kind, word: self.pc, ordinal: self.ordinal };
                self.end = Some(Progress::Fault(fault));
                Ok(Progress::Fault(fault))
            }
        }
    }

    /// Every task of this AICPU with a smaller ordinal has been handed over; all ones at the end.
    pub fn watermark(&self) -> u64 {
        match self.end {
            Some(Progress::Finished) => u64::MAX,
            None if self.strip.active => self.strip.next_ordinal(),
            _ => self.ordinal,
        }
    }

    /// The indices of the loops around the instruction at hand, outermost first: after a fault, where it was found.
    pub fn indices(&self) -> &[i64] {
        self.scope.indices()
    }

    /// What has been done so far.
    pub fn stats(&self) -> InterpStats {
        InterpStats { total_ordinals: self.ordinal, ..self.stats }
    }

    fn go<H: Host>(&mut self, host: &mut H, budget: &mut Budget) -> Result<Progress, Stop<H::Stop>> {
        loop {
            self.tell(host)?;
            if let Some(end) = self.end {
                return Ok(end);
            }
            if budget.tasks == 0 || budget.steps == 0 {
                return Ok(Progress::Yielded);
            }
            if self.strip.active {
                self.strip(host, budget)?;
            } else {
                self.step(host, budget)?;
            }
        }
    }

    /// Takes the instruction at the program counter.
    fn step<H: Host>(&mut self, host: &mut H, budget: &mut Budget) -> Result<(), Stop<H::Stop>> {
        let at = self.pc;
        let word = self.word(at)?;
        let next = after(at, &word);
        match Op::from_code(word.opcode) {
            Some(Op::Task) => self.task(at, &word, host, budget)?,
            Some(Op::End) => self.end_of_body(host, budget)?,
            Some(Op::Halt) if !self.frames.is_empty() => self.end_of_body(host, budget)?,
            Some(Op::Halt) => self.end = Some(Progress::Finished),
            Some(Op::ParallelFor | Op::ForEach | Op::Select) => self.enter_loop(at, &word, host, budget)?,
            Some(Op::Cond) => {
                let holds = self.eval(u32::from(word.operand1), host)? != 0;
                let body = if holds { word.operand2 } else { self.word(at.wrapping_add(1))?.operand2 };
                self.enter_once(at, body, budget)?;
            }
            Some(Op::Let) => {
                let value = self.eval(u32::from(word.operand1), host)?;
                self.enter_let(at, word.operand2, value, budget)?;
            }
            Some(Op::Combine) => self.enter_branches(at, &word, Kind::Combine, budget)?,
            Some(Op::Sequential) => self.enter_branches(at, &word, Kind::Sequential, budget)?,
            Some(Op::While) => self.enter_while(at, &word, host, budget)?,
            Some(Op::Channel) => self.declare(at, &word, host)?,
            Some(op @ (Op::Process | Op::Send | Op::Recv | Op::SelectCh | Op::SelectAll | Op::Close)) => {
                self.turn(op, at, &word, budget).map_err(Stop::settled)?
            }
            Some(Op::Reset) => {
                let labels = self.labels.iter_mut().skip(usize::from(word.operand1));
                labels.take(word.operand2 as usize).for_each(|label| *label = NO_TASK);
                self.pc = next;
            }
            Some(Op::Plan) => self.plan(&word, next, host, budget)?,
            Some(Op::DispatchFilter) => {
                if let Some(outer) = self.outer_filters.get_mut(at as usize) {
                    *outer = self.attrs.filter;
                }
                self.attrs.filter = at;
                self.pc = next;
            }
            Some(Op::StreamBy) => {
                self.attrs.stream = at;
                self.pc = next;
            }
            Some(Op::Priority) => {
                self.attrs.priority = at;
                self.pc = next;
            }
            Some(Op::Nop | Op::AxisDense | Op::AxisDenseDyn | Op::AxisRagged | Op::AxisSparse) => {
                self.pc = next;
            }
            _ => return Err(Stop::Fault(FaultKind::Structure)),
        }
        Ok(())
    }

    /// Generates the task of an instruction, if it is this AICPU's.
    fn task<H: Host>(
        &mut self,
        at: u32,
        word: &Word,
        host: &mut H,
        budget: &mut Budget,
    ) -> Result<(), Stop<H::Stop>> {
        let label = match word.flags {
            0 => None,
            _ => Some(LabelId(u32::from(self.word(at.wrapping_add(1))?.operand1))),
        };
        let owned = self.owned(host)?;
        let next = match owned {
            Some(mine) => {
                let next = self.hand_over(at, word, (label, mine.pool), host)?;
                budget.tasks = budget.tasks.saturating_sub(1);
                self.stats.tasks = self.stats.tasks.wrapping_add(1);
                next
            }
            None => self.behind_arguments(at, word)?,
        };
        if let Some(last) = label.and_then(|label| self.labels.get_mut(label.index())) {
            *last = self.ordinal;
        }
        self.count(1)?;
        self.pc = next;
        Ok(())
    }

    /// Evaluates the arguments of a task, hands it over, and says what comes behind its instruction.
    pub(super) fn hand_over<H: Host>(
        &mut self,
        at: u32,
        word: &Word,
        (label, pool): (Option<LabelId>, Option<ExecPool>),
        host: &mut H,
    ) -> Result<u32, Stop<H::Stop>> {
        let (next, afters) = self.arguments(at, word, host)?;
        let (stream, priority) = self.placement(host)?;
        let task = Task {
            ordinal: self.ordinal,
            site: at,
            kernel: KernelId(word.operand1),
            pool: pool.unwrap_or(pool_of(&self.program, KernelId(word.operand1))),
            params: self.record.params(),
            regions: self.record.regions(),
            modes: self.record.modes(),
            after: self.after.get(..afters).unwrap_or(&[]),
            label,
            stream,
            priority,
            vars: self.scope.values(),
            indices: self.scope.indices(),
        };
        host.task(&task).map_err(Stop::Host)?;
        Ok(next)
    }

    /// Evaluates all arguments; where the next instruction is, and how many tasks it waits for.
    fn arguments<H: Host>(
        &mut self,
        at: u32,
        task: &Word,
        host: &mut H,
    ) -> Result<(u32, usize), Stop<H::Stop>> {
        let mut next = after(at, task);
        let mut afters = 0;
        self.record.clear();
        for _ in 0..argument_count(task) {
            let word = self.word(next)?;
            match Op::from_code(word.opcode) {
                Some(Op::ParamConst) => self.record.param(i64::from(word.operand2.cast_signed())),
                Some(Op::ParamLoopvar) => self.record.param(self.scope.var(word.operand1)),
                Some(Op::ParamExpr) => {
                    let value = self.eval(word.operand2, host)?;
                    self.record.param(value)
                }
                Some(Op::After) => {
                    afters = self.name(word.operand1, afters);
                    Some(())
                }
                _ => {
                    let Interpreter { program, launch, scope, ordinal, record, .. } = self;
                    let mut live = Live { scope, host, ordinal: *ordinal };
                    let value = |expr| Ok(eval(program, launch, expr, &mut live)?);
                    Some(record.access(program, launch, next as usize, value)?)
                }
            }
            .ok_or(Stop::Fault(FaultKind::Structure))?;
            next = after(next, &word);
        }
        Ok((next, afters))
    }

    /// Where the instruction behind a task and its arguments is.
    pub(super) fn behind_arguments<S>(&self, at: u32, task: &Word) -> Result<u32, Stop<S>> {
        let mut next = after(at, task);
        for _ in 0..argument_count(task) {
            next = after(next, &self.word(next)?);
        }
        Ok(next)
    }

    /// Adds the task that a label names to those that are waited for, of which there are so many.
    fn name(&mut self, label: u16, count: usize) -> usize {
        let task = self.labels.get(usize::from(label)).copied().unwrap_or(NO_TASK);
        let known = self.after.get(..count).is_some_and(|tasks| tasks.contains(&task));
        match self.after.get_mut(count) {
            Some(place) if task != NO_TASK && !known => {
                *place = task;
                count.wrapping_add(1)
            }
            _ => count,
        }
    }

    fn plan<H: Host>(
        &mut self,
        word: &Word,
        next: u32,
        host: &mut H,
        budget: &mut Budget,
    ) -> Result<(), Stop<H::Stop>> {
        let tasks = host.plan(word.operand1, self.ordinal).map_err(Stop::Host)?;
        let none = FaultKind::Generator { generator: word.operand1 };
        self.count(tasks.ok_or(Stop::Fault(none))?)?;
        self.tick(budget)?;
        self.pc = next;
        Ok(())
    }

    /// The stream and the priority of a task.
    fn placement<H: Host>(&mut self, host: &mut H) -> Result<(Option<u16>, i32), Stop<H::Stop>> {
        let stream = match self.program.words.get(self.attrs.stream as usize) {
            Some(word) => self.stream(word.operand2, host)?,
            None => None,
        };
        let Some(word) = self.program.words.get(self.attrs.priority as usize) else { return Ok((stream, 0)) };
        let value = self.eval(word.operand2, host)?;
        let priority = i32::try_from(value).map_err(|_| Stop::Fault(FaultKind::Priority { value }))?;
        Ok((stream, priority))
    }

    fn stream<H: Host>(&mut self, streams: u32, host: &mut H) -> Result<Option<u16>, Stop<H::Stop>> {
        let key = self.word(self.attrs.stream.wrapping_add(1))?.operand2;
        let stream = if key == u32::MAX {
            self.ordinal.checked_rem(u64::from(streams)).unwrap_or(0)
        } else {
            self.eval(key, host)?.checked_rem_euclid(i64::from(streams)).unwrap_or(0).cast_unsigned()
        };
        Ok(Some(stream as u16))
    }

    #[inline]
    pub(super) fn eval<H: Host>(&self, expr: u32, host: &mut H) -> Result<i64, Stop<H::Stop>> {
        let mut live = Live { scope: &self.scope, host, ordinal: self.ordinal };
        Ok(eval(&self.program, &self.launch, expr, &mut live)?)
    }

    /// The instruction at an index.
    #[inline]
    pub(super) fn word<S>(&self, at: u32) -> Result<Word, Stop<S>> {
        self.program.words.get(at as usize).copied().ok_or(Stop::Fault(FaultKind::Structure))
    }

    /// Counts tasks.
    #[inline]
    pub(super) fn count<S>(&mut self, tasks: u64) -> Result<(), Stop<S>> {
        self.ordinal = self.ordinal.checked_add(tasks).ok_or(Stop::Fault(FaultKind::Steps))?;
        Ok(())
    }

    /// Counts a step.
    #[inline]
    pub(super) fn tick<S>(&mut self, budget: &mut Budget) -> Result<(), Stop<S>> {
        budget.steps = budget.steps.saturating_sub(1);
        self.stats.steps = self.stats.steps.wrapping_add(1);
        if self.stats.steps > limits::MAX_GENERATOR_STEPS {
            Err(Stop::Fault(FaultKind::Steps))
        } else {
            Ok(())
        }
    }

    /// Notes a boundary of which the host is told before anything else happens.
    pub(super) fn note(&mut self, event: Ordered, ordinal: u64) {
        if self.pending.first.is_none() {
            self.pending.first = Some((event, ordinal));
        } else {
            self.pending.second = Some((event, ordinal));
        }
    }

    /// Tells the host of boundaries.
    #[inline]
    pub(super) fn tell<H: Host>(&mut self, host: &mut H) -> Result<(), Stop<H::Stop>> {
        while let Some((event, ordinal)) = self.pending.first {
            host.ordered(event, ordinal).map_err(Stop::Host)?;
            self.pending = Pending { first: self.pending.second, second: None };
        }
        Ok(())
    }
}
