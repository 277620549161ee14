//! The tables: axes, kernels, tensors and names.

use super::super::{AxisDescriptor, AxisForm, Program};
use super::expr::{Over, check};
use super::rule::{Allowed, Checked, Place, Rule, below, broken, zero};
use crate::{DType, ExecPool, MAX_RANK};

/// All ones: none.
const NONE: u16 = u16::MAX;

/// Checks every table, and the names.
pub(super) fn tables(program: &Program<'_>) -> Checked {
    names(program)?;
    for (row, axis) in (0u32..).zip(program.axes) {
        axis_row(program, Place::Axis(row), axis)?;
    }
    for (row, kernel) in (0u32..).zip(program.kernels) {
        let place = Place::Kernel(row);
        zero(place, u32::from(kernel.reserved))?;
        zero(place, kernel.reserved2)?;
        let pools = [ExecPool::Vector as u8, ExecPool::Cube as u8, ExecPool::Any as u8];
        if !pools.contains(&kernel.pool) {
            return broken(Rule::V39, place, kernel.pool, Allowed::Named);
        }
        name(program, kernel.name)?;
    }
    for (row, tensor) in (0u32..).zip(program.tensors) {
        let place = Place::Tensor(row);
        if DType::from_code(tensor.dtype).is_none() {
            return broken(Rule::V40, place, tensor.dtype, Allowed::Below(DType::ALL.len() as i64));
        }
        if usize::from(tensor.rank) > MAX_RANK {
            return broken(Rule::V40, place, tensor.rank, Allowed::AtMost(MAX_RANK as i64));
        }
        if let Some(slot) = tensor.slot.checked_sub(1) {
            below(place, slot, usize::from(program.counts.slots))?;
        }
        name(program, tensor.name)?;
    }
    Ok(())
}

fn axis_row(program: &Program<'_>, place: Place, axis: &AxisDescriptor) -> Checked {
    zero(place, u32::from(axis.reserved))?;
    let Some(form) = AxisForm::from_code(axis.form) else {
        return broken(Rule::V15, place, axis.form, Allowed::Named);
    };
    let (low, high) = (axis.b & 0xFFFF, axis.b >> 16);
    let tables = usize::from(program.counts.tables);
    match form {
        AxisForm::Dense => {
            check(program, place, u32::from(axis.a), Over::Launch)?;
            check(program, place, axis.b, Over::Launch)
        }
        AxisForm::DenseDyn => {
            below(place, u32::from(axis.a), usize::from(program.counts.values))?;
            zero(place, axis.b)
        }
        AxisForm::Ragged => {
            outer(program, place, axis.a)?;
            below(place, axis.b, tables)
        }
        AxisForm::Sparse => {
            outer(program, place, axis.a)?;
            below(place, low, tables)?;
            below(place, high, tables)
        }
        AxisForm::Range => {
            let count = program.exprs.len();
            below(place, u32::from(axis.a), count)?;
            below(place, low, count)?;
            if high == u32::from(NONE) { Ok(()) } else { below(place, high, count) }
        }
        AxisForm::Set => {
            zero(place, u32::from(axis.a))?;
            zero(place, axis.b)
        }
    }
}

fn outer(program: &Program<'_>, place: Place, axis: u16) -> Checked {
    if axis == NONE { Ok(()) } else { below(place, u32::from(axis), program.axes.len()) }
}

fn names(program: &Program<'_>) -> Checked {
    let names = program.names;
    let Some(last) = names.last() else { return Ok(()) };
    let end = names.len().saturating_sub(1) as u32;
    if *last != 0 {
        return broken(Rule::V41, Place::Name(end), *last, Allowed::Exactly(0));
    }
    if let Err(fault) = core::str::from_utf8(names) {
        let at = fault.valid_up_to();
        let byte = names.get(at).copied().unwrap_or(0);
        return broken(Rule::V41, Place::Name(at as u32), byte, Allowed::Named);
    }
    let counts = &program.counts;
    let need = i64::from(counts.values) + i64::from(counts.tables) + program.axes.len() as i64;
    let have = names.iter().filter(|byte| **byte == 0).count() as i64;
    if have < need {
        return broken(Rule::V41, Place::Name(end), have, Allowed::AtLeast(need));
    }
    Ok(())
}

/// Checks where the name of a kernel or tensor begins.
fn name(program: &Program<'_>, at: u16) -> Checked {
    if at == NONE {
        return Ok(());
    }
    let place = Place::Name(u32::from(at));
    let begins = match usize::from(at).checked_sub(1) {
        None => !program.names.is_empty(),
        Some(before) => program.names.get(before) == Some(&0) && usize::from(at) < program.names.len(),
    };
    if begins { Ok(()) } else { broken(Rule::V41, place, at, Allowed::Named) }
}
