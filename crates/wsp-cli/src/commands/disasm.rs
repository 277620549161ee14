//! `wsp disasm`: from the bytes of a program or a task graph, or from a workload, to text.

use super::kind::{Kind, of_unknown_kind, wrong_kind};
use super::listing::write_listing;
use super::{Outcome, Session, unit, workload};
use crate::args::DisasmArgs;
use crate::files::{read_program, try_program};
use wsp_diag::Diagnostic;
use wsp_isa::ptow::{disassemble, not_a_program};

/// Prints a program, or writes its text.
pub(super) fn disasm(session: &mut Session, args: &DisasmArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let kind = Kind::of(&args.file);
    let end = if kind.is_unit() { "tg" } else { "ptows" };
    try_program(&args.file, args.output.as_deref(), end).map_err(|fault| vec![fault])?;
    if kind.is_unit() {
        return unit::disasm(session, args, kind);
    }
    if matches!(kind, Kind::Program | Kind::Design | Kind::Arrays | Kind::Pending) {
        let takes = "task graphs (`.ptog`), programs that generate tasks (`.ptow`), and workloads";
        return Err(vec![wrong_kind(&args.file, kind, takes)]);
    }
    let bytes = match workload::program_bytes(session, &args.file, args.schedule.as_deref())? {
        Some(bytes) => bytes,
        None => read_program(&args.file).map_err(|fault| vec![fault])?,
    };
    let name = args.file.display().to_string();
    let text =
        disassemble(&bytes).map_err(|error| of_unknown_kind(kind, vec![not_a_program(&name, &error)]))?;
    write_listing(session, &args.file, args.output.as_deref(), end, &text).map_err(|fault| vec![fault])?;
    Ok(Outcome::Done)
}
