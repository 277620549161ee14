//! Units of task graphs as commands meet them: reading them and their kernels, `wsp asm`, `disasm` and `check` of them.

mod asm;
mod data;
mod emit;
mod graph;
mod kernels;
mod read;
mod references;
mod run;
mod settings;
mod sim;

pub(super) use asm::asm;
pub(super) use emit::emit;
pub(super) use graph::graph;
pub(super) use kernels::idle;
pub(super) use run::run;
pub(super) use sim::sim;

use super::kind::Kind;
use super::listing::write_listing;
use super::{Outcome, Session, options};
use crate::args::{CheckArgs, DisasmArgs};
use pto_wsp::registry;
use std::path::{Path, PathBuf};
use wsp_diag::Diagnostic;
use wsp_ir::tg::verify;
use wsp_isa::tg::text;
use wsp_plan::UnitSource;
use wsp_plan::target::CPU_SIM;
use wsp_tg::LintOptions;

/// Prints a unit as text, also one that breaks rules.
pub(super) fn disasm(
    session: &mut Session,
    args: &DisasmArgs,
    kind: Kind,
) -> Result<Outcome, Vec<Diagnostic>> {
    if args.schedule.is_some() {
        return Err(vec![options::refused("--schedule", NOT_OF_UNITS)]);
    }
    let module = session.read_unit(&args.file, kind)?;
    let text = text::print(&module);
    write_listing(session, &args.file, args.output.as_deref(), "tg", &text).map_err(|fault| vec![fault])?;
    Ok(Outcome::Done)
}

/// What is wrong with a unit: with itself, with the order of its kernels, and with what a platform is asked for.
///
/// Of the files of `--kernels`, `idle` loses those with a kernel that the unit calls.
pub(super) fn check(
    session: &mut Session,
    path: &Path,
    kind: Kind,
    args: &CheckArgs,
    idle: &mut Vec<PathBuf>,
) -> Result<(), Vec<Diagnostic>> {
    let module = session.read_unit(path, kind)?;
    if kind == Kind::UnitBytes && module.instrs.is_empty() {
        return Err(vec![super::empty::empty(path, kind, "it has no instruction")]);
    }
    let broken = verify(&module);
    if broken.iter().any(Diagnostic::is_error) {
        return Err(broken);
    }
    let kernels = session.read_kernels(path, &module, &args.kernels, &[])?;
    idle.retain(|file| kernels.idle.contains(file));
    let platform = args.target.map(|target| target.platform);
    let device = args.target.unwrap_or(CPU_SIM).device();
    let options = LintOptions { platform, device, devices: args.devices };
    let mut found = references::verify(&module);
    if let Some(target) = args.target {
        found.extend(super::kernels::unseen(&kernels.files, target));
    }
    let unit = UnitSource { module, files: kernels.modules, target: CPU_SIM };
    found.extend(registry().check_unit(&unit, &options));
    if found.iter().any(Diagnostic::is_error) {
        return Err(found);
    }
    session.warn(&found);
    Ok(())
}

/// Why a task graph does not take an option.
pub(super) const NOT_OF_UNITS: &str = "has no meaning for a task graph";
