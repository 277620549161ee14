//! What made-up data follow from, beside what is asked for.

use pto_wsp::codes;
use std::path::Path;
use wsp_diag::Diagnostic;

/// What random numbers and lists of lengths come from.
#[derive(Clone, Copy)]
pub struct Origin<'a> {
    /// The seed of all random numbers.
    pub seed: u64,
    /// Whether only element types and shapes matter: random numbers may be left out, and be 0.
    pub forms: bool,
    /// Reads the text of a file of lengths.
    pub read: &'a dyn Fn(&Path) -> Result<String, Diagnostic>,
}

impl Origin<'static> {
    /// A seed without files: a list of lengths in a file is refused.
    pub fn of(seed: u64) -> Origin<'static> {
        Origin { seed, forms: false, read: &no_file }
    }
}

fn no_file(path: &Path) -> Result<String, Diagnostic> {
    let message = format!("the lengths of `{}` cannot be taken: no file is read here", path.display());
    Err(Diagnostic::error(codes::BAD_LENGTHS, message).help("list the lengths: `len=1/17/128`"))
}
