//! The page: one file of HTML with its style, its script and the data of its traces.

use std::io::{self, Write};
use wsp_runtime::timeline::Timeline;

/// Writes the page of one trace, or of two, each with its name.
///
/// # Errors
/// Those of `out`.
pub fn write(traces: &[(&str, &Timeline)], out: &mut dyn Write) -> io::Result<()> {
    traces.iter().try_for_each(|(name, _)| writeln!(out, "{name}"))
}
