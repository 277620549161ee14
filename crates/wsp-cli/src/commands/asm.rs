//! `wsp asm`: from the text of a program, or from a workload, to bytes.

use super::{Outcome, Session, workload};
use crate::args::AsmArgs;
use crate::codes;
use crate::files::{read_program, read_source, write_program};
use wsp_core::ptow::MAGIC;
use wsp_ir::diag::Diagnostic;

/// Assembles a text, or lowers a workload.
pub(super) fn asm(session: &mut Session, args: &AsmArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let name = args.file.display().to_string();
    if let Some(bytes) = workload::program_bytes(session, &args.file, args.schedule.as_deref())? {
        write_program(&args.file, args.output.as_deref(), &bytes).map_err(|fault| vec![fault])?;
        return Ok(Outcome::Done);
    }
    let begins = read_program(&args.file).map_err(|fault| vec![fault])?;
    if begins.starts_with(&MAGIC.to_le_bytes()) {
        let what = format!("`{name}` is a program already, not the text of one");
        return Err(vec![
            Diagnostic::error(codes::BAD_SOURCE_FILE, what)
                .help(format!("`wsp disasm {name}` prints its text")),
        ]);
    }
    let text = read_source(&args.file).map_err(|fault| vec![fault])?;
    let bytes = wsp_isa::ptow::assemble(&name, &text, &mut session.sources)?;
    write_program(&args.file, args.output.as_deref(), &bytes).map_err(|fault| vec![fault])?;
    Ok(Outcome::Done)
}
