//! `wsp emit` of a unit.

use super::Kind;
use crate::args::EmitArgs;
use crate::commands::Session;
use pto_wsp::registry;
use wsp_backend::{EmitOptions, Emitted};
use wsp_diag::Diagnostic;
use wsp_plan::UnitSource;

/// The files of a unit for a target.
pub(in crate::commands) fn emit(
    session: &mut Session,
    args: &EmitArgs,
    kind: Kind,
) -> Result<Emitted, Vec<Diagnostic>> {
    let module = session.read_verified(&args.file, kind)?;
    let kernels = session.read_kernels(&args.file, &module, &args.kernels, &[])?;
    kernels.refuse_idle()?;
    let options =
        EmitOptions { graph: args.graph.clone(), signatures: kernels.signatures(), ..EmitOptions::default() };
    let unit = UnitSource { module, files: kernels.modules, target: args.target };
    Ok(registry().emit(&unit.into(), &options)?)
}
