//! Tasks of declared kernels between generation and execution.

use smallvec::SmallVec;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wsp_core::{KernelId, Region};
use wsp_ir::workload::AccessMode;
use wsp_plan::workload::TaskRecord;

/// A task: all that its kernel is given, and what tells it from others.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Record {
    pub(crate) kernel: KernelId,
    /// Values of the scalar parameters.
    pub(crate) scalars: SmallVec<[i64; 4]>,
    /// Boxes of the tensor parameters.
    pub(crate) boxes: SmallVec<[Region; 4]>,
    /// Indices of the loops around it, outermost first.
    pub(crate) indices: SmallVec<[i64; 4]>,
}

impl Record {
    pub(crate) fn of(task: &TaskRecord<'_>) -> Record {
        Record {
            kernel: task.kernel,
            scalars: SmallVec::from_slice(task.scalars),
            boxes: SmallVec::from_slice(task.boxes),
            indices: SmallVec::from_slice(task.indices),
        }
    }

    /// Each box with what the kernel does with it.
    pub(crate) fn accesses<'a>(
        &'a self,
        modes: &'a [AccessMode],
    ) -> impl Iterator<Item = (AccessMode, Region)> + 'a {
        modes.iter().copied().zip(self.boxes.iter().copied())
    }
}

/// Records by number. The number of a task that has started is used again, so that memory follows the tasks in flight.
#[derive(Debug, Default)]
pub(crate) struct Records {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    records: Vec<Record>,
    free: Vec<u32>,
}

impl Records {
    /// Keeps a record until [`take`](Self::take).
    pub(crate) fn put(&self, record: Record) -> u32 {
        let mut inner = self.lock();
        if let Some(number) = inner.free.pop() {
            inner.records[number as usize] = record;
            return number;
        }
        inner.records.push(record);
        u32::try_from(inner.records.len() - 1).expect("tasks in flight should fit 32 bits")
    }

    /// The record with this number, which may be used again from now on.
    pub(crate) fn take(&self, number: u32) -> Record {
        let mut inner = self.lock();
        inner.free.push(number);
        std::mem::take(&mut inner.records[number as usize])
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing between lock and unlock leaves a record half written.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_started_tasks_are_used_again() {
        let records = Records::default();
        let record = |kernel| Record { kernel: KernelId(kernel), ..Record::default() };
        let (a, b) = (records.put(record(1)), records.put(record(2)));
        assert_ne!(a, b);
        assert_eq!(records.take(a), record(1));
        assert_eq!(records.put(record(3)), a);
        assert_eq!((records.take(a), records.take(b)), (record(3), record(2)));
    }
}
