//! A host that looks at everything it is handed, and now and then refuses or has no value yet.

use wsp_core::SlotId;
use wsp_core::ptow::interp::{Host, Ordered, Task};

/// A hash: FNV-1a over 64-bit words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hash(u64);

impl Hash {
    /// The hash of bytes.
    pub(crate) fn of(bytes: &[u8]) -> u64 {
        bytes.iter().fold(Hash(0xCBF2_9CE4_8422_2325), |hash, byte| hash.with(u64::from(*byte))).finish()
    }

    fn with(self, word: u64) -> Hash {
        Hash((self.0 ^ word).wrapping_mul(0x0000_0100_0000_01B3))
    }

    fn finish(self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
}

/// Remembers what it took.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    seed: u64,
    calls: u64,
    last: Option<u64>,
    /// Tasks taken.
    pub(crate) taken: u64,
    /// The ordinal and a hash of each task.
    pub(crate) tasks: Vec<(u64, u64)>,
}

impl Recorder {
    /// A host whose moods follow from a number.
    pub(crate) fn new(seed: u64) -> Recorder {
        Recorder { seed, calls: 0, last: None, taken: 0, tasks: Vec::new() }
    }

    /// True now and then.
    fn mood(&mut self) -> bool {
        self.calls += 1;
        self.seed.wrapping_mul(self.calls | 1).rotate_left(17).is_multiple_of(7)
    }
}

impl Host for Recorder {
    type Stop = ();

    fn task(&mut self, task: &Task<'_>) -> Result<(), ()> {
        if self.mood() {
            return Err(());
        }
        assert!(self.last.is_none_or(|last| last < task.ordinal), "ordinals increase");
        assert_eq!(task.regions.len(), task.modes.len());
        let mut hash = Hash(u64::from(task.site)).with(task.kernel.index() as u64).with(task.priority as u64);
        hash = hash.with(task.pool as u64).with(u64::from(task.stream.unwrap_or(u16::MAX)));
        for value in task.params.iter().chain(task.vars).chain(task.indices) {
            hash = hash.with(*value as u64);
        }
        for region in task.regions {
            for (lo, hi) in region.lo.iter().zip(&region.hi) {
                assert!(lo <= hi, "a region does not end before it begins");
                hash = hash.with(u64::from(*lo)).with(u64::from(*hi));
            }
        }
        for after in task.after {
            assert!(*after < task.ordinal, "tasks wait for earlier ones");
            hash = hash.with(*after);
        }
        self.last = Some(task.ordinal);
        self.taken += 1;
        self.tasks.push((task.ordinal, hash.finish()));
        Ok(())
    }

    fn ordered(&mut self, _: Ordered, _: u64) -> Result<(), ()> {
        if self.mood() { Err(()) } else { Ok(()) }
    }

    fn slot(&mut self, slot: SlotId, ordinal: u64) -> Option<i64> {
        // Both modes see the same value, whenever they ask.
        let value = self.seed.rotate_left((slot.index() as u32 ^ ordinal as u32) % 64);
        let value = if value.is_multiple_of(3) { (value % 5) as i64 } else { value as i64 };
        if self.mood() { None } else { Some(value) }
    }

    fn plan(&mut self, generator: u16, ordinal: u64) -> Result<Option<u64>, ()> {
        if self.mood() {
            return Err(());
        }
        let kind = self.seed.wrapping_add(u64::from(generator)).wrapping_add(ordinal) % 9;
        Ok(match kind {
            0 => None,
            1 => Some(u64::MAX),
            tasks => Some(tasks),
        })
    }
}
