//! Where the lists of a graph go: files, or standard output.

use super::Rows;
use crate::codes;
use crate::files::write_stream;
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use wsp_ir::diag::Diagnostic;

/// Where one list goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A file.
    File(PathBuf),
}

impl Destination {
    /// `-` is standard output.
    pub fn of(path: &Path) -> Destination {
        if path.as_os_str() == "-" { Destination::Stdout } else { Destination::File(path.to_owned()) }
    }
}

/// Writes a list; one that `cancel` stops leaves no file behind. Nobody reading standard output any more is no error.
///
/// # Errors
/// When it cannot be written; an interrupted list too.
pub fn write(
    to: &Destination,
    cancel: &AtomicBool,
    list: &mut dyn FnMut(&mut Rows<'_>) -> std::io::Result<()>,
) -> Result<(), Diagnostic> {
    match to {
        Destination::File(path) => write_stream(path, &mut |out| list(&mut Rows::new(out, cancel))),
        Destination::Stdout => {
            let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
            let written = list(&mut Rows::new(&mut out, cancel)).and_then(|()| out.flush());
            // What could not be written is not tried again when the buffer goes.
            let _ = out.into_parts();
            match written {
                Err(fault) if fault.kind() != ErrorKind::BrokenPipe => {
                    Err(Diagnostic::error(codes::CANNOT_WRITE, "standard output cannot be written")
                        .note(fault.to_string())
                        .help("give a file in place of `-`"))
                }
                _ => Ok(()),
            }
        }
    }
}
