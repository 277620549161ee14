//! What stands in the folder of a package before: another one, which is replaced, or what was not written so and stays.

use crate::files::{is_partial, is_replacement, place};
use pto_wsp::codes;
use pto_wsp::shared::shell::shell_word;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use wsp_backend::{ContentKey, MANIFEST, Package, intact};
use wsp_diag::Diagnostic;

/// What the line for a compiler in the package's `CMakeLists.txt` calls the program.
const PROGRAM: &str = "run";

/// The last line of a file that no manifest lists, before the key of all above it.
const SEAL: &str = "// As `wsp emit` wrote it: ";

/// Gives files that no manifest lists a last line by which an edit is found.
pub(super) fn seal(package: &mut Package) {
    if has_manifest(package) {
        return;
    }
    for (_, bytes) in &mut package.files {
        let line = format!("{SEAL}{}\n", ContentKey::of(bytes));
        bytes.extend(line.into_bytes());
    }
}

fn is_sealed(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let parts = text.rsplit_once(SEAL);
    parts.is_some_and(|(above, key)| format!("{}\n", ContentKey::of(above.as_bytes())) == key)
}

fn has_manifest(package: &Package) -> bool {
    package.files.iter().any(|(path, _)| path == Path::new(MANIFEST))
}

/// Files of an earlier package that the new one does not have.
///
/// # Errors
/// The folder holds something else, a package that was edited, or a link where a file or a folder is to be written. Of files without a manifest
/// those that are to be written are looked at.
pub(super) fn replaced(folder: &Path, package: &Package) -> Result<Vec<PathBuf>, Diagnostic> {
    if let Some(link) = package.files.iter().find_map(|(path, _)| link_on_the_way(folder, path)) {
        return Err(through_link(folder, &link));
    }
    if !has_manifest(package) {
        if holds_package(folder) {
            return Err(of_package(folder));
        }
        let is_other = |(path, bytes): &&(PathBuf, Vec<u8>)| {
            let whole = folder.join(path);
            whole.exists() && read(&whole).is_none_or(|found| found != *bytes && !is_sealed(&found))
        };
        let Some((path, _)) = package.files.iter().find(is_other) else { return Ok(Vec::new()) };
        let message =
            format!("`{}` is there, and is not as `wsp emit` wrote it", folder.join(path).display());
        return Err(Diagnostic::error(codes::CANNOT_WRITE, message)
            .help(format!("remove it, or give another folder: `-o {}`", shell_word(&another(folder)))));
    }
    let found = entries(folder);
    let Some(first) = found.iter().find(|name| !is_partial(name) && !is_replacement(name)) else {
        return Ok(Vec::new());
    };
    let refused = |what: String| {
        let message = format!("folder `{}` holds {what}", folder.display());
        Diagnostic::error(codes::CANNOT_WRITE, message)
    };
    let Some(manifest) = read(&folder.join(MANIFEST)).filter(|manifest| is_ours(manifest)) else {
        // What is in it may be all that the user has.
        let help = format!("give a folder that is empty or not there: `-o {}`", shell_word(&another(folder)));
        return Err(refused(format!("`{}`, and no package", first.display())).help(help));
    };
    let refused = |what: String| {
        refused(what).help("give a folder that is empty or not there, or remove what is in it")
    };
    let files = intact(&manifest, &mut |path| read(&folder.join(path)))
        .map_err(|path| refused(format!("a package whose file `{path}` was edited or removed")))?;
    if let Some(other) = other(folder, Path::new(""), &files) {
        return Err(refused(format!("`{}` beside a package", other.display())));
    }
    let gone = files.iter().filter(|path| !package.files.iter().any(|(of, _)| of == Path::new(path)));
    Ok(gone.map(|path| folder.join(path)).collect())
}

/// Refuses a folder inside a package, which would hold more than its files then, and could not be replaced.
///
/// # Errors
/// One of the folders around it holds a package.
pub(super) fn refuse_inside(folder: &Path) -> Result<(), Diagnostic> {
    match place(folder).ancestors().skip(1).find(|around| holds_package(around)) {
        Some(around) => Err(of_package(around)),
        None => Ok(()),
    }
}

fn of_package(folder: &Path) -> Diagnostic {
    let bare: PathBuf = folder.components().collect();
    let message = format!("folder `{}` holds a package, to which these files do not belong", bare.display());
    Diagnostic::error(codes::CANNOT_WRITE, message)
        .help(format!("give another folder: `-o {}`", shell_word(&another(folder))))
}

/// A folder beside one, to be given in its place.
fn another(folder: &Path) -> PathBuf {
    // `.` and `..` have no name to which something could be added, and with a `/` behind it the name would be of what is in it.
    let bare = if folder.file_name().is_some() { folder.to_owned() } else { place(folder) };
    let mut name = bare.file_name().unwrap_or_default().to_owned();
    name.push("_new");
    bare.with_file_name(name)
}

fn holds_package(folder: &Path) -> bool {
    read(&folder.join(MANIFEST)).is_some_and(|manifest| is_ours(&manifest))
}

/// Whether a manifest is that of a package.
fn is_ours(manifest: &[u8]) -> bool {
    manifest.starts_with(b"{\n  \"package\": ")
}

/// The first entry of a folder of a package, or of one in it, that is none of its files: what a build writes is beside it, and what processes
/// write or left that were killed.
fn other(package: &Path, within: &Path, files: &[String]) -> Option<PathBuf> {
    entries(&package.join(within)).into_iter().find_map(|name| {
        let path = within.join(&name);
        let whole = package.join(&path);
        let kind = fs::symlink_metadata(&whole).map(|meta| meta.file_type()).ok();
        let is_folder = kind.is_some_and(|kind| kind.is_dir());
        if is_folder && files.iter().any(|file| Path::new(file).starts_with(&path)) {
            return other(package, &path, files);
        }
        let is_file = kind.is_some_and(|kind| kind.is_file());
        let is_own = files.iter().any(|file| Path::new(file) == path) || path == Path::new(MANIFEST);
        // Versions before wrote files of such names.
        let is_left = (is_folder || is_file) && is_partial(&name) || is_folder && is_replacement(&name);
        let is_beside =
            is_folder && whole.join("CMakeCache.txt").is_file() || is_file && path == Path::new(PROGRAM);
        (!(is_left || is_beside && within == Path::new("") || is_file && is_own)).then_some(path)
    })
}

/// The link that a file of a package, or a folder on its way, is.
pub(super) fn link_on_the_way(folder: &Path, path: &Path) -> Option<PathBuf> {
    let ways = path.ancestors().filter(|way| *way != Path::new(""));
    let is_link = |way: &&Path| fs::symlink_metadata(folder.join(way)).is_ok_and(|meta| meta.is_symlink());
    ways.filter(is_link).last().map(Path::to_owned)
}

fn through_link(folder: &Path, link: &Path) -> Diagnostic {
    let whole = folder.join(link);
    let fault = Diagnostic::error(codes::CANNOT_WRITE, format!("`{}` is a link", whole.display()));
    let fault = match fs::read_link(&whole) {
        Ok(to) => fault.note(format!("it leads to `{}`, where nothing is written", to.display())),
        Err(_) => fault,
    };
    fault.help("remove the link, or give another folder")
}

/// The names of what is in a folder, in order; none where there is none.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten();
    let mut all: Vec<PathBuf> =
        all.filter_map(|entry| Some(PathBuf::from(entry.ok()?.file_name()))).collect();
    all.sort();
    all
}

/// The bytes of a file; none of anything else.
pub(super) fn read(path: &Path) -> Option<Vec<u8>> {
    // To open a pipe is to wait for what writes to it.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    File::open(path).ok()?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
