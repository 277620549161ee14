//! Running an opened program.

use crate::abi::{PtowHost, PtowReport, PtowStats, PtowWaits, Status};
use crate::handle::Handle;
use crate::host::Callbacks;
use crate::input::{reference, store};
use crate::open::finish;
use crate::report::{self, Failure, plain};
use wsp_core::ptow::interp::{Interpreter, Progress, Waits};

/// Goes on until so many tasks were handed over, so many steps were taken, a slot's value is needed, a callback asks to
/// stop, or it ends.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_ptow_run(
    handle: *mut Handle,
    host: *const PtowHost,
    tasks: u32,
    steps: u32,
    report: *mut PtowReport,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promises.
        let host = unsafe { reference(host) }.map_err(plain)?;
        let mut callbacks = Callbacks::new(host).ok_or_else(|| plain(Status::Null))?;
        // SAFETY: the caller's promises.
        let progress =
            unsafe { Handle::with(handle, |interpreter| interpreter.run(&mut callbacks, tasks, steps)) };
        match progress {
            None => Err(plain(Status::Handle)),
            Some(Err(_)) => Ok(Status::Stopped),
            Some(Ok(progress)) => status(progress),
        }
    };
    // SAFETY: the caller's promises.
    unsafe { finish(run(), report) }
}

fn status(progress: Progress) -> Result<Status, Failure> {
    match progress {
        Progress::Finished => Ok(Status::Finished),
        Progress::Yielded => Ok(Status::Yielded),
        Progress::Waits(slot) => {
            Err((Status::Waits, PtowReport { found: i64::from(slot.0), ..PtowReport::default() }))
        }
        Progress::Fault(fault) => Err(report::fault(&fault)),
    }
}

/// Every task of this AICPU with a smaller ordinal has been handed over: that ordinal into `watermark`, all ones at the end.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_ptow_watermark(handle: *mut Handle, watermark: *mut u64) -> i32 {
    // SAFETY: the caller's promises.
    unsafe { ask(handle, watermark, |interpreter| interpreter.watermark()) }
}

/// What has been done so far, into `stats`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_ptow_stats_of(handle: *mut Handle, stats: *mut PtowStats) -> i32 {
    let read = |interpreter: &Interpreter<'static>| {
        let stats = interpreter.stats();
        PtowStats {
            tasks: stats.tasks,
            steps: stats.steps,
            scopes: stats.scopes,
            while_rounds: stats.while_rounds,
            total_ordinals: stats.total_ordinals,
        }
    };
    // SAFETY: the caller's promises.
    unsafe { ask(handle, stats, read) }
}

/// What a process waits for when none can go on, into `waits`. Processes are numbered from 0.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_ptow_waits_of(handle: *mut Handle, process: u32, waits: *mut PtowWaits) -> i32 {
    let read = |interpreter: &Interpreter<'static>| {
        let (kind, word) = match interpreter.waiting().nth(process as usize).map(|(waits, _)| waits) {
            None => (0, 0),
            Some(Waits::Ended) => (1, 0),
            Some(Waits::For(word)) => (2, word),
            Some(Waits::Taken(word)) => (3, word),
        };
        PtowWaits { kind, word }
    };
    // SAFETY: the caller's promises.
    unsafe { ask(handle, waits, read) }
}

/// Stores what an interpreter says.
///
/// # Safety
/// As [`Handle::with`] and [`store`] ask.
unsafe fn ask<T>(handle: *mut Handle, place: *mut T, read: impl FnOnce(&Interpreter<'static>) -> T) -> i32 {
    // SAFETY: the caller's promises.
    let Some(value) = (unsafe { Handle::with(handle, |interpreter| read(interpreter)) }) else {
        return Status::Handle as i32;
    };
    // SAFETY: the caller's promises.
    let stored = unsafe { store(place, value) };
    stored.map_or_else(|status| status as i32, |()| Status::Ok as i32)
}
