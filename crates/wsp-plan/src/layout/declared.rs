//! Layouts of a workload before its values are known: names and ranks of tensors of its used file, and arguments of declared kernels.

use super::codes;
use super::words::{in_python, pending_message, written};
use crate::workload::modes;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::verify::LAYOUT;
use wsp_ir::workload::{
    Access, AccessMode, ArgValue, Layout, NodeKind, SchedulePolicy, Task, WorkloadModule, each_node,
};
use wsp_ir::{Module, Storage, dim_text};

/// Refuses pending sums that tasks of declared kernels or the caller of a run read. What only adds to them (`inout`) adds to the part of its tile.
pub(crate) fn check_arguments(module: &WorkloadModule, policy: &SchedulePolicy) -> Vec<Diagnostic> {
    let is_added_up = |layout: &&Layout| policy.relayouts.iter().any(|of| of.tensor == layout.tensor);
    let pending: Vec<&Layout> =
        policy.layouts.iter().filter(|layout| !layout.pending.is_empty() && !is_added_up(layout)).collect();
    let mut found = Vec::new();
    if pending.is_empty() {
        return found;
    }
    for workload in &module.workloads {
        each_node(&workload.body, &mut |node| {
            if let NodeKind::Task(task) = &node.kind {
                found.extend(pending_arguments(module, task, &pending));
            }
        });
    }
    // What no task reads is a result of the run; tensors of a used file are looked at where the file is known.
    let own = |layout: &&Layout| module.tensors.iter().any(|tensor| tensor.name == layout.tensor);
    for layout in pending.into_iter().filter(own) {
        let name = pending_message(&layout.tensor, layout.pending[0]);
        if found.iter().all(|fault: &Diagnostic| fault.message != name) {
            found.push(refused(layout, layout.span, "its caller reads it"));
        }
    }
    found
}

/// A tensor whose parts of sums are read at a place.
fn refused(layout: &Layout, span: Span, label: &str) -> Diagnostic {
    let dims: Vec<String> = layout.dims.iter().map(|dim| dim_text(*dim)).collect();
    let dims = dims.join(", ");
    Diagnostic::error(codes::PENDING, pending_message(&layout.tensor, layout.pending[0]))
        .at(span, label)
        .help(written("write", &layout.tensor, &dims, false))
        .python(format!("write `{}`", in_python(&layout.tensor, &dims)))
}

/// The arguments of a task by which it reads one of these tensors.
fn pending_arguments(module: &WorkloadModule, task: &Task, pending: &[&Layout]) -> Vec<Diagnostic> {
    let kernel = &module.kernels[task.kernel.index()];
    let regions = task.args.iter().filter_map(|arg| match &arg.value {
        ArgValue::Access(access) => Some(access),
        ArgValue::Scalar(_) => None,
    });
    let read = regions.zip(modes(kernel)).filter(|(_, mode)| *mode == AccessMode::In);
    let fault = |(access, _): (&Access, AccessMode)| {
        let name = &module.tensors[access.tensor.index()].name;
        let layout = pending.iter().find(|layout| layout.tensor == *name)?;
        let fault = refused(layout, access.span, &format!("kernel `{}` reads it here", kernel.name));
        Some(fault.label(layout.span, "its layout"))
    };
    read.filter_map(fault).collect()
}

/// Refuses layouts of tensors that neither the workload nor its used file has, or of another rank, and pending sums that the caller of a run reads.
pub(crate) fn check_names(
    module: &WorkloadModule,
    policy: &SchedulePolicy,
    library: Option<&Module>,
) -> Vec<Diagnostic> {
    let Some(library) = library else { return Vec::new() };
    let own = |layout: &&Layout| module.tensors.iter().all(|tensor| tensor.name != layout.tensor);
    let wrong = |layout: &Layout| {
        let Some(tensor) = library.tensors.iter().find(|tensor| tensor.name == layout.tensor) else {
            let known: Vec<&str> = library.tensors.iter().map(|tensor| &*tensor.name).collect();
            return Some(layout.unknown(LAYOUT, layout.span, &known));
        };
        if let Some((message, help)) = layout.fault(tensor.rank()) {
            return Some(Diagnostic::error(LAYOUT, message).at(layout.span, "its layout").help(help));
        }
        let is_added_up = policy.relayouts.iter().any(|of| of.tensor == layout.tensor);
        let is_read = tensor.storage == Storage::Launch && !layout.pending.is_empty() && !is_added_up;
        is_read.then(|| refused(layout, layout.span, "its caller reads it"))
    };
    policy.layouts.iter().chain(&policy.relayouts).filter(own).filter_map(wrong).collect()
}
