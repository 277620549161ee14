//! Ready tasks meet idle workers.

use super::engine::{Engine, NOBODY, STARTED};
use super::graph::{Node, SimTaskSpec};
use crate::gates::Candidate;
use crate::placement::{Placement, Route};
use crate::places::Reach;
use crate::ranked::{Key, Rank, key};
use crate::{Ready, Stopped};
use std::cmp::Reverse;
use wsp_core::{ExecPool, TaskId, WhyLate};
use wsp_ordered::OrderedSet;

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
            if let Some(kind) = self.own_kind(task, worker) {
                self.asked[task as usize] =
                    self.spec(task).map_or(0, |spec| self.places.of(placement(&spec)));
                self.ready[kind].push_own(task, worker);
            }
        }
        for &(task, worker) in &released {
            if !steals || worker == NOBODY || self.own_kind(task, worker).is_none() {
                self.queue(task);
            }
        }
        released.clear();
        self.released = released;
    }

    /// Which of the ready tasks a task of a pool is.
    fn kind(&self, pool: ExecPool) -> usize {
        self.division.pool_of(pool).unwrap_or(self.division.parts().len())
    }

    /// The pool of ready tasks; `None` for those that several may run.
    fn pool(&self, kind: usize) -> Option<usize> {
        Some(kind).filter(|&kind| kind < self.division.parts().len())
    }

    /// Which of the ready tasks a task is that goes to the deque of the worker that released it.
    fn own_kind(&self, task: u32, worker: u32) -> Option<usize> {
        let spec = self.spec(task)?;
        let kind = self.kind(spec.pool);
        let is_free = self.route(&spec, &mut 0) == Route::Any;
        (is_free && self.division.workers(self.pool(kind)).contains(&worker)).then_some(kind)
    }

    /// Where in its pool a task is to run.
    fn route(&self, spec: &SimTaskSpec, turn: &mut u32) -> Route {
        let route = self.division.route(spec.affinity, spec.pool, turn);
        self.division.pool_of(spec.pool).map_or(Route::Any, |pool| self.division.parts()[pool].plain(route))
    }

    fn queue(&mut self, task: u32) {
        let Some(spec) = self.spec(task) else { return };
        let kind = self.kind(spec.pool);
        let mut turn = self.turns[kind];
        let route = self.route(&spec, &mut turn);
        self.turns[kind] = turn;
        let place = self.places.of(Placement { route, ..placement(&spec) });
        self.asked[task as usize] = place;
        if self.policy == Ready::Priority {
            self.ranked.push(task, place, spec.priority);
        } else {
            self.ready[kind].push(task, route, &self.division);
        }
    }

    fn spec(&self, task: u32) -> Option<SimTaskSpec> {
        match self.graph.nodes[task as usize] {
            Node::Task(spec) => Some(spec),
            Node::Point(_) => None,
        }
    }

    /// Gives tasks to idle workers until either is used up. The pools come before what any of them may run, except
    /// by priority.
    pub(super) fn dispatch(&mut self) -> Result<(), Stopped> {
        if self.open_since.is_none() {
            return Ok(());
        }
        if self.policy == Ready::Priority {
            return self.serve_by_rank();
        }
        loop {
            let running = self.ends.len();
            (0..self.ready.len()).try_for_each(|kind| self.serve_in_turn(kind))?;
            // A start lets the next task of its stream go, which may belong to a pool that was served before.
            if self.ends.len() == running {
                return Ok(());
            }
        }
    }

    /// The task with the largest priority first, whether a gate had refused it or not.
    fn serve_by_rank(&mut self) -> Result<(), Stopped> {
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
    fn serve_in_turn(&mut self, kind: usize) -> Result<(), Stopped> {
        loop {
            let waited = self.first_waited(Some(kind));
            match waited.filter(|offer| offer.reach == Reach::Own) {
                Some(offer) => self.start_waited(offer)?,
                None if self.serve_queues(kind)? => {}
                None => match waited {
                    Some(offer) => self.start_waited(offer)?,
                    None => return Ok(()),
                },
            }
        }
    }

    /// Takes one task: own tasks first, then those of the group, then those of all, then those of others. Whether there was one.
    fn serve_queues(&mut self, kind: usize) -> Result<bool, Stopped> {
        let members = self.division.workers(self.pool(kind));
        let Some(idle) = self.idle.first_in(members).filter(|_| !self.ready[kind].is_empty()) else {
            return Ok(false);
        };
        let ready = &mut self.ready[kind];
        let (worker, task, found) = if let Some(worker) = ready.first_with_own(&self.idle, &self.division) {
            (worker, ready.pop_own(worker), Found::Ready)
        } else if let Some(worker) = ready.first_with_group(&self.idle, &self.division) {
            (worker, ready.pop_group(self.division.group_of(worker)), Found::Ready)
        } else if let Some(task) = ready.pop_common() {
            (idle, Some(task), Found::Ready)
        } else {
            (idle, ready.steal(idle, &self.division, &mut self.random), Found::Stolen)
        };
        let Some(task) = task else { return Ok(false) };
        let rank = self.gates.next_rank();
        self.offer(task, worker, rank, found)?;
        Ok(true)
    }

    /// The first task, of one pool or of all, that a gate had refused and that may start.
    fn first_waited(&mut self, kind: Option<usize>) -> Option<Offer> {
        let places: OrderedSet<u32> = self.gates.open_places().collect();
        let is_of = |place: &u32| kind.is_none_or(|kind| self.places.route(*place).0 == self.pool(kind));
        let places: Vec<u32> = places.into_iter().filter(is_of).collect();
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
        let (pool, route) = self.places.route(place);
        let members = self.division.workers(pool);
        let first = self.idle.first_in(members.clone())?;
        let (reach, worker) = match route {
            Route::Any => (Reach::Own, self.idle_without_own(pool).unwrap_or(first)),
            Route::Group(group) => match self.idle.first_in(self.division.parts()[pool?].group(group)) {
                Some(worker) => (Reach::Own, worker),
                None => (Reach::Group, first),
            },
            Route::Worker(worker) => {
                match self.idle.first_in(members.start + worker..members.start + worker + 1) {
                    Some(worker) => (Reach::Own, worker),
                    None => (Reach::Worker, first),
                }
            }
        };
        Some(Offer { reach, key: key(rank, pool.is_none()), place, worker })
    }

    /// The first idle worker for which no task by priority is meant.
    fn idle_without_own(&self, pool: Option<usize>) -> Option<u32> {
        let mut members = self.division.workers(pool);
        let first = members.start;
        let worker_of = |(place, _)| match self.places.route(place) {
            (of, Route::Worker(worker)) if of == pool => Some(first + worker),
            _ => None,
        };
        let own: OrderedSet<u32> = self.ranked.firsts().filter_map(worker_of).collect();
        while let Some(worker) = self.idle.first_in(members.clone()) {
            if !own.contains(&worker) {
                return Some(worker);
            }
            members.start = worker + 1;
        }
        None
    }

    fn start_waited(&mut self, offer: Offer) -> Result<(), Stopped> {
        match self.gates.take(offer.place) {
            Some(task) => self.start(task, offer.worker, Found::Refused),
            None => Ok(()),
        }
    }

    /// Starts a task on an idle worker if the gates admit it; else the task steps aside.
    fn offer(&mut self, task: u32, worker: u32, rank: Rank, found: Found) -> Result<(), Stopped> {
        let Some(spec) = self.spec(task) else { return Ok(()) };
        let place = self.asked[task as usize];
        if self.gates.enter(Candidate { rank, node: task, placement: placement(&spec), place }) {
            return self.start(task, worker, found);
        }
        self.out.deferred += 1;
        Ok(())
    }

    fn start(&mut self, task: u32, worker: u32, found: Found) -> Result<(), Stopped> {
        let Some(spec) = self.spec(task) else { return Ok(()) };
        let now = self.now;
        let end = now.checked_add(spec.cost).ok_or(Stopped::TooLong(TaskId(task)))?;
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
