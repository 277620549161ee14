//! The grid of a launch: which tile each task is for, and how many each tile has had.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use wsp_backend::GridStats;
use wsp_core::Region;
use wsp_diag::Diagnostic;
use wsp_ir::workload::SchedulePolicy;
use wsp_plan::layout::{AxisSet, Tensors, TileMap};

/// A grid with the layouts of a launch.
#[derive(Debug)]
pub(crate) struct Tiles {
    pub(crate) map: Arc<TileMap>,
    /// Tasks by tile, row by row.
    tasks: Vec<AtomicU64>,
    /// Sums that kernels leave pending, by tensor, once that is known.
    pending: OnceLock<Vec<AxisSet>>,
}

impl Tiles {
    /// That of a schedule, if it has one.
    ///
    /// # Errors
    /// A layout that a tensor of the launch cannot have.
    pub(crate) fn new(
        policy: &SchedulePolicy,
        tensors: &dyn Tensors,
    ) -> Result<Option<Arc<Tiles>>, Vec<Diagnostic>> {
        let Some(map) = TileMap::new(policy, tensors)? else { return Ok(None) };
        let tasks = (0..map.grid().tiles()).map(|_| AtomicU64::new(0)).collect();
        Ok(Some(Arc::new(Tiles { map: Arc::new(map), tasks, pending: OnceLock::new() })))
    }

    /// The number of the tile that a task is for, which counts. `number` picks it along axes that its layouts leave open.
    pub(crate) fn tile(&self, number: u64, reads: &[Region], writes: &[Region]) -> u32 {
        let tile = self.map.tile(number, reads, writes).number(self.map.grid());
        // One thread generates tasks, and counts are read when it has ended.
        self.tasks[tile as usize].fetch_add(1, Ordering::Relaxed);
        tile
    }

    /// Notes the sums that kernels leave pending, by tensor.
    pub(crate) fn leave_pending(&self, pending: Vec<AxisSet>) {
        self.pending.get_or_init(|| pending);
    }

    /// Counts from 0.
    pub(crate) fn forget(&self) {
        self.tasks.iter().for_each(|tasks| tasks.store(0, Ordering::Relaxed));
    }

    /// What tiles have of these tasks.
    pub(crate) fn listed(&self, tiles: &[u32]) -> GridStats {
        let mut stats = self.stats();
        stats.tasks.fill(0);
        tiles.iter().for_each(|tile| stats.tasks[*tile as usize] += 1);
        stats
    }

    /// What tiles have had.
    pub(crate) fn stats(&self) -> GridStats {
        let grid = self.map.grid();
        let tasks = self.tasks.iter().map(|tasks| tasks.load(Ordering::Relaxed)).collect();
        GridStats {
            x: grid.x,
            y: grid.y,
            tasks,
            moves: self.map.moves(self.pending.get().map_or(&[], Vec::as_slice)),
        }
    }
}
