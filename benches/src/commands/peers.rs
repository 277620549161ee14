//! The programs that benchmarks compare ours with: where they lie, and how they are built.

use crate::args::PeersArgs;
use crate::runtime::Field;
use pto_wsp::codes;
use std::path::{Path, PathBuf};
use wsp_cli::commands::Session;
use wsp_diag::Diagnostic;

/// Where the peers' sources lie, seen from the project's root.
const SOURCES: &str = "benches/peers";
/// What says that a folder holds them.
const MARK: &str = "harness.h";

/// Builds the peers that are asked for.
pub(super) fn field(session: &Session, args: &PeersArgs) -> Result<Field, Diagnostic> {
    if args.no_peers {
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
