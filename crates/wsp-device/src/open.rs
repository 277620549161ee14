//! Reading, verifying and opening programs.

use crate::abi::{PtowLaunch, PtowReport, Status};
use crate::handle::Handle;
use crate::input::{aligned, bytes_mut, reference, store};
use crate::layout::{lay_out, read, table_bytes, verified};
use crate::report::{self, Failure, plain};
use crate::sums::Sums;
use wsp_core::ptow::interp::{Interpreter, Mode, workspace_words};
use wsp_core::ptow::{DispatchConfig, Verified, marks_needed};

/// Ends a call: stores what is wrong where the caller wants it, and gives the status.
///
/// # Safety
/// `report` is null or points to a place for a report that nobody else uses.
pub(crate) unsafe fn finish(result: Result<Status, Failure>, report: *mut PtowReport) -> i32 {
    let (status, numbers) = match result {
        Ok(status) => (status, PtowReport::default()),
        Err(failure) => failure,
    };
    if !report.is_null() {
        // SAFETY: the caller's promise.
        if let Err(status) = unsafe { store(report, numbers) } {
            return status as i32;
        }
    }
    status as i32
}

/// Bytes that [`wsp_ptow_open`] needs.
fn memory_needed(program: &Verified<'_>) -> usize {
    let workspace = workspace_words(program).saturating_mul(size_of::<u64>());
    let parts = size_of::<Handle>().saturating_add(table_bytes(program.program())).saturating_add(workspace);
    parts.max(marks_needed(program.program()))
}

/// Bytes of memory that verifying a program takes, into `bytes`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_ptow_scratch_bytes(
    program: *const u8,
    len: u64,
    bytes: *mut u64,
    report: *mut PtowReport,
) -> i32 {
    // SAFETY: the caller's promises.
    let result = unsafe { read(program, len) }.and_then(|program| {
        let need = marks_needed(&program) as u64;
        // SAFETY: the caller's promises.
        unsafe { store(bytes, need) }.map_err(plain)
    });
    // SAFETY: the caller's promises.
    unsafe { finish(result.map(|()| Status::Ok), report) }
}

/// Verifies a program; the bytes of memory that opening it takes, into `bytes`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_ptow_verify(
    program: *const u8,
    len: u64,
    scratch: *mut u8,
    scratch_len: u64,
    bytes: *mut u64,
    report: *mut PtowReport,
) -> i32 {
    let verify = || {
        // SAFETY: the caller's promises.
        let program = unsafe { read(program, len) }?;
        // SAFETY: the caller's promises.
        let scratch = unsafe { bytes_mut(scratch, scratch_len) }.map_err(plain)?;
        let verified = verified(program, scratch)?;
        // SAFETY: the caller's promises.
        unsafe { store(bytes, memory_needed(&verified) as u64) }.map_err(plain)?;
        Ok(Status::Ok)
    };
    // SAFETY: the caller's promises.
    unsafe { finish(verify(), report) }
}

/// Verifies a program and makes an interpreter of it in some memory, into `handle`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_ptow_open(
    program: *const u8,
    len: u64,
    launch: *const PtowLaunch,
    config: *const DispatchConfig,
    sums: *const Sums,
    mode: u32,
    memory: *mut u8,
    memory_len: u64,
    handle: *mut *mut Handle,
    report: *mut PtowReport,
) -> i32 {
    let open = || {
        let mode = match mode {
            0 => Mode::Skip,
            1 => Mode::Naive,
            _ => return Err(plain(Status::Mode)),
        };
        // SAFETY: the caller's promises.
        let (program, launch, config) = unsafe {
            let launch = reference(launch).map_err(plain)?;
            (read(program, len)?, launch, reference(config).map_err(plain)?)
        };
        // SAFETY: the caller's promises.
        let prefixes = unsafe { Sums::prefixes(sums) }.map_err(plain)?;
        // SAFETY: the caller's promises.
        let memory = unsafe { aligned(memory, memory_len) }?;
        let program = verified(program, memory)?;
        let (need, have) = (memory_needed(&program) as u64, memory.len() as u64);
        let short = || report::memory(need, have);
        if have < need {
            return Err(short());
        }
        let (head, rest) = memory.split_at_mut_checked(size_of::<Handle>()).ok_or_else(short)?;
        // SAFETY: the caller's promises.
        let (launch, workspace) = unsafe { lay_out(&program, launch, rest) }?;
        let opened = Interpreter::new(program, launch, config, prefixes, workspace, mode);
        let interpreter = opened.map_err(|refusal| report::refusal(&refusal))?;
        let place: *mut Handle = head.as_mut_ptr().cast();
        // SAFETY: the part has the size of a handle, is aligned for one, and nobody else uses it.
        unsafe { place.write(Handle::new(interpreter)) };
        // SAFETY: the caller's promises.
        unsafe { store(handle, place) }.map_err(plain)?;
        Ok(Status::Ok)
    };
    // SAFETY: the caller's promises.
    unsafe { finish(open(), report) }
}
