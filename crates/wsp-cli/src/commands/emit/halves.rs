//! Files of a package that are all in a folder in it, and take their places one by one; a process that is killed meanwhile leaves halves of two packages.
//!
//! The manifest goes last: with that of the folder and that of the files to come the next process tells what is as one of the two has it. It goes
//! on if everything is, and leaves all as it is where a file was edited.

use super::earlier::{entries, link_on_the_way, read};
use crate::files::{is_replacement, unwritable};
use crate::interrupt::{self, Abandoned};
use std::fs;
use std::path::{Path, PathBuf};
use wsp_backend::{ContentKey, MANIFEST, listed_in};
use wsp_diag::Diagnostic;

/// Gives files their places in a folder, in order, the manifest last, and removes others; a file that is not there has its place already.
///
/// # Errors
/// One cannot be given it.
pub(super) fn take_places<'a>(
    from: &Path,
    folder: &Path,
    files: impl Iterator<Item = &'a Path>,
    gone: &[PathBuf],
) -> Result<(), Diagnostic> {
    let take = |path: &Path| {
        let (from, to) = (from.join(path), folder.join(path));
        let made = to.parent().map_or(Ok(()), fs::create_dir_all);
        // The permissions of the file that is replaced.
        let _ = fs::metadata(&to).and_then(|about| fs::set_permissions(&from, about.permissions()));
        made.and_then(|()| fs::rename(&from, &to)).map_err(|fault| unwritable(&to, &fault))
    };
    let is_left = |path: &&Path| from.join(path).exists();
    interrupt::whole(|| {
        files.filter(|path| *path != Path::new(MANIFEST)).filter(is_left).try_for_each(take)?;
        // What cannot be removed stays.
        gone.iter().for_each(|path| drop(fs::remove_file(path)));
        [Path::new(MANIFEST)].into_iter().filter(is_left).try_for_each(take)
    })
}

/// Goes on where processes were killed that replaced the package in a folder, and removes what others left that had not begun to.
///
/// # Errors
/// As [`take_places`].
pub(super) fn finish(folder: &Path) -> Result<(), Diagnostic> {
    for name in entries(folder).iter().filter(|name| is_replacement(name)) {
        let Some(left) = Abandoned::at(&folder.join(name)) else { continue };
        let from = left.files();
        let manifest = read(&from.join(MANIFEST)).unwrap_or_default();
        if let Some(files) = listed_in(&manifest) {
            let before = read(&folder.join(MANIFEST)).unwrap_or_default();
            let Some(gone) = gone(&from, folder, &files, &before) else { continue };
            let files = files.iter().map(|(path, _)| Path::new(*path)).chain([Path::new(MANIFEST)]);
            take_places(&from, folder, files, &gone)?;
        }
        left.remove();
    }
    Ok(())
}

/// Of a folder whose package is being replaced the files that the new one does not have; nothing if a file is as neither package has it.
fn gone(from: &Path, folder: &Path, files: &[(&str, &str)], before: &[u8]) -> Option<Vec<PathBuf>> {
    let before = match before {
        [] => Vec::new(),
        manifest => listed_in(manifest)?,
    };
    let key = |path: PathBuf| read(&path).map(|bytes| ContentKey::of(&bytes).to_string());
    let of = |all: &[(&str, &str)], path: &str| {
        all.iter().find(|(other, _)| *other == path).map(|(_, key)| (*key).to_owned())
    };
    let is_plain = |path: &str| link_on_the_way(folder, Path::new(path)).is_none();
    let is_known = |path: &str| {
        let found = key(folder.join(path));
        let is = |all| found.is_some() && found == of(all, path);
        let is_before = is(&before) || !folder.join(path).exists();
        let is_to_come = of(files, path).is_none_or(|new| key(from.join(path)) == Some(new));
        is_plain(path) && (is(files) || is_before && is_to_come)
    };
    let all = files.iter().chain(&before).map(|(path, _)| *path);
    let is_whole = all.into_iter().all(is_known);
    let others = before.iter().filter(|(path, _)| of(files, path).is_none());
    is_whole.then(|| others.map(|(path, _)| folder.join(path)).collect())
}
