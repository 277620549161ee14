//! What was compiled for a program, kept in a folder by what it was compiled from.
//!
//! A plan is made anew by each process: that takes a millisecond. What an entry keeps is what takes longer: machine code of the scalar parts
//! of generators and kernels, and that a check of all tasks found nothing ([decision 17](../../../../docs/decisions/0017-what-a-cache-of-plans-keeps.md)).
//!
//! An entry is of a [`PlanKey`], which it holds in full: it is used for a key that is equal, never for one with the same hash. Entries
//! hold no paths, so the folder may be moved. An entry is written beside its place and then given its name: another process finds an entry
//! that is whole, or none. When all entries together are larger than the bound, those that were used least recently go.
//!
//! Machine code runs as it is read. An entry that is damaged is not used, which its checksum shows; one that was forged runs with the rights
//! of the process. So entries can be read and written by their owner only, and a folder or an entry that belongs to another user, or that group
//! or others may write to, is refused.

mod folder;
mod key;
#[cfg(test)]
mod tests;

pub use folder::PlanCache;
pub(crate) use folder::refuse_others;
pub use key::{Part, PlanKey};

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use wsp_diag::{Diagnostic, Severity};
pub use wsp_kernel::{CodeCache, CodeStatistics};
use wsp_memory::{Form, Unreadable};
pub use wsp_memory::{Reader, Writer};

/// What every entry begins with.
const FORM: Form = Form { magic: *b"WSPP", version: 1, name: "entry of a cache of plans" };

/// Why nothing was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Miss {
    /// Nothing of this program is kept.
    New,
    /// Of entries of this program, the one that has the most in common with it differs in these parts.
    Differs(Vec<Part>),
    /// The entry is damaged.
    Damaged(String),
}

impl Miss {
    /// One word, for machines.
    pub fn word(&self) -> &'static str {
        match self {
            Miss::New => "new",
            Miss::Differs(_) => "differs",
            Miss::Damaged(_) => "damaged",
        }
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Miss::New => f.write_str("nothing is kept of this program"),
            Miss::Damaged(_) => f.write_str("the entry is damaged"),
            Miss::Differs(parts) => {
                let verb = if let [Part::Source | Part::Target | Part::Version] = parts[..] {
                    "differs"
                } else {
                    "differ"
                };
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                write!(f, "{} {verb}", parts.join(", "))
            }
        }
    }
}

/// What a cache had of a program, and what it gained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheUse {
    /// Why there was no entry; none where there was one.
    pub miss: Option<Miss>,
    /// Programs of scalar code whose machine code was there.
    pub taken: usize,
    /// Programs of scalar code that were compiled to machine code.
    pub compiled: usize,
}

impl fmt::Display for CacheUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&found(self.miss.as_ref()))?;
        write!(f, "; machine code of scalar functions: {} taken, {} compiled", self.taken, self.compiled)
    }
}

/// The place of a program in a cache: what was there, and what is to be kept.
#[derive(Debug)]
pub struct CachedPlan {
    cache: PlanCache,
    key: PlanKey,
    miss: Option<Miss>,
    code: CodeCache,
    is_checked: bool,
    /// Scalar functions that were compiled when the entry was written last; none where there is no entry.
    kept: AtomicUsize,
}

/// There is no entry.
const NONE_KEPT: usize = usize::MAX;

impl CachedPlan {
    /// Machine code: that of the entry, and that of what is compiled from now on. It goes into
    /// [`CpuSimBackend::code`](crate::backend::cpu::CpuSimBackend::code).
    pub fn code(&self) -> CodeCache {
        self.code.clone()
    }

    /// Whether a check of this program is known to have found nothing.
    pub fn is_checked(&self) -> bool {
        self.is_checked
    }

    /// Whether there was an entry, in words.
    pub fn found(&self) -> String {
        found(self.miss.as_ref())
    }

    /// What of the program was compiled, and what was there.
    pub fn statistics(&self) -> CacheUse {
        let CodeStatistics { taken, compiled } = self.code.statistics();
        CacheUse { miss: self.miss.clone(), taken, compiled }
    }

    /// What is worth a word: an entry that is damaged, and is replaced.
    pub fn note(&self) -> Option<Diagnostic> {
        let Some(Miss::Damaged(reason)) = &self.miss else { return None };
        let message = format!("the entry of `{}` in the cache is damaged, and is made anew", self.key.name());
        Some(Diagnostic::new(crate::codes::CACHE_ENTRY, Severity::Note, message).note(reason.clone()))
    }

    /// Keeps that a check of the program has found nothing.
    ///
    /// # Errors
    /// A note: the entry cannot be written. The program is none the worse for it.
    pub fn keep_checked(mut self) -> Result<(), Diagnostic> {
        if self.is_checked {
            return Ok(());
        }
        self.is_checked = true;
        self.cache.keep(&self.key, &self.entry())
    }

    /// Keeps what was compiled since the entry was found or written, if anything was; of a miss, that there is an entry.
    ///
    /// # Errors
    /// A note: the entry cannot be written. The program is none the worse for it.
    pub fn keep(&self) -> Result<(), Diagnostic> {
        let compiled = self.code.statistics().compiled;
        if self.kept.load(Ordering::Relaxed) != compiled {
            self.cache.keep(&self.key, &self.entry())?;
            // What could not be written is tried again by the next run.
            self.kept.store(compiled, Ordering::Relaxed);
        }
        Ok(())
    }

    fn entry(&self) -> Vec<u8> {
        FORM.write(|out| {
            self.key.write(out);
            out.u32(u32::from(self.is_checked));
            self.code.write(out);
        })
    }
}

/// Whether there was an entry, in words.
fn found(miss: Option<&Miss>) -> String {
    miss.map_or("hit".to_owned(), |miss| format!("miss, {miss}"))
}

/// What an entry says.
enum Found {
    /// It is of the key that was asked for.
    Same {
        /// Whether a check has found nothing.
        is_checked: bool,
        /// Its machine code.
        code: CodeCache,
    },
    /// It is of a key that differs in these parts.
    Other(Vec<Part>),
}

/// What an entry says of a key.
fn read(bytes: &[u8], key: &PlanKey) -> Result<Found, Unreadable> {
    FORM.read(bytes, |input| {
        let found = PlanKey::read(input)?;
        if found != *key {
            // Machine code of another machine is not looked at.
            input.rest();
            return Ok(Found::Other(key.differs(&found)));
        }
        let (is_checked, code) = (input.flag()?, CodeCache::default());
        code.read(input)?;
        Ok(Found::Same { is_checked, code })
    })
}
