//! `wsp disasm`: from the bytes of a program, or from a workload, to text.

use super::{Outcome, Session, workload};
use crate::args::DisasmArgs;
use crate::files::{read_program, write_program};
use wsp_ir::diag::Diagnostic;
use wsp_isa::ptow::{disassemble, not_a_program};

/// Prints a program, or writes its text.
pub(super) fn disasm(session: &mut Session, args: &DisasmArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let bytes = match workload::program_bytes(session, &args.file, args.schedule.as_deref())? {
        Some(bytes) => bytes,
        None => read_program(&args.file).map_err(|fault| vec![fault])?,
    };
    let name = args.file.display().to_string();
    let text = disassemble(&bytes).map_err(|error| vec![not_a_program(&name, &error)])?;
    match args.output.as_deref().filter(|path| path.as_os_str() != "-") {
        None => session.terminal.print(&text),
        to => write_program(&args.file, to, text.as_bytes()).map_err(|fault| vec![fault])?,
    }
    Ok(Outcome::Done)
}
