//! A workload with the file that it uses.

use wsp_diag::Diagnostic;
use wsp_ir::Module;
use wsp_ir::workload::{ParamSource, WorkloadModule};
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{CompileOptions, ParamValue, Target};

/// A workload as read, with the kernels that it uses.
#[derive(Clone, Debug)]
pub(in crate::commands) struct Source {
    /// What it says.
    pub(in crate::commands) module: WorkloadModule,
    /// The used file; none when all kernels are only declared.
    pub(in crate::commands) library: Option<Module>,
}

/// Ties a workload to its kernels and applies a schedule: the one named, else the source's.
///
/// # Errors
/// What does not fit, and what the target cannot do.
pub(in crate::commands) fn plan(
    source: &Source,
    schedule: Option<&str>,
    max_blocks: Option<u32>,
    target: &'static Target,
) -> Result<WorkloadPlan, Vec<Diagnostic>> {
    let schedule = schedule.map(str::to_owned);
    let mut options = CompileOptions { schedule, target, ..CompileOptions::default() };
    if let Some(max_blocks) = max_blocks {
        options.max_blocks = max_blocks;
    }
    WorkloadPlan::new(source.module.clone(), source.library.as_ref(), &options).map_err(|found| found.0)
}

/// Values of the used file's parameters: those that the user sets, before them the workload's own defaults.
pub(in crate::commands) fn library_values(
    source: &Source,
    set: &[(String, ParamValue)],
) -> Vec<(String, ParamValue)> {
    let Some(library) = &source.library else { return Vec::new() };
    let shared = source.module.params.iter().filter(|p| library.param_named(&p.name).is_some());
    let defaults = shared.filter_map(|param| match &param.source {
        ParamSource::Set(Some(default)) => {
            Some((param.name.clone(), ParamValue::Int(default.as_const()?.into())))
        }
        ParamSource::Set(None) | ParamSource::Derived(_) => None,
    });
    let known = set.iter().filter(|(name, _)| library.param_named(name).is_some());
    defaults.chain(known.cloned()).collect()
}
