//! The host entry, its launch, what it requires, and graphs: WSP0328 and the ids of WSP0301.

use super::expr::ExprPlace;
use super::{Checker, rule};
use crate::{Binding, BindingSource, Entry, EntryTy, LaunchTarget, ParamSource, Storage};
use wsp_diag::Span;

/// Checks requirements, entry, bindings and graphs.
pub(super) fn check(cx: &mut Checker<'_>) {
    let module = cx.module;
    for requirement in &module.requirements {
        cx.condition(&requirement.cond, ExprPlace::Launch { params: module.params.len() });
    }
    for graph in &module.graphs {
        for stage in &graph.stages {
            cx.lookup(&module.spaces, stage.space.index(), "space", stage.span);
        }
        for side in graph.dependencies.iter().flat_map(|(reader, writer)| [reader, writer]) {
            cx.lookup(&graph.stages, side.stage as usize, "stage", graph.span);
            cx.lookup(&module.tensors, side.tensor.index(), "tensor", graph.span);
        }
    }
    let Some(entry) = &module.entry else { return };
    match entry.launch.target {
        LaunchTarget::Space(id) => {
            cx.lookup(&module.spaces, id.index(), "space", entry.launch.span);
        }
        LaunchTarget::Graph(id) => {
            cx.lookup(&module.graphs, id.index(), "graph", entry.launch.span);
        }
        LaunchTarget::Kernels => {}
    }
    for (i, binding) in entry.launch.bindings.iter().enumerate() {
        check_binding(cx, entry, binding);
        let twice = entry.launch.bindings[..i].iter().any(|b| b.source == binding.source);
        cx.require(!twice, rule::BINDING, entry.launch.span, || "a launch argument is given twice".into());
    }
}

fn check_binding<'m>(cx: &mut Checker<'m>, entry: &'m Entry, binding: &Binding) {
    let module = cx.module;
    let span: Span = entry.launch.span;
    let Some(param) = cx.lookup(&entry.params, binding.param as usize, "entry parameter", span) else {
        return;
    };
    let fits = match binding.source {
        BindingSource::Tensor(id) => {
            let Some(tensor) = cx.lookup(&module.tensors, id.index(), "tensor", span) else { return };
            tensor.storage == Storage::Launch && matches!(param.ty, EntryTy::Tensor(_) | EntryTy::Array(_))
        }
        BindingSource::Cache(id) => {
            if cx.lookup(&module.caches, id.index(), "cache", span).is_none() {
                return;
            }
            param.ty == EntryTy::PagedKvCache
        }
        BindingSource::Param(id) => {
            let Some(target) = cx.lookup(&module.params, id.index(), "parameter", span) else { return };
            target.source == ParamSource::Entry && matches!(param.ty, EntryTy::Scalar(_))
        }
    };
    let name = &param.name;
    cx.require(fits, rule::BINDING, span, || format!("`{name}` is bound to something of another kind"));
}
