//! Ready tasks of one pool, and the order in which workers find them.

use crate::bit_set::BitSet;
use crate::placement::{Division, Route};
use crate::random;
use std::collections::VecDeque;

/// The ready tasks of one pool of a [`Division`], or of those that several pools may run.
///
/// A common queue, one per core group and an inbox per worker are first in, first out; a worker's deque gives its owner
/// what came last and a thief what came first.
pub(super) struct ReadyTasks {
    pool: Option<usize>,
    queued: usize,
    common: VecDeque<u32>,
    groups: Vec<VecDeque<u32>>,
    inboxes: Vec<VecDeque<u32>>,
    deques: Vec<VecDeque<u32>>,
    /// Groups, inboxes and deques that hold a task.
    in_groups: BitSet,
    in_inboxes: BitSet,
    in_deques: BitSet,
}

impl ReadyTasks {
    pub(super) fn new(division: &Division, pool: Option<usize>) -> ReadyTasks {
        let queues = |n: u32| (0..n).map(|_| VecDeque::new()).collect();
        let groups = pool.map_or(0, |pool| division.parts()[pool].groups);
        let workers = division.workers(None).end;
        ReadyTasks {
            pool,
            queued: 0,
            common: VecDeque::new(),
            groups: queues(groups),
            inboxes: queues(workers),
            deques: queues(workers),
            in_groups: BitSet::new(groups),
            in_inboxes: BitSet::new(workers),
            in_deques: BitSet::new(workers),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queued == 0
    }

    /// Queues a task where its route says, which is one of the pool.
    pub(super) fn push(&mut self, task: u32, route: Route, division: &Division) {
        self.queued += 1;
        match route {
            Route::Any => self.common.push_back(task),
            Route::Group(group) => {
                self.groups[group as usize].push_back(task);
                self.in_groups.insert(group);
            }
            Route::Worker(worker) => {
                let worker = division.workers(self.pool).start + worker;
                self.inboxes[worker as usize].push_back(task);
                self.in_inboxes.insert(worker);
            }
        }
    }

    /// Pushes a task to a worker's own deque.
    pub(super) fn push_own(&mut self, task: u32, worker: u32) {
        self.queued += 1;
        self.deques[worker as usize].push_back(task);
        self.in_deques.insert(worker);
    }

    /// An idle worker that has a task of its own.
    pub(super) fn first_with_own(&self, idle: &BitSet, division: &Division) -> Option<u32> {
        let members = division.workers(self.pool);
        let inbox = idle.first_common(&self.in_inboxes, members.clone());
        let deque = idle.first_common(&self.in_deques, members);
        [inbox, deque].into_iter().flatten().min()
    }

    /// Takes from the worker's inbox, or else from its deque. The inbox first, so that a deque that keeps filling itself
    /// does not starve it.
    pub(super) fn pop_own(&mut self, worker: u32) -> Option<u32> {
        self.pop_inbox(worker).or_else(|| {
            let task = self.deques[worker as usize].pop_back();
            self.took_from_deque(worker, task)
        })
    }

    /// An idle worker whose group has a task.
    pub(super) fn first_with_group(&self, idle: &BitSet, division: &Division) -> Option<u32> {
        let part = division.parts()[self.pool?];
        let mut groups = 0..part.groups;
        while let Some(group) = self.in_groups.first_in(groups.clone()) {
            if let Some(worker) = idle.first_in(part.group(group)) {
                return Some(worker);
            }
            groups.start = group + 1;
        }
        None
    }

    /// Takes from a group's queue.
    pub(super) fn pop_group(&mut self, group: u32) -> Option<u32> {
        let queue = &mut self.groups[group as usize];
        let task = queue.pop_front()?;
        if queue.is_empty() {
            self.in_groups.remove(group);
        }
        self.queued -= 1;
        Some(task)
    }

    /// Takes from the common queue.
    pub(super) fn pop_common(&mut self) -> Option<u32> {
        let task = self.common.pop_front()?;
        self.queued -= 1;
        Some(task)
    }

    /// Takes what is meant for another: from a deque of the worker's group, from any deque, from another group's queue,
    /// from another worker's inbox.
    pub(super) fn steal(&mut self, thief: u32, division: &Division, state: &mut u64) -> Option<u32> {
        let members = division.workers(self.pool);
        if self.in_deques.first_in(members.clone()).is_some() {
            let victim = [division.neighbours(thief), members.clone()].into_iter().find_map(|range| {
                let workers = u64::from(range.end - range.start).max(1);
                let first = range.start + (random::next(state) % workers) as u32;
                self.in_deques.first_around(range, first)
            });
            if let Some(victim) = victim {
                let task = self.deques[victim as usize].pop_front();
                return self.took_from_deque(victim, task);
            }
        }
        let groups = self.groups.len() as u32;
        if let Some(group) = self.in_groups.first_around(0..groups, groups.min(division.group_of(thief) + 1))
        {
            return self.pop_group(group);
        }
        let inbox = self.in_inboxes.first_around(members, thief + 1)?;
        self.pop_inbox(inbox)
    }

    fn pop_inbox(&mut self, worker: u32) -> Option<u32> {
        let queue = &mut self.inboxes[worker as usize];
        let task = queue.pop_front()?;
        if queue.is_empty() {
            self.in_inboxes.remove(worker);
        }
        self.queued -= 1;
        Some(task)
    }

    fn took_from_deque(&mut self, worker: u32, task: Option<u32>) -> Option<u32> {
        if self.deques[worker as usize].is_empty() {
            self.in_deques.remove(worker);
        }
        self.queued -= usize::from(task.is_some());
        task
    }
}
