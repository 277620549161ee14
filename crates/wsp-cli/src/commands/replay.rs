//! `--replay`: the order of starts of a run before, or of one in virtual time.

use super::Session;
use crate::args::{Replayed, RunArgs};
use crate::files::read_trace;
use pto_wsp::trace::Recorded;
use wsp_backend::StartOrder;
use wsp_diag::Diagnostic;

/// The order of starts that is asked for, of a program with this key.
///
/// # Errors
/// The trace cannot be read, or is one of another program.
pub(super) fn order(
    session: &Session,
    args: &RunArgs,
    key: u64,
) -> Result<Option<StartOrder>, Vec<Diagnostic>> {
    let file = match &args.replay {
        None => return Ok(None),
        Some(Replayed::Seed(seed)) => return Ok(Some(StartOrder::Seed(*seed))),
        Some(Replayed::Trace(file)) => file,
    };
    session.terminal.progress("reading the trace");
    let name = file.display().to_string();
    let of_program = |recorded: Recorded| {
        recorded.check(&name, &args.file.display().to_string(), key)?;
        Ok(StartOrder::Of(recorded.starts))
    };
    let seed = |fault: Diagnostic| match name.parse::<u64>() {
        Ok(seed) if !file.exists() => fault.help(format!("of a seed write `--replay seed={seed}`")),
        _ => fault,
    };
    let read =
        read_trace(file).map_err(seed).and_then(|bytes| Recorded::read(&name, &bytes)).and_then(of_program);
    read.map(Some).map_err(|fault| vec![fault])
}
