//! Arguments of statements of an innermost loop, kept up to date from iteration to iteration.
//!
//! An argument that is a line along the loop costs a product and a sum per task, and its check was made for all iterations at
//! once. Others are evaluated per task. One that has no value there, because it is at fault or needs a slot, leaves
//! its task to the general path, which says what is wrong.

use super::super::eval::eval;
use super::super::{DIM_IMMEDIATE, DimKind, Launch, Op, Program, Word};
use super::AccessMode;
use super::linear::{Along, LEVELS, Line, Quiet};
use super::stop::Stop;
use super::values::LoopVars;
use super::words::{after, argument_count, mode, region_bounds};
use crate::{ExecPool, MAX_RANK, Region, TensorId};

/// Most parameters, regions, and arguments of a kind that change, of all statements of a body. A power of two.
const MAX_FIELDS: usize = 32;

/// A range of places.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    from: u8,
    to: u8,
}

impl Part {
    #[inline]
    fn of<T>(self, all: &[T]) -> &[T] {
        all.get(usize::from(self.from)..usize::from(self.to)).unwrap_or(&[])
    }
}

/// A line of which the iterations of the outer loops are settled.
#[derive(Clone, Copy, Debug, Default)]
struct Moving {
    line: Line,
    /// Its value in the first iteration of the innermost loop.
    row: i64,
}

impl Moving {
    fn new(line: Line) -> Moving {
        Moving { line, row: line.offset }
    }

    /// Settles the iterations of the outer loops.
    fn settle(&mut self, at: &[u64; LEVELS]) {
        let outer = self.line.scales.iter().zip(at).skip(1);
        self.row = outer.fold(self.line.offset, |sum, (delta, at)| {
            sum.wrapping_add(delta.wrapping_mul(at.cast_signed()))
        });
    }

    /// Its value in an iteration of the innermost loop.
    #[inline]
    fn at(&self, iteration: u64) -> i64 {
        self.row.wrapping_add(self.line.scales[0].wrapping_mul(iteration.cast_signed()))
    }
}

/// The stream of a statement's tasks.
#[derive(Clone, Copy, Debug, Default)]
enum Stream {
    #[default]
    None,
    /// The ordinal modulo so many.
    Turns(u32),
    /// A key modulo so many.
    Key(Moving, u32),
}

/// A statement whose arguments are kept up to date.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FastSite {
    pub(super) pool: ExecPool,
    params: Part,
    regions: Part,
    moving_params: Part,
    moving_bounds: Part,
    late_params: Part,
    late_bounds: Part,
    stream: Stream,
    priority: Moving,
}

impl FastSite {
    /// Settles the iterations of the outer loops.
    pub(super) fn settle(&mut self, at: &[u64; LEVELS]) {
        if let Stream::Key(key, _) = &mut self.stream {
            key.settle(at);
        }
        self.priority.settle(at);
    }

    /// Whether some arguments are evaluated per task.
    #[inline]
    pub(super) fn is_late(&self) -> bool {
        self.late_params.from != self.late_params.to || self.late_bounds.from != self.late_bounds.to
    }

    #[inline]
    pub(super) fn stream(&self, ordinal: u64, at: u64) -> Option<u16> {
        match self.stream {
            Stream::None => None,
            Stream::Turns(streams) => ordinal.checked_rem(u64::from(streams)).map(|stream| stream as u16),
            Stream::Key(key, streams) => {
                key.at(at).checked_rem_euclid(i64::from(streams)).map(|stream| stream as u16)
            }
        }
    }

    #[inline]
    pub(super) fn priority(&self, at: u64) -> i32 {
        self.priority.at(at) as i32
    }
}

/// A parameter that is a line.
#[derive(Clone, Copy, Debug, Default)]
struct MovingParam {
    value: Moving,
    place: u8,
}

/// Bounds of a region in a dimension that are lines.
#[derive(Clone, Copy, Debug, Default)]
struct MovingBounds {
    lo: Moving,
    hi: Moving,
    place: u8,
    dim: u8,
}

/// Sets the bounds that change.
#[inline]
fn set_bounds(region: &mut Region, moving: &MovingBounds, at: u64) {
    let dim = usize::from(moving.dim);
    if let (Some(lo), Some(hi)) = (region.lo.get_mut(dim), region.hi.get_mut(dim)) {
        *lo = moving.lo.at(at) as u32;
        *hi = moving.hi.at(at) as u32;
    }
}

/// A parameter that is evaluated.
#[derive(Clone, Copy, Debug, Default)]
struct LateParam {
    value: Late,
    place: u8,
}

/// What is evaluated.
#[derive(Clone, Copy, Debug)]
enum Late {
    Variable(u16),
    Expr(u32),
}

impl Default for Late {
    fn default() -> Late {
        Late::Variable(0)
    }
}

/// Bounds of a region in a dimension that are evaluated: those of an extension word.
#[derive(Clone, Copy, Debug, Default)]
struct LateBounds {
    word: u32,
    extent: u32,
    place: u8,
    dim: u8,
}

/// So many things of a kind.
#[derive(Clone, Copy, Debug)]
struct List<T> {
    items: [T; MAX_FIELDS],
    count: u8,
}

impl<T: Copy> List<T> {
    fn of(item: T) -> List<T> {
        List { items: [item; MAX_FIELDS], count: 0 }
    }

    /// Adds one; none when there are too many.
    fn push(&mut self, item: T) -> Option<()> {
        *self.items.get_mut(usize::from(self.count))? = item;
        self.count = self.count.wrapping_add(1);
        Some(())
    }

    /// All of them.
    fn all(&self) -> &[T] {
        self.items.get(..usize::from(self.count)).unwrap_or(&[])
    }

    /// As [`List::all`], to change them.
    fn all_mut(&mut self) -> &mut [T] {
        self.items.get_mut(..usize::from(self.count)).unwrap_or(&mut [])
    }

    /// The one at a place, which is below the number of items.
    #[inline]
    fn get(&self, place: u8) -> &T {
        &self.items[usize::from(place) % MAX_FIELDS]
    }

    /// As [`List::get`], to change it.
    #[inline]
    fn at(&mut self, place: u8) -> &mut T {
        &mut self.items[usize::from(place) % MAX_FIELDS]
    }
}

/// Arguments of all statements of a body.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    params: List<i64>,
    regions: List<Region>,
    modes: List<AccessMode>,
    /// Those that change along the innermost loop, and those that change along outer ones only.
    moving_params: List<MovingParam>,
    outer_params: List<MovingParam>,
    moving_bounds: List<MovingBounds>,
    outer_bounds: List<MovingBounds>,
    late_params: List<LateParam>,
    late_bounds: List<LateBounds>,
}

impl Fields {
    pub(super) fn new() -> Fields {
        let region = Region { tensor: TensorId(0), lo: [0; MAX_RANK], hi: [1; MAX_RANK] };
        Fields {
            params: List::of(0),
            regions: List::of(region),
            modes: List::of(AccessMode::In),
            moving_params: List::of(MovingParam::default()),
            outer_params: List::of(MovingParam::default()),
            moving_bounds: List::of(MovingBounds::default()),
            outer_bounds: List::of(MovingBounds::default()),
            late_params: List::of(LateParam::default()),
            late_bounds: List::of(LateBounds::default()),
        }
    }

    pub(super) fn clear(&mut self) {
        self.params.count = 0;
        self.regions.count = 0;
        self.modes.count = 0;
        self.moving_params.count = 0;
        self.outer_params.count = 0;
        self.moving_bounds.count = 0;
        self.outer_bounds.count = 0;
        self.late_params.count = 0;
        self.late_bounds.count = 0;
    }

    #[inline]
    pub(super) fn params(&self, site: &FastSite) -> &[i64] {
        site.params.of(&self.params.items)
    }

    #[inline]
    pub(super) fn regions(&self, site: &FastSite) -> &[Region] {
        site.regions.of(&self.regions.items)
    }

    #[inline]
    pub(super) fn modes(&self, site: &FastSite) -> &[AccessMode] {
        site.regions.of(&self.modes.items)
    }

    /// Settles the iterations of the outer loops for arguments of all statements.
    pub(super) fn settle(&mut self, at: &[u64; LEVELS]) {
        for moving in self.moving_params.all_mut().iter_mut().chain(self.outer_params.all_mut()) {
            moving.value.settle(at);
        }
        for moving in self.moving_bounds.all_mut().iter_mut().chain(self.outer_bounds.all_mut()) {
            moving.lo.settle(at);
            moving.hi.settle(at);
        }
        for moving in self.outer_params.all() {
            *self.params.at(moving.place) = moving.value.row;
        }
        for moving in self.outer_bounds.all() {
            set_bounds(self.regions.at(moving.place), moving, 0);
        }
    }

    /// Brings the arguments of a statement that are lines up to date with an iteration.
    #[inline]
    pub(super) fn update(&mut self, site: &FastSite, at: u64) {
        for place in site.moving_params.from..site.moving_params.to {
            let moving = self.moving_params.get(place);
            *self.params.at(moving.place) = moving.value.at(at);
        }
        for place in site.moving_bounds.from..site.moving_bounds.to {
            let moving = self.moving_bounds.get(place);
            let region = self.regions.at(moving.place);
            set_bounds(region, moving, at);
        }
    }

    /// Evaluates the arguments of a statement that are no lines; none when one has no value, or a region lies outside.
    pub(super) fn evaluate(
        &mut self,
        site: &FastSite,
        program: &Program<'_>,
        launch: &Launch<'_>,
        scope: &LoopVars,
    ) -> Option<()> {
        let mut value = |expr| eval(program, launch, expr, &mut Quiet(scope)).map_err(Stop::<()>::from);
        for late in site.late_params.of(&self.late_params.items) {
            *self.params.at(late.place) = match late.value {
                Late::Variable(depth) => scope.var(depth),
                Late::Expr(expr) => value(expr).ok()?,
            };
        }
        for late in site.late_bounds.of(&self.late_bounds.items) {
            let word = program.words.get(late.word as usize)?;
            let (lo, hi) = region_bounds(word, late.extent, &mut value).ok()?;
            if !(0 <= lo && lo <= hi && hi <= i64::from(late.extent)) {
                return None;
            }
            let region = self.regions.at(late.place);
            *region.lo.get_mut(usize::from(late.dim))? = lo as u32;
            *region.hi.get_mut(usize::from(late.dim))? = hi as u32;
        }
        Some(())
    }

    fn param(&mut self, line: Option<Line>, late: Late) -> Option<()> {
        let place = self.params.count;
        match line {
            Some(line) if !line.is_constant() => {
                let moves = line.scales[0] != 0;
                let list = if moves { &mut self.moving_params } else { &mut self.outer_params };
                list.push(MovingParam { value: Moving::new(line), place })?;
            }
            Some(_) => {}
            None => self.late_params.push(LateParam { value: late, place })?,
        }
        self.params.push(line.map_or(0, |line| line.offset))
    }

    /// Sets the bounds of the last region in a dimension.
    fn bounds(&mut self, dim: usize, (lo, hi): (Line, Line)) -> Option<()> {
        let place = self.regions.count.checked_sub(1)?;
        let region = self.regions.at(place);
        *region.lo.get_mut(dim)? = lo.offset as u32;
        *region.hi.get_mut(dim)? = hi.offset as u32;
        if lo.is_constant() && hi.is_constant() {
            return Some(());
        }
        let moves = lo.scales[0] != 0 || hi.scales[0] != 0;
        let list = if moves { &mut self.moving_bounds } else { &mut self.outer_bounds };
        list.push(MovingBounds { lo: Moving::new(lo), hi: Moving::new(hi), place, dim: dim as u8 })
    }

    /// How many there are of everything.
    fn ends(&self) -> [u8; 6] {
        [
            self.params.count,
            self.regions.count,
            self.moving_params.count,
            self.moving_bounds.count,
            self.late_params.count,
            self.late_bounds.count,
        ]
    }
}

impl Along<'_, '_> {
    /// The arguments of the task at `at` along the loop; none when there are too many, or its stream or priority is no line.
    pub(super) fn site(&self, at: u32, pool: ExecPool, fields: &mut Fields) -> Option<FastSite> {
        let task = self.program.words.get(at as usize)?;
        let before = fields.ends();
        let mut next = after(at, task);
        for _ in 0..argument_count(task) {
            let word = self.program.words.get(next as usize)?;
            match Op::from_code(word.opcode)? {
                Op::ParamConst => {
                    fields.param(
                        Some(Line::constant(i64::from(word.operand2.cast_signed()))),
                        Late::default(),
                    )?;
                }
                Op::ParamLoopvar => {
                    fields.param(self.variable(word.operand1), Late::Variable(word.operand1))?;
                }
                Op::ParamExpr => fields.param(self.line(word.operand2), Late::Expr(word.operand2))?,
                // Statements that wait for labels which some task sets are no part of a strip.
                Op::After => {}
                _ => self.access(next, word, fields)?,
            }
            next = after(next, word);
        }
        let ends = fields.ends();
        let part =
            |kind: usize| Some(Part { from: before.get(kind).copied()?, to: ends.get(kind).copied()? });
        Some(FastSite {
            pool,
            params: part(0)?,
            regions: part(1)?,
            moving_params: part(2)?,
            moving_bounds: part(3)?,
            late_params: part(4)?,
            late_bounds: part(5)?,
            stream: self.stream()?,
            priority: self.priority()?,
        })
    }

    fn access(&self, at: u32, word: &Word, fields: &mut Fields) -> Option<()> {
        let tensor = usize::from(word.operand1);
        let rank = usize::from(self.program.tensors.get(tensor)?.rank);
        let extents = self.launch.extents.get(tensor)?;
        let tensor = TensorId(u32::from(word.operand1));
        fields.modes.push(mode(word)?)?;
        fields.regions.push(Region { tensor, lo: [0; MAX_RANK], hi: [1; MAX_RANK] })?;
        for (dim, extent) in extents.iter().enumerate().take(rank) {
            if dim >= usize::from(word.flags) {
                fields.bounds(dim, (Line::constant(0), Line::constant(i64::from(*extent))))?;
                continue;
            }
            let bounds_at = at.wrapping_add(1).wrapping_add(dim as u32);
            match self.bounds_of(self.program.words.get(bounds_at as usize)?, i64::from(*extent)) {
                Some(bounds) => fields.bounds(dim, bounds)?,
                None => {
                    let place = fields.regions.count.checked_sub(1)?;
                    let late = LateBounds { word: bounds_at, extent: *extent, place, dim: dim as u8 };
                    fields.late_bounds.push(late)?;
                }
            }
        }
        Some(())
    }

    /// The bounds that a dimension's word says, where they are lines and lie within the extent in every iteration.
    fn bounds_of(&self, word: &Word, extent: i64) -> Option<(Line, Line)> {
        let (kind, _) = DimKind::from_flags(word.flags)?;
        if kind == DimKind::Whole {
            return Some((Line::constant(0), Line::constant(extent)));
        }
        let lo = self.line(u32::from(word.operand1))?;
        let second = || {
            if word.flags & DIM_IMMEDIATE != 0 {
                Some(Line::constant(i64::from(word.operand2.cast_signed())))
            } else {
                self.line(word.operand2)
            }
        };
        let hi = match kind {
            DimKind::Whole | DimKind::Index => self.plus(lo, Line::constant(1))?,
            DimKind::Range => second()?,
            DimKind::Sized => self.plus(lo, second()?)?,
        };
        let inside = self.range(&lo)?.0 >= 0
            && self.range(&self.minus(hi, lo)?)?.0 >= 0
            && self.range(&hi)?.1 <= extent;
        inside.then_some((lo, hi))
    }

    fn stream(&self) -> Option<Stream> {
        let Some(word) = self.program.words.get(self.attrs.stream as usize) else {
            return Some(Stream::None);
        };
        let key = self.program.words.get(self.attrs.stream.wrapping_add(1) as usize)?.operand2;
        if key == u32::MAX {
            return Some(Stream::Turns(word.operand2));
        }
        Some(Stream::Key(Moving::new(self.line(key)?), word.operand2))
    }

    fn priority(&self) -> Option<Moving> {
        let Some(word) = self.program.words.get(self.attrs.priority as usize) else {
            return Some(Moving::default());
        };
        let line = self.line(word.operand2)?;
        let (least, most) = self.range(&line)?;
        let fits = i32::try_from(least).is_ok() && i32::try_from(most).is_ok();
        fits.then_some(Moving::new(line))
    }
}
