//! What names stand for while a program runs, and the record of a task.

use super::super::eval::{Env, Vars};
use super::super::{Launch, MAX_LOOP_DEPTH, Program};
use super::stop::Stop;
use super::words::{mode, region_bounds};
use super::{AccessMode, FaultKind, Host};
use crate::limits::{MAX_TASK_IO, MAX_TASK_SCALARS};
use crate::{MAX_RANK, Region, SlotId, TensorId};

/// No task, for a label.
pub(super) const NO_TASK: u64 = u64::MAX;
/// No axis, for a variable.
pub(super) const NO_AXIS: u32 = u32::MAX;

/// Loop variables in scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopVars {
    /// How many there are.
    pub(super) depth: usize,
    /// Their values and positions.
    pub(super) vars: Vars,
    /// The axis that a loop runs over, or [`NO_AXIS`].
    axes: [u32; MAX_LOOP_DEPTH],
    /// Those of loops over axes.
    indices: [i64; MAX_LOOP_DEPTH],
    index_count: usize,
}

impl LoopVars {
    pub(super) fn new() -> LoopVars {
        LoopVars {
            depth: 0,
            vars: Vars::default(),
            axes: [NO_AXIS; MAX_LOOP_DEPTH],
            indices: [0; MAX_LOOP_DEPTH],
            index_count: 0,
        }
    }

    /// Adds a variable; none when there are too many. Over an axis, it is an index too.
    #[inline]
    pub(super) fn push(&mut self, value: i64, position: i64, axis: u32) -> Option<()> {
        *self.axes.get_mut(self.depth)? = axis;
        self.vars.set(self.depth, value, position);
        if axis != NO_AXIS {
            *self.indices.get_mut(self.index_count)? = value;
            self.index_count = self.index_count.wrapping_add(1);
        }
        self.depth = self.depth.wrapping_add(1);
        Some(())
    }

    /// Removes the innermost variable.
    #[inline]
    pub(super) fn pop(&mut self) {
        let Some(depth) = self.depth.checked_sub(1) else { return };
        self.depth = depth;
        if self.axes.get(depth).is_some_and(|axis| *axis != NO_AXIS) {
            self.index_count = self.index_count.saturating_sub(1);
        }
    }

    /// Gives the variable that is so far from the innermost another value; all up to there are indices of loops.
    #[inline]
    pub(super) fn set_index(&mut self, outwards: usize, value: i64) {
        let back = outwards.wrapping_add(1);
        self.vars.set(self.depth.wrapping_sub(back), value, value);
        if let Some(index) = self.indices.get_mut(self.index_count.wrapping_sub(back)) {
            *index = value;
        }
    }

    /// Gives the innermost variable another value.
    #[inline]
    pub(super) fn set(&mut self, value: i64, position: i64) {
        let at = self.depth.wrapping_sub(1);
        self.vars.set(at, value, position);
        if self.axes.get(at).is_some_and(|axis| *axis != NO_AXIS)
            && let Some(index) = self.indices.get_mut(self.index_count.wrapping_sub(1))
        {
            *index = value;
        }
    }

    /// The value and the position of the innermost variable.
    pub(super) fn innermost(&self) -> (i64, i64) {
        let depth = self.depth.wrapping_sub(1) as u16;
        (self.var(depth), self.pos(depth))
    }

    #[inline]
    pub(super) fn var(&self, depth: u16) -> i64 {
        let depth = usize::from(depth);
        if depth < self.depth { self.vars.values.get(depth).copied().unwrap_or(0) } else { 0 }
    }

    #[inline]
    pub(super) fn pos(&self, depth: u16) -> i64 {
        let depth = usize::from(depth);
        if depth < self.depth { self.vars.positions.get(depth).copied().unwrap_or(0) } else { 0 }
    }

    #[inline]
    pub(super) fn axis(&self, axis: u16) -> i64 {
        for at in (0..self.depth).rev() {
            if self.axes.get(at).is_some_and(|found| *found == u32::from(axis)) {
                return self.vars.values.get(at).copied().unwrap_or(0);
            }
        }
        0
    }

    #[inline]
    pub(super) fn values(&self) -> &[i64] {
        self.vars.values.get(..self.depth).unwrap_or(&[])
    }

    #[inline]
    pub(super) fn indices(&self) -> &[i64] {
        self.indices.get(..self.index_count).unwrap_or(&[])
    }
}

/// The names of an expression while a program runs.
pub(super) struct Live<'s, H> {
    pub(super) scope: &'s LoopVars,
    pub(super) host: &'s mut H,
    pub(super) ordinal: u64,
}

impl<H: Host> Env for Live<'_, H> {
    #[inline]
    fn var(&self, depth: u16) -> i64 {
        self.scope.var(depth)
    }

    #[inline]
    fn pos(&self, depth: u16) -> i64 {
        self.scope.pos(depth)
    }

    #[inline]
    fn axis(&self, axis: u16) -> i64 {
        self.scope.axis(axis)
    }

    fn slot(&mut self, slot: SlotId) -> Option<i64> {
        self.host.slot(slot, self.ordinal)
    }
}

/// Arguments of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    params: [i64; MAX_TASK_SCALARS as usize],
    param_count: usize,
    regions: [Region; MAX_TASK_IO as usize],
    modes: [AccessMode; MAX_TASK_IO as usize],
    access_count: usize,
}

impl Record {
    pub(super) fn new() -> Record {
        let region = Region { tensor: TensorId(0), lo: [0; MAX_RANK], hi: [1; MAX_RANK] };
        Record {
            params: [0; MAX_TASK_SCALARS as usize],
            param_count: 0,
            regions: [region; MAX_TASK_IO as usize],
            modes: [AccessMode::In; MAX_TASK_IO as usize],
            access_count: 0,
        }
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.param_count = 0;
        self.access_count = 0;
    }

    #[inline]
    pub(super) fn param(&mut self, value: i64) -> Option<()> {
        *self.params.get_mut(self.param_count)? = value;
        self.param_count = self.param_count.wrapping_add(1);
        Some(())
    }

    #[inline]
    pub(super) fn params(&self) -> &[i64] {
        self.params.get(..self.param_count).unwrap_or(&[])
    }

    #[inline]
    pub(super) fn regions(&self) -> &[Region] {
        self.regions.get(..self.access_count).unwrap_or(&[])
    }

    #[inline]
    pub(super) fn modes(&self) -> &[AccessMode] {
        self.modes.get(..self.access_count).unwrap_or(&[])
    }

    /// Adds the access of an instruction: `value` evaluates an expression.
    ///
    /// # Errors
    /// When a bound has no value, or the region does not lie within its tensor.
    pub(super) fn access<S>(
        &mut self,
        program: &Program<'_>,
        launch: &Launch<'_>,
        at: usize,
        mut value: impl FnMut(u32) -> Result<i64, Stop<S>>,
    ) -> Result<(), Stop<S>> {
        let malformed = || Stop::Fault(FaultKind::Structure);
        let word = program.words.get(at).ok_or_else(malformed)?;
        let mode = mode(word).ok_or_else(malformed)?;
        let rank = program.tensors.get(usize::from(word.operand1)).ok_or_else(malformed)?.rank;
        let extents = launch.extents.get(usize::from(word.operand1)).ok_or_else(malformed)?;
        let mut region =
            Region { tensor: TensorId(u32::from(word.operand1)), lo: [0; MAX_RANK], hi: [1; MAX_RANK] };
        let dims = region.lo.iter_mut().zip(&mut region.hi).zip(extents).take(usize::from(rank));
        for (dim, ((lo, hi), extent)) in dims.enumerate() {
            let dim_word = (dim < usize::from(word.flags))
                .then(|| program.words.get(at.wrapping_add(1).wrapping_add(dim)))
                .flatten();
            let Some(dim_word) = dim_word else {
                *hi = *extent;
                continue;
            };
            let (first, end) = region_bounds(dim_word, *extent, &mut value)?;
            if !(0 <= first && first <= end && end <= i64::from(*extent)) {
                return Err(Stop::Fault(FaultKind::Outside {
                    access: self.access_count as u8,
                    dim: dim as u8,
                    lo: first,
                    hi: end,
                    extent: *extent,
                }));
            }
            (*lo, *hi) = (first as u32, end as u32);
        }
        *self.regions.get_mut(self.access_count).ok_or_else(malformed)? = region;
        *self.modes.get_mut(self.access_count).ok_or_else(malformed)? = mode;
        self.access_count = self.access_count.wrapping_add(1);
        Ok(())
    }
}
