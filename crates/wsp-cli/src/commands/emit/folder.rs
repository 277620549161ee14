//! How files get into the folder of a package: all of them or none.
//!
//! A folder that is not there yet is written beside its place and then given its name: one rename for all files. Into one that is there, each
//! file goes by itself, so that what else it holds stays: from a folder in it, which has all of them. What a process that was killed left there is
//! put in its place by the next one.

use super::{earlier, halves};
use crate::files::{beside, discard_in, replacement_in, unwritable};
use crate::interrupt::{self, Leftover, WorkFolder};
use pto_wsp::codes;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use wsp_backend::{MANIFEST, Package};
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedSet;

/// Writes files into a folder, in place of an earlier package.
///
/// # Errors
/// The folder is no place for them, or one cannot be written. Then no new folder is there; files of before are.
pub(super) fn write(folder: &Path, package: &Package) -> Result<(), Diagnostic> {
    let mut made = Vec::new();
    // Without a `/` behind it, for messages.
    let bare: PathBuf = folder.components().collect();
    let written = write_making(&bare, package, &mut made);
    // Those that hold something stay: all that are needed. Of `q/../r` the first is not.
    made.iter().rev().for_each(|(folder, _)| drop(fs::remove_dir(folder)));
    written
}

/// Folders that were made, each behind those around it. One that holds something stays when they are removed.
type Made = Vec<(PathBuf, Leftover)>;

/// The same; `made` are the folders that were not there before.
fn write_making(folder: &Path, package: &Package, made: &mut Made) -> Result<(), Diagnostic> {
    let is_new = is_absent(folder)?;
    if let Some(around) = folder.parent().filter(|around| is_new && *around != Path::new("")) {
        make(around, made)?;
    }
    earlier::refuse_inside(folder)?;
    if is_new && write_new(folder, package)? {
        return Ok(());
    }
    // Held to the end: of two processes that write the folder, the second finds it as the first has left it. Where a file system has no locks, each
    // file is still replaced by one rename.
    let lock = File::open(folder);
    let _lock = lock.and_then(|opened| opened.lock().map(|()| opened));
    halves::finish(folder)?;
    let gone = earlier::replaced(folder, package)?;
    discard_partial(folder, package);
    replace(folder, package, &gone)
}

/// Whether nothing has the name of a folder.
///
/// # Errors
/// A link has it, or one of a folder around it, that leads nowhere.
fn is_absent(folder: &Path) -> Result<bool, Diagnostic> {
    for link in folder.ancestors().filter(|way| way.is_symlink()) {
        if let Err(fault) = fs::metadata(link) {
            return Err(leads_nowhere(link, &fault));
        }
    }
    Ok(fs::metadata(folder).is_err_and(|fault| fault.kind() == ErrorKind::NotFound))
}

fn leads_nowhere(link: &Path, fault: &io::Error) -> Diagnostic {
    let refused = |message: String| Diagnostic::error(codes::CANNOT_WRITE, message);
    let name = link.display();
    if fault.kind() != ErrorKind::NotFound {
        let refused = refused(format!("`{name}` is a link that leads to no folder")).note(fault.to_string());
        return refused.help("remove the link, or give another folder");
    }
    let mut to = link.to_owned();
    // As many links as the system follows.
    for _ in 0..40 {
        let Ok(next) = fs::read_link(&to) else { break };
        to = to.parent().unwrap_or(Path::new("")).join(next);
    }
    let to = to.display();
    refused(format!("`{name}` is a link to `{to}`, which is not there"))
        .help(format!("`mkdir -p {to}`, or give another folder"))
}

/// Writes a folder that was not there, whole or not at all; whether it has: another process may have made it meanwhile.
///
/// # Errors
/// It cannot be written.
fn write_new(folder: &Path, package: &Package) -> Result<bool, Diagnostic> {
    // What ends in `..` has no name of its own: it is there when the folder before it is.
    if folder.file_name().is_none() {
        return Ok(false);
    }
    let around = folder.parent().filter(|around| *around != Path::new("")).unwrap_or(Path::new("."));
    discard_in(around);
    let partial = begun(folder, &mut || beside(folder))?;
    fill(partial.path(), package).map_err(|(path, fault)| unwritable(&folder.join(path), &fault))?;
    match interrupt::whole(|| fs::rename(partial.path(), folder)) {
        Err(fault) if is_taken(&fault) => Ok(false),
        renamed => renamed.map(|()| true).map_err(|fault| unwritable(folder, &fault)),
    }
}

/// Makes an empty folder for files of another one.
fn begun(folder: &Path, names: &mut dyn FnMut() -> PathBuf) -> Result<WorkFolder, Diagnostic> {
    WorkFolder::new(names).map_err(|fault| unwritable(folder, &fault))
}

/// [`discard_in`] a folder and in those of the files of a package.
fn discard_partial(folder: &Path, package: &Package) {
    let places: OrderedSet<&Path> = package.files.iter().filter_map(|(path, _)| path.parent()).collect();
    places.iter().for_each(|place| discard_in(&folder.join(place)));
}

/// Whether something has the name that a folder was to get.
fn is_taken(fault: &io::Error) -> bool {
    matches!(fault.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty)
}

/// Writes files as they are into an empty folder; of one that cannot be written its path in the folder.
fn fill<'a>(folder: &Path, package: &'a Package) -> Result<(), (&'a Path, io::Error)> {
    let mut places = OrderedSet::new();
    // A folder with a manifest has all files.
    let of = |is_last: bool| {
        package.files.iter().filter(move |(path, _)| (path == Path::new(MANIFEST)) == is_last)
    };
    for (path, bytes) in of(false).chain(of(true)) {
        // Each is written whole before a signal ends the program: none comes into a folder that is being removed.
        let write = || {
            if let Some(within) = path.parent()
                && places.insert(within)
            {
                fs::create_dir_all(folder.join(within))?;
            }
            File::create_new(folder.join(path))?.write_all(bytes)
        };
        interrupt::whole(write).map_err(|fault| (path.as_path(), fault))?;
    }
    Ok(())
}

/// Writes files into a folder that is there, and removes those that are `gone`.
fn replace(folder: &Path, package: &Package, gone: &[PathBuf]) -> Result<(), Diagnostic> {
    let partial = begun(folder, &mut || replacement_in(folder))?;
    fill(partial.path(), package).map_err(|(path, fault)| unwritable(&folder.join(path), &fault))?;
    let files = package.files.iter().map(|(path, _)| path.as_path());
    let moved = halves::take_places(partial.path(), folder, files, gone);
    if moved.is_err() {
        // Some have theirs: the next process goes on.
        partial.keep();
    }
    moved
}

/// Makes a folder and those around it, and adds those that were not there to `made`.
fn make(folder: &Path, made: &mut Made) -> Result<(), Diagnostic> {
    // The last of a relative path is empty, which is the working folder.
    let ways = folder.ancestors().filter(|way| *way != Path::new(""));
    let mut absent: Vec<&Path> = ways.take_while(|way| !way.exists()).collect();
    absent.reverse();
    for way in absent {
        match Leftover::new_way(way) {
            Ok(leftover) => made.extend(leftover.map(|leftover| (way.to_owned(), leftover))),
            Err(fault) => return Err(not_made(folder, &fault)),
        }
    }
    Ok(())
}

fn not_made(folder: &Path, fault: &io::Error) -> Diagnostic {
    let there = folder.ancestors().find(|way| way.is_dir()).filter(|way| *way != Path::new(""));
    let there = there.unwrap_or(Path::new(".")).display();
    Diagnostic::error(codes::CANNOT_WRITE, format!("folder `{}` cannot be made", folder.display()))
        .note(fault.to_string())
        .help(format!("check that `{there}` is writable and has room, or give another folder"))
}
