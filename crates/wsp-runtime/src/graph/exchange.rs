//! Parts of the caller's in place of those of the runtime: what finds edges, and what orders tasks that are ready.

use super::TaskGraph;
use super::core::Core;
use super::solo::{ReadySet, Solo};
use crate::infer::TensorMap;
use crate::{Outcome, Stopped, TaskRunner, TaskSpec};
use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicBool;
use wsp_core::TaskId;

/// A ready queue of the caller's: it decides which of the ready tasks runs next. Barrier nodes run nothing, and do not pass through it.
pub trait ReadyQueue {
    /// A task is ready. Those that were ready from the beginning come first, and what one completion releases comes in ascending order of ids.
    fn push(&mut self, task: TaskId, priority: i32);

    /// Takes a task that was pushed and not taken; none where there is none.
    fn pop(&mut self) -> Option<TaskId>;
}

/// The caller's queue as the loop takes it.
struct OfCaller<'q, Q> {
    queue: &'q mut Q,
    /// What the present completion released.
    group: Vec<(u32, i32)>,
    /// Whether a task, by its id, is in the queue.
    held: Vec<bool>,
    holds: usize,
    /// What the queue panicked with, or what it did that it must not. It is no panic of a task: the loop ends, and the caller gets it then.
    panic: &'q mut Option<Box<dyn Any + Send>>,
}

impl<Q: ReadyQueue> OfCaller<'_, Q> {
    /// Calls the queue, unless it went wrong before.
    fn call<T>(&mut self, call: impl FnOnce(&mut Q) -> T) -> Option<T> {
        if self.panic.is_some() {
            return None;
        }
        let called = catch_unwind(AssertUnwindSafe(|| call(self.queue)));
        called.map_err(|panic| *self.panic = Some(panic)).ok()
    }

    fn wrong(&mut self, what: String) {
        *self.panic = Some(Box::new(what));
    }
}

impl<Q: ReadyQueue> ReadySet for OfCaller<'_, Q> {
    const ROOTS_FIRST: bool = true;

    fn add(&mut self, core: &Core, node: u32, ready: bool) {
        if ready {
            self.group.push((node, core.attributes(node).priority));
        }
    }

    fn close(&mut self) {
        while let Some((node, priority)) = self.group.pop() {
            self.held[node as usize] = true;
            self.holds += 1;
            self.call(|queue| queue.push(TaskId(node), priority));
        }
    }

    fn is_next(&self, _: bool) -> bool {
        false
    }

    fn pop(&mut self) -> Option<u32> {
        match self.call(Q::pop)? {
            Some(TaskId(task)) if self.held.get_mut(task as usize).is_some_and(std::mem::take) => {
                self.holds -= 1;
                return Some(task);
            }
            Some(TaskId(task)) => {
                self.wrong(format!("the ready queue gives task {task}, which it does not hold"));
            }
            None if self.holds == 0 => {}
            None => self.wrong(format!("the ready queue gives no task, and holds {}", self.holds)),
        }
        None
    }
}

impl TaskGraph {
    /// Adds a task after those that a map of the caller's finds for its accesses, beside [`TaskSpec::after`]. The graph is built with
    /// [`Deps::Explicit`](crate::Deps::Explicit); the map is used for all of its tasks and for no other graph.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), before the map has seen the task, and those of the map.
    pub fn submit_by(
        &mut self,
        map: &mut impl TensorMap<TaskId>,
        spec: TaskSpec<'_>,
    ) -> Result<TaskId, Stopped> {
        // A task that the map has seen and the graph has not would stand there as the next one.
        self.check(&spec, spec.is_plain())?;
        let mut after = spec.after.to_vec();
        let task = TaskId(self.core.len());
        map.infer(task, spec.accesses(), |_| true, |before, _| after.push(before)).map_err(Stopped::Map)?;
        self.submit(TaskSpec { after: &after, ..spec })
    }

    /// Runs all tasks on the calling thread, in the order of a ready queue of the caller's. Can be called again, whatever the outcome.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// The queue panics, gives a task that it does not hold, or none while it holds some.
    pub fn run_by<R: TaskRunner>(
        &mut self,
        queue: &mut impl ReadyQueue,
        cancel: Option<&AtomicBool>,
        runner: &R,
    ) -> Outcome<R::Failure, Infallible> {
        let mut panic = None;
        let held = vec![false; self.len()];
        let ready = OfCaller { queue, group: Vec::new(), held, holds: 0, panic: &mut panic };
        let outcome = self.run_on_caller(|core| Solo::new(core, runner, cancel, ready).run(true));
        match panic {
            Some(panic) => resume_unwind(panic),
            None => outcome,
        }
    }
}
