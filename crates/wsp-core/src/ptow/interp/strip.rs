//! Innermost loops whose body is nothing but tasks: the tasks of this AICPU one after another, without a look at the
//! instructions between. Dense loops that stand directly in each other are one strip.
//!
//! What is prepared once for all iterations is in [`fast`](super::fast). A task that this is not enough for takes the general
//! path.

use super::super::bounds::{AxisRow, Bounds, axis_row, bounds};
use super::super::dispatch::Rule;
use super::super::{Launch, Op, Word};
use super::fast::{FastSite, Fields};
use super::frame::{Body, Kind, NO_WORD, Plan};
use super::linear::{Along, LEVELS, LoopLevel, Quiet};
use super::machine::{Budget, Interpreter};
use super::own::{Mine, Own};
use super::pace::Pace;
use super::stop::Stop;
use super::values::LoopVars;
use super::words::{after, pool_of};
use super::{FaultKind, Host, Mode, Ordered, Task};
use crate::{KernelId, LabelId, limits};

/// Most statements of a body.
const MAX_SITES: usize = 8;

/// A statement of a body.
#[derive(Clone, Copy, Debug, Default)]
struct Site {
    word: u32,
    kernel: KernelId,
    label: Option<LabelId>,
    /// Its arguments, where they are kept up to date.
    fast: Option<FastSite>,
}

/// Why a strip pauses.
enum Pause {
    /// It has ended.
    End,
    /// The budget is spent.
    Spent,
    /// The host is to be told of a step.
    Step,
    /// The next task takes the general path.
    Slow,
}

/// A strip under way.
#[derive(Clone, Debug)]
pub(super) struct Strip {
    pub(super) active: bool,
    /// Its loops, the innermost first.
    levels: [LoopLevel; LEVELS],
    level_count: usize,
    sites: [Site; MAX_SITES],
    site_count: u64,
    /// The body whose statements these are, or [`NO_WORD`].
    body: u32,
    fields: Fields,
    mine: Mine,
    pace: Pace,
    /// Ordinal of the first task of all, and of the task past the last that is handed over.
    base: u64,
    stop: u64,
    /// The iteration whose step the host has been told of.
    told: Option<u64>,
}

impl Strip {
    pub(super) fn new() -> Strip {
        Strip {
            active: false,
            levels: [LoopLevel::default(); LEVELS],
            level_count: 0,
            sites: [Site::default(); MAX_SITES],
            site_count: 0,
            body: NO_WORD,
            fields: Fields::new(),
            mine: Mine { pool: None },
            pace: Pace::default(),
            base: 0,
            stop: 0,
            told: None,
        }
    }

    /// The ordinal of the next task of this AICPU in the strip, or where the strip ends.
    pub(super) fn next_ordinal(&self) -> u64 {
        let next = self.base.saturating_add(self.pace.task());
        if next < self.stop { next } else { self.end() }
    }

    /// The ordinal behind the last task of all.
    fn end(&self) -> u64 {
        self.base.saturating_add(self.pace.all().unwrap_or(0))
    }

    /// Gives the variable of the innermost loop its value of an iteration.
    #[inline]
    fn settle_innermost(&self, scope: &mut LoopVars, launch: &Launch<'_>, at: u64) {
        let inner = &self.levels[0].bounds;
        if inner.is_sparse() {
            scope.set(inner.variable(launch, at), inner.index(at));
        } else {
            scope.set_index(0, inner.index(at));
        }
    }

    fn levels(&self) -> &[LoopLevel] {
        self.levels.get(..self.level_count).unwrap_or(&[])
    }
}

impl<'a> Interpreter<'a> {
    /// Whether the loop at hand, which is about to be entered, begins a strip; prepares it.
    pub(super) fn prepare(&mut self, word: &Word, bounds: &Bounds, plan: &Plan<'a>, own: &Own<'a>) -> bool {
        let decided = matches!((plan, own), (Plan::Ordinals(_), _) | (_, Own::Mine(_)));
        if self.mode == Mode::Naive || !decided || !self.find_nest(word, bounds) {
            return false;
        }
        let trips = self.strip.levels.map(|level| level.bounds.trip);
        let mut pace = Pace::new(self.strip.site_count, trips, self.strip.level_count);
        let Some(end) = pace.all().and_then(|tasks| self.ordinal.checked_add(tasks)) else { return false };
        self.strip.base = self.ordinal;
        self.strip.stop = end;
        self.strip.told = None;
        self.strip.mine = Mine { pool: None };
        match (plan, own) {
            (Plan::Walk, Own::Mine(mine)) => self.strip.mine = *mine,
            (Plan::Stride(stride), Own::Mine(mine)) => {
                self.strip.mine = *mine;
                pace.outermost_by(stride.first, stride.period);
            }
            (Plan::Ordinals(deciding), _) => {
                self.strip.mine = Mine { pool: deciding.pool };
                let first = deciding.rule.next_owned(self.ordinal, self.n, self.me).unwrap_or(u64::MAX);
                match deciding.rule {
                    Rule::RoundRobin => pace.tasks_by(u64::from(self.n)),
                    Rule::Own { end: last, .. } => self.strip.stop = end.min(last),
                    _ => return false,
                }
                pace.start(first.min(end).saturating_sub(self.ordinal));
            }
            _ => return false,
        }
        self.strip.pace = pace;
        self.strip.active = true;
        if pace.task().saturating_add(self.strip.base) < self.strip.stop {
            self.prepare_sites();
        }
        true
    }

    /// Finds the loops of a strip that begins with a loop; whether there is one.
    fn find_nest(&mut self, word: &Word, first: &Bounds) -> bool {
        let mut nest = [LoopLevel { bounds: *first, axis: u32::from(word.operand1) }; LEVELS];
        let mut count = 1usize;
        let mut body = word.operand2;
        while let Some((at, inner)) = self.only_loop(word, body) {
            let depth = self.scope.depth.saturating_add(count) as u16;
            let bounds = bounds(&self.program, &self.launch, at, depth, &mut Quiet(&self.scope));
            let Some(bounds) = bounds.ok().filter(|bounds| bounds.trip > 0) else { return false };
            let Some(level) = nest.get_mut(count) else { return false };
            *level = LoopLevel { bounds, axis: u32::from(inner.operand1) };
            count = count.wrapping_add(1);
            body = inner.operand2;
        }
        if !self.find_sites(body) {
            return false;
        }
        for (level, found) in self.strip.levels.iter_mut().zip(nest.iter().take(count).rev()) {
            *level = *found;
        }
        self.strip.level_count = count;
        true
    }

    /// The loop that a body is, when it is nothing else, and both loops are of a kind that makes one strip.
    fn only_loop(&self, outer: &Word, body: u32) -> Option<(u32, Word)> {
        let inner = self.word::<()>(body).ok()?;
        let parallel = |word: &Word| word.opcode == Op::ParallelFor.code();
        if !parallel(&inner) || !parallel(outer) {
            return None;
        }
        let end = self.word::<()>(after(body, &inner)).ok()?;
        let ends = end.opcode == Op::End.code() || end.opcode == Op::Halt.code();
        let dense = matches!(axis_row(&self.program, inner.operand1), Some(AxisRow::Dense(..)));
        (ends && dense).then_some((body, inner))
    }

    /// Notes the statements of a body; whether there is nothing else.
    fn find_sites(&mut self, body: u32) -> bool {
        if self.strip.body == body {
            return true;
        }
        self.strip.body = NO_WORD;
        self.strip.site_count = 0;
        let mut at = body;
        while let Ok(word) = self.word::<()>(at) {
            match Op::from_code(word.opcode) {
                Some(Op::Nop) => at = after(at, &word),
                Some(Op::End | Op::Halt) if self.strip.site_count > 0 => {
                    self.strip.body = body;
                    return true;
                }
                Some(Op::Task) => match self.find_site(at, &word) {
                    Some(next) => at = next,
                    None => return false,
                },
                _ => return false,
            }
        }
        false
    }

    /// Notes a statement; what comes behind it.
    fn find_site(&mut self, at: u32, word: &Word) -> Option<u32> {
        let ext = self.word::<()>(at.wrapping_add(1)).ok().filter(|_| word.flags > 0);
        let label = ext.map(|ext| LabelId(u32::from(ext.operand1)));
        if self.labels_matter && (label.is_some() || word.operand2 >> 16 != 0) {
            return None;
        }
        let site = self.strip.sites.get_mut(self.strip.site_count as usize)?;
        *site = Site { word: at, kernel: KernelId(word.operand1), label, fast: None };
        self.strip.site_count = self.strip.site_count.wrapping_add(1);
        self.behind_arguments::<()>(at, word).ok()
    }

    /// Evaluates the arguments of all statements along the loops.
    fn prepare_sites(&mut self) {
        let Interpreter { program, launch, scope, attrs, strip, .. } = self;
        let levels = strip.levels;
        let levels = levels.get(..strip.level_count).unwrap_or(&[]);
        let along = Along { program, launch, scope, attrs: *attrs, levels };
        strip.fields.clear();
        for site in strip.sites.iter_mut().take(strip.site_count as usize) {
            let pool = strip.mine.pool.unwrap_or(pool_of(program, site.kernel));
            site.fast = along.site(site.word, pool, &mut strip.fields);
        }
    }

    /// Gives the loops of a strip that is entered their variables, but the outermost, which has its own.
    pub(super) fn enter_strip<S>(&mut self) -> Result<(), Stop<S>> {
        for level in self.strip.levels().iter().rev().skip(1) {
            let start = level.bounds.start;
            self.scope.push(start, start, level.axis).ok_or(Stop::Fault(FaultKind::Structure))?;
        }
        self.settle();
        Ok(())
    }

    /// Settles the iterations of the outer loops.
    fn settle(&mut self) {
        let at = *self.strip.pace.at();
        if self.strip.level_count < 2 {
            return;
        }
        self.strip.fields.settle(&at);
        for site in self.strip.sites.iter_mut().take(self.strip.site_count as usize) {
            if let Some(fast) = &mut site.fast {
                fast.settle(&at);
            }
        }
        for (outwards, (level, at)) in self.strip.levels().iter().zip(at).enumerate().skip(1) {
            self.scope.set_index(outwards, level.bounds.index(at));
        }
    }

    /// Hands over tasks of the strip until a budget is spent or it ends.
    pub(super) fn strip<H: Host>(&mut self, host: &mut H, budget: &mut Budget) -> Result<(), Stop<H::Stop>> {
        let body = self.frames.top().ok_or(Stop::Fault(FaultKind::Structure))?.body;
        let before = budget.tasks.min(budget.steps);
        let mut left = before;
        let ended = self.strip_tasks(&body, host, &mut left);
        let taken = before.wrapping_sub(left);
        budget.tasks = budget.tasks.saturating_sub(taken);
        budget.steps = budget.steps.saturating_sub(taken);
        self.stats.tasks = self.stats.tasks.wrapping_add(u64::from(taken));
        self.stats.steps = self.stats.steps.wrapping_add(u64::from(taken));
        if ended? {
            self.ordinal = self.strip.end();
            self.strip.active = false;
            for _ in 1..self.strip.level_count {
                self.scope.pop();
            }
            // The host may have been told of the scope meanwhile.
            let body = self.frames.top().ok_or(Stop::Fault(FaultKind::Structure))?.body;
            self.leave(&body)?;
        }
        if self.stats.steps > limits::MAX_GENERATOR_STEPS {
            Err(Stop::Fault(FaultKind::Steps))
        } else {
            Ok(())
        }
    }

    /// As [`Interpreter::strip`]; whether it has ended.
    fn strip_tasks<H: Host>(
        &mut self,
        body: &Body,
        host: &mut H,
        left: &mut u32,
    ) -> Result<bool, Stop<H::Stop>> {
        loop {
            match self.strip_run(body, host, left)? {
                Pause::End => return Ok(true),
                Pause::Spent => return Ok(false),
                Pause::Step => self.tell_step(host)?,
                Pause::Slow => {
                    self.strip_slowly(host)?;
                    *left = left.wrapping_sub(1);
                    self.ordinal = self.ordinal.wrapping_add(1);
                    if self.strip.pace.step() {
                        self.settle();
                    }
                }
            }
        }
    }

    /// Hands over tasks whose arguments are kept up to date.
    fn strip_run<H: Host>(
        &mut self,
        body: &Body,
        host: &mut H,
        left: &mut u32,
    ) -> Result<Pause, Stop<H::Stop>> {
        let ordered = body.kind == Kind::OrderedLoop;
        let even = !ordered && !self.strip.levels[0].bounds.is_sparse();
        loop {
            if even {
                self.strip_row(host, left)?;
            }
            let Interpreter { program, launch, scope, strip, ordinal, .. } = &mut *self;
            let task = strip.base.wrapping_add(strip.pace.task());
            if task >= strip.stop {
                return Ok(Pause::End);
            }
            if *left == 0 {
                return Ok(Pause::Spent);
            }
            *ordinal = task;
            let [at, ..] = *strip.pace.at();
            strip.settle_innermost(scope, launch, at);
            if ordered && strip.told != Some(at) {
                return Ok(Pause::Step);
            }
            let Some(site) = strip.sites.get(strip.pace.site()) else { return Ok(Pause::End) };
            let Some(fast) = &site.fast else { return Ok(Pause::Slow) };
            strip.fields.update(fast, at);
            if fast.is_late() && strip.fields.evaluate(fast, program, launch, scope).is_none() {
                return Ok(Pause::Slow);
            }
            let task = Task {
                ordinal: task,
                site: site.word,
                kernel: site.kernel,
                pool: fast.pool,
                params: strip.fields.params(fast),
                regions: strip.fields.regions(fast),
                modes: strip.fields.modes(fast),
                after: &[],
                label: site.label,
                stream: fast.stream(task, at),
                priority: fast.priority(at),
                vars: scope.values(),
                indices: scope.indices(),
            };
            host.task(&task).map_err(Stop::Host)?;
            *left = left.wrapping_sub(1);
            *ordinal = ordinal.wrapping_add(1);
            if strip.pace.step() {
                self.settle();
            }
        }
    }

    /// Hands over the tasks of a row, if the next task begins one: nothing is looked up from one to the next.
    #[inline]
    fn strip_row<H: Host>(&mut self, host: &mut H, left: &mut u32) -> Result<(), Stop<H::Stop>> {
        let Interpreter { scope, strip, ordinal, .. } = &mut *self;
        let row = strip.pace.row(*left, strip.stop.saturating_sub(strip.base));
        let Some(row) = row else { return Ok(()) };
        let [Site { word, kernel, label, fast: Some(fast) }, ..] = strip.sites else { return Ok(()) };
        if fast.is_late() {
            return Ok(());
        }
        let bounds = strip.levels[0].bounds;
        let (mut at, mut task, mut done) = (row.at, strip.base.wrapping_add(row.task), 0);
        let mut stopped = None;
        while done < row.count {
            scope.set_index(0, bounds.index(at));
            strip.fields.update(&fast, at);
            let record = Task {
                ordinal: task,
                site: word,
                kernel,
                pool: fast.pool,
                params: strip.fields.params(&fast),
                regions: strip.fields.regions(&fast),
                modes: strip.fields.modes(&fast),
                after: &[],
                label,
                stream: fast.stream(task, at),
                priority: fast.priority(at),
                vars: scope.values(),
                indices: scope.indices(),
            };
            if let Err(stop) = host.task(&record) {
                stopped = Some(stop);
                break;
            }
            done = done.wrapping_add(1);
            at = at.wrapping_add(row.step);
            task = task.wrapping_add(row.stride);
        }
        if done > 0 {
            *ordinal = task.wrapping_sub(row.stride).wrapping_add(1);
            *left = left.wrapping_sub(done);
            if strip.pace.step_row(&row, done) {
                self.settle();
            }
        }
        stopped.map_or(Ok(()), |stop| Err(Stop::Host(stop)))
    }

    /// Hands over the next task as if it stood anywhere.
    #[cold]
    fn strip_slowly<H: Host>(&mut self, host: &mut H) -> Result<(), Stop<H::Stop>> {
        let site = self.strip.sites.get(self.strip.pace.site()).copied().unwrap_or_default();
        let pool = self.strip.mine.pool;
        self.pc = site.word;
        self.hand_over(site.word, &self.word(site.word)?, (site.label, pool), host)?;
        Ok(())
    }

    /// Tells the host of the step that an iteration is.
    #[cold]
    fn tell_step<H: Host>(&mut self, host: &mut H) -> Result<(), Stop<H::Stop>> {
        let [at, ..] = *self.strip.pace.at();
        let top = &mut self.frames.top().ok_or(Stop::Fault(FaultKind::Structure))?.body;
        let (first, told) = (top.first, top.told);
        top.told = true;
        if !told {
            self.stats.scopes = self.stats.scopes.wrapping_add(1);
            self.note(Ordered::Begin, first);
        }
        if at > 0 {
            let tasks = at.wrapping_mul(self.strip.site_count);
            self.note(Ordered::Step, self.strip.base.wrapping_add(tasks));
        }
        self.strip.told = Some(at);
        self.tell(host)
    }
}
