//! Launches that are bound and compiled, and those whose tasks can start.

use crate::bind::Bound;
use crate::in_place::Views;
use crate::kernels::KernelTable;
use crate::memory::{Recorded, SlotLayout};
use crate::planner::Planner;
use crate::runner::KernelRunner;
use crate::sizes::Sizes;
use crate::stats::Times;
use std::sync::Arc;
use wsp_backend::Progress;
use wsp_diag::Diagnostic;
use wsp_kernel::{Env, GeneratorCode, KernelCode};
use wsp_memory::Claim;
use wsp_runtime::aicpu::Aicpus;
use wsp_runtime::{KnownRegions, RunConfig};

/// A launch that is bound, compiled and sized. It can be run any number of times, as long as no run fails.
pub(crate) struct Prepared {
    pub(crate) bound: Bound,
    pub(crate) env: Env,
    pub(crate) slots: SlotLayout,
    pub(crate) kernels: KernelTable,
    pub(crate) sizes: Sizes,
    pub(crate) recording: Recorded,
    /// Arrays of the caller.
    pub(crate) views: Views,
    /// The claim that the caller has made on them.
    pub(crate) claim: Option<Arc<Claim>>,
    /// Where runs write how far they are.
    pub(crate) progress: Option<Arc<Progress>>,
    /// The kernels, once they are compiled.
    pub(crate) codes: Vec<KernelCode>,
    /// Where the last run has found the regions of tasks.
    pub(crate) known: KnownRegions,
    pub(crate) times: Times,
}

/// A launch of generators whose tasks can start, any number of times, as long as no run fails.
pub(crate) struct ReadyLaunch {
    pub(crate) prepared: Prepared,
    /// Of the stages; none where a plan has what they emitted.
    pub(crate) generators: Vec<GeneratorCode>,
    pub(crate) way: Way,
}

/// Who generates the tasks.
pub(crate) enum Way {
    /// The calling thread, for workers.
    Planner(RunConfig),
    /// AICPUs.
    Aicpus(Box<Aicpus>),
}

impl ReadyLaunch {
    /// Has the runs to come use this claim of the caller on its arrays; without it each run makes its own.
    pub(crate) fn claim(&mut self, claim: Option<&Arc<Claim>>) {
        self.prepared.claim = claim.cloned();
    }

    /// Warnings.
    pub(crate) fn notes(&self) -> &[Diagnostic] {
        &self.prepared.bound.notes
    }
}

/// A launch whose tasks can start.
pub(crate) struct Launched<'l, 'k> {
    pub(crate) runner: &'l KernelRunner<'k>,
    pub(crate) kernels: &'k KernelTable,
    pub(crate) planner: Planner<'k>,
}

/// How the tasks of a launch run. It is called once a launch, so one copy of what is around it serves all callers.
pub(crate) type RunTasks<'r> =
    dyn for<'l, 'k> FnOnce(Launched<'l, 'k>) -> Result<wsp_runtime::Stats, Vec<Diagnostic>> + 'r;
