//! One task of a run.

use wsp_core::{KernelId, TaskId, WhyLate};

/// Bits of [`TaskRecord::place`] that hold the row; the others hold the kind of the cause.
const ROW_BITS: u32 = 13;

/// Instead of a row: a barrier node, which runs nowhere. Also the number of rows that records can tell apart.
pub const NO_ROW: u32 = (1 << ROW_BITS) - 1;

/// Instead of a task.
const NONE: u32 = u32::MAX;

/// The life of one task of a measured or simulated run: `submitted <= ready <= started <= ended`, in the unit of the run's clock.
///
/// It takes 48 bytes; edges and indices are kept beside it, in a [`Timeline`](super::Timeline).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskRecord {
    /// The task.
    pub task: TaskId,
    /// Its kernel, by its place in [`Timeline::kernels`](super::Timeline::kernels).
    pub kernel: KernelId,
    place: u16,
    last: u32,
    holder: u32,
    /// When it was submitted; of measured streams stamped for at most 64 tasks together.
    pub submitted: u64,
    /// When it was submitted and all before it were complete.
    pub ready: u64,
    /// When it started.
    pub started: u64,
    /// When it was complete.
    pub ended: u64,
}

const _: () = assert!(size_of::<TaskRecord>() == 48);

impl TaskRecord {
    /// A record of a task on a row, with no time yet, which waited for its generation alone. Rows from [`NO_ROW`] on count as the last one.
    pub fn new(task: TaskId, kernel: KernelId, row: Option<u32>) -> TaskRecord {
        let place = row.map_or(NO_ROW, |row| row.min(NO_ROW - 1)) as u16;
        let (last, holder) = (NONE, NONE);
        TaskRecord { task, kernel, place, last, holder, submitted: 0, ready: 0, started: 0, ended: 0 }
    }

    /// The row of the timeline on which it ran; none of a barrier node.
    pub fn row(&self) -> Option<u32> {
        let row = u32::from(self.place) & NO_ROW;
        (row != NO_ROW).then_some(row)
    }

    /// The task before it that was complete last, whether or not its start waited for that one; none where none is known.
    pub fn last(&self) -> Option<TaskId> {
        (self.last != NONE).then_some(TaskId(self.last))
    }

    /// What its start waited for last.
    pub fn cause(&self) -> WhyLate {
        let (predecessor, held_by) = (TaskId(self.last), TaskId(self.holder));
        match u32::from(self.place) >> ROW_BITS {
            1 => WhyLate::Predecessor(predecessor),
            2 => WhyLate::Batch { predecessor, released_with: held_by },
            3 => WhyLate::Worker { busy_with: held_by },
            4 => WhyLate::Gate { held_by },
            5 => WhyLate::Window { held_by },
            6 => WhyLate::Start,
            7 => WhyLate::Unrecorded,
            _ => WhyLate::Generation { resumed_by: (self.holder != NONE).then_some(held_by) },
        }
    }

    /// Sets what it waited for last. A predecessor is its [`last`](Self::last) one then, whatever `last` says.
    pub fn set_cause(&mut self, cause: WhyLate, last: Option<TaskId>) {
        let (last, holder) = match cause {
            WhyLate::Predecessor(task) => (Some(task), None),
            WhyLate::Batch { predecessor, released_with } => (Some(predecessor), Some(released_with)),
            other => (last, other.held_by()),
        };
        self.last = last.map_or(NONE, |task| task.0);
        self.holder = holder.map_or(NONE, |task| task.0);
        self.place = self.place & NO_ROW as u16 | (cause.kind() as u16) << ROW_BITS;
    }

    /// How long it waited for what its start waited for last: for tasks before it from its submission on, else since it was ready.
    pub fn waited(&self) -> u64 {
        match self.cause() {
            WhyLate::Generation { .. } | WhyLate::Window { .. } => 0,
            WhyLate::Predecessor(_) | WhyLate::Batch { .. } | WhyLate::Unrecorded => {
                self.ready.saturating_sub(self.submitted)
            }
            WhyLate::Worker { .. } | WhyLate::Gate { .. } | WhyLate::Start => {
                self.started.saturating_sub(self.ready)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gives_back_row_cause_and_last_predecessor() {
        let (a, b) = (TaskId(7), TaskId(u32::MAX - 1));
        let causes = [
            WhyLate::Generation { resumed_by: None },
            WhyLate::Generation { resumed_by: Some(a) },
            WhyLate::Predecessor(a),
            WhyLate::Batch { predecessor: a, released_with: b },
            WhyLate::Worker { busy_with: b },
            WhyLate::Gate { held_by: b },
            WhyLate::Window { held_by: b },
            WhyLate::Start,
            WhyLate::Unrecorded,
        ];
        for row in [None, Some(0), Some(4095), Some(NO_ROW - 1)] {
            for cause in causes {
                let mut record = TaskRecord::new(TaskId(1), KernelId(2), row);
                record.set_cause(WhyLate::Unrecorded, None);
                record.set_cause(cause, Some(a));
                assert_eq!((record.row(), record.cause(), record.last()), (row, cause, Some(a)));
            }
        }
        let beyond = TaskRecord::new(TaskId(1), KernelId(2), Some(u32::MAX));
        assert_eq!((beyond.row(), beyond.last()), (Some(NO_ROW - 1), None));
    }
}
