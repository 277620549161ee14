//! Tasks that a worker takes together, because their runner gains from it.
//!
//! A worker that has a task looks at what it would run next: while that is a mate of the last one, it comes along. The first that
//! is none is put aside for whoever looks next. Workers do so one after the other: two that took tasks in turn would find none
//! beside its neighbour. With gates nothing is taken together: a task that has its permits waits for nobody's. Nor is anything
//! by priority: what becomes ready meanwhile may have to go first.

use super::{Running, Worker};
use crate::placement::Route;
use crate::shared::{Cause, Store};
use crate::{Ready, TaskRunner};
use wsp_core::{KernelId, TaskId};

/// Tasks taken together, and what their runner is shown of them.
#[derive(Default)]
pub(super) struct Group {
    /// Each with the end of its payload in `words`.
    tasks: Vec<(u32, TaskId, usize)>,
    words: Vec<u32>,
}

impl Group {
    fn clear(&mut self) {
        self.tasks.clear();
        self.words.clear();
    }

    /// Whether it has tasks, and this is the first of them.
    #[inline]
    pub(super) fn is_led_by(&self, node: u32) -> bool {
        self.tasks.first().is_some_and(|first| first.0 == node)
    }

    fn push(&mut self, node: u32, task: TaskId, payload: &[u32]) {
        self.words.extend_from_slice(payload);
        self.tasks.push((node, task, self.words.len()));
    }

    /// Payload of the task with this number.
    fn payload(&self, at: usize) -> &[u32] {
        let begin = at.checked_sub(1).map_or(0, |before| self.tasks[before].2);
        &self.words[begin..self.tasks[at].2]
    }

    /// When a task began and ended, of which all together took this time: each has an equal part of it.
    fn part(&self, at: usize, (started, finished): (u64, u64)) -> (u64, u64) {
        let moment = |n: usize| started + (finished - started) * n as u64 / self.tasks.len() as u64;
        (moment(at), moment(at + 1))
    }
}

impl<R: TaskRunner, S: Store> Worker<'_, '_, R, S> {
    /// Whether mates of a task come along that was taken by itself; they are in the group then, with the task as the first.
    #[inline]
    pub(super) fn gathers(&mut self, node: u32) -> bool {
        self.most_beside(node) > 1 && self.gather_in_turn(node)
    }

    /// How many tasks are taken together with this one at most, itself included.
    #[inline]
    fn most_beside(&self, node: u32) -> usize {
        let shared = self.shared;
        let most = shared.store.call(node, |kernel, _| shared.runner.takes_together(kernel));
        let may = shared.gates.is_none() && shared.policy() != Ready::Priority;
        if may { most } else { 1 }
    }

    #[cold]
    fn gather_in_turn(&mut self, node: u32) -> bool {
        let pool = &self.shared.queues.pools[self.finder.pool];
        pool.turns.begin();
        let turn = pool.turns.wait();
        self.gather(node);
        drop(turn);
        self.tell_of_one_aside();
        self.group.is_led_by(node)
    }

    /// Looks once, in this worker's turn; mates of what is found are in the group then.
    #[cold]
    pub(super) fn find_in_turn(&mut self, round: u32) -> Option<u32> {
        let turns = &self.shared.queues.pools[self.finder.pool].turns;
        let turn = turns.wait();
        let node = turns.take_aside().or_else(|| self.find(round).map(|found| found.node));
        if let Some(node) = node {
            self.gather(node);
        }
        drop(turn);
        self.tell_of_one_aside();
        node
    }

    /// A node was out of sight while it was put aside.
    fn tell_of_one_aside(&self) {
        let pool = &self.shared.queues.pools[self.finder.pool];
        if pool.turns.holds_one() {
            pool.sleep.notify(Route::Any);
        }
    }

    /// Takes the mates of a node, in this worker's turn.
    fn gather(&mut self, node: u32) {
        let shared = self.shared;
        self.group.clear();
        let Some(task) = shared.store.task(node).filter(|task| !shared.stop.refuses(*task)) else { return };
        let most = self.most_beside(node);
        let kernel = shared.store.call(node, |kernel, payload| {
            self.group.push(node, task, payload);
            kernel
        });
        let turns = &shared.queues.pools[self.finder.pool].turns;
        // What this worker runs next already leaves no room for another that is meant for it.
        while self.group.tasks.len() < most && self.next.is_none() && self.leaves_enough() {
            let Some(next) = turns.take_aside().or_else(|| self.find(0).map(|found| found.node)) else {
                break;
            };
            if !self.joins(kernel, next) {
                self.put_aside(next);
                break;
            }
        }
        if self.group.tasks.len() == 1 {
            self.group.clear();
        }
    }

    /// What goes with none of the group is found by the next that looks, or where it is meant for some workers only, run by this one.
    fn put_aside(&mut self, node: u32) {
        let pool = &self.shared.queues.pools[self.finder.pool];
        match pool.topology.plain(self.shared.store.placement(node).route) {
            Route::Any => pool.turns.put_aside(node),
            Route::Group(_) | Route::Worker(_) => self.next = Some(node),
        }
    }

    /// Whether the others have enough to do when one more task goes along: as many as this worker has then.
    fn leaves_enough(&self) -> bool {
        let pool = &self.shared.queues.pools[self.finder.pool];
        let others = pool.topology.threads as usize - 1;
        others == 0 || pool.len() > others * (self.group.tasks.len() + 1)
    }

    /// Takes a node into the group if it is a mate of the last task there.
    fn joins(&mut self, kernel: KernelId, node: u32) -> bool {
        let shared = self.shared;
        let Some(task) = shared.store.task(node).filter(|task| !shared.stop.refuses(*task)) else {
            return false;
        };
        let group = &mut self.group;
        shared.store.call(node, |of, payload| {
            let last = group.payload(group.tasks.len() - 1);
            let joins = of == kernel && shared.runner.are_mates(kernel, last, payload);
            if joins {
                group.push(node, task, payload);
            }
            joins
        })
    }

    /// Runs the tasks of the group and completes them.
    pub(super) fn run_group(&mut self) {
        let shared = self.shared;
        let (worker, times) = (self.index as usize, shared.trace.times());
        let (node, task, _) = self.group.tasks[0];
        // For when it panics, and also if a prefetch does.
        self.running = Some(Running { node, task, started_ns: 0 });
        for at in 0..self.group.tasks.len() {
            self.start(self.group.tasks[at].0);
        }
        let started_ns = if times { self.begins() } else { 0 };
        self.running = Some(Running { node, task, started_ns });
        let kernel = shared.store.call(node, |kernel, _| kernel);
        let group = &self.group;
        let tasks: Vec<(TaskId, &[u32])> =
            (0..group.tasks.len()).map(|at| (group.tasks[at].1, group.payload(at))).collect();
        let mut failures = Vec::new();
        let mut outcomes = 0;
        shared.runner.run_together(worker, kernel, &tasks, &mut |result| {
            failures.extend(result.err().map(|failure| (outcomes, failure)));
            outcomes += 1;
        });
        self.running = None;
        let finished_ns = if times { self.ends() } else { 0 };
        for at in 0..self.group.tasks.len() {
            let (running, finished_ns) = self.part(at, started_ns, finished_ns);
            self.finish(running, finished_ns);
        }
        for (at, failure) in failures {
            self.fail(self.part(at, started_ns, finished_ns).0, Cause::Error(failure));
        }
        self.complete_group(0);
    }

    /// After the first of the group panicked and was completed: the others ran as well, as far as they ran.
    #[cold]
    pub(super) fn leave_group(&mut self, first: Running, finished_ns: u64) {
        for at in 1..self.group.tasks.len() {
            let (node, task, _) = self.group.tasks[at];
            self.finish(Running { node, task, ..first }, finished_ns);
        }
        self.complete_group(1);
    }

    /// A task of the group with its part of the time.
    fn part(&self, at: usize, started_ns: u64, finished_ns: u64) -> (Running, u64) {
        let (node, task, _) = self.group.tasks[at];
        let (started_ns, finished_ns) = self.group.part(at, (started_ns, finished_ns));
        (Running { node, task, started_ns }, finished_ns)
    }

    /// Completes the tasks of the group from one on.
    fn complete_group(&mut self, first: usize) {
        for at in first..self.group.tasks.len() {
            self.complete(self.group.tasks[at].0);
        }
        self.group.clear();
    }
}
