//! Receivers of the tasks of library kernels: one counts them, one hands them to the runtime.

use super::super::codes;
use super::super::equal::{EqualRegions, RegionFault};
use super::super::settings::affinity;
use super::super::submit::earlier;
use super::super::touch::Toucher;
use super::Callees;
use super::touch::{LibraryTouch, words};
use crate::planner::Planner;
use crate::runner::KernelRunner;
use crate::sizing::SizingSink;
use wsp_core::{SlotId, StreamId};
use wsp_diag::Diagnostic;
use wsp_ir::workload::WorkloadModule;
use wsp_plan::workload::{TaskRecord, TaskSink};
use wsp_runtime::{Stopped, Submitter, TaskSpec};

/// Why the tasks of a run end early.
#[derive(Debug)]
pub(super) enum SubmitFault {
    /// The runtime takes no more.
    Stopped(Stopped),
    /// A task cannot be.
    Task(Diagnostic),
    /// Its regions cannot be.
    Regions(RegionFault),
}

/// Counts tasks.
pub(super) struct Sizing<'a, 'e, 'k> {
    pub(super) module: &'a WorkloadModule,
    pub(super) callees: Callees,
    pub(super) planner: &'a Planner<'e>,
    pub(super) inner: SizingSink<'k>,
}

impl TaskSink for Sizing<'_, '_, '_> {
    type Error = Diagnostic;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Diagnostic> {
        let (kernel, descriptor) = self.callees.get(task.kernel)?;
        let words = words(self.module, task)?;
        Ok(self.inner.count(self.planner, kernel, descriptor, &words)?)
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, Diagnostic> {
        Err(no_slot(self.module, slot))
    }

    fn cancelled(&self) -> bool {
        self.planner.env.cancelled()
    }
}

/// Kernels of a library do not write slots, so that reading one is a mistake.
pub(crate) fn no_slot(module: &WorkloadModule, slot: SlotId) -> Diagnostic {
    let slot = &module.slots[slot.index()];
    let name = &module.tensors[slot.tensor.index()].name;
    Diagnostic::error(codes::SLOT_IN_GRAPH, format!("no kernel of a used file can write slot `{name}`"))
        .at(slot.span, "declared here")
        .help("make it a parameter: `param name = value;`")
        .python("make it a parameter of the workload, without annotation: a size that a run sets")
}

/// Submits tasks to the runtime.
pub(super) struct Submitting<'a, 's, 'r, 'k> {
    pub(super) module: &'a WorkloadModule,
    pub(super) touch: LibraryTouch<'a>,
    pub(super) submitter: &'s mut Submitter<'r, KernelRunner<'k>>,
    pub(super) workers: u32,
    /// Whether tasks wait for what `after` names.
    pub(super) explicit: bool,
    pub(super) equal: EqualRegions,
}

impl TaskSink for Submitting<'_, '_, '_, '_> {
    type Error = SubmitFault;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), SubmitFault> {
        self.touch.touch(task).map_err(SubmitFault::Task)?;
        let tile = self.touch.tile(task);
        let touched = self.touch.touched(task);
        self.equal.check(task.ordinal, touched.reads, touched.writes).map_err(SubmitFault::Regions)?;
        let after = if self.explicit { earlier(task) } else { Vec::new() };
        let spec = TaskSpec {
            kernel: self.touch.kernel,
            payload: &self.touch.words,
            reads: touched.reads,
            writes: touched.writes,
            affinity: affinity(&task.place, tile, self.workers),
            pool: task.place.pool,
            stream: task.place.stream.map(StreamId),
            priority: task.place.priority,
            after: &after,
            ..TaskSpec::default()
        };
        self.submitter.submit(spec).map(|_| ()).map_err(SubmitFault::Stopped)
    }

    fn ordered_begin(&mut self) -> Result<(), SubmitFault> {
        self.submitter.ordered_begin();
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), SubmitFault> {
        self.submitter.ordered_step().map_err(SubmitFault::Stopped)
    }

    fn ordered_end(&mut self) -> Result<(), SubmitFault> {
        self.submitter.ordered_end().map_err(SubmitFault::Stopped)
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, SubmitFault> {
        Err(SubmitFault::Task(no_slot(self.module, slot)))
    }

    fn cancelled(&self) -> bool {
        self.submitter.cancelled()
    }
}
