//! Arrays that do not have the dimensions which a program declares.

use crate::codes::{WRONG_EXTENT, WRONG_RANK};
use wsp_core::TensorId;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::Module;
use wsp_plan::declared_shape;

/// An array whose number of dimensions is not the declared one.
pub fn wrong_rank(module: &Module, id: TensorId, name: &str, shape: &[u64]) -> Diagnostic {
    let tensor = &module.tensors[id.index()];
    let message = format!(
        "array `{name}` has {}, but `{}` is declared with {}",
        counted(shape.len(), "dimension"),
        tensor.name,
        tensor.dims.len()
    );
    with_shapes(Diagnostic::error(WRONG_RANK, message), module, id, shape)
        .python(format!("give it the shape {}", declared_shape(module, id)))
}

/// An array with another extent along a dimension than `need`, a number or what gives it.
pub fn wrong_extent(
    module: &Module,
    id: TensorId,
    (name, shape): (&str, &[u64]),
    dim: usize,
    need: &str,
) -> Diagnostic {
    let message = format!("dimension {dim} of array `{name}` is {}, but must be {need}", shape[dim]);
    with_shapes(Diagnostic::error(WRONG_EXTENT, message), module, id, shape)
}

fn with_shapes(fault: Diagnostic, module: &Module, id: TensorId, shape: &[u64]) -> Diagnostic {
    let note = format!("its shape is {shape:?}, the declared one {}", declared_shape(module, id));
    fault.at(module.tensors[id.index()].span, "declared here").note(note)
}
