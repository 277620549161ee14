//! What names stand for in the expressions of a statement and of a schedule, and the bounds of regions.

use super::super::eval::{Environment, Halt, NotClosed, Values, eval};
use super::sink::{Refused, Sink};
use wsp_core::{AxisId, SlotId, VarId};
use wsp_ir::workload::{Access, DimRange};

/// Whether bounds lie within an extent.
pub(super) fn is_inside(lo: i64, hi: i64, extent: u32) -> bool {
    0 <= lo && lo <= hi && hi <= i64::from(extent)
}

/// The bounds of a region in one dimension.
pub(super) fn bounds<S: Environment>(
    access: &Access,
    dim: u8,
    extent: u32,
    scope: &mut S,
) -> Result<(i64, i64), Halt<S::Stop>> {
    Ok(match access.ranges.get(dim as usize).unwrap_or(&DimRange::Whole) {
        DimRange::Whole => (0, i64::from(extent)),
        DimRange::Index(index) => {
            let index = eval(index, scope)?;
            (index, index.saturating_add(1))
        }
        DimRange::Range { lo, hi } => (eval(lo, scope)?, eval(hi, scope)?),
        DimRange::Sized { lo, len } => {
            let lo = eval(lo, scope)?;
            // A length that leads past every extent is reported as such.
            (lo, lo.saturating_add(eval(len, scope)?))
        }
    })
}

/// The scope of a statement that may name slots.
pub(super) struct Live<'a, 's> {
    pub(super) values: &'a Values,
    pub(super) registers: &'a [i64],
    pub(super) axes: &'a [i64],
    pub(super) sink: &'a mut Sink<'s>,
}

impl Environment for Live<'_, '_> {
    type Stop = Refused;

    fn values(&self) -> &Values {
        self.values
    }

    fn var(&self, var: VarId) -> i64 {
        self.registers[var.index()]
    }

    fn axis(&self, axis: AxisId) -> i64 {
        self.axes[axis.index()]
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, Refused> {
        self.sink.slot(slot)
    }
}

/// The scope of an argument that names no slot.
pub(super) struct Quiet<'a> {
    pub(super) values: &'a Values,
    pub(super) registers: &'a [i64],
}

impl Environment for Quiet<'_> {
    type Stop = NotClosed;

    fn values(&self) -> &Values {
        self.values
    }

    fn var(&self, var: VarId) -> i64 {
        self.registers[var.index()]
    }

    fn axis(&self, _: AxisId) -> i64 {
        0
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, NotClosed> {
        Err(NotClosed)
    }
}

/// The scope of a schedule.
pub(super) struct OfSchedule<'a> {
    pub(super) values: &'a Values,
    pub(super) axes: &'a [i64],
}

impl Environment for OfSchedule<'_> {
    type Stop = NotClosed;

    fn values(&self) -> &Values {
        self.values
    }

    fn var(&self, _: VarId) -> i64 {
        0
    }

    fn axis(&self, axis: AxisId) -> i64 {
        self.axes[axis.index()]
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, NotClosed> {
        Err(NotClosed)
    }
}
