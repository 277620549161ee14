//! The host entry of a library of kernels.

use wsp_core::{CacheId, TensorId};
use wsp_diag::Span;
use wsp_ir::{
    Binding, BindingSource, Dim, Elem, Entry, EntryParam, EntryTy, Expr, ExprKind, Launch, LaunchTarget,
    Module, ParamSource, Storage,
};

/// The host entry of a file that has none and whose kernels others call: it takes every array, cache and scalar of the launch
/// under its own name, and launches nothing.
pub fn library_entry(module: &Module) -> Entry {
    let mut entry = Entry {
        name: "main".to_owned(),
        params: Vec::new(),
        launch: Launch { target: LaunchTarget::Kernels, bindings: Vec::new(), span: Span::default() },
        span: Span::default(),
    };
    let mut take = |name: &str, ty: EntryTy, source: BindingSource, span: Span| {
        entry.launch.bindings.push(Binding { param: entry.params.len() as u32, source });
        entry.params.push(EntryParam { name: name.to_owned(), ty, span });
    };
    for (i, tensor) in module.tensors.iter().enumerate() {
        if tensor.storage == Storage::Launch {
            let dtype = if let Elem::Fixed(dtype) = tensor.elem { Some(dtype) } else { None };
            let source = BindingSource::Tensor(TensorId(i as u32));
            take(&tensor.name, EntryTy::Tensor(dtype), source, tensor.span);
        }
    }
    for (i, cache) in module.caches.iter().enumerate() {
        let source = BindingSource::Cache(CacheId(i as u32));
        take(&cache.name, EntryTy::PagedKvCache, source, cache.span);
    }
    for (i, param) in module.params.iter().enumerate() {
        if param.source == ParamSource::Entry {
            let source = BindingSource::Param(wsp_core::ParamId(i as u32));
            take(&param.name, EntryTy::Scalar(param.ty), source, param.span);
        }
    }
    entry
}

/// The name of the array that a launch takes for a tensor; none for what a launch takes none for.
pub fn array_name(module: &Module, tensor: TensorId) -> Option<String> {
    let entry = module.entry.as_ref()?;
    let bound_to = |source: BindingSource| {
        let bound = entry.launch.bindings.iter().find(|bound| bound.source == source)?;
        Some(entry.params[bound.param as usize].name.as_str())
    };
    match module.tensors[tensor.index()].storage {
        Storage::CacheKeys(cache) => bound_to(BindingSource::Cache(cache)).map(|name| format!("{name}.k")),
        Storage::CacheValues(cache) => bound_to(BindingSource::Cache(cache)).map(|name| format!("{name}.v")),
        _ => bound_to(BindingSource::Tensor(tensor)).map(str::to_owned),
    }
}

/// A declared shape as text: `[batch_size, num_qo_heads, 1, HEAD_DIM]`.
pub fn declared_shape(module: &Module, id: TensorId) -> String {
    let dims: Vec<String> = module.tensors[id.index()]
        .dims
        .iter()
        .map(|dim| match dim {
            Dim::Expr(Expr { kind: ExprKind::Param(p), .. }) => module.params[p.index()].name.clone(),
            Dim::Expr(expr) => expr.as_const_int().map_or_else(|| "…".to_owned(), |v| v.to_string()),
            Dim::Dynamic => "PTO_DYNAMIC".to_owned(),
            Dim::Axis(axis) => module.axes[axis.index()].name.clone(),
        })
        .collect();
    format!("[{}]", dims.join(", "))
}
