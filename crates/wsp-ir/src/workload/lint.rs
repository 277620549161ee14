//! Warnings: what a module may say and probably does not mean.

use super::walk::{self, Reference, Visitor};
use super::{AxisKind, ParamSource, WorkloadModule};
use wsp_core::{ParamId, TensorId, VarId};
use wsp_diag::{Diagnostic, UNUSED_ITEM, is_meant, unused};
use wsp_ordered::OrderedSet;

/// Tensors that no task of a verified module is given, but for slots and for those whose names begin with `_`.
pub fn warnings(module: &WorkloadModule) -> Vec<Diagnostic> {
    let mut used = Tensors(module.slots.iter().map(|slot| slot.tensor).collect());
    module.workloads.iter().for_each(|workload| walk::block(&workload.body, &mut used));
    let ids = (0..module.tensors.len() as u32).map(TensorId);
    let never =
        module.tensors.iter().zip(ids).filter(|(tensor, id)| !used.0.contains(id) && !is_meant(&tensor.name));
    let warning = never.map(|(tensor, _)| {
        unused(UNUSED_ITEM, format!("tensor `{}` is never used", tensor.name), tensor.span)
            .help("remove it, or give it to a kernel")
    });
    warning.collect()
}

/// Whether a parameter of a module has a use: in what other parameters are derived from, in sizes, tasks, costs and schedules. Of
/// a used file nothing is known here.
pub fn is_param_used(module: &WorkloadModule, param: ParamId) -> bool {
    let mut params = Params(OrderedSet::new());
    for entry in &module.params {
        match &entry.source {
            ParamSource::Set(value) => value.iter().for_each(|value| walk::expr(value, &mut params)),
            ParamSource::Derived(value) => walk::expr(value, &mut params),
        }
    }
    for axis in &module.axes {
        match &axis.kind {
            AxisKind::Dense { start, end } => {
                [start, end].into_iter().for_each(|e| walk::expr(e, &mut params))
            }
            AxisKind::DenseDyn(param) => params.reference(Reference::Param(*param)),
            AxisKind::Ragged { .. } | AxisKind::Sparse { .. } => {}
        }
    }
    let lengths = module.tables.iter().filter_map(|table| table.len.as_ref());
    let dims = module.tensors.iter().flat_map(|tensor| &tensor.dims);
    let slots = module.slots.iter().map(|slot| &slot.init);
    let costs = module.kernels.iter().filter_map(|kernel| kernel.cost.as_ref());
    let depths =
        module.workloads.iter().flat_map(|workload| &workload.channels).map(|channel| &channel.depth);
    let sizes = lengths.chain(dims).chain(slots).chain(costs).chain(depths);
    sizes.for_each(|size| walk::expr(size, &mut params));
    module.workloads.iter().for_each(|workload| walk::block(&workload.body, &mut params));
    for directive in module.schedules.iter().flat_map(|schedule| &schedule.directives) {
        directive.kind.interface().exprs().into_iter().for_each(|e| walk::expr(e, &mut params));
    }
    params.0.contains(&param)
}

/// Parameters that are referred to.
struct Params(OrderedSet<ParamId>);

impl Visitor for Params {
    fn reference(&mut self, reference: Reference) {
        if let Reference::Param(param) = reference {
            self.0.insert(param);
        }
    }

    fn open(&mut self, _: VarId) {}

    fn close(&mut self) {}
}

/// Tensors that are referred to.
struct Tensors(OrderedSet<TensorId>);

impl Visitor for Tensors {
    fn reference(&mut self, reference: Reference) {
        if let Reference::Tensor(tensor) = reference {
            self.0.insert(tensor);
        }
    }

    fn open(&mut self, _: VarId) {}

    fn close(&mut self) {}
}
