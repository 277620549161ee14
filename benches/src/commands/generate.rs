//! `cargo xtask bench generate`: measures how AICPUs generate tasks.

use crate::args::{BenchGenerateArgs, GenerateSection};
use crate::generate::{PEERS, Plan, measure};
use crate::runtime::{Row, heading, json, line};
use pto_wsp::codes;
use serde_json::json;
use wsp_cli::commands::{Outcome, Session, tried};
use wsp_cli::machine;
use wsp_diag::Diagnostic;

/// Measures, printing a line per figure.
pub(super) fn generate(session: &mut Session, args: &BenchGenerateArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let output = tried(args.json.as_ref())?;
    let plan = if args.quick {
        Plan::quick(args.rounds.unwrap_or(1))
    } else {
        Plan::usual(args.rounds.unwrap_or(5))
    };
    if cfg!(debug_assertions) {
        session.terminal.print("this build of wsp is not optimised: its numbers say nothing about speed\n");
    }
    session.terminal.print(&format!(
        "medians of {} rounds; `w` is the number of AICPUs; (Nx): times ours\n{}",
        plan.rounds,
        heading(&PEERS)
    ));
    let mut rows: Vec<Row> = Vec::new();
    for &section in &args.sections {
        let measured = measure(section, &plan, |row| {
            session.terminal.print(&line(&row));
            rows.push(row);
        });
        measured.map_err(|fault| vec![failed(section, &fault)])?;
    }
    let machine = json!({ "processor": machine::processor(), "cores": wsp_check::cores() });
    let all = json!({
        "machine": machine,
        "optimised": !cfg!(debug_assertions),
        "rounds": plan.rounds,
        "rows": json(&PEERS, &rows),
    });
    session.keep_stats(output, &all)
}

fn failed(section: GenerateSection, fault: &str) -> Diagnostic {
    let name = match section {
        GenerateSection::Dense => "dense",
        GenerateSection::Expanders => "expanders",
        GenerateSection::Flat => "flat",
        GenerateSection::Ragged => "ragged",
        GenerateSection::Llama => "llama",
    };
    Diagnostic::error(codes::CHECK_FAILED, format!("`cargo xtask bench generate`, {name}: {fault}"))
}
