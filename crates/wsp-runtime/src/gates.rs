//! Gates: limits to the tasks that have started and not finished.
//!
//! # Protocol
//!
//! A task takes one permit of every count it falls under, or none: then it goes to the end of the list of the first count
//! that is full, and its worker goes on with something else. A finishing task gives its permits back; for each count that
//! has room now, tasks of its list take their permits in turn, until it is full or the list is empty. A task that meets
//! another full count there moves to that count's list. Tasks that got their permits this way are *granted*: the next
//! worker that looks takes them before all others.
//!
//! So a count with room has an empty list: a listed task waits for a full count, and whoever fills that has started or is
//! granted, and will finish. No worker waits while it holds a permit, and no order among gates is needed, because one
//! lock covers all counts. Its cost is paid by runs with gates alone.

use crate::placement::Placement;
use crate::sync::{AtomicU32, Mutex, MutexGuard, Ordering};
use crate::{Gate, GateScope};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::PoisonError;
use wsp_core::{ExecPool, StreamId};

/// One count of a gate.
#[derive(Debug, Default)]
struct Count {
    capacity: u32,
    held: u32,
    /// Tasks that found it full.
    waiting: VecDeque<(u32, Placement)>,
}

#[derive(Debug)]
struct Book {
    counts: Vec<Count>,
    /// The count of a stream under a gate.
    streams: FxHashMap<(u32, StreamId), usize>,
    granted: VecDeque<(u32, Placement)>,
    deferred: u64,
}

/// All gates of a run.
#[derive(Debug)]
pub(crate) struct Gates {
    gates: Vec<Gate>,
    book: Mutex<Book>,
    /// Tasks that are granted: spares the lock when there are none.
    granted: AtomicU32,
}

/// Counts before those of streams: per gate one for all, or one per kind of execution unit.
const PER_GATE: usize = 3;

impl Gates {
    pub(crate) fn new(gates: &[Gate]) -> Gates {
        let count = |gate: &Gate| Count { capacity: gate.capacity, ..Count::default() };
        let counts = gates.iter().flat_map(|gate| (0..PER_GATE).map(move |_| count(gate))).collect();
        let book = Book { counts, streams: FxHashMap::default(), granted: VecDeque::new(), deferred: 0 };
        Gates { gates: gates.to_vec(), book: Mutex::new(book), granted: AtomicU32::new(0) }
    }

    /// Takes all permits of a task; if that cannot be, the task is kept and granted later.
    pub(crate) fn enter(&self, node: u32, placement: Placement) -> bool {
        let mut book = self.lock();
        let entered = self.enter_or_list(&mut book, node, placement);
        book.deferred += u64::from(!entered);
        entered
    }

    /// Gives the permits of a finished task back, and returns how many tasks that granted.
    pub(crate) fn leave(&self, placement: Placement) -> usize {
        let mut book = self.lock();
        let before = book.granted.len();
        let counts: Vec<usize> =
            (0..self.gates.len()).filter_map(|gate| self.count(&mut book, gate, placement)).collect();
        for &count in &counts {
            book.counts[count].held -= 1;
        }
        for &count in &counts {
            while book.counts[count].held < book.counts[count].capacity {
                let Some((node, placement)) = book.counts[count].waiting.pop_front() else { break };
                if self.enter_or_list(&mut book, node, placement) {
                    book.granted.push_back((node, placement));
                }
            }
        }
        self.publish(&book);
        book.granted.len() - before
    }

    /// A granted task that a worker of the pool may take.
    pub(crate) fn take_granted(&self, fits: impl Fn(Placement) -> bool) -> Option<u32> {
        if !self.any_granted() {
            return None;
        }
        let mut book = self.lock();
        let at = book.granted.iter().position(|&(_, placement)| fits(placement))?;
        let (node, _) = book.granted.remove(at)?;
        self.publish(&book);
        Some(node)
    }

    pub(crate) fn any_granted(&self) -> bool {
        self.granted.load(Ordering::SeqCst) > 0
    }

    /// Tasks that found a gate shut.
    pub(crate) fn deferred(&self) -> u64 {
        self.lock().deferred
    }

    fn publish(&self, book: &Book) {
        self.granted.store(book.granted.len() as u32, Ordering::SeqCst);
    }

    fn enter_or_list(&self, book: &mut Book, node: u32, placement: Placement) -> bool {
        let counts: Vec<usize> =
            (0..self.gates.len()).filter_map(|gate| self.count(book, gate, placement)).collect();
        let full = counts.iter().find(|&&count| book.counts[count].held >= book.counts[count].capacity);
        if let Some(&full) = full {
            book.counts[full].waiting.push_back((node, placement));
            return false;
        }
        for count in counts {
            book.counts[count].held += 1;
        }
        true
    }

    /// The count of a gate that a task falls under.
    fn count(&self, book: &mut Book, gate: usize, placement: Placement) -> Option<usize> {
        let first = gate * PER_GATE;
        match self.gates[gate].scope {
            GateScope::Global => Some(first),
            GateScope::PerPool => Some(match placement.pool {
                ExecPool::Vector => first,
                ExecPool::Cube => first + 1,
                ExecPool::Any => first + 2,
            }),
            GateScope::PerStream => {
                let Book { counts, streams, .. } = book;
                let capacity = self.gates[gate].capacity;
                let count = streams.entry((gate as u32, placement.stream?)).or_insert_with(|| {
                    counts.push(Count { capacity, ..Count::default() });
                    counts.len() - 1
                });
                Some(*count)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        // Nothing inside the lock panics half way.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gate(scope: GateScope, capacity: u32) -> Gate {
        Gate { scope, capacity }
    }

    fn on_stream(stream: u16) -> Placement {
        Placement { stream: Some(StreamId(stream)), ..Placement::default() }
    }

    #[test]
    fn a_task_that_finds_a_gate_shut_is_granted_when_another_leaves() {
        let gates = Gates::new(&[gate(GateScope::Global, 2)]);
        let all = Placement::default();
        let entered: Vec<bool> = (0..4).map(|node| gates.enter(node, all)).collect();
        assert_eq!((entered, gates.deferred()), (vec![true, true, false, false], 2));
        assert_eq!((gates.leave(all), gates.take_granted(|_| true)), (1, Some(2)));
        assert_eq!(gates.take_granted(|_| true), None);
    }

    #[test]
    fn each_stream_has_a_count_of_its_own_and_tasks_without_one_pass() {
        let gates = Gates::new(&[gate(GateScope::PerStream, 1)]);
        assert!(
            gates.enter(0, on_stream(5)) && gates.enter(1, on_stream(6)) && !gates.enter(2, on_stream(5))
        );
        assert!(gates.enter(3, Placement::default()) && gates.enter(4, Placement::default()));
    }

    /// A task that waits for one gate and then meets another that is full must not hide those behind it.
    #[test]
    fn a_listed_task_that_meets_another_full_gate_lets_the_next_pass() {
        let gates = Gates::new(&[gate(GateScope::Global, 2), gate(GateScope::PerStream, 1)]);
        assert!(gates.enter(0, on_stream(1)) && gates.enter(1, on_stream(2)));
        assert!(!gates.enter(2, on_stream(1)) && !gates.enter(3, on_stream(3)));
        assert_eq!((gates.leave(on_stream(2)), gates.take_granted(|_| true)), (1, Some(3)));
        assert_eq!((gates.leave(on_stream(1)), gates.take_granted(|_| true)), (1, Some(2)));
    }

    proptest! {
        #[test]
        fn every_task_passes_and_no_count_exceeds_its_capacity(
            scopes in proptest::collection::vec((0..3usize, 1..4u32), 1..4),
            tasks in proptest::collection::vec((0..3u16, 0..3usize), 1..60),
            order in any::<u64>(),
        ) {
            let kinds = [GateScope::Global, GateScope::PerStream, GateScope::PerPool];
            let pools = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any];
            let list: Vec<Gate> = scopes.iter().map(|&(kind, capacity)| gate(kinds[kind], capacity)).collect();
            let place = |i: usize| Placement { pool: pools[tasks[i].1], ..on_stream(tasks[i].0) };
            let gates = Gates::new(&list);
            let (mut running, mut ran, mut next, mut random) = (Vec::new(), 0, 0, order | 1);
            while ran < tasks.len() {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if next < tasks.len() && random >> 40 & 1 == 0 {
                    if gates.enter(next as u32, place(next)) {
                        running.push(next);
                    }
                    next += 1;
                } else if let Some(node) = gates.take_granted(|_| true) {
                    running.push(node as usize);
                } else if !running.is_empty() {
                    let done = running.swap_remove((random >> 33) as usize % running.len());
                    gates.leave(place(done));
                    ran += 1;
                } else {
                    prop_assert!(next < tasks.len(), "tasks are left, and nobody runs");
                }
                for gate in &list {
                    let same = |a: Placement, b: Placement| match gate.scope {
                        GateScope::Global => true,
                        GateScope::PerStream => a.stream == b.stream,
                        GateScope::PerPool => a.pool == b.pool,
                    };
                    for &i in &running {
                        let beside = running.iter().filter(|&&j| same(place(i), place(j))).count();
                        prop_assert!(beside <= gate.capacity as usize);
                    }
                }
            }
        }
    }
}
