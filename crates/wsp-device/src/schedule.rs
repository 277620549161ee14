//! Schedules put into programs.

use crate::abi::{PtowKey, PtowPolicy, PtowReport, PtowSchedule, Status};
use crate::input::{aligned, reference, slice, store};
use crate::layout::{read, verified};
use crate::open::finish;
use crate::report::{self, Failure, plain};
use wsp_core::ptow::schedule::{MAX_LEVELS, Policy, Schedule, ScheduleFault, Threshold};
use wsp_core::ptow::{DispatchConfig, MAX_THRESHOLDS, Program, Word, marks_needed};

/// Bytes of memory that [`wsp_ptow_compile`] takes, into `bytes`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_ptow_compile_bytes(
    program: *const u8,
    len: u64,
    schedule: *const PtowSchedule,
    bytes: *mut u64,
    report: *mut PtowReport,
) -> i32 {
    let measure = || {
        // SAFETY: the caller's promises.
        let (program, schedule) = unsafe { (read(program, len)?, taken(schedule)?) };
        // SAFETY: the caller's promises.
        unsafe { store(bytes, memory_needed(&program, &schedule) as u64) }.map_err(plain)?;
        Ok(Status::Ok)
    };
    // SAFETY: the caller's promises.
    unsafe { finish(measure(), report) }
}

/// The program, and behind it what verifying it takes.
fn memory_needed(program: &Program<'_>, schedule: &Schedule<'_>) -> usize {
    schedule.bytes_needed(program).saturating_add(schedule.marks_needed(program))
}

/// Puts a schedule into a program; the length of what stands at the beginning of the memory then, into `size`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_ptow_compile(
    program: *const u8,
    len: u64,
    schedule: *const PtowSchedule,
    memory: *mut u8,
    memory_len: u64,
    size: *mut u64,
    report: *mut PtowReport,
) -> i32 {
    let compile = || {
        // SAFETY: the caller's promises.
        let (program, schedule) = unsafe { (read(program, len)?, taken(schedule)?) };
        // SAFETY: the caller's promises.
        let memory = unsafe { aligned(memory, memory_len) }?;
        let (need, have) = (memory_needed(&program, &schedule) as u64, memory.len() as u64);
        let short = || report::memory(need, have);
        if have < need {
            return Err(short());
        }
        let (bytes, marks) =
            memory.split_at_mut_checked(schedule.bytes_needed(&program)).ok_or_else(short)?;
        let source = verified(program, marks)?;
        let length = schedule.compile(&source, bytes).map_err(|fault| report::schedule(&fault))?;
        let compiled = bytes.get(..length).ok_or_else(short)?;
        let compiled = Program::read(compiled).map_err(|error| report::read(&error))?;
        if marks.len() < marks_needed(&compiled) {
            return Err(short());
        }
        verified(compiled, marks)?;
        // SAFETY: the caller's promises.
        unsafe { store(size, length as u64) }.map_err(plain)?;
        Ok(Status::Ok)
    };
    // SAFETY: the caller's promises.
    unsafe { finish(compile(), report) }
}

/// What an AICPU gets beside a program, into `config`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_ptow_dispatch(
    schedule: *const PtowSchedule,
    num_aicpus: u32,
    my_aicpu_id: u32,
    config: *mut DispatchConfig,
    report: *mut PtowReport,
) -> i32 {
    let make = || {
        // SAFETY: the caller's promises.
        let schedule = unsafe { taken(schedule) }?;
        let checked = schedule.check().and_then(|()| schedule.check_aicpus(num_aicpus, my_aicpu_id));
        checked.map_err(|fault| report::schedule(&fault))?;
        // No more than fit, as has been checked.
        let made = schedule.config(num_aicpus as u16, my_aicpu_id as u16);
        // SAFETY: the caller's promises.
        unsafe { store(config, made) }.map_err(plain)?;
        Ok(Status::Ok)
    };
    // SAFETY: the caller's promises.
    unsafe { finish(make(), report) }
}

/// A schedule from C.
///
/// # Safety
/// What it points to stays as it is for `'a`.
unsafe fn taken<'a>(schedule: *const PtowSchedule) -> Result<Schedule<'a>, Failure> {
    // SAFETY: the caller's promises.
    let given = unsafe { reference(schedule) }.map_err(plain)?;
    // SAFETY: the caller's promises.
    let (ranges, bounds, metric) = unsafe {
        let ranges = slice(given.ranges, given.num_ranges).map_err(plain)?;
        (ranges, slice(given.bounds, given.num_bounds).map_err(plain)?, key(&given.metric)?)
    };
    let threshold = if bounds.is_empty() && metric.is_empty() && given.levels.is_null() {
        None
    } else if bounds.is_empty() || bounds.len() > MAX_THRESHOLDS {
        return Err(report::schedule(&ScheduleFault::Bounds(bounds.len())));
    } else {
        let levels = given.num_bounds.saturating_add(1);
        // SAFETY: the caller's promises.
        let levels = unsafe { slice(given.levels, levels) }.map_err(plain)?;
        let mut policies = [Policy::default(); MAX_LEVELS];
        for (level, (to, from)) in policies.iter_mut().zip(levels).enumerate() {
            // SAFETY: the caller's promises.
            *to = unsafe { policy(from, level.saturating_add(1)) }?;
        }
        Some(Threshold { metric, bounds, policies })
    };
    // SAFETY: the caller's promises.
    unsafe {
        Ok(Schedule {
            dispatch: policy(&given.dispatch, 0)?,
            ranges,
            threshold,
            streams: given.streams,
            stream_by: key(&given.stream_by)?,
            priority: key(&given.priority)?,
        })
    }
}

/// A policy from C.
///
/// # Safety
/// As [`taken`].
unsafe fn policy<'a>(given: &PtowPolicy, level: usize) -> Result<Policy<'a>, Failure> {
    let code = u16::try_from(given.policy);
    let code = code.map_err(|_| report::schedule(&ScheduleFault::Policy { level, code: u16::MAX }))?;
    // SAFETY: the caller's promise.
    Ok(Policy { code, depth: given.depth, key: unsafe { key(&given.key) }? })
}

/// The words of an expression from C.
///
/// # Safety
/// As [`taken`].
unsafe fn key<'a>(given: &PtowKey) -> Result<&'a [Word], Failure> {
    // SAFETY: the caller's promise.
    unsafe { slice(given.words, given.len) }.map_err(plain)
}
