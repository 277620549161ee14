//! Writes files that replace others only when complete.

use super::output::{Output, keep};
use std::io::Write;
use std::path::Path;
use wsp_diag::Diagnostic;
use wsp_plan::{Array, Arrays};

/// Writes arrays to a `.npz` file, one stored entry each; bf16 as `uint16`, since numpy has no bf16.
///
/// What stood there before is replaced only by a complete archive.
///
/// # Errors
/// When the file cannot be written.
pub fn write_npz(path: &Path, arrays: &Arrays) -> Result<(), Diagnostic> {
    keep(vec![Output::archive_at(path)?.fill_npz(arrays)?])
}

/// Writes a file of which `fill` gives the bytes.
///
/// What stood there before is replaced only by a complete file.
///
/// # Errors
/// When the file cannot be written, or `fill` says so.
pub(crate) fn write_stream(
    path: &Path,
    fill: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Diagnostic> {
    keep(vec![Output::at(path)?.fill(fill)?])
}

/// Writes a file.
///
/// # Errors
/// When the file cannot be written.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    write_stream(path, &mut |out| out.write_all(bytes))
}

/// Writes an array to a `.npy` file; bf16 as `uint16`.
///
/// # Errors
/// When the file cannot be written.
pub fn write_array(path: &Path, array: &Array) -> Result<(), Diagnostic> {
    write_stream(path, &mut |mut out| pto_wsp::npy::write(&mut out, array))
}
