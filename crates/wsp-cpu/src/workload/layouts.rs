//! Layouts through the tasks of declared kernels, before any of them runs.

use super::codes;
use super::faults::generation;
use super::registry::KernelRegistry;
use super::settings::bad_option;
use super::view_kernel::on_large_stack;
use crate::tiles::Tiles;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_core::words::counted;
use wsp_core::{SlotId, TensorId};
use wsp_diag::{Diagnostic, Severity};
use wsp_ir::workload::WorkloadModule;
use wsp_plan::ViewKernelSource;
use wsp_plan::layout::LayoutAnalyzer;
use wsp_plan::workload::{Bindings, ExpandError, LoweredSchedule, TaskRecord, TaskSink, expand};

/// A workload of declared kernels with its values, under a schedule with a grid.
pub(crate) struct Placed<'a> {
    pub(crate) module: &'a WorkloadModule,
    pub(crate) schedule: &'a LoweredSchedule,
    pub(crate) bindings: &'a Bindings,
    pub(crate) registry: &'a KernelRegistry,
    pub(crate) tiles: &'a Tiles,
    pub(crate) cancel: Option<&'a AtomicBool>,
}

impl Placed<'_> {
    /// Follows layouts through all tasks, up to the first that other tasks decide on: notes of what is not followed. `slots` has the values of slots before
    /// any task has written them.
    ///
    /// # Errors
    /// A task that reads what no tile has; faults of the workload.
    pub(crate) fn follow(&self, slots: &[i64]) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let policy = &self.schedule.policy;
        if policy.layouts.is_empty() && policy.relayouts.is_empty() {
            return Ok(Vec::new());
        }
        let followed = on_large_stack(|| self.expanded(slots));
        followed.unwrap_or_else(|fault| Err(bad_option(&fault.to_string()))).map_err(|fault| vec![fault])
    }

    fn expanded(&self, slots: &[i64]) -> Result<Vec<Diagnostic>, Diagnostic> {
        let Placed { module, schedule, bindings, registry, tiles, cancel } = *self;
        let source = |name: &str| registry.view_kernel(name)?.source();
        let mut sink = Following {
            module,
            analyzer: LayoutAnalyzer::new(Arc::clone(&tiles.map), false),
            sources: module.kernels.iter().map(|kernel| source(&kernel.name)).collect(),
            noted: vec![false; module.kernels.len()],
            slots: slots.iter().copied().map(Some).collect(),
            tasks: 0,
            notes: Vec::new(),
            cancel,
        };
        match expand(module, bindings, schedule, &mut sink) {
            Ok(_) => tiles.leave_pending(sink.analyzer.finish(module)?),
            Err(ExpandError::Sink(Stop::Computed(slot))) => {
                sink.notes.push(computed(module, slot, sink.tasks))
            }
            Err(error) => {
                return Err(generation(error, |stop| match stop {
                    Stop::Refused(fault) => *fault,
                    Stop::Computed(slot) => computed(module, slot, 0),
                }));
            }
        }
        Ok(sink.notes)
    }
}

/// What is to be said where tasks decide on tasks.
fn computed(module: &WorkloadModule, slot: SlotId, tasks: u64) -> Diagnostic {
    let slot = &module.slots[slot.index()];
    let name = &module.tensors[slot.tensor.index()].name;
    let message = format!("layouts are followed through the first {} only", counted(tasks, "task"));
    Diagnostic::new(codes::SLOT_IN_GRAPH, Severity::Note, message)
        .at(slot.span, format!("slot `{name}`, which tasks write, decides on the others"))
}

/// Why layouts are not followed further.
enum Stop {
    Refused(Box<Diagnostic>),
    /// A slot that tasks write decides on tasks.
    Computed(SlotId),
}

/// Follows layouts through tasks.
struct Following<'a> {
    module: &'a WorkloadModule,
    analyzer: LayoutAnalyzer,
    /// What each kernel is made of, where that is known.
    sources: Vec<Option<&'a ViewKernelSource>>,
    /// Kernels that a note says are not followed.
    noted: Vec<bool>,
    /// Values of slots; none of those that tasks write.
    slots: Vec<Option<i64>>,
    tasks: u64,
    notes: Vec<Diagnostic>,
    cancel: Option<&'a AtomicBool>,
}

impl Following<'_> {
    fn analyze(&mut self, task: &TaskRecord<'_>) -> Result<(), Diagnostic> {
        let kernel = task.kernel.index();
        if let Some(source) = self.sources[kernel] {
            return self.analyzer.analyze_views(self.module, task, source);
        }
        let note = self.analyzer.analyze_stated(self.module, task)?;
        let is_new = note.is_some() && !std::mem::replace(&mut self.noted[kernel], true);
        self.notes.extend(note.filter(|_| is_new));
        Ok(())
    }
}

impl TaskSink for Following<'_> {
    type Error = Stop;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Stop> {
        self.analyze(task).map_err(|fault| Stop::Refused(Box::new(fault)))?;
        let is_written = |tensor: TensorId| task.writes.iter().any(|region| region.tensor == tensor);
        for (slot, value) in self.module.slots.iter().zip(&mut self.slots) {
            value.take_if(|_| is_written(slot.tensor));
        }
        self.tasks += 1;
        Ok(())
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, Stop> {
        self.slots[slot.index()].ok_or(Stop::Computed(slot))
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}
