//! Programs that generate tasks, as bytes.

use super::fault::{open, unreadable, written};
use super::{Output, place, write_stream};
use pto_wsp::codes;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use wsp_core::limits::MAX_SOURCE_BYTES;
use wsp_diag::Diagnostic;

/// The bytes of a program. Of a file that is longer than any program, only as many as tell that it is none.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn read_program(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let mut bytes = Vec::new();
    let most = u64::from(MAX_SOURCE_BYTES);
    open(path)?.take(most).read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    Ok(bytes)
}

/// Tries the file that what is made of `source` goes to, before it is made; standard output is none, and `-`.
///
/// # Errors
/// When it cannot be written, would replace `source`, or has the name of another kind of file than those that end in `end`: a
/// kernel file that `source` uses is not to be lost to a slip.
pub(crate) fn try_program(source: &Path, to: Option<&Path>, end: &str) -> Result<(), Diagnostic> {
    match to.filter(|path| path.as_os_str() != "-") {
        Some(path) if place(path) == place(source) => {
            let what = format!("`{}` is what is read and would be overwritten", path.display());
            Err(Diagnostic::error(codes::OUTPUTS_COLLIDE, what).help("give `--output` another file"))
        }
        Some(path) => Output::assembled_at(path, end).map(|_| ()),
        None => Ok(()),
    }
}

/// Writes what was made of `source` to a file, or to standard output for none and for `-`. Bytes are not written to a
/// terminal.
///
/// # Errors
/// When it cannot be written, would replace `source`, or has the name of another kind of file.
pub(crate) fn write_program(
    source: &Path,
    to: Option<&Path>,
    end: &str,
    bytes: &[u8],
) -> Result<(), Diagnostic> {
    match to.filter(|path| path.as_os_str() != "-") {
        Some(path) => {
            try_program(source, to, end)?;
            write_stream(path, &mut |out| out.write_all(bytes))
        }
        None => {
            let mut out = std::io::stdout().lock();
            // Text has no zero bytes, and every program has some.
            if out.is_terminal() && bytes.contains(&0) {
                return Err(to_terminal(end));
            }
            written(out.write_all(bytes).and_then(|()| out.flush()))
        }
    }
}

fn to_terminal(end: &str) -> Diagnostic {
    Diagnostic::error(codes::BINARY_TO_TERMINAL, "a program is not printed to a terminal")
        .help(format!("give a file with `--output FILE.{end}`, or send the output to a file or a program"))
}
