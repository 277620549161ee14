//! Workloads of either kind of kernels, checked and bound for any number of runs.

use super::inputs::{WorkloadInputs, WorkloadOptions};
use super::library::LibraryKernels;
use super::memory::no_memory;
use super::outcome::WorkloadOutcome;
use super::prepared::PreparedWorkload;
use super::program::{Kind, WorkloadProgram};
use super::run::LibraryLaunch;
use std::sync::Arc;
use wsp_backend::Args;
use wsp_diag::Diagnostic;
use wsp_memory::Claim;
use wsp_plan::Arrays;

/// A workload with everything checked and bound.
pub(crate) enum PreparedRun {
    /// Of declared kernels.
    Declared { program: Arc<WorkloadProgram>, bound: Box<PreparedWorkload> },
    /// Of kernels of a used file.
    Library(Box<PreparedLibrary>),
}

/// A workload over kernels of a used file: bound once, and again after a run that failed.
pub(crate) struct PreparedLibrary {
    kernels: Arc<LibraryKernels>,
    inputs: WorkloadInputs,
    options: WorkloadOptions,
    /// What the next run begins with; none after a run that failed.
    ready: Option<LibraryLaunch>,
    /// What the last run gave, until it is taken.
    last: Option<WorkloadOutcome>,
}

impl PreparedRun {
    /// Checks and binds what is given.
    ///
    /// # Errors
    /// Wrong values, arrays and options, dependences that miss a hazard.
    pub(crate) fn new(
        program: &Arc<WorkloadProgram>,
        inputs: WorkloadInputs,
        options: WorkloadOptions,
    ) -> Result<PreparedRun, Vec<Diagnostic>> {
        Ok(match &program.kind {
            Kind::Declared(_) => {
                let bound = Box::new(program.prepare(inputs, options)?);
                PreparedRun::Declared { program: program.clone(), bound }
            }
            Kind::Library(kernels) => {
                let ready = Some(LibraryLaunch::new(kernels, &inputs, &options)?);
                PreparedRun::Library(Box::new(PreparedLibrary {
                    kernels: kernels.clone(),
                    inputs,
                    options,
                    ready,
                    last: None,
                }))
            }
        })
    }

    /// Warnings that are known before a run.
    pub(crate) fn notes(&self) -> Vec<Diagnostic> {
        match self {
            PreparedRun::Declared { bound, .. } => bound.notes().to_vec(),
            PreparedRun::Library(of) => of.ready.iter().flat_map(LibraryLaunch::notes).cloned().collect(),
        }
    }

    /// Runs the workload; tensors that are not the caller's begin as they began the first run. `claim` is that of the caller on its arrays.
    ///
    /// # Errors
    /// Arrays of the caller are in use; faults of the workload, the first fault of a task.
    pub(crate) fn launch(&mut self, claim: Option<&Arc<Claim>>) -> Result<(), Vec<Diagnostic>> {
        match (self, claim) {
            (PreparedRun::Declared { bound, .. }, None) => bound.run().map(drop),
            (PreparedRun::Declared { bound, .. }, Some(claim)) => bound.run_claimed(claim).map(drop),
            (PreparedRun::Library(of), claim) => {
                let PreparedLibrary { kernels, inputs, options, ready, last } = &mut **of;
                *last = None;
                let mut next = match ready.take() {
                    Some(next) => next,
                    None => LibraryLaunch::new(kernels, inputs, options)?,
                };
                *last = Some(next.run(kernels, &inputs.arrays, options, claim)?);
                *ready = Some(next);
                Ok(())
            }
        }
    }

    /// Runs the workload once, and gives what it wrote without a copy.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    pub(crate) fn run_once(self) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
        match self {
            PreparedRun::Declared { bound, .. } => bound.run_once(),
            PreparedRun::Library(of) => {
                let PreparedLibrary { kernels, inputs, options, ready, .. } = *of;
                let mut ready = match ready {
                    Some(ready) => ready,
                    None => LibraryLaunch::new(&kernels, &inputs, &options)?,
                };
                ready.run(&kernels, &inputs.arrays, &options, None)
            }
        }
    }

    /// What the last run gave; of kernels of a used file once. None where nothing has run since.
    ///
    /// # Errors
    /// There is no memory for a copy of the outputs.
    pub(crate) fn outcome(&mut self) -> Result<Option<WorkloadOutcome>, Vec<Diagnostic>> {
        match self {
            PreparedRun::Declared { program, bound } => {
                let mut outputs = Arrays::new();
                for name in program.written() {
                    let output = bound.output(name).map_err(|fault| vec![no_memory(name, fault)])?;
                    outputs.extend(output.map(|array| (name.to_owned(), array)));
                }
                Ok(Some(WorkloadOutcome { outputs, ..bound.outcome().clone() }))
            }
            PreparedRun::Library(of) => Ok(of.last.take()),
        }
    }

    /// Lets go of the arrays of the caller until all of them are bound again; whether that can be.
    pub(crate) fn release(&mut self) -> bool {
        match self {
            PreparedRun::Declared { bound, .. } => bound.release(),
            PreparedRun::Library(_) => false,
        }
    }

    /// Takes arguments in place of those of the same names.
    ///
    /// # Errors
    /// As [`new`](Self::new). Then everything stays as it was.
    pub(crate) fn rebind(&mut self, args: Args) -> Result<(), Vec<Diagnostic>> {
        match self {
            PreparedRun::Declared { bound, .. } => bound.rebind(args.values, args.arrays, args.views),
            PreparedRun::Library(of) => {
                let WorkloadInputs { set, arrays, views, .. } = of.inputs.clone();
                let mut all = Args { arrays, views, values: set };
                all.replace(args);
                let Args { arrays, views, values } = all;
                let inputs = WorkloadInputs { set: values, arrays, views, ..of.inputs.clone() };
                let ready = LibraryLaunch::new(&of.kernels, &inputs, &of.options)?;
                (of.inputs, of.ready) = (inputs, Some(ready));
                Ok(())
            }
        }
    }
}
