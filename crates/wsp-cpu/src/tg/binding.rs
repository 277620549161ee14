//! How a kernel gets its arguments, and how a block of it runs.

use super::code::{Bound, GraphCode, Spans};
use super::codes;
use super::cx::{BoundArg, TgCx};
use super::dispatched::Part;
use super::fault::{TgFault, cancelled};
use super::kernels::KernelBody;
use super::memory::TensorRange;
use super::pto::PtoResident;
use super::shared::Shared;
use super::values::Values;
use crate::workload::KernelFault;
use std::ops::Range;
use wsp_core::tg::Scalar;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_tg::plan::{BindItem, BindTensor};

/// A block of a dispatched kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    pub(crate) part: &'a Part,
    pub(crate) block: u32,
    pub(crate) iteration: i64,
    pub(crate) device: u32,
}

/// Binds a kernel.
///
/// # Errors
/// A range does not lie in its tensor, an expression has no value, a tensor was released, or the kernel refuses its arguments.
pub(crate) fn bind(
    item: u32,
    values: &Values<'_>,
    workspace: Option<&TensorRange>,
    shared: &Shared,
) -> Result<Bound, Box<Diagnostic>> {
    let plan = &values.code.plan;
    let kernel = &plan.kernels[item as usize];
    let args = plan.binds_of(kernel).iter().zip(kernel.first_bind..).map(|(bind, at)| {
        let located = |fault| Box::new(Spans::located(fault, &values.code.spans.binds, at, "this binding"));
        bind_arg(item, bind, values, shared).map_err(|fault| located(*fault))
    });
    let args: Box<[BoundArg]> = args.collect::<Result<_, Box<Diagnostic>>>()?;
    let def = &values.code.defs[kernel.def as usize];
    let entry = match &def.body {
        KernelBody::Function(_) => return Ok(Bound::Function(args)),
        KernelBody::Pto(entry) => entry,
    };
    let ranges: Vec<TensorRange> = args.iter().map(|arg| arg.range.clone()).collect();
    let residents = def.residents.iter();
    let residents: Vec<PtoResident<'_>> =
        residents.map(|of| PtoResident { range: &of.range, dtype: of.dtype, shape: &of.shape }).collect();
    let workspace = workspace.unwrap_or(&shared.nothing);
    let bound = entry.bind(&ranges, &residents, workspace, shared.cancel.as_ref()).map_err(|what| {
        let message = format!("kernel `{}` cannot run: {what}", plan.kernel_name(item));
        let fault = Diagnostic::error(codes::BAD_BINDING, message);
        let fault = Spans::located(fault, &values.code.spans.kernels, kernel.def, "this kernel");
        Box::new(values.facts().into_iter().fold(fault, Diagnostic::note))
    })?;
    Ok(Bound::Pto(Box::new(bound)))
}

/// Binds an argument.
///
/// # Errors
/// The range does not lie in its tensor, an expression has no value, or the tensor was released.
pub(crate) fn bind_arg(
    item: u32,
    bind: &BindItem,
    values: &Values<'_>,
    shared: &Shared,
) -> Result<BoundArg, Box<Diagnostic>> {
    place(item, bind, values, shared).map(|(_, range)| BoundArg { range, direction: bind.direction })
}

/// The tensor of the unit that an argument is bound to, and which bytes of it.
///
/// # Errors
/// As [`bind_arg`].
pub(crate) fn locate(
    item: u32,
    bind: &BindItem,
    values: &Values<'_>,
    shared: &Shared,
) -> Result<(u32, Range<u64>), Box<Diagnostic>> {
    let (unit, part) = place(item, bind, values, shared)?;
    let first = (part.ptr().addr() - values.range(unit, shared)?.ptr().addr()) as u64;
    Ok((unit, first..first + part.bytes()))
}

fn place(
    item: u32,
    bind: &BindItem,
    values: &Values<'_>,
    shared: &Shared,
) -> Result<(u32, TensorRange), Box<Diagnostic>> {
    let plan = &values.code.plan;
    let fault = |code, what: String| {
        let message = format!("argument {} of kernel `{}` {what}", bind.arg, plan.kernel_name(item));
        let facts = values.facts().into_iter();
        Box::new(facts.fold(Diagnostic::error(code, message), Diagnostic::note))
    };
    let value = |what: &str, scalar: Scalar| {
        let value = values.value(scalar);
        value.map_err(|why| {
            fault(codes::BAD_EXPRESSION, format!("has no {what}: {}", values.why_not(&why, shared)))
        })
    };
    let unit = match bind.tensor {
        BindTensor::One(unit) => unit,
        BindTensor::Table { len, index, .. } => {
            let index = value("table index", index)?;
            let tensors = plan.tensors_of(&bind.tensor);
            let unit = usize::try_from(index).ok().and_then(|index| tensors.get(index));
            *unit.ok_or_else(|| {
                fault(codes::BAD_BINDING, format!("asks for entry {index} of a table of {len}"))
            })?
        }
    };
    let range = values.range(unit, shared)?;
    let (offset, size) = (value("offset", bind.offset)?, value("size", bind.size)?);
    let part = match (u64::try_from(offset), u64::try_from(size)) {
        (Ok(offset), Ok(0)) => range.bytes().checked_sub(offset).and_then(|rest| range.part(offset, rest)),
        (Ok(offset), Ok(size)) => range.part(offset, size),
        _ => None,
    };
    let part = part.ok_or_else(|| {
        let (name, bytes) = (&shared.table[unit as usize].name, range.bytes());
        let what = format!(
            "takes {size} from byte {offset} of `{name}`, which has {bytes}",
            size = counted(size, "byte")
        );
        fault(codes::BAD_BINDING, what)
    })?;
    Ok((unit, part))
}

/// Runs a block.
///
/// # Errors
/// The kernel fails.
#[inline]
pub(crate) fn run_block(code: &GraphCode, block: Block<'_>, shared: &Shared) -> Result<(), TgFault> {
    let Block { part, block, iteration, device } = block;
    let def = code.plan.kernels[part.item as usize].def as usize;
    let args: &[BoundArg] = match &*part.bound {
        Bound::Function(args) => args,
        Bound::Pto(_) => &[],
    };
    let mut cx = TgCx {
        def: &code.plan.defs[def],
        args,
        workspace: part.workspace.as_ref(),
        block,
        blocks: part.blocks,
        iteration,
        device,
        devices: shared.devices,
    };
    match (&*part.bound, &code.defs[def].body) {
        (Bound::Function(_), KernelBody::Function(body)) => {
            body(&mut cx).map_err(|fault| kernel_fault(&cx, fault))
        }
        (Bound::Pto(bound), _) => {
            let mut scratch = shared.take_scratch();
            let result = bound.run(&mut scratch, block, part.blocks);
            shared.put_scratch(scratch);
            result.map_err(|trap| {
                if trap.is_cancelled() {
                    return cancelled().into();
                }
                Box::new(at_block(Diagnostic::from(*trap), &cx)).into()
            })
        }
        (Bound::Function(_), KernelBody::Pto(_)) => unreachable!("an entry should be bound as one"),
    }
}

#[cold]
pub(crate) fn kernel_fault(cx: &TgCx<'_>, fault: KernelFault) -> TgFault {
    let message = format!("kernel `{}` failed: {}", cx.kernel(), fault.message);
    let diagnostic = at_block(Diagnostic::error(codes::KERNEL_FAILED, message), cx);
    TgFault { diagnostic: Box::new(diagnostic), payload: fault.payload }
}

fn at_block(fault: Diagnostic, cx: &TgCx<'_>) -> Diagnostic {
    let fault = fault.note(format!("in block {} of {} of kernel `{}`", cx.block, cx.blocks, cx.kernel()));
    if cx.devices == 1 { fault } else { fault.note(format!("on device {}", cx.device)) }
}
