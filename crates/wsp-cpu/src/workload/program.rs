//! A workload that can be listed, simulated and run any number of times.

use super::aicpu;
use super::codes;
use super::declared_kernels::DeclaredKernels;
use super::equal::NamedTensor;
use super::faults::refuse_missed;
use super::inputs::{WorkloadInputs, WorkloadOptions};
use super::layouts::Placed;
use super::library::{LibraryKernels, LibraryTasks};
use super::list::Listing;
use super::outcome::WorkloadOutcome;
use super::prepared::PreparedWorkload;
use super::registry::KernelRegistry;
use super::run;
use super::settings;
use super::simulated::SimulatedWorkload;
use super::tables::bound;
use super::tensors::slots;
use super::touch::{Stated, Toucher};
use super::unit::unit;
use crate::program::Program;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_backend::{Detail, GraphListing, LaunchTable, Transferred};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::Module;
use wsp_ir::tg::TgModule;
use wsp_ir::workload::WorkloadModule;
use wsp_kernel::{CodeCache, Engine, Mode};
use wsp_plan::target::model::Model;
use wsp_plan::workload::{FirstReads, LoweredSchedule, WorkloadLibrary, WorkloadPlan};
use wsp_plan::{CompileOptions, LoweredPlan};
use wsp_runtime::Deps;

/// A workload with its schedule and with bodies for its kernels.
#[derive(Debug)]
pub struct WorkloadProgram {
    pub(super) kind: Kind,
    registry: KernelRegistry,
}

#[derive(Debug)]
pub(super) enum Kind {
    Declared(Arc<DeclaredKernels>),
    Library(Arc<LibraryKernels>),
}

impl WorkloadProgram {
    /// Links a workload to the kernels of `library`, and applies its schedule.
    ///
    /// # Errors
    /// As [`WorkloadPlan::new`].
    pub fn new(
        module: WorkloadModule,
        library: Option<&Module>,
        options: &CompileOptions,
    ) -> Result<WorkloadProgram, Vec<Diagnostic>> {
        let plan = WorkloadPlan::new(module, library, options).map_err(|found| found.0)?;
        Ok(WorkloadProgram::of(plan, Mode::default(), Engine::default(), None))
    }

    /// The program of a plan. Kernels of its used file run with the tile operations of `mode` and on `engine`; their machine code is kept
    /// in `code`, where that is given.
    pub fn of(plan: WorkloadPlan, mode: Mode, engine: Engine, code: Option<&CodeCache>) -> WorkloadProgram {
        let (written, FirstReads { needed, unsure }) = (plan.written(), plan.first_reads());
        let WorkloadPlan { module, schedule, library, .. } = plan;
        let kind = match library {
            None => Kind::Declared(Arc::new(DeclaredKernels { module, schedule, written, needed, unsure })),
            Some(WorkloadLibrary { plan, functions }) => Kind::Library(Arc::new(LibraryKernels {
                program: Program::new(plan).with_code(code),
                tasks: LibraryTasks { module, functions, schedule },
                mode,
                engine,
            })),
        };
        WorkloadProgram { kind, registry: KernelRegistry::new() }
    }

    /// Takes bodies for declared kernels, in place of those it was given before.
    ///
    /// # Errors
    /// A body for a kernel that the workload does not declare, a body over views that does not fit the declaration.
    pub fn with_kernels(mut self, registry: KernelRegistry) -> Result<WorkloadProgram, Vec<Diagnostic>> {
        let kernels = match &self.kind {
            Kind::Declared(declared) => declared.module.kernels.as_slice(),
            Kind::Library(_) => &[],
        };
        let known: Vec<&str> = kernels.iter().map(|k| k.name.as_str()).collect();
        let unknown = registry.names().filter(|name| !known.contains(name)).map(|name| {
            let message = format!("the workload declares no kernel `{name}`");
            let fault = Diagnostic::error(codes::UNKNOWN_KERNEL, message);
            match (&self.kind, did_you_mean(name, known.iter().copied())) {
                (Kind::Library(_), _) => {
                    fault.note("its kernels are those of the used file, which have bodies")
                }
                (_, Some(near)) => fault.help(format!("did you mean `{near}`?")),
                (_, None) => fault,
            }
        });
        let unknown: Vec<Diagnostic> = unknown.collect();
        let misfits =
            kernels.iter().filter_map(|kernel| Some(registry.view_kernel(&kernel.name)?.misfits(kernel)));
        let faults: Vec<Diagnostic> = unknown.into_iter().chain(misfits.flatten()).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        self.registry = registry;
        Ok(self)
    }

    /// The workload.
    pub fn module(&self) -> &WorkloadModule {
        match &self.kind {
            Kind::Declared(declared) => &declared.module,
            Kind::Library(library) => &library.tasks.module,
        }
    }

    /// The schedule.
    pub fn schedule(&self) -> &LoweredSchedule {
        match &self.kind {
            Kind::Declared(declared) => &declared.schedule,
            Kind::Library(library) => &library.tasks.schedule,
        }
    }

    /// The used file, lowered for the kernels that tasks call; none where kernels are declared.
    pub fn library(&self) -> Option<&LoweredPlan> {
        match &self.kind {
            Kind::Declared(_) => None,
            Kind::Library(library) => Some(library.program.lowered()),
        }
    }

    /// Names of the tensors that some task may write; none where kernels are those of a used file.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        let declared = match &self.kind {
            Kind::Declared(declared) => Some(&declared.written),
            Kind::Library(_) => None,
        };
        declared.into_iter().flatten().map(String::as_str)
    }

    /// Whether arrays and values are what the workload takes.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn fits(&self, inputs: &WorkloadInputs) -> Result<(), Vec<Diagnostic>> {
        match &self.kind {
            Kind::Declared(declared) => bound(&declared.module, inputs).map(drop),
            Kind::Library(kernels) => {
                let options = run::launch_options(kernels, inputs, &WorkloadOptions::default());
                kernels.program.bind_tasks(&kernels.tasks, &inputs.arrays, &options).map(drop)
            }
        }
    }

    /// The tasks and their edges, those of the schedule where `deps` is not given, without running anything. Of the options only
    /// `cancel` has a meaning here.
    ///
    /// # Errors
    /// Wrong values, faults of the workload, a graph that depends on computed values or is too large, an option that
    /// has no meaning for a graph.
    pub fn graph(
        &self,
        inputs: &WorkloadInputs,
        deps: Option<Deps>,
        detail: Detail,
        options: &WorkloadOptions,
    ) -> Result<GraphListing, Vec<Diagnostic>> {
        settings::refuse_for_graph(options).map_err(|fault| vec![fault])?;
        let deps = deps.unwrap_or(self.schedule().policy.deps);
        self.listing(inputs, options, |listing, toucher, tensors| {
            listing.list(toucher, tensors, deps, detail)
        })
    }

    /// The tasks and their edges under the schedule as a unit of task graphs. Of the inputs only parameters and tables count.
    ///
    /// # Errors
    /// As [`graph`](Self::graph); tasks that conflict without an order; what a unit has no form for.
    pub fn unit(
        &self,
        inputs: &WorkloadInputs,
        options: &WorkloadOptions,
    ) -> Result<TgModule, Vec<Diagnostic>> {
        settings::refuse_for_graph(options).map_err(|fault| vec![fault])?;
        // The edges of a run, whose tasks wait under `exact` as under `overlap`.
        let deps = settings::deps(self.schedule().policy.deps);
        let detail = Detail { accesses: true, missed: deps == Deps::Explicit, ..Detail::default() };
        self.listing(inputs, options, |listing, toucher, tensors| {
            let listed = listing.list(toucher, tensors, deps, detail)?;
            refuse_missed(listing.module, &listed)?;
            unit(listing.module, listing.bindings, &listed)
        })
    }

    /// The workload's program, and the bytes that a launch on `aicpus` AICPUs transfers. Of the inputs only parameters and
    /// tables count.
    ///
    /// # Errors
    /// Wrong values, a workload that no program can be made of, a fault of its tasks.
    pub fn transfer(
        &self,
        inputs: &WorkloadInputs,
        aicpus: u16,
        cancel: Option<&AtomicBool>,
    ) -> Result<Transferred, Vec<Diagnostic>> {
        let options = WorkloadOptions::default();
        self.listing(inputs, &options, |listing, _, _| {
            aicpu::moved(listing.module, listing.schedule, listing.bindings, aicpus, cancel)
        })
    }

    /// The tasks and what they follow from, as the table of a package.
    ///
    /// # Errors
    /// Wrong values, a fault of the tasks, more of them than a run has, numbers that no descriptor holds.
    pub(crate) fn table(
        &self,
        inputs: &WorkloadInputs,
        cancel: Option<&AtomicBool>,
    ) -> Result<LaunchTable, Vec<Diagnostic>> {
        let options = WorkloadOptions::default();
        self.listing(inputs, &options, |listing, _, _| super::table::of(listing, cancel))
    }

    /// Simulates the workload: no kernel runs, every task takes the cycles that its kernel's `cost` says, and the
    /// schedule decides the rest as in a run. What it shows is the same in every run. Every task is traced, whether
    /// options and schedule ask for it or not.
    ///
    /// # Errors
    /// As [`graph`](Self::graph), and what would fail a run: dependences that miss a hazard, an overflowing window.
    pub fn simulate(
        &self,
        inputs: &WorkloadInputs,
        options: &WorkloadOptions,
    ) -> Result<SimulatedWorkload, Vec<Diagnostic>> {
        self.simulate_on(inputs, options, None)
    }

    /// Simulates the workload on a machine: where the schedule says no number of workers, they are its units, and tasks whose kernel is not said to
    /// cost take what the machine takes for what the kernel does.
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate); a schedule that asks for more units than there are, a kernel that the machine has no figures for.
    pub fn simulate_on(
        &self,
        inputs: &WorkloadInputs,
        options: &WorkloadOptions,
        machine: Option<&Model>,
    ) -> Result<SimulatedWorkload, Vec<Diagnostic>> {
        settings::refuse_for_simulation(options).map_err(|fault| vec![fault])?;
        let simulate = |listing: &Listing<'_>, toucher: &mut dyn Toucher, tensors: &[NamedTensor]| {
            listing.simulate(toucher, tensors, options, machine)
        };
        self.listing(inputs, options, simulate)
    }

    /// What a run refuses for the order and the costs of its tasks: of tasks up to the first that others decide on, and nothing of more than `most` tasks.
    ///
    /// # Errors
    /// Conflicts that nothing orders; costs that cannot be; wrong values and arrays.
    pub fn check_order(&self, inputs: &WorkloadInputs, most: u32) -> Result<(), Vec<Diagnostic>> {
        // On one worker virtual time is longest: costs that fit there fit on any number.
        let options = WorkloadOptions { threads: 1, ..WorkloadOptions::default() };
        self.listing(inputs, &options, |listing, toucher, tensors| {
            listing.check_first(toucher, tensors, &options, most)
        })
    }

    /// Runs the workload.
    ///
    /// # Errors
    /// Wrong values or arrays, options that contradict each other or the schedule, dependences that miss a hazard,
    /// faults of the workload, the first fault of a task. The program stays usable.
    pub fn execute(
        &self,
        inputs: &WorkloadInputs,
        options: &WorkloadOptions,
    ) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
        match &self.kind {
            Kind::Declared(kernels) => run::declared(kernels, &self.registry, inputs, options),
            Kind::Library(kernels) => run::library(kernels, inputs, options),
        }
    }

    /// Checks and binds everything that a run needs, once for any number of runs. Only for declared kernels.
    ///
    /// # Errors
    /// As [`execute`](Self::execute), but for what happens while tasks run; kernels of a used file.
    pub fn prepare(
        &self,
        inputs: WorkloadInputs,
        options: WorkloadOptions,
    ) -> Result<PreparedWorkload, Vec<Diagnostic>> {
        match &self.kind {
            Kind::Declared(kernels) => PreparedWorkload::new(kernels, &self.registry, inputs, options),
            Kind::Library(_) => Err(vec![
                settings::bad_option("a workload whose kernels are those of a used file cannot be prepared")
                    .help("execute it")
                    .python("call `program.execute(…)`"),
            ]),
        }
    }

    /// Calls `f` with what a listing needs: the bound workload, what its tasks touch, and the names of the tensors.
    fn listing<R>(
        &self,
        inputs: &WorkloadInputs,
        options: &WorkloadOptions,
        f: impl FnOnce(&Listing<'_>, &mut dyn Toucher, &[NamedTensor]) -> Result<R, Vec<Diagnostic>>,
    ) -> Result<R, Vec<Diagnostic>> {
        let cancel = options.cancel.as_deref();
        match &self.kind {
            Kind::Declared(declared) => {
                let DeclaredKernels { module, schedule, .. } = &**declared;
                let bindings = &bound(module, inputs)?;
                let slots = slots(module, bindings, inputs, options.claim.as_ref())?;
                let names = NamedTensor::of_workload(module);
                let mut stated = Stated { tiles: run::tiles_of(module, bindings, schedule)? };
                if let Some(tiles) = stated.tiles.as_deref().filter(|_| self.registry.has_followed()) {
                    let registry = &self.registry;
                    Placed { module, schedule, bindings, registry, tiles, cancel }.follow(&slots)?;
                }
                f(&Listing { module, schedule, bindings, slots, cancel }, &mut stated, &names)
            }
            Kind::Library(library) => {
                let LibraryKernels { program, tasks, .. } = &**library;
                let (module, schedule) = (&tasks.module, &tasks.schedule);
                run::refuse_for_library(options).map_err(|fault| vec![fault])?;
                let launch = run::launch_options(library, inputs, options);
                let (prepared, bindings) = &program.prepare_tasks(tasks, &inputs.arrays, &launch)?;
                let slots = slots(module, bindings, inputs, options.claim.as_ref())?;
                let mut touch = tasks.touch(program.lowered(), prepared);
                let names = NamedTensor::of_library(&program.lowered().module);
                f(&Listing { module, schedule, bindings, slots, cancel }, &mut touch, &names)
            }
        }
    }
}
