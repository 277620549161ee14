//! Programs and launches as the interpreter takes them, the launch's tables in memory of the caller.

use crate::abi::{PtowLaunch, PtowTable, Status};
use crate::input::slice;
use crate::report::{self, Failure, plain};
use wsp_core::ptow::{Launch, Program, Verified, marks_needed};
use zerocopy::{FromBytes, IntoBytes};

/// Reads a program.
///
/// # Safety
/// A pointer that is not null points to `len` bytes that do not change for `'a`.
pub(crate) unsafe fn read<'a>(program: *const u8, len: u64) -> Result<Program<'a>, Failure> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { slice(program, len) }.map_err(plain)?;
    // No bytes are too few, wherever they lie.
    let bytes = if bytes.is_empty() { <[u32; 0]>::as_bytes(&[]) } else { bytes };
    Program::read(bytes).map_err(|error| report::read(&error))
}

/// Verifies a program in some memory.
pub(crate) fn verified<'a>(program: Program<'a>, marks: &mut [u8]) -> Result<Verified<'a>, Failure> {
    let (need, have) = (marks_needed(&program), marks.len());
    if have < need {
        return Err(report::memory(need as u64, have as u64));
    }
    Verified::new(program, marks).map_err(|error| report::verify(&error))
}

/// Bytes of the list of a launch's tables.
pub(crate) fn table_bytes(program: &Program<'_>) -> usize {
    usize::from(program.counts.tables).saturating_mul(size_of::<&[i64]>())
}

/// A launch whose list of tables stands at the beginning of the memory, and the rest of the memory. The memory is aligned to
/// 8 bytes and has at least [`table_bytes`].
///
/// # Safety
/// What the launch points to stays as it is for as long as the result is used.
pub(crate) unsafe fn lay_out(
    program: &Verified<'_>,
    launch: &PtowLaunch,
    memory: &'static mut [u8],
) -> Result<(Launch<'static>, &'static mut [u64]), Failure> {
    let have = memory.len() as u64;
    let bytes = table_bytes(program.program());
    let short = || report::memory(bytes as u64, have);
    // SAFETY: the caller's promises.
    let (values, tables, extents) = unsafe {
        let values = slice(launch.values, launch.num_values).map_err(plain)?;
        let tables = slice(launch.tables, launch.num_tables).map_err(plain)?;
        (values, tables, slice(launch.extents, launch.num_extents).map_err(plain)?)
    };
    // As many as the program names: the memory has room for no more.
    let named = usize::from(program.program().counts.tables);
    let tables = tables.get(..named).unwrap_or(tables);
    let (slices, rest) = memory.split_at_mut_checked(bytes).ok_or_else(short)?;
    // SAFETY: `slices` has room for as many slices as there are tables; the rest is the caller's promise.
    let tables = unsafe { list(tables, slices.as_mut_ptr().cast()) }.map_err(plain)?;
    let words = rest.len() / size_of::<u64>();
    let (words, _) =
        <[u64]>::mut_from_prefix_with_elems(rest, words).map_err(|_| plain(Status::Alignment))?;
    Ok((Launch { values, tables, extents }, words))
}

/// Writes the tables of a launch as slices.
///
/// # Safety
/// `place` has room for as many slices as there are tables, used for nothing else; tables stay as they are.
unsafe fn list(
    tables: &[PtowTable],
    place: *mut &'static [i64],
) -> Result<&'static [&'static [i64]], Status> {
    if !place.is_aligned() {
        return Err(Status::Alignment);
    }
    for (index, table) in tables.iter().enumerate() {
        // SAFETY: the caller's promises.
        let elements = unsafe { slice(table.data, table.len) }?;
        // SAFETY: the caller's promises.
        unsafe { place.add(index).write(elements) };
    }
    // SAFETY: all of them are written.
    Ok(unsafe { core::slice::from_raw_parts(place, tables.len()) })
}
