//! Leaving out what holds no task of this AICPU.
//!
//! When a loop is entered, the filter in force may already say whose all of its tasks are, or which of its iterations hold
//! tasks of this AICPU. Iterations and loops that are left out are counted, not visited. Where the filter depends on loops further
//! in, or the number of tasks on slots, the loop is walked, and the question is asked again further in.

use super::super::bounds::Bounds;
use super::super::count::Counter;
use super::super::dispatch::{Filter, Level, Rule, Source, Stride, solve, solve_loop};
use super::super::summary::Summary;
use super::super::{Word, X_LAST, XOp};
use super::frame::{Body, Frame, NO_WORD, Plan};
use super::linear::{Along, Line, LoopLevel};
use super::machine::Interpreter;
use super::own::{Deciding, Mine, Own};
use super::stop::Stop;
use super::{FaultKind, Host, Mode};

/// Steps that counting may take before a loop is walked instead.
const COUNT_BUDGET: u32 = 1 << 16;

/// What becomes of a loop.
pub(super) enum Choice<'a> {
    /// It is left out, with so many tasks.
    Leave(u64),
    /// It is entered.
    Go(Plan<'a>, Own<'a>),
}

/// Where the value of a key is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Outside a loop.
    Outside,
    /// Within one of its iterations.
    Here,
    /// Further in.
    Deeper,
}

impl<'a> Interpreter<'a> {
    /// What becomes of the loop at `at`, which is about to be entered with at least one iteration.
    pub(super) fn choose<H: Host>(
        &mut self,
        at: u32,
        word: &Word,
        bounds: &Bounds,
        host: &mut H,
    ) -> Choice<'a> {
        let walk = Choice::Go(Plan::Walk, self.own);
        if self.mode == Mode::Naive || matches!(self.own, Own::Mine(_)) {
            return walk;
        }
        let inner = self.summaries.body(word.operand2);
        if inner.has_filters() || !inner.is_countable() || (self.labels_matter && inner.has_labels()) {
            return walk;
        }
        let deciding = match self.own {
            Own::Rule(deciding) => Some(deciding),
            _ => self.resolve(word, &inner, host),
        };
        let Some(deciding) = deciding else { return walk };
        let value = match deciding.rule.source() {
            Source::Ordinal => return self.by_ordinal(deciding),
            Source::Variable(depth) if usize::from(depth) < self.scope.depth => self.scope.var(depth),
            Source::Variable(depth) if usize::from(depth) == self.scope.depth && !bounds.is_sparse() => {
                let stride = solve_loop(1, 0, (bounds.start, bounds.step), self.n, self.me);
                return self.by_stride(at, bounds, stride, deciding);
            }
            Source::Variable(_) => return Choice::Go(Plan::Walk, Own::Rule(deciding)),
            Source::Key(key) => match self.reach(key, word, &inner) {
                Reach::Outside => match self.eval(key, host) {
                    Ok(value) => value,
                    // Whoever comes to a task meets the fault.
                    Err(_) => return walk,
                },
                Reach::Here => return self.by_key(at, word, key, bounds, deciding),
                Reach::Deeper => return Choice::Go(Plan::Walk, Own::Rule(deciding)),
            },
        };
        if deciding.rule.by_value(value, self.n) == self.me {
            return Choice::Go(Plan::Walk, Own::Mine(Mine { pool: deciding.pool }));
        }
        let tasks = self
            .counted(|counter, vars, budget| counter.iterations(at, bounds, (0, bounds.trip), vars, budget));
        tasks.map_or(walk, Choice::Leave)
    }

    /// Of a rule that looks at ordinals.
    fn by_ordinal(&self, deciding: Deciding<'a>) -> Choice<'a> {
        if self.n == 1 && deciding.rule == Rule::RoundRobin {
            return Choice::Go(Plan::Walk, Own::Mine(Mine { pool: deciding.pool }));
        }
        Choice::Go(Plan::Ordinals(deciding), Own::Rule(deciding))
    }

    /// Of a rule that looks at a key which every iteration knows.
    fn by_key(
        &mut self,
        at: u32,
        word: &Word,
        key: u32,
        bounds: &Bounds,
        deciding: Deciding<'a>,
    ) -> Choice<'a> {
        let line = match deciding.rule {
            Rule::Key(_) => {
                let levels = [LoopLevel { bounds: *bounds, axis: u32::from(word.operand1) }];
                self.along(&levels).line(key)
            }
            _ => None,
        };
        match line {
            Some(Line { offset, scales: [scale, ..] }) => {
                self.by_stride(at, bounds, solve(scale, offset, self.n, self.me), deciding)
            }
            None => Choice::Go(Plan::Walk, Own::Rule(deciding)),
        }
    }

    /// Loops that are about to be entered, to follow expressions along.
    pub(super) fn along<'s>(&'s self, levels: &'s [LoopLevel]) -> Along<'s, 'a> {
        let Interpreter { program, launch, scope, attrs, .. } = self;
        Along { program, launch, scope, attrs: *attrs, levels }
    }

    /// Of a loop whose own iterations are these.
    fn by_stride(
        &mut self,
        at: u32,
        bounds: &Bounds,
        stride: Option<Stride>,
        deciding: Deciding<'a>,
    ) -> Choice<'a> {
        if let Some(stride) = stride.filter(|stride| stride.first < bounds.trip) {
            return Choice::Go(Plan::Stride(stride), Own::Mine(Mine { pool: deciding.pool }));
        }
        let tasks = self
            .counted(|counter, vars, budget| counter.iterations(at, bounds, (0, bounds.trip), vars, budget));
        tasks.map_or(Choice::Go(Plan::Walk, Own::Rule(deciding)), Choice::Leave)
    }

    /// The rule that decides on all tasks of a loop; none when that depends on its iterations, or is at fault.
    fn resolve<H: Host>(&mut self, word: &Word, inner: &Summary, host: &mut H) -> Option<Deciding<'a>> {
        let mut filter = self.attrs.filter;
        let mut pool = None;
        loop {
            match self.filter::<()>(filter).ok()? {
                Filter::Rule(rule) => return Some(Deciding { rule, pool }),
                Filter::Threshold(threshold) => {
                    if self.reach(threshold.metric, word, inner) != Reach::Outside {
                        return None;
                    }
                    match threshold.level(self.eval(threshold.metric, host).ok()?) {
                        Level::Rule(rule) => return Some(Deciding { rule, pool }),
                        Level::Pool(chosen) => pool = pool.or(Some(chosen)),
                    }
                }
            }
            if filter == NO_WORD {
                return Some(Deciding { rule: Rule::RoundRobin, pool });
            }
            filter = self.outer_filters.get(filter as usize).copied().unwrap_or(NO_WORD);
        }
    }

    /// Where the value of a key is known, seen from a loop.
    fn reach(&self, key: u32, word: &Word, inner: &Summary) -> Reach {
        let mut reach = Reach::Outside;
        for x in self.program.exprs.get(key as usize..).unwrap_or(&[]) {
            if x.opcode == XOp::XAxis.code() {
                let axis = x.operand2 as u16;
                if inner.iterates(axis) {
                    return Reach::Deeper;
                }
                if axis == word.operand1 {
                    reach = Reach::Here;
                }
            }
            if x.flags & X_LAST != 0 {
                break;
            }
        }
        reach
    }

    /// Goes to the first iteration of the innermost loop, from this one on, that is to be visited, or behind the loop.
    pub(super) fn seek<S>(&mut self, from: u64) -> Result<(), Stop<S>> {
        let Frame { body, bounds, plan, .. } = self.frames.top().ok_or(Stop::Fault(FaultKind::Structure))?;
        let (body, bounds) = (*body, *bounds);
        if matches!(plan, Plan::Walk) {
            return self.visit(&body, &bounds, from);
        }
        let plan = *plan;
        let (to, tasks) = match plan {
            Plan::Walk => (Some(from), Some(0)),
            Plan::Stride(stride) => {
                let to = stride.next_from(from).filter(|to| *to < body.trip);
                let range = (from, to.unwrap_or(body.trip));
                let tasks = self.counted(|counter, vars, budget| {
                    counter.iterations(body.word, &bounds, range, vars, budget)
                });
                (to, tasks)
            }
            Plan::Ordinals(deciding) => self.next_ordinal((&body, &bounds), from, deciding.rule)?,
        };
        let Some(tasks) = tasks else {
            // What cannot be counted is walked from here on.
            if let Some(top) = self.frames.top() {
                top.plan = Plan::Walk;
                self.own = top.own;
            }
            if let Plan::Ordinals(deciding) = plan {
                self.own = Own::Rule(deciding);
            }
            return self.visit(&body, &bounds, from);
        };
        self.count(tasks)?;
        self.visit(&body, &bounds, to.unwrap_or(body.trip))
    }

    /// The first iteration from this one on with an ordinal of this AICPU, and the tasks before it; of no iteration, the tasks
    /// up to the loop's end.
    fn next_ordinal<S>(
        &mut self,
        (body, bounds): (&Body, &Bounds),
        from: u64,
        rule: Rule<'a>,
    ) -> Result<(Option<u64>, Option<u64>), Stop<S>> {
        let next = rule.next_owned(self.ordinal, self.n, self.me).unwrap_or(u64::MAX);
        let local = next.saturating_sub(self.ordinal);
        let place = self
            .counted(|counter, vars, budget| counter.locate(body.word, bounds, (from, local), vars, budget));
        let Some(place) = place else { return Ok((None, None)) };
        if let Rule::Ranges(ranges) = rule {
            // Tasks past the last range belong to nobody, and must not be left out in silence.
            let end = ranges.end();
            if place.before > 0 && self.ordinal.saturating_add(place.before) > end {
                self.ordinal = self.ordinal.max(end);
                self.pc = body.word;
                return Err(Stop::Fault(FaultKind::PastPartition { end }));
            }
        }
        Ok((Some(place.iteration), Some(place.before)))
    }

    /// Begins an iteration of the innermost loop, or leaves it when there are no more.
    fn visit<S>(&mut self, body: &Body, bounds: &Bounds, at: u64) -> Result<(), Stop<S>> {
        if at >= body.trip {
            return self.leave(body);
        }
        self.scope.set(bounds.variable(&self.launch, at), bounds.index(at));
        self.again(body, at, body.begin);
        Ok(())
    }

    /// Counts, and takes the steps of counting for steps.
    fn counted<T>(
        &mut self,
        ask: impl FnOnce(Counter<'_, 'a>, &super::super::eval::Vars, &mut u32) -> Option<T>,
    ) -> Option<T> {
        let counter = Counter {
            program: &self.program,
            launch: &self.launch,
            summaries: self.summaries,
            prefixes: self.shared,
        };
        let mut budget = COUNT_BUDGET;
        let found = ask(counter, &self.scope.vars, &mut budget);
        let taken = u64::from(COUNT_BUDGET.saturating_sub(budget));
        self.stats.steps = self.stats.steps.saturating_add(taken);
        found
    }
}
