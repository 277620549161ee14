//! Files in the `.npy` format.

use super::fault::{open_sized, shown, unreadable};
use pto_wsp::npy::{Fault, Stream};
use std::io::BufReader;
use std::path::Path;
use wsp_check::check_memory;
use wsp_diag::Diagnostic;
use wsp_plan::Array;

/// Reads one array from a `.npy` file.
///
/// Elements in Fortran order or big-endian bytes are converted.
///
/// # Errors
/// When the file cannot be read, is damaged, or holds what an array cannot.
pub fn read_npy(path: &Path) -> Result<Array, Diagnostic> {
    let (file, left) = open_sized(path)?;
    let what = format!("`{}`", shown(path));
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut stream = Stream { what: &what, reader: &mut reader, left, admit: check_memory };
    stream.array().map_err(|fault| match fault {
        Fault::Io(error) => unreadable(path, &error),
        Fault::Diagnostic(fault) => *fault,
    })
}
