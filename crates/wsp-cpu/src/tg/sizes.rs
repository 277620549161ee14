//! Bytes of arguments that are known before a run, against each other: no run can bind what does not fit.

use super::codes;
use super::kernels::{KernelBody, TgKernels};
use wsp_core::tg::image::NONE;
use wsp_diag::Diagnostic;
use wsp_ir::tg::TgModule;
use wsp_ordered::OrderedSet;
use wsp_tg::plan::{BindItem, BindTensor, GraphPlan, UnitPlan};

/// Kernels of a unit that no run can bind, by the sizes of their tensors that the unit says: the extents of an entry of a `.pto` file follow
/// from the bytes of its arguments, which have to agree. A kernel in an arm that may not be taken is a warning.
pub(super) fn check_sizes(plan: &UnitPlan, module: &TgModule, kernels: &TgKernels) -> Vec<Diagnostic> {
    let bytes = |unit: u32| plan.tensors[unit as usize].bytes;
    plan.graphs.iter().flat_map(|graph| check_graph(graph, module, kernels, &bytes)).collect()
}

/// The same for one graph, where more may be known of tensors.
pub(super) fn check_graph(
    graph: &GraphPlan,
    module: &TgModule,
    kernels: &TgKernels,
    bytes: &dyn Fn(u32) -> Option<u64>,
) -> Vec<Diagnostic> {
    let (mut found, mut told) = (Vec::new(), OrderedSet::new());
    for (item, kernel) in (0u32..).zip(&graph.kernels) {
        let def = &graph.defs[kernel.def as usize];
        let Some(KernelBody::Pto(entry)) = kernels.body(&def.entry) else { continue };
        let args: Vec<Option<u64>> =
            graph.binds_of(kernel).iter().map(|bind| bytes_of(bind, bytes)).collect();
        let Err(what) = entry.check_sizes(&args) else { continue };
        if !told.insert(kernel.def) {
            continue;
        }
        let message = format!("kernel `{}` cannot run: {what}", graph.kernel_name(item));
        let of = match graph.records.nodes[kernel.node as usize].guard {
            NONE => Diagnostic::error,
            _ => Diagnostic::warning,
        };
        let fault = of(codes::BAD_BINDING, message).at(module.span(def.instr as usize), "this kernel");
        found.push(fault.help("bind its arguments to bytes that fit each other"));
    }
    found
}

/// The bytes of a binding that are the same for every launch.
fn bytes_of(bind: &BindItem, bytes: &dyn Fn(u32) -> Option<u64>) -> Option<u64> {
    let size = u64::try_from(bind.size.as_const()?).ok()?;
    match (bind.tensor, size) {
        (BindTensor::One(unit), 0) => bytes(unit)?.checked_sub(u64::try_from(bind.offset.as_const()?).ok()?),
        (_, 0) => None,
        (_, size) => Some(size),
    }
}
