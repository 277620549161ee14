//! Folders that are filled once and kept, for other processes too: what was built is found in them, made anew where it was damaged, and put in
//! its place whole.

use crate::codes::{CACHE_ENTRY, NOT_BUILT};
use crate::shared::leftover::whole;
use crate::shared::shell::shell_word;
use crate::shared::work_folder::{WorkFolder, discard};
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use wsp_backend::ContentKey;
use wsp_diag::{Diagnostic, Severity};

/// The content key of what was built, as it was built.
const BUILT: &str = "run.key";
/// How names of folders begin that are being filled, or were when a process was killed.
const PARTIAL: &str = "partial-";
/// How often a folder is put in its place while other processes put theirs there, or remove a damaged one.
const TRIES: u32 = 3;

pub(super) fn not_written(path: &Path, fault: &Error) -> Diagnostic {
    let refused = Diagnostic::error(NOT_BUILT, format!("`{}` cannot be written", path.display()));
    let refused = refused.note(fault.to_string());
    match fault.kind() {
        ErrorKind::ReadOnlyFilesystem | ErrorKind::StorageFull | ErrorKind::PermissionDenied => {
            refused.help("name another cache folder, with room, in XDG_CACHE_HOME")
        }
        _ => refused,
    }
}

/// Makes a folder, and those around it, for their owner only.
pub(super) fn make(folder: &Path) -> Result<(), Diagnostic> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder).map_err(|fault| not_written(folder, &fault))
}

/// A folder that is gone when it is no longer used, for its owner only: what is kept comes of it.
pub(super) fn temporary(within: &Path) -> Result<WorkFolder, Diagnostic> {
    static NAMED: AtomicU32 = AtomicU32::new(0);
    // Relaxed: the counter only makes names differ.
    let number = || NAMED.fetch_add(1, Ordering::Relaxed);
    let mut name = || within.join(format!("{PARTIAL}{}-{}", std::process::id(), number()));
    make(within)?;
    let made = WorkFolder::new(&mut name).map_err(|fault| not_written(within, &fault))?;
    // Some file systems have no permissions to give.
    #[cfg(unix)]
    let _ = fs::set_permissions(made.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700));
    Ok(made)
}

/// Fills a temporary folder: within the first of two where that is possible, else within the one for temporary files of the system, whose other
/// content is not of this program.
pub(super) fn filled(
    [first, system]: [&Path; 2],
    fill: impl Fn(&Path) -> Result<(), Diagnostic>,
) -> Result<WorkFolder, Diagnostic> {
    let within = |all: &Path| temporary(all).and_then(|made| fill(made.path()).map(|()| made));
    within(first).or_else(|fault| {
        discard_old(system);
        within(system).map_err(|_| fault)
    })
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

/// The bytes of a file; none of anything else: to open a pipe is to wait for what writes to it, and a device may have no end.
fn bytes(path: &Path) -> Option<Vec<u8>> {
    fs::metadata(path).ok().filter(Metadata::is_file)?;
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

/// Refuses what has the name of a folder that is to be filled: it would be found when all is compiled.
///
/// # Errors
/// A file or a pipe, or a link that leads to no folder.
pub(super) fn refuse_taken(folder: &Path) -> Result<(), Diagnostic> {
    if fs::symlink_metadata(folder).is_err() || folder.is_dir() {
        return Ok(());
    }
    let message =
        format!("`{}` is no folder, and what is built is kept in one of this name", folder.display());
    Err(Diagnostic::error(NOT_BUILT, message).help(format!("remove it: `rm {}`", shell_word(folder))))
}

/// Says of a folder that is there, and not as it was built, that it is not used.
pub(super) fn damage(folder: &Path, files: &[String]) -> Option<Diagnostic> {
    fs::symlink_metadata(folder).ok()?;
    let why = |name: &&str| match fs::metadata(folder.join(name)) {
        Ok(about) if about.is_file() => None,
        Ok(_) => Some(format!("`{name}` is no regular file")),
        Err(fault) => Some(format!("`{name}`: {fault}")),
    };
    let why = [BUILT].into_iter().chain(files.iter().map(String::as_str)).find_map(|name| why(&name));
    let message = format!("`{}` is not as it was built, and is built anew", folder.display());
    let note = Diagnostic::new(CACHE_ENTRY, Severity::Note, message);
    Some(note.note(why.unwrap_or_else(|| format!("`{BUILT}` does not fit"))))
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
            return Err(not_written(folder, &fault).help(format!("remove `{}`", folder.display())));
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
    fn where_the_cache_takes_no_files_folders_of_others_beside_temporary_ones_stay() {
        let all = tempfile::tempdir().expect("a folder can be made");
        let [cache, system] = ["cache", "system"].map(|name| all.path().join(name));
        let [mine, left] = ["partial-mine", "partial-1-0"].map(|name| system.join(name));
        fs::create_dir_all(&mine).expect("a folder can be made");
        WorkFolder::new(&mut || left.clone()).expect("a folder can be made").keep();
        // The folder can be made, and has no room, as on a full disk.
        let fill = |folder: &Path| match folder.starts_with(&cache) {
            true => Err(not_written(folder, &ErrorKind::StorageFull.into())),
            false => Ok(()),
        };
        let made = filled([&cache, &system], fill).expect("there is room elsewhere");
        assert!(made.path().starts_with(&system) && mine.is_dir() && !left.exists());
        assert_eq!(fs::read_dir(&cache).expect("it was made").count(), 0);
        let fault = filled([&cache; 2], fill).expect_err("there is room nowhere");
        assert!(fault.help[0].contains("XDG_CACHE_HOME"), "{:?}", fault.help);
    }

    #[test]
    fn a_place_that_stays_taken_is_a_fault_with_its_name() {
        let all = tempfile::tempdir().expect("a folder can be made");
        let filled = folder_with(all.path(), "own", "own");
        fs::write(all.path().join("file"), "taken").expect("the folder can be written to");
        let fault = place(&filled, &all.path().join("file"), |_| Ok(false)).expect_err("a file is there");
        assert!(fault.message.contains("file` cannot be written"), "{}", fault.message);
        assert!(fault.help[0].contains("remove `"), "{:?}", fault.help);
        assert_eq!(bytes(&all.path().join("file")).as_deref(), Some(&b"taken"[..]));
    }

    /// Whether a thread of this process waits for something.
    #[cfg(target_os = "linux")]
    fn waits(thread: nix::unistd::Pid) -> bool {
        let about = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
        about.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('S'))
    }

    /// As a signal does that ends the program while another thread is about to write.
    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_is_written_into_a_folder_that_a_signal_removes() {
        let all = tempfile::tempdir().expect("a folder can be made");
        let folder = temporary(all.path()).expect("a folder can be made");
        let within = folder.path().to_owned();
        let (tell, told) = std::sync::mpsc::channel();
        let work = move || {
            tell.send(nix::unistd::gettid()).expect("it is waited for");
            write(&within, Path::new("in/file"), b"text")
        };
        let writing = whole(|| {
            let writing = std::thread::spawn(work);
            let thread = told.recv().expect("it has begun");
            while !writing.is_finished() && !waits(thread) {
                std::thread::yield_now();
            }
            fs::remove_dir_all(folder.path()).expect("it is there");
            // A process ends here, and holds what the other thread waits for.
            assert!(!writing.is_finished() && !folder.path().exists(), "it was written to meanwhile");
            writing
        });
        writing.join().expect("it ends").expect("nothing hinders it any more");
    }
}
