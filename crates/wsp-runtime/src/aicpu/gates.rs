//! Limits to the tasks that run at once, over all AICPUs.
//!
//! A task takes one permit of every count that it falls under, or none, and gives them back when it is complete. One that
//! finds a count full stays with its AICPU, which tries again when permits have been given back since. No AICPU waits
//! while it holds a permit of a task that has not started, and one lock covers all counts.

use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::{Gate, GateScope};
use rustc_hash::FxHashMap;
use std::sync::PoisonError;
use wsp_core::{ExecPool, StreamId};

/// The tasks that one count is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    All,
    Stream(StreamId),
    Pool(ExecPool),
}

/// All gates of a run.
#[derive(Debug)]
pub(super) struct Gates {
    gates: Box<[Gate]>,
    /// Permits that are held, by gate and kind.
    held: Mutex<FxHashMap<(usize, Kind), u32>>,
    /// How often permits were given back.
    returned: AtomicU64,
}

impl Gates {
    pub(super) fn new(gates: &[Gate]) -> Gates {
        Gates { gates: gates.into(), held: Mutex::new(FxHashMap::default()), returned: AtomicU64::new(0) }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// Changes when permits are given back.
    pub(super) fn returned(&self) -> u64 {
        self.returned.load(Ordering::Acquire)
    }

    fn kinds(&self, stream: Option<StreamId>, pool: ExecPool) -> impl Iterator<Item = (usize, Kind)> {
        self.gates.iter().enumerate().filter_map(move |(gate, Gate { scope, .. })| {
            let kind = match scope {
                GateScope::Global => Kind::All,
                GateScope::PerPool => Kind::Pool(pool),
                GateScope::PerStream => Kind::Stream(stream?),
            };
            Some((gate, kind))
        })
    }

    /// Takes all permits of a task, or none.
    pub(super) fn enter(&self, stream: Option<StreamId>, pool: ExecPool) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = |(gate, kind): (usize, Kind)| {
            held.get(&(gate, kind)).copied().unwrap_or(0) < self.gates[gate].capacity
        };
        let enters = self.kinds(stream, pool).all(has_room);
        if enters {
            self.kinds(stream, pool).for_each(|key| *held.entry(key).or_insert(0) += 1);
        }
        enters
    }

    /// Gives them back.
    pub(super) fn leave(&self, stream: Option<StreamId>, pool: ExecPool) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        for key in self.kinds(stream, pool) {
            if let Some(count) = held.get_mut(&key) {
                *count -= 1;
            }
        }
        self.returned.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_task_takes_all_its_permits_or_none() {
        let gate = |scope, capacity| Gate { scope, capacity };
        let gates = Gates::new(&[gate(GateScope::Global, 2), gate(GateScope::PerStream, 1)]);
        let enter = |stream: Option<u16>| gates.enter(stream.map(StreamId), ExecPool::Any);
        assert_eq!([enter(Some(1)), enter(Some(1)), enter(None), enter(Some(2))], [true, false, true, false]);
        let before = gates.returned();
        gates.leave(None, ExecPool::Any);
        assert!(gates.returned() > before && enter(Some(2)) && !enter(None));
    }

    #[test]
    fn each_kind_of_unit_has_a_count_of_its_own() {
        let gates = Gates::new(&[Gate { scope: GateScope::PerPool, capacity: 1 }]);
        let pools = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any];
        assert!(pools.iter().all(|&pool| gates.enter(None, pool)));
        assert!(pools.iter().all(|&pool| !gates.enter(None, pool)));
        gates.leave(None, ExecPool::Cube);
        assert_eq!(pools.map(|pool| gates.enter(None, pool)), [false, true, false]);
    }
}
