//! A workload that is checked and bound once and run any number of times.

use super::declared_kernels::DeclaredKernels;
use super::inputs::{WorkloadInputs, WorkloadOptions};
use super::kept::KeptGraph;
use super::outcome::WorkloadOutcome;
use super::records::Record;
use super::registry::KernelRegistry;
use super::run::{Launch, Way};
use super::settings::bad_option;
use super::tensors::{Given, callers, in_place};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use wsp_backend::claims::{self, claimed};
use wsp_core::TensorId;
use wsp_diag::Diagnostic;
use wsp_memory::{Claim, View};
use wsp_plan::{Array, ArrayError, Arrays, ParamValue};

/// A workload of declared kernels with everything checked and bound: [`run`](Self::run) only runs tasks.
pub struct PreparedWorkload {
    registry: KernelRegistry,
    inputs: WorkloadInputs,
    options: WorkloadOptions,
    launch: Launch,
    outcome: WorkloadOutcome,
    tasks: Tasks,
    /// Whether tasks may have written tensors that are not the caller's.
    dirty: bool,
    /// Whether arrays of the caller are to be bound before the next run.
    is_released: bool,
}

/// The tasks of the next run.
#[derive(Debug)]
enum Tasks {
    /// They are generated while they run: what runs once keeps nothing.
    First,
    /// They are generated before they run, and kept if that can be.
    Second,
    /// They are generated in every run.
    Generated,
    /// Those of a sequential run.
    Kept(Vec<Record>),
    /// Those of a run on threads, with their order.
    Graph(Box<KeptGraph>),
}

impl fmt::Debug for PreparedWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedWorkload").field("inputs", &self.inputs).finish_non_exhaustive()
    }
}

impl PreparedWorkload {
    pub(crate) fn new(
        kernels: &Arc<DeclaredKernels>,
        registry: &KernelRegistry,
        inputs: WorkloadInputs,
        options: WorkloadOptions,
    ) -> Result<PreparedWorkload, Vec<Diagnostic>> {
        let launch = Launch::new(kernels, registry, &inputs, &options)?;
        let outcome = launch.outcome(registry, &options);
        let registry = registry.clone();
        let (tasks, dirty, is_released) = (Tasks::First, false, false);
        Ok(PreparedWorkload { registry, inputs, options, launch, outcome, tasks, dirty, is_released })
    }

    /// Runs the workload. Tensors that are not the caller's begin each run as they began the first. The outcome has no
    /// outputs: see [`output`](Self::output).
    ///
    /// # Errors
    /// Another run uses arrays of the caller, and one of both writes them; faults of the workload, the first fault of a task. The
    /// next run begins as if this one had not been, but for what tasks wrote to arrays of the caller.
    pub fn run(&mut self) -> Result<&WorkloadOutcome, Vec<Diagnostic>> {
        let claim = self.options.claim.clone();
        self.run_beside(claim.as_ref())
    }

    /// [`run`](Self::run) with the claim that the caller has made on its arrays for this run.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_claimed(&mut self, claim: &Arc<Claim>) -> Result<&WorkloadOutcome, Vec<Diagnostic>> {
        self.run_beside(Some(claim))
    }

    fn run_beside(&mut self, claim: Option<&Arc<Claim>>) -> Result<&WorkloadOutcome, Vec<Diagnostic>> {
        if self.is_released {
            let fault = bad_option("the bound workload has let go of its arrays");
            return Err(vec![fault.help("bind all of them before a run: `rebind`")]);
        }
        let _claim = claimed(claim, &self.launch.uses).map_err(|fault| vec![fault])?;
        if self.dirty {
            self.start_again();
            self.launch.tasks.forget_records();
            self.launch.way.arm();
        }
        self.dirty = true;
        let PreparedWorkload { launch, options, outcome, tasks, .. } = self;
        if matches!(tasks, Tasks::Second)
            && let Some(graph) = launch.kept(options)
        {
            *tasks = Tasks::Graph(Box::new(graph));
        }
        match tasks {
            Tasks::Kept(tasks) => launch.run_kept(tasks, options, outcome)?,
            Tasks::Graph(graph) => launch.run_graph(graph, options, outcome)?,
            Tasks::First | Tasks::Second | Tasks::Generated => {
                let mut kept = matches!(launch.way, Way::OneByOne(_)).then(Vec::new);
                launch.run(options, outcome, &mut kept)?;
                *tasks = match kept {
                    Some(kept) => Tasks::Kept(kept),
                    None if matches!(tasks, Tasks::First) => Tasks::Second,
                    None => Tasks::Generated,
                };
            }
        }
        Ok(&self.outcome)
    }

    /// Runs the workload once, and gives the tensors themselves.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn run_once(mut self) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
        self.run()?;
        let outputs = self.launch.tasks.into_outputs().map_err(|fault| vec![fault])?;
        Ok(WorkloadOutcome { outputs, ..self.outcome })
    }

    /// Warnings that are known before a run.
    pub(crate) fn notes(&self) -> &[Diagnostic] {
        &self.launch.notes
    }

    /// The outcome of the last run; before the first one, one of no tasks.
    pub fn outcome(&self) -> &WorkloadOutcome {
        &self.outcome
    }

    /// A copy of what the last run wrote to a tensor; none for a tensor that tasks do not write, one that is the caller's, and
    /// an unknown one.
    ///
    /// # Errors
    /// There is no memory for the copy.
    pub fn output(&self, name: &str) -> Result<Option<Array>, ArrayError> {
        let kernels = &self.launch.tasks.kernels;
        let at = kernels.module.tensors.iter().position(|t| t.name == name && kernels.written.contains(name));
        let tensor = at.map(|at| &self.launch.tasks.tensors[at]).filter(|tensor| tensor.caller().is_none());
        tensor.map(|tensor| tensor.to_array()).transpose()
    }

    /// Exchanges parameters, arrays and views by name, for the runs to come; what is not named stays as it is. An array takes
    /// the place of a view of that name, and the other way round. Kernels are not compiled again.
    ///
    /// # Errors
    /// As [`WorkloadProgram::prepare`](super::WorkloadProgram::prepare). Then everything stays as it was.
    pub fn rebind(
        &mut self,
        set: Vec<(String, ParamValue)>,
        arrays: Arrays,
        views: BTreeMap<String, View>,
    ) -> Result<(), Vec<Diagnostic>> {
        if set.is_empty() && arrays.is_empty() && self.exchange(&views)? {
            self.inputs.views.extend(views);
            self.launch.tasks.record(&self.inputs, self.options.recording);
            self.is_released = false;
            return Ok(());
        }
        let mut inputs = self.inputs.clone();
        inputs.set.retain(|(name, _)| set.iter().all(|(given, _)| given != name));
        inputs.set.extend(set);
        inputs.views.retain(|name, _| !arrays.contains_key(name));
        inputs.arrays.retain(|name, _| !views.contains_key(name));
        inputs.arrays.extend(arrays);
        inputs.views.extend(views);
        let launch = Launch::new(&self.launch.tasks.kernels, &self.registry, &inputs, &self.options)?;
        self.outcome = launch.outcome(&self.registry, &self.options);
        (self.inputs, self.launch, self.tasks, self.dirty) = (inputs, launch, Tasks::First, false);
        self.is_released = false;
        Ok(())
    }

    /// Lets go of the arrays of the caller: the next run comes after a [`rebind`](Self::rebind), which gives all of them. Whether that can be.
    pub(crate) fn release(&mut self) -> bool {
        let Launch { tasks, uses, .. } = &mut self.launch;
        for tensor in tasks.tensors.iter_mut().filter(|tensor| tensor.caller().is_some()) {
            let Some(nothing) = tensor.without_elements() else { return false };
            *tensor = nothing;
            self.is_released = true;
        }
        *uses = Arc::default();
        tasks.forget_regions();
        self.inputs.views.clear();
        true
    }

    /// Exchanges views for others of the same tensors; whether that was all there was to do.
    fn exchange(&mut self, views: &BTreeMap<String, View>) -> Result<bool, Vec<Diagnostic>> {
        let Launch { tasks, bindings, uses, .. } = &mut self.launch;
        let kernels = &tasks.kernels;
        let place = |name: &String| kernels.module.tensors.iter().position(|t| t.name == *name);
        let places: Option<Vec<usize>> = views.keys().map(place).collect();
        let slots = &kernels.module.slots;
        let is_all = places.as_ref().map(Vec::len) == Some(callers(kernels, &tasks.tensors).len());
        if self.is_released && !is_all {
            return Ok(false);
        }
        let simple =
            |at: usize| tasks.tensors[at].caller().is_some() && slots.iter().all(|s| s.tensor.index() != at);
        let Some(places) = places.filter(|places| places.iter().all(|&at| simple(at))) else {
            return Ok(false);
        };
        let (mut made, mut faults) = (Vec::new(), Vec::new());
        for (&at, view) in places.iter().zip(views.values()) {
            let dims = bindings.shape(TensorId(at as u32));
            match in_place(&kernels.module.tensors[at], dims, view) {
                Ok(tensor) => made.push(tensor),
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        for (&at, tensor) in places.iter().zip(&mut made) {
            std::mem::swap(&mut tasks.tensors[at], tensor);
        }
        let all = callers(&tasks.kernels, &tasks.tensors);
        let faults = claims::refused(&all);
        if faults.is_empty() {
            *uses = claims::uses(all);
            tasks.forget_regions();
            return Ok(true);
        }
        for (&at, tensor) in places.iter().zip(&mut made) {
            std::mem::swap(&mut tasks.tensors[at], tensor);
        }
        Err(faults)
    }

    /// Gives tensors that tasks write and that are not the caller's what they began with.
    fn start_again(&self) {
        let Launch { tasks, bindings, .. } = &self.launch;
        let given = Given { kernels: &tasks.kernels, bindings, inputs: &self.inputs };
        for (i, (tensor, made)) in tasks.kernels.module.tensors.iter().zip(&tasks.tensors).enumerate() {
            if made.caller().is_none() && tasks.kernels.written.contains(&tensor.name) {
                given.start_again(TensorId(i as u32), made);
            }
        }
    }
}
