//! Entries of task graphs: WSP0330 and WSP0331.

use super::{Checker, rule};
use crate::{Consumer, Elem, FuncKind, KernelEntry, Storage};
use wsp_core::FuncId;

/// Checks entries and, in a module that has some, what else it has. Runs after functions have been looked at.
pub(super) fn check(cx: &mut Checker<'_>) {
    let module = cx.module;
    if module.kernel_entries.is_empty() {
        return;
    }
    for (i, entry) in module.kernel_entries.iter().enumerate() {
        check_function(cx, entry);
        check_tensors(cx, entry);
        let again = module.kernel_entries[..i].iter().any(|other| other.function == entry.function);
        cx.require(!again, rule::KERNEL_ENTRY, entry.span, || "two entries have one function".into());
    }
    if let Some(host) = &module.entry {
        cx.report(rule::KERNEL_ENTRY, host.span, "a module with entries has a host entry");
    }
    for (i, function) in module.functions.iter().enumerate() {
        let stray = match function.kind {
            FuncKind::Kernel { .. } => module.kernel_entry(FuncId(i as u32)).is_none(),
            FuncKind::Generator { .. } => true,
            FuncKind::Helper => false,
        };
        cx.require(!stray, rule::KERNEL_ENTRY, function.span, || {
            format!("`{}` stands in a module with entries and is none", function.name)
        });
    }
    check_uses(cx);
}

fn check_function<'m>(cx: &mut Checker<'m>, entry: &'m KernelEntry) {
    let module = cx.module;
    let Some(function) = cx.lookup(&module.functions, entry.function.index(), "function", entry.span) else {
        return;
    };
    let descriptor = match function.kind {
        FuncKind::Kernel { descriptor: Some(id) } => module.structs.get(id.index()),
        _ => None,
    };
    let fits = descriptor
        .is_some_and(|def| def.fields.len() == KernelEntry::WORDS && def.consumer == Consumer::None);
    let name = &function.name;
    cx.require(fits, rule::KERNEL_ENTRY, entry.span, || {
        format!("`{name}` is no kernel with a descriptor of two words that nobody takes")
    });
}

fn check_tensors<'m>(cx: &mut Checker<'m>, entry: &'m KernelEntry) {
    let module = cx.module;
    let mut seen = Vec::new();
    for id in entry.tensors() {
        let Some(tensor) = cx.lookup(&module.tensors, id.index(), "tensor", entry.span) else { continue };
        let name = &tensor.name;
        cx.require(!seen.contains(&id), rule::ENTRY_TENSOR, entry.span, || {
            format!("tensor `{name}` is given twice")
        });
        seen.push(id);
        let bound = tensor.storage == Storage::Launch && matches!(tensor.elem, Elem::Fixed(_));
        cx.require(bound, rule::ENTRY_TENSOR, tensor.span, || {
            format!("`{name}` is no tensor of the launch with a fixed element type")
        });
    }
    let workspaces = entry.params.len() - entry.arguments().count();
    cx.require(workspaces <= 1, rule::ENTRY_TENSOR, entry.span, || {
        format!("an entry has one workspace at most, not {workspaces}")
    });
}

/// Every tensor that a function uses is one of its entry.
fn check_uses(cx: &mut Checker<'_>) {
    let module = cx.module;
    for (function, tensor, span) in std::mem::take(&mut cx.tensors) {
        let own = |entry: &&KernelEntry| {
            module.functions.get(entry.function.index()).is_some_and(|f| std::ptr::eq(f, function))
        };
        let entry = module.kernel_entries.iter().find(own);
        let given = entry.is_some_and(|entry| entry.tensors().any(|id| id == tensor));
        let name = &module.tensors[tensor.index()].name;
        cx.require(given, rule::ENTRY_TENSOR, span, || {
            format!("`{}` uses tensor `{name}`, which is not bound to it", function.name)
        });
    }
}
