//! What a generated task touches.

use crate::tiles::Tiles;
use std::sync::Arc;
use wsp_core::{ExecPool, KernelId, Region};
use wsp_diag::Diagnostic;
use wsp_plan::cost::Work;
use wsp_plan::target::model::Model;
use wsp_plan::workload::TaskRecord;

/// Regions of one task.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Touched<'t> {
    /// Regions that it may read.
    pub(crate) reads: &'t [Region],
    /// Regions that it may write.
    pub(crate) writes: &'t [Region],
}

/// Tells what tasks touch.
pub(crate) trait Toucher {
    /// Regions of this task.
    ///
    /// # Errors
    /// The task cannot be: an argument does not fit its descriptor.
    fn touch<'t>(&'t mut self, task: &'t TaskRecord<'_>) -> Result<Touched<'t>, Diagnostic>;

    /// Regions of the last task, once more. `task` is that task.
    fn touched<'t>(&'t self, task: &'t TaskRecord<'_>) -> Touched<'t>;

    /// The tile that the last task is for; none where the schedule has no grid.
    fn tile(&mut self, _task: &TaskRecord<'_>) -> Option<u32> {
        None
    }

    /// The grid that tasks are placed on, if the schedule has one.
    fn tiles(&self) -> Option<&Tiles> {
        None
    }

    /// The cycles of the last task by the operations of its kernel; none where these are not known.
    ///
    /// # Errors
    /// The machine has no figures for them.
    fn cycles(&self, _machine: &Model) -> Result<Option<(u64, Work)>, Diagnostic> {
        Ok(None)
    }

    /// The units that the operations of a kernel of the workload are for, where they are known.
    fn unit(&self, _kernel: KernelId) -> ExecPool {
        ExecPool::Any
    }
}

/// Declared kernels: what the call says.
#[derive(Debug, Default)]
pub(crate) struct Stated {
    /// The grid that tasks are placed on, if the schedule has one.
    pub(crate) tiles: Option<Arc<Tiles>>,
}

impl Toucher for Stated {
    fn touch<'t>(&'t mut self, task: &'t TaskRecord<'_>) -> Result<Touched<'t>, Diagnostic> {
        Ok(Touched { reads: task.reads, writes: task.writes })
    }

    fn touched<'t>(&'t self, task: &'t TaskRecord<'_>) -> Touched<'t> {
        Touched { reads: task.reads, writes: task.writes }
    }

    fn tile(&mut self, task: &TaskRecord<'_>) -> Option<u32> {
        self.tiles.as_ref().map(|tiles| stated_tile(tiles, task))
    }

    fn tiles(&self) -> Option<&Tiles> {
        self.tiles.as_deref()
    }
}

/// The tile that a task of declared kernels is for.
pub(crate) fn stated_tile(tiles: &Tiles, task: &TaskRecord<'_>) -> u32 {
    tiles.tile(task_number(tiles, task), task.reads, task.writes)
}

/// What places a task along axes of the grid that its layouts leave open: the number that `dispatch` gives it, else how many come before.
pub(crate) fn task_number(tiles: &Tiles, task: &TaskRecord<'_>) -> u64 {
    let said = task.place.dispatch.and_then(|dispatched| dispatched.worker(tiles.map.grid().tiles()));
    said.map_or(task.ordinal, u64::from)
}
