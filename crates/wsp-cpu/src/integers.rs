//! Tensors of integers of a launch: which have memory, and what is given for them.

use crate::bind::Bound;
use crate::codes;
use wsp_core::{DType, TensorId};
use wsp_diag::Diagnostic;
use wsp_plan::{Array, LoweredPlan};

/// Whether tiles and single elements are moved from and to a tensor: one of integers may be read as an array only.
pub(crate) fn has_memory(plan: &LoweredPlan, id: TensorId, dtype: DType) -> bool {
    dtype.is_float() || wsp_plan::is_moved(&plan.module, id)
}

/// Integers that tiles load are given as they are declared; those of an array are converted.
pub(crate) fn check_type(
    plan: &LoweredPlan,
    bound: &Bound,
    id: TensorId,
    array: &Array,
    name: &str,
) -> Result<(), Diagnostic> {
    let (have, want) = (array.dtype(), bound.tensors[id.index()].dtype);
    if have == want || want.is_float() {
        return Ok(());
    }
    let tensor = &plan.module.tensors[id.index()];
    let message = format!("array `{name}` holds {have}, but `{}` is {want}", tensor.name);
    Err(Diagnostic::error(codes::WRONG_DTYPE, message)
        .at(tensor.span, "declared here")
        .help(format!("convert the array to {want}: tiles take integers of their own type")))
}
