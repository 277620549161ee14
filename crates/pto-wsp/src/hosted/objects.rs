//! What the programs of all packages have in common, which a compiler compiles once for a platform: it reads arrays and runs simulated cores.

use super::compiler::Compiler;
use super::{BUILT, bytes, not_written, place, temporary, write};
use std::fs;
use std::path::{Path, PathBuf};
use wsp_backend::{ContentKey, Package};
use wsp_diag::Diagnostic;

/// What it is compiled from, in the folder `host` of a package.
pub(super) const FILES: [&str; 2] = ["inputs", "run"];
/// Folders of a package that these files include from.
const FOLDERS: [&str; 2] = ["host", "include"];
/// Where the objects are kept, in the folder of packages.
const FOLDER: &str = "objects";

/// The objects that all packages of one key have in common, as they were compiled: a key of what they hold.
fn key_of(folder: &Path) -> Option<Vec<u8>> {
    let mut key = ContentKey::of(&[]);
    for file in FILES {
        key.add(&bytes(&folder.join(format!("{file}.o")))?);
    }
    Some(key.to_string().into_bytes())
}

/// Whether a folder has these objects, and they were not changed since.
///
/// # Errors
/// As [`is_built`].
fn are_there(folder: &Path) -> Result<bool, Diagnostic> {
    let Ok(about) = fs::metadata(folder) else { return Ok(false) };
    crate::cache::refuse_others(folder, &about)?;
    Ok(bytes(&folder.join(BUILT)).is_some_and(|key| Some(key) == key_of(folder)))
}

/// Files of a package that the objects are compiled from, which are the same for all packages of one kind.
fn common_files(package: &Package) -> impl Iterator<Item = &(PathBuf, Vec<u8>)> {
    package.files.iter().filter(|(path, _)| FOLDERS.iter().any(|folder| path.starts_with(folder)))
}

/// Gives a package that is being built the objects that it has in common with others, compiled once.
pub(super) fn take(
    all: &Path,
    (compiler, of): (&Compiler<'_>, &ContentKey),
    package: &Package,
    to: &Path,
) -> Result<(), Diagnostic> {
    let mut key = ContentKey::of(compiler.platform.as_bytes());
    for (path, bytes) in common_files(package) {
        key.add(path.as_os_str().as_encoded_bytes());
        key.add(bytes);
    }
    let objects = all.join(FOLDER);
    let folder = objects.join(format!("{key}-{of}"));
    if !are_there(&folder)? {
        let partial = temporary(&objects)?;
        for (path, bytes) in common_files(package) {
            write(partial.path(), path, bytes)?;
        }
        compiler.compile(partial.path(), &FILES.map(|file| format!("host/{file}")))?;
        for folder in FOLDERS {
            let path = partial.path().join(folder);
            fs::remove_dir_all(&path).map_err(|fault| not_written(&path, &fault))?;
        }
        let own = key_of(partial.path()).unwrap_or_default();
        write(partial.path(), Path::new(BUILT), &own)?;
        place(partial.path(), &folder, are_there)?;
    }
    for file in FILES {
        let object = format!("{file}.o");
        let path = to.join(&object);
        fs::copy(folder.join(&object), &path).map_err(|fault| not_written(&path, &fault))?;
    }
    Ok(())
}
