//! A program as files for a target that runs elsewhere.

use crate::KvLayout;
use std::path::PathBuf;
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_ir::tg::Signatures;
use wsp_plan::{KernelFile, ParamValue, Target};

/// What to emit.
#[derive(Clone, Debug, Default)]
pub struct EmitOptions {
    /// One graph of a unit, by name, in place of all of them.
    pub graph: Option<String>,
    /// What is known of the kernels of a unit.
    pub signatures: Signatures,
    /// Of a program that is lowered for all targets: the one that it is written for.
    pub target: Option<&'static Target>,
    /// Values of parameters; the others have their defaults, or stay numbers of a launch.
    pub set: Vec<(String, ParamValue)>,
    /// Arrays like those of its launches, by name: where the source leaves element types, and sizes that kernels need, to a launch,
    /// they are those of these.
    pub arrays: Vec<ArrayForm>,
    /// How the pages of a cache lie in them.
    pub layout: KvLayout,
}

/// An array as far as a package depends on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayForm {
    /// Its name.
    pub name: String,
    /// Element type.
    pub elem: DType,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
}

/// Kernels of a file, to be written for a target.
#[derive(Clone, Debug)]
pub struct KernelsSource {
    /// The file, and values of its parameters; the others have their defaults, or stay numbers of a launch.
    pub file: KernelFile,
    /// One kernel, by name, in place of all.
    pub kernel: Option<String>,
    /// Where they are to run.
    pub target: &'static Target,
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

/// What a check of the kernels of a file found for a target.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CheckedKernels {
    /// The kernels that can be written.
    pub kernels: Vec<CheckedKernel>,
    /// What stands in the way of the others, and what is probably not meant.
    pub found: Vec<Diagnostic>,
}

/// A kernel that can be written for a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedKernel {
    /// Its name.
    pub name: String,
    /// The tasks that it becomes, each for one kind of core.
    pub tasks: usize,
    /// What it takes of the memories that it uses: that of the task with the most.
    pub memories: Vec<MemoryUse>,
}

/// How far a memory of a core is filled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryUse {
    /// The memory's name.
    pub memory: String,
    /// Bytes up to the end of the last buffer.
    pub used: u64,
    /// Bytes that there are.
    pub capacity: u64,
}
