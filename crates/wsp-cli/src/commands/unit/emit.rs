//! `wsp emit` of a unit.

use super::Kind;
use super::NOT_OF_UNITS;
use crate::args::EmitArgs;
use crate::commands::options::unread_value;
use crate::commands::{Session, named};
use pto_wsp::registry;
use wsp_backend::{EmitOptions, Emitted, PackagePart};
use wsp_diag::Diagnostic;
use wsp_plan::UnitSource;

/// The files of a unit for a target.
pub(in crate::commands) fn emit(
    session: &mut Session,
    args: &EmitArgs,
    kind: Kind,
    part: PackagePart,
) -> Result<Emitted, Vec<Diagnostic>> {
    let module = session.read_verified(&args.file, kind)?;
    let set = named(&args.set, NOT_OF_UNITS).map_err(|fault| vec![fault])?;
    let kernels = session.read_kernels(&args.file, &module, &args.kernels, &set)?;
    kernels.refuse_idle()?;
    if let Some((name, _)) = set.iter().find(|(name, _)| !kernels.has_param(name)) {
        return Err(vec![unread_value(name)]);
    }
    let (graph, signatures) = (args.graph.clone(), kernels.signatures());
    let options = EmitOptions { graph, signatures, part, ..EmitOptions::default() };
    let unit = UnitSource { module, files: kernels.modules, target: args.target };
    Ok(registry().emit(&unit.into(), &options)?)
}
