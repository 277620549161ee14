//! How many tasks statements generate, without generating them.
//!
//! Loops whose body generates as many tasks in every iteration are multiplied, those with prefix sums subtracted, and only
//! others are summed up. A number that takes more than a budget of steps, or that a fault, a slot or a WHILE is in the way of,
//! is not known: then whoever asks has to walk, and meets what is in the way.

use super::bounds::{Bounds, bounds};
use super::eval::{Vars, eval};
use super::prefix::Prefixes;
use super::summary::{Summaries, Summary, branch_of};
use super::{Launch, MAX_BODY_DEPTH, Op, Program, Word};

/// Counts tasks of a program and a launch.
#[derive(Clone, Copy, Debug)]
pub struct Counter<'c, 'a> {
    /// The program.
    pub program: &'c Program<'a>,
    /// The launch.
    pub launch: &'c Launch<'a>,
    /// Summaries of both.
    pub summaries: Summaries<'c>,
    /// Prefix sums of both.
    pub prefixes: Prefixes<'c>,
}

/// Where a task is among the iterations of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The iteration that generates it; the number of iterations when none does.
    pub iteration: u64,
    /// Tasks that the iterations before it generate.
    pub before: u64,
}

impl Counter<'_, '_> {
    /// Tasks of the statement at `word`; none when it is not known. A step of the budget is an iteration or a statement.
    #[inline]
    pub fn statement(&self, word: u32, vars: &Vars, budget: &mut u32) -> Option<u64> {
        let summary = self.summaries.statement(word);
        match summary.fixed() {
            Some(tasks) => Some(tasks),
            None if summary.is_countable() => self.walk(vars, budget, |walk| walk.enter(word)),
            None => None,
        }
    }

    /// Tasks of one run of the body that begins at `body`; none when it is not known.
    #[inline]
    pub fn body(&self, body: u32, vars: &Vars, budget: &mut u32) -> Option<u64> {
        let summary = self.summaries.body(body);
        match summary.fixed() {
            Some(tasks) => Some(tasks),
            None if summary.is_countable() => match self.flat(body, vars, budget) {
                Some(tasks) => Some(tasks),
                None => self.walk(vars, budget, |walk| walk.push(Frame { body, to: 1, ..Frame::default() })),
            },
            None => None,
        }
    }

    /// Tasks of iterations `[from, to)` of the loop at `word`, which is entered with these bounds; none when it is not known.
    #[inline]
    pub fn iterations(
        &self,
        word: u32,
        bounds: &Bounds,
        (from, to): (u64, u64),
        vars: &Vars,
        budget: &mut u32,
    ) -> Option<u64> {
        if from >= to {
            return Some(0);
        }
        let loop_ = self.loop_at(word)?;
        match self.quick(&loop_, bounds, (from, to)) {
            Some(tasks) => Some(tasks),
            None if loop_.inner.is_countable() => {
                self.walk(vars, budget, |walk| walk.push_loop(&loop_, *bounds, (from, to)))
            }
            None => None,
        }
    }

    /// Where the task is that comes `local` tasks after the first of iteration `from` of a loop; none when it is not known.
    pub fn locate(
        &self,
        word: u32,
        bounds: &Bounds,
        (from, local): (u64, u64),
        vars: &Vars,
        budget: &mut u32,
    ) -> Option<Place> {
        let loop_ = self.loop_at(word)?;
        let uniform = match loop_.inner.fixed() {
            Some(tasks) => Some(tasks),
            None if loop_.is_uniform() => Some(self.body(loop_.body, vars, budget)?),
            None => None,
        };
        if let Some(each) = uniform {
            let past = local.checked_div(each).unwrap_or(u64::MAX);
            let passed = past.min(bounds.trip.saturating_sub(from));
            return Some(Place { iteration: from.saturating_add(passed), before: passed.checked_mul(each)? });
        }
        if let Some(sums) = self.prefixes.sums(word) {
            return sums.locate(bounds, from, local);
        }
        self.search(&loop_, bounds, (from, local), vars, budget)
    }

    /// As [`Counter::locate`], one iteration after another.
    fn search(
        &self,
        loop_: &Loop,
        bounds: &Bounds,
        (from, local): (u64, u64),
        vars: &Vars,
        budget: &mut u32,
    ) -> Option<Place> {
        let (mut iteration, mut before, mut vars) = (from, 0u64, *vars);
        while iteration < bounds.trip {
            *budget = budget.checked_sub(1)?;
            vars.set(loop_.depth, bounds.variable(self.launch, iteration), bounds.index(iteration));
            let next = before.checked_add(self.body(loop_.body, &vars, budget)?)?;
            if next > local {
                break;
            }
            before = next;
            iteration = iteration.wrapping_add(1);
        }
        Some(Place { iteration, before })
    }

    /// The loop at `word`.
    #[inline]
    fn loop_at(&self, word: u32) -> Option<Loop> {
        let body = self.program.words.get(word as usize)?.operand2;
        let depth = self.summaries.statement(word).depth;
        Some(Loop { word, body, depth: usize::from(depth), inner: self.summaries.body(body) })
    }

    /// Tasks of iterations of a loop, when that takes no evaluation.
    #[inline]
    fn quick(&self, loop_: &Loop, bounds: &Bounds, (from, to): (u64, u64)) -> Option<u64> {
        match loop_.inner.fixed() {
            Some(tasks) => tasks.checked_mul(to.wrapping_sub(from)),
            None => self.prefixes.sums(loop_.word)?.between(bounds, from, to),
        }
    }

    /// Tasks of a body in which nothing is left to sum up; none when there is, or a number is not known.
    fn flat(&self, body: u32, vars: &Vars, budget: &mut u32) -> Option<u64> {
        let (mut at, mut tasks, mut env) = (body, 0u64, *vars);
        loop {
            let word = self.program.words.get(at as usize)?;
            let op = Op::from_code(word.opcode)?;
            let more = match (self.summaries.statement(at).fixed(), op) {
                (_, Op::End | Op::Halt) => return Some(tasks),
                (Some(fixed), _) => fixed,
                (None, Op::ParallelFor | Op::ForEach | Op::Select) => {
                    *budget = budget.checked_sub(1)?;
                    let loop_ = self.loop_at(at)?;
                    let range = bounds(self.program, self.launch, at, loop_.depth as u16, &mut env).ok()?;
                    self.quick(&loop_, &range, (0, range.trip))?
                }
                _ => return None,
            };
            tasks = tasks.checked_add(more)?;
            at = after(at, word);
        }
    }

    /// Counts with a walk that begins as `begin` says.
    #[cold]
    fn walk(
        &self,
        vars: &Vars,
        budget: &mut u32,
        begin: impl FnOnce(&mut Walk<'_, '_>) -> Option<()>,
    ) -> Option<u64> {
        let frames = [Frame::default(); MAX_BODY_DEPTH];
        let mut walk = Walk { counter: self, vars: *vars, frames, height: 0, tasks: 0, at: 0, budget };
        begin(&mut walk)?;
        walk.run()
    }
}

/// A loop.
struct Loop {
    word: u32,
    body: u32,
    /// The depth of its variable.
    depth: usize,
    /// What is known of its body.
    inner: Summary,
}

impl Loop {
    /// Whether every iteration generates as many tasks.
    fn is_uniform(&self) -> bool {
        self.inner.is_countable() && !self.inner.depends_on(self.depth as u16)
    }
}

/// Where execution goes on behind the instruction at `at`.
fn after(at: u32, word: &Word) -> u32 {
    at.saturating_add(1).saturating_add(u32::from(word.flags))
}

/// A body under way.
#[derive(Clone, Copy, Default)]
struct Frame {
    /// The instruction that names it.
    word: u32,
    body: u32,
    /// Runs so far, and when there are no more.
    at: u64,
    to: u64,
    /// Tasks of one run are so often generated.
    factor: u64,
    /// Tasks of the body around, so far; and of the runs so far.
    outer: u64,
    tasks: u64,
    /// Of a loop: its iterations.
    bounds: Bounds,
}

/// A count under way: as the interpreter would go, but without tasks, and with statements of a known number in one step.
struct Walk<'w, 'b> {
    counter: &'w Counter<'w, 'w>,
    vars: Vars,
    frames: [Frame; MAX_BODY_DEPTH],
    height: usize,
    /// Tasks of the body under way.
    tasks: u64,
    at: u32,
    budget: &'b mut u32,
}

impl Walk<'_, '_> {
    /// Goes on until no body is under way.
    fn run(mut self) -> Option<u64> {
        while self.height > 0 {
            *self.budget = self.budget.checked_sub(1)?;
            let word = self.counter.program.words.get(self.at as usize)?;
            match (self.counter.summaries.statement(self.at).fixed(), Op::from_code(word.opcode)?) {
                (_, Op::End | Op::Halt) => self.close()?,
                (Some(tasks), _) => self.pass(self.at, word, tasks)?,
                (None, _) => self.enter(self.at)?,
            }
        }
        Some(self.tasks)
    }

    /// Counts the tasks of a statement and goes on behind it.
    fn pass(&mut self, at: u32, word: &Word, tasks: u64) -> Option<()> {
        self.tasks = self.tasks.checked_add(tasks)?;
        self.at = after(at, word);
        Some(())
    }

    /// Enters the statement at `at`.
    fn enter(&mut self, at: u32) -> Option<()> {
        let Counter { program, launch, .. } = *self.counter;
        let word = program.words.get(at as usize)?;
        let depth = self.counter.summaries.statement(at).depth;
        match Op::from_code(word.opcode)? {
            Op::ParallelFor | Op::ForEach | Op::Select => {
                let range = bounds(program, launch, at, depth, &mut self.vars).ok()?;
                let loop_ = self.counter.loop_at(at)?;
                match self.counter.quick(&loop_, &range, (0, range.trip)) {
                    Some(tasks) => self.pass(at, word, tasks),
                    None if range.trip == 0 => self.pass(at, word, 0),
                    None => self.push_loop(&loop_, range, (0, range.trip)),
                }
            }
            Op::Cond => {
                let holds = eval(program, launch, word.operand1.into(), &mut self.vars).ok()?;
                match branch_of(program, at, holds != 0) {
                    Some(body) => self.push(Frame { word: at, body, to: 1, ..Frame::default() }),
                    None => self.pass(at, word, 0),
                }
            }
            Op::Let => {
                let value = eval(program, launch, word.operand1.into(), &mut self.vars).ok()?;
                self.vars.set(depth.into(), value, value);
                self.push(Frame { word: at, body: word.operand2, to: 1, ..Frame::default() })
            }
            Op::Combine | Op::Sequential => match self.part(at, 0) {
                Some(body) => {
                    let to = u64::from(word.flags);
                    self.push(Frame { word: at, body, to, ..Frame::default() })
                }
                None => self.pass(at, word, 0),
            },
            _ => None,
        }
    }

    /// A body of a `COMBINE` or `SEQUENTIAL`.
    fn part(&self, at: u32, part: u64) -> Option<u32> {
        let ext = u64::from(at).checked_add(1)?.checked_add(part)?;
        self.counter.program.words.get(usize::try_from(ext).ok()?).map(|word| word.operand2)
    }

    /// Begins iterations `[from, to)` of a loop: one of them for all, when all generate as many tasks.
    fn push_loop(&mut self, loop_: &Loop, bounds: Bounds, (from, to): (u64, u64)) -> Option<()> {
        let Loop { word, body, .. } = *loop_;
        self.iteration(loop_.depth, &bounds, from);
        self.push(if loop_.is_uniform() {
            Frame { word, body, to: 1, factor: to.saturating_sub(from), bounds, ..Frame::default() }
        } else {
            Frame { word, body, at: from, to, bounds, ..Frame::default() }
        })
    }

    fn iteration(&mut self, depth: usize, bounds: &Bounds, iteration: u64) {
        let variable = bounds.variable(self.counter.launch, iteration);
        self.vars.set(depth, variable, bounds.index(iteration));
    }

    /// Begins a body.
    fn push(&mut self, frame: Frame) -> Option<()> {
        let outer = core::mem::take(&mut self.tasks);
        self.at = frame.body;
        *self.frames.get_mut(self.height)? = Frame { outer, factor: frame.factor.max(1), ..frame };
        self.height = self.height.checked_add(1)?;
        Some(())
    }

    /// A run of a body has ended: the next one, or what follows the instruction.
    fn close(&mut self) -> Option<()> {
        let top = self.height.checked_sub(1)?;
        let frame = self.frames.get_mut(top)?;
        frame.tasks = frame.tasks.checked_add(core::mem::take(&mut self.tasks))?;
        frame.at = frame.at.checked_add(1)?;
        let frame = *frame;
        let word = self.counter.program.words.get(frame.word as usize)?;
        if frame.at >= frame.to {
            self.height = top;
            self.tasks = frame.outer.checked_add(frame.tasks.checked_mul(frame.factor)?)?;
            self.at = after(frame.word, word);
            return Some(());
        }
        self.at = match Op::from_code(word.opcode)? {
            Op::Combine | Op::Sequential => self.part(frame.word, frame.at)?,
            _ => {
                let depth = self.counter.summaries.statement(frame.word).depth;
                self.iteration(depth.into(), &frame.bounds, frame.at);
                frame.body
            }
        };
        Some(())
    }
}
