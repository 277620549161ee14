//! `wsp asm`: from the text of a program or a task graph, or from a workload, to bytes.

use super::kind::{Kind, of_unknown_kind, wrong_kind};
use super::{Outcome, Session, options, unit, workload};
use crate::args::{AsmArgs, Stage};
use crate::files::{read_source, try_program, write_program};
use pto_wsp::codes;
use wsp_diag::Diagnostic;

/// Assembles a text, or lowers a workload.
pub(super) fn asm(session: &mut Session, args: &AsmArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let name = args.file.display().to_string();
    let kind = Kind::of(&args.file);
    let end = match (kind.is_unit(), args.emit) {
        (true, emit) => emit.unwrap_or(Stage::Ptog).end(),
        (false, _) => "ptow",
    };
    try_program(&args.file, args.output.as_deref(), end).map_err(|fault| vec![fault])?;
    if kind.is_unit() {
        return unit::asm(session, args, kind);
    }
    if matches!(kind, Kind::Program | Kind::Arrays) {
        let takes = "texts of task graphs (`.tg`) and of programs that generate tasks, and workloads";
        return Err(vec![wrong_kind(&args.file, kind, takes)]);
    }
    refuse_options(args, kind).map_err(|fault| vec![fault])?;
    if let Some(bytes) = workload::program_bytes(session, &args.file, args.schedule.as_deref())? {
        write_program(&args.file, args.output.as_deref(), end, &bytes).map_err(|fault| vec![fault])?;
        return Ok(Outcome::Done);
    }
    if kind == Kind::GeneratorBytes {
        let what = format!("`{name}` is a program already, not the text of one");
        return Err(vec![
            Diagnostic::error(codes::BAD_SOURCE_FILE, what)
                .help(format!("`wsp disasm {name}` prints its text")),
        ]);
    }
    let text = read_source(&args.file).map_err(|fault| vec![fault])?;
    let bytes = wsp_isa::ptow::assemble(&name, &text, &mut session.sources)
        .map_err(|faults| of_unknown_kind(kind, faults))?;
    write_program(&args.file, args.output.as_deref(), end, &bytes).map_err(|fault| vec![fault])?;
    Ok(Outcome::Done)
}

/// Options that only task graphs have a use for; with `--schedule`, where it is of no use either.
fn refuse_options(args: &AsmArgs, kind: Kind) -> Result<(), Diagnostic> {
    let of_units = [
        ("--emit", args.emit.is_some()),
        ("--graph", args.graph.is_some()),
        ("--kernels", !args.kernels.is_empty()),
    ];
    if !of_units.iter().any(|(_, given)| *given) {
        return Ok(());
    }
    let schedule = ("--schedule", args.schedule.is_some() && kind != Kind::Workload);
    options::refuse(&[&of_units[..], &[schedule]].concat(), options::OF_UNITS)
}
