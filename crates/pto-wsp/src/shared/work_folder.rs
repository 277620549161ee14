//! Folders that processes fill, and what is left of them when a process was killed.

use super::leftover::{Leftover, is_at, whole};
use std::fs::{DirEntry, File, Metadata, Permissions, TryLockError};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a folder does not change before its process is taken to be gone, where no lock tells.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder with all files in the one of a process. What else lies there is of the user, who may have called a folder so.
const FILES: &str = ".wsp-files";

/// A folder that this process fills. It goes when this is dropped or a signal ends the program; of a process that was killed, by [`discard`].
#[derive(Debug)]
pub struct WorkFolder {
    folder: PathBuf,
    files: PathBuf,
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
                let files = path.join(FILES);
                let made = WorkFolder { folder: path, files, is_kept: false, opened, _leftover: leftover };
                whole(|| make_writable(&made.files))?;
                return Ok(made);
            }
        }
    }

    /// Where its files are.
    pub fn path(&self) -> &Path {
        &self.files
    }

    /// Leaves it as that of a process that was killed.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // Where another process took it for one that was left, the folder of this name is not that of this process.
        if !self.is_kept && is_at(&self.opened, &self.folder) {
            // What cannot be removed is not worth a message.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// A [`WorkFolder`] whose process is gone. No other process takes it before this is dropped.
pub struct Abandoned {
    path: PathBuf,
    _opened: File,
}

impl Abandoned {
    /// The folder of a name; none where its process may still be there, and where it is one of the user.
    pub fn at(path: &Path) -> Option<Abandoned> {
        std::fs::symlink_metadata(path).ok().filter(Metadata::is_dir)?;
        let folder = File::open(path).ok()?;
        let is_free = match folder.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            // The file system has no locks, or none of what is open to be read.
            Err(TryLockError::Error(_)) => {
                let files = std::fs::symlink_metadata(path.join(FILES));
                is_old(&folder.metadata().ok()?) && files.as_ref().map_or(true, is_old)
            }
        };
        let is_left = is_free && is_at(&folder, path) && is_of_process(path);
        is_left.then(|| Abandoned { path: path.to_owned(), _opened: folder })
    }

    /// Where its files are.
    pub fn files(&self) -> PathBuf {
        self.path.join(FILES)
    }

    /// Removes it; what cannot be removed stays.
    pub fn remove(self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Makes a folder with the permissions that the umask gives, which its owner may write to whatever that is.
fn make_writable(path: &Path) -> Result<()> {
    std::fs::create_dir(path)?;
    let mode = std::fs::symlink_metadata(path)?.permissions().mode();
    if mode & 0o700 == 0o700 {
        return Ok(());
    }
    std::fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 | 0o700))
}

/// Whether a folder holds what a [`WorkFolder`] does, and nothing else. An empty one may be of the user: it stays, even where a process was killed
/// before it made the folder of its files.
fn is_of_process(path: &Path) -> bool {
    let is_files =
        |entry: DirEntry| entry.file_name() == FILES && entry.file_type().is_ok_and(|kind| kind.is_dir());
    let all: Option<Vec<bool>> =
        std::fs::read_dir(path).ok().map(|all| all.map(|entry| entry.is_ok_and(is_files)).collect());
    all.is_some_and(|all| all == [true])
}

/// Removes a [`WorkFolder`] whose process is gone.
pub fn discard(path: &Path) {
    if let Some(left) = Abandoned::at(path) {
        left.remove();
    }
}

/// Whether a folder has not changed for a day.
fn is_old(about: &Metadata) -> bool {
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

    #[test]
    fn its_owner_may_write_to_it_and_others_see_nothing_of_it() {
        let around = tempfile::tempdir().unwrap();
        let folder = WorkFolder::new(&mut || around.path().join("partial")).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&around.path().join("partial")), 0o700);
        assert_eq!(mode(folder.path()) & 0o700, 0o700);
    }

    #[test]
    fn a_folder_of_the_user_is_none_of_a_process_whatever_its_name() {
        let around = tempfile::tempdir().unwrap();
        let path = around.path().join("partial");
        WorkFolder::new(&mut || path.clone()).unwrap().keep();
        std::fs::create_dir(path.join("mine")).unwrap();
        discard(&path);
        assert!(path.join("mine").is_dir() && path.join(FILES).is_dir());
        std::fs::remove_dir(path.join("mine")).unwrap();
        discard(&path);
        assert!(!path.exists());
        std::fs::create_dir(&path).unwrap();
        discard(&path);
        assert!(path.is_dir(), "an empty folder may be of the user");
    }
}
