//! `cargo xtask bench runtime`: measures the task runtime and its peers.

use super::peers::field;
use crate::args::{BenchRuntimeArgs, RuntimeSection};
use crate::runtime::{Field, Plan, Row, Scale, heading, json, line};
use pto_wsp::codes;
use serde_json::json;
use wsp_cli::commands::{Outcome, Session, refuse, tried};
use wsp_cli::machine;
use wsp_diag::Diagnostic;

/// Measures, printing a line per figure.
pub(super) fn runtime(session: &mut Session, args: &BenchRuntimeArgs) -> Result<Outcome, Vec<Diagnostic>> {
    refuse_options(args).map_err(|fault| vec![fault])?;
    let output = tried(args.json.as_ref())?;
    let scale = match (args.quick, args.full) {
        (true, _) => Scale::Quick,
        (_, true) => Scale::Full,
        _ => Scale::Usual,
    };
    let plan = if scale == Scale::Quick {
        Plan::new(scale, args.repeats.unwrap_or(1), args.rounds.unwrap_or(1))
    } else {
        Plan::new(scale, args.repeats.unwrap_or(5), args.rounds.unwrap_or(3))
    };
    let field = if is_compared(args) {
        field(session, &args.peers).map_err(|fault| vec![fault])?
    } else {
        Field::default()
    };
    let names = field.names();
    for missing in &field.missing {
        session.terminal.print(&format!("{missing}\n"));
    }
    if cfg!(debug_assertions) {
        session.terminal.print("this build of wsp is not optimised: its numbers say nothing about speed\n");
    }
    session.terminal.print(&format!(
        "medians of {} rounds of {} repetitions; (Nx): times ours; threads are not bound to cores\n{}",
        plan.rounds,
        plan.repeats,
        heading(&names)
    ));
    let mut rows: Vec<Row> = Vec::new();
    for &section in &args.sections {
        let measured = field.measure(section, &plan, |row| {
            session.terminal.print(&line(&row));
            rows.push(row);
        });
        measured.map_err(|fault| vec![failed(section, &fault)])?;
    }
    let machine = json!({ "processor": machine::processor(), "cores": wsp_check::cores() });
    let all = json!({
        "machine": machine,
        "optimised": !cfg!(debug_assertions),
        "repeats": plan.repeats,
        "rounds": plan.rounds,
        "rows": json(&names, &rows),
        "missing": field.missing,
    });
    session.keep_stats(output, &all)
}

/// Whether a section is measured that peers have too.
fn is_compared(args: &BenchRuntimeArgs) -> bool {
    args.sections.iter().any(|s| matches!(s, RuntimeSection::Graphs | RuntimeSection::Metg))
}

/// Options for sections that are not measured.
fn refuse_options(args: &BenchRuntimeArgs) -> Result<(), Diagnostic> {
    let stream = args.sections.contains(&RuntimeSection::Stream);
    refuse(&[("--full", args.full && !stream)], "has no meaning without the section `stream`")?;
    let (peers, compared) = (&args.peers, is_compared(args));
    let given = [
        ("--peers", peers.peers.is_some() && !compared),
        ("--taskflow", peers.taskflow.is_some() && !compared),
    ];
    refuse(&given, "has no meaning without the sections `graphs` and `metg`")
}

fn failed(section: RuntimeSection, fault: &str) -> Diagnostic {
    Diagnostic::error(
        codes::CHECK_FAILED,
        format!("`cargo xtask bench runtime`, {}: {fault}", section.name()),
    )
}
