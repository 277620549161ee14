//! `cargo xtask bench aie`: measures places, ways, checks and runs of designs for AIE arrays.

use crate::aie::measure;
use crate::args::BenchAieArgs;
use crate::runtime::{Row, heading, json, line};
use serde_json::json;
use wsp_cli::commands::{Outcome, Session, tried};
use wsp_cli::machine;
use wsp_diag::Diagnostic;

/// Measures, printing a line per figure.
pub(super) fn aie(session: &mut Session, args: &BenchAieArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let output = tried(args.json.as_ref())?;
    let graphs = args.graphs.unwrap_or(if args.quick { 2 } else { 200 }) as usize;
    let rounds = if args.quick { 1 } else { 5 };
    session.terminal.print(&format!("{graphs} graphs, medians of {rounds} rounds\n{}", heading(&[])));
    let mut rows: Vec<Row> = Vec::new();
    let terminal = session.terminal;
    measure(graphs, rounds, &mut |row| {
        terminal.print(&line(&row));
        rows.push(row);
    })?;
    let machine = json!({ "processor": machine::processor(), "cores": wsp_check::cores() });
    let all = json!({
        "machine": machine,
        "optimised": !cfg!(debug_assertions),
        "graphs": graphs,
        "rows": json(&[], &rows),
    });
    session.keep_stats(output, &all)
}
