//! The folder of a cache: finding entries, replacing them, and keeping all of them within a bound.

use super::{CachedPlan, Found, Miss, NONE_KEPT, Part, PlanKey, read};
use crate::codes::{CACHE_ENTRY, NO_CACHE};
use rustc_hash::FxHasher;
use std::fs::{self, File, Metadata};
use std::hash::Hasher as _;
use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::time::SystemTime;
use tempfile::NamedTempFile;
use wsp_core::limits::CACHE_BYTES;
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, Severity};
use wsp_kernel::CodeCache;
use wsp_ordered::Arrange;

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
    /// It cannot be made or written to, is no folder, belongs to another user, or others may write to it.
    pub fn open(folder: &Path) -> Result<PlanCache, Diagnostic> {
        let cache = PlanCache { folder: folder.to_owned(), most_bytes: CACHE_BYTES };
        let refused_for = |reason: String, help: &str| {
            let message = format!("`{}` cannot be a cache of plans", folder.display());
            Diagnostic::error(NO_CACHE, message).note(reason).help(help)
        };
        let refused = |fault: Error, help: &str| refused_for(fault.to_string(), help);
        const WRITABLE: &str = "give a folder that can be written to";
        if !folder.is_dir() {
            make(folder).map_err(|fault| match fault.kind() {
                ErrorKind::NotFound => refused(fault, "make the folder around it first"),
                // A file, or a link to what is not there.
                ErrorKind::AlreadyExists => {
                    refused_for("it is no folder".to_owned(), "give a folder, or a name that is free")
                }
                _ => refused(fault, WRITABLE),
            })?;
        }
        let about = fs::metadata(folder).map_err(|fault| refused(fault, WRITABLE))?;
        refuse_others(folder, &about)?;
        cache.partial().map_err(|fault| refused(fault, WRITABLE))?;
        Ok(cache)
    }

    /// With another bound on the bytes of all entries together.
    pub fn with_most_bytes(self, most_bytes: u64) -> PlanCache {
        PlanCache { most_bytes, ..self }
    }

    /// What is kept of a program.
    ///
    /// # Errors
    /// Its entry belongs to another user, or others may write to it.
    pub fn find(&self, key: PlanKey) -> Result<CachedPlan, Diagnostic> {
        let (mut code, mut is_checked) = (CodeCache::default(), false);
        let path = self.path(&key);
        let miss = match self.load(&path)?.map(|bytes| read(&bytes, &key)) {
            Some(Ok(Found::Same { is_checked: was_checked, code: kept })) => {
                (code, is_checked) = (kept, was_checked);
                // An entry whose time cannot be set is taken for one that is used less often.
                let _ = File::options()
                    .write(true)
                    .open(&path)
                    .and_then(|file| file.set_modified(SystemTime::now()));
                None
            }
            Some(Err(reason)) => Some(Miss::Damaged(reason.to_string())),
            Some(Ok(Found::Other(_))) | None => Some(self.nearest(&key).map_or(Miss::New, Miss::Differs)),
        };
        let kept = AtomicUsize::new(if miss.is_none() { 0 } else { NONE_KEPT });
        Ok(CachedPlan { cache: self.clone(), key, miss, code, is_checked, kept })
    }

    /// The bytes of an entry. What is no regular file, or larger than all entries may be, is none.
    ///
    /// # Errors
    /// It belongs to another user, or others may write to it.
    fn load(&self, path: &Path) -> Result<Option<Vec<u8>>, Diagnostic> {
        let is_entry = |about: &Metadata| about.is_file() && about.len() <= self.most_bytes;
        // A pipe is not opened.
        let is_there = fs::metadata(path).is_ok_and(|about| is_entry(&about));
        let Some(mut file) = is_there.then(|| File::open(path).ok()).flatten() else { return Ok(None) };
        let Ok(about) = file.metadata() else { return Ok(None) };
        refuse_others(path, &about)?;
        let mut bytes = Vec::new();
        Ok(file.read_to_end(&mut bytes).ok().map(|_| bytes))
    }

    /// In what the entry of the same program differs that has the most in common with a key.
    fn nearest(&self, key: &PlanKey) -> Option<Vec<Part>> {
        let start = format!("{}-", shown(key.name()));
        let mut of_program = self.entries();
        of_program.retain(|entry| name_of(&entry.path).starts_with(&start));
        of_program.arrange_by_key(|entry| std::cmp::Reverse(entry.used));
        let differences = of_program.iter().take(COMPARED).filter_map(|entry| {
            match read(&self.load(&entry.path).ok()??, key) {
                Ok(Found::Other(parts)) if !parts.is_empty() => Some(parts),
                _ => None,
            }
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
        entries.arrange_by_key(|entry| entry.used);
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

/// Refuses a folder or an entry that another user can have filled.
#[cfg(unix)]
pub(crate) fn refuse_others(path: &Path, about: &Metadata) -> Result<(), Diagnostic> {
    use std::os::unix::fs::MetadataExt as _;
    let (user, owner, shown) = (nix::unistd::geteuid().as_raw(), about.uid(), path.display());
    let (what, help) = if owner != user {
        let what = format!("`{shown}` belongs to user {owner}, and this process runs as user {user}");
        (what, "give a folder of your own".to_owned())
    } else if about.mode() & 0o022 != 0 {
        let what = format!("others may write to `{shown}`: its mode is {:04o}", about.mode() & 0o7777);
        (
            what,
            format!(
                "give a folder of your own, or close it if you trust what is there: `chmod go-w {shown}`"
            ),
        )
    } else {
        return Ok(());
    };
    let note = "entries of a cache hold machine code, which runs with your rights";
    Err(Diagnostic::error(NO_CACHE, what).note(note).help(help))
}

#[cfg(not(unix))]
pub(crate) fn refuse_others(_: &Path, _: &Metadata) -> Result<(), Diagnostic> {
    Ok(())
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// The name of a program as names of its entries begin.
fn shown(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    name.chars().take(SHOWN).map(plain).collect()
}
