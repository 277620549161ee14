//! Ready tasks meet idle workers.

use super::engine::{Engine, NOBODY, STARTED};
use super::graph::{Node, SimTaskSpec};
use super::outcome::{SimulateError, WhyLate};
use super::policy::{Route, kind};
use crate::Ready;
use crate::gates::Candidate;
use crate::placement::Placement;
use crate::places::Reach;
use crate::ranked::{Key, Rank, key};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;
use wsp_core::{ExecPool, TaskId};

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

/// The first task of a place, and the idle worker that would take it. The greatest goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Offer {
    reach: Reach,
    key: Key,
    place: u32,
    worker: u32,
}

impl Engine<'_> {
    /// Queues what has become ready, by id.
    pub(super) fn queue_released(&mut self) {
        let mut released = std::mem::take(&mut self.released);
        released.sort_unstable();
        let steals = self.policy == Ready::WorkSteal;
        // To the deques from the largest id on, because the owner takes what came last.
        for &(task, worker) in released.iter().rev().filter(|&&(_, worker)| steals && worker != NOBODY) {
            if let Some(class) = self.own_class(task, worker) {
                self.places[task as usize] = self.machine.place(class, Route::Any);
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
        let route = self.machine.route(spec.affinity, class, &mut self.turns[class]);
        let place = self.machine.place(class, route);
        self.places[task as usize] = place;
        self.queued += 1;
        if self.policy == Ready::Priority {
            self.ranked.push(task, place, (spec.priority, Reverse(self.queued)));
        } else {
            self.ready[class].push(task, route);
        }
    }

    fn spec(&self, task: u32) -> Option<SimTaskSpec> {
        match self.graph.nodes[task as usize] {
            Node::Task(spec) => Some(spec),
            Node::Point(_) => None,
        }
    }

    /// Gives tasks to idle workers until either is used up. The classes of single units come before that of any unit, except
    /// by priority.
    pub(super) fn dispatch(&mut self) -> Result<(), SimulateError> {
        if self.open_since.is_none() {
            return Ok(());
        }
        if self.policy == Ready::Priority {
            return self.serve_by_rank();
        }
        loop {
            let running = self.ends.len();
            (0..self.machine.classes()).try_for_each(|class| self.serve_in_turn(class))?;
            // A start lets the next task of its stream go, which may belong to a class that was served before.
            if self.ends.len() == running {
                return Ok(());
            }
        }
    }

    /// The task with the largest priority first, whether a gate had refused it or not.
    fn serve_by_rank(&mut self) -> Result<(), SimulateError> {
        loop {
            let waited = self.first_waited(None);
            let ready = self.ranked.firsts().filter_map(|(place, rank)| self.offer_of(place, rank)).max();
            if let Some(offer) = waited.filter(|waited| ready.is_none_or(|ready| *waited > ready)) {
                self.start_waited(offer)?;
            } else if let Some(Offer { reach, place, worker, .. }) = ready
                && let Some((rank, task)) = self.ranked.pop(place)
            {
                let found = if reach == Reach::Own { Found::Ready } else { Found::Stolen };
                self.offer(task, worker, rank, found)?;
            } else {
                return Ok(());
            }
        }
    }

    /// First those that a gate refused and now admits, where they are meant to go; then what is queued.
    fn serve_in_turn(&mut self, class: usize) -> Result<(), SimulateError> {
        loop {
            let waited = self.first_waited(Some(class));
            match waited.filter(|offer| offer.reach == Reach::Own) {
                Some(offer) => self.start_waited(offer)?,
                None if self.serve_queues(class)? => {}
                None => match waited {
                    Some(offer) => self.start_waited(offer)?,
                    None => return Ok(()),
                },
            }
        }
    }

    /// Takes one task: own tasks first, then those of the group, then those of all, then those of others. Whether there was one.
    fn serve_queues(&mut self, class: usize) -> Result<bool, SimulateError> {
        let members: Range<u32> = self.machine.members(class);
        let Some(idle) = self.idle.first_in(members).filter(|_| !self.ready[class].is_empty()) else {
            return Ok(false);
        };
        let ready = &mut self.ready[class];
        let (worker, task, found) = if let Some(worker) = ready.first_with_own(&self.idle, &self.machine) {
            (worker, ready.pop_own(worker), Found::Ready)
        } else if let Some(worker) = ready.first_with_group(&self.idle, &self.machine) {
            (worker, ready.pop_group(self.machine.group_of(worker)), Found::Ready)
        } else if let Some(task) = ready.pop_common() {
            (idle, Some(task), Found::Ready)
        } else {
            (idle, ready.steal(idle, &self.machine, &mut self.victims), Found::Stolen)
        };
        let Some(task) = task else { return Ok(false) };
        let rank = self.gates.next_rank();
        self.offer(task, worker, rank, found)?;
        Ok(true)
    }

    /// The first task, of one class or of all, that a gate had refused and that may start.
    fn first_waited(&mut self, class: Option<usize>) -> Option<Offer> {
        let places: BTreeSet<u32> = self.gates.open_places().collect();
        let in_class = |place: &u32| class.is_none_or(|class| self.machine.route_of(*place).0 == class);
        let places: Vec<u32> = places.into_iter().filter(in_class).collect();
        let mut best = None;
        for place in places {
            if let Some(rank) = self.gates.first(place) {
                best = best.max(self.offer_of(place, rank));
            }
        }
        best
    }

    /// The idle worker that would take the first task of a place, if there is one.
    fn offer_of(&self, place: u32, rank: Rank) -> Option<Offer> {
        let (class, route) = self.machine.route_of(place);
        let members = self.machine.members(class);
        let first = self.idle.first_in(members.clone())?;
        let (reach, worker) = match route {
            Route::Any => (Reach::Own, self.idle_without_own(class).unwrap_or(first)),
            Route::Group(group) => match self.idle.first_in(self.machine.group(group)) {
                Some(worker) => (Reach::Own, worker),
                None => (Reach::Group, first),
            },
            Route::Worker(worker) => match self.idle.first_in(worker..worker + 1) {
                Some(worker) => (Reach::Own, worker),
                None => (Reach::Worker, first),
            },
        };
        let for_several = self.machine.classes() > 1 && class == kind(ExecPool::Any);
        Some(Offer { reach, key: key(rank, for_several), place, worker })
    }

    /// The first idle worker for which no task by priority is meant.
    fn idle_without_own(&self, class: usize) -> Option<u32> {
        let own: BTreeSet<u32> = self.ranked.firsts().map(|(place, _)| place).collect();
        let mut members = self.machine.members(class);
        while let Some(worker) = self.idle.first_in(members.clone()) {
            if !own.contains(&self.machine.place(class, Route::Worker(worker))) {
                return Some(worker);
            }
            members.start = worker + 1;
        }
        None
    }

    fn start_waited(&mut self, offer: Offer) -> Result<(), SimulateError> {
        match self.gates.take(offer.place) {
            Some(task) => self.start(task, offer.worker, Found::Refused),
            None => Ok(()),
        }
    }

    /// Starts a task on an idle worker if the gates admit it; else the task steps aside.
    fn offer(&mut self, task: u32, worker: u32, rank: Rank, found: Found) -> Result<(), SimulateError> {
        let Some(spec) = self.spec(task) else { return Ok(()) };
        let place = self.places[task as usize];
        if self.gates.enter(Candidate { rank, node: task, placement: placement(&spec), place }) {
            return self.start(task, worker, found);
        }
        self.out.deferred += 1;
        Ok(())
    }

    fn start(&mut self, task: u32, worker: u32, found: Found) -> Result<(), SimulateError> {
        let Some(spec) = self.spec(task) else { return Ok(()) };
        let now = self.now;
        let end = now.checked_add(spec.cost).ok_or(SimulateError::TooLong { task: TaskId(task) })?;
        if let Some(cause) = self.why_late(task, &spec, worker, found) {
            self.out.tasks[task as usize].cause = cause;
        }
        let life = &mut self.out.tasks[task as usize];
        (life.start, life.end, life.worker) = (now, end, Some(worker));
        self.open_edges[task as usize] = STARTED;
        self.idle.remove(worker);
        self.newest[worker as usize] = task;
        self.ends.push(Reverse((end, task)));
        self.gates.pass_turn(task, placement(&spec));
        let stats = &mut self.out.workers[worker as usize];
        stats.tasks += 1;
        stats.busy += spec.cost;
        stats.steals += u64::from(found == Found::Stolen);
        Ok(())
    }

    /// What a task that starts now waited for since it was ready.
    fn why_late(&self, task: u32, spec: &SimTaskSpec, worker: u32, found: Found) -> Option<WhyLate> {
        let (now, tasks) = (self.now, &self.out.tasks);
        let open_since = self.open_since.unwrap_or(0);
        let life = &tasks[task as usize];
        if found == Found::Refused {
            let mut openers = self.gates.openers(placement(spec));
            if let Some(opener) = openers.find(|opener| tasks[*opener as usize].end == now) {
                return Some(WhyLate::Gate { held_by: TaskId(opener) });
            }
            // Its turn came when the task before it on its stream started, and so late for the same reason.
            let before = self.before_on_stream.get(task as usize).copied().flatten();
            let before = before.map(|before| &tasks[before as usize]);
            if let Some(before) = before.filter(|before| before.start == now && life.ready < now) {
                return Some(before.cause);
            }
        }
        if now > life.ready.max(open_since) {
            Some(WhyLate::Worker { busy_with: TaskId(self.newest[worker as usize]) })
        } else if open_since > life.ready {
            Some(WhyLate::Start)
        } else {
            None
        }
    }
}

/// What gates ask about a task.
fn placement(spec: &SimTaskSpec) -> Placement {
    Placement { pool: spec.pool, stream: spec.stream, ..Placement::default() }
}
