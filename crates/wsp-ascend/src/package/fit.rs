//! Whether arrays have the dimensions that a program states, before anything is compiled for them. What follows from others is a launch's.

use crate::orchestration::name_of_tensor;
use wsp_backend::{wrong_extent, wrong_rank};
use wsp_core::TensorId;
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_ir::{Dim, Module, Storage};
use wsp_plan::{Array, Arrays, LoweredPlan};

/// # Errors
/// Arrays of other dimensions than tensors are declared with.
pub(crate) fn fit(plan: &LoweredPlan, arrays: &Arrays) -> Result<(), Diagnostics> {
    let module = &plan.module;
    let mut found: Vec<Diagnostic> = Vec::new();
    for (at, tensor) in module.tensors.iter().enumerate() {
        // How the dimensions of a cache lie in its arrays is an option.
        if matches!(tensor.storage, Storage::CacheKeys(_) | Storage::CacheValues(_)) {
            continue;
        }
        let id = TensorId(at as u32);
        let Some(name) = name_of_tensor(module, id) else { continue };
        let Some(array) = arrays.get(&name) else { continue };
        found.extend(faults(module, id, &name, array));
    }
    if found.is_empty() { Ok(()) } else { Err(found.into()) }
}

fn faults(module: &Module, id: TensorId, name: &str, array: &Array) -> Vec<Diagnostic> {
    let (dims, shape) = (&module.tensors[id.index()].dims, array.shape());
    if shape.len() != dims.len() {
        return vec![wrong_rank(module, id, name, shape)];
    }
    let stated = |dim: &Dim| match dim {
        Dim::Expr(e) => e.as_const_int().and_then(|n| u64::try_from(n).ok()),
        _ => None,
    };
    let differing = dims.iter().enumerate().filter_map(|(at, dim)| {
        let need = stated(dim).filter(|need| shape[at] != *need)?;
        Some(wrong_extent(module, id, (name, shape), at, &need.to_string()))
    });
    differing.collect()
}
