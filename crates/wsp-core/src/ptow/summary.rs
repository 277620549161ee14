//! What is known of every instruction before it runs: how many tasks it generates, or what that number depends on.
//!
//! Summaries are of a program and a launch. They are made once, in memory of the caller, by two scans: one forward for the
//! number of variables in scope, one backward, in which every body has been met before the instruction that names it.

use super::bounds::{AxisRow, axis_row, bounds, row_expr};
use super::count::Counter;
use super::eval::{Vars, eval};
use super::prefix::Prefixes;
use super::{Launch, MAX_LOOP_DEPTH, Op, Program, Word, X_LAST, XOp};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Most steps to learn how many tasks a statement generates, and all statements together.
const SUM_BUDGET: u32 = 1 << 16;
const TOTAL_BUDGET: u32 = 1 << 22;
/// Words (u64) of memory for one instruction.
const WORDS: usize = size_of::<Entry>() / size_of::<u64>();

/// What is known of a statement, or of one run of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Summary {
    tasks: u64,
    /// Axes of the loops inside, this one included: bit `axis % 64`. Of axes of the form `Range` nothing is noted, as keys
    /// cannot name them.
    pub axes: u64,
    /// Variables outside that the number of tasks depends on: bit of the depth.
    pub depends: u16,
    /// Variables in scope outside.
    pub depth: u16,
    facts: u32,
}

/// Of one word: what is known of it as a statement, and of the body that begins there.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Entry {
    statement: Summary,
    body: Summary,
}

const FIXED: u32 = 1;
const COUNTABLE: u32 = 2;
const LABELS: u32 = 4;
const FILTERS: u32 = 8;

impl Summary {
    /// A statement without tasks.
    const NOTHING: Summary = Summary { tasks: 0, axes: 0, depends: 0, depth: 0, facts: FIXED | COUNTABLE };

    /// The number of tasks, where it is the same whatever the variables are.
    #[inline]
    pub fn fixed(&self) -> Option<u64> {
        if self.facts & FIXED != 0 { Some(self.tasks) } else { None }
    }

    /// Whether the number of tasks follows from the launch and from variables: there are no slots, rounds of WHILE and
    /// descriptor generators in the way.
    #[inline]
    pub fn is_countable(&self) -> bool {
        self.facts & COUNTABLE != 0
    }

    /// Whether labels are set, forgotten or waited for.
    pub fn has_labels(&self) -> bool {
        self.facts & LABELS != 0
    }

    /// Whether there is a `DISPATCH_FILTER`.
    pub fn has_filters(&self) -> bool {
        self.facts & FILTERS != 0
    }

    /// Whether a loop over this axis may be inside. May be true of axes that are not.
    #[inline]
    pub fn iterates(&self, axis: u16) -> bool {
        self.axes & axis_bit(axis) != 0
    }

    /// Whether the number of tasks depends on the variable at this depth.
    #[inline]
    pub fn depends_on(&self, depth: u16) -> bool {
        self.depends & depth_bit(depth) != 0
    }

    fn of_facts(facts: u32) -> Summary {
        Summary { facts, ..Summary::default() }
    }

    /// One after the other.
    fn then(self, next: Summary) -> Summary {
        let (both, either) = (FIXED | COUNTABLE, LABELS | FILTERS);
        let facts = (self.facts & next.facts & both) | ((self.facts | next.facts) & either);
        let joined = Summary {
            tasks: 0,
            axes: self.axes | next.axes,
            depends: self.depends | next.depends,
            depth: self.depth,
            facts,
        };
        joined.with_tasks(self.tasks.checked_add(next.tasks).filter(|_| facts & FIXED != 0))
    }

    /// With a fixed number of tasks, or none.
    fn with_tasks(mut self, tasks: Option<u64>) -> Summary {
        self.facts = if tasks.is_some() { self.facts | FIXED } else { self.facts & !FIXED };
        self.tasks = tasks.unwrap_or(0);
        self
    }

    fn with(mut self, facts: u32) -> Summary {
        self.facts |= facts;
        self
    }

    fn without(mut self, facts: u32) -> Summary {
        self.facts &= !facts;
        self
    }
}

/// Summaries of every instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summaries<'a> {
    entries: &'a [Entry],
}

impl Summaries<'_> {
    /// What is known of the statement at `word`.
    #[inline]
    pub fn statement(&self, word: u32) -> Summary {
        self.entries.get(word as usize).map_or(Summary::default(), |entry| entry.statement)
    }

    /// What is known of one run of the body that begins at `word`.
    #[inline]
    pub fn body(&self, word: u32) -> Summary {
        self.entries.get(word as usize).map_or(Summary::default(), |entry| entry.body)
    }
}

/// Words (u64) of memory that summaries take.
pub const fn summary_words(program: &Program<'_>) -> usize {
    program.words.len().saturating_mul(WORDS)
}

/// Summaries of a program. With less memory than [`summary_words`], nothing is known of instructions at the end.
pub fn summarise<'m>(program: &Program<'_>, launch: &Launch<'_>, memory: &'m mut [u64]) -> Summaries<'m> {
    let words = (memory.len() / WORDS).min(program.words.len());
    let Some(memory) = memory.get_mut(..words.saturating_mul(WORDS)) else { return Summaries::default() };
    memory.fill(0);
    let Ok(entries) = <[Entry]>::mut_from_bytes(memory.as_mut_bytes()) else { return Summaries::default() };
    depths(program, entries);
    let mut body = Summary::default();
    let mut steps = TOTAL_BUDGET;
    for at in (0..entries.len()).rev() {
        let Some(word) = program.words.get(at) else { continue };
        let statement = match Op::from_code(word.opcode) {
            Some(Op::ExtWord) => continue,
            Some(Op::End | Op::Halt) => {
                body = Summary::NOTHING;
                Summary::NOTHING
            }
            Some(op) => {
                let mut scope = SummaryCx { program, launch, entries, at: at as u32, steps };
                let statement = scope.statement(op, word);
                steps = scope.steps;
                statement
            }
            None => Summary::default(),
        };
        let Some(entry) = entries.get_mut(at) else { continue };
        let depth = entry.statement.depth;
        entry.statement = Summary { depth, ..statement };
        body = Summary { depth, ..body.then(statement) };
        if starts_body(program, at) {
            entry.body = body;
        }
    }
    Summaries { entries }
}

/// Whether a body begins here.
fn starts_body(program: &Program<'_>, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| program.words.get(before));
    let ends = |word: &Word| word.opcode == Op::End.code() || word.opcode == Op::Halt.code();
    before.is_none_or(ends)
}

/// The bodies that an instruction names, in order.
pub(super) fn bodies<'p>(program: &Program<'p>, at: u32) -> impl Iterator<Item = u32> + use<'p> {
    let words = program.words.get(at as usize..).unwrap_or(&[]);
    let (first, ext) = words.split_first().map_or((Word::default(), words), |(first, rest)| (*first, rest));
    let ext = ext.get(..usize::from(first.flags)).unwrap_or(&[]);
    let (own, others) = match Op::from_code(first.opcode) {
        Some(Op::ParallelFor | Op::ForEach | Op::Select | Op::While | Op::Let | Op::Send | Op::Recv) => {
            (Some(first.operand2), &[][..])
        }
        Some(Op::Cond) => (Some(first.operand2), ext),
        Some(Op::Combine | Op::Sequential | Op::Process | Op::SelectCh | Op::SelectAll) => (None, ext),
        _ => (None, &[][..]),
    };
    own.into_iter().chain(others.iter().map(|word| word.operand2).filter(|body| *body != 0))
}

/// Notes how many variables are in scope at every instruction.
fn depths(program: &Program<'_>, entries: &mut [Entry]) {
    let mut depth = 0;
    for at in 0..entries.len() {
        if starts_body(program, at) {
            depth = entries.get(at).map_or(0, |entry| entry.body.depth);
        }
        if let Some(entry) = entries.get_mut(at) {
            entry.statement.depth = depth;
        }
        let op = program.words.get(at).and_then(|word| Op::from_code(word.opcode));
        let gives = op.is_some_and(Op::binds);
        for body in bodies(program, at as u32) {
            if let Some(entry) = entries.get_mut(body as usize) {
                entry.body.depth = depth.saturating_add(u16::from(gives));
            }
        }
    }
}

/// Where a statement is looked at; the entries of all that follows are complete.
struct SummaryCx<'s, 'a> {
    program: &'s Program<'a>,
    launch: &'s Launch<'a>,
    entries: &'s [Entry],
    at: u32,
    /// Steps that may still be taken.
    steps: u32,
}

impl SummaryCx<'_, '_> {
    fn statement(&mut self, op: Op, word: &Word) -> Summary {
        match op {
            Op::Task => {
                let labels = if word.flags > 0 { LABELS } else { 0 };
                Summary::of_facts(COUNTABLE | labels).with_tasks(Some(1))
            }
            Op::After | Op::Reset => Summary::NOTHING.with(LABELS),
            Op::DispatchFilter => Summary::NOTHING.with(FILTERS),
            Op::Plan => Summary::default(),
            Op::ParallelFor | Op::ForEach | Op::Select => self.iterates(word),
            Op::Combine | Op::Sequential => self.all(),
            Op::Cond => self.branch(word),
            Op::Let => self.binds(word),
            // How often bodies run depends on slots, or on other processes; and no place of a process is counted past.
            Op::While | Op::Process | Op::Send | Op::Recv | Op::Close | Op::SelectCh | Op::SelectAll => {
                self.all().without(FIXED | COUNTABLE)
            }
            _ => Summary::NOTHING,
        }
    }

    /// Of one run of the body that begins there.
    fn body(&self, at: u32) -> Summary {
        // A body that is not behind the instruction is none of a verified program.
        if at <= self.at { Summary::default() } else { Summaries { entries: self.entries }.body(at) }
    }

    /// Of all bodies, one after another.
    fn all(&self) -> Summary {
        let bodies = bodies(self.program, self.at).map(|body| self.body(body));
        bodies.fold(Summary::NOTHING, Summary::then)
    }

    /// Variables in scope outside.
    fn depth(&self) -> u16 {
        Summaries { entries: self.entries }.statement(self.at).depth
    }

    fn branch(&self, word: &Word) -> Summary {
        let names = Names::of(self.program, word.operand1.into());
        if names.closed() {
            let Ok(holds) = eval(self.program, self.launch, word.operand1.into(), &mut Vars::default())
            else {
                return self.all().without(FIXED | COUNTABLE);
            };
            // The other one never runs.
            let taken = branch_of(self.program, self.at, holds != 0);
            return taken.map_or(Summary::NOTHING, |body| self.body(body));
        }
        let mut both = self.all().without(FIXED);
        both.depends |= names.depths;
        if names.slots { both.without(COUNTABLE) } else { both }
    }

    fn binds(&self, word: &Word) -> Summary {
        let (mut body, depth) = (self.all(), self.depth());
        if body.depends_on(depth) {
            let names = Names::of(self.program, word.operand1.into());
            body.depends = (body.depends & !depth_bit(depth)) | names.depths;
            if names.slots {
                body = body.without(COUNTABLE);
            }
        }
        body
    }

    fn iterates(&mut self, word: &Word) -> Summary {
        let (body, depth) = (self.body(word.operand2), self.depth());
        let names = Names::of_bounds(self.program, self.at, word, depth);
        let mut found = Summary {
            axes: body.axes | names.axis,
            depends: (body.depends & !depth_bit(depth)) | names.depths,
            ..body
        };
        found = found.without(FIXED);
        if names.slots {
            return found.without(COUNTABLE);
        }
        if !body.is_countable() || found.depends != 0 {
            return found;
        }
        let vars = Vars::default();
        let Ok(range) = bounds(self.program, self.launch, self.at, depth, &mut vars.clone()) else {
            return found.without(COUNTABLE);
        };
        if range.trip == 0 {
            return Summary::NOTHING;
        }
        let summaries = Summaries { entries: self.entries };
        let counter =
            Counter { program: self.program, launch: self.launch, summaries, prefixes: Prefixes::none() };
        let most = self.steps.min(SUM_BUDGET);
        let mut left = most;
        let tasks = counter.iterations(self.at, &range, (0, range.trip), &vars, &mut left);
        self.steps = self.steps.saturating_sub(most.saturating_sub(left));
        found.with_tasks(tasks)
    }
}

/// The body that a condition takes; none when there is none.
pub(super) fn branch_of(program: &Program<'_>, at: u32, holds: bool) -> Option<u32> {
    let word = program.words.get(at as usize)?;
    if holds {
        return Some(word.operand2);
    }
    let otherwise = program.words.get((at as usize).checked_add(1)?).filter(|_| word.flags > 0)?;
    (otherwise.operand2 != 0).then_some(otherwise.operand2)
}

/// What an expression or the bounds of a loop name.
#[derive(Clone, Copy, Default)]
pub(super) struct Names {
    /// Variables: bit of the depth.
    pub(super) depths: u16,
    /// The bit of the axis, of a loop whose axis keys can name.
    axis: u64,
    /// Whether there is a slot.
    pub(super) slots: bool,
}

impl Names {
    /// Whether there are neither variables nor slots.
    fn closed(&self) -> bool {
        self.depths == 0 && !self.slots
    }

    /// What an expression names.
    fn of(program: &Program<'_>, expr: u32) -> Names {
        let mut names = Names::default();
        for word in program.exprs.get(expr as usize..).unwrap_or(&[]) {
            match XOp::from_code(word.opcode) {
                Some(XOp::XVar | XOp::XPos) => names.depths |= depth_bit(word.operand2 as u16),
                Some(XOp::XSlot) => names.slots = true,
                _ => {}
            }
            if word.flags & X_LAST != 0 {
                break;
            }
        }
        names
    }

    /// What the bounds of a loop name.
    pub(super) fn of_bounds(program: &Program<'_>, at: u32, word: &Word, depth: u16) -> Names {
        let axis = axis_bit(word.operand1);
        match axis_row(program, word.operand1) {
            None => Names { depths: u16::MAX, axis, slots: true },
            Some(AxisRow::Dense(..)) => Names { axis, ..Names::default() },
            Some(AxisRow::Range { lo, hi, step }) => {
                let bounds = Names::of(program, lo).and(Names::of(program, hi));
                step.map_or(bounds, |step| bounds.and(Names::of(program, step)))
            }
            Some(AxisRow::Ragged { .. } | AxisRow::Sparse { .. }) => {
                let names = match row_expr(program, at, word) {
                    Some(row) => Names::of(program, row),
                    None => Names { depths: depth_bit(depth.wrapping_sub(1)), ..Names::default() },
                };
                Names { axis, ..names }
            }
        }
    }

    fn and(self, other: Names) -> Names {
        Names { depths: self.depths | other.depths, axis: self.axis, slots: self.slots || other.slots }
    }
}

/// The bit of an axis.
fn axis_bit(axis: u16) -> u64 {
    1u64.wrapping_shl(u32::from(axis % 64))
}

/// The bit of a depth; of a depth past the limit none.
pub(super) fn depth_bit(depth: u16) -> u16 {
    if usize::from(depth) < MAX_LOOP_DEPTH { 1u16.wrapping_shl(u32::from(depth)) } else { 0 }
}
