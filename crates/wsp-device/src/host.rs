//! The callbacks as a host of the interpreter.

use crate::abi::{PtowHost, PtowTask, TaskFn};
use core::ffi::c_void;
use wsp_core::ptow::interp::{AccessMode, Host, Ordered, Task};
use wsp_core::{Region, SlotId};

/// All ones: none.
const NONE: u32 = u32::MAX;

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<AccessMode>() == 1);
    assert!(size_of::<Region>() == 52 && align_of::<Region>() == 4);
    assert!(offset_of!(Region, tensor) == 0 && offset_of!(Region, lo) == 4 && offset_of!(Region, hi) == 28);
};

/// The callbacks, of which that for tasks is there.
pub(crate) struct Callbacks<'h> {
    host: &'h PtowHost,
    task: TaskFn,
}

/// A callback has asked to stop.
pub(crate) struct Stop;

impl<'h> Callbacks<'h> {
    /// None when the callback for tasks is null.
    pub(crate) fn new(host: &'h PtowHost) -> Option<Callbacks<'h>> {
        Some(Callbacks { host, task: host.task? })
    }

    fn user(&self) -> *mut c_void {
        self.host.user
    }
}

/// A count that the interpreter's limits keep small.
fn small(len: usize) -> u8 {
    u8::try_from(len).unwrap_or(u8::MAX)
}

impl Host for Callbacks<'_> {
    type Stop = Stop;

    fn task(&mut self, task: &Task<'_>) -> Result<(), Stop> {
        let record = PtowTask {
            ordinal: task.ordinal,
            params: task.params.as_ptr(),
            regions: task.regions.as_ptr(),
            modes: task.modes.as_ptr().cast(),
            after: task.after.as_ptr(),
            vars: task.vars.as_ptr(),
            indices: task.indices.as_ptr(),
            site: task.site,
            label: task.label.map_or(NONE, |label| label.0),
            priority: task.priority,
            stream: task.stream.map_or(NONE, u32::from),
            kernel: task.kernel.0,
            pool: task.pool as u8,
            num_params: small(task.params.len()),
            num_regions: small(task.regions.len()),
            num_after: small(task.after.len()),
            num_vars: small(task.vars.len()),
            num_indices: small(task.indices.len()),
        };
        if (self.task)(self.user(), &raw const record) == 0 { Ok(()) } else { Err(Stop) }
    }

    fn ordered(&mut self, event: Ordered, ordinal: u64) -> Result<(), Stop> {
        let Some(ordered) = self.host.ordered else { return Ok(()) };
        let event = match event {
            Ordered::Begin => 0,
            Ordered::Step => 1,
            Ordered::End => 2,
        };
        if ordered(self.user(), event, ordinal) == 0 { Ok(()) } else { Err(Stop) }
    }

    fn slot(&mut self, slot: SlotId, ordinal: u64) -> Option<i64> {
        let mut value = 0;
        let found = (self.host.slot?)(self.user(), slot.0, ordinal, &raw mut value);
        (found == 0).then_some(value)
    }

    fn plan(&mut self, generator: u16, ordinal: u64) -> Result<Option<u64>, Stop> {
        let Some(plan) = self.host.plan else { return Ok(None) };
        let mut tasks = 0;
        match plan(self.user(), generator, ordinal, &raw mut tasks) {
            0 => Ok(Some(tasks)),
            negative if negative < 0 => Ok(None),
            _ => Err(Stop),
        }
    }
}
