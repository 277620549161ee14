//! Extents of arrays that a launch gives by values.

use super::kernels::elements;
use crate::codes;
use crate::kernel::{ELEMENTS, body};
use crate::lower::values;
use wsp_core::ParamId;
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_ir::{Module, ParamSource, into_verified};
use wsp_plan::{ParamValue, PlanSource};
use wsp_tile::Known;

/// The largest extent, as in all runs.
const MOST: i128 = u32::MAX as i128;

/// Whether a name is that of an extent of arrays.
pub(super) fn is_extent(module: &Module, name: &str) -> bool {
    (0..module.params.len()).any(|at| {
        let is_this = module.user_names(ParamId(at as u32)).any(|known| known == name);
        is_this && matches!(module.params[at].source, ParamSource::Shape { .. })
    })
}

/// Refuses an extent that no array has.
pub(super) fn within(module: &Module, values: &[(String, ParamValue)]) -> Result<(), Diagnostic> {
    let is_wrong = |(name, value): &&(String, ParamValue)| {
        matches!(value, ParamValue::Int(value) if !(0..=MOST).contains(value)) && is_extent(module, name)
    };
    let Some((name, ParamValue::Int(value))) = values.iter().find(is_wrong) else { return Ok(()) };
    let message = format!("`{name}` is an extent of arrays, and is given as {value}");
    Err(Diagnostic::error(codes::LOWERING, message)
        .help(format!("give it from 1 to {MOST}, as with `--set {name}=64`")))
}

/// Refuses boxes that no tile has, which the values make of the kernels of a workload.
pub(super) fn boxes(source: &PlanSource, given: &[(String, ParamValue)]) -> Result<(), Diagnostics> {
    let PlanSource::Workload(plan) = source else { return Ok(()) };
    let Some(library) = &plan.library else { return Ok(()) };
    let module = into_verified(library.plan.module.clone())?;
    let (params, elems) = (values(&module, given), elements(&module));
    let bodies = library.functions.iter().flatten();
    let faults =
        bodies.filter_map(|func| body(&module, *func, Known { params: &params, elems: &elems }).err());
    let is_large = |fault: &Diagnostic| fault.figures.iter().any(|(figure, _)| *figure == ELEMENTS);
    let large: Vec<Diagnostic> = faults.flatten().filter(is_large).collect();
    if large.is_empty() { Ok(()) } else { Err(large.into()) }
}
