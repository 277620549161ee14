//! `--cache FOLDER`: what was compiled by an earlier command.

use super::Session;
use pto_wsp::cache::{CachedPlan, PlanCache, PlanKey};
use pto_wsp::codes;
use std::path::PathBuf;
use wsp_diag::Diagnostic;
use wsp_kernel::{CodeCache, Engine};
use wsp_plan::CompileOptions;

/// Where the folder of `--cache` is; the program is the first file that the session has read, and the only one with the files that it uses.
///
/// # Errors
/// The engine compiles nothing; the folder cannot be one.
pub(super) fn find(
    session: &Session,
    folder: Option<&PathBuf>,
    engine: Engine,
    options: &CompileOptions,
) -> Result<Option<CachedPlan>, Vec<Diagnostic>> {
    let Some(folder) = folder else { return Ok(None) };
    refuse_interpreter(engine).map_err(|fault| vec![fault])?;
    let cache = PlanCache::open(folder).map_err(|fault| vec![fault])?;
    let key = PlanKey::of_files(&session.sources, 0, options);
    let found = cache.find(key).map_err(|fault| vec![fault])?;
    session.warn(found.note().as_slice());
    Ok(Some(found))
}

/// Refuses a cache of machine code where scalar code is interpreted.
fn refuse_interpreter(engine: Engine) -> Result<(), Diagnostic> {
    if engine == Engine::Interpreter {
        let message = "`--cache` keeps machine code, and `--engine interpreter` makes none";
        return Err(Diagnostic::error(codes::OPTIONS_CONTRADICT, message).help("leave out one of them"));
    }
    let given = [("--cache", !Engine::Native.is_available())];
    super::options::refuse(&given, "has no meaning: this build of `wsp` interprets scalar code")
}

/// Where machine code goes.
pub(super) fn code(cached: Option<&CachedPlan>) -> Option<CodeCache> {
    cached.map(CachedPlan::code)
}

/// Keeps what was compiled. That it cannot be kept is a note.
pub(super) fn keep(session: &Session, cached: Option<&CachedPlan>) {
    if let Some(Err(note)) = cached.map(CachedPlan::keep) {
        session.warn(&[note]);
    }
}
