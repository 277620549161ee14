//! Tensors that the launch binds to one argument of the host entry are one memory.
//!
//! What a kernel stores to one of them it stores to all, so dependences, views and outputs must see one tensor. The first
//! of them stands for the others in every function.

use super::codes;
use crate::{TensorUse, walk};
use wsp_core::TensorId;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::{BindingSource, Module};

/// Makes functions name the first tensor of each argument only; returns, per tensor, the one that stands for it.
///
/// # Errors
/// When tensors of one argument differ in rank.
pub(super) fn unify(module: &mut Module) -> Result<Vec<TensorId>, Vec<Diagnostic>> {
    let first = first(module)?;
    rename(module, &first);
    Ok(first)
}

/// Makes functions name those that stand for others.
pub(super) fn rename(module: &mut Module, first: &[TensorId]) {
    for function in &mut module.functions {
        walk::tensors_mut(&mut function.body, &mut |tensor| *tensor = first[tensor.index()]);
    }
}

/// Per tensor, the first one of its argument.
///
/// # Errors
/// When tensors of one argument differ in rank.
pub(super) fn first(module: &Module) -> Result<Vec<TensorId>, Vec<Diagnostic>> {
    let mut first: Vec<TensorId> = (0..module.tensors.len()).map(|i| TensorId(i as u32)).collect();
    let mut wrong = Vec::new();
    let bindings = module.entry.as_ref().map_or(&[][..], |entry| &entry.launch.bindings);
    for (at, binding) in bindings.iter().enumerate() {
        for earlier in bindings[..at].iter().filter(|earlier| earlier.param == binding.param) {
            for (a, b) in pairs(module, &earlier.source, &binding.source) {
                let (a, b) = (first[a.index()], first[b.index()]);
                let (low, high) = (a.min(b), a.max(b));
                if module.tensors[low.index()].rank() != module.tensors[high.index()].rank() {
                    wrong.push(different_ranks(module, low, high));
                    continue;
                }
                first.iter_mut().filter(|f| **f == high).for_each(|f| *f = low);
            }
        }
    }
    if wrong.is_empty() { Ok(first) } else { Err(wrong) }
}

/// Gives every tensor the use of all that share its memory.
pub(super) fn share_uses(first: &[TensorId], uses: &mut [TensorUse]) {
    let mut all = vec![TensorUse::default(); uses.len()];
    for (of, used) in first.iter().zip(uses.iter()) {
        all[of.index()].read |= used.read;
        all[of.index()].written |= used.written;
    }
    for (of, used) in first.iter().zip(uses) {
        *used = all[of.index()];
    }
}

/// Tensors of two bindings to one argument that are the same memory.
fn pairs(module: &Module, a: &BindingSource, b: &BindingSource) -> Vec<(TensorId, TensorId)> {
    match (a, b) {
        (BindingSource::Tensor(a), BindingSource::Tensor(b)) => vec![(*a, *b)],
        (BindingSource::Cache(a), BindingSource::Cache(b)) => {
            let (a, b) = (&module.caches[a.index()], &module.caches[b.index()]);
            vec![(a.keys, b.keys), (a.values, b.values)]
        }
        _ => Vec::new(),
    }
}

fn different_ranks(module: &Module, a: TensorId, b: TensorId) -> Diagnostic {
    let (a, b) = (&module.tensors[a.index()], &module.tensors[b.index()]);
    let message = format!("`{}` and `{}` are one array, but differ in rank", a.name, b.name);
    Diagnostic::error(codes::ALIAS_RANKS, message)
        .at(b.span, format!("{}", counted(b.rank(), "dimension")))
        .label(a.span, format!("{}", counted(a.rank(), "dimension")))
        .note("the launch binds both to one argument")
        .help("give both the same shape, or bind different arguments")
}
