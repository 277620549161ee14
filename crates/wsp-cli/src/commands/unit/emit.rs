//! `wsp asm` of a unit: its bytes, or another stage of its way to a device.

use super::{Kind, NOT_OF_UNITS};
use crate::args::{AsmArgs, Stage};
use crate::codes;
use crate::commands::disasm::write_listing;
use crate::commands::options::refuse;
use crate::commands::{Outcome, Session};
use crate::files::{write_program, write_text};
use std::path::Path;
use wsp_ascend::graph::{GraphSource, emit_graph, image_bytes};
use wsp_core::tg::Platform;
use wsp_ir::diag::{Diagnostic, Severity, did_you_mean};
use wsp_isa::tg::text;
use wsp_plan::tg::{ElaborateOptions, UnitPlan, elaborate};

/// Writes a stage of a unit.
pub(in crate::commands) fn asm(
    session: &mut Session,
    args: &AsmArgs,
    kind: Kind,
) -> Result<Outcome, Vec<Diagnostic>> {
    refuse_options(args).map_err(|fault| vec![fault])?;
    let output = args.output.as_deref();
    let written = match args.emit.unwrap_or(Stage::Ptog) {
        Stage::Module => {
            let module = session.read_verified(&args.file, kind)?;
            write_listing(session, &args.file, output, &text::print(&module))
        }
        Stage::Ptog => write_program(&args.file, output, &session.unit_bytes(&args.file, kind)?),
        stage => return planned(session, args, kind, stage),
    };
    written.map_err(|fault| vec![fault])?;
    Ok(Outcome::Done)
}

/// Options that the stage has no use for: they are left out, or belong to another stage.
fn refuse_options(args: &AsmArgs) -> Result<(), Diagnostic> {
    let stage = args.emit.unwrap_or(Stage::Ptog);
    let is_planned = matches!(stage, Stage::Image | Stage::Cpp);
    let schedule = ("--schedule", args.schedule.is_some());
    let of_cpp = ("--target", args.target.is_some() && stage != Stage::Cpp);
    let of_plans = [
        ("--graph", args.graph.is_some() && !is_planned),
        ("--kernels", !args.kernels.is_empty() && !is_planned),
    ];
    let is_given = |options: &[(&str, bool)]| options.iter().any(|(_, given)| *given);
    let why = match (is_given(&[schedule]), is_given(&[of_cpp]), is_given(&of_plans)) {
        (true, ..) => NOT_OF_UNITS,
        (_, true, _) => "is for `--emit cpp`",
        _ => "is for `--emit image` and `--emit cpp`",
    };
    let given = [&[schedule, of_cpp][..], &of_plans].concat();
    refuse(&given, why).map_err(|fault| match args.emit {
        None if !schedule.1 => fault.help("or add `--emit cpp`, which writes C++ for a device"),
        _ => fault,
    })
}

/// Writes a stage that is made of the plan of one graph.
fn planned(
    session: &mut Session,
    args: &AsmArgs,
    kind: Kind,
    stage: Stage,
) -> Result<Outcome, Vec<Diagnostic>> {
    let module = session.read_verified(&args.file, kind)?;
    let kernels = session.read_kernels(&args.file, &module, &args.kernels, &[])?;
    kernels.refuse_idle()?;
    let options = ElaborateOptions { flows: stage == Stage::Cpp, ..ElaborateOptions::default() };
    let plan = elaborate(&module, &kernels.signatures(), &options)?;
    let at = place(&plan, args).map_err(|fault| vec![fault])?;
    if stage == Stage::Image {
        let bytes = image_bytes(&plan.graphs[at].records.image());
        write_program(&args.file, args.output.as_deref(), &bytes).map_err(|fault| vec![fault])?;
        return Ok(Outcome::Done);
    }
    let source = emit_graph(&module, &plan, at, args.target.map_or(Platform::A2, |target| target.platform))
        .map_err(|fault| {
        let message = format!("there is no C++ for graph `{}`", plan.graphs[at].name);
        let found = Diagnostic::error(codes::CANNOT_EMIT, message).note(fault.to_string());
        let is_host = args.target.is_some_and(|target| target.platform == Platform::Cpu);
        vec![if is_host {
            found.help("leave out `--target`, or give a device: `--target ascend_910b`")
        } else {
            found
        }]
    })?;
    write_cpp(session, args, &source).map_err(|fault| vec![fault])?;
    Ok(Outcome::Done)
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

/// Writes C++; what it includes goes beside the file.
fn write_cpp(session: &Session, args: &AsmArgs, source: &GraphSource) -> Result<(), Diagnostic> {
    let notes = source.notes.iter().map(|note| Diagnostic::new(codes::CANNOT_EMIT, Severity::Note, note));
    session.warn(&notes.collect::<Vec<_>>());
    let output = args.output.as_deref();
    write_listing(session, &args.file, output, &source.translation_unit)?;
    if let Some(path) = output.filter(|path| path.as_os_str() != "-") {
        let folder = path.parent().unwrap_or(Path::new(""));
        for (name, text) in source.headers {
            let header = folder.join(name);
            let made = header.parent().map_or(Ok(()), std::fs::create_dir_all);
            made.map_err(|fault| {
                let message = format!("there is no folder for `{}`", header.display());
                Diagnostic::error(codes::CANNOT_WRITE, message).note(fault.to_string())
            })?;
            write_text(&header, text)?;
        }
    }
    Ok(())
}
