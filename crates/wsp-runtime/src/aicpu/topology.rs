//! Which cores each AICPU hands tasks to.

use super::ready::Unit;
use crate::PoolSizes;
use crate::sync::AtomicU64;
use wsp_core::handshake::Handshake;

/// Cores, and which of them each AICPU hands tasks to.
#[derive(Debug)]
pub(super) struct Topology {
    /// The unit of each core.
    pub(super) units: Vec<Unit>,
    /// Pairs of an AICPU and a core.
    pairs: Vec<(u16, u32)>,
}

impl Topology {
    /// Every AICPU is attached to a core of every unit, and every core to an AICPU. `shared` is the number of cores that pools share.
    pub(super) fn new(pools: PoolSizes, shared: u32, aicpus: u32) -> Topology {
        let groups = match pools {
            PoolSizes::Shared => vec![(Unit::Both, shared)],
            PoolSizes::ByUnit { vector, cube } => vec![(Unit::Vector, vector), (Unit::Cube, cube)],
        };
        let (mut units, mut pairs) = (Vec::new(), Vec::new());
        for (unit, cores) in groups {
            let first = units.len() as u32;
            units.extend((0..cores).map(|_| unit));
            pairs.extend((0..cores.max(aicpus)).map(|i| ((i % aicpus) as u16, first + i % cores)));
        }
        Topology { units, pairs }
    }

    pub(super) fn links(&self) -> Box<[Link]> {
        let link = |&(aicpu, core): &(u16, u32)| Link {
            aicpu,
            core,
            unit: self.units[core as usize],
            handshake: Handshake::new(),
            started_ns: AtomicU64::new(0),
            finished_ns: AtomicU64::new(0),
        };
        self.pairs.iter().map(link).collect()
    }
}

/// An AICPU and a core that takes tasks from it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) aicpu: u16,
    pub(super) core: u32,
    pub(super) unit: Unit,
    pub(super) handshake: Handshake,
    /// When the last task started and finished, if tasks are timed; handed over with its completion.
    pub(super) started_ns: AtomicU64,
    pub(super) finished_ns: AtomicU64,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use wsp_ordered::OrderedSet;

    #[test]
    fn every_aicpu_has_a_core_of_every_unit_and_every_core_an_aicpu() {
        for aicpus in 1..=9 {
            for (vector, cube) in [(1, 1), (2, 5), (9, 1), (16, 4)] {
                let topology = Topology::new(PoolSizes::ByUnit { vector, cube }, 2, aicpus);
                for aicpu in 0..aicpus as u16 {
                    for unit in [Unit::Vector, Unit::Cube] {
                        let has = |&(owner, core): &(u16, u32)| {
                            owner == aicpu && topology.units[core as usize] == unit
                        };
                        assert!(topology.pairs.iter().any(has));
                    }
                }
                let attached: OrderedSet<u32> = topology.pairs.iter().map(|&(_, core)| core).collect();
                assert_eq!(
                    (attached.len(), topology.units.len()),
                    ((vector + cube) as usize, (vector + cube) as usize)
                );
                let distinct: OrderedSet<(u16, u32)> = topology.pairs.iter().copied().collect();
                assert_eq!(distinct.len(), topology.pairs.len());
            }
        }
    }

    #[test]
    fn aicpus_take_turns_at_cores_of_which_there_are_fewer() {
        assert_eq!(Topology::new(PoolSizes::Shared, 2, 3).pairs, [(0, 0), (1, 1), (2, 0)]);
        assert_eq!(
            Topology::new(PoolSizes::Shared, 6, 4).pairs,
            [(0, 0), (1, 1), (2, 2), (3, 3), (0, 4), (1, 5)]
        );
    }
}
