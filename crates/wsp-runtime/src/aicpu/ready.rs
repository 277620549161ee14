//! The two queues of ready tasks of an AICPU: for vector and for cube units.
//!
//! Only their AICPU touches them: cores are handed tasks, they do not take them.

use super::config::ReadyOrder;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use wsp_core::ExecPool;

/// A ready task. The greatest is taken first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Ready {
    priority: i32,
    /// When it became ready, among those of its AICPU.
    turn: Reverse<u64>,
    slot: u16,
    any_unit: bool,
}

/// The units of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Vector,
    Cube,
    Both,
}

impl Unit {
    /// Whether a core with this unit runs tasks of a pool.
    pub(super) fn runs(self, pool: ExecPool) -> bool {
        match self {
            Unit::Vector => pool != ExecPool::Cube,
            Unit::Cube => pool != ExecPool::Vector,
            Unit::Both => true,
        }
    }
}

#[derive(Debug)]
enum Queue {
    Fifo(VecDeque<Ready>),
    Priority(BinaryHeap<Ready>),
}

impl Queue {
    fn new(order: ReadyOrder) -> Queue {
        match order {
            ReadyOrder::Fifo => Queue::Fifo(VecDeque::new()),
            ReadyOrder::Priority => Queue::Priority(BinaryHeap::new()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Queue::Fifo(queue) => queue.len(),
            Queue::Priority(heap) => heap.len(),
        }
    }

    fn push(&mut self, ready: Ready) {
        match self {
            Queue::Fifo(queue) => queue.push_back(ready),
            Queue::Priority(heap) => heap.push(ready),
        }
    }

    fn first(&self) -> Option<&Ready> {
        match self {
            Queue::Fifo(queue) => queue.front(),
            Queue::Priority(heap) => heap.peek(),
        }
    }

    fn pop(&mut self) -> Option<Ready> {
        match self {
            Queue::Fifo(queue) => queue.pop_front(),
            Queue::Priority(heap) => heap.pop(),
        }
    }
}

/// Both queues, and what waits for a place in them.
#[derive(Debug)]
pub(super) struct ReadyQueues {
    queues: [Queue; 2],
    capacity: usize,
    waiting: VecDeque<(Ready, ExecPool)>,
    turn: u64,
    overflows: u64,
}

const VECTOR: usize = 0;
const CUBE: usize = 1;

impl ReadyQueues {
    pub(super) fn new(order: ReadyOrder, capacity: u32) -> ReadyQueues {
        ReadyQueues {
            queues: [Queue::new(order), Queue::new(order)],
            capacity: capacity as usize,
            waiting: VecDeque::new(),
            turn: 0,
            overflows: 0,
        }
    }

    /// Ready tasks that found their queue full.
    pub(super) fn overflows(&self) -> u64 {
        self.overflows
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queues.iter().all(|queue| queue.len() == 0) && self.waiting.is_empty()
    }

    /// A task becomes ready. If its queue is full, it waits for a place there.
    pub(super) fn push(&mut self, slot: u16, pool: ExecPool, priority: i32) {
        self.turn += 1;
        let ready = Ready { priority, turn: Reverse(self.turn), slot, any_unit: pool == ExecPool::Any };
        // A place is given away at once when it gets free: where there is one, nobody waits for it.
        if !self.place(ready, pool) {
            self.overflows += 1;
            self.waiting.push_back((ready, pool));
        }
    }

    /// Puts a task into its queue, or into the shorter; whether there was a place.
    fn place(&mut self, ready: Ready, pool: ExecPool) -> bool {
        let shorter = usize::from(self.queues[CUBE].len() < self.queues[VECTOR].len());
        let queue = match pool {
            ExecPool::Vector => VECTOR,
            ExecPool::Cube => CUBE,
            ExecPool::Any => shorter,
        };
        let has_room = self.queues[queue].len() < self.capacity;
        if has_room {
            self.queues[queue].push(ready);
        }
        has_room
    }

    /// All ready tasks, for reports.
    pub(super) fn slots(&self) -> Vec<u16> {
        let queued = self.queues.iter().flat_map(|queue| match queue {
            Queue::Fifo(queue) => queue.iter().collect::<Vec<_>>(),
            Queue::Priority(heap) => heap.iter().collect(),
        });
        queued.chain(self.waiting.iter().map(|(ready, _)| ready)).map(|ready| ready.slot).collect()
    }

    /// The next task for a core with this unit.
    pub(super) fn pop(&mut self, unit: Unit) -> Option<u16> {
        let queue = match unit {
            Unit::Vector => self.own_or_any(VECTOR),
            Unit::Cube => self.own_or_any(CUBE),
            Unit::Both => {
                let firsts = [0, 1].map(|queue| self.queues[queue].first());
                // Ready tasks compare by priority only where the queues do.
                let cube_first = match (&self.queues[VECTOR], firsts) {
                    (_, [None, _]) => true,
                    (_, [_, None]) => false,
                    (Queue::Fifo(_), [Some(vector), Some(cube)]) => cube.turn > vector.turn,
                    (Queue::Priority(_), [Some(vector), Some(cube)]) => cube > vector,
                };
                usize::from(cube_first)
            }
        };
        let popped = self.queues[queue].pop()?;
        self.refill();
        Some(popped.slot)
    }

    /// A unit's own queue, or the other if that is empty and a task for any unit is first there.
    fn own_or_any(&self, own: usize) -> usize {
        let other = 1 - own;
        let helps =
            self.queues[own].len() == 0 && self.queues[other].first().is_some_and(|ready| ready.any_unit);
        if helps { other } else { own }
    }

    /// Gives free places to tasks that wait for one. Those behind one whose queue is full may go to the other.
    fn refill(&mut self) {
        for _ in 0..self.waiting.len() {
            if self.queues.iter().all(|queue| queue.len() >= self.capacity) {
                return;
            }
            let Some((ready, pool)) = self.waiting.pop_front() else { return };
            if !self.place(ready, pool) {
                self.waiting.push_back((ready, pool));
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn popped(queues: &mut ReadyQueues, unit: Unit) -> Vec<u16> {
        std::iter::from_fn(|| queues.pop(unit)).collect()
    }

    #[test]
    fn each_unit_takes_its_own_and_a_core_with_both_goes_by_turn() {
        let fill = || {
            let mut queues = ReadyQueues::new(ReadyOrder::Fifo, 8);
            for slot in 0..6 {
                queues.push(
                    slot,
                    if slot % 2 == 0 { ExecPool::Vector } else { ExecPool::Cube },
                    -i32::from(slot),
                );
            }
            queues
        };
        assert_eq!(popped(&mut fill(), Unit::Vector), [0, 2, 4]);
        assert_eq!(popped(&mut fill(), Unit::Cube), [1, 3, 5]);
        assert_eq!(popped(&mut fill(), Unit::Both), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn priority_goes_before_the_turn() {
        let mut queues = ReadyQueues::new(ReadyOrder::Priority, 8);
        for (slot, priority) in [(0, 1), (1, 3), (2, 3), (3, i32::MIN)] {
            queues.push(slot, if slot == 1 { ExecPool::Cube } else { ExecPool::Vector }, priority);
        }
        assert_eq!(popped(&mut queues, Unit::Both), [1, 2, 0, 3]);
    }

    #[test]
    fn tasks_for_any_unit_go_to_the_shorter_queue_and_to_an_idle_unit() {
        let mut queues = ReadyQueues::new(ReadyOrder::Fifo, 8);
        queues.push(0, ExecPool::Vector, 0);
        queues.push(1, ExecPool::Any, 0);
        queues.push(2, ExecPool::Any, 0);
        assert_eq!(queues.pop(Unit::Cube), Some(1));
        // The other task for any unit stands behind one for vector units, then first.
        assert_eq!((queues.pop(Unit::Vector), queues.pop(Unit::Cube)), (Some(0), Some(2)));
        assert!(queues.is_empty());
    }

    #[test]
    fn tasks_that_find_their_queue_full_are_taken_later_and_none_is_lost() {
        for capacity in 1..4 {
            let mut queues = ReadyQueues::new(ReadyOrder::Fifo, capacity);
            for slot in 0..20 {
                queues.push(slot, if slot < 10 { ExecPool::Cube } else { ExecPool::Vector }, 0);
            }
            assert!(queues.overflows() >= 20 - 2 * u64::from(capacity));
            let vector = popped(&mut queues, Unit::Vector);
            assert_eq!(vector.len(), 10);
            let cube = popped(&mut queues, Unit::Cube);
            assert_eq!(cube.len(), 10);
            assert!(queues.is_empty());
        }
    }
}
