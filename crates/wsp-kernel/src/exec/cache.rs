//! Compiled code that several launches share.

use super::code::{Code, CompiledFunction, Op, What};
use super::native::{Image, Native};
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use wsp_memory::{Reader, Writer};

/// Programs that a cache keeps in memory, and beside them those that a generator or a kernel still holds.
const KEPT: usize = 512;
/// Programs with code that was read and not asked for, which are written beside those of this process.
const OLDER: usize = 64;

/// Code compiled for this machine, kept from launch to launch. Copies share what they keep; the last one frees it.
///
/// Launches of one module with the same parameters compile each function once, and count its steps together. What it keeps can be
/// written, and read by another process of the same build ([`machine`](Self::machine)).
#[derive(Clone, Default)]
pub struct CodeCache(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    programs: Vec<Arc<Shared>>,
    /// Code that was read and that no program of this process has asked for yet, the newest first.
    read: Vec<(Vec<u64>, Image)>,
    /// What became of programs that are kept no more.
    gone: CodeStatistics,
}

impl Entries {
    /// Makes room for a program: the oldest go that nothing holds.
    fn make_room(&mut self) {
        while self.programs.len() >= KEPT {
            let Some(at) = self.programs.iter().position(|one| Arc::strong_count(one) == 1) else { return };
            let oldest = self.programs.remove(at);
            self.gone.count(&oldest);
        }
    }
}

/// How much code there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CodeStatistics {
    /// Programs of which the machine code was read.
    pub taken: usize,
    /// Programs that this process has compiled.
    pub compiled: usize,
}

impl CodeStatistics {
    fn count(&mut self, one: &Shared) {
        match (one.is_compiled(), one.is_taken) {
            (false, _) => {}
            (true, true) => self.taken += 1,
            (true, false) => self.compiled += 1,
        }
    }
}

/// What runs of the same code share.
pub(crate) struct Shared {
    key: Vec<u64>,
    /// Steps interpreted so far.
    pub(crate) steps: AtomicU64,
    /// None within when the program is too large.
    pub(crate) native: OnceLock<Option<Native>>,
    /// Whether its code was read.
    is_taken: bool,
}

impl Shared {
    /// The compiled form, now at the latest; none when the program is too large.
    pub(crate) fn compiled(&self, program: &CompiledFunction) -> Option<&Native> {
        self.native.get_or_init(|| Native::compile(program)).as_ref()
    }

    fn is_compiled(&self) -> bool {
        matches!(self.native.get(), Some(Some(_)))
    }
}

impl CodeCache {
    /// What machine code depends on beside the program that it is of and the build of this crate: the compiler, its settings, and the
    /// instructions of this machine. Empty where nothing is compiled.
    pub fn machine() -> String {
        Native::machine()
    }

    /// How much code was read, and how much compiled.
    pub fn statistics(&self) -> CodeStatistics {
        let entries = self.entries();
        let mut statistics = entries.gone;
        entries.programs.iter().for_each(|one| statistics.count(one));
        statistics
    }

    /// For tests: programs that it knows, and those of them that are compiled.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize) {
        let programs = &self.entries().programs;
        (programs.len(), programs.iter().filter(|one| one.is_compiled()).count())
    }

    /// Writes all code of this process, and the newest of what was read and not asked for.
    pub fn write(&self, out: &mut Writer) {
        let entries = self.entries();
        let compiled =
            entries.programs.iter().filter_map(|one| Some((&one.key, one.native.get()?.as_ref()?.image()?)));
        let read = entries.read.iter().map(|(key, image)| (key, image)).take(OLDER);
        let all: Vec<(&Vec<u64>, &Image)> = compiled.chain(read).collect();
        out.list(&all, |out, (key, image)| {
            out.list(key, |out, word| out.u64(*word));
            image.write(out);
        });
    }

    /// Reads code that [`write`](Self::write) has written. Programs with that code need no compiler any more.
    ///
    /// The code runs as it is read: bytes must be those that the same build has written on a machine with the same
    /// [`machine`](Self::machine), which their reader has checked by a checksum and a key, and they are as trusted as the program itself.
    ///
    /// # Errors
    /// The bytes end early, or name what is not there; then nothing is taken.
    pub fn read(&self, input: &mut Reader<'_>) -> Result<(), String> {
        let read = input.list(16, |input| {
            let key = input.list(8, Reader::u64)?;
            let functions = key.first().map_or(0, |count| *count as usize);
            Ok((key, Image::read(input, functions)?))
        })?;
        self.entries().read = read;
        Ok(())
    }

    /// The entry of a program: an earlier one whose machine code is the same, else a fresh one.
    pub(crate) fn entry(&self, program: &CompiledFunction) -> Arc<Shared> {
        let key = key(program);
        let mut entries = self.entries();
        if let Some(entry) = entries.programs.iter().find(|entry| entry.key == key) {
            return entry.clone();
        }
        entries.make_room();
        let read = entries.read.iter().position(|(of, _)| *of == key);
        let taken = read.and_then(|at| Native::of(program, entries.read.remove(at).1));
        let is_taken = taken.is_some();
        let native = taken.map_or_else(OnceLock::new, |native| OnceLock::from(Some(native)));
        let entry = Arc::new(Shared { key, steps: AtomicU64::new(0), native, is_taken });
        entries.programs.push(entry.clone());
        entry
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // A panic leaves the lists whole: what is added is complete.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CodeCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CodeCache")
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("steps", &self.steps).field("native", &self.native).finish()
    }
}

/// Everything that machine code depends on. Each list has its length before it, so that no two programs have one key.
fn key(program: &CompiledFunction) -> Vec<u64> {
    let mut key = vec![program.funcs.len() as u64];
    for code in &program.funcs {
        function_key(code, &mut key);
    }
    key
}

fn function_key(code: &Code, key: &mut Vec<u64>) {
    let words = |key: &mut Vec<u64>, words: &[u32]| {
        key.push(words.len() as u64);
        key.extend(words.iter().map(|word| u64::from(*word)));
    };
    let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
    key.push(code.insts.len() as u64);
    for (i, origin) in code.insts.iter().zip(&code.origins) {
        let what = match (i.op, origin.what) {
            (Op::Binary, What::Binary(op)) => op as u32,
            (Op::Unary, What::Unary(op)) => op as u32,
            (Op::Math, What::Math(f)) => f as u32,
            (Op::Cast, What::From(ty)) => ty as u32,
            _ => 0,
        };
        key.push(pair((i.op as u32) << 16 | (i.ty as u32) << 8 | what, i.dst));
        key.push(pair(i.a, i.b));
    }
    key.push(code.template.len() as u64);
    key.extend(&code.template);
    key.push(code.fields.len() as u64);
    key.extend(code.fields.iter().map(|(_, slot)| u64::from(*slot)));
    key.push(code.calls.len() as u64);
    for site in &code.calls {
        key.push(site.func as u64);
        words(key, &site.args);
    }
    key.push(code.emits.len() as u64);
    for site in &code.emits {
        key.push(site.fields as u64);
        words(key, &site.words);
    }
    key.push(code.allocs.len() as u64);
    for site in &code.allocs {
        key.extend([site.set.0, site.tier, site.count, site.index].map(u64::from));
        words(key, &site.key);
    }
    key.push(code.tiers.len() as u64);
    for (thresholds, _) in &code.tiers {
        key.extend([u64::from(thresholds.default), thresholds.bounds.len() as u64]);
        key.extend(thresholds.bounds.iter().flat_map(|bound| [*bound as u64, (*bound >> 64) as u64]));
    }
    key.push(u64::from(code.tiles.is_empty()));
}
