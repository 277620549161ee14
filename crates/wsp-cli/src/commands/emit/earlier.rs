//! What stands in the folder of a package before: another one, which is replaced, or what is no package and stays.

use pto_wsp::codes;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use wsp_backend::{MANIFEST, Package, intact};
use wsp_diag::Diagnostic;

/// What the line for a compiler in the package's `CMakeLists.txt` calls the program.
const PROGRAM: &str = "run";

/// Files of an earlier package that the new one does not have. Files that are no package are not looked at.
///
/// # Errors
/// The folder holds something else, or a package that was edited.
pub(super) fn replaced(folder: &Path, package: &Package) -> Result<Vec<PathBuf>, Diagnostic> {
    let is_package = package.files.iter().any(|(path, _)| path == Path::new(MANIFEST));
    let Some(found) = is_package.then(|| entries(folder)).flatten().filter(|found| !found.is_empty()) else {
        return Ok(Vec::new());
    };
    let refused = |what: String| {
        let message = format!("folder `{}` holds {what}", folder.display());
        Diagnostic::error(codes::CANNOT_WRITE, message)
            .help("give a folder that is empty or not there, or remove what is in it")
    };
    let is_ours = |manifest: &Vec<u8>| manifest.starts_with(b"{\n  \"package\": ");
    let Some(manifest) = read(&folder.join(MANIFEST)).filter(is_ours) else {
        return Err(refused(format!("`{}`, and no package", found[0].display())));
    };
    let files = intact(&manifest, &mut |path| read(&folder.join(path)))
        .map_err(|path| refused(format!("a package whose file `{path}` was edited or removed")))?;
    let is_known = |entry: &PathBuf| {
        let own = |path: &str| Path::new(path).starts_with(entry);
        entry == Path::new(MANIFEST)
            || files.iter().any(|path| own(path))
            || folder.join(entry).join("CMakeCache.txt").is_file()
            || (entry == Path::new(PROGRAM) && folder.join(entry).is_file())
    };
    if let Some(other) = found.iter().find(|entry| !is_known(entry)) {
        return Err(refused(format!("`{}` beside a package", other.display())));
    }
    let gone = files.iter().filter(|path| !package.files.iter().any(|(of, _)| of == Path::new(path)));
    Ok(gone.map(|path| folder.join(path)).collect())
}

/// Removes files; what cannot be removed stays.
pub(super) fn remove(files: &[PathBuf]) {
    for file in files {
        let _ = fs::remove_file(file);
    }
}

/// What is in a folder; none where there is none.
fn entries(folder: &Path) -> Option<Vec<PathBuf>> {
    let all = fs::read_dir(folder).ok()?;
    let mut all: Vec<PathBuf> =
        all.filter_map(|entry| Some(PathBuf::from(entry.ok()?.file_name()))).collect();
    all.sort();
    Some(all)
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
