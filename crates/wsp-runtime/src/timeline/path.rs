//! What kept a run: waits by cause, and the chain of waits that ends with its last task.

use super::{TaskRecord, Timeline};
use wsp_core::WhyLate;
use wsp_ordered::Arrange;

/// Waits of one kind of cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waits {
    /// The kind, one of [`WhyLate::KINDS`].
    pub cause: &'static str,
    /// Tasks that waited for it last.
    pub tasks: u64,
    /// How long they waited, as [`TaskRecord::waited`] has it, in the unit of the clock.
    pub waited: u64,
}

/// The chain of waits that ends with the task that was complete last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathOfRun {
    /// Places of its tasks among those of the timeline, in the order of time.
    pub tasks: Vec<usize>,
    /// Time in them, in the unit of the clock.
    pub busy: u64,
    /// Kernels on it by number, with their tasks and the time in them; the longest first.
    pub kernels: Vec<(u16, u64, u64)>,
}

impl Timeline {
    /// Waits by cause, in the order of [`WhyLate::KINDS`]; of kinds that occur.
    pub fn waits(&self) -> Vec<Waits> {
        let none = |cause| Waits { cause, tasks: 0, waited: 0 };
        let mut waits = WhyLate::KINDS.map(none);
        for task in &self.tasks {
            let of = &mut waits[task.cause().kind()];
            of.tasks += 1;
            of.waited = of.waited.saturating_add(task.waited());
        }
        waits.into_iter().filter(|waits| waits.tasks > 0).collect()
    }

    /// Why the run took as long as it did: from the task that was complete last back along [`WhyLate::held_by`].
    pub fn critical_path(&self) -> PathOfRun {
        let ids = 0..self.tasks.len();
        // Backwards, because the last of several maxima counts.
        let mut next = ids.rev().max_by_key(|&at| self.tasks[at].ended);
        let mut path = PathOfRun::default();
        let mut kernels = vec![(0_u64, 0_u64); self.kernels.len()];
        // Records that were not made by a run might close a cycle.
        while let Some(at) = next.filter(|_| path.tasks.len() < self.tasks.len()) {
            let task = &self.tasks[at];
            let busy = task.ended.saturating_sub(task.started);
            path.tasks.push(at);
            path.busy = path.busy.saturating_add(busy);
            if let Some((tasks, time)) = kernels.get_mut(task.kernel.index()) {
                *tasks += 1;
                *time = time.saturating_add(busy);
            }
            next = task.cause().held_by().and_then(|task| self.place(task));
        }
        path.tasks.reverse();
        let used = (0..).zip(kernels).filter(|(_, (tasks, _))| *tasks > 0);
        path.kernels = used.map(|(kernel, (tasks, time))| (kernel, tasks, time)).collect();
        path.kernels.arrange_by_key(|&(kernel, _, time)| (std::cmp::Reverse(time), kernel));
        path
    }

    /// When the last task was complete.
    pub fn end(&self) -> u64 {
        self.tasks.iter().map(|task: &TaskRecord| task.ended).max().unwrap_or(0)
    }
}
