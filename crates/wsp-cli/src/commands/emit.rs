//! `wsp emit`: a program as files for a target that runs elsewhere.

use super::kind::{Kind, wrong_kind};
use super::{Outcome, Session, unit};
use crate::args::EmitArgs;
use crate::files::write_bytes;
use pto_wsp::codes;
use std::fmt::Write;
use std::path::Path;
use wsp_backend::Package;
use wsp_diag::Diagnostic;

/// Writes the files of a program into a folder, and lists them.
pub(super) fn emit(session: &mut Session, args: &EmitArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let kind = Kind::of(&args.file);
    if !kind.is_unit() {
        return Err(vec![wrong_kind(&args.file, kind, "task graphs")]);
    }
    let emitted = unit::emit(session, args, kind)?;
    session.warn(&emitted.notes);
    let listing = write(&args.output, &emitted.package).map_err(|fault| vec![fault])?;
    session.terminal.print(&listing);
    Ok(Outcome::Done)
}

/// Writes the files; their paths, one in a line.
fn write(folder: &Path, package: &Package) -> Result<String, Diagnostic> {
    let mut listing = String::new();
    for (path, bytes) in &package.files {
        let path = folder.join(path);
        let folder = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(folder).map_err(|fault| {
            let message = format!("folder `{}` cannot be made", folder.display());
            Diagnostic::error(codes::CANNOT_WRITE, message).note(fault.to_string())
        })?;
        write_bytes(&path, bytes)?;
        // Writing to a string does not fail.
        let _ = writeln!(listing, "{}", path.display());
    }
    Ok(listing)
}
