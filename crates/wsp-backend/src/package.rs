//! A program as files for a target that runs elsewhere.

use crate::table::Expansion;
use crate::{Args, KvLayout};
use std::fmt;
use std::path::{Component, Path, PathBuf};
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
    /// Where files are of one launch: its arrays, of which the forms count, and all its values.
    pub launch: Args,
    /// Where one design is for several launches: a parameter or an extent, and the values that it has in them.
    pub lengths: Option<(String, Lengths)>,
    /// How the pages of a cache lie in them.
    pub layout: KvLayout,
    /// What generates the tasks of a package.
    pub expansion: Expansion,
    /// What of a package is written.
    pub part: PackagePart,
}

/// Values of a length in the launches that a design is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lengths {
    /// These: the design has a sequence for each.
    Each(Vec<i64>),
    /// All from the first to the last: a launch gives the length to the one sequence.
    Range(i64, i64),
}

/// What of a package is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PackagePart {
    /// All of it.
    #[default]
    Whole,
    /// What is known of its kernels: their numbers, names, units and arguments.
    Metadata,
    /// What runs on a device: kernels, what runs the one of a number, and what generates their tasks.
    Device,
    /// The kernels that it uses.
    Kernels,
    /// Of a task graph, C++ of its graphs alone, for a device of the caller.
    Graphs,
}

/// What a package depends on of an array.
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
    /// Whether what is built of it links `libwsp_device.a`.
    pub links_device: bool,
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

/// What a look at a launch, whose files were not written, found for a target.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CheckedLaunch {
    /// What the files would hold, a line each.
    pub lines: Vec<String>,
    /// What stands in their way, what is probably not meant, and what was not looked at.
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

/// The file of a package that says what it was made from: under `files` the [`ContentKey`] of each of its files, and last, under `key`, that of
/// all before it.
pub const MANIFEST: &str = "manifest.json";

/// What stands before and behind the key of a manifest.
const KEY: [&str; 2] = ["  \"key\": \"", "\"\n}\n"];

/// A manifest with its key: `text` is all before it.
#[must_use]
pub fn signed(text: String) -> String {
    let key = ContentKey::of(text.as_bytes());
    text + KEY[0] + &key.to_string() + KEY[1]
}

/// The files that an unchanged manifest lists, as they were written.
///
/// # Errors
/// The name of a file that was edited or is not there, the manifest's among them. `read` gives the bytes of a file of the package.
pub fn intact(manifest: &[u8], read: &mut dyn FnMut(&str) -> Option<Vec<u8>>) -> Result<Vec<String>, String> {
    let files = listed_in(manifest).ok_or(MANIFEST)?;
    let mut is_edited =
        |path: &str, key: &str| read(path).is_none_or(|bytes| ContentKey::of(&bytes).to_string() != key);
    match files.iter().find(|(path, key)| is_edited(path, key)) {
        Some((path, _)) => Err((*path).to_owned()),
        None => Ok(files.into_iter().map(|(path, _)| path.to_owned()).collect()),
    }
}

/// The files that a manifest lists, each with its [`ContentKey`] as text; none of a manifest that was edited.
pub fn listed_in(manifest: &[u8]) -> Option<Vec<(&str, &str)>> {
    let all = std::str::from_utf8(manifest).ok()?;
    let (text, _) = all.rsplit_once(KEY[0])?;
    if text.is_empty() || signed(text.to_owned()) != all {
        return None;
    }
    let lines = text.lines().skip_while(|line| *line != "  \"files\": {").skip(1);
    lines.take_while(|line| *line != "  },").map(listed).collect()
}

/// A file of a manifest, and its key.
fn listed(line: &str) -> Option<(&str, &str)> {
    let (path, key) = line.trim().strip_prefix('"')?.split_once("\": \"")?;
    let is_plain = |path: &str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    Some((path, key.trim_end_matches(',').strip_suffix('"')?)).filter(|(path, _)| is_plain(path))
}

/// A key of contents that are not made to collide: FNV-1a of 64 bits over parts and their lengths. As text it has 16 digits of base 16.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContentKey(u64);

impl Default for ContentKey {
    fn default() -> ContentKey {
        ContentKey(0xCBF2_9CE4_8422_2325)
    }
}

impl ContentKey {
    /// That of one part.
    pub fn of(bytes: &[u8]) -> ContentKey {
        let mut key = ContentKey::default();
        key.add(bytes);
        key
    }

    /// Goes on with another part.
    pub fn add(&mut self, bytes: &[u8]) {
        // One plain loop for each: over parts in a chain it takes three times the instructions.
        for part in [bytes, &(bytes.len() as u64).to_le_bytes()] {
            let step = |key: u64, byte: &u8| (key ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
            self.0 = part.iter().fold(self.0, step);
        }
    }
}

impl fmt::Display for ContentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
