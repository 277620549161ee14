//! What the measured tasks do: as little as proves that they ran.

use super::measure::busy;
use super::pattern::{Listed, Pattern, checksum, order_value};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use wsp_core::{KernelId, TaskId};
use wsp_runtime::TaskRunner;

/// Two cache lines of one worker: no other touches them.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cell(AtomicU64);

/// Sums what each worker adds.
#[derive(Debug)]
pub(super) struct Tally(Vec<Cell>);

impl Tally {
    fn new(workers: u32) -> Tally {
        Tally((0..workers).map(|_| Cell::default()).collect())
    }

    #[inline]
    fn add(&self, worker: usize, amount: u64) {
        let cell = &self.0[worker].0;
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }

    /// The sum since the last call. No task may be running.
    fn take(&self) -> u64 {
        self.0.iter().map(|cell| cell.0.swap(0, Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }

    /// Takes the sum, and says what is wrong with it after `runs` runs of `tasks` tasks.
    ///
    /// # Errors
    /// The sum is not that of all numbers of tasks, each plus one.
    fn expect(&self, tasks: u32, runs: u64) -> Result<(), String> {
        let (found, n) = (self.take(), u64::from(tasks));
        let expected = (n * (n + 1) / 2).wrapping_mul(runs);
        if found == expected {
            return Ok(());
        }
        Err(format!("tasks are missing or ran twice: their numbers sum to {found}, not {expected}"))
    }
}

/// Adds up the numbers of tasks.
#[derive(Debug)]
pub(crate) struct Count(Tally);

impl Count {
    /// For that many workers.
    pub(crate) fn new(workers: u32) -> Count {
        Count(Tally::new(workers))
    }

    /// Checks that each of `tasks` tasks ran `runs` times since the last check.
    ///
    /// # Errors
    /// The sum of their numbers is another.
    pub(crate) fn expect(&self, tasks: u32, runs: u64) -> Result<(), String> {
        self.0.expect(tasks, runs)
    }
}

impl TaskRunner for Count {
    type Failure = Infallible;

    #[inline]
    fn run(&self, worker: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), Infallible> {
        self.0.add(worker, u64::from(task.0) + 1);
        Ok(())
    }
}

/// Computes for a while. What a worker computes goes on from what it computed before, so that two tasks of one worker do
/// not overlap within a core.
#[derive(Debug)]
pub(super) struct Busy {
    tally: Tally,
    states: Tally,
    iterations: AtomicU64,
}

impl Busy {
    /// For that many workers.
    pub(super) fn new(workers: u32) -> Busy {
        let states = Tally::new(workers);
        states.0.iter().for_each(|state| state.0.store(2f64.to_bits(), Ordering::Relaxed));
        Busy { tally: Tally::new(workers), states, iterations: AtomicU64::new(0) }
    }

    /// Sets the iterations of the kernel. No task may be running.
    pub(super) fn set_iterations(&self, iterations: u64) {
        self.iterations.store(iterations, Ordering::Relaxed);
    }

    /// As [`Count::expect`].
    ///
    /// # Errors
    /// As there.
    pub(super) fn expect(&self, tasks: u32, runs: u64) -> Result<(), String> {
        self.tally.expect(tasks, runs)
    }

    /// What a task does.
    #[inline]
    pub(super) fn execute(&self, worker: usize, task: u32) {
        let state = &self.states.0[worker].0;
        let computed =
            busy(f64::from_bits(state.load(Ordering::Relaxed)), self.iterations.load(Ordering::Relaxed));
        state.store(computed.to_bits(), Ordering::Relaxed);
        self.tally.add(worker, u64::from(task) + 1);
    }
}

impl TaskRunner for Busy {
    type Failure = Infallible;

    #[inline]
    fn run(&self, worker: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), Infallible> {
        self.execute(worker, task.0);
        Ok(())
    }
}

/// Computes from the values of a task's predecessors, so that a wrong order shows.
#[derive(Debug)]
pub(crate) struct Order {
    pattern: Listed,
    values: Vec<AtomicU64>,
}

impl Order {
    /// For the tasks of `pattern`.
    pub(crate) fn new(pattern: &impl Pattern) -> Order {
        let values = (0..pattern.tasks()).map(|_| AtomicU64::new(0)).collect();
        Order { pattern: Listed::of(pattern), values }
    }

    /// What a task computes.
    pub(crate) fn execute(&self, task: u32) {
        let value = |p: u32| self.values[p as usize].load(Ordering::Relaxed);
        self.values[task as usize].store(order_value(&self.pattern, task, value), Ordering::Relaxed);
    }

    /// Compares with `expected` and forgets the values; gives their checksum.
    ///
    /// # Errors
    /// The first task with another value.
    pub(crate) fn expect(&self, expected: &[u64]) -> Result<u64, String> {
        let found: Vec<u64> = self.values.iter().map(|v| v.swap(0, Ordering::Relaxed)).collect();
        match (0..).zip(found.iter().zip(expected)).find(|(_, (a, b))| a != b) {
            Some((task, _)) => Err(format!("task {task} ran before one of its predecessors, or never")),
            None => Ok(checksum(found.into_iter())),
        }
    }
}

impl TaskRunner for Order {
    type Failure = Infallible;

    fn run(&self, _: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), Infallible> {
        self.execute(task.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::pattern::{Chain, sequential};

    #[test]
    fn a_missing_task_and_a_wrong_order_are_found() {
        let count = Count::new(2);
        for task in 0..3 {
            let Ok(()) = count.run(task as usize % 2, TaskId(task), KernelId(0), &[]);
        }
        assert!(count.expect(3, 1).is_ok());
        assert!(count.expect(3, 1).unwrap_err().contains("missing"));
        let (chain, order) = (Chain(3), Order::new(&Chain(3)));
        let run = |task| {
            let Ok(()) = order.run(0, TaskId(task), KernelId(0), &[]);
        };
        [0, 1, 2].into_iter().for_each(run);
        assert!(order.expect(&sequential(&chain)).is_ok());
        [0, 2, 1].into_iter().for_each(run);
        assert!(order.expect(&sequential(&chain)).unwrap_err().contains("task 2"));
    }
}
