//! `wsp asm` of a unit: its bytes, or another stage of its way to a device.

use super::{Kind, NOT_OF_UNITS};
use crate::args::{AsmArgs, Stage};
use crate::commands::asm::OF_EMITTED;
use crate::commands::listing::write_listing;
use crate::commands::options::refuse;
use crate::commands::{Outcome, Session};
use crate::files::write_program;
use pto_wsp::codes;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_isa::tg::text;
use wsp_tg::{ElaborateOptions, UnitPlan, elaborate};

/// Writes a stage of a unit.
pub(in crate::commands) fn asm(
    session: &mut Session,
    args: &AsmArgs,
    kind: Kind,
) -> Result<Outcome, Vec<Diagnostic>> {
    refuse_options(args).map_err(|fault| vec![fault])?;
    let of_tasks = [("--set", !args.set.is_empty()), ("--input", !args.input.is_empty())];
    refuse(&of_tasks, OF_EMITTED).map_err(|fault| vec![fault])?;
    let output = args.output.as_deref();
    let stage = args.emit.unwrap_or(Stage::Ptog);
    let end = stage.end();
    let written = match stage {
        Stage::Module => {
            let module = session.read_verified(&args.file, kind)?;
            write_listing(session, &args.file, output, end, &text::print(&module))
        }
        Stage::Ptog => write_program(&args.file, output, end, &session.unit_bytes(&args.file, kind)?),
        Stage::Image => write_program(&args.file, output, end, &image(session, args, kind)?),
    };
    written.map_err(|fault| vec![fault])?;
    Ok(Outcome::Done)
}

/// Options that the stage has no use for: they are left out, or belong to another stage.
fn refuse_options(args: &AsmArgs) -> Result<(), Diagnostic> {
    let is_planned = args.emit == Some(Stage::Image);
    let schedule = ("--schedule", args.schedule.is_some());
    let of_plans = [
        ("--graph", args.graph.is_some() && !is_planned),
        ("--kernels", !args.kernels.is_empty() && !is_planned),
    ];
    let why = if schedule.1 { NOT_OF_UNITS } else { "is for `--emit image`" };
    let given = [&[schedule][..], &of_plans].concat();
    refuse(&given, why).map_err(|fault| match args.emit {
        None if !schedule.1 => {
            fault.help("or add `--emit image`, which writes the nodes and edges of a graph")
        }
        _ => fault,
    })
}

/// The nodes and edges of one graph.
fn image(session: &mut Session, args: &AsmArgs, kind: Kind) -> Result<Vec<u8>, Vec<Diagnostic>> {
    let module = session.read_verified(&args.file, kind)?;
    let kernels = session.read_kernels(&args.file, &module, &args.kernels, &[])?;
    kernels.refuse_idle()?;
    let plan = elaborate(&module, &kernels.signatures(), &ElaborateOptions::default())?;
    let at = place(&plan, args).map_err(|fault| vec![fault])?;
    Ok(plan.graphs[at].records.image_bytes())
}

/// The graph that is asked for.
fn place(plan: &UnitPlan, args: &AsmArgs) -> Result<usize, Diagnostic> {
    let names = || plan.graphs.iter().map(|graph| graph.name.as_str());
    let Some(name) = &args.graph else {
        return match plan.graphs.is_empty() {
            false => Ok(0),
            true => Err(Diagnostic::error(codes::CANNOT_EMIT, "the unit has no graph")
                .help("define one: `TG_BEGIN(NAME)` … `TG_END(NAME)`")),
        };
    };
    names().position(|other| other == name).ok_or_else(|| {
        let fault = Diagnostic::error(codes::UNKNOWN_NAME, format!("the unit has no graph `{name}`"));
        match did_you_mean(name, names()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.note(format!("it has {}", names().collect::<Vec<_>>().join(", "))),
        }
    })
}
