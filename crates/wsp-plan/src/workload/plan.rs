//! Workloads with their kernels and schedule.

use super::link::{Functions, link, named};
use super::schedule::{LoweredSchedule, lower_schedule};
use crate::layout::declared::check_names;
use crate::lower::{LoweredPlan, lower_library};
use crate::options::CompileOptions;
use std::sync::Arc;
use wsp_core::FuncId;
use wsp_diag::{Diagnostic, Diagnostics, SourceMap};
use wsp_ir::Module;
use wsp_ir::workload::WorkloadModule;
use wsp_ir::workload::verify::verify;

/// A workload that is tied to the kernels of its used file, with the schedule that was asked for.
#[derive(Clone, Debug)]
pub struct WorkloadPlan {
    /// The workload. Arguments of tasks of a used file's kernels stand in the order of the descriptor's fields.
    pub module: WorkloadModule,
    /// Its schedule.
    pub schedule: LoweredSchedule,
    /// The used file; none where kernels are declared.
    pub library: Option<WorkloadLibrary>,
    /// Options the plan was made with.
    pub options: CompileOptions,
    /// The texts that its spans are of, where they are known ([`PlanSource::with_sources`](crate::PlanSource::with_sources)).
    pub sources: Option<Arc<SourceMap>>,
}

/// The used file of a workload.
#[derive(Clone, Debug)]
pub struct WorkloadLibrary {
    /// The file, lowered for the kernels that tasks call.
    pub plan: LoweredPlan,
    /// The function of each kernel of the workload.
    pub functions: Functions,
}

impl WorkloadPlan {
    /// Ties a workload to the kernels of `library`, and applies its schedule.
    ///
    /// # Errors
    /// A module that breaks a rule of [`wsp_ir::workload::verify`], kernels that are not there, tasks that do not fit
    /// their descriptors, a schedule that the target cannot keep.
    pub fn new(
        mut module: WorkloadModule,
        library: Option<&Module>,
        options: &CompileOptions,
    ) -> Result<WorkloadPlan, Diagnostics> {
        let faults: Vec<Diagnostic> = verify(&module).into_iter().filter(Diagnostic::is_error).collect();
        if !faults.is_empty() {
            return Err(faults.into());
        }
        // Kernels take their units from the file of the functions that they are.
        let functions = link(&mut module, library)?;
        let schedule = lower_schedule(&module, options.schedule.as_deref(), options.target)?;
        let faults = check_names(&module, &schedule.policy, library);
        if !faults.is_empty() {
            return Err(faults.into());
        }
        let library = match library {
            None => None,
            Some(library) => {
                let called =
                    named(&module).kernels.into_iter().filter_map(|kernel| functions[kernel.index()]);
                let called: Vec<FuncId> = called.collect();
                Some(WorkloadLibrary { plan: lower_library(library, &called, options)?, functions })
            }
        };
        Ok(WorkloadPlan { module, schedule, library, options: options.clone(), sources: None })
    }
}
