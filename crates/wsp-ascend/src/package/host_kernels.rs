//! Kernels of a workload that the host runs, between those of cores.

use super::Source;
use super::kernels::{self, Task};
use crate::kernels::codes;
use crate::orchestration::{Made, walked};
use crate::writer::Writer;
use wsp_backend::PackagePart;
use wsp_core::{ExecPool, FuncId};
use wsp_diag::Diagnostic;
use wsp_plan::LoweredPlan;

/// The end of `orchestration.cpp`.
pub(super) const NO_RUNTIME: &str = "
#if defined(WSP_TASK_RUNTIME)
#error \"some kernels of this package run on the host, and the public task runtime runs tasks on cores alone\"
#endif
";

/// The tasks of kernels of the host have no pool of cores.
pub(super) fn place(made: &mut [Made], on_host: &[FuncId]) {
    for Made { source, .. } in made.iter_mut().filter(|made| on_host.contains(&made.kernel)) {
        source.unit = ExecPool::Any;
        source.tasks.iter_mut().for_each(|task| task.unit = ExecPool::Any);
    }
}

/// Nothing else is asked for before.
///
/// # Errors
/// A part for a device alone.
pub(super) fn refuse_alone(source: &Source<'_>, part: PackagePart) -> Result<(), Diagnostic> {
    let Some(host) = source.on_host.first().filter(|_| part == PackagePart::Device) else { return Ok(()) };
    let host = &source.plan.module.functions[host.index()];
    let message =
        format!("kernel `{}` runs on the host, which a package for a device alone leaves out", host.name);
    let fault = Diagnostic::error(codes::NOT_EMITTED, message).at(host.span, "this kernel");
    Err(fault.help("write the whole package, which has the part of the host"))
}

/// # Errors
/// Tasks that follow from what tasks write: which of them the host runs has to be known before a run.
pub(super) fn refuse(source: &Source<'_>, plan: &LoweredPlan, made: &[Made]) -> Result<(), Diagnostic> {
    let Some(host) = source.on_host.first() else { return Ok(()) };
    let function = |id: FuncId| &plan.module.functions[id.index()];
    let host = function(*host);
    let Some(made) = made.iter().find(|made| walked(plan, made)) else { return Ok(()) };
    let walks = function(made.kernel);
    let message = format!(
        "which tasks kernel `{}` has follows from what tasks write, and kernel `{}` runs on the host",
        walks.name, host.name
    );
    let fault = Diagnostic::error(codes::NOT_EMITTED, message).at(walks.span, "this kernel");
    let fault = fault.note("what the host and cores wait for is found before a package runs, from all tasks");
    Err(fault.help(format!("leave `on host` out of the declaration of `{}`", host.name)))
}

/// `host_kernels.hpp`.
pub(super) fn text(tasks: &[Task<'_>]) -> String {
    let mut out = Writer::default();
    out.line("// The kernels that the host runs, and the task of a number. Emitted by PTO-WSP; do not edit.");
    out.line("//");
    out.line("// They are compiled for the host, by headers that stand in for those of the platform.");
    out.line("#pragma once");
    out.line("");
    out.line("#include \"kernel_ids.h\"");
    out.line("");
    kernels::include(&mut out, tasks.iter().filter(|task| task.on_host));
    out.line("");
    kernels::switch(&mut out, "inline bool host_dispatch", "HOST_KERNEL_LIST");
    out.line("");
    out.open("inline bool is_on_host(std::uint16_t kernel) {");
    out.open("switch (kernel) {");
    out.line("#define ON_HOST(id, name, params, unit) case id: return true;");
    out.line("HOST_KERNEL_LIST(ON_HOST)");
    out.line("#undef ON_HOST");
    out.line("default: return false;");
    out.close("}");
    out.close("}");
    out.finish()
}
