//! Tasks of library kernels: a workload in the place of generators.

mod kernels;
mod sinks;
mod touch;

pub(crate) use kernels::LibraryKernels;
pub(crate) use sinks::no_slot;
pub(crate) use touch::LibraryTouch;

use self::sinks::{Sizing, SubmitFault, Submitting};
use super::equal::{EqualRegions, NamedTensor};
use super::faults::generation;
use super::settings::{RunSettings, stopped};
use super::tables::tables;
use crate::bind::Bound;
use crate::bind::params::written;
use crate::codes;
use crate::kernels::KernelTable;
use crate::machine::Launch;
use crate::planner::Planner;
use crate::prepared::Prepared;
use crate::runner::KernelRunner;
use crate::sizes::Sizes;
use crate::sizing::SizingSink;
use wsp_core::{FuncId, KernelId, ParamId, StructId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{self, WorkloadModule};
use wsp_ir::{FuncKind, ParamSource};
use wsp_kernel::{Trap, Value};
use wsp_plan::workload::{Bindings, Functions, LoweredSchedule, bind, expand};
use wsp_plan::{Arrays, LoweredPlan, Needs, ParamValue};
use wsp_runtime::Submitter;

/// A linked workload all of whose kernels are those of a library.
#[derive(Debug)]
pub(crate) struct LibraryTasks {
    pub(crate) module: WorkloadModule,
    pub(crate) functions: Functions,
    pub(crate) schedule: LoweredSchedule,
}

/// Kernels of a launch by the workload's numbers.
pub(crate) struct Callees {
    of_kernel: Vec<Option<(KernelId, StructId)>>,
}

impl LibraryTasks {
    /// Values of the workload's parameters: those of the library where names are shared, else the user's.
    ///
    /// # Errors
    /// A value does not fit, or is not the extent of arrays whose name it has.
    pub(crate) fn bind(
        &self,
        plan: &LoweredPlan,
        bound: &Bound,
        set: &[(String, ParamValue)],
        arrays: &Arrays,
    ) -> Result<Bindings, Vec<Diagnostic>> {
        let library = plan.module.params.iter().map(|p| p.name.as_str()).zip(&bound.params);
        let shared = library.filter(|(name, _)| self.module.param_named(name).is_some());
        let shared: Vec<(String, ParamValue)> =
            shared.filter_map(|(name, value)| Some((name.to_owned(), as_integer((*value)?)?))).collect();
        let differing = |(name, value): &(String, ParamValue)| {
            let given = set.iter().find(|(set, _)| set == name && is_extent(plan, name))?.1;
            (given != *value).then(|| differs(plan, name, given, *value))
        };
        let differing: Vec<Diagnostic> = shared.iter().filter_map(differing).collect();
        if !differing.is_empty() {
            return Err(differing);
        }
        let own = set.iter().filter(|(name, _)| !self.is_library_name(plan, name));
        let all: Vec<(String, ParamValue)> = own.cloned().chain(shared).collect();
        bind(&self.module, &all, &tables(&self.module, arrays)?)
    }

    /// The values that the library is given: what the user set of its names, before them the workload's own defaults.
    pub(crate) fn library_values(
        &self,
        plan: &LoweredPlan,
        set: &[(String, ParamValue)],
    ) -> Vec<(String, ParamValue)> {
        let defaults = self.module.params.iter().filter_map(|param| {
            let workload::ParamSource::Set(Some(default)) = &param.source else { return None };
            let id = plan.module.param_named(&param.name)?;
            let settable =
                matches!(plan.module.params[id.index()].source, ParamSource::Set { .. } | ParamSource::Entry);
            Some((param.name.clone(), ParamValue::Int(default.as_const().filter(|_| settable)?.into())))
        });
        // Names that only the workload knows are its own, and what it calls as an extent of arrays has to be that extent; names that
        // neither knows are reported there.
        let set = set.iter().filter(|(name, _)| {
            self.module.param_named(name).is_none()
                || self.is_library_name(plan, name) && !is_extent(plan, name)
        });
        defaults.chain(set.cloned()).collect()
    }

    /// What the kernels that tasks call depend on, and the parameters of the library whose values the workload takes.
    pub(crate) fn needs(&self, plan: &LoweredPlan) -> Needs {
        plan.needs(self.module.params.iter().filter_map(|p| plan.module.param_named(&p.name)))
    }

    /// Names that the user may set and that are not parameters of the library.
    pub(crate) fn settable(&self, plan: &LoweredPlan, needs: &Needs) -> Vec<&str> {
        let own = self.module.params.iter().filter(|p| matches!(p.source, workload::ParamSource::Set(_)));
        let own = own.map(|p| p.name.as_str()).filter(|name| !self.is_library_name(plan, name));
        own.chain(needs.max_blocks.then_some("max_blocks")).collect()
    }

    fn is_library_name(&self, plan: &LoweredPlan, name: &str) -> bool {
        let params = (0..plan.module.params.len()).map(|i| ParamId(i as u32));
        params.into_iter().any(|id| plan.module.user_names(id).any(|n| n == name))
    }

    /// The kernels of a launch.
    pub(crate) fn callees(&self, plan: &LoweredPlan, kernels: &KernelTable) -> Callees {
        let callee = |func: &Option<FuncId>| {
            let func = (*func)?;
            let FuncKind::Kernel { descriptor } = plan.module.functions[func.index()].kind else {
                return None;
            };
            Some((kernels.of_function(func)?, descriptor?))
        };
        Callees { of_kernel: self.functions.iter().map(callee).collect() }
    }

    /// Counts every task without running it.
    ///
    /// # Errors
    /// A task cannot be, or generation is cancelled.
    pub(crate) fn size(
        &self,
        bindings: &Bindings,
        planner: &mut Planner<'_>,
        kernels: &KernelTable,
    ) -> Result<Sizes, Vec<Diagnostic>> {
        let callees = self.callees(planner.plan, kernels);
        let inner = SizingSink::new(planner, kernels, false);
        let mut sink = Sizing { module: &self.module, callees, planner: &*planner, inner };
        expand(&self.module, bindings, &self.schedule, &mut sink)
            .map_err(|error| vec![generation(error, |fault| fault)])?;
        let Sizing { inner, .. } = sink;
        inner.finish(planner).map_err(|fault| vec![fault])
    }

    /// Generates every task for the runtime.
    ///
    /// # Errors
    /// A task cannot be, or the runtime takes no more.
    pub(crate) fn submit<'k>(
        &self,
        bindings: &Bindings,
        planner: &Planner<'k>,
        kernels: &'k KernelTable,
        submitter: &mut Submitter<'_, KernelRunner<'k>>,
        settings: &RunSettings,
    ) -> Result<(), Diagnostic> {
        let callees = self.callees(planner.plan, kernels);
        let mut sink = Submitting {
            module: &self.module,
            touch: LibraryTouch::new(&self.module, callees, kernels, planner.launch()),
            submitter,
            workers: settings.config.threads,
            explicit: settings.config.deps.takes_edges(),
            equal: EqualRegions::new(settings.regions),
        };
        let expanded = expand(&self.module, bindings, &self.schedule, &mut sink);
        let fault = |fault| match fault {
            SubmitFault::Task(fault) => fault,
            SubmitFault::Stopped(reason) => stopped(&reason),
            SubmitFault::Regions(fault) => fault.diagnostic(&NamedTensor::of_library(&planner.plan.module)),
        };
        expanded.map(|_| ()).map_err(|error| generation(error, fault))
    }

    /// What tasks touch, for one of several that look at them while kernels run.
    pub(crate) fn touch_launched<'a>(
        &'a self,
        planner: &Planner<'a>,
        kernels: &'a KernelTable,
    ) -> LibraryTouch<'a> {
        LibraryTouch::new(&self.module, self.callees(planner.plan, kernels), kernels, planner.launch())
    }

    /// What tasks touch.
    pub(crate) fn touch<'a>(&'a self, plan: &'a LoweredPlan, prepared: &'a Prepared) -> LibraryTouch<'a> {
        let Prepared { bound, env, sizes, kernels, .. } = prepared;
        let launch = Launch { plan, bound, env, sizes: Some(sizes) };
        LibraryTouch::new(&self.module, self.callees(plan, kernels), kernels, launch)
    }
}

/// Whether the library has a parameter of this name that is an extent of arrays.
fn is_extent(plan: &LoweredPlan, name: &str) -> bool {
    let param = plan.module.param_named(name);
    param.is_some_and(|id| matches!(plan.module.params[id.index()].source, ParamSource::Shape { .. }))
}

/// The report of a value that is not the extent of arrays whose name it has.
fn differs(plan: &LoweredPlan, name: &str, given: ParamValue, extent: ParamValue) -> Diagnostic {
    let (given, extent) = (written(given), written(extent));
    let span =
        plan.module.param_named(name).map_or_else(Span::default, |id| plan.module.params[id.index()].span);
    Diagnostic::error(codes::BAD_PARAMETER, format!("`{name}` is {given}, and arrays have {extent} of it"))
        .at(span, "declared here")
        .help(format!("give `{name}={extent}`, or arrays that have {given}"))
}

/// A value as the workload takes it; its parameters are integers.
fn as_integer(value: Value) -> Option<ParamValue> {
    value.as_int().map(ParamValue::Int)
}

impl Callees {
    /// The kernel and the type of its descriptor.
    fn get(&self, kernel: KernelId) -> Result<(KernelId, StructId), Diagnostic> {
        self.of_kernel[kernel.index()].ok_or_else(|| {
            Trap::internal("a task calls a kernel that was not linked".to_owned(), Span::default()).into()
        })
    }
}
