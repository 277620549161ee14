//! Whether arrays have the dimensions that a program states, before anything is compiled for them. What follows from others is a launch's.

use crate::orchestration::name_of_tensor;
use wsp_backend::codes::WRONG_ARRAY;
use wsp_core::TensorId;
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_ir::{Dim, Storage, Tensor};
use wsp_plan::{Array, Arrays, LoweredPlan};

/// # Errors
/// Arrays of other dimensions than tensors are declared with.
pub(crate) fn fit(plan: &LoweredPlan, arrays: &Arrays) -> Result<(), Diagnostics> {
    let module = &plan.module;
    let mut faults: Vec<Diagnostic> = Vec::new();
    for (at, tensor) in module.tensors.iter().enumerate() {
        // How the dimensions of a cache lie in its arrays is an option.
        if matches!(tensor.storage, Storage::CacheKeys(_) | Storage::CacheValues(_)) {
            continue;
        }
        let Some(name) = name_of_tensor(module, TensorId(at as u32)) else { continue };
        let Some(array) = arrays.get(&name) else { continue };
        let stated = |dim: &Dim| match dim {
            Dim::Expr(e) => e.as_const_int().and_then(|n| u64::try_from(n).ok()),
            _ => None,
        };
        let dims: Vec<Option<u64>> = tensor.dims.iter().map(stated).collect();
        faults.extend(fault(&name, array, tensor, &dims));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.into()) }
}

fn fault(name: &str, array: &Array, tensor: &Tensor, dims: &[Option<u64>]) -> Option<Diagnostic> {
    let shape = array.shape();
    let differ = |(at, (have, want)): (usize, (&u64, &Option<u64>))| {
        let want = (*want)?;
        let message = format!(
            "array `{name}` has {have} elements in dimension {at}, and `{}` is declared with {want}",
            tensor.name
        );
        (*have != want).then_some(message)
    };
    let message = if shape.len() == dims.len() {
        shape.iter().zip(dims).enumerate().find_map(differ)?
    } else {
        let (own, declared) = (counted(shape.len(), "dimension"), dims.len());
        format!("array `{name}` has {own}, but `{}` is declared with {declared}", tensor.name)
    };
    let found = Diagnostic::error(WRONG_ARRAY, message).at(tensor.span, "declared here");
    Some(found.note(format!("its shape is {shape:?}")))
}
