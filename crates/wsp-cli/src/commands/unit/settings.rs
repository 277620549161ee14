//! Values that `--set` gives to a unit: to what it declares, and to parameters of its kernels.

use super::kernels::UnitKernels;
use crate::commands::emptiness::Empty;
use crate::commands::options::unread_value;
use pto_wsp::codes;
use wsp_core::tg::ExprOp;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::tg::{RefValue, TgModule};
use wsp_plan::ParamValue;

/// Values of declared scalars. A name may be that of a scalar, of a parameter, or of both.
///
/// # Errors
/// A name that is neither; a scalar or a parameter that nothing reads; a value that is no integer.
pub(super) fn scalars(
    module: &TgModule,
    kernels: &UnitKernels,
    set: &[(String, ParamValue)],
) -> Result<Vec<(String, i64)>, Vec<Diagnostic>> {
    let declared: Vec<&str> = module.args.iter().map(|arg| module.str(arg.name)).collect();
    let arg = |name: &str| module.args.iter().find(|arg| module.str(arg.name) == name);
    let mut values = Vec::new();
    let mut faults = Vec::new();
    for (name, value) in set {
        let arg = arg(name);
        if arg.is_none() && !kernels.has_param(name) {
            faults.push(unknown(name, declared.iter().copied().chain(kernels.params())));
            continue;
        }
        if !(is_read(module, name) || kernels.reads_param(name)) {
            faults.push(unread_value(name));
            continue;
        }
        let Some(arg) = arg else { continue };
        match integer(*value) {
            Some(value) => values.push((name.clone(), value)),
            None => {
                let (low, high) = arg.ty.bounds();
                let message =
                    format!("`{name}` takes an integer from {low} to {high}, not {}", shown(*value));
                let fault = Diagnostic::error(codes::UNKNOWN_NAME, message);
                faults.push(fault.help(format!("write `--set {name}=8`")));
            }
        }
    }
    if faults.is_empty() { Ok(values) } else { Err(faults) }
}

/// Whether an expression or a reference of a unit reads a declared scalar.
fn is_read(module: &TgModule, name: &str) -> bool {
    let is_this = |arg: u32| module.args.get(arg as usize).is_some_and(|arg| module.str(arg.name) == name);
    let mut bindings = module.references.iter().flat_map(|reference| &reference.bindings);
    module.exprs.iter().any(|op| matches!(op, ExprOp::Arg(arg) if is_this(*arg)))
        || bindings.any(|(_, value)| matches!(value, RefValue::Arg(arg) if is_this(*arg)))
}

/// Values of declared scalars that are 0 or less.
pub(super) fn empty<'a>(module: &'a TgModule, set: &[(String, i64)]) -> Vec<Empty<'a>> {
    let values = module.args.iter().filter_map(|arg| {
        let name = module.str(arg.name);
        let chosen = set.iter().rev().find(|(other, _)| other == name).map(|(_, value)| *value);
        let (value, is_chosen) = (chosen.or(arg.default)?, chosen.is_some());
        Some(Empty { name, value: value.into(), option: Some("--set"), is_chosen })
    });
    values.filter(|of| of.value <= 0).collect()
}

/// A value as it is written.
fn shown(value: ParamValue) -> String {
    match value {
        ParamValue::Int(n) => n.to_string(),
        ParamValue::Float(x) => x.to_string(),
        ParamValue::Bool(b) => b.to_string(),
    }
}

fn integer(value: ParamValue) -> Option<i64> {
    match value {
        ParamValue::Int(n) => i64::try_from(n).ok(),
        ParamValue::Bool(b) => Some(i64::from(b)),
        ParamValue::Float(_) => None,
    }
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    let known: Vec<&str> = known.collect();
    let message = format!("neither the unit nor its kernels have a value `{name}`");
    let fault = Diagnostic::error(codes::UNKNOWN_NAME, message);
    match did_you_mean(name, known.iter().copied()) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => fault.note("they have none").help(format!("leave out `--set {name}=…`")),
        None => fault.note(format!("they have {}", known.join(", "))),
    }
}
