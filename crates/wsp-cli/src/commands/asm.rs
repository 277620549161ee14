//! `wsp asm`: from the text of a program or a task graph, or from a workload, to bytes.

use super::kind::{Kind, of_unknown_kind, wrong_kind};
use super::listing::write_listing;
use super::{Outcome, Session, options, unit, workload};
use crate::args::{AsmArgs, Stage};
use crate::files::{check_unit_length, read_source, try_program, write_program};
use pto_wsp::codes;
use wsp_diag::Diagnostic;
use wsp_isa::tg::binary::encode;
use wsp_isa::tg::text;

/// Assembles a text, or lowers a workload.
pub(super) fn asm(session: &mut Session, args: &AsmArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let name = args.file.display().to_string();
    let kind = Kind::of(&args.file);
    let end = match (kind.is_unit(), args.emit) {
        (true, None) => Stage::Ptog.end(),
        (_, Some(emit)) => emit.end(),
        (false, None) => "ptow",
    };
    try_program(&args.file, args.output.as_deref(), end).map_err(|fault| vec![fault])?;
    if kind.is_unit() {
        return unit::asm(session, args, kind);
    }
    if matches!(kind, Kind::Program | Kind::Design | Kind::Arrays | Kind::Pending) {
        let takes = "texts of task graphs (`.tg`) and of programs that generate tasks, and workloads";
        return Err(vec![wrong_kind(&args.file, kind, takes)]);
    }
    refuse_options(args, kind).map_err(|fault| vec![fault])?;
    if let Some(stage) = args.emit {
        return emit_unit(session, args, stage);
    }
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

/// Writes the tasks of a workload as a unit of task graphs.
fn emit_unit(session: &mut Session, args: &AsmArgs, stage: Stage) -> Result<Outcome, Vec<Diagnostic>> {
    let module = workload::unit(session, args)?;
    let (output, end) = (args.output.as_deref(), stage.end());
    let written = match stage {
        Stage::Module => {
            let text = text::print(&module);
            check_unit_length(text.len())
                .and_then(|()| write_listing(session, &args.file, output, end, &text))
        }
        Stage::Ptog | Stage::Image => {
            let bytes = encode(&module).map_err(|fault| vec![fault])?;
            check_unit_length(bytes.len()).and_then(|()| write_program(&args.file, output, end, &bytes))
        }
    };
    written.map_err(|fault| vec![fault])?;
    Ok(Outcome::Done)
}

/// Options that only task graphs have a use for, and those of the tasks of a workload; with `--schedule`, where it is of no use either.
fn refuse_options(args: &AsmArgs, kind: Kind) -> Result<(), Diagnostic> {
    let of_units = [("--graph", args.graph.is_some()), ("--kernels", !args.kernels.is_empty())];
    let of_tasks = [("--set", !args.set.is_empty()), ("--input", !args.input.is_empty())];
    if kind == Kind::Workload {
        let image = args.emit == Some(Stage::Image);
        let with_image = of_tasks.map(|(name, given)| (name, given && image));
        let named = [&[("--emit image", image)][..], &of_units, &with_image].concat();
        options::refuse(&named, options::OF_UNITS)?;
        let idle = args.emit.is_none();
        return options::refuse(&of_tasks.map(|(name, given)| (name, given && idle)), OF_EMITTED);
    }
    options::refuse(&of_tasks, OF_EMITTED)?;
    let of_units = [&[("--emit", args.emit.is_some())][..], &of_units].concat();
    if !of_units.iter().any(|(_, given)| *given) {
        return Ok(());
    }
    let schedule = ("--schedule", args.schedule.is_some());
    options::refuse(&[&of_units[..], &[schedule]].concat(), options::OF_UNITS)
}

/// Why an option is of no use where no tasks of a workload are written.
pub(super) const OF_EMITTED: &str = "is for workloads with `--emit ptog` or `--emit module`";
