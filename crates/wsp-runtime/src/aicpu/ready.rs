//! The ready tasks of an AICPU: a queue for vector and one for cube units, and beside them one for tasks of either.
//!
//! Only their AICPU touches them: cores are handed tasks, they do not take them.

use super::config::ReadyOrder;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wsp_core::ExecPool;

/// A ready task. The greatest is taken first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Ready {
    /// 0 where tasks go in the order of becoming ready.
    priority: i32,
    /// When it became ready, among those of its AICPU.
    turn: Reverse<u64>,
    pub(super) slot: u16,
    /// Whether it found a gate shut.
    pub(super) was_refused: bool,
}

/// The units of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Vector,
    Cube,
    Both,
}

impl Ready {
    /// The same, which found a gate shut.
    pub(super) fn refused(self) -> Ready {
        Ready { was_refused: true, ..self }
    }
}

/// All queues.
#[derive(Debug)]
pub(super) struct ReadyQueues {
    /// For vector units, for cube units, for either.
    queues: [BinaryHeap<Ready>; 3],
    order: ReadyOrder,
    capacity: usize,
    turn: u64,
    overflows: u64,
}

/// The queue for tasks of either unit.
const ANY: usize = 2;

impl ReadyQueues {
    pub(super) fn new(order: ReadyOrder, capacity: u32) -> ReadyQueues {
        ReadyQueues { queues: Default::default(), order, capacity: capacity as usize, turn: 0, overflows: 0 }
    }

    /// Ready tasks that found more than the capacity in their queue.
    pub(super) fn overflows(&self) -> u64 {
        self.overflows
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queues.iter().all(BinaryHeap::is_empty)
    }

    /// A task becomes ready.
    pub(super) fn push(&mut self, slot: u16, pool: ExecPool, priority: i32) {
        self.turn += 1;
        let priority = if self.order == ReadyOrder::Priority { priority } else { 0 };
        self.overflows += u64::from(self.queues[queue(pool)].len() >= self.capacity);
        self.put_back(Ready { priority, turn: Reverse(self.turn), slot, was_refused: false }, pool);
    }

    /// Puts a task back that was taken and could not start; it keeps its turn.
    pub(super) fn put_back(&mut self, ready: Ready, pool: ExecPool) {
        self.queues[queue(pool)].push(ready);
    }

    /// All ready tasks, for reports.
    pub(super) fn slots(&self) -> Vec<u16> {
        self.queues.iter().flatten().map(|ready| ready.slot).collect()
    }

    /// Takes the next task for a core with this unit: of equal priorities, a single unit prefers its own.
    pub(super) fn pop(&mut self, unit: Unit) -> Option<Ready> {
        let first = |queue: usize| self.queues[queue].peek().map(|ready| (*ready, queue));
        let greatest = match unit {
            Unit::Both => (0..=ANY).filter_map(first).max(),
            Unit::Vector | Unit::Cube => {
                let (own, any) = (first(usize::from(unit == Unit::Cube)), first(ANY));
                let any_first = match (own, any) {
                    (Some((own, _)), Some((any, _))) => any.priority > own.priority,
                    (own, _) => own.is_none(),
                };
                if any_first { any } else { own }
            }
        };
        self.queues[greatest?.1].pop()
    }
}

fn queue(pool: ExecPool) -> usize {
    match pool {
        ExecPool::Vector => 0,
        ExecPool::Cube => 1,
        ExecPool::Any => ANY,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn popped(queues: &mut ReadyQueues, unit: Unit) -> Vec<u16> {
        std::iter::from_fn(|| queues.pop(unit)).map(|ready| ready.slot).collect()
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
    fn a_unit_takes_tasks_for_either_after_its_own_unless_their_priority_is_larger() {
        let fill = |order, priority| {
            let mut queues = ReadyQueues::new(order, 8);
            queues.push(0, ExecPool::Any, priority);
            queues.push(1, ExecPool::Vector, 0);
            queues.push(2, ExecPool::Any, 0);
            queues
        };
        assert_eq!(popped(&mut fill(ReadyOrder::Fifo, 9), Unit::Vector), [1, 0, 2]);
        assert_eq!(popped(&mut fill(ReadyOrder::Fifo, 9), Unit::Cube), [0, 2]);
        assert_eq!(popped(&mut fill(ReadyOrder::Priority, 0), Unit::Vector), [1, 0, 2]);
        assert_eq!(popped(&mut fill(ReadyOrder::Priority, 9), Unit::Vector), [0, 1, 2]);
    }

    #[test]
    fn tasks_beyond_the_capacity_are_counted_and_keep_their_order() {
        for capacity in 1..4 {
            let mut queues = ReadyQueues::new(ReadyOrder::Priority, capacity);
            for slot in 0..20 {
                queues.push(slot, if slot < 10 { ExecPool::Cube } else { ExecPool::Vector }, slot.into());
            }
            assert_eq!(queues.overflows(), 20 - 2 * u64::from(capacity));
            assert_eq!(popped(&mut queues, Unit::Vector), (10..20).rev().collect::<Vec<u16>>());
            assert_eq!(popped(&mut queues, Unit::Cube), (0..10).rev().collect::<Vec<u16>>());
            assert!(queues.is_empty());
        }
    }

    #[test]
    fn a_task_that_is_put_back_keeps_its_turn() {
        let mut queues = ReadyQueues::new(ReadyOrder::Fifo, 8);
        (0..3).for_each(|slot| queues.push(slot, ExecPool::Any, 0));
        let first = queues.pop(Unit::Both).expect("there are three");
        queues.put_back(first.refused(), ExecPool::Any);
        assert_eq!(popped(&mut queues, Unit::Both), [0, 1, 2]);
    }
}
