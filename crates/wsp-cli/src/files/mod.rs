//! Files: source text, `.npy` and `.npz` arrays. Every fault is a diagnostic with the path and what to do.

mod archive;
mod checkpoints;
mod fault;
mod npy;
mod npz;
mod output;
mod partial;
mod pending;
mod program;
mod unit;
mod write;

pub use checkpoints::CheckpointFolder;
pub(crate) use fault::{unwritable, written};
pub use npy::read_npy;
pub use npz::Npz;
pub use output::Output;
pub(crate) use output::{Filled, keep_last};
pub(crate) use partial::{beside, discard_in, is_partial, is_replacement, replacement_in};
pub(crate) use pending::read_pending;
pub(crate) use program::{read_program, try_program, write_program};
pub(crate) use unit::{check_unit_length, read_beginning, read_unit_bytes, read_unit_text};
pub(crate) use write::write_stream;
pub use write::{write_array, write_bytes, write_npz};

use fault::{open, shown, unreadable};
use pto_wsp::codes;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use wsp_core::words::counted;
use wsp_core::{DType, limits};
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedSet;
use wsp_plan::{Array, Arrays};

/// The text of a source file.
///
/// # Errors
/// When it cannot be read, is not UTF-8, or is longer than [`limits::MAX_SOURCE_BYTES`].
pub fn read_source(path: &Path) -> Result<String, Diagnostic> {
    let most = u64::from(limits::MAX_SOURCE_BYTES);
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    if bytes.len() as u64 > most {
        return Err(Diagnostic::error(
            codes::BAD_SOURCE_FILE,
            format!("`{}` is too long for a source file", shown(path)),
        )
        .note(format!("a source file may have {most}", most = counted(most, "byte")))
        .help("is this the right file? arrays go in with `--inputs FILE.npz`"));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = e.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1;
        Diagnostic::error(codes::BAD_SOURCE_FILE, format!("`{}` is not UTF-8 text", shown(path)))
            .note(format!("byte {at}, in line {line}, belongs to no character"))
            .help("give a file of text, saved as UTF-8")
    })
}

/// The bytes of a trace.
///
/// # Errors
/// When it cannot be read, or is too long for one.
pub(crate) fn read_trace(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let most = wsp_report::MAX_BYTES;
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    if bytes.len() as u64 > most {
        let message = format!("`{}` is too long for a trace", shown(path));
        let fault = Diagnostic::error(codes::BAD_SOURCE_FILE, message);
        return Err(fault.note(format!("a trace that is read may have {}", counted(most, "byte"))));
    }
    Ok(bytes)
}

/// The files of a folder, in any order; none where it cannot be read.
pub(crate) fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.flatten().map(|entry| folder.join(entry.file_name())).collect()
}

/// Reads the arrays of `--inputs` and `--input`.
///
/// Of the archive only entries that are `wanted` are read, so that others may hold anything. What stands in both places
/// is taken from `--input`.
///
/// # Errors
/// A diagnostic for each file or entry that cannot be used.
pub fn read_inputs(
    archive: Option<&Path>,
    single: &[(String, PathBuf)],
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Arrays, Vec<Diagnostic>> {
    let mut arrays = Arrays::new();
    let mut faults = Vec::new();
    let mut names = OrderedSet::new();
    for (name, _) in single {
        if !names.insert(name.as_str()) {
            faults.push(
                Diagnostic::error(codes::TWICE_GIVEN, format!("array `{name}` is given twice"))
                    .help(format!("keep one `--input {name}=FILE.npy`")),
            );
        }
    }
    if let Some(path) = archive {
        match Npz::open(path) {
            Ok(mut npz) => {
                for name in npz.names() {
                    if wanted(&name) && !names.contains(name.as_str()) {
                        keep_array(&mut arrays, &mut faults, &name, npz.read(&name));
                    }
                }
            }
            Err(fault) => faults.push(fault),
        }
    }
    for (name, path) in single {
        keep_array(&mut arrays, &mut faults, name, read_npy(path));
    }
    if faults.is_empty() { Ok(arrays) } else { Err(faults) }
}

/// Names of the entries of an archive.
///
/// # Errors
/// When it cannot be read.
pub fn entry_names(archive: &Path) -> Result<Vec<String>, Diagnostic> {
    Ok(Npz::open(archive)?.names())
}

fn keep_array(
    arrays: &mut Arrays,
    faults: &mut Vec<Diagnostic>,
    name: &str,
    array: Result<Array, Diagnostic>,
) {
    match array {
        Ok(array) => {
            arrays.insert(name.to_owned(), array);
        }
        Err(fault) => faults.push(fault),
    }
}

/// Takes the `uint16` arrays among `names` as bf16 and the `uint8` ones as E4M3: numpy has neither, so data arrays carry their
/// bits that way.
pub fn take_bits_as_floats<'a>(arrays: &mut Arrays, names: impl IntoIterator<Item = &'a str>) {
    for name in names {
        let meant = match arrays.get(name).map(Array::dtype) {
            Some(DType::U16) => DType::Bf16,
            Some(DType::U8) => DType::F8E4m3,
            _ => continue,
        };
        let array = arrays.remove(name).expect("the array should be there");
        let array = array.reinterpret(meant).expect("both types should have one size");
        arrays.insert(name.to_owned(), array);
    }
}

/// Where a path leads, as far as it exists, so that two ways to write it are equal.
pub(crate) fn place(path: &Path) -> PathBuf {
    let beside = || {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(beside).unwrap_or_else(|| path.to_owned())
}
