//! Files of records of tasks.

use super::fault::{open, shown, unreadable};
use pto_wsp::codes;
use std::io::BufReader;
use std::path::Path;
use wsp_backend::GraphListing;
use wsp_backend::pending::{PendingFault, read};
use wsp_diag::Diagnostic;

/// The graph of a file of records.
///
/// # Errors
/// When it cannot be read, or is none.
pub(crate) fn read_pending(path: &Path) -> Result<GraphListing, Diagnostic> {
    let mut file = BufReader::with_capacity(1 << 16, open(path)?);
    read(&mut file).map_err(|fault| match fault {
        PendingFault::Io(error) => unreadable(path, &error),
        fault => {
            let message = format!("`{}` is no list of records of tasks", shown(path));
            let fault = Diagnostic::error(codes::BROKEN_RECORDS, message).note(fault.to_string());
            fault.help("write it again with `wsp graph FILE --emit pending -o FILE.pending`")
        }
    })
}
