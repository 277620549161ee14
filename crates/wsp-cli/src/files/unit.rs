//! Files of task graphs.

use super::fault::{open, shown, unreadable};
use pto_wsp::codes;
use std::io::Read as _;
use std::path::Path;
use wsp_core::limits::MAX_UNIT_BYTES;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;

/// The first bytes of a regular file, `most` or as many as it has; none of what cannot be read, which its reader reports.
pub(crate) fn read_beginning(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    // Of a pipe nothing is taken: its reader would miss it.
    let is_file = std::fs::metadata(path).is_ok_and(|m| m.is_file());
    is_file.then(|| open(path).ok()?.take(most).read_to_end(&mut start).ok()).flatten()?;
    Some(start)
}

/// The bytes of a task graph.
///
/// # Errors
/// When the file cannot be read or is longer than [`MAX_UNIT_BYTES`].
pub(crate) fn read_unit_bytes(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let most = u64::from(MAX_UNIT_BYTES);
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    if bytes.len() as u64 > most {
        let fault = too_long(&format!("`{}` is too long for a task graph", shown(path)));
        return Err(fault.help("is this the right file? if so, split the unit"));
    }
    Ok(bytes)
}

/// Refuses the text or the bytes of a task graph that no command would read.
///
/// # Errors
/// They are longer than [`MAX_UNIT_BYTES`].
pub(crate) fn check_unit_length(length: usize) -> Result<(), Diagnostic> {
    if length <= MAX_UNIT_BYTES as usize {
        return Ok(());
    }
    let fault = too_long(&format!("the task graph would have {}", counted(length as u64, "byte")));
    Err(fault.help("set smaller parameters: it has a kernel for each task of the workload"))
}

fn too_long(message: &str) -> Diagnostic {
    Diagnostic::error(codes::UNIT_TOO_LONG, message)
        .note(format!("a unit may have {most}", most = counted(u64::from(MAX_UNIT_BYTES), "byte")))
}

/// The text of a task graph.
///
/// # Errors
/// As [`read_unit_bytes`], and when it is not UTF-8.
pub(crate) fn read_unit_text(path: &Path) -> Result<String, Diagnostic> {
    String::from_utf8(read_unit_bytes(path)?).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = e.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1;
        Diagnostic::error(codes::BAD_SOURCE_FILE, format!("`{}` is not UTF-8 text", shown(path)))
            .note(format!("byte {at}, in line {line}, belongs to no character"))
            .help("save the file as UTF-8; a task graph in bytes has the ending `.ptog`")
    })
}
