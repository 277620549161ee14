//! Comparing what a program computes with its references, or with a run on plain tile operations.

use crate::engine::{Loaded, Options, RunOutcome};
use wsp_backend::KvLayout;
use wsp_check::reference::{self, Against, Comparison, Context, SM_SCALE};
use wsp_core::DType;
use wsp_core::tg::Platform;
use wsp_diag::Diagnostic;
use wsp_ir::{ExprKind, ParamSource, Reference};
use wsp_plan::{Array, Arrays, ParamValue, Target};

/// Compares the outputs of a run with every reference of its program.
pub fn compare(
    loaded: &Loaded,
    outcome: &RunOutcome,
    options: &Options,
) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let Options { layout, set, .. } = options;
    let operands = operands(options, &loaded.arrays);
    compare_arrays(
        &loaded.module,
        &loaded.arrays,
        &outcome.outputs,
        &outcome.params,
        set,
        (*layout, operands),
    )
}

/// The type that operands of products are rounded to: on simulated cores the shortest of the arrays that go in.
pub(super) fn operands(options: &Options, arrays: &Arrays) -> Option<DType> {
    operands_on(options.target, arrays)
}

/// The same on a target.
pub(super) fn operands_on(target: &Target, arrays: &Arrays) -> Option<DType> {
    if target.platform == Platform::Cpu { None } else { operands_of(arrays) }
}

/// The shortest type of real numbers in arrays, if one is shorter than `f32`.
pub(super) fn operands_of(arrays: &Arrays) -> Option<DType> {
    let floats = arrays.values().map(Array::dtype).filter(|elem| elem.is_short_float());
    floats.min_by_key(|elem| (elem.size(), *elem != DType::Bf16))
}

/// The value of a parameter, of which truth is 1.
pub(super) fn number(value: ParamValue) -> f64 {
    match value {
        ParamValue::Int(n) => n as f64,
        ParamValue::Float(x) => x,
        ParamValue::Bool(b) => f64::from(u8::from(b)),
    }
}

/// Compares arrays with every reference of a program; `set` are the parameters that the user sets.
pub(super) fn compare_arrays(
    module: &wsp_ir::Module,
    inputs: &Arrays,
    outputs: &Arrays,
    params: &[(String, ParamValue)],
    set: &[(String, ParamValue)],
    (layout, operands): (KvLayout, Option<DType>),
) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let value = |name: &str| params.iter().find(|(n, _)| n == name).map(|(_, value)| number(*value));
    let cx =
        Context { inputs, outputs, params: &value, layout, threads: wsp_check::cores() as usize, operands };
    let mut all = Vec::new();
    for mut reference in module.references.iter().cloned() {
        reference.roles.retain(|(role, name)| role != SM_SCALE || is_stated(module, name, set));
        all.extend(reference::check(&reference, &cx)?);
    }
    Ok(all)
}

/// What is wrong with outputs that were compared. Where their reference computes the scale itself, that is said.
pub(super) fn differences(
    module: &wsp_ir::Module,
    checks: &[Comparison],
    set: &[(String, ParamValue)],
) -> Vec<Diagnostic> {
    let own = |check: &Comparison| {
        let compared = |reference: &&Reference| {
            check.against == Against::Reference(reference.name.clone())
                && reference.roles.iter().any(|(_, name)| *name == check.name)
        };
        let mut roles = module.references.iter().filter(compared).flat_map(|reference| &reference.roles);
        roles.find(|(role, name)| role == SM_SCALE && !is_stated(module, name, set))
    };
    let faults = checks.iter().filter_map(|check| Some((check.diagnostic()?, own(check))));
    faults
        .map(|(fault, own)| match own {
            None => fault,
            Some((_, name)) => fault
                .note(format!("the reference does not take `{name}` from the program, whose default is computed: it has 1 / sqrt(lanes) of its own"))
                .help(format!("`--set {name}=…` gives both the same")),
        })
        .collect()
}

/// Whether the reference takes a parameter from the program: what the program computes from sizes, the reference computes too.
fn is_stated(module: &wsp_ir::Module, name: &str, set: &[(String, ParamValue)]) -> bool {
    set.iter().any(|(n, _)| n == name) || !has_computed_default(module, name)
}

/// Whether a parameter has a default that is more than a number.
fn has_computed_default(module: &wsp_ir::Module, name: &str) -> bool {
    module.params.iter().find(|param| param.name == name).is_some_and(|param| match &param.source {
        ParamSource::Set { default } => !matches!(default.kind, ExprKind::Const(_)),
        _ => false,
    })
}
