//! What the programs of all packages have in common, which a compiler compiles once for a platform: it reads arrays and runs simulated cores.

use super::compiler::{COMMON_LEVEL, Compiler};
use super::kept::{are_there, make, not_written, note, place, temporary, write};
use crate::shared::leftover::is_at;
use std::fs::{self, File, TryLockError};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use wsp_ascend::COMMON_SOURCES;
use wsp_backend::{ContentKey, Package};
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedSet;

/// Folders of a package that these sources include from.
const FOLDERS: [&str; 2] = ["host", "include"];
/// Where the objects are kept, in the folder of packages.
pub(super) const FOLDER: &str = "objects";

/// How often, and how far apart, a process looks whether another one has compiled the objects, before it does so itself: a minute.
const LOOKS: u32 = 1200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The object of a source, at the root of the folder in which it is compiled.
pub(super) fn of(source: &str) -> String {
    let name = source.rsplit_once('/').map_or(source, |(_, name)| name);
    format!("{name}.o")
}

/// Files of a package that the objects are compiled from: the sources and what they include, which is the same for all packages.
fn common_files(package: &Package) -> impl Iterator<Item = &(PathBuf, Vec<u8>)> {
    let mut open: Vec<PathBuf> =
        COMMON_SOURCES.iter().map(|source| PathBuf::from(format!("{source}.cpp"))).collect();
    let mut found = OrderedSet::new();
    while let Some(path) = open.pop() {
        let Some((path, bytes)) = package.files.iter().find(|(of, _)| *of == path) else { continue };
        if found.insert(path.as_path()) {
            open.extend(String::from_utf8_lossy(bytes).lines().flat_map(|line| included(path, line)));
        }
    }
    package.files.iter().filter(move |(path, _)| found.contains(path.as_path()))
}

/// Where the file may be that a line of another includes.
fn included(by: &Path, line: &str) -> Vec<PathBuf> {
    let name = line.trim_start().strip_prefix("#include").map(str::trim_start);
    let Some(name) = name.and_then(|name| name.get(1..)?.split(['"', '>']).next()) else { return Vec::new() };
    let beside = by.parent().unwrap_or(Path::new(""));
    [beside, Path::new(FOLDERS[0]), Path::new(FOLDERS[1])].map(|folder| plain(&folder.join(name))).to_vec()
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}

fn copy(objects: &[String], from: &Path, to: &Path) -> Result<(), Diagnostic> {
    for object in objects {
        let path = to.join(object);
        fs::copy(from.join(object), &path).map_err(|fault| not_written(&path, &fault))?;
    }
    Ok(())
}

/// A locked file, which goes with its lock: what waits for it finds the objects then, and what comes later makes a file of its own.
struct Held {
    opened: File,
    path: PathBuf,
}

impl Drop for Held {
    fn drop(&mut self) {
        // Where it has gone before, the name is of another process.
        if is_at(&self.opened, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Locks a file, unless what holds it takes too long: it may have been stopped.
fn hold(path: PathBuf) -> Option<Held> {
    let opened = File::options().read(true).append(true).create(true).open(&path).ok()?;
    for _ in 0..LOOKS {
        match opened.try_lock() {
            Ok(()) => return Some(Held { opened, path }),
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_LOOKS),
            Err(TryLockError::Error(_)) => {
                let _ = fs::remove_file(&path);
                return None;
            }
        }
    }
    None
}

/// Where the objects of a package are kept that a compiler makes for a platform.
pub(super) fn place_of(all: &Path, (platform, by): (&str, &ContentKey), package: &Package) -> PathBuf {
    let mut key = ContentKey::of(platform.as_bytes());
    for (path, bytes) in common_files(package) {
        key.add(path.as_os_str().as_encoded_bytes());
        key.add(bytes);
    }
    all.join(FOLDER).join(format!("{key}-{by}"))
}

/// Gives a package that is being built the objects that it has in common with others, compiled once; `folder` is [where they are kept](place_of).
pub(super) fn take(
    folder: &Path,
    compiler: &Compiler<'_>,
    package: &Package,
    to: &Path,
) -> Result<(), Diagnostic> {
    let (kept, objects) = (folder.parent().unwrap_or(folder), COMMON_SOURCES.map(of));
    // Another process may take them for damaged, and put its own in their place meanwhile.
    let taken = || are_there(folder, &objects).map(|are| are && copy(&objects, folder, to).is_ok());
    if taken()? {
        return Ok(());
    }
    // Of two processes that lack them the second takes those of the first; where a file system has no locks both compile them.
    make(kept)?;
    let _held = hold(folder.with_extension("lock"));
    if taken()? {
        return Ok(());
    }
    let partial = temporary(kept)?;
    for (path, bytes) in common_files(package) {
        write(partial.path(), path, bytes)?;
    }
    compiler.compile(partial.path(), &COMMON_SOURCES, COMMON_LEVEL)?;
    for folder in FOLDERS {
        let path = partial.path().join(folder);
        if path.exists() {
            fs::remove_dir_all(&path).map_err(|fault| not_written(&path, &fault))?;
        }
    }
    note(partial.path(), &objects)?;
    copy(&objects, partial.path(), to)?;
    place(partial.path(), folder, |folder| are_there(folder, &objects))
}
