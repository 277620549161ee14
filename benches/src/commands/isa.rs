//! `cargo xtask bench isa`: measures units of task graphs.

use super::peers::field;
use crate::args::BenchIsaArgs;
use crate::isa::{Plan, columns, measure};
use crate::runtime::{Row, heading, json, line};
use pto_wsp::codes;
use serde_json::json;
use wsp_cli::commands::{Outcome, Session, tried};
use wsp_cli::machine;
use wsp_diag::Diagnostic;

/// Measures, printing a line per figure.
pub(super) fn isa(session: &mut Session, args: &BenchIsaArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let output = tried(args.json.as_ref())?;
    let plan = if args.quick {
        Plan::quick(args.rounds.unwrap_or(1))
    } else {
        Plan::usual(args.rounds.unwrap_or(7))
    };
    let field = field(session, &args.peers).map_err(|fault| vec![fault])?;
    let names = columns(&field);
    for missing in &field.missing {
        session.terminal.print(&format!("{missing}\n"));
    }
    if cfg!(debug_assertions) {
        session.terminal.print("this build of wsp is not optimised: its numbers say nothing about speed\n");
    }
    session.terminal.print(&format!(
        "medians of {} rounds; `plain` is the same work by hand; (Nx): times ours\n{}",
        plan.rounds,
        heading(&names)
    ));
    let mut rows: Vec<Row> = Vec::new();
    let measured = measure(&plan, &field, |row| {
        session.terminal.print(&line(&row));
        rows.push(row);
    });
    measured.map_err(|fault| {
        vec![Diagnostic::error(codes::CHECK_FAILED, format!("`cargo xtask bench isa`: {fault}"))]
    })?;
    let machine = json!({ "processor": machine::processor(), "cores": wsp_check::cores() });
    let all = json!({
        "machine": machine,
        "optimised": !cfg!(debug_assertions),
        "rounds": plan.rounds,
        "kernels": { "assemble": plan.assembled, "load": plan.loaded, "invoke": plan.rerun },
        "rows": json(&names, &rows),
        "missing": field.missing,
    });
    session.keep_stats(output, &all)
}
