//! `cargo xtask bench plan`: measures plans of the decode attention examples.

use crate::args::BenchPlanArgs;
use crate::plan::{CASES, embedded, heading, json, line, measure, notes, of_folder};
use serde_json::json;
use wsp_cli::commands::{Outcome, Session, tried};
use wsp_cli::machine;
use wsp_diag::Diagnostic;

/// Measures, printing a line per batch.
pub(super) fn plan(session: &mut Session, args: &BenchPlanArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let output = tried(args.json.as_ref())?;
    let batches = match &args.lens {
        Some(folder) => of_folder(folder),
        None => embedded(),
    };
    let batches = batches.map_err(|fault| vec![fault])?;
    if cfg!(debug_assertions) {
        session.terminal.print("this build of wsp is not optimised: its numbers say nothing about speed\n");
    }
    session.terminal.print(&heading());
    let engine = args.engine.unwrap_or_default();
    let mut rows = Vec::new();
    for case in CASES {
        let module = case.module(&mut session.sources)?;
        for &cores in &args.cores {
            let program = case.program(&module, cores)?;
            for batch in &batches {
                let row = measure(case, &program, batch, cores, engine, args.repeats)?;
                session.terminal.print(&line(&row));
                rows.push(row);
            }
        }
    }
    session.terminal.print(notes());
    let machine = json!({ "processor": machine::processor(), "cores": wsp_check::cores() });
    let all = json!({
        "machine": machine, "optimised": !cfg!(debug_assertions), "repeats": args.repeats, "rows": json(&rows),
    });
    session.keep_stats(output, &all)
}
