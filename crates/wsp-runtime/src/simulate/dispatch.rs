//! Ready tasks meet idle workers.

use super::engine::{Engine, NOBODY, STARTED};
use super::graph::{Node, SimTaskSpec};
use super::outcome::{SimulateError, WhyLate};
use super::policy::{Rank, Route, kind};
use crate::ReadyPolicy;
use std::cmp::Reverse;
use std::ops::Range;
use wsp_core::TaskId;

/// Where a worker found a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Among the ready tasks.
    Ready,
    /// Among those, but meant for another.
    Stolen,
    /// Among those that a gate had refused.
    Refused,
}

impl Engine<'_> {
    /// Queues what has become ready, by id.
    pub(super) fn queue_released(&mut self) {
        let mut released = std::mem::take(&mut self.released);
        released.sort_unstable();
        let steals = self.policy == ReadyPolicy::WorkSteal;
        // To the deques from the largest id on, because the owner takes what came last.
        for &(task, worker) in released.iter().rev().filter(|&&(_, worker)| steals && worker != NOBODY) {
            if let Some(class) = self.own_class(task, worker) {
                self.ready[class].push_own(task, worker);
            }
        }
        for &(task, worker) in &released {
            if !steals || worker == NOBODY || self.own_class(task, worker).is_none() {
                self.queue(task);
            }
        }
        released.clear();
        self.released = released;
    }

    /// The class of a task that goes to the deque of the worker that released it.
    fn own_class(&self, task: u32, worker: u32) -> Option<usize> {
        let spec = self.spec(task)?;
        let class = self.machine.class_of(kind(spec.pool));
        let is_free = self.machine.route(spec.affinity, class, &mut 0) == Route::Any;
        (is_free && self.machine.members(class).contains(&worker)).then_some(class)
    }

    fn queue(&mut self, task: u32) {
        let Some(spec) = self.spec(task) else { return };
        let class = self.machine.class_of(kind(spec.pool));
        self.queued += 1;
        if self.policy == ReadyPolicy::Priority {
            self.ready[class].push_ranked(task, (Reverse(spec.priority), self.queued));
        } else {
            let route = self.machine.route(spec.affinity, class, &mut self.turns[class]);
            self.ready[class].push(task, route);
        }
    }

    fn spec(&self, task: u32) -> Option<SimTaskSpec> {
        match self.graph.nodes[task as usize] {
            Node::Task(spec) => Some(spec),
            Node::Point(_) => None,
        }
    }

    /// Gives tasks to idle workers until either is used up. The classes of single units come before that of any unit.
    pub(super) fn dispatch(&mut self) -> Result<(), SimulateError> {
        if self.open_since.is_none() {
            return Ok(());
        }
        for class in 0..self.machine.classes() {
            if self.policy == ReadyPolicy::Priority {
                self.serve_by_rank(class)?;
            } else {
                self.serve_refused(class)?;
                self.serve_queues(class)?;
            }
        }
        Ok(())
    }

    fn serve_by_rank(&mut self, class: usize) -> Result<(), SimulateError> {
        let members = self.machine.members(class);
        while let Some(worker) = self.idle.first_in(members.clone()) {
            let refused = self.first_refused(class);
            let ready = self.ready[class].first_rank();
            match (refused, ready) {
                (Some((kind, rank)), ready) if ready.is_none_or(|ready| rank < ready) => {
                    self.start_refused(kind, worker)?;
                }
                _ => {
                    let Some((rank, task)) = self.ready[class].pop_ranked() else { break };
                    self.offer(task, worker, rank, Found::Ready)?;
                }
            }
        }
        Ok(())
    }

    /// First those that a gate refused and now admits.
    fn serve_refused(&mut self, class: usize) -> Result<(), SimulateError> {
        let members = self.machine.members(class);
        while let Some((kind, _)) = self.first_refused(class)
            && let Some(worker) = self.idle.first_in(members.clone())
        {
            self.start_refused(kind, worker)?;
        }
        Ok(())
    }

    /// Own tasks first, then those of the group, then those of all, then those of others.
    fn serve_queues(&mut self, class: usize) -> Result<(), SimulateError> {
        let members: Range<u32> = self.machine.members(class);
        while !self.ready[class].is_empty()
            && let Some(idle) = self.idle.first_in(members.clone())
        {
            let ready = &mut self.ready[class];
            let (worker, task, found) = if let Some(worker) = ready.first_with_own(&self.idle, &self.machine)
            {
                (worker, ready.pop_own(worker), Found::Ready)
            } else if let Some(worker) = ready.first_with_group(&self.idle, &self.machine) {
                (worker, ready.pop_group(self.machine.group_of(worker)), Found::Ready)
            } else if let Some(task) = ready.pop_common() {
                (idle, Some(task), Found::Ready)
            } else {
                (idle, ready.steal(idle, &self.machine, &mut self.victims), Found::Stolen)
            };
            let Some(task) = task else { break };
            self.queued += 1;
            self.offer(task, worker, (Reverse(0), self.queued), found)?;
        }
        Ok(())
    }

    /// The first task of a class that a gate has refused and that its gates now admit: its kind and rank.
    fn first_refused(&self, class: usize) -> Option<(usize, Rank)> {
        let admitted = self.machine.kinds(class).filter(|&kind| self.gates.is_open(kind));
        admitted
            .filter_map(|kind| self.refused[kind].peek().map(|&Reverse((rank, _))| (kind, rank)))
            .min_by_key(|&(_, rank)| rank)
    }

    fn start_refused(&mut self, kind: usize, worker: u32) -> Result<(), SimulateError> {
        match self.refused[kind].pop() {
            Some(Reverse((_, task))) => self.start(task, worker, Found::Refused),
            None => Ok(()),
        }
    }

    /// Starts a task on an idle worker if the gates admit it; else the task steps aside.
    fn offer(&mut self, task: u32, worker: u32, rank: Rank, found: Found) -> Result<(), SimulateError> {
        let Some(spec) = self.spec(task) else { return Ok(()) };
        if self.gates.is_open(kind(spec.pool)) {
            return self.start(task, worker, found);
        }
        self.refused[kind(spec.pool)].push(Reverse((rank, task)));
        self.out.deferred += 1;
        Ok(())
    }

    fn start(&mut self, task: u32, worker: u32, found: Found) -> Result<(), SimulateError> {
        let Some(spec) = self.spec(task) else { return Ok(()) };
        let now = self.now;
        let end = now.checked_add(spec.cost).ok_or(SimulateError::TooLong { task: TaskId(task) })?;
        let opened = self.opened[kind(spec.pool)];
        let open_since = self.open_since.unwrap_or(0);
        let life = &mut self.out.tasks[task as usize];
        if found == Found::Refused && opened.0 == now {
            life.cause = WhyLate::Gate { held_by: TaskId(opened.1) };
        } else if now > life.ready.max(open_since) {
            life.cause = WhyLate::Worker { busy_with: TaskId(self.newest[worker as usize]) };
        } else if open_since > life.ready {
            life.cause = WhyLate::StartPolicy;
        }
        (life.start, life.end, life.worker) = (now, end, Some(worker));
        self.open_edges[task as usize] = STARTED;
        self.gates.enter(kind(spec.pool));
        self.idle.remove(worker);
        self.newest[worker as usize] = task;
        self.ends.push(Reverse((end, task)));
        let stats = &mut self.out.workers[worker as usize];
        stats.tasks += 1;
        stats.busy += spec.cost;
        stats.steals += u64::from(found == Found::Stolen);
        Ok(())
    }
}
