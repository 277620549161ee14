//! A workload in virtual time: nothing runs, and every task takes what its kernel is said to cost.

use super::equal::{EqualRegions, NamedTensor};
use super::settings::{cancelled, not_started, stopped, stuck};
use super::touch::{Touched, Toucher};
use std::convert::Infallible;
use wsp_backend::{GraphListing, SimulatedAicpus};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::WorkloadModule;
use wsp_kernel::Trap;
use wsp_plan::cost::{self, Work};
use wsp_plan::target::model::Model;
use wsp_plan::workload::{Bindings, ChannelUse, TaskRecord};
use wsp_runtime::simulate::Simulation;
use wsp_runtime::{Failure, Stopped};

/// A workload that was simulated.
#[derive(Clone, Debug)]
pub struct SimulatedWorkload {
    /// Its tasks and edges; ids are those of the simulation.
    pub listing: GraphListing,
    /// What happened, in cycles.
    pub simulation: Simulation,
    /// Workers of the machine.
    pub threads: u32,
    /// What AICPUs did, where tasks were theirs.
    pub aicpus: Option<SimulatedAicpus>,
    /// What went through the channels of its pipelines, in cycles.
    pub channels: Vec<ChannelUse>,
    /// Warnings.
    pub notes: Vec<Diagnostic>,
}

/// A failed simulation as the user sees it.
pub(crate) fn failed(failure: &Failure<Infallible, Stopped>) -> Diagnostic {
    match failure {
        Failure::Start(fault) => not_started(fault),
        Failure::Cancelled => cancelled(),
        Failure::Stuck(report) => stuck(report),
        Failure::Source(reason) => stopped(reason),
        Failure::Task { failure, .. } => match *failure {},
        Failure::Panic { message, .. } => Trap::internal(message.clone(), Span::default()).into(),
    }
}

/// What tasks touch, and what they cost besides.
pub(crate) struct Costed<'a> {
    pub(crate) module: &'a WorkloadModule,
    pub(crate) bindings: &'a Bindings,
    pub(crate) inner: &'a mut dyn Toucher,
    /// Costs of the tasks so far.
    pub(crate) costs: Vec<u64>,
    /// Work of those by kernel, where it is known.
    pub(crate) work: Vec<Option<Work>>,
    pub(crate) equal: EqualRegions,
    pub(crate) tensors: &'a [NamedTensor],
    /// What says what tasks take whose kernel is not said to cost; without it they take a cycle.
    pub(crate) machine: Option<&'a Model>,
}

impl Costed<'_> {
    /// The cycles of a task that has been touched.
    fn cost(&mut self, task: &TaskRecord<'_>) -> Result<u64, Diagnostic> {
        let Some(machine) = self.machine else {
            return Ok(cost::declared(self.module, self.bindings, task)?.unwrap_or(1));
        };
        if self.module.kernels[task.kernel.index()].cost.is_none()
            && let Some((cycles, work)) = self.inner.cycles(machine)?
        {
            work.add_to(&mut self.work, task.kernel.index());
            return Ok(cycles);
        }
        cost::of_task(machine, (self.module, self.bindings), task, None, &())
    }
}

impl Toucher for Costed<'_> {
    fn touch<'t>(&'t mut self, task: &'t TaskRecord<'_>) -> Result<Touched<'t>, Diagnostic> {
        let touched = self.inner.touch(task)?;
        let checked = self.equal.check(task.ordinal, touched.reads, touched.writes);
        checked.map_err(|fault| fault.diagnostic(self.tensors))?;
        let cost = self.cost(task)?;
        self.costs.push(cost);
        Ok(self.inner.touched(task))
    }

    fn touched<'t>(&'t self, task: &'t TaskRecord<'_>) -> Touched<'t> {
        self.inner.touched(task)
    }

    fn tile(&mut self, task: &TaskRecord<'_>) -> Option<u32> {
        self.inner.tile(task)
    }
}
