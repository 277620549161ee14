//! What is known of a launch: parameters, element types and extents.

use super::refused;
use wsp_backend::{ArrayForm, LaunchTable};
use wsp_core::{DType, ParamId, TensorId};
use wsp_diag::{Diagnostic, Diagnostics, Span};
use wsp_ir::{
    BindingSource, Const, Dim, Elem, ExprKind, Module, ParamSource, ShapeOwner, Storage, Verified,
    into_verified,
};
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{LoweredPlan, ParamValue};
use wsp_tile::{Known, fold};

/// A tensor.
#[derive(Clone, Debug)]
pub(crate) struct TensorInfo {
    /// What a launch calls it, or the program.
    pub(crate) name: String,
    /// Extents, the outermost first.
    pub(crate) dims: Vec<u64>,
    /// The type of its elements.
    pub(crate) dtype: DType,
    /// Whether it is an array of the launch.
    pub(crate) host: bool,
    /// Where it is declared.
    pub(crate) span: Span,
}

/// What a launch calls a tensor.
pub(crate) fn name_of(module: &Module, id: TensorId) -> String {
    let bound = module.entry.as_ref().and_then(|entry| {
        let bound = entry.launch.bindings.iter().find(|of| of.source == BindingSource::Tensor(id))?;
        entry.params.get(bound.param as usize).map(|param| param.name.clone())
    });
    bound.unwrap_or_else(|| module.tensors[id.index()].name.clone())
}

/// Values of parameters, where only these are given.
pub(crate) fn values(module: &Verified, set: &[(String, ParamValue)]) -> Vec<Option<Const>> {
    params(module, None, &LaunchTable::default(), &[], set)
}

/// Values of the parameters of the kernels' file.
pub(super) fn params(
    module: &Verified,
    workload: Option<&WorkloadPlan>,
    table: &LaunchTable,
    arrays: &[ArrayForm],
    values: &[(String, ParamValue)],
) -> Vec<Option<Const>> {
    let mut found: Vec<Option<Const>> = Vec::new();
    for at in 0..module.params.len() {
        let id = ParamId(at as u32);
        let param = &module.params[at];
        let is_this = |name: &str| module.user_names(id).any(|known| known == name);
        let given = values.iter().rev().find(|(name, _)| is_this(name)).map(|(_, value)| *value);
        let listed = match workload {
            Some(plan) => {
                let at = plan.module.params.iter().position(|own| own.name == param.name);
                at.and_then(|at| table.params.get(at).copied().flatten())
            }
            None => table.params.get(at).copied().flatten(),
        };
        let of_array = || match &param.source {
            ParamSource::Shape { of: ShapeOwner::Tensor(tensor), dim } => {
                let name = name_of(module, *tensor);
                let array = arrays.iter().find(|array| array.name == name)?;
                array.shape.get(*dim as usize).map(|extent| Const::Int((*extent).into()))
            }
            _ => None,
        };
        let of_any = || shape_of(module, id, arrays);
        let folded = || match &param.source {
            ParamSource::Set { default: value } | ParamSource::Derived(value) => {
                match fold(module, Known { params: &found, elems: &[] }, value).kind {
                    ExprKind::Const(value) => Some(value),
                    _ => None,
                }
            }
            _ => None,
        };
        let value = given.or(listed).or_else(of_array).or_else(of_any).or_else(folded);
        found.push(value);
    }
    found
}

/// An extent that another array than the first one names it for has.
fn shape_of(module: &Verified, id: ParamId, arrays: &[ArrayForm]) -> Option<Const> {
    if !matches!(module.params[id.index()].source, ParamSource::Shape { .. }) {
        return None;
    }
    module.tensors.iter().enumerate().find_map(|(at, tensor)| {
        let is_this = |dim: &Dim| matches!(dim, Dim::Expr(e) if e.kind == ExprKind::Param(id));
        let dim = tensor.dims.iter().position(is_this)?;
        let name = name_of(module, TensorId(at as u32));
        let array = arrays.iter().find(|array| array.name == name)?;
        array.shape.get(dim).map(|extent| Const::Int((*extent).into()))
    })
}

/// Element types of tensors: those of the source, those of arrays, and `f32` of outputs.
pub(super) fn elems(plan: &LoweredPlan, arrays: &[ArrayForm]) -> Vec<Option<DType>> {
    let module = &plan.module;
    let of = |(at, tensor): (usize, &wsp_ir::Tensor)| match tensor.elem {
        Elem::Fixed(elem) => Some(elem),
        Elem::Of(of) if of.index() != at => None,
        Elem::Of(_) => {
            let used = plan.tensors[at];
            let is_output = tensor.storage == Storage::Launch && used.written;
            let name = name_of(module, TensorId(at as u32));
            let array = arrays.iter().find(|array| array.name == name);
            array.map(|array| array.elem).or(is_output.then_some(DType::F32))
        }
    };
    let mut elems: Vec<Option<DType>> = module.tensors.iter().enumerate().map(of).collect();
    for at in 0..elems.len() {
        if let Elem::Of(of) = module.tensors[at].elem {
            elems[at] = elems[of.index()];
        }
    }
    elems
}

/// The extent of a dimension, where what is known tells it.
fn extent(module: &Verified, known: Known<'_>, dim: &Dim) -> Option<u64> {
    let Dim::Expr(e) = dim else { return None };
    match fold(module, known, e).kind {
        ExprKind::Const(Const::Int(n)) => u64::try_from(n).ok(),
        _ => None,
    }
}

/// Whether a tensor is an array of the launch or of the program.
fn is_plain(tensor: &wsp_ir::Tensor) -> bool {
    matches!(tensor.storage, Storage::Launch | Storage::Temporary)
}

/// Refuses tensors that have no form on an array, whatever their extents.
///
/// # Errors
/// Kernels read or write one.
pub(super) fn plain(plan: &LoweredPlan) -> Result<(), Diagnostic> {
    let used = |at: usize| plan.tensors[at].read || plan.tensors[at].written;
    let mut all = plan.module.tensors.iter().enumerate();
    match all.find(|(at, tensor)| used(*at) && !is_plain(tensor)) {
        None => Ok(()),
        Some((at, tensor)) => {
            let name = name_of(&plan.module, TensorId(at as u32));
            Err(refused(format!("`{name}` is no array of the launch, and has no form on an array"))
                .at(tensor.span, "")
                .note("caches in pages, workspaces and ragged tensors are found by what other tensors hold")
                .help("run the program on `cpu_sim`, or give the kernels arrays in their place"))
        }
    }
}

/// The tensors of a launch.
///
/// # Errors
/// Extents that are not known.
pub(super) fn tensors(
    module: &Verified,
    plan: &LoweredPlan,
    params: &[Option<Const>],
    elems: &[Option<DType>],
    arrays: &[ArrayForm],
) -> Result<Vec<TensorInfo>, Diagnostic> {
    let mut all = Vec::new();
    for (at, tensor) in module.tensors.iter().enumerate() {
        let name = name_of(module, TensorId(at as u32));
        let array = arrays.iter().find(|array| array.name == name && tensor.storage == Storage::Launch);
        let used = plan.tensors[at].read || plan.tensors[at].written;
        let extent = |dim: &Dim| extent(module, Known { params, elems }, dim);
        let dims: Option<Vec<u64>> = match array {
            Some(array) => Some(array.shape.clone()),
            None => tensor.dims.iter().map(extent).collect(),
        };
        let dims = match dims {
            Some(dims) if is_plain(tensor) => dims,
            _ if !used => Vec::new(),
            _ => {
                return Err(refused(format!("the extents of `{name}` are not known before the launch"))
                    .at(tensor.span, "")
                    .help("give the array, or the parameters of its extents"));
            }
        };
        all.push(TensorInfo {
            name,
            dims,
            dtype: elems[at].unwrap_or(DType::F32),
            host: tensor.storage == Storage::Launch,
            span: tensor.span,
        });
    }
    Ok(all)
}

/// Whether an extent of an output is one that no input has, so that its array has to tell it.
fn is_only_of(module: &Verified, plan: &LoweredPlan, dim: &Dim, output: usize) -> bool {
    let Dim::Expr(e) = dim else { return false };
    let of = plan.tensors[output];
    let is_input = |at: usize| plan.tensors[at].read && !plan.tensors[at].written;
    let has = |tensor: &wsp_ir::Tensor| {
        tensor.storage == Storage::Launch
            && tensor.dims.iter().any(|dim| matches!(dim, Dim::Expr(other) if other.kind == e.kind))
    };
    let is_extent = matches!(e.kind, ExprKind::Param(id) if matches!(module.params[id.index()].source, ParamSource::Shape { .. }));
    let is_told = module.tensors.iter().enumerate().any(|(at, tensor)| is_input(at) && has(tensor));
    of.written && is_extent && !is_told
}

/// The arrays that a launch takes beside these, with extents that follow from the values: those that are read, and outputs with extents of their own.
///
/// # Errors
/// An extent that no value tells.
pub(crate) fn forms(
    plan: &LoweredPlan,
    given: &[ArrayForm],
    values: &[(String, ParamValue)],
) -> Result<Vec<ArrayForm>, Diagnostics> {
    let module = into_verified(plan.module.clone())?;
    let params = params(&module, None, &LaunchTable::default(), given, values);
    let known = Known { params: &params, elems: &[] };
    let mut forms = Vec::new();
    for (at, tensor) in module.tensors.iter().enumerate() {
        let id = TensorId(at as u32);
        let name = name_of(&module, id);
        let is_given = given.iter().any(|form| form.name == name);
        let is_input = plan.tensors[at].read && !plan.tensors[at].written;
        let is_known_by = || tensor.dims.iter().any(|dim| is_only_of(&module, plan, dim, at));
        if tensor.storage != Storage::Launch || is_given || !(is_input || is_known_by()) {
            continue;
        }
        let elem = match tensor.elem {
            Elem::Fixed(elem) => elem,
            Elem::Of(_) => DType::F32,
        };
        match tensor.dims.iter().map(|dim| extent(&module, known, dim)).collect() {
            Some(shape) => forms.push(ArrayForm { name, elem, shape }),
            None => {
                return Err(refused(format!("the extents of `{name}` are not known"))
                    .at(tensor.span, "")
                    .help("give them with `--set NAME=VALUE`, or the array")
                    .into());
            }
        }
    }
    Ok(forms)
}
