//! The folder of a cache: finding entries, replacing them, and keeping all of them within a bound.

use super::{CachedPlan, Found, Miss, NONE_KEPT, Part, PlanKey, read};
use crate::codes::{CACHE_ENTRY, NO_CACHE};
use rustc_hash::FxHasher;
use std::fs::{self, File};
use std::hash::Hasher as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::time::SystemTime;
use tempfile::NamedTempFile;
use wsp_core::limits::CACHE_BYTES;
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, Severity};
use wsp_kernel::CodeCache;

/// How names of entries end. No other file of the folder is read or removed.
const ENTRY: &str = ".wsp-plan";
/// How names of entries end that are being written, or were when a process was killed.
const PARTIAL: &str = ".wsp-partial";
/// Characters of the name of a program that names of its entries have.
const SHOWN: usize = 40;
/// Entries of one program that are compared with a key for which there is none.
const COMPARED: usize = 16;

/// A folder with what was compiled.
#[derive(Clone, Debug)]
pub struct PlanCache {
    folder: PathBuf,
    most_bytes: u64,
}

/// A file of the folder.
struct Stored {
    path: PathBuf,
    used: SystemTime,
    bytes: u64,
}

impl PlanCache {
    /// Takes a folder, which is made if it is not there; the folder around it must be there. Its entries have
    /// [`CACHE_BYTES`] at most.
    ///
    /// # Errors
    /// It cannot be made or written to, is no folder, or every user may write to it.
    pub fn open(folder: &Path) -> Result<PlanCache, Diagnostic> {
        let cache = PlanCache { folder: folder.to_owned(), most_bytes: CACHE_BYTES };
        let made = if folder.is_dir() { Ok(()) } else { make(folder) };
        made.and_then(|()| cache.partial().map(drop)).map_err(|fault| {
            let help = match fault.kind() {
                ErrorKind::NotFound => "make the folder around it first",
                _ => "give a folder that can be written to",
            };
            let message = format!("`{}` cannot be a cache of plans", folder.display());
            Diagnostic::error(NO_CACHE, message).note(fault.to_string()).help(help)
        })?;
        match is_open_to_all(folder) {
            false => Ok(cache),
            true => Err(Diagnostic::error(
                NO_CACHE,
                format!("`{}` may be written to by every user", folder.display()),
            )
            .note("entries hold machine code, which runs with your rights")
            .help(format!("close it: `chmod o-w {}`, or give a folder of your own", folder.display()))),
        }
    }

    /// With another bound on the bytes of all entries together.
    pub fn with_most_bytes(self, most_bytes: u64) -> PlanCache {
        PlanCache { most_bytes, ..self }
    }

    /// What is kept of a program.
    pub fn find(&self, key: PlanKey) -> CachedPlan {
        let (mut code, mut is_checked) = (CodeCache::default(), false);
        let path = self.path(&key);
        let miss = match self.load(&path).map(|bytes| read(&bytes, &key)) {
            Some(Ok(Found::Same { is_checked: was_checked, code: kept })) => {
                (code, is_checked) = (kept, was_checked);
                // An entry whose time cannot be set is taken for one that is used less often.
                let _ = File::options()
                    .write(true)
                    .open(&path)
                    .and_then(|file| file.set_modified(SystemTime::now()));
                None
            }
            Some(Ok(Found::Other(parts))) => Some(Miss::Differs(parts)),
            Some(Err(reason)) => Some(Miss::Damaged(reason.to_string())),
            None => Some(self.nearest(&key).map_or(Miss::New, Miss::Differs)),
        };
        let kept = AtomicUsize::new(if miss.is_none() { 0 } else { NONE_KEPT });
        CachedPlan { cache: self.clone(), key, miss, code, is_checked, kept }
    }

    /// The bytes of an entry. What is no regular file, or larger than all entries may be, is none.
    fn load(&self, path: &Path) -> Option<Vec<u8>> {
        let about = fs::metadata(path).ok()?;
        if !about.is_file() || about.len() > self.most_bytes {
            return None;
        }
        let mut bytes = Vec::new();
        File::open(path).ok()?.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// In what the entry of the same program differs that has the most in common with a key.
    fn nearest(&self, key: &PlanKey) -> Option<Vec<Part>> {
        let start = format!("{}-", shown(key.name()));
        let mut of_program = self.entries();
        of_program.retain(|entry| name_of(&entry.path).starts_with(&start));
        of_program.sort_by_key(|entry| std::cmp::Reverse(entry.used));
        let differences =
            of_program.iter().take(COMPARED).filter_map(|entry| match read(&self.load(&entry.path)?, key) {
                Ok(Found::Other(parts)) if !parts.is_empty() => Some(parts),
                _ => None,
            });
        differences.min_by_key(Vec::len)
    }

    /// Gives the entry of a key these bytes, and makes room for it.
    ///
    /// # Errors
    /// A note: it cannot be written.
    pub(super) fn keep(&self, key: &PlanKey, entry: &[u8]) -> Result<(), Diagnostic> {
        let note = |reason: String| {
            let message = format!("what was compiled of `{}` is not kept", key.name());
            Diagnostic::new(CACHE_ENTRY, Severity::Note, message).note(reason)
        };
        if entry.len() as u64 > self.most_bytes {
            let (has, most) = (counted(entry.len(), "byte"), self.most_bytes);
            return Err(note(format!("it has {has}, and the cache has room for {most}")));
        }
        self.write(&self.path(key), entry)
            .map_err(|fault| note(format!("`{}`: {fault}", self.folder.display())))
    }

    fn write(&self, path: &Path, entry: &[u8]) -> std::io::Result<()> {
        let mut file = self.partial()?;
        file.write_all(entry)?;
        file.persist(path).map_err(|fault| fault.error)?;
        self.make_room(path);
        Ok(())
    }

    /// A file beside the entries, for their owner only, which goes unless it is given a name.
    fn partial(&self) -> std::io::Result<NamedTempFile> {
        tempfile::Builder::new().prefix(".").suffix(PARTIAL).tempfile_in(&self.folder)
    }

    /// Removes what was used least recently, but not `newest`, until all entries are within the bound. What another process removes at
    /// the same time, or has open, is no fault.
    fn make_room(&self, newest: &Path) {
        let mut entries = self.entries();
        entries.sort_by_key(|entry| entry.used);
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries.iter().filter(|entry| entry.path != newest) {
            if bytes <= self.most_bytes {
                return;
            }
            let _ = fs::remove_file(&entry.path);
            bytes -= entry.bytes;
        }
    }

    /// Entries, and what processes that were killed have left of some.
    fn entries(&self) -> Vec<Stored> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let stored = files.filter_map(|file| {
            let (path, about) = (file.path(), file.metadata().ok()?);
            let name = name_of(&path);
            let is_ours = about.is_file() && (name.ends_with(ENTRY) || name.ends_with(PARTIAL));
            is_ours.then_some(Stored { used: about.modified().ok()?, bytes: about.len(), path })
        });
        stored.collect()
    }

    /// Where the entry of a key is.
    fn path(&self, key: &PlanKey) -> PathBuf {
        let mut hash = FxHasher::default();
        for word in key.words() {
            hash.write(word.as_bytes());
            hash.write_usize(word.len());
        }
        self.folder.join(format!("{}-{:016x}{ENTRY}", shown(key.name()), hash.finish()))
    }
}

/// Makes a folder for its owner only.
fn make(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // Another process may make it at the same time.
        Err(fault) if fault.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        made => made,
    }
}

/// Whether every user may put files into a folder.
#[cfg(unix)]
fn is_open_to_all(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(folder).is_ok_and(|about| about.permissions().mode() & 0o002 != 0)
}

#[cfg(not(unix))]
fn is_open_to_all(_: &Path) -> bool {
    false
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// The name of a program as names of its entries begin.
fn shown(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    name.chars().take(SHOWN).map(plain).collect()
}
