//! The ready tasks of an AICPU: a place for vector and one for cube units, and beside them one for tasks of either.
//!
//! Only their AICPU touches them: cores are handed tasks, they do not take them.

use super::config::ReadyOrder;
use crate::ranked::{Rank, RankedTasks, key};
use wsp_core::ExecPool;

/// The units of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Vector,
    Cube,
    Both,
}

/// A slot with a ready task that was taken, and the rank with which it can be put back.
pub(super) type RankedSlot = (Rank, u16);

/// All places.
#[derive(Debug)]
pub(super) struct UnitQueues {
    tasks: RankedTasks,
    order: ReadyOrder,
    capacity: usize,
    overflows: u64,
}

const VECTOR: u32 = 0;
const CUBE: u32 = 1;
/// The place for tasks of either unit.
const ANY: u32 = 2;

impl UnitQueues {
    pub(super) fn new(order: ReadyOrder, capacity: u32) -> UnitQueues {
        UnitQueues { tasks: RankedTasks::new(ANY + 1), order, capacity: capacity as usize, overflows: 0 }
    }

    /// Ready tasks that found the capacity or more in their place.
    pub(super) fn overflows(&self) -> u64 {
        self.overflows
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// A task becomes ready.
    pub(super) fn push(&mut self, slot: u16, pool: ExecPool, priority: i32) {
        let priority = if self.order == ReadyOrder::Priority { priority } else { 0 };
        self.overflows += u64::from(self.tasks.len(place(pool)) >= self.capacity);
        self.tasks.push(slot.into(), place(pool), priority);
    }

    /// Puts a task back that was taken and could not start; it keeps its turn.
    pub(super) fn put_back(&mut self, (rank, slot): RankedSlot, pool: ExecPool) {
        self.tasks.put_back(slot.into(), place(pool), rank);
    }

    /// All ready tasks, for reports.
    pub(super) fn slots(&self) -> impl Iterator<Item = u16> {
        self.tasks.tasks().map(|slot| slot as u16)
    }

    /// Takes the next task for a core with this unit: of equal priorities, a single unit prefers its own.
    pub(super) fn pop(&mut self, unit: Unit) -> Option<RankedSlot> {
        let places: &[u32] = match unit {
            Unit::Vector => &[VECTOR, ANY],
            Unit::Cube => &[CUBE, ANY],
            Unit::Both => &[VECTOR, CUBE, ANY],
        };
        // To a core with both units all tasks are its own.
        let key_of = |place: u32| Some(key(self.tasks.first(place)?, place == ANY && unit != Unit::Both));
        let (_, place) = places.iter().filter_map(|&place| Some((key_of(place)?, place))).max()?;
        // What goes in has 16 bits.
        self.tasks.pop(place).map(|(rank, slot)| (rank, slot as u16))
    }
}

fn place(pool: ExecPool) -> u32 {
    match pool {
        ExecPool::Vector => VECTOR,
        ExecPool::Cube => CUBE,
        ExecPool::Any => ANY,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn popped(queues: &mut UnitQueues, unit: Unit) -> Vec<u16> {
        std::iter::from_fn(|| queues.pop(unit)).map(|(_, slot)| slot).collect()
    }

    #[test]
    fn each_unit_takes_its_own_and_a_core_with_both_goes_by_turn() {
        let fill = || {
            let mut queues = UnitQueues::new(ReadyOrder::Fifo, 8);
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
        let mut queues = UnitQueues::new(ReadyOrder::Priority, 8);
        for (slot, priority) in [(0, 1), (1, 3), (2, 3), (3, i32::MIN)] {
            queues.push(slot, if slot == 1 { ExecPool::Cube } else { ExecPool::Vector }, priority);
        }
        assert_eq!(popped(&mut queues, Unit::Both), [1, 2, 0, 3]);
    }

    #[test]
    fn a_unit_takes_tasks_for_either_after_its_own_unless_their_priority_is_larger() {
        let fill = |order, priority| {
            let mut queues = UnitQueues::new(order, 8);
            queues.push(0, ExecPool::Any, priority);
            queues.push(1, ExecPool::Vector, 0);
            queues.push(2, ExecPool::Any, 0);
            queues
        };
        assert_eq!(popped(&mut fill(ReadyOrder::Fifo, 9), Unit::Vector), [1, 0, 2]);
        assert_eq!(popped(&mut fill(ReadyOrder::Fifo, 9), Unit::Cube), [0, 2]);
        assert_eq!(popped(&mut fill(ReadyOrder::Fifo, 9), Unit::Both), [0, 1, 2]);
        assert_eq!(popped(&mut fill(ReadyOrder::Priority, 0), Unit::Vector), [1, 0, 2]);
        assert_eq!(popped(&mut fill(ReadyOrder::Priority, 9), Unit::Vector), [0, 1, 2]);
    }

    #[test]
    fn tasks_beyond_the_capacity_are_counted_and_keep_their_order() {
        for capacity in 1..4 {
            let mut queues = UnitQueues::new(ReadyOrder::Priority, capacity);
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
        let mut queues = UnitQueues::new(ReadyOrder::Fifo, 8);
        (0..3).for_each(|slot| queues.push(slot, ExecPool::Any, 0));
        let first = queues.pop(Unit::Both).expect("there are three");
        queues.put_back(first, ExecPool::Any);
        assert_eq!(popped(&mut queues, Unit::Both), [0, 1, 2]);
    }
}
