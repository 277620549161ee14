//! How files get into the folder of a package: all of them or none.
//!
//! A folder that is not there yet is written beside its place and then given its name: one rename for all files. Into one that is there, each
//! file goes by itself, so that what else it holds stays.

use crate::files::{Output, beside, keep, place, unwritable};
use crate::interrupt::{self, Leftover};
use pto_wsp::codes;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use wsp_backend::Package;
use wsp_diag::Diagnostic;
use wsp_ordered::{OrderedMap, OrderedSet};

/// Whether nothing has the name of a folder.
///
/// # Errors
/// A link has it that leads to nothing.
pub(super) fn is_absent(folder: &Path) -> Result<bool, Diagnostic> {
    let is_gone =
        |meta: io::Result<fs::Metadata>| meta.is_err_and(|fault| fault.kind() == ErrorKind::NotFound);
    if !is_gone(fs::metadata(folder)) {
        return Ok(false);
    }
    // With a `/` behind it the name is that of what the link leads to.
    let bare: PathBuf = folder.components().collect();
    let Ok(to) = fs::read_link(&bare) else { return Ok(true) };
    let message = format!("`{}` is a link to `{}`, which is not there", folder.display(), to.display());
    let place = bare.parent().unwrap_or(Path::new("")).join(&to);
    Err(Diagnostic::error(codes::CANNOT_WRITE, message)
        .help(format!("`mkdir -p {}`, or give another folder", place.display())))
}

/// Writes a folder that is not there.
///
/// # Errors
/// It cannot be written; then it is not there, and neither are folders around it that were not.
pub(super) fn write_new(folder: &Path, package: &Package) -> Result<(), Diagnostic> {
    // What ends in `..` has no name of its own: it is there when the folder before it is.
    if folder.file_name().is_none() {
        return write_into(folder, package);
    }
    let mut made = Vec::new();
    let written = match folder.parent() {
        Some(around) if around != Path::new("") => make(around, &mut made),
        _ => Ok(()),
    };
    let written = written.and_then(|()| {
        let partial = beside(folder);
        let _leftover = Leftover::folder(partial.clone());
        let written = fill(&partial, package).map_err(|(path, fault)| unwritable(&folder.join(path), &fault));
        let written = written.and_then(|()| {
            interrupt::whole(|| fs::rename(&partial, folder)).map_err(|fault| unwritable(folder, &fault))
        });
        if written.is_err() {
            // What cannot be removed is not worth another message.
            let _ = fs::remove_dir_all(&partial);
        }
        written
    });
    if written.is_err() {
        remove(&made);
    }
    written
}

/// Writes files as they are; of one that cannot be written its path in the folder.
fn fill<'a>(folder: &Path, package: &'a Package) -> Result<(), (&'a Path, io::Error)> {
    let mut places = OrderedSet::new();
    fs::create_dir(folder).map_err(|fault| (Path::new(""), fault))?;
    for (path, bytes) in &package.files {
        let mut write = || {
            if let Some(within) = path.parent()
                && places.insert(within)
            {
                fs::create_dir_all(folder.join(within))?;
            }
            File::create_new(folder.join(path))?.write_all(bytes)
        };
        write().map_err(|fault| (path.as_path(), fault))?;
    }
    Ok(())
}

/// Writes files into a folder that is there.
///
/// # Errors
/// One cannot be written; then those of before are there, and no new folder.
pub(super) fn write_into(folder: &Path, package: &Package) -> Result<(), Diagnostic> {
    let mut made = Vec::new();
    let written = replace(folder, package, &mut made);
    if written.is_err() {
        remove(&made);
    }
    written
}

/// The same; `made` are the folders that were not there before.
fn replace(folder: &Path, package: &Package, made: &mut Vec<PathBuf>) -> Result<(), Diagnostic> {
    let (mut filled, mut places) = (Vec::new(), OrderedMap::new());
    for (path, bytes) in &package.files {
        let path = folder.join(path);
        let within = path.parent().unwrap_or(folder);
        if !places.contains_key(within) {
            make(within, made)?;
            places.insert(within.to_owned(), place(within));
        }
        filled.push(Output::inside(&places[within], &path)?.fill(&mut |out| out.write_all(bytes))?);
    }
    keep(filled)
}

/// Makes a folder and those around it, and adds those that were not there to `made`.
fn make(folder: &Path, made: &mut Vec<PathBuf>) -> Result<(), Diagnostic> {
    let mut absent: Vec<PathBuf> =
        folder.ancestors().take_while(|way| !way.exists()).map(Path::to_owned).collect();
    absent.reverse();
    made.extend(absent);
    fs::create_dir_all(folder).map_err(|fault| {
        let message = format!("folder `{}` cannot be made", folder.display());
        Diagnostic::error(codes::CANNOT_WRITE, message).note(fault.to_string())
    })
}

/// Removes folders that were made; one that holds something stays.
fn remove(made: &[PathBuf]) {
    made.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
}
