//! Slots of tasks by their ids.

use crate::RunConfig;
use crate::infer::SlotTask;
use rustc_hash::FxHashMap;
use wsp_core::TaskId;

/// Tasks remembered, as a multiple of the window.
const REMEMBERED: u32 = 4;
/// Live tasks of which the ring of recent ones has lost sight are not pruned below this number.
const PRUNE_AT_LEAST: usize = 64;

/// Finds the slot of a task that is not known to be complete.
pub(super) struct Recent {
    /// Slot of each recent task, at its id modulo the length once that is full.
    slots: Vec<u32>,
    /// The length when it is full, a power of two.
    most: usize,
    /// Whether tasks that the ring loses sight of may still be named.
    keeps_older: bool,
    /// Those of them that were live then.
    older: FxHashMap<u32, u32>,
    prune_older_at: usize,
}

impl Recent {
    pub(super) fn new(config: &RunConfig) -> Recent {
        Recent {
            slots: Vec::new(),
            most: config.window.capacity.saturating_mul(REMEMBERED).next_power_of_two() as usize,
            keeps_older: config.deps.takes_edges(),
            older: FxHashMap::default(),
            prune_older_at: PRUNE_AT_LEAST,
        }
    }

    /// Remembers a task; ids count up.
    #[inline]
    pub(super) fn add(&mut self, access: SlotTask, is_live: impl Fn(SlotTask) -> bool) {
        if self.slots.len() < self.most {
            self.slots.push(access.slot);
            return;
        }
        let slot = &mut self.slots[access.task as usize & (self.most - 1)];
        let slot = std::mem::replace(slot, access.slot);
        let lost = SlotTask { task: access.task - self.most as u32, slot };
        if self.keeps_older && is_live(lost) {
            self.add_older(lost, is_live);
        }
    }

    #[cold]
    fn add_older(&mut self, lost: SlotTask, is_live: impl Fn(SlotTask) -> bool) {
        if self.older.len() >= self.prune_older_at {
            self.older.retain(|&task, &mut slot| is_live(SlotTask { task, slot }));
            self.prune_older_at = (2 * self.older.len()).max(PRUNE_AT_LEAST);
        }
        self.older.insert(lost.task, lost.slot);
    }

    /// A task that is not known to be complete.
    pub(super) fn find(&self, task: TaskId, is_live: impl Fn(SlotTask) -> bool) -> Option<SlotTask> {
        let slot = *self.slots.get(task.index() & (self.most - 1))?;
        let recent = SlotTask { task: task.0, slot };
        if is_live(recent) {
            return Some(recent);
        }
        let slot = *self.older.get(&task.0)?;
        Some(SlotTask { task: task.0, slot }).filter(|&access| is_live(access))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Window;
    use wsp_core::policy::Deps;

    #[test]
    fn a_live_task_is_found_however_many_come_behind_it() {
        let window = Window { capacity: 2, ..Window::default() };
        let mut recent = Recent::new(&RunConfig { deps: Deps::Explicit, window, ..RunConfig::default() });
        // Tasks 3 and 9 never end, and are in the slots of their numbers.
        let is_live = |access: SlotTask| [3, 9].contains(&access.task) && access.slot == access.task;
        (0..100).for_each(|task| recent.add(SlotTask { task, slot: task }, is_live));
        let found = |task: u32| recent.find(TaskId(task), is_live).map(|found| (found.task, found.slot));
        assert_eq!([3, 4, 9, 99].map(found), [Some((3, 3)), None, Some((9, 9)), None]);
    }
}
