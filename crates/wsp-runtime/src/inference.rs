//! The way from boxes to predecessors, whatever the mode.

use crate::Deps;
use crate::depend::{AccessMap, Hazard};
use crate::interval::Access;
use rustc_hash::FxHashMap;
use wsp_core::Region;

/// What earlier tasks accessed, as far as later ones need it.
#[derive(Debug, Default)]
pub(crate) struct Inference {
    map: Map,
    /// Per slot, the last task that waits for what is there.
    named_by: Vec<u32>,
}

#[derive(Debug, Default)]
enum Map {
    #[default]
    None,
    /// The newest writer of each box.
    Exact(FxHashMap<Region, Access>),
    Overlap(Box<AccessMap>),
}

impl Inference {
    pub(crate) fn new(deps: Deps) -> Inference {
        let map = match deps {
            Deps::Exact => Map::Exact(FxHashMap::default()),
            Deps::Overlap | Deps::Hybrid => Map::Overlap(Box::default()),
            Deps::Explicit => Map::None,
        };
        Inference { map, named_by: Vec::new() }
    }

    /// Shows whom a task must wait for among those that are `live`, and remembers its accesses as those of `access`.
    pub(crate) fn infer(
        &mut self,
        reads: &[Region],
        writes: &[Region],
        access: Access,
        live: impl Fn(Access) -> bool,
        mut found: impl FnMut(Access, Hazard),
    ) {
        let named_by = &mut self.named_by;
        match &mut self.map {
            Map::None => {}
            Map::Exact(writers) => {
                for read in reads.iter().filter(|region| !region.is_empty()) {
                    if let Some(&writer) = writers.get(read)
                        && live(writer)
                    {
                        found(writer, Hazard::Raw);
                    }
                }
                for write in writes.iter().filter(|region| !region.is_empty()) {
                    writers.insert(*write, access);
                }
            }
            Map::Overlap(map) => {
                let once = |earlier: Access, hazard| {
                    let slot = earlier.slot as usize;
                    if named_by.len() <= slot {
                        named_by.resize((slot + 1).next_power_of_two(), u32::MAX);
                    }
                    if std::mem::replace(&mut named_by[slot], access.task) != access.task {
                        found(earlier, hazard);
                    }
                };
                map.infer(reads, writes, &live, once);
                map.insert(reads, writes, access, &live);
            }
        }
    }

    /// Shows every live task that wrote to a place of the box and was not hidden by a later write.
    pub(crate) fn writers(
        &mut self,
        region: &Region,
        live: impl Fn(Access) -> bool,
        mut found: impl FnMut(Access),
    ) {
        match &mut self.map {
            Map::None => {}
            Map::Exact(writers) => {
                if let Some(&writer) = writers.get(region)
                    && live(writer)
                {
                    found(writer);
                }
            }
            Map::Overlap(map) => map.infer(&[*region], &[], live, |access, _| found(access)),
        }
    }

    /// Forgets all accesses and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.named_by.clear();
        match &mut self.map {
            Map::None => {}
            Map::Exact(writers) => writers.clear(),
            Map::Overlap(map) => map.clear(),
        }
    }
}
