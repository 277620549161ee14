//! Statements that generate tasks, the loops around them, and their regions as sums over the numbers of iterations.

use wsp_core::TensorId;
use wsp_core::int::Affine;
use wsp_core::ptow::affine::{affine, is_within_bound};
use wsp_core::ptow::bounds::{AxisRow, axis_row, bounds};
use wsp_core::ptow::eval::Vars;
use wsp_core::ptow::interp::AccessMode;
use wsp_core::ptow::{DimKind, Launch, MAX_LOOP_DEPTH, Op, Program, Word};

/// A sum of multiples of the numbers of iterations of the loops around, outermost first.
pub(super) type Form = Affine<i64, MAX_LOOP_DEPTH>;

/// A loop around a statement, whose bounds are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Loop {
    pub(super) word: u32,
    depth: usize,
    start: i64,
    step: i64,
    /// Iterations, at least 1.
    pub(super) trip: u64,
}

/// A statement that generates tasks, as one of elaboration order.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) word: u32,
    /// Outermost first.
    pub(super) loops: Vec<Loop>,
    pub(super) accesses: Vec<NestAccess>,
    /// Whether all that decides how often it runs is among its loops.
    pub(super) is_counted: bool,
}

/// An access of a statement.
#[derive(Clone, Debug)]
pub(super) struct NestAccess {
    pub(super) tensor: TensorId,
    pub(super) mode: AccessMode,
    /// The bounds of every dimension; none when one of them is no sum.
    pub(super) dims: Option<Vec<Dim>>,
}

/// Bounds in one dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Dim {
    pub(super) lo: Form,
    pub(super) len: i64,
}

impl Dim {
    /// Whether the bounds lie within an extent in every iteration. Then sums of scaled iterations fit into 64 bits.
    pub(super) fn is_inside(&self, extent: u32, loops: &[Loop]) -> bool {
        let last = i64::from(extent).checked_sub(self.len);
        range(&self.lo, loops).zip(last).is_some_and(|((least, most), last)| 0 <= least && most <= last)
    }
}

/// Numbers of iterations of the loops around a statement.
pub(super) type At = [u64; MAX_LOOP_DEPTH];

impl Site {
    /// The iterations in which the loops around have these variables; none when there are no such iterations.
    pub(super) fn iterations(&self, vars: &[i64]) -> Option<At> {
        let mut at = [0; MAX_LOOP_DEPTH];
        for (at, loop_) in at.iter_mut().zip(&self.loops) {
            let past = vars.get(loop_.depth)?.checked_sub(loop_.start)?;
            let exact = past.checked_rem(loop_.step)? == 0;
            *at = u64::try_from(past.checked_div(loop_.step)?).ok().filter(|n| exact && *n < loop_.trip)?;
        }
        Some(at)
    }

    /// How many of the outer loops of two statements are the same.
    pub(super) fn common(&self, other: &Site) -> usize {
        self.loops.iter().zip(&other.loops).take_while(|(one, other)| one.word == other.word).count()
    }
}

/// The smallest and the largest value of a form in these loops; none when they do not fit.
fn range(form: &Form, loops: &[Loop]) -> Option<(i64, i64)> {
    form.range(loops.iter().map(|loop_| loop_.trip - 1))
}

/// The statements of a program.
pub(super) struct Nest {
    /// In elaboration order.
    pub(super) sites: Vec<Site>,
    /// An instruction that makes tasks with regions that the program does not say.
    pub(super) unknown: Option<u32>,
}

/// Finds the statements of a program that generate tasks under a launch.
pub(super) fn sites(program: &Program<'_>, launch: &Launch<'_>) -> Nest {
    let nest = Nest { sites: Vec::new(), unknown: None };
    let mut walk = Walk { program, launch, loops: Vec::new(), vars: Vec::new(), is_counted: true, nest };
    walk.body(0);
    walk.nest
}

/// A walk over the bodies of a program. Recursion is bounded by the verified nesting of bodies.
struct Walk<'p> {
    program: &'p Program<'p>,
    launch: &'p Launch<'p>,
    loops: Vec<Loop>,
    /// Of each variable in scope, its form; none when it has none.
    vars: Vec<Option<Form>>,
    is_counted: bool,
    nest: Nest,
}

impl Walk<'_> {
    fn body(&mut self, start: u32) {
        let mut at = start;
        while let Some(word) = self.program.words.get(at as usize) {
            let Some(op) = Op::from_code(word.opcode) else { return };
            if matches!(op, Op::End | Op::Halt) {
                return;
            }
            self.statement(op, word, at);
            at += 1 + u32::from(word.flags);
        }
    }

    /// An extension word of the instruction at `at`.
    fn ext(&self, at: u32, index: u32) -> Word {
        self.program.words.get((at + 1 + index) as usize).copied().unwrap_or_default()
    }

    fn statement(&mut self, op: Op, word: &Word, at: u32) {
        match op {
            Op::Task => {
                let (loops, is_counted) = (self.loops.clone(), self.is_counted);
                self.nest.sites.push(Site { word: at, loops, accesses: Vec::new(), is_counted });
            }
            Op::IoInput => self.access(word, at, AccessMode::In),
            Op::IoOutput => self.access(word, at, AccessMode::Out),
            Op::IoInout => self.access(word, at, AccessMode::InOut),
            Op::ParallelFor | Op::ForEach | Op::Select => self.iterate(word, at),
            Op::Cond => self.branch(word, at),
            Op::Combine | Op::Sequential => {
                (0..u32::from(word.flags)).for_each(|part| self.body(self.ext(at, part).operand2));
            }
            Op::While => self.uncounted(|walk| walk.with(None, word.operand2)),
            Op::Let => {
                let form = self.form(word.operand1.into());
                self.with(form, word.operand2);
            }
            Op::Plan => self.nest.unknown = self.nest.unknown.or(Some(at)),
            // Tasks of a process come between those of others.
            Op::Process => self.uncounted(|walk| {
                (0..u32::from(word.flags)).for_each(|part| walk.body(walk.ext(at, part).operand2));
            }),
            Op::Send | Op::Recv => self.uncounted(|walk| walk.with(None, word.operand2)),
            Op::SelectCh | Op::SelectAll => self.uncounted(|walk| {
                (0..u32::from(word.flags)).for_each(|part| walk.with(None, walk.ext(at, part).operand2));
            }),
            _ => {}
        }
    }

    /// A body with one more variable.
    fn with(&mut self, var: Option<Form>, body: u32) {
        self.vars.push(var);
        self.body(body);
        self.vars.pop();
    }

    /// What runs an unknown number of times.
    fn uncounted(&mut self, inside: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.is_counted, false);
        inside(self);
        self.is_counted = outside;
    }

    fn branch(&mut self, word: &Word, at: u32) {
        let otherwise = self.ext(at, 0).operand2;
        match self.constant(word.operand1.into()) {
            Some(condition) if condition != 0 => self.body(word.operand2),
            Some(_) if otherwise == 0 => {}
            Some(_) => self.body(otherwise),
            None => self.uncounted(|walk| {
                walk.body(word.operand2);
                if otherwise != 0 {
                    walk.body(otherwise);
                }
            }),
        }
    }

    fn iterate(&mut self, word: &Word, at: u32) {
        let depth = self.vars.len();
        match self.bounds(word, at) {
            Some((_, _, 0)) => {}
            Some((start, step, trip)) => {
                let mut index = Form::constant(start);
                if let Some(scale) = index.scales.get_mut(self.loops.len()) {
                    *scale = step;
                }
                self.loops.push(Loop { word: at, depth, start, step, trip });
                self.with(Some(index), word.operand2);
                self.loops.pop();
            }
            None => self.uncounted(|walk| walk.with(None, word.operand2)),
        }
    }

    /// First index, step and number of iterations of a loop; none when they are not known at launch.
    fn bounds(&self, word: &Word, at: u32) -> Option<(i64, i64, u64)> {
        match axis_row(self.program, word.operand1)? {
            AxisRow::Dense(..) => {
                let found = bounds(self.program, self.launch, at, 0, &mut Vars::default()).ok()?;
                Some((found.start, found.step, found.trip))
            }
            AxisRow::Range { lo, hi, step } => {
                let (lo, hi) = (self.constant(lo)?, self.constant(hi)?);
                let step = step.map_or(Some(1), |step| self.constant(step)).filter(|step| *step >= 1)?;
                let span = u64::try_from(hi.checked_sub(lo)?).unwrap_or(0);
                Some((lo, step, span.div_ceil(step.unsigned_abs())))
            }
            AxisRow::Ragged { .. } | AxisRow::Sparse { .. } => None,
        }
    }

    /// An access of the task under way.
    fn access(&mut self, word: &Word, at: u32, mode: AccessMode) {
        let tensor = TensorId(word.operand1.into());
        let extents = self.launch.extents.get(tensor.index()).copied().unwrap_or_default();
        let rank = self.program.tensors.get(tensor.index()).map_or(0, |tensor| tensor.rank);
        let dims = extents.iter().zip(0..u32::from(rank)).map(|(extent, dim)| {
            if dim < u32::from(word.flags) {
                self.dim(&self.ext(at, dim), *extent)
            } else {
                Some(Dim { lo: Form::constant(0), len: i64::from(*extent) })
            }
        });
        let dims = dims.collect();
        if let Some(site) = self.nest.sites.last_mut() {
            site.accesses.push(NestAccess { tensor, mode, dims });
        }
    }

    /// Bounds in one dimension; none when they are no sums.
    fn dim(&self, word: &Word, extent: u32) -> Option<Dim> {
        let (kind, immediate) = DimKind::from_flags(word.flags)?;
        let second = || match immediate {
            true => Some(Form::constant(i64::from(word.operand2 as i32))),
            false => self.form(word.operand2),
        };
        let first = || self.form(word.operand1.into());
        let (lo, len) = match kind {
            DimKind::Whole => (Form::constant(0), Form::constant(extent.into())),
            DimKind::Index => (first()?, Form::constant(1)),
            DimKind::Sized => (first()?, second()?),
            DimKind::Range => {
                let lo = first()?;
                let len = second()?.minus(&lo)?;
                (lo, len)
            }
        };
        Some(Dim { lo, len: len.as_constant()? })
    }

    fn constant(&self, expr: u32) -> Option<i64> {
        self.form(expr)?.as_constant()
    }

    /// An expression over the iterations of the loops around; none when it has no such form.
    fn form(&self, expr: u32) -> Option<Form> {
        let of_variables = affine(self.program, self.launch, expr)?;
        let mut form = Form::constant(of_variables.offset);
        for (depth, scale) in of_variables.scales.into_iter().enumerate().filter(|(_, scale)| *scale != 0) {
            let var = self.vars.get(depth)?.as_ref()?;
            let (least, most) = range(var, &self.loops)?;
            if !is_within_bound(least) || !is_within_bound(most) {
                return None;
            }
            form = form.plus(&var.times(scale)?)?;
        }
        Some(form)
    }
}
