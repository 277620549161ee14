//! The planner and regions: tensors registered with their tiles, and waiting for the writers of a region.

use super::submit::Submitter;
use super::waits::SourceWait;
use crate::infer::{SlotTask, TiledTensor, TilingError};
use crate::{Stopped, TaskRunner};
use wsp_core::{Region, TensorId};

impl<R: TaskRunner> Submitter<'_, R> {
    /// Registers a tensor of this shape, in elements, cut into tiles of these extents, before its first access in this run:
    /// [`TaskSpec::tile_reads`](crate::TaskSpec::tile_reads) and [`TaskSpec::tile_writes`](crate::TaskSpec::tile_writes) then name its tiles.
    ///
    /// # Errors
    /// See [`TilingError`].
    pub fn tiled(
        &mut self,
        tensor: TensorId,
        shape: &[u32],
        tile: &[u32],
    ) -> Result<TiledTensor, TilingError> {
        self.inference.tiled(tensor, shape, tile)
    }

    /// Waits until every task that wrote to a place of the region, and was not hidden by a later write, is complete: the
    /// source may then read what they wrote.
    ///
    /// # Errors
    /// The run is stopping, or regions are not looked at.
    pub fn await_writers(&mut self, region: &Region) -> Result<(), Stopped> {
        if !self.deps.infers() {
            return Err(Stopped::RegionsNotKept);
        }
        loop {
            if self.cancelled() {
                return Err(Stopped::Stopping);
            }
            self.window.collect();
            if self.fence.is_none_or(|fence| self.window.is_complete(fence))
                && self.live_writers(region).is_empty()
            {
                return Ok(());
            }
            self.force_start();
            self.restamp();
            if self.window.wait_for_one().is_err() {
                self.stuck = Some(self.explain(SourceWait::Writers(region)));
                return Err(Stopped::Stopping);
            }
        }
    }

    pub(super) fn live_writers(&mut self, region: &Region) -> Vec<SlotTask> {
        let (window, mut writers) = (&self.window, Vec::new());
        self.inference.writers(region, |access| window.is_live(access), |access| writers.push(access));
        writers
    }
}
