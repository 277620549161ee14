//! `cargo xtask bench sim`: measures virtual time and traces.

use crate::args::BenchSimArgs;
use crate::runtime::{Row, heading, json, line};
use crate::sim::{Plan, measure};
use serde_json::json;
use wsp_cli::commands::{Outcome, Session, tried};
use wsp_cli::machine;
use wsp_diag::Diagnostic;

/// Measures, printing a line per figure.
pub(super) fn sim(session: &mut Session, args: &BenchSimArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let output = tried(args.json.as_ref())?;
    let plan = if args.quick {
        Plan::quick(args.rounds.unwrap_or(1))
    } else {
        Plan::usual(args.rounds.unwrap_or(5))
    };
    if cfg!(debug_assertions) {
        session.terminal.print("this build of wsp is not optimised: its numbers say nothing about speed\n");
    }
    session.terminal.print(&format!("medians of {} rounds\n{}", plan.rounds, heading(&[])));
    let mut rows: Vec<Row> = Vec::new();
    let terminal = session.terminal;
    for &section in &args.sections {
        measure(session, section, &plan, &mut |row| {
            terminal.print(&line(&row));
            rows.push(row);
        })?;
    }
    let machine = json!({ "processor": machine::processor(), "cores": wsp_check::cores() });
    let all = json!({
        "machine": machine,
        "optimised": !cfg!(debug_assertions),
        "rounds": plan.rounds,
        "rows": json(&[], &rows),
    });
    session.keep_stats(output, &all)
}
