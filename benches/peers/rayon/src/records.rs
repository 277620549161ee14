//! Plain task records with counters and pooled edges, and their run on rayon.

use crate::pattern::Pattern;
use rayon::Scope;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const NONE: u32 = u32::MAX;

struct Record {
    pending: AtomicU32,
    predecessors: u32,
    first_edge: u32,
}

#[derive(Clone, Copy)]
struct Edge {
    to: u32,
    next: u32,
}

/// A graph.
#[derive(Default)]
pub(crate) struct Records {
    tasks: Vec<Record>,
    edges: Vec<Edge>,
}

impl Records {
    /// Adds the tasks of a pattern.
    pub(crate) fn build(&mut self, pattern: &impl Pattern) {
        for task in 0..pattern.tasks() {
            let mut predecessors = 0;
            pattern.predecessors(task, |p| {
                let before = &mut self.tasks[p as usize].first_edge;
                self.edges.push(Edge { to: task, next: *before });
                *before = self.edges.len() as u32 - 1;
                predecessors += 1;
            });
            let pending = AtomicU32::new(predecessors);
            self.tasks.push(Record { pending, predecessors, first_edge: NONE });
        }
    }

    /// Forgets the tasks and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.tasks.clear();
        self.edges.clear();
    }

    /// Runs every task; returns when the last has run.
    pub(crate) fn run(&self, pool: &rayon::ThreadPool, body: &(impl Fn(u32) + Sync)) {
        pool.scope(|scope| {
            for (task, record) in (0u32..).zip(&self.tasks) {
                if record.predecessors == 0 {
                    scope.spawn(move |scope| self.execute(scope, task, body));
                }
            }
        });
    }

    fn execute<'s>(&'s self, scope: &Scope<'s>, mut task: u32, body: &'s (impl Fn(u32) + Sync)) {
        while task != NONE {
            body(task);
            let (mut next, mut at) = (NONE, self.tasks[task as usize].first_edge);
            while at != NONE {
                let edge = self.edges[at as usize];
                if self.arrive(edge.to) {
                    if next != NONE {
                        scope.spawn(move |scope| self.execute(scope, next, body));
                    }
                    next = edge.to;
                }
                at = edge.next;
            }
            task = next;
        }
    }

    /// One predecessor of `task` is complete; whether it was the last. Then its counter is armed for the next run.
    fn arrive(&self, task: u32) -> bool {
        let record = &self.tasks[task as usize];
        if record.pending.fetch_sub(1, Ordering::AcqRel) != 1 {
            return false;
        }
        record.pending.store(record.predecessors, Ordering::Relaxed);
        true
    }
}

#[derive(Default)]
#[repr(align(128))]
struct Cell(AtomicU64);

/// Sums what each worker adds.
pub(crate) struct Tally(Vec<Cell>);

impl Tally {
    /// For that many workers.
    pub(crate) fn new(workers: u32) -> Tally {
        Tally((0..workers).map(|_| Cell::default()).collect())
    }

    /// Adds to the present worker's sum.
    pub(crate) fn add(&self, amount: u64) {
        let cell = &self.0[rayon::current_thread_index().unwrap_or(0)].0;
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }

    /// Replaces the present worker's number; it begins as 0.
    pub(crate) fn compute(&self, next: impl FnOnce(f64) -> f64) {
        let cell = &self.0[rayon::current_thread_index().unwrap_or(0)].0;
        cell.store(next(f64::from_bits(cell.load(Ordering::Relaxed))).to_bits(), Ordering::Relaxed);
    }

    /// Checks that each of `tasks` tasks ran `runs` times since the last check.
    ///
    /// # Errors
    /// The sum of their numbers is another.
    pub(crate) fn expect(&self, tasks: u32, runs: u64) -> Result<(), String> {
        let found = self.0.iter().map(|cell| cell.0.swap(0, Ordering::Relaxed)).fold(0, u64::wrapping_add);
        let expected = u64::from(tasks) * (u64::from(tasks) + 1) / 2 * runs;
        if found == expected { Ok(()) } else { Err(format!("tally {found}, expected {expected}")) }
    }
}
