//! Prefix sums of tasks over the iterations of loops, built once per launch and shared by all AICPUs.
//!
//! A loop gets sums when its iterations generate different numbers of tasks, and these depend on the launch and on the loop's
//! own variable only; and when what the variable can be is known at launch: a dense axis, a range between launch-time bounds,
//! a ragged axis (up to the longest row) or a sparse one (all columns). With sums, the iteration that generates a task is
//! found by bisection, and the tasks of any iterations by a difference.
//!
//! # Memory
//! The number of loops; for each, in the order of their words, a record of two words: `loop << 32 | iterations` and
//! where its sums begin; then the sums, one more than iterations each. A loop whose sums are not there has 0 iterations.

use super::bounds::{AxisRow, Bounds, axis_row, bounds};
use super::count::{Counter, Place};
use super::eval::Vars;
use super::summary::{Names, Summaries, depth_bit};
use super::{Launch, Op, Program, Word};

/// Most iterations of a loop that gets sums.
const MAX_ITERATIONS: u64 = 1 << 24;
/// Most steps to learn the tasks of one iteration, and of all iterations of all loops.
const STEP_BUDGET: u32 = 1 << 16;
const TOTAL_BUDGET: u64 = 1 << 28;

/// Prefix sums of a program and a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prefixes<'a> {
    records: &'a [[u64; 2]],
    sums: &'a [u64],
    /// Where `sums` begins in the memory.
    base: u64,
}

/// Prefix sums of a loop: tasks of all iterations before each, and of all.
#[derive(Clone, Copy, Debug)]
pub struct Sums<'a> {
    sums: &'a [u64],
}

impl<'a> Prefixes<'a> {
    /// No sums: whatever is asked is counted.
    pub const fn none() -> Prefixes<'a> {
        Prefixes { records: &[], sums: &[], base: 0 }
    }

    /// Words (u64) of memory that the sums of a program and a launch take.
    pub fn words_needed(program: &Program<'_>, launch: &Launch<'_>, summaries: &Summaries<'_>) -> usize {
        loops(program, launch, summaries).fold(1usize, |words, (_, iterations)| {
            words.saturating_add(3).saturating_add(usize::try_from(iterations).unwrap_or(usize::MAX))
        })
    }

    /// Builds the sums. Loops for which the memory is too small are left out, and so are loops with an iteration whose
    /// tasks cannot be counted.
    pub fn build(
        program: &Program<'_>,
        launch: &Launch<'_>,
        summaries: &Summaries<'_>,
        memory: &'a mut [u64],
    ) -> Prefixes<'a> {
        let Some(sums_at) = place(program, launch, summaries, memory) else { return Prefixes::none() };
        let count = memory.first().copied().unwrap_or(0);
        // Inner loops stand behind outer ones: their sums serve those of the outer ones.
        let mut steps = TOTAL_BUDGET;
        for record in (0..count).rev() {
            if fill(program, launch, summaries, memory, (record, &mut steps)).is_none() {
                clear(memory, record);
            }
        }
        let memory: &'a [u64] = memory;
        let Some((head, sums)) = memory.split_at_checked(sums_at) else { return Prefixes::none() };
        let (records, _) = head.get(1..).unwrap_or(&[]).as_chunks();
        Prefixes { records, sums, base: sums_at as u64 }
    }

    /// The sums of the loop at `word`; none when it has none.
    #[inline]
    pub fn sums(&self, word: u32) -> Option<Sums<'a>> {
        let at = self.records.partition_point(|record| loop_of(record) < word);
        let record = self.records.get(at).filter(|record| loop_of(record) == word)?;
        let iterations = usize::try_from(iterations_of(record)).ok().filter(|n| *n > 0)?;
        let start = usize::try_from(record[1].checked_sub(self.base)?).ok()?;
        let sums = self.sums.get(start..)?.get(..iterations.checked_add(1)?)?;
        Some(Sums { sums })
    }
}

impl Sums<'_> {
    /// Where the sums of an entered loop begin: at the position of its first column, or at its first iteration.
    fn origin(bounds: &Bounds) -> Option<u64> {
        if bounds.is_sparse() { u64::try_from(bounds.start).ok() } else { Some(0) }
    }

    fn at(&self, iteration: u64) -> Option<u64> {
        self.sums.get(usize::try_from(iteration).ok()?).copied()
    }

    /// Tasks of iterations `[from, to)` of a loop with these bounds.
    #[inline]
    pub fn between(&self, bounds: &Bounds, from: u64, to: u64) -> Option<u64> {
        let origin = Sums::origin(bounds)?;
        let (from, to) = (origin.checked_add(from)?, origin.checked_add(to)?);
        self.at(to)?.checked_sub(self.at(from)?)
    }

    /// Where the task is that comes `local` tasks after the first of iteration `from`.
    pub fn locate(&self, bounds: &Bounds, from: u64, local: u64) -> Option<Place> {
        let origin = Sums::origin(bounds)?;
        let (first, end) = (origin.checked_add(from)?, origin.checked_add(bounds.trip)?);
        let sums = self.sums.get(usize::try_from(first).ok()?..=usize::try_from(end).ok()?)?;
        let (start, rest) = sums.split_first()?;
        // Of iterations without tasks the ones behind, so that the one found generates the task.
        let passed = rest.partition_point(|sum| sum.wrapping_sub(*start) <= local);
        let before = sums.get(passed)?.wrapping_sub(*start);
        Some(Place { iteration: from.checked_add(passed as u64)?, before })
    }
}

/// The loop of a record.
fn loop_of(record: &[u64; 2]) -> u32 {
    (record[0] >> 32) as u32
}

/// The iterations of a record.
fn iterations_of(record: &[u64; 2]) -> u64 {
    record[0] & 0xFFFF_FFFF
}

/// Loops that get sums, with what their sums run over.
fn loops<'s>(
    program: &'s Program<'_>,
    launch: &'s Launch<'_>,
    summaries: &'s Summaries<'_>,
) -> impl Iterator<Item = (u32, u64)> + 's {
    program.words.iter().zip(0u32..).filter_map(move |(word, at)| {
        let op = Op::from_code(word.opcode)?;
        if !matches!(op, Op::ParallelFor | Op::ForEach | Op::Select) {
            return None;
        }
        let (inner, depth) = (summaries.body(word.operand2), summaries.statement(at).depth);
        let own = depth_bit(depth);
        if !inner.is_countable() || inner.fixed().is_some() || own == 0 || inner.depends != own {
            return None;
        }
        let iterations = domain(program, launch, at, word, depth)?;
        (1..=MAX_ITERATIONS).contains(&iterations).then_some((at, iterations))
    })
}

/// How many iterations a loop can have, or of a sparse one, how many columns there are.
fn domain(program: &Program<'_>, launch: &Launch<'_>, at: u32, word: &Word, depth: u16) -> Option<u64> {
    match axis_row(program, word.operand1)? {
        AxisRow::Ragged { lengths, .. } => {
            let lengths = launch.tables.get(usize::from(lengths))?;
            u64::try_from(*lengths.iter().max()?).ok()
        }
        AxisRow::Sparse { columns, .. } => Some(launch.tables.get(usize::from(columns))?.len() as u64),
        AxisRow::Dense(..) | AxisRow::Range { .. } => {
            let names = Names::of_bounds(program, at, word, depth);
            if names.depths != 0 || names.slots {
                return None;
            }
            bounds(program, launch, at, depth, &mut Vars::default()).ok().map(|bounds| bounds.trip)
        }
    }
}

/// Writes the number of loops and their records, and says where sums begin; none when the memory is too small for that.
fn place(
    program: &Program<'_>,
    launch: &Launch<'_>,
    summaries: &Summaries<'_>,
    memory: &mut [u64],
) -> Option<usize> {
    let count = loops(program, launch, summaries).count();
    let sums_at = count.checked_mul(2)?.checked_add(1)?;
    if sums_at > memory.len() {
        return None;
    }
    *memory.first_mut()? = count as u64;
    let mut free = sums_at;
    for ((at, iterations), record) in loops(program, launch, summaries).zip((1usize..).step_by(2)) {
        let end = usize::try_from(iterations).ok()?.checked_add(1)?.checked_add(free)?;
        let fits = end <= memory.len();
        let [head, start] = memory.get_mut(record..)?.first_chunk_mut()?;
        *head = (u64::from(at) << 32) | if fits { iterations } else { 0 };
        *start = free as u64;
        free = if fits { end } else { free };
    }
    Some(sums_at)
}

/// Marks a loop as one without sums.
fn clear(memory: &mut [u64], record: u64) {
    let at = usize::try_from(record).ok().and_then(|record| record.checked_mul(2)?.checked_add(1));
    if let Some(head) = at.and_then(|at| memory.get_mut(at)) {
        *head &= !0xFFFF_FFFF;
    }
}

/// Fills in the sums of a loop; none when it has none.
fn fill(
    program: &Program<'_>,
    launch: &Launch<'_>,
    summaries: &Summaries<'_>,
    memory: &mut [u64],
    (record, steps): (u64, &mut u64),
) -> Option<()> {
    let count = usize::try_from(*memory.first()?).ok()?;
    let (_, rest) = memory.split_first_mut()?;
    let (head, sums) = rest.split_at_mut_checked(count.checked_mul(2)?)?;
    let (records, _) = head.as_chunks::<2>();
    let own = *records.get(usize::try_from(record).ok()?)?;
    let (at, iterations) = (loop_of(&own), iterations_of(&own));
    let sums_at = count.checked_mul(2)?.checked_add(1)? as u64;
    let start = usize::try_from(own[1].checked_sub(sums_at)?).ok()?;
    let (_, sums) = sums.split_at_mut_checked(start)?;
    let (mine, later) = sums.split_at_mut_checked(usize::try_from(iterations).ok()?.checked_add(1)?)?;
    if iterations == 0 {
        return None;
    }
    let base = own[1].checked_add(iterations)?.checked_add(1)?;
    let prefixes = Prefixes { records, sums: later, base };
    let counter = Counter { program, launch, summaries: *summaries, prefixes };
    sum(&counter, at, iterations, (mine, steps))
}

/// Sums up the tasks of a loop's iterations.
fn sum(
    counter: &Counter<'_, '_>,
    at: u32,
    iterations: u64,
    (sums, steps): (&mut [u64], &mut u64),
) -> Option<()> {
    let Counter { program, launch, summaries, .. } = *counter;
    let word = program.words.get(at as usize)?;
    let depth = summaries.statement(at).depth;
    let range = match axis_row(program, word.operand1)? {
        AxisRow::Ragged { .. } => Bounds::up_to(iterations),
        AxisRow::Sparse { columns, .. } => Bounds::over_columns(columns, iterations),
        AxisRow::Dense(..) | AxisRow::Range { .. } => {
            bounds(program, launch, at, depth, &mut Vars::default()).ok()?
        }
    };
    let (mut vars, mut total) = (Vars::default(), 0u64);
    for (sum, iteration) in sums.iter_mut().zip(0..=iterations) {
        *sum = total;
        if iteration < iterations {
            vars.set(depth.into(), range.variable(launch, iteration), range.index(iteration));
            let mut left = STEP_BUDGET;
            total = total.checked_add(counter.body(word.operand2, &vars, &mut left)?)?;
            *steps = steps.checked_sub(u64::from(STEP_BUDGET.saturating_sub(left)).saturating_add(1))?;
        }
    }
    Some(())
}
