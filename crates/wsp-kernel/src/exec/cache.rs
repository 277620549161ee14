//! Compiled code that several launches share.

use super::code::{Code, CompiledFunction, Op, What};
use super::native::Native;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Programs that a cache keeps.
const KEPT: usize = 64;

/// Code compiled for this machine, kept from launch to launch. Copies share what they keep; the last one frees it.
///
/// Launches of one module with the same parameters compile each function once, and count its steps together.
#[derive(Clone, Default)]
pub struct CodeCache(Arc<Mutex<Vec<Arc<Shared>>>>);

/// What runs of the same code share.
pub(crate) struct Shared {
    key: Vec<u64>,
    /// Steps interpreted so far.
    pub(crate) steps: AtomicU64,
    /// None within when the program is too large.
    pub(crate) native: OnceLock<Option<Native>>,
}

impl Shared {
    /// The compiled form, now at the latest; none when the program is too large.
    pub(crate) fn compiled(&self, program: &CompiledFunction) -> Option<&Native> {
        self.native.get_or_init(|| Native::compile(program)).as_ref()
    }
}

impl CodeCache {
    /// For tests: programs that it knows, and those of them that are compiled.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize) {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (entries.len(), entries.iter().filter(|entry| entry.native.get().is_some()).count())
    }

    /// The entry of a program: an earlier one whose machine code is the same, else a fresh one.
    pub(crate) fn entry(&self, program: &CompiledFunction) -> Arc<Shared> {
        let key = key(program);
        // A panic leaves the list whole: what is added is complete.
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.iter().find(|entry| entry.key == key) {
            return entry.clone();
        }
        if entries.len() >= KEPT {
            entries.remove(0);
        }
        let entry = Arc::new(Shared { key, steps: AtomicU64::new(0), native: OnceLock::new() });
        entries.push(entry.clone());
        entry
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
