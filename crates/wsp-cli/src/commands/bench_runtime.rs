//! `wsp bench runtime`: measures the task runtime and its peers.

use super::{Outcome, Session};
use crate::args::{BenchRuntimeArgs, RuntimeSection};
use crate::bench::runtime::{Field, Plan, Row, Scale, heading, json, line};
use crate::codes;
use crate::files::write_text;
use crate::machine;
use serde_json::json;
use std::path::{Path, PathBuf};
use wsp_ir::diag::Diagnostic;

/// Where the peers' sources lie, seen from the project's root.
const SOURCES: &str = "benches/peers";
/// What says that a folder holds them.
const MARK: &str = "harness.h";

/// Measures, printing a line per figure.
pub(super) fn runtime(session: &mut Session, args: &BenchRuntimeArgs) -> Result<Outcome, Vec<Diagnostic>> {
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
    let field = field(session, args).map_err(|fault| vec![fault])?;
    let names = field.names();
    for missing in &field.missing {
        session.terminal.print(&format!("{missing}\n"));
    }
    if cfg!(debug_assertions) {
        session.terminal.print("this build of wsp is not optimised: its figures say nothing about speed\n");
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
    if let Some(path) = &args.json {
        let machine = json!({ "processor": machine::processor(), "cores": machine::cores() });
        let all = json!({
            "machine": machine,
            "optimised": !cfg!(debug_assertions),
            "repeats": plan.repeats,
            "rounds": plan.rounds,
            "rows": json(&names, &rows),
            "missing": field.missing,
        });
        write_text(path, &format!("{all:#}\n")).map_err(|fault| vec![fault])?;
    }
    Ok(Outcome::Done)
}

fn failed(section: RuntimeSection, fault: &str) -> Diagnostic {
    Diagnostic::error(codes::CHECK_FAILED, format!("`wsp bench runtime`, {}: {fault}", section.name()))
}

/// Builds the peers that are asked for and needed.
fn field(session: &Session, args: &BenchRuntimeArgs) -> Result<Field, Diagnostic> {
    let compared = args.sections.iter().any(|s| matches!(s, RuntimeSection::Graphs | RuntimeSection::Metg));
    if args.no_peers || !compared {
        return Ok(Field::default());
    }
    let sources = match &args.peers {
        Some(sources) => sources.as_path(),
        None if Path::new(SOURCES).join(MARK).is_file() => Path::new(SOURCES),
        None => {
            let missing =
                format!("peers are left out: there is no {SOURCES} here; `--peers DIR` names the folder");
            return Ok(Field::none(missing));
        }
    };
    let fault = |text: String| Diagnostic::error(codes::FILE_MISSING, text);
    if !sources.join(MARK).is_file() {
        let text = format!("`{}` is not the folder of the peers: it has no {MARK}", sources.display());
        return Err(fault(text).help(format!("give the project's `{SOURCES}`")));
    }
    if let Some(headers) = args.taskflow.as_deref().filter(|h| !h.join("taskflow/taskflow.hpp").is_file()) {
        let text = format!("`{}` does not hold `taskflow/taskflow.hpp`", headers.display());
        return Err(fault(text).help("give the folder that `#include <taskflow/taskflow.hpp>` is found in"));
    }
    Field::build(sources, &programs(), args.taskflow.as_deref(), |text| session.terminal.progress(text))
        .map_err(|text| Diagnostic::error(codes::CANNOT_WRITE, text))
}

/// Where the built peers go: beside this program.
fn programs() -> PathBuf {
    let own = std::env::current_exe().ok();
    own.as_deref().and_then(Path::parent).unwrap_or(Path::new(".")).join("peers")
}
