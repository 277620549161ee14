//! Names of folders with what is not complete, or was not when its process was killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// How all of these names begin.
const START: &str = ".wsp-";
/// How those end of folders with what is to stand beside them.
const PARTIAL: &str = ".partial";
/// How those end of folders whose files are to take their places in the folder around them.
const REPLACEMENT: &str = ".replacement";

/// What this process has named.
static NAMED: AtomicU32 = AtomicU32::new(0);

/// A free name for a folder beside a file or folder that is to come of it, so that a rename stays on one file system; short, since names have a longest length.
pub(crate) fn beside(file: &Path) -> PathBuf {
    free(|name| file.with_file_name(name), PARTIAL)
}

/// A free name in a folder for files that are to take their places in it. One of [`beside`] would be taken for that of another folder.
pub(crate) fn replacement_in(folder: &Path) -> PathBuf {
    free(|name| folder.join(name), REPLACEMENT)
}

/// A process with the same number, as in another container or before, may have taken a name.
fn free(at: impl Fn(String) -> PathBuf, end: &str) -> PathBuf {
    loop {
        // Relaxed: the counter only makes names differ.
        let number = NAMED.fetch_add(1, Ordering::Relaxed);
        let path = at(format!("{START}{}-{number}{end}", std::process::id()));
        if fs::symlink_metadata(&path).is_err() {
            return path;
        }
    }
}

/// Whether a name is one that [`beside`] gives.
pub(crate) fn is_partial(name: &Path) -> bool {
    has(name, PARTIAL)
}

/// Whether a name is one that [`replacement_in`] gives.
pub(crate) fn is_replacement(name: &Path) -> bool {
    has(name, REPLACEMENT)
}

fn has(name: &Path, end: &str) -> bool {
    let text = name.to_str().and_then(|name| name.strip_prefix(START)?.strip_suffix(end));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.and_then(|text| text.split_once('-'))
        .is_some_and(|(process, at)| is_number(process) && is_number(at))
}

/// Removes what processes left in a folder that were killed while they wrote something there.
pub(crate) fn discard_in(folder: &Path) {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    let partial = all.filter(|entry| is_partial(Path::new(&entry.file_name())));
    partial.for_each(|entry| crate::interrupt::discard(&entry.path()));
}
