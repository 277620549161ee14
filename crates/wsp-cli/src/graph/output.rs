//! Where the lists of a graph go: files, or standard output.

use super::Rows;
use crate::files::{Filled, Output, written};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use wsp_diag::Diagnostic;

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

/// Writes a list; a file has its name only when it is kept. That the reader of standard output has closed it is no error.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(
    to: &Destination,
    list: &mut dyn FnMut(&mut Rows<'_>) -> std::io::Result<()>,
) -> Result<Option<Filled>, Diagnostic> {
    match to {
        Destination::File(path) => Output::at(path)?.fill(&mut |out| list(&mut Rows::new(out))).map(Some),
        Destination::Stdout => {
            let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
            let wrote = list(&mut Rows::new(&mut out)).and_then(|()| out.flush());
            // What could not be written is not tried again when the buffer goes.
            let _ = out.into_parts();
            written(wrote).map(|()| None)
        }
    }
}
