//! Text that a command prints, or writes to a file.

use super::Session;
use crate::files::write_program;
use std::path::Path;
use wsp_diag::Diagnostic;

/// Prints a text, or writes it to a file whose name ends in `end`.
pub(super) fn write_listing(
    session: &Session,
    source: &Path,
    to: Option<&Path>,
    end: &str,
    text: &str,
) -> Result<(), Diagnostic> {
    match to.filter(|path| path.as_os_str() != "-") {
        None => {
            session.terminal.print(text);
            Ok(())
        }
        to => write_program(source, to, end, text.as_bytes()),
    }
}
