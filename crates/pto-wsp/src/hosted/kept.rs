//! Folders that are filled once and kept, for other processes too: what was built is found in them, made anew where it was damaged, and put in
//! its place whole.

use crate::codes::NOT_BUILT;
use crate::shared::leftover::whole;
use crate::shared::work_folder::{WorkFolder, discard};
use std::fs::{self, File};
use std::io::{Error, Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use wsp_backend::ContentKey;
use wsp_diag::Diagnostic;

/// The content key of what was built, as it was built.
const BUILT: &str = "run.key";
/// How names of folders begin that are being filled, or were when a process was killed.
const PARTIAL: &str = "partial-";
/// How often a folder is put in its place while other processes put theirs there, or remove a damaged one.
const TRIES: u32 = 3;

pub(super) fn not_written(path: &Path, fault: &Error) -> Diagnostic {
    Diagnostic::error(NOT_BUILT, format!("`{}` cannot be written", path.display())).note(fault.to_string())
}

/// A folder that is gone when it is no longer used.
pub(super) fn temporary(within: &Path) -> Result<WorkFolder, Diagnostic> {
    static NAMED: AtomicU32 = AtomicU32::new(0);
    // Relaxed: the counter only makes names differ.
    let number = || NAMED.fetch_add(1, Ordering::Relaxed);
    let mut name = || within.join(format!("{PARTIAL}{}-{}", std::process::id(), number()));
    let made = fs::create_dir_all(within).and_then(|()| WorkFolder::new(&mut name));
    made.map_err(|fault| not_written(within, &fault))
}

/// Each file is written whole before a signal ends the program: none comes into a folder that is being removed, or makes it anew.
pub(super) fn write(folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    let path = folder.join(path);
    let made = || {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        File::create(&path)?.write_all(bytes)
    };
    whole(made).map_err(|fault| not_written(&path, &fault))
}

fn bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The content key of files that were built, which stands beside them.
fn key_of(folder: &Path, files: &[String]) -> Option<Vec<u8>> {
    let mut key = ContentKey::default();
    for file in files {
        key.add(&bytes(&folder.join(file))?);
    }
    Some(key.to_string().into_bytes())
}

/// Notes what was built in a folder.
pub(super) fn note(folder: &Path, files: &[String]) -> Result<(), Diagnostic> {
    write(folder, Path::new(BUILT), &key_of(folder, files).unwrap_or_default())
}

/// Whether a folder has files that were built, and they were not changed since.
///
/// # Errors
/// The folder belongs to another user, or others may write to it.
pub(super) fn are_there(folder: &Path, files: &[String]) -> Result<bool, Diagnostic> {
    let Ok(about) = fs::metadata(folder) else { return Ok(false) };
    crate::cache::refuse_others(folder, &about)?;
    Ok(bytes(&folder.join(BUILT)).is_some_and(|key| Some(key) == key_of(folder, files)))
}

/// Removes what builds left that were killed.
pub(super) fn discard_old(folder: &Path) {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    let partial = all.filter(|entry| entry.file_name().to_string_lossy().starts_with(PARTIAL));
    partial.for_each(|entry| discard(&entry.path()));
}

/// Puts a folder that was filled in its place, and one that is damaged out of it. Another process may do both meanwhile: what it puts there is the same.
pub(super) fn place(
    filled: &Path,
    folder: &Path,
    is_there: impl Fn(&Path) -> Result<bool, Diagnostic>,
) -> Result<(), Diagnostic> {
    let mut tries = 1;
    loop {
        let Err(fault) = whole(|| fs::rename(filled, folder)) else { return Ok(()) };
        if is_there(folder)? {
            return Ok(());
        }
        if tries == TRIES {
            return Err(not_written(folder, &fault));
        }
        tries += 1;
        // What another process has removed meanwhile is no fault, and what cannot be removed is one of the next try.
        let _ = fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a file stands where a folder is to be")]
mod tests {
    use super::*;

    fn folder_with(within: &Path, name: &str, text: &str) -> std::path::PathBuf {
        let folder = within.join(name);
        write(&folder, Path::new("file"), text.as_bytes()).expect("the folder can be written to");
        folder
    }

    #[test]
    fn a_damaged_folder_that_another_process_removes_or_replaces_is_no_fault() {
        let all = tempfile::tempdir().expect("a folder can be made");
        let [damaged, filled] = ["damaged", "own"].map(|text| folder_with(all.path(), text, text));
        // Between the look and the removal.
        let removed = |folder: &Path| {
            fs::remove_dir_all(folder).expect("it is there");
            Ok(false)
        };
        place(&filled, &damaged, removed).expect("there is room for it");
        assert_eq!(bytes(&damaged.join("file")).as_deref(), Some(&b"own"[..]));
        // A good one of another process stays.
        let filled = folder_with(all.path(), "late", "late");
        place(&filled, &damaged, |_| Ok(true)).expect("one is there");
        assert_eq!(bytes(&damaged.join("file")).as_deref(), Some(&b"own"[..]));
    }

    #[test]
    fn a_place_that_stays_taken_is_a_fault_with_its_name() {
        let all = tempfile::tempdir().expect("a folder can be made");
        let filled = folder_with(all.path(), "own", "own");
        fs::write(all.path().join("file"), "taken").expect("the folder can be written to");
        let fault = place(&filled, &all.path().join("file"), |_| Ok(false)).expect_err("a file is there");
        assert!(fault.message.contains("file` cannot be written"), "{}", fault.message);
        assert_eq!(bytes(&all.path().join("file")).as_deref(), Some(&b"taken"[..]));
    }
}
