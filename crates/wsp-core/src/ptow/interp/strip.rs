//! Innermost loops whose body is nothing but tasks: the tasks of this AICPU one after another, without a look at the
//! instructions between.
//!
//! What is prepared once for all iterations is in [`fast`](super::fast). A task that this is not enough for takes the general path.

use super::super::bounds::Bounds;
use super::super::dispatch::Rule;
use super::super::{Op, Word};
use super::fast::{FastSite, Fields};
use super::frame::{Frame, Kind, NO_WORD, Plan};
use super::linear::Along;
use super::machine::{Budget, Interpreter, Stop, after, pool_of};
use super::owner::{Mine, Own};
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
    /// Its arguments, where they are lines.
    fast: Option<FastSite>,
}

/// From a task of this AICPU to its next: so many statements and iterations further, and behind the last statement so many
/// iterations more.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    sites: u64,
    iterations: u64,
    carry: u64,
}

/// An innermost loop under way.
#[derive(Clone, Debug)]
pub(super) struct Strip {
    pub(super) active: bool,
    sites: [Site; MAX_SITES],
    site_count: u64,
    /// The body whose statements these are, or [`NO_WORD`].
    body: u32,
    fields: Fields,
    mine: Mine,
    pace: Pace,
    /// The iteration and the statement of the next task.
    at: u64,
    site: u64,
    /// Ordinal of the first task of iteration 0, and of the task past the last that is handed over.
    base: u64,
    stop: u64,
    /// The iteration whose step the host has been told of.
    told: Option<u64>,
}

impl Strip {
    pub(super) fn new() -> Strip {
        Strip {
            active: false,
            sites: [Site::default(); MAX_SITES],
            site_count: 0,
            body: NO_WORD,
            fields: Fields::new(),
            mine: Mine { pool: None },
            pace: Pace::default(),
            at: 0,
            site: 0,
            base: 0,
            stop: 0,
            told: None,
        }
    }

    /// The ordinal of the next task.
    fn ordinal(&self) -> u64 {
        self.base.wrapping_add(self.at.wrapping_mul(self.site_count)).wrapping_add(self.site)
    }

    fn step(&mut self) {
        self.site = self.site.wrapping_add(self.pace.sites);
        self.at = self.at.wrapping_add(self.pace.iterations);
        if self.site >= self.site_count {
            self.site = self.site.wrapping_sub(self.site_count);
            self.at = self.at.wrapping_add(self.pace.carry);
        }
    }

    /// Sets where the first task is, from how many tasks come before it in the loop.
    fn start(&mut self, before: u64) {
        self.at = before.checked_div(self.site_count).unwrap_or(0);
        self.site = before.checked_rem(self.site_count).unwrap_or(0);
    }
}

impl<'a> Interpreter<'a> {
    /// Whether the loop at hand, which is about to be entered, is one for [`Interpreter::strip`]; prepares it.
    pub(super) fn prepare(&mut self, word: &Word, bounds: &Bounds, plan: &Plan<'a>, own: &Own<'a>) -> bool {
        if self.mode == Mode::Naive || !self.find_sites(word.operand2) {
            return false;
        }
        let sites = self.strip.site_count;
        let end = bounds.trip.checked_mul(sites).and_then(|tasks| self.ordinal.checked_add(tasks));
        let Some(end) = end.filter(|_| sites > 0) else { return false };
        let every = Pace { sites: 1, iterations: 0, carry: 1 };
        self.strip.base = self.ordinal;
        self.strip.stop = end;
        self.strip.told = None;
        self.strip.mine = Mine { pool: None };
        match (plan, own) {
            (Plan::Walk, Own::Mine(mine)) => {
                self.strip.mine = *mine;
                self.strip.pace = every;
                self.strip.start(0);
            }
            (Plan::Stride(stride), Own::Mine(mine)) => {
                self.strip.mine = *mine;
                self.strip.pace = Pace { carry: stride.period, ..every };
                (self.strip.at, self.strip.site) = (stride.first, 0);
            }
            (Plan::Ordinals(deciding), _) => {
                self.strip.mine = Mine { pool: deciding.pool };
                let first = deciding.rule.next_owned(self.ordinal, self.n, self.me).unwrap_or(u64::MAX);
                match deciding.rule {
                    Rule::RoundRobin => {
                        let n = u64::from(self.n);
                        let (iterations, rest) = (n.checked_div(sites), n.checked_rem(sites));
                        self.strip.pace =
                            Pace { sites: rest.unwrap_or(0), iterations: iterations.unwrap_or(0), carry: 1 };
                    }
                    Rule::Own { end: last, .. } => {
                        self.strip.pace = every;
                        self.strip.stop = end.min(last);
                    }
                    _ => return false,
                }
                self.strip.start(first.saturating_sub(self.ordinal).min(end.saturating_sub(self.ordinal)));
            }
            _ => return false,
        }
        self.strip.active = true;
        if self.strip.ordinal() < self.strip.stop {
            self.prepare_sites(word, bounds);
        }
        true
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
                Some(Op::End | Op::Halt) => {
                    self.strip.body = body;
                    return true;
                }
                Some(Op::Task) => {
                    let ext = self.word::<()>(at.wrapping_add(1)).ok().filter(|_| word.flags > 0);
                    let label = ext.map(|ext| LabelId(u32::from(ext.operand1)));
                    let Some(site) = self.strip.sites.get_mut(self.strip.site_count as usize) else {
                        return false;
                    };
                    if self.labels_matter && (label.is_some() || word.operand2 >> 16 != 0) {
                        return false;
                    }
                    *site = Site { word: at, kernel: KernelId(word.operand1), label, fast: None };
                    self.strip.site_count = self.strip.site_count.wrapping_add(1);
                    match self.behind_arguments::<()>(at, &word) {
                        Ok(next) => at = next,
                        Err(_) => return false,
                    }
                }
                _ => return false,
            }
        }
        false
    }

    /// Evaluates the arguments of all statements along the loop.
    fn prepare_sites(&mut self, word: &Word, bounds: &Bounds) {
        let Interpreter { program, launch, scope, attrs, strip, .. } = self;
        let axis = u32::from(word.operand1);
        let along = Along { program, launch, scope, attrs: *attrs, axis, bounds };
        strip.fields.clear();
        for site in strip.sites.iter_mut().take(strip.site_count as usize) {
            let pool = strip.mine.pool.unwrap_or(pool_of(program, site.kernel));
            site.fast = along.site(site.word, pool, &mut strip.fields);
        }
    }

    /// Hands over tasks of the loop until a budget is spent or the loop ends.
    pub(super) fn strip<H: Host>(&mut self, host: &mut H, budget: &mut Budget) -> Result<(), Stop<H::Stop>> {
        let frame = *self.frames.top().ok_or(Stop::Fault(FaultKind::Structure))?;
        let before = budget.tasks.min(budget.steps);
        let mut left = before;
        let end = self.strip_tasks(&frame, host, &mut left);
        let taken = before.wrapping_sub(left);
        budget.tasks = budget.tasks.saturating_sub(taken);
        budget.steps = budget.steps.saturating_sub(taken);
        self.stats.tasks = self.stats.tasks.wrapping_add(u64::from(taken));
        self.stats.steps = self.stats.steps.wrapping_add(u64::from(taken));
        if end? {
            let all = frame.trip.wrapping_mul(self.strip.site_count);
            self.ordinal = self.strip.base.wrapping_add(all);
            self.strip.active = false;
            // The host may have been told of the scope meanwhile.
            let frame = *self.frames.top().ok_or(Stop::Fault(FaultKind::Structure))?;
            self.leave(&frame)?;
        }
        if self.stats.steps > limits::MAX_GENERATOR_STEPS {
            Err(Stop::Fault(FaultKind::Steps))
        } else {
            Ok(())
        }
    }

    /// As [`Interpreter::strip`]; whether the loop has ended.
    fn strip_tasks<H: Host>(
        &mut self,
        frame: &Frame<'a>,
        host: &mut H,
        left: &mut u32,
    ) -> Result<bool, Stop<H::Stop>> {
        loop {
            let ordinal = self.strip.ordinal();
            if self.strip.at >= frame.trip || ordinal >= self.strip.stop {
                return Ok(true);
            }
            if *left == 0 {
                return Ok(false);
            }
            let at = self.strip.at;
            self.ordinal = ordinal;
            if frame.bounds.is_sparse() {
                self.scope.set(frame.bounds.variable(&self.launch, at), frame.bounds.index(at));
            } else {
                self.scope.set_index(frame.bounds.index(at));
            }
            if frame.kind == Kind::OrderedLoop && self.strip.told != Some(at) {
                self.tell_step(at, host)?;
            }
            self.strip_task(at, host)?;
            *left = left.wrapping_sub(1);
            self.ordinal = ordinal.wrapping_add(1);
            self.strip.step();
        }
    }

    /// Hands over the next task.
    #[inline]
    fn strip_task<H: Host>(&mut self, at: u64, host: &mut H) -> Result<(), Stop<H::Stop>> {
        let Interpreter { program, launch, scope, strip, ordinal, .. } = self;
        let Some(site) = strip.sites.get(strip.site as usize) else {
            return Err(Stop::Fault(FaultKind::Structure));
        };
        let Some(fast) = &site.fast else { return self.strip_slowly(host) };
        strip.fields.update(fast, at);
        if Fields::is_late(fast) && strip.fields.evaluate(fast, program, launch, scope).is_none() {
            return self.strip_slowly(host);
        }
        let task = Task {
            ordinal: *ordinal,
            site: site.word,
            kernel: site.kernel,
            pool: fast.pool,
            params: strip.fields.params(fast),
            regions: strip.fields.regions(fast),
            modes: strip.fields.modes(fast),
            after: &[],
            label: site.label,
            stream: fast.stream(*ordinal, at),
            priority: fast.priority(at),
            vars: scope.values(),
            indices: scope.indices(),
        };
        host.task(&task).map_err(Stop::Host)
    }

    /// Hands over the next task as if it stood anywhere.
    #[cold]
    fn strip_slowly<H: Host>(&mut self, host: &mut H) -> Result<(), Stop<H::Stop>> {
        let site = self.strip.sites.get(self.strip.site as usize).copied().unwrap_or_default();
        let pool = self.strip.mine.pool;
        self.pc = site.word;
        self.hand_over(site.word, &self.word(site.word)?, (site.label, pool), host)?;
        Ok(())
    }

    /// Tells the host of the step that an iteration is.
    #[cold]
    fn tell_step<H: Host>(&mut self, at: u64, host: &mut H) -> Result<(), Stop<H::Stop>> {
        let top = self.frames.top().ok_or(Stop::Fault(FaultKind::Structure))?;
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
