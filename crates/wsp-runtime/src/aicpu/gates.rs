//! Limits to the tasks that run at once, over all AICPUs.
//!
//! A task takes one permit of every count that it falls under, or none, and gives them back when it is complete. One that
//! finds a count full stays with its AICPU, which tries again when permits have been given back since. No AICPU waits
//! while it holds a permit of a task that has not started, and one lock covers all counts.
//!
//! Where a gate lets several tasks of one stream be in flight, tasks of a stream also start in the order of ordinals. A task is
//! announced when it is generated, and tries to enter when every AICPU has generated past it; so those before it have been
//! announced, and it enters when it is the first of them that has not entered. Then it is handed to a core, whose thread may be
//! busy. So a core lets a task be until those before it have started: each passes its start on when the time of it has been
//! noted, or it is dropped, and before its body runs. The first that has entered and not started is with a core, which runs it as
//! soon as its thread comes by.

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};
use crate::{Gate, GateScope};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::PoisonError;
use wsp_core::{ExecPool, StreamId};
use wsp_ordered::OrderedSet;

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
    /// Whether tasks of a stream start in order here, instead of one after another.
    orders_streams: bool,
    book: Mutex<Book>,
    /// How often something happened that may let a waiting task start.
    returned: AtomicU64,
}

#[derive(Debug, Default)]
struct Book {
    /// Permits that are held, by gate and kind.
    held: FxHashMap<(usize, Kind), u32>,
    /// Streams whose tasks start in order.
    turns: FxHashMap<StreamId, Turns>,
}

/// Ordinals of tasks of one stream.
#[derive(Debug, Default)]
struct Turns {
    /// Those that have not entered.
    outside: OrderedSet<u64>,
    /// Those that have entered and not started.
    starting: VecDeque<u64>,
}

impl Gates {
    pub(super) fn new(gates: &[Gate]) -> Gates {
        let orders_streams = Gate::stream_depth(gates) > 1;
        Gates { gates: gates.into(), orders_streams, book: Mutex::default(), returned: AtomicU64::new(0) }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// Whether tasks of a stream start in order here, instead of one after another.
    pub(super) fn orders_streams(&self) -> bool {
        self.orders_streams
    }

    /// Says that a task of a stream was generated. Before it can be ready.
    pub(super) fn announce(&self, stream: StreamId, ordinal: u64) {
        self.lock().turns.entry(stream).or_default().outside.insert(ordinal);
    }

    /// Changes when a task that waits may be let in.
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
    pub(super) fn enter(&self, stream: Option<StreamId>, pool: ExecPool, ordinal: u64) -> bool {
        let Book { held, turns } = &mut *self.lock();
        let mut turn = stream.filter(|_| self.orders_streams).and_then(|stream| turns.get_mut(&stream));
        let has_capacity = |(gate, kind): (usize, Kind)| {
            held.get(&(gate, kind)).copied().unwrap_or(0) < self.gates[gate].capacity
        };
        let is_next = turn.as_ref().is_none_or(|turn| turn.outside.first() == Some(&ordinal));
        let enters = is_next && self.kinds(stream, pool).all(has_capacity);
        if enters {
            self.kinds(stream, pool).for_each(|key| *held.entry(key).or_insert(0) += 1);
            if let Some(turn) = &mut turn {
                turn.outside.remove(&ordinal);
                turn.starting.push_back(ordinal);
                // The next of the stream may enter.
                self.returned.fetch_add(1, Ordering::AcqRel);
            }
        }
        enters
    }

    /// Whether all tasks of its stream that entered before a task have started.
    pub(super) fn may_start(&self, stream: Option<StreamId>, ordinal: u64) -> bool {
        let Some(stream) = stream.filter(|_| self.orders_streams) else { return true };
        self.lock().turns.get(&stream).is_none_or(|turn| turn.starting.front() == Some(&ordinal))
    }

    /// A task that may start does so, or is dropped.
    pub(super) fn note_start(&self, stream: Option<StreamId>) {
        let Some(stream) = stream.filter(|_| self.orders_streams) else { return };
        if let Some(turn) = self.lock().turns.get_mut(&stream) {
            turn.starting.pop_front();
        }
    }

    /// Gives them back.
    pub(super) fn leave(&self, stream: Option<StreamId>, pool: ExecPool) {
        let held = &mut self.lock().held;
        for key in self.kinds(stream, pool) {
            if let Some(count) = held.get_mut(&key) {
                *count -= 1;
            }
        }
        self.returned.fetch_add(1, Ordering::AcqRel);
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        // Nothing inside the lock panics half way.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_task_takes_all_its_permits_or_none() {
        let gate = |scope, capacity| Gate { scope, capacity };
        let gates = Gates::new(&[gate(GateScope::Global, 2), gate(GateScope::PerStream, 1)]);
        let enter = |stream: Option<u16>| gates.enter(stream.map(StreamId), ExecPool::Any, 0);
        assert_eq!([enter(Some(1)), enter(Some(1)), enter(None), enter(Some(2))], [true, false, true, false]);
        let before = gates.returned();
        gates.leave(None, ExecPool::Any);
        assert!(gates.returned() > before && enter(Some(2)) && !enter(None));
    }

    #[test]
    fn each_kind_of_unit_has_a_count_of_its_own() {
        let gates = Gates::new(&[Gate { scope: GateScope::PerPool, capacity: 1 }]);
        let pools = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any];
        assert!(pools.iter().all(|&pool| gates.enter(None, pool, 0)));
        assert!(pools.iter().all(|&pool| !gates.enter(None, pool, 0)));
        gates.leave(None, ExecPool::Cube);
        assert_eq!(pools.map(|pool| gates.enter(None, pool, 0)), [false, true, false]);
    }

    #[test]
    fn tasks_of_a_stream_start_in_order_as_many_as_the_gate_lets() {
        let gates = Gates::new(&[Gate { scope: GateScope::PerStream, capacity: 2 }]);
        let stream = StreamId(4);
        [7, 3, 5].into_iter().for_each(|ordinal| gates.announce(stream, ordinal));
        let enter = |ordinal| gates.enter(Some(stream), ExecPool::Any, ordinal);
        assert_eq!([5, 3, 7, 5, 7].map(enter), [false, true, false, true, false]);
        let may_start = |ordinal| gates.may_start(Some(stream), ordinal);
        assert_eq!([3, 5].map(may_start), [true, false]);
        gates.note_start(Some(stream));
        assert!(may_start(5) && !enter(7), "two are in flight");
        gates.leave(Some(stream), ExecPool::Any);
        assert!(enter(7) && !may_start(7));
    }
}
