//! `wsp check`: diagnostics only.

use super::workload;
use super::{Outcome, Session};
use crate::args::CheckArgs;
use crate::reference;
use std::path::Path;
use wsp_ir::diag::Diagnostic;

/// Compiles programs and prints what is wrong with them.
pub(super) fn check(session: &mut Session, args: &CheckArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let mut outcome = Outcome::Done;
    for path in &args.files {
        let checked =
            if workload::is_workload(path) { workload::check(session, path) } else { program(session, path) };
        match checked {
            Ok(()) => session.terminal.print(&format!("{}: ok\n", path.display())),
            Err(diagnostics) => {
                session.terminal.report(&diagnostics, &session.sources);
                outcome = Outcome::Failed;
            }
        }
    }
    Ok(outcome)
}

fn program(session: &mut Session, path: &Path) -> Result<(), Vec<Diagnostic>> {
    let module = session.compile(path)?;
    let faults: Vec<Diagnostic> =
        module.references.iter().filter_map(|r| reference::verify(r).err()).flatten().collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
