//! What takes the tasks that are generated: as little as shows that every field of a task was there.

use std::convert::Infallible;
use wsp_core::ptow::interp::{Host, Ordered, Task};
use wsp_core::{Region, SlotId};
use wsp_plan::workload::{TaskRecord, TaskSink};

/// Adds up a word of every part of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum {
    /// Tasks so far.
    pub(super) tasks: u64,
    /// What they came to.
    pub(super) sum: u64,
}

impl Sum {
    /// Takes what a task consists of.
    #[inline]
    pub(super) fn take(&mut self, ordinal: u64, params: &[i64], regions: &[Region]) {
        let mut sum = ordinal;
        for param in params {
            sum = sum.wrapping_add(*param as u64);
        }
        for region in regions {
            sum = sum.wrapping_add(u64::from(region.lo[0]) ^ u64::from(region.hi[1]));
        }
        self.tasks += 1;
        self.sum = self.sum.wrapping_add(sum);
    }
}

impl Host for Sum {
    type Stop = Infallible;

    #[inline]
    fn task(&mut self, task: &Task<'_>) -> Result<(), Infallible> {
        self.take(task.ordinal, task.params, task.regions);
        Ok(())
    }

    fn ordered(&mut self, _: Ordered, _: u64) -> Result<(), Infallible> {
        Ok(())
    }

    fn slot(&mut self, _: SlotId, _: u64) -> Option<i64> {
        None
    }

    fn plan(&mut self, _: u16, _: u64) -> Result<Option<u64>, Infallible> {
        Ok(None)
    }
}

impl TaskSink for Sum {
    type Error = Infallible;

    #[inline]
    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Infallible> {
        self.take(task.ordinal, task.scalars, task.regions);
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, Infallible> {
        Ok(0)
    }
}
