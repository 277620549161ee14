//! Designs for arrays (`.mlir`), as they are written by `wsp emit` or by other tools: looked at and run.

use super::given::{Makeable, Want};
use super::options::{refuse, refused};
use super::outputs::Outputs;
use super::workload::Checked;
use super::{Outcome, Session, named};
use crate::args::{CheckArgs, DataArgs, LaunchArgs, RunArgs};
use crate::files::{entry_names, read_source};
use pto_wsp::backend::aie::{DesignArg, DesignFile, DesignRun};
use serde_json::json;
use std::path::Path;
use wsp_backend::Args;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;

/// What takes the options that designs have no part of.
const NOT_OF_DESIGNS: &str = "has no meaning for a design of an array, which says all but its arguments";

fn read(session: &mut Session, path: &Path) -> Result<DesignFile, Vec<Diagnostic>> {
    let text = read_source(path).map_err(|fault| vec![fault])?;
    let file = session.sources.add(path.display().to_string(), text.as_str());
    let design = DesignFile::read(file, &text)?;
    session.warn(design.notes());
    Ok(design)
}

/// What is wrong with a design; what it is.
pub(super) fn check(
    session: &mut Session,
    path: &Path,
    args: &CheckArgs,
) -> Result<Checked, Vec<Diagnostic>> {
    if args.target.is_some() {
        return Err(vec![refused("--target", "has no meaning for a design, which says its array")]);
    }
    let lines = read(session, path)?.lines();
    Ok(Checked { cache: None, lines })
}

/// Runs a sequence of a design: the one whose arguments have the names that are given.
pub(super) fn run(session: &mut Session, args: &RunArgs) -> Result<Outcome, Vec<Diagnostic>> {
    refuse(&of_others(args), NOT_OF_DESIGNS).map_err(|fault| vec![fault])?;
    let outputs = Outputs::of(args, &[])?;
    let design = read(session, &args.file)?;
    session.refuse_denied()?;
    let values = named(&args.launch.set, NOT_OF_DESIGNS).map_err(|fault| vec![fault])?;
    let entries = args.data.inputs.as_deref().map(entry_names).transpose().map_err(|fault| vec![fault])?;
    let entries = entries.unwrap_or_default();
    // Entries that may be passed over choose no sequence.
    let chosen = entries.iter().filter(|_| !args.data.allow_unused).map(String::as_str);
    let single = args.data.input.iter().map(|(name, _)| name.as_str());
    let set = values.iter().map(|(name, _)| name.as_str());
    let given: Vec<&str> = chosen.chain(single).chain(set).collect();
    let sequence = design.sequence(&given).map_err(|fault| vec![fault])?;
    let taken = design.args(sequence).map_err(|fault| vec![fault])?;
    let want = |arg: &DesignArg| Want { name: arg.name.clone(), needed: false, stated: false };
    let wanted: Vec<Want> = taken.iter().filter(|arg| arg.array.is_some()).map(want).collect();
    let makeable = Makeable { fill: &|_, _| false, generate: false, all: false };
    let arrays = args.data.read(&wanted, makeable, "the design")?;
    session.terminal.progress("running");
    let ran = design.run(sequence, &Args { arrays, values, ..Args::default() });
    let DesignRun { outputs: written, counts, notes } = ran.map_err(|fault| fault.into_diagnostics().0)?;
    session.warn(&notes);
    let (filled, faults) = outputs.fill(&written, None);
    let name = args.file.display().to_string();
    let text = || {
        let mut text = format!(
            "{name}: @{sequence} ran: {}, {} by streams, {}\n",
            counted(counts.steps, "instruction"),
            counted(counts.bytes, "byte"),
            counted(counts.waits, "wait")
        );
        written.iter().for_each(|(name, array)| text += &format!("output     {name} {array:?}\n"));
        text
    };
    let outputs: Vec<String> = written.keys().cloned().collect();
    let json = || {
        json!({
            "program": name, "sequence": sequence, "outputs": outputs,
            "instructions": counts.steps, "stream_bytes": counts.bytes, "waits": counts.waits,
        })
    };
    session.print(text, json, &faults);
    session.keep_after(&faults, filled)
}

/// Options of a run that a design has no part of. Each option is named here, so that a new one is decided on.
fn of_others(args: &RunArgs) -> Vec<(&'static str, bool)> {
    let RunArgs {
        file: _,
        data,
        launch,
        outputs: _,
        target,
        threads,
        check,
        reference,
        no_check,
        strict: _,
        allow_unwritten,
        stats: _,
        cache,
        aicpus,
        expand,
        phases,
        trace,
        replay,
        trace_edges,
        unit,
    } = args;
    let DataArgs { inputs: _, input: _, allow_unused: _, fill, generate, seed, forms: _ } = data;
    let LaunchArgs { set: _, schedule, isa, engine } = launch;
    let own = [
        ("--fill", !fill.is_empty()),
        ("--generate", generate.is_some()),
        ("--seed", seed.is_some()),
        ("--schedule", schedule.is_some()),
        ("--isa", isa.is_some()),
        ("--engine", engine.is_some()),
        ("--target", target.is_some()),
        ("--threads", threads.is_some()),
        ("--check", *check),
        ("--no-check", *no_check),
        ("--phases", *phases),
        ("--reference", reference.is_some()),
        ("--allow-unwritten", !allow_unwritten.is_empty()),
        ("--cache", cache.is_some()),
        ("--aicpus", aicpus.is_some()),
        ("--expand", expand.is_some()),
        ("--trace", trace.is_some()),
        ("--trace-edges", *trace_edges),
        ("--replay", replay.is_some()),
    ];
    own.into_iter().chain(unit.given()).collect()
}
