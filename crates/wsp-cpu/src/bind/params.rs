//! Values of launch-time parameters.

use super::{Inputs, faults};
use crate::codes;
use wsp_core::words::a;
use wsp_core::{ParamId, TensorId};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::{Dim, Expr, ExprKind, Module, Param, ParamSource, ScalarTy, ShapeOwner, Storage};
use wsp_kernel::{Value, eval_launch_expr};
use wsp_plan::ParamValue;

/// The value of every parameter, in order; none where nothing says it and it is not needed.
pub(super) fn bind(inputs: &Inputs<'_>) -> Result<Vec<Option<Value>>, Vec<Diagnostic>> {
    let module = inputs.module;
    let mut faults = unknown_names(inputs);
    let mut values: Vec<Option<Value>> = vec![None; module.params.len()];
    for i in 0..module.params.len() {
        match value_of(inputs, ParamId(i as u32), &values) {
            Ok(value) => values[i] = value,
            Err(fault) => {
                faults.push(fault);
                break;
            }
        }
    }
    if faults.is_empty() { Ok(values) } else { Err(faults) }
}

/// Whether all parameters that an expression names have values.
pub(super) fn are_known(expr: &Expr, values: &[Option<Value>]) -> bool {
    !expr.any(&mut |e| matches!(e.kind, ExprKind::Param(id) if values[id.index()].is_none()))
}

fn value_of(
    inputs: &Inputs<'_>,
    id: ParamId,
    earlier: &[Option<Value>],
) -> Result<Option<Value>, Diagnostic> {
    let param = &inputs.module.params[id.index()];
    let is_this = |name: &str| inputs.module.user_names(id).any(|n| n == name);
    let given = inputs.options.set.iter().rev().find(|(name, _)| is_this(name)).map(|(_, value)| *value);
    match (&param.source, given) {
        (ParamSource::Set { .. } | ParamSource::Entry, Some(given)) => {
            Value::of(param.ty, given).map(Some).ok_or_else(|| bad_value(param, given))
        }
        // What is needed follows from what is needed.
        (ParamSource::Set { default: expr } | ParamSource::Derived(expr), _) if !are_known(expr, earlier) => {
            Ok(None)
        }
        (ParamSource::Set { default: expr } | ParamSource::Derived(expr), _) => {
            eval_launch_expr(inputs.module, expr, earlier).map(Some).map_err(Diagnostic::from)
        }
        (ParamSource::Shape { of, dim }, _) => match given_shape(inputs, id, *of, *dim) {
            (ShapeOwner::Tensor(of), _) if !has_array(inputs, of) && !(inputs.demand.needed)(id) => Ok(None),
            (ShapeOwner::Cache(of), _) if inputs.caches[of.index()].is_none() => Ok(None),
            (of, dim) => extent(inputs, param, of, dim).map(Some),
        },
        (ParamSource::Entry, None) if !(inputs.demand.needed)(id) => Ok(None),
        (ParamSource::Entry, None) => Err(Diagnostic::error(
            codes::MISSING_ARRAY,
            format!("parameter `{}` of the host entry has no value", param.name),
        )
        .at(param.span, "declared here")
        .help(format!("give one with `--set {}=VALUE`", param.name))
        .python(format!("give it by name: `{}=…`", param.name))),
    }
}

fn has_array(inputs: &Inputs<'_>, tensor: TensorId) -> bool {
    inputs.of_tensor[tensor.index()].is_some_and(|(_, array)| array.is_some())
}

/// Where an extent is read: in the shape that names it first or, where that has no array, in the first one that has.
fn given_shape(inputs: &Inputs<'_>, id: ParamId, of: ShapeOwner, dim: u32) -> (ShapeOwner, u32) {
    if matches!(of, ShapeOwner::Tensor(tensor) if !has_array(inputs, tensor)) {
        let names =
            |dim: &Dim| matches!(dim, Dim::Expr(Expr { kind: ExprKind::Param(named), .. }) if *named == id);
        for (i, tensor) in inputs.module.tensors.iter().enumerate() {
            let of = match tensor.storage {
                Storage::CacheKeys(cache) => ShapeOwner::Cache(cache),
                _ if has_array(inputs, TensorId(i as u32)) => ShapeOwner::Tensor(TensorId(i as u32)),
                _ => continue,
            };
            if let Some(dim) = tensor.dims.iter().position(names) {
                return (of, dim as u32);
            }
        }
    }
    (of, dim)
}

/// The extent that a shape names.
fn extent(inputs: &Inputs<'_>, param: &Param, of: ShapeOwner, dim: u32) -> Result<Value, Diagnostic> {
    match of {
        ShapeOwner::Cache(id) => {
            let cache = inputs.caches[id.index()]
                .as_ref()
                .expect("the extent of a cache that is not bound is not asked for");
            Ok(Value::U32(match dim {
                0 => u32::try_from(cache.lengths.len())
                    .map_err(|_| faults::too_large(&cache.name, 0, cache.lengths.len() as u64))?,
                2 => cache.heads,
                _ => cache.lanes,
            }))
        }
        ShapeOwner::Tensor(id) => {
            let Some((name, Some(array))) = inputs.of_tensor[id.index()] else {
                return Err(unknown_extent(inputs, param, id));
            };
            let declared = inputs.module.tensors[id.index()].dims.len();
            if array.shape().len() != declared {
                return Err(wsp_backend::wrong_rank(inputs.module, id, name, array.shape()));
            }
            let extent = array.shape()[dim as usize];
            u32::try_from(extent).map(Value::U32).map_err(|_| faults::too_large(name, dim as usize, extent))
        }
    }
}

/// An extent that is needed and named only by a tensor without an array.
fn unknown_extent(inputs: &Inputs<'_>, param: &Param, of: TensorId) -> Diagnostic {
    let tensor = &inputs.module.tensors[of.index()].name;
    let message =
        format!("extent `{}` is by itself a dimension of `{tensor}` only, which is not an input", param.name);
    let fault = Diagnostic::error(codes::EXTENT_UNKNOWN, message).at(param.span, "no array gives it a value");
    let fault = match inputs.of_tensor[of.index()] {
        Some((name, _)) => fault
            .help(format!("give it: `--input {name}=FILE.npy`"))
            .python(format!("give it by name: `{name}=…`")),
        None => fault,
    };
    let given = inputs
        .module
        .params
        .iter()
        .filter(|of| matches!(of.source, ParamSource::Shape { .. }) && of.name != param.name);
    let fault = match did_you_mean(&param.name, given.map(|of| of.name.as_str())) {
        Some(near) => fault.help(format!("did you mean the extent `{near}`?")),
        None => fault,
    };
    let source =
        format!("or name it in the shape of an input, or write `PTO_PARAM(uint32_t, {}, 1)`", param.name);
    match fault.python.is_empty() {
        true => fault.help(source),
        false => fault.help(source.clone()).python(source),
    }
}

/// A value as users write it.
pub(crate) fn written(value: ParamValue) -> String {
    match value {
        ParamValue::Int(i) => i.to_string(),
        ParamValue::Float(x) if x.fract() == 0.0 && x.abs() < 1e15 => format!("{x:.1}"),
        ParamValue::Float(x) => format!("{x:?}"),
        ParamValue::Bool(b) => b.to_string(),
    }
}

/// The report of a value that a parameter does not take.
pub(crate) fn bad_value(param: &Param, given: ParamValue) -> Diagnostic {
    let text = written(given);
    let range = match param.ty {
        ScalarTy::Bool => "it takes true and false".to_owned(),
        ScalarTy::I32 => format!("it takes whole numbers in {}..={}", i32::MIN, i32::MAX),
        ScalarTy::U32 => format!("it takes whole numbers in 0..={}", u32::MAX),
        ScalarTy::I64 => format!("it takes whole numbers in {}..={}", i64::MIN, i64::MAX),
        ScalarTy::U64 => format!("it takes whole numbers in 0..={}", u64::MAX),
        ScalarTy::F32 => format!("it takes real numbers up to {:e}", f32::MAX),
        ScalarTy::F64 => "it takes real numbers".to_owned(),
    };
    Diagnostic::error(
        codes::BAD_PARAMETER,
        format!("`{text}` is not a value of parameter `{}`, which is {}", param.name, a(param.ty.c_name())),
    )
    .at(param.span, "declared here")
    .note(range)
}

/// Names given with `--set` that nothing has, or that cannot be set.
fn unknown_names(inputs: &Inputs<'_>) -> Vec<Diagnostic> {
    let params = &inputs.module.params;
    let settable = params
        .iter()
        .enumerate()
        .filter(|(_, p)| matches!(p.source, ParamSource::Set { .. } | ParamSource::Entry));
    let names: Vec<&str> = settable
        .flat_map(|(i, _)| inputs.module.user_names(ParamId(i as u32)))
        .chain(inputs.demand.settings.iter().copied())
        .collect();
    let mut faults = Vec::new();
    for (name, _) in &inputs.options.set {
        if names.contains(&name.as_str()) {
            continue;
        }
        let fixed = params.iter().find(|p| p.name == *name);
        let fault = match fixed {
            Some(p) => Diagnostic::error(
                codes::UNKNOWN_PARAMETER,
                format!("`{name}` cannot be set: it follows from other values"),
            )
            .at(p.span, "declared here"),
            None => Diagnostic::error(codes::UNKNOWN_PARAMETER, format!("there is no parameter `{name}`")),
        };
        let extents = params.iter().filter(|p| matches!(p.source, ParamSource::Shape { .. }));
        let mut extents = extents.map(|p| p.name.as_str());
        faults.push(match did_you_mean(name, names.iter().copied()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => match extents.clone().find(|extent| *extent == name).or(did_you_mean(name, &mut extents))
            {
                Some(extent) => fault
                    .note(format!("`{extent}` is an extent of arrays"))
                    .help(format!("give arrays that have it; where all arrays are made up, write `--generate {extent}=N`"))
                    .python(format!("give arrays that have the extent `{extent}`")),
                None if names.is_empty() => fault.note("there is nothing that can be set"),
                None => fault.help(format!("parameters that can be set: {}", names.join(", "))),
            },
        });
    }
    faults
}

/// Evaluates every `PTO_REQUIRE` whose parameters have values.
pub(super) fn check_requirements(module: &Module, params: &[Option<Value>]) -> Result<(), Vec<Diagnostic>> {
    let mut faults = Vec::new();
    // What a requirement says of values that nothing needs has no effect on a run.
    for requirement in module.requirements.iter().filter(|of| are_known(&of.cond, params)) {
        match eval_launch_expr(module, &requirement.cond, params) {
            Ok(Value::Bool(true)) => {}
            Ok(_) => faults.push(unmet(module, requirement, params)),
            Err(trap) => faults.push(Diagnostic::from(trap)),
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn unmet(module: &Module, requirement: &wsp_ir::Requirement, params: &[Option<Value>]) -> Diagnostic {
    let mut names: Vec<ParamId> = Vec::new();
    requirement.cond.any(&mut |e| {
        if let wsp_ir::ExprKind::Param(id) = e.kind
            && !names.contains(&id)
        {
            names.push(id);
        }
        false
    });
    let facts: Vec<String> = names
        .iter()
        .filter_map(|id| Some(format!("{} = {}", module.params[id.index()].name, params[id.index()]?)))
        .collect();
    Diagnostic::error(codes::REQUIREMENT, "the program does not take these inputs")
        .at(requirement.cond.span, "this is false")
        .note(facts.join(", "))
}
