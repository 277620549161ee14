//! The way from regions to predecessors, whatever the mode and the store.

use crate::Deps;
use crate::infer::{
    Accesses, Hazard, MapError, Matching, RegionMap, TaskHandle, TensorMap, TiledTensor, TilingError,
};
use wsp_core::{Region, TensorId};

/// What earlier tasks accessed, as far as later ones need it.
#[derive(Debug)]
pub(crate) struct Inference<H> {
    /// What makes an edge; nothing does if edges are given.
    matching: Option<Matching>,
    /// Made when it is first needed.
    map: Option<Box<RegionMap<H>>>,
    /// Tasks with smaller numbers are before all later ones for another reason.
    begin: u32,
    /// Whether tensors were registered, which the map never forgets.
    registered: bool,
}

impl<H: TaskHandle> Inference<H> {
    pub(crate) fn new(deps: Deps) -> Inference<H> {
        let matching = match deps {
            Deps::Exact => Some(Matching::EqualRaw),
            Deps::Overlap | Deps::Hybrid => Some(Matching::Overlap),
            Deps::Explicit => None,
        };
        Inference { matching, map: None, begin: 0, registered: false }
    }

    /// With the map that another has left.
    pub(crate) fn with(deps: Deps, map: Option<Box<RegionMap<H>>>) -> Inference<H> {
        let inference = Inference::new(deps);
        Inference { map: map.filter(|map| inference.matching == Some(map.matching())), ..inference }
    }

    /// The map without tasks, for another; none where tensors were registered.
    pub(crate) fn into_map(mut self) -> Option<Box<RegionMap<H>>> {
        self.clear();
        self.map.filter(|_| !self.registered)
    }

    /// Shows whom a task must wait for among those that are `live`, and remembers its accesses.
    ///
    /// # Errors
    /// Nothing was shown and nothing remembered: see [`MapError`].
    #[inline(always)]
    pub(crate) fn infer(
        &mut self,
        task: H,
        accesses: Accesses<'_>,
        live: impl Fn(H) -> bool,
        found: impl FnMut(H, Hazard),
    ) -> Result<(), MapError> {
        let Some(matching) = self.matching else { return Ok(()) };
        let begin = self.begin;
        let map = match &mut self.map {
            Some(map) => map,
            none => none.insert(Box::new(RegionMap::growing(matching))),
        };
        map.infer(task, accesses, |task| task.task() >= begin && live(task), found)
    }

    /// Registers a tensor with its tiles: see [`RegionMap::register`].
    pub(crate) fn tiled(
        &mut self,
        tensor: TensorId,
        shape: &[u32],
        tile: &[u32],
    ) -> Result<TiledTensor, TilingError> {
        // If edges are given, tiles only need their numbers.
        let matching = self.matching.unwrap_or(Matching::Overlap);
        self.registered = true;
        self.map.get_or_insert_with(|| Box::new(RegionMap::growing(matching))).register(tensor, shape, tile)
    }

    /// Shows every live task that wrote to a place of the region and was not hidden by a later write.
    pub(crate) fn writers(&mut self, region: &Region, live: impl Fn(H) -> bool, mut found: impl FnMut(H)) {
        let begin = self.begin;
        if let Some(map) = &mut self.map {
            map.writers_of(region, |task| {
                if task.task() >= begin && live(task) {
                    found(task);
                }
            });
        }
    }

    /// All tasks below this number are before all later ones, whatever their regions.
    pub(crate) fn begin_at(&mut self, task: u32) {
        self.begin = task;
    }

    /// Forgets all accesses; keeps the memory and the registered tensors.
    pub(crate) fn clear(&mut self) {
        self.begin = 0;
        if let Some(map) = &mut self.map {
            map.clear();
        }
    }
}
