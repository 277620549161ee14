//! Prefix sums of a launch, which interpreters on several AICPUs share.

use crate::abi::{PtowLaunch, PtowReport, Status};
use crate::input::{aligned, reference, store};
use crate::layout::{lay_out, read, table_bytes, verified};
use crate::open::finish;
use crate::report::{self, Failure, plain};
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::ptow::summary::{Summaries, summarise, summary_words};
use wsp_core::ptow::{Launch, Program, marks_needed};
use zerocopy::FromBytes;

/// What sums begin with, so that memory that holds none is noticed.
const BUILT: u64 = 0x5054_4F57_5355_4D53;

/// Prefix sums in memory of the caller; see [`Handle`](crate::Handle) for `'static`.
#[repr(C)]
pub struct Sums {
    mark: u64,
    prefixes: Prefixes<'static>,
}

impl Sums {
    /// The sums that a pointer names; none for null.
    ///
    /// # Safety
    /// A pointer that is neither null nor misaligned points to memory of the size of sums that nobody changes.
    pub(crate) unsafe fn prefixes(sums: *const Sums) -> Result<Prefixes<'static>, Status> {
        if sums.is_null() {
            return Ok(Prefixes::none());
        }
        // SAFETY: the caller's promise; a number may be read whatever is there.
        let mark = unsafe { reference(sums.cast::<u64>()) }?;
        if *mark != BUILT {
            return Err(Status::Handle);
        }
        // SAFETY: the mark is there, so these are sums.
        unsafe { reference(sums) }.map(|sums| sums.prefixes)
    }
}

/// A program and a launch with their summaries, all in scratch memory.
struct Prepared {
    program: Program<'static>,
    launch: Launch<'static>,
    summaries: Summaries<'static>,
}

/// Verifies a program and learns what its prefix sums depend on.
///
/// # Safety
/// As the header says of the arguments.
unsafe fn prepare(
    program: *const u8,
    len: u64,
    launch: *const PtowLaunch,
    scratch: *mut u8,
    scratch_len: u64,
) -> Result<Prepared, Failure> {
    // SAFETY: the caller's promises.
    let (program, launch) = unsafe { (read(program, len)?, reference(launch).map_err(plain)?) };
    // SAFETY: the caller's promises.
    let scratch = unsafe { aligned(scratch, scratch_len) }?;
    let words = summary_words(&program).saturating_mul(size_of::<u64>());
    let need = table_bytes(&program).saturating_add(words).max(marks_needed(&program));
    if scratch.len() < need {
        return Err(report::memory(need as u64, scratch.len() as u64));
    }
    let program = verified(program, scratch)?;
    // SAFETY: the caller's promises.
    let (launch, words) = unsafe { lay_out(&program, launch, scratch) }?;
    let program = *program.program();
    Ok(Prepared { program, launch, summaries: summarise(&program, &launch, words) })
}

impl Prepared {
    /// Bytes of memory that the sums take.
    fn bytes(&self) -> usize {
        let words = Prefixes::words_needed(&self.program, &self.launch, &self.summaries);
        size_of::<Sums>().saturating_add(words.saturating_mul(size_of::<u64>()))
    }
}

/// Bytes of memory that the prefix sums of a launch take, into `bytes`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_ptow_sums_bytes(
    program: *const u8,
    len: u64,
    launch: *const PtowLaunch,
    scratch: *mut u8,
    scratch_len: u64,
    bytes: *mut u64,
    report: *mut PtowReport,
) -> i32 {
    // SAFETY: the caller's promises.
    let result = unsafe { prepare(program, len, launch, scratch, scratch_len) }.and_then(|prepared| {
        // SAFETY: the caller's promises.
        unsafe { store(bytes, prepared.bytes() as u64) }.map_err(plain)
    });
    // SAFETY: the caller's promises.
    unsafe { finish(result.map(|()| Status::Ok), report) }
}

/// Builds the prefix sums of a launch in some memory, into `sums`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_ptow_sums_build(
    program: *const u8,
    len: u64,
    launch: *const PtowLaunch,
    scratch: *mut u8,
    scratch_len: u64,
    memory: *mut u8,
    memory_len: u64,
    sums: *mut *const Sums,
    report: *mut PtowReport,
) -> i32 {
    let build = || {
        // SAFETY: the caller's promises.
        let prepared = unsafe { prepare(program, len, launch, scratch, scratch_len) }?;
        // SAFETY: the caller's promises.
        let memory = unsafe { aligned(memory, memory_len) }?;
        let have = memory.len() as u64;
        let short = || report::memory(size_of::<Sums>() as u64, have);
        let (head, rest) = memory.split_at_mut_checked(size_of::<Sums>()).ok_or_else(short)?;
        let words = rest.len() / size_of::<u64>();
        let (words, _) =
            <[u64]>::mut_from_prefix_with_elems(rest, words).map_err(|_| plain(Status::Alignment))?;
        let Prepared { program, launch, summaries } = prepared;
        let prefixes = Prefixes::build(&program, &launch, &summaries, words);
        let place: *mut Sums = head.as_mut_ptr().cast();
        // SAFETY: the part has the size of sums, is aligned for them, and nobody else uses it.
        unsafe { place.write(Sums { mark: BUILT, prefixes }) };
        // SAFETY: the caller's promises.
        unsafe { store(sums, place.cast_const()) }.map_err(plain)?;
        Ok(Status::Ok)
    };
    // SAFETY: the caller's promises.
    unsafe { finish(build(), report) }
}
