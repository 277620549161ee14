//! What loops run over: axes as a launch has them, and the iterations of a loop that is entered.

use super::eval::{Env, Halt, eval};
use super::{AxisForm, Launch, MAX_LOOP_DEPTH, Op, Program, Word};
use crate::limits;
use crate::words::counted;
use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// An operand that is not there.
const NONE: u16 = u16::MAX;

/// What an axis is, wherever it is defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AxisRow {
    /// From one bound to the other, exclusive. Both are known at launch.
    Dense(AxisBound, AxisBound),
    /// As many as the table says for a row.
    Ragged {
        /// The table of lengths.
        lengths: u16,
        /// The launch-time value that says how many rows there are; none for all of the table.
        rows: Option<u16>,
    },
    /// The columns of a row.
    Sparse {
        /// The table of row pointers.
        pointers: u16,
        /// The table of columns.
        columns: u16,
    },
    /// From an expression to another, exclusive, over loop variables.
    Range {
        /// The first.
        lo: u32,
        /// Where it ends.
        hi: u32,
        /// The step; none for 1.
        step: Option<u32>,
    },
}

/// A bound of a dense axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AxisBound {
    /// A number.
    Fixed(i64),
    /// A launch-time value.
    Value(u16),
    /// A launch-time expression.
    Expr(u32),
}

/// The iterations of a loop that is entered, numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Bounds {
    /// The first index; of a SELECT the first position in the table of columns.
    pub start: i64,
    /// From an index to the next; at least 1.
    pub step: i64,
    /// How many iterations there are.
    pub trip: u64,
    /// The table of columns plus 1; 0 when the index is the variable.
    columns: u64,
}

impl Bounds {
    /// The index of an iteration, below [`Bounds::trip`]: the variable, or of a SELECT the position.
    #[inline]
    pub fn index(&self, iteration: u64) -> i64 {
        self.start.wrapping_add(self.step.wrapping_mul(iteration.cast_signed()))
    }

    /// The variable of an iteration, below [`Bounds::trip`].
    #[inline]
    pub fn variable(&self, launch: &Launch<'_>, iteration: u64) -> i64 {
        let index = self.index(iteration);
        if self.columns == 0 { index } else { self.column(launch, index) }
    }

    /// Indices from 0.
    pub(super) fn up_to(trip: u64) -> Bounds {
        Bounds { start: 0, step: 1, trip, columns: 0 }
    }

    /// All positions of a table of columns.
    pub(super) fn over_columns(columns: u16, len: u64) -> Bounds {
        Bounds { start: 0, step: 1, trip: len, columns: u64::from(columns).wrapping_add(1) }
    }

    /// Whether the variable is looked up in a table of columns.
    pub fn is_sparse(&self) -> bool {
        self.columns != 0
    }

    fn column(&self, launch: &Launch<'_>, index: i64) -> i64 {
        let table = launch.tables.get(self.columns.wrapping_sub(1) as usize);
        let found = table.and_then(|table| table.get(usize::try_from(index).ok()?));
        found.copied().unwrap_or(0)
    }
}

/// Why a loop is not entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoundsHalt {
    /// A bound or the row has no value.
    Expr(Halt),
    /// The step is below 1.
    Step(i64),
    /// There is no such row.
    Row {
        /// The row.
        row: i64,
        /// How many there are.
        rows: u64,
    },
    /// The pointers of a row decrease or leave the table of columns.
    Pointers {
        /// The row.
        row: i64,
        /// Where it begins.
        from: i64,
        /// Where it ends.
        to: i64,
        /// How many columns there are.
        columns: u64,
    },
    /// More iterations than a generator may take.
    Iterations(u64),
    /// The launch lacks what the axis names, or the axis is none of a verified program.
    Malformed(u16),
}

impl fmt::Display for BoundsHalt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoundsHalt::Expr(Halt::Fault(fault)) => fault.fmt(f),
            BoundsHalt::Expr(Halt::Waits(slot)) => write!(f, "slot {} has no value yet", slot.0),
            BoundsHalt::Step(step) => write!(f, "the step is {step}; it must be at least 1"),
            BoundsHalt::Row { row, rows } => {
                write!(f, "row {row} is outside the axis, which has {rows}", rows = counted(rows, "row"))
            }
            BoundsHalt::Pointers { row, from, to, columns } => {
                write!(
                    f,
                    "row {row} is from {from} to {to}, which does not lie within {columns}",
                    columns = counted(columns, "column")
                )
            }
            BoundsHalt::Iterations(trip) => {
                write!(f, "{trip} iterations are more than the limit of {}", limits::MAX_GENERATOR_STEPS)
            }
            BoundsHalt::Malformed(axis) => {
                write!(f, "the launch does not give what axis {axis} names; bind every value and table")
            }
        }
    }
}

/// What an axis is; none when the program does not say.
pub fn axis_row(program: &Program<'_>, axis: u16) -> Option<AxisRow> {
    let row = program.axes.get(usize::from(axis))?;
    Some(match AxisForm::from_code(row.form)? {
        AxisForm::Dense => AxisRow::Dense(AxisBound::Expr(u32::from(row.a)), AxisBound::Expr(row.b)),
        AxisForm::DenseDyn => AxisRow::Dense(AxisBound::Fixed(0), AxisBound::Value(row.a)),
        AxisForm::Ragged => AxisRow::Ragged { lengths: row.b as u16, rows: None },
        AxisForm::Sparse => AxisRow::Sparse { pointers: row.b as u16, columns: (row.b >> 16) as u16 },
        AxisForm::Range => {
            let step = (row.b >> 16) as u16;
            let step = (step != NONE).then_some(u32::from(step));
            AxisRow::Range { lo: u32::from(row.a), hi: row.b & 0xFFFF, step }
        }
        AxisForm::Set => return set_axis(program, axis),
    })
}

/// An axis that an instruction at the beginning of the program sets.
fn set_axis(program: &Program<'_>, axis: u16) -> Option<AxisRow> {
    let mut at = 0;
    loop {
        let word = program.words.get(at)?;
        let ext = program.words.get(at.wrapping_add(1)).filter(|_| word.flags > 0);
        let row = match Op::from_code(word.opcode)? {
            Op::Nop => None,
            Op::AxisDense => {
                Some(AxisRow::Dense(AxisBound::Fixed(0), AxisBound::Fixed(i64::from(word.operand2))))
            }
            Op::AxisDenseDyn => {
                Some(AxisRow::Dense(AxisBound::Fixed(0), AxisBound::Value(word.operand2 as u16)))
            }
            Op::AxisRagged => Some(AxisRow::Ragged {
                lengths: word.operand2 as u16,
                rows: ext.map(|ext| ext.operand2 as u16),
            }),
            Op::AxisSparse => {
                Some(AxisRow::Sparse { pointers: word.operand2 as u16, columns: ext?.operand2 as u16 })
            }
            _ => return None,
        };
        if row.is_some() && word.operand1 == axis {
            return row;
        }
        at = at.wrapping_add(1).wrapping_add(usize::from(word.flags));
    }
}

/// The iterations of the loop at `word` (`PARALLEL_FOR`, `FOR_EACH` or `SELECT`), with `depth` variables in scope outside.
///
/// # Errors
/// When it cannot be entered.
#[inline]
pub fn bounds<E: Env>(
    program: &Program<'_>,
    launch: &Launch<'_>,
    word: u32,
    depth: u16,
    env: &mut E,
) -> Result<Bounds, BoundsHalt> {
    let malformed = BoundsHalt::Malformed(NONE);
    let instruction = program.words.get(word as usize).ok_or(malformed)?;
    let axis = instruction.operand1;
    let malformed = BoundsHalt::Malformed(axis);
    let (start, end, step, columns) = match axis_row(program, axis).ok_or(malformed)? {
        AxisRow::Dense(lo, hi) => {
            let lo = fixed(program, launch, lo, env, malformed)?;
            (lo, fixed(program, launch, hi, env, malformed)?, 1, 0)
        }
        AxisRow::Range { lo, hi, step } => {
            let mut value = |expr| eval(program, launch, expr, env).map_err(BoundsHalt::Expr);
            let (lo, hi) = (value(lo)?, value(hi)?);
            let step = step.map_or(Ok(1), value)?;
            if step < 1 {
                return Err(BoundsHalt::Step(step));
            }
            (lo, hi, step, 0)
        }
        AxisRow::Ragged { lengths, rows } => {
            let table = launch.tables.get(usize::from(lengths)).ok_or(malformed)?;
            let rows = match rows {
                Some(value) => *launch.values.get(usize::from(value)).ok_or(malformed)?,
                None => table.len() as i64,
            };
            let row = row(program, launch, (word, instruction), depth, env)?;
            let length = usize::try_from(row).ok().filter(|_| row < rows).and_then(|row| table.get(row));
            let rows = rows.min(table.len() as i64).max(0).cast_unsigned();
            (0, *length.ok_or(BoundsHalt::Row { row, rows })?, 1, 0)
        }
        AxisRow::Sparse { pointers, columns } => {
            let row = row(program, launch, (word, instruction), depth, env)?;
            let (from, to) = sparse_row(launch, pointers, columns, row, malformed)?;
            (from, to, 1, u32::from(columns).wrapping_add(1))
        }
    };
    let trip = trip(start, end, step);
    if trip > limits::MAX_GENERATOR_STEPS {
        return Err(BoundsHalt::Iterations(trip));
    }
    Ok(Bounds { start, step, trip, columns: u64::from(columns) })
}

/// How many indices lie in `[start, end)` in steps of at least 1.
fn trip(start: i64, end: i64, step: i64) -> u64 {
    if start >= end {
        return 0;
    }
    let last = end.abs_diff(start).wrapping_sub(1);
    last.checked_div(step.unsigned_abs()).unwrap_or(last).saturating_add(1)
}

/// A bound of a dense axis.
fn fixed<E: Env>(
    program: &Program<'_>,
    launch: &Launch<'_>,
    bound: AxisBound,
    env: &mut E,
    malformed: BoundsHalt,
) -> Result<i64, BoundsHalt> {
    match bound {
        AxisBound::Fixed(value) => Ok(value),
        AxisBound::Value(value) => launch.values.get(usize::from(value)).copied().ok_or(malformed),
        AxisBound::Expr(expr) => eval(program, launch, expr, env).map_err(BoundsHalt::Expr),
    }
}

/// The row that a loop over a ragged or sparse axis names.
fn row<E: Env>(
    program: &Program<'_>,
    launch: &Launch<'_>,
    (at, instruction): (u32, &Word),
    depth: u16,
    env: &mut E,
) -> Result<i64, BoundsHalt> {
    match row_expr(program, at, instruction) {
        Some(expr) => eval(program, launch, expr, env).map_err(BoundsHalt::Expr),
        None => Ok(env.var(depth.wrapping_sub(1).min(MAX_LOOP_DEPTH as u16))),
    }
}

/// The expression of the row that a loop names; none when it is the innermost variable.
pub(super) fn row_expr(program: &Program<'_>, at: u32, instruction: &Word) -> Option<u32> {
    if instruction.flags == 0 {
        return None;
    }
    program.words.get(at.wrapping_add(1) as usize).map(|ext| ext.operand2)
}

/// Where a row of a sparse axis begins and ends.
fn sparse_row(
    launch: &Launch<'_>,
    pointers: u16,
    columns: u16,
    row: i64,
    malformed: BoundsHalt,
) -> Result<(i64, i64), BoundsHalt> {
    let pointers = launch.tables.get(usize::from(pointers)).ok_or(malformed)?;
    let columns = launch.tables.get(usize::from(columns)).ok_or(malformed)?.len() as u64;
    let rows = (pointers.len() as u64).saturating_sub(1);
    let pair = usize::try_from(row).ok().and_then(|row| {
        let from = pointers.get(row)?;
        Some((*from, *pointers.get(row.checked_add(1)?)?))
    });
    let (from, to) = pair.ok_or(BoundsHalt::Row { row, rows })?;
    let inside = 0 <= from && from <= to && to.cast_unsigned() <= columns;
    if inside { Ok((from, to)) } else { Err(BoundsHalt::Pointers { row, from, to, columns }) }
}
