//! Warnings: what a module may say and probably does not mean.

use super::WorkloadModule;
use super::walk::{self, Reference, Visitor};
use crate::diag::{Diagnostic, UNUSED_ITEM, is_meant, unused};
use std::collections::BTreeSet;
use wsp_core::{TensorId, VarId};

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

/// Tensors that are referred to.
struct Tensors(BTreeSet<TensorId>);

impl Visitor for Tensors {
    fn reference(&mut self, reference: Reference) {
        if let Reference::Tensor(tensor) = reference {
            self.0.insert(tensor);
        }
    }

    fn open(&mut self, _: VarId) {}

    fn close(&mut self) {}
}
