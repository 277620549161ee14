//! A program as files for a target that runs elsewhere.

use std::path::PathBuf;
use wsp_diag::Diagnostic;
use wsp_ir::tg::Signatures;

/// What to emit.
#[derive(Clone, Debug, Default)]
pub struct EmitOptions {
    /// One graph of a unit, by name, in place of all of them.
    pub graph: Option<String>,
    /// What is known of the kernels of a unit.
    pub signatures: Signatures,
}

/// Files of a program, with everything that they include.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Package {
    /// Paths, relative to the folder of the package, and contents.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

/// A package, and what the target does in another way than the program says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Emitted {
    /// The files.
    pub package: Package,
    /// Notes.
    pub notes: Vec<Diagnostic>,
}
