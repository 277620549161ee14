//! The logical cores of a device: which are free, and which a block gets.

use super::config::{CoreCounts, MAX_AIV_PER_AIC};
use wsp_core::tg::CoreType;

/// Consecutive cores of one type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreRange {
    /// The first.
    pub start: u32,
    /// How many.
    pub count: u32,
}

impl CoreRange {
    /// The core after the last.
    pub(crate) fn end(self) -> u32 {
        self.start.saturating_add(self.count)
    }

    /// What both have.
    pub(crate) fn intersect(self, other: CoreRange) -> CoreRange {
        let start = self.start.max(other.start);
        CoreRange { start, count: self.end().min(other.end()).saturating_sub(start) }
    }

    /// Part `part` of `parts` parts of nearly equal size.
    pub(crate) fn part(self, part: u32, parts: u32) -> CoreRange {
        let at = |i: u32| (u64::from(self.count) * u64::from(i) / u64::from(parts.max(1))) as u32;
        CoreRange { start: self.start + at(part), count: at(part + 1) - at(part) }
    }
}

/// How many cores of each type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Granted {
    /// Cube cores.
    pub aic: u32,
    /// Vector cores.
    pub aiv: u32,
    /// Threads of the AICPU.
    pub aicpu: u32,
}

/// The cores that a block holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cores {
    aic: u32,
    aiv: [u32; MAX_AIV_PER_AIC as usize],
    aivs: u8,
    aicpu: u32,
}

const NONE: u32 = u32::MAX;

impl Cores {
    /// No core: for what is no block.
    pub const NONE: Cores = Cores { aic: NONE, aiv: [NONE; MAX_AIV_PER_AIC as usize], aivs: 0, aicpu: NONE };

    /// The cube core.
    pub fn aic(&self) -> Option<u32> {
        (self.aic != NONE).then_some(self.aic)
    }

    /// The vector cores.
    pub fn aiv(&self) -> &[u32] {
        &self.aiv[..usize::from(self.aivs)]
    }

    /// The thread of the AICPU.
    pub fn aicpu(&self) -> Option<u32> {
        (self.aicpu != NONE).then_some(self.aicpu)
    }

    fn push_aiv(&mut self, core: u32) {
        self.aiv[usize::from(self.aivs)] = core;
        self.aivs += 1;
    }
}

/// Cores of each type that a block of the type holds.
pub(crate) fn per_block(core_type: CoreType, counts: &CoreCounts) -> Granted {
    match core_type {
        CoreType::Aic => Granted { aic: 1, ..Granted::default() },
        CoreType::Aiv => Granted { aiv: 1, ..Granted::default() },
        CoreType::AicAiv => Granted { aic: 1, aiv: counts.aiv_per_aic, aicpu: 0 },
        CoreType::Aicpu => Granted { aicpu: 1, ..Granted::default() },
    }
}

/// Where the blocks of a kernel may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Allowed {
    pub(crate) aic: CoreRange,
    pub(crate) aiv: CoreRange,
    pub(crate) aicpu: CoreRange,
    /// Most blocks at once.
    pub(crate) at_once: u32,
    /// Whether block `b` runs on the cores number `b % at_once` and nowhere else.
    pub(crate) pinned: bool,
    /// Whether cores of resident kernels are as good as others.
    pub(crate) over_reserved: bool,
}

impl Allowed {
    /// Anywhere on the device.
    pub(crate) fn anywhere(counts: &CoreCounts) -> Allowed {
        let all = |count| CoreRange { start: 0, count };
        let (aic, aiv, aicpu) = (all(counts.aic), all(counts.aiv), all(counts.aicpu));
        Allowed { aic, aiv, aicpu, at_once: u32::MAX, pinned: false, over_reserved: false }
    }

    /// Blocks that the ranges hold at once.
    pub(crate) fn fit(&self, core_type: CoreType, counts: &CoreCounts) -> u32 {
        let unit = per_block(core_type, counts);
        let fit = |range: CoreRange, each: u32| range.count.checked_div(each).unwrap_or(u32::MAX);
        fit(self.aic, unit.aic).min(fit(self.aiv, unit.aiv)).min(fit(self.aicpu, unit.aicpu))
    }
}

/// Cores of one type.
#[derive(Clone, Debug)]
struct Pool {
    /// A bit per core, set if it is free.
    free: Vec<u64>,
    /// A bit per core, set if a resident kernel has it for itself.
    reserved: Vec<u64>,
    count: u32,
}

impl Pool {
    fn new(count: u32) -> Pool {
        let words = count.div_ceil(64) as usize;
        let mut pool = Pool { free: vec![0; words], reserved: vec![0; words], count };
        (0..count).for_each(|core| pool.put(core));
        pool
    }

    fn put(&mut self, core: u32) {
        self.free[core as usize / 64] |= 1 << (core % 64);
    }

    fn take(&mut self, core: u32) {
        self.free[core as usize / 64] &= !(1 << (core % 64));
    }

    fn is_free(&self, core: u32) -> bool {
        core < self.count && self.free[core as usize / 64] >> (core % 64) & 1 == 1
    }

    /// The first free core of the range that is not reserved, or, if all of the range is reserved, the first free one.
    fn first(&self, range: CoreRange, over_reserved: bool) -> Option<u32> {
        let range = range.intersect(CoreRange { start: 0, count: self.count });
        let lowest = |bits: &dyn Fn(usize) -> u64| {
            (range.start / 64..range.end().div_ceil(64)).find_map(|word| {
                let bits = bits(word as usize) & mask(range, word);
                (bits != 0).then(|| word * 64 + bits.trailing_zeros())
            })
        };
        if range.count == 0 {
            return None;
        }
        let open = lowest(&|word| self.free[word] & !self.reserved[word]);
        let all_reserved = || over_reserved || lowest(&|word| !self.reserved[word]).is_none();
        open.or_else(|| if all_reserved() { lowest(&|word| self.free[word]) } else { None })
    }

    fn reserve(&mut self, core: u32, reserve: bool) {
        let (word, bit) = (core as usize / 64, 1 << (core % 64));
        if reserve { self.reserved[word] |= bit } else { self.reserved[word] &= !bit }
    }
}

/// The bits of a range in a word.
fn mask(range: CoreRange, word: u32) -> u64 {
    let from = range.start.saturating_sub(word * 64);
    let to = range.end().saturating_sub(word * 64).min(64);
    let below = |bit: u32| if bit >= 64 { u64::MAX } else { (1 << bit) - 1 };
    below(to) & !below(from)
}

/// The cores of a device.
#[derive(Clone, Debug)]
pub(crate) struct DeviceCores {
    counts: CoreCounts,
    aic: Pool,
    aiv: Pool,
    aicpu: Pool,
}

impl DeviceCores {
    pub(crate) fn new(counts: CoreCounts) -> DeviceCores {
        let (aic, aiv, aicpu) = (Pool::new(counts.aic), Pool::new(counts.aiv), Pool::new(counts.aicpu));
        DeviceCores { counts, aic, aiv, aicpu }
    }

    /// Takes the cores for a block, all or none.
    pub(crate) fn take(&mut self, core_type: CoreType, allowed: &Allowed, block: u32) -> Option<Cores> {
        let unit = per_block(core_type, &self.counts);
        let mut cores = Cores::NONE;
        // Block `b` of a pinned kernel has the units that follow those of block `b - 1`.
        let slot = if allowed.pinned { block % allowed.at_once.max(1) } else { 0 };
        let pick = |pool: &Pool, range: CoreRange, nth: u32| match allowed.pinned {
            true => Some(range.start + nth).filter(|&core| core < range.end() && pool.is_free(core)),
            false => pool.first(range, allowed.over_reserved),
        };
        if unit.aic == 1 {
            cores.aic = pick(&self.aic, allowed.aic, slot)?;
        }
        if unit.aicpu == 1 {
            cores.aicpu = pick(&self.aicpu, allowed.aicpu, slot)?;
            self.aicpu.take(cores.aicpu);
        }
        for i in 0..unit.aiv {
            let Some(core) = pick(&self.aiv, allowed.aiv, slot * unit.aiv + i) else {
                cores.aiv().iter().for_each(|&core| self.aiv.put(core));
                return None;
            };
            self.aiv.take(core);
            cores.push_aiv(core);
        }
        if let Some(core) = cores.aic() {
            self.aic.take(core);
        }
        Some(cores)
    }

    /// Gives the cores of a block back.
    pub(crate) fn put(&mut self, cores: &Cores) {
        if let Some(core) = cores.aic() {
            self.aic.put(core);
        }
        cores.aiv().iter().for_each(|&core| self.aiv.put(core));
        if let Some(core) = cores.aicpu() {
            self.aicpu.put(core);
        }
    }

    /// Marks the cores as those of a resident kernel, which others leave alone where they can.
    pub(crate) fn reserve(&mut self, cores: &[Cores]) {
        self.mark(cores, true);
    }

    /// Takes the mark away.
    pub(crate) fn unreserve(&mut self, cores: &[Cores]) {
        self.mark(cores, false);
    }

    fn mark(&mut self, cores: &[Cores], reserve: bool) {
        for cores in cores {
            cores.aic().into_iter().for_each(|core| self.aic.reserve(core, reserve));
            cores.aiv().iter().for_each(|&core| self.aiv.reserve(core, reserve));
            cores.aicpu().into_iter().for_each(|core| self.aicpu.reserve(core, reserve));
        }
    }

    /// Takes exactly these cores, all or none.
    pub(crate) fn take_these(&mut self, cores: &Cores) -> bool {
        let free = cores.aic().is_none_or(|core| self.aic.is_free(core))
            && cores.aiv().iter().all(|&core| self.aiv.is_free(core))
            && cores.aicpu().is_none_or(|core| self.aicpu.is_free(core));
        if free {
            cores.aic().into_iter().for_each(|core| self.aic.take(core));
            cores.aiv().iter().for_each(|&core| self.aiv.take(core));
            cores.aicpu().into_iter().for_each(|core| self.aicpu.take(core));
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(aic: u32, aiv: u32, aicpu: u32) -> CoreCounts {
        CoreCounts { aic, aiv, aicpu, ..CoreCounts::default() }
    }

    /// ISA-TG-13: a mixed block holds a cube core and two vector cores, all or none.
    #[test]
    fn a_mixed_block_holds_one_cube_core_and_two_vector_cores() {
        let counts = counts(2, 3, 1);
        let mut cores = DeviceCores::new(counts);
        let anywhere = Allowed::anywhere(&counts);
        let mixed = cores.take(CoreType::AicAiv, &anywhere, 0).unwrap();
        assert_eq!((mixed.aic(), mixed.aiv(), mixed.aicpu()), (Some(0), &[0, 1][..], None));
        assert_eq!(cores.take(CoreType::AicAiv, &anywhere, 1), None);
        let vector = cores.take(CoreType::Aiv, &anywhere, 0).unwrap();
        assert_eq!(vector.aiv(), [2], "the refused block took nothing");
        let cube = cores.take(CoreType::Aic, &anywhere, 0).unwrap();
        assert_eq!(cube.aic(), Some(1));
        cores.put(&mixed);
        assert_eq!(cores.take(CoreType::AicAiv, &anywhere, 1), Some(mixed));
    }

    #[test]
    fn cores_beyond_the_first_word_are_found() {
        let counts = counts(200, 400, 1);
        let mut cores = DeviceCores::new(counts);
        let range = CoreRange { start: 63, count: 66 };
        let allowed = Allowed { aic: range, ..Allowed::anywhere(&counts) };
        let taken: Vec<u32> =
            (0..66).map(|b| cores.take(CoreType::Aic, &allowed, b).unwrap().aic().unwrap()).collect();
        assert_eq!(taken, (63..129).collect::<Vec<_>>());
        assert_eq!(cores.take(CoreType::Aic, &allowed, 66), None);
    }

    #[test]
    fn pinned_blocks_wait_for_their_own_core() {
        let counts = counts(4, 8, 1);
        let mut cores = DeviceCores::new(counts);
        let allowed = Allowed { at_once: 2, pinned: true, ..Allowed::anywhere(&counts) };
        let first = cores.take(CoreType::AicAiv, &allowed, 1).unwrap();
        assert_eq!((first.aic(), first.aiv()), (Some(1), &[2, 3][..]));
        assert_eq!(cores.take(CoreType::AicAiv, &allowed, 3), None);
        assert!(cores.take(CoreType::AicAiv, &allowed, 2).is_some());
    }

    #[test]
    fn reserved_cores_are_left_alone_unless_there_are_no_others() {
        let counts = counts(2, 2, 0);
        let mut cores = DeviceCores::new(counts);
        let anywhere = Allowed::anywhere(&counts);
        let resident = cores.take(CoreType::Aic, &anywhere, 0).unwrap();
        cores.reserve(&[resident]);
        cores.put(&resident);
        let other = cores.take(CoreType::Aic, &anywhere, 0).unwrap();
        assert_ne!(other, resident);
        assert_eq!(cores.take(CoreType::Aic, &anywhere, 1), None, "waits for the core that is not reserved");
        assert!(cores.take_these(&resident));
        cores.reserve(&[other]);
        cores.put(&resident);
        assert!(cores.take(CoreType::Aic, &anywhere, 1).is_some(), "all are reserved");
    }
}
