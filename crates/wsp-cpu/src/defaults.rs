//! What every launch with the defaults of a program refuses, whatever its arrays are.

use crate::bind::{Bound, BoundDim, bind_defaults};
use crate::memory::SlotLayout;
use crate::planner;
use crate::traps::one;
use wsp_diag::Diagnostic;
use wsp_ir::{Dim, Elem, Module, ParamSource, Storage};

/// Binds a program without arrays, with every parameter at its default, and lays out what follows from these values alone.
///
/// # Errors
/// What a launch with these values refuses: values of parameters, requirements, extents and tiles of axes, workspace slots.
pub(crate) fn check_defaults(module: &Module) -> Result<(), Vec<Diagnostic>> {
    let takes_values = module.params.iter().any(|param| matches!(param.source, ParamSource::Set { .. }));
    let noted = |fault: Diagnostic| match takes_values {
        true => fault.note("every parameter is taken at its default unless it is set"),
        false => fault,
    };
    check(module).map_err(|faults| faults.into_iter().map(noted).collect())
}

fn check(module: &Module) -> Result<(), Vec<Diagnostic>> {
    let mut bound = bind_defaults(module)?;
    planner::axis_extents(module, &bound).map_err(one)?;
    // What arrays decide has at least no element.
    for (tensor, field) in bound.tensors.iter_mut().zip(&module.tensors) {
        if field.storage == Storage::Workspace && !matches!(field.elem, Elem::Fixed(_)) {
            tensor.dims.fill(BoundDim::Fixed(0));
        }
    }
    let layout = SlotLayout::new(module, &bound).map_err(|fault| match has_known_slots(module, &bound) {
        true => fault,
        false => fault.note("fields whose sizes follow from arrays count as 0 bytes"),
    });
    layout.map(drop).map_err(|fault| vec![fault])
}

/// Whether no array decides how large the fields of a workspace slot are.
fn has_known_slots(module: &Module, bound: &Bound) -> bool {
    let is_known = |dim: &Dim| matches!(dim, Dim::Expr(extent) if bound.knows(extent));
    let mut fields = module.tensors.iter().filter(|tensor| tensor.storage == Storage::Workspace);
    fields.all(|field| matches!(field.elem, Elem::Fixed(_)) && field.dims.iter().all(is_known))
}
