//! Orders of starts that a run keeps to.
//!
//! A [`Replay`] says of every task which worker starts it, and how many tasks of the run start before it. A run with one starts task after task in
//! that order: a worker takes a task only when its turn has come, and the turn is passed on when the task starts, so that bodies still run side by
//! side.
//!
//! # Why such a run ends
//!
//! Where the order is that of a run of the same tasks, everything that a task waited for there had started before it: its predecessors, the tasks
//! whose ends made room in the window before it was submitted, those whose ends opened its gates. So when its turn comes, all of these have started,
//! and they end. An order of something else is noticed: all workers sleep then, and the run says which task's turn it was.

use crate::sync::{AtomicU32, Ordering};
use crate::{ConfigError, NotReplayed, Stopped};
use std::sync::Arc;
use wsp_core::{KernelId, Started, TaskId, limits};
use wsp_ordered::Arrange;

/// Where and when a task starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Turn {
    worker: u32,
    /// Tasks that start before it.
    turn: u32,
    /// By its place among the kernels of the order.
    kernel: u32,
}

/// In which order the tasks of a run start, and on which workers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replay {
    workers: u32,
    /// By task, in the order of submission.
    turns: Box<[Turn]>,
    /// Tasks in the order in which they start.
    order: Box<[u32]>,
    /// The place among the kernels of the order of each kernel of the program that runs; `None` while that is not known, and then kernels are not
    /// compared.
    kernels: Option<Box<[u32]>>,
    /// Names of the kernels of the order.
    names: Box<[String]>,
}

impl Replay {
    /// The order of the starts of a run on `workers` workers, whose tasks stand in the order of their submission and have kernels of these names. Of tasks that started together, the one that was submitted first comes first.
    ///
    /// # Errors
    /// More workers than [`limits::MAX_THREADS`], or more tasks than [`limits::MAX_TASKS`].
    pub fn new(workers: u32, kernels: &[String], tasks: &[Started]) -> Result<Replay, ConfigError> {
        let used = tasks.iter().map(|task| task.worker.saturating_add(1)).max().unwrap_or(1).max(workers);
        if used > limits::MAX_THREADS {
            return Err(ConfigError::Range {
                field: "workers",
                value: used,
                min: 1,
                max: limits::MAX_THREADS,
            });
        }
        if tasks.len() > limits::MAX_TASKS as usize {
            let value = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
            return Err(ConfigError::Range { field: "tasks", value, min: 0, max: limits::MAX_TASKS });
        }
        let mut order: Vec<u32> = (0..tasks.len() as u32).collect();
        order.arrange_by_key(|&at| (tasks[at as usize].started, at));
        let turn = |task: &Started| Turn { worker: task.worker, turn: 0, kernel: task.kernel };
        let mut turns: Box<[Turn]> = tasks.iter().map(turn).collect();
        for (turn, &at) in (0..).zip(&order) {
            turns[at as usize].turn = turn;
        }
        Ok(Replay { workers: used, turns, order: order.into(), kernels: None, names: kernels.into() })
    }

    /// The same order, for a program with these kernels, by their numbers: a task of another kernel than in the order is refused then.
    #[must_use]
    pub fn among<'n>(&self, kernels: impl Iterator<Item = &'n str>) -> Replay {
        let place = |name: &str| self.names.iter().position(|of| of == name).map_or(u32::MAX, |at| at as u32);
        Replay { kernels: Some(kernels.map(place).collect()), ..self.clone() }
    }

    /// Workers of the run whose order it is.
    pub fn workers(&self) -> u32 {
        self.workers
    }

    /// Tasks.
    pub fn len(&self) -> usize {
        self.turns.len()
    }

    /// Whether there are no tasks.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether the order has a task of this kernel in this place.
    ///
    /// # Errors
    /// It has another, or ends before it.
    pub(crate) fn check(&self, task: u32, kernel: KernelId) -> Result<(), Stopped> {
        let is_same = |turn: &Turn| {
            let of = |kernels: &[u32]| kernels.get(kernel.index()).is_some_and(|place| *place == turn.kernel);
            self.kernels.as_deref().is_none_or(of)
        };
        let why = match self.turns.get(task as usize) {
            Some(turn) if is_same(turn) => return Ok(()),
            Some(_) => NotReplayed::Kernel,
            None => NotReplayed::End { tasks: self.turns.len() as u32 },
        };
        Err(Stopped::NotReplayed { task: TaskId(task), why })
    }

    /// The worker of a task, among `threads`, and what stands for its turn as a priority: below 0, the first the greatest.
    pub(crate) fn place(&self, task: u32, threads: u32) -> (u32, i32) {
        let Some(turn) = self.turns.get(task as usize) else { return (0, i32::MIN) };
        (if threads == 1 { 0 } else { turn.worker }, !(turn.turn as i32))
    }
}

/// Whose turn it is in a run.
#[derive(Debug)]
pub(crate) struct Turns {
    replay: Arc<Replay>,
    threads: u32,
    next: AtomicU32,
}

// All that changes it does so under the lock of the queue of ready tasks, and what is read without it is read again.
impl Turns {
    pub(crate) fn new(replay: Arc<Replay>, threads: u32) -> Turns {
        Turns { replay, threads, next: AtomicU32::new(0) }
    }

    /// Whether what has this priority may be taken: a barrier node, or the task whose turn it is.
    pub(crate) fn lets(&self, priority: i32) -> bool {
        priority >= 0 || priority == self.turn()
    }

    /// Passes the turn on from a task of this priority; whether it had it.
    pub(crate) fn pass(&self, priority: i32) -> bool {
        let had = priority == self.turn();
        if had {
            self.next.fetch_add(1, Ordering::SeqCst);
        }
        had
    }

    /// The worker of the task whose turn it is, and that task by its place in the order of submission.
    pub(crate) fn next(&self) -> Option<(u32, u32)> {
        let task = *self.replay.order.get(self.next.load(Ordering::SeqCst) as usize)?;
        Some((self.replay.place(task, self.threads).0, task))
    }

    /// What stands for the turn of a task as a priority.
    pub(crate) fn priority(&self, task: u64) -> i32 {
        self.replay.place(u32::try_from(task).unwrap_or(u32::MAX), self.threads).1
    }

    /// Whether the order has a task of this kernel in this place; see [`Replay::check`].
    pub(crate) fn check(&self, task: u64, kernel: KernelId) -> Result<(), NotReplayed> {
        match self.replay.check(u32::try_from(task).unwrap_or(u32::MAX), kernel) {
            Err(Stopped::NotReplayed { why, .. }) => Err(why),
            _ => Ok(()),
        }
    }

    fn turn(&self) -> i32 {
        !(self.next.load(Ordering::SeqCst) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started((started, ended, worker): (u64, u64, u32)) -> Started {
        Started { started, ended, worker, kernel: 0 }
    }

    fn replay(workers: u32, tasks: &[(u64, u64, u32)]) -> Result<Replay, ConfigError> {
        let tasks: Vec<Started> = tasks.iter().copied().map(started).collect();
        Replay::new(workers, &["k".to_owned()], &tasks)
    }

    #[test]
    fn tasks_take_turns_by_start_and_then_by_submission() {
        let replay =
            replay(2, &[(5, 5, 0), (0, 5, 1), (5, 9, 1), (5, 5, 2), (2, 3, 0)]).expect("it is an order");
        assert_eq!((replay.workers(), &*replay.order), (3, &[1, 4, 0, 2, 3][..]));
        assert_eq!(replay.place(1, 3), (1, -1));
        assert_eq!((replay.place(2, 3), replay.place(2, 1)), ((1, -4), (0, -4)));
        let turns = Turns::new(Arc::new(replay), 3);
        assert_eq!((turns.lets(0), turns.lets(-1), turns.lets(-2)), (true, true, false));
        assert_eq!((turns.pass(-2), turns.pass(-1), turns.pass(-1)), (false, true, false));
        assert_eq!(turns.next(), Some((0, 4)));
    }

    #[test]
    fn a_worker_that_cannot_be_is_refused() {
        let far = replay(1, &[(0, 1, limits::MAX_THREADS)]).expect_err("there is no such worker");
        assert_eq!(far.to_string(), "`workers` is 1025, but must lie in 1..=1024");
        assert!(replay(0, &[]).is_ok_and(|none| none.is_empty() && none.workers() == 1));
    }

    #[test]
    fn kernels_are_compared_by_name() {
        let any = replay(1, &[(0, 1, 0)]).expect("it is an order");
        let named = any.among(["other", "k"].into_iter());
        let checks = |replay: &Replay| [0, 1, 2].map(|kernel| replay.check(0, KernelId(kernel)).is_ok());
        assert_eq!((checks(&any), checks(&named)), ([true; 3], [false, true, false]));
        assert_eq!(
            any.check(1, KernelId(0)),
            Err(Stopped::NotReplayed { task: TaskId(1), why: NotReplayed::End { tasks: 1 } })
        );
    }
}
