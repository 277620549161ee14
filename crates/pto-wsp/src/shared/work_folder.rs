//! Folders that processes fill, and what is left of them when a process was killed.

use super::leftover::{Leftover, is_at};
use std::fs::{File, Metadata, TryLockError};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a file or folder does not change before its process is taken to be gone, where no lock tells.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder that this process fills. It goes when this is dropped or a signal ends the program; of a process that was killed, by [`discard`].
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    is_kept: bool,
    /// Locked as long as the process lives. Its number would say less: those of other containers are not known here.
    opened: Arc<File>,
    _leftover: Leftover,
}

impl WorkFolder {
    /// Makes a folder of the first of some names that nothing has.
    ///
    /// # Errors
    /// As [`std::fs::create_dir`].
    pub fn new(names: &mut dyn FnMut() -> PathBuf) -> Result<WorkFolder> {
        loop {
            let path = names();
            let (leftover, opened) = match Leftover::new_folder(&path) {
                Err(fault) if fault.kind() == ErrorKind::AlreadyExists => continue,
                made => made?,
            };
            // Where the file system has no locks no process takes the folder before it is old.
            let _ = opened.lock();
            // Before it had its lock another process may have taken it for one that is left.
            if is_at(&opened, &path) {
                return Ok(WorkFolder { path, is_kept: false, opened, _leftover: leftover });
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it as that of a process that was killed.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // One that got another name is no leftover, and a process with the same number may have made one of the name that it had.
        if !self.is_kept && is_at(&self.opened, &self.path) {
            // What cannot be removed is not worth a message.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// A [`WorkFolder`] whose process is gone; none where it may still be there. As long as the file is open no other process takes the folder.
pub fn abandoned(path: &Path) -> Option<File> {
    std::fs::symlink_metadata(path).ok().filter(Metadata::is_dir)?;
    let folder = File::open(path).ok()?;
    let is_free = match folder.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        // The file system has no locks, or none of what is open to be read.
        Err(TryLockError::Error(_)) => is_old(&folder.metadata().ok()?),
    };
    (is_free && is_at(&folder, path)).then_some(folder)
}

/// Removes a [`WorkFolder`] whose process is gone.
pub fn discard(path: &Path) {
    if let Some(_lock) = abandoned(path) {
        let _ = std::fs::remove_dir_all(path);
    }
}

/// Whether a file or folder has not changed for a day.
pub fn is_old(about: &Metadata) -> bool {
    let since = about.modified().ok().and_then(|changed| changed.elapsed().ok());
    since.is_some_and(|since| since > ABANDONED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_has_the_name_of_one_before_is_not_removed_with_that() {
        let around = tempfile::tempdir().unwrap();
        let path = around.path().join("partial");
        let folder = WorkFolder::new(&mut || path.clone()).unwrap();
        std::fs::rename(&path, around.path().join("whole")).unwrap();
        std::fs::create_dir(&path).unwrap();
        drop(folder);
        assert!(path.is_dir());
        // One that has its name still is.
        std::fs::remove_dir(&path).unwrap();
        drop(WorkFolder::new(&mut || path.clone()).unwrap());
        assert!(!path.exists());
    }
}
