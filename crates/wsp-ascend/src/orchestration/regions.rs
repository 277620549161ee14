//! What the tasks of a kernel touch, as C++ that evaluates it for a descriptor.

use super::expr::{Needs, Printer, Scope};
use super::names::Names;
use crate::writer::Writer;
use std::cell::RefCell;
use wsp_core::{AccessKind, AxisId, FuncId, MAX_RANK, TensorId};
use wsp_ir::{AxisEnd, Dim, Expr, Tensor};
use wsp_plan::{Bound, KernelAccess, LoweredPlan};

/// The accesses of a kernel that order its tasks: those of tensors that some kernel writes.
pub(super) fn ordering(plan: &LoweredPlan, kernel: FuncId) -> impl Iterator<Item = (usize, &KernelAccess)> {
    let all = plan.accesses[kernel.index()].iter();
    all.filter(|access| plan.tensors[access.tensor.index()].written).enumerate()
}

/// Declares `const Access accesses[]` with the accesses of a kernel, in the order of [`ordering`].
pub(super) fn declare(
    out: &mut Writer,
    plan: &LoweredPlan,
    names: &Names,
    kernel: FuncId,
    needs: &RefCell<Needs>,
) {
    let printer = Printer { module: &plan.module, names, scope: Scope::Descriptor, needs };
    let number = ordering(plan, kernel).count();
    if number == 0 {
        return;
    }
    out.line(format!("Access accesses[{number}] = {{}};"));
    for (at, access) in ordering(plan, kernel) {
        let tensor = format!("l.{}", names.tensor(plan.memory[access.tensor.index()]));
        let name = &plan.module.tensors[access.tensor.index()].name;
        let verb = if access.mode == AccessKind::Read { "reads" } else { "writes" };
        out.line(format!("// {verb} {name}"));
        out.line(format!("accesses[{at}].all_of({tensor});"));
        if let Some(guard) = &access.guard {
            out.line(format!(
                "accesses[{at}].touches = guard([&]([[maybe_unused]] Checked& s) {{ return {}; }});",
                printer.expr(guard)
            ));
        }
        for (dim, bound) in access.bounds.iter().enumerate().take(MAX_RANK) {
            let Bound::Range { lo, hi } = bound else { continue };
            // Of a cache whose pages stand for several places the whole is touched.
            let open = match shares(plan, access.tensor) && dim < 2 {
                true => format!("if (!l.{}_shares_pages) ", names.tensor(access.tensor)),
                false => String::new(),
            };
            let of = |e| format!("[&]([[maybe_unused]] Checked& s) {{ return {}; }}", printer.expr(e));
            out.line(format!(
                "{open}accesses[{at}].within({dim}, bound(0, {}), bound(UINT32_MAX, {}));",
                of(lo),
                of(hi)
            ));
        }
    }
}

/// Whether pages of a tensor may stand for several places.
pub(super) fn shares(plan: &LoweredPlan, tensor: TensorId) -> bool {
    let storage = &plan.module.tensors[tensor.index()].storage;
    matches!(storage, wsp_ir::Storage::CacheKeys(_) | wsp_ir::Storage::CacheValues(_))
}

/// The tensors of which one dimension is as long as what tasks store to reaches, each with the axis.
pub(super) fn ragged(plan: &LoweredPlan) -> Vec<(TensorId, AxisId)> {
    let axes = &plan.module.axes;
    let of = |(at, tensor): (usize, &Tensor)| {
        let Some(Dim::Axis(axis)) = tensor.dims.get(1) else { return None };
        let used = plan.tensors[at].read || plan.tensors[at].written;
        (used && matches!(axes[axis.index()].end, AxisEnd::Dynamic)).then_some((TensorId(at as u32), *axis))
    };
    plan.module.tensors.iter().enumerate().filter_map(of).collect()
}

/// The function that widens such dimensions to what the tasks of a descriptor store.
pub(super) fn grow(
    out: &mut Writer,
    plan: &LoweredPlan,
    names: &Names,
    kernels: &[FuncId],
    needs: &RefCell<Needs>,
) {
    let ragged = ragged(plan);
    let printer = Printer { module: &plan.module, names, scope: Scope::Descriptor, needs };
    out.line("// Widens dimensions that are as long as what tasks store reaches.");
    out.open(
        "static void grow([[maybe_unused]] const Launch& l, [[maybe_unused]] Checked& to, std::uint32_t kernel, [[maybe_unused]] const std::uint32_t* f, \
         [[maybe_unused]] std::uint32_t* iterations) {",
    );
    out.open("switch (kernel) {");
    for kernel in kernels {
        let writes = plan.accesses[kernel.index()].iter().filter(|access| access.mode == AccessKind::Write);
        let mut grown = writes.filter_map(|access| {
            let (_, axis) = ragged.iter().find(|(tensor, _)| *tensor == access.tensor)?;
            Some((access, *axis))
        });
        let Some(first) = grown.next() else { continue };
        out.open(format!("case {}: {{", kernel.0));
        for (access, axis) in std::iter::once(first).chain(grown) {
            let of = |e: &Expr| format!("[&]([[maybe_unused]] Checked& s) {{ return {}; }}", printer.expr(e));
            let end = match &access.bounds[1] {
                Bound::Range { hi, .. } => format!("bound(UINT32_MAX, {})", of(hi)),
                Bound::All => "UINT32_MAX".to_owned(),
            };
            let guard = access.guard.as_ref().map_or("true".to_owned(), |e| format!("guard({})", of(e)));
            out.line(format!("if ({guard}) widen(to, iterations[{}], {end});", axis.0));
        }
        out.line("break;");
        out.close("}");
    }
    out.line("default: break;");
    out.close("}");
    out.close("}");
    out.line("");
}
