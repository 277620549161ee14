//! What the words of instructions and kernels say.

use super::super::{DIM_IMMEDIATE, DimKind, Op, Program, Word};
use super::stop::Stop;
use super::{AccessMode, FaultKind};
use crate::{ExecPool, KernelId};

/// How many instructions of arguments follow a `TASK`.
#[inline]
pub(super) fn argument_count(task: &Word) -> u32 {
    let [params, accesses, afters, _] = task.operand2.to_le_bytes();
    u32::from(params).wrapping_add(u32::from(accesses)).wrapping_add(u32::from(afters))
}

/// Where the instruction behind one and its extension words is.
#[inline]
pub(super) fn after(at: u32, word: &Word) -> u32 {
    at.wrapping_add(1).wrapping_add(u32::from(word.flags))
}

/// The pool that a kernel names.
#[inline]
pub(super) fn pool_of(program: &Program<'_>, kernel: KernelId) -> ExecPool {
    match program.kernels.get(kernel.index()).map(|kernel| kernel.pool) {
        Some(pool) if pool == ExecPool::Vector as u8 => ExecPool::Vector,
        Some(pool) if pool == ExecPool::Cube as u8 => ExecPool::Cube,
        _ => ExecPool::Any,
    }
}

/// What the instruction of an access does to its region.
#[inline]
pub(super) fn mode(word: &Word) -> Option<AccessMode> {
    match Op::from_code(word.opcode) {
        Some(Op::IoInput) => Some(AccessMode::In),
        Some(Op::IoOutput) => Some(AccessMode::Out),
        Some(Op::IoInout) => Some(AccessMode::InOut),
        _ => None,
    }
}

/// The bounds that a dimension's word says.
pub(super) fn region_bounds<S>(
    word: &Word,
    extent: u32,
    value: &mut impl FnMut(u32) -> Result<i64, Stop<S>>,
) -> Result<(i64, i64), Stop<S>> {
    let Some((kind, _)) = DimKind::from_flags(word.flags) else {
        return Err(Stop::Fault(FaultKind::Structure));
    };
    let first = u32::from(word.operand1);
    let second = |value: &mut dyn FnMut(u32) -> Result<i64, Stop<S>>| {
        if word.flags & DIM_IMMEDIATE != 0 {
            Ok(i64::from(word.operand2.cast_signed()))
        } else {
            value(word.operand2)
        }
    };
    Ok(match kind {
        DimKind::Whole => (0, i64::from(extent)),
        DimKind::Index => {
            let index = value(first)?;
            (index, index.saturating_add(1))
        }
        DimKind::Range => (value(first)?, second(value)?),
        DimKind::Sized => {
            let lo = value(first)?;
            // A length that leads past every extent is found to lie outside.
            (lo, lo.saturating_add(second(value)?))
        }
    })
}
