//! Uses of buffers by their places while a design runs, each compared with those of others that it conflicts with.

use super::bytes::Touch;
use crate::design::Effect;
use std::collections::BTreeSet;
use wsp_ordered::OrderedMap;

/// How far each engine is known to be.
pub(super) type Clock = Vec<u64>;

/// Most uses by place that are compared with each other.
const MOST_SITES: usize = 1 << 14;
/// Most pairs of them that conflict, of 8 bytes, and ranges of all of them, of 16.
const MOST_PAIRS: usize = 1 << 24;
const MOST_RANGES: usize = 1 << 23;
/// Uses whose clocks are looked at in the time in which a range of bytes is compared, about.
const LOOKED: u64 = 8;
/// Most ranges of bytes that are compared for them.
const MOST_COMPARED: u64 = 1 << 25;

/// A use at the place that it has in a run, by one engine, which others conflict with.
#[derive(Debug)]
struct Site {
    engine: usize,
    key: Key,
    touch: Touch,
    /// The clock of the engine when it was last done; 0 before.
    last: u64,
    others: Vec<u32>,
}

/// An engine, the use of it as it is written, and by how many bytes further it is.
type Key = (usize, usize, i64);

/// Two uses that nothing orders: the later of the run and the other one.
#[derive(Clone, Debug)]
pub(super) struct Race {
    pub(super) sites: [(usize, Touch); 2],
    keys: [Key; 2],
}

/// The uses of a run.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// By engine, as they are written.
    touches: Vec<Vec<Touch>>,
    /// Buffers that something writes which is no kernel.
    written: BTreeSet<usize>,
    sites: Vec<Site>,
    known: OrderedMap<Key, usize>,
    /// Pairs of uses that conflict, and ranges of all uses.
    pairs: usize,
    ranges: usize,
    /// Ranges of bytes that were compared.
    compared: u64,
    /// There were more uses than are compared: those behind them were not looked at.
    pub(super) is_cut: bool,
    pub(super) race: Option<Race>,
}

impl Uses {
    /// Before a run, of what is written for each engine, and of buffers whose words the host writes.
    pub(super) fn new(touches: Vec<Vec<Touch>>, words: BTreeSet<usize>) -> Uses {
        let writes = |touch: &&Touch| touch.effect == Effect::Writes;
        let mut written = words;
        written.extend(touches.iter().flatten().filter(writes).map(|touch| touch.buffer));
        Uses { touches, written, ..Uses::default() }
    }

    /// How many there are that use buffers.
    pub(super) fn engines(&self) -> usize {
        self.touches.len()
    }

    /// Whether several use a buffer.
    pub(super) fn any(&self) -> bool {
        let used =
            |touches: &Vec<Touch>| touches.iter().map(|touch| touch.buffer).collect::<BTreeSet<usize>>();
        let all: Vec<usize> = self.touches.iter().flat_map(used).collect();
        all.len() > all.iter().collect::<BTreeSet<_>>().len()
    }

    /// An engine, whose clock this is, uses a buffer, `by` bytes further than it is written.
    pub(super) fn add(&mut self, (engine, clock): (usize, &Clock), touch: usize, by: i64) {
        if self.is_cut {
            return;
        }
        let key = (engine, touch, by);
        let known = self.known.get(&key).copied();
        let Some(site) = known.or_else(|| self.site(key)) else { return };
        self.compared += self.sites[site].others.len() as u64 / LOOKED + 1;
        self.is_cut |= self.compared > MOST_COMPARED;
        let is_ordered = |other: &&u32| {
            let Site { engine, last, .. } = self.sites[**other as usize];
            last <= clock.get(engine).copied().unwrap_or(0)
        };
        let of = |at: usize| (self.sites[at].engine, self.sites[at].touch.clone());
        if self.race.is_none()
            && let Some(other) =
                self.sites[site].others.iter().find(|other| !is_ordered(other)).map(|other| *other as usize)
        {
            self.race = Some(Race { sites: [of(site), of(other)], keys: [key, self.sites[other].key] });
        }
        self.sites[site].last = clock[engine];
    }

    /// A use at a place that is new; none beyond the buffer, which is a fault of its own, or where there are too many to compare it with.
    fn site(&mut self, key: Key) -> Option<usize> {
        let (engine, touch, by) = key;
        let site = self.sites.len();
        self.is_cut |= site >= MOST_SITES
            || self.pairs > MOST_PAIRS
            || self.ranges > MOST_RANGES
            || self.compared > MOST_COMPARED;
        if self.is_cut {
            return None;
        }
        let of = self.touches[engine][touch].moved(by)?;
        let writes = self.writes(&of);
        let mut others = Vec::new();
        self.compared += of.parts() as u64;
        for at in 0..site {
            let other = &self.sites[at];
            let is_apart = other.engine == engine || other.touch.buffer != of.buffer;
            if is_apart || !writes && !self.writes(&other.touch) {
                continue;
            }
            self.compared += (of.parts() + other.touch.parts()) as u64;
            if of.meets(&self.sites[at].touch) {
                others.push(at as u32);
            }
        }
        others.iter().for_each(|other| self.sites[*other as usize].others.push(site as u32));
        (self.pairs, self.ranges) = (self.pairs + others.len(), self.ranges + of.parts());
        self.sites.push(Site { engine, key, touch: of, last: 0, others });
        self.known.insert(key, site);
        Some(site)
    }

    /// Whether both uses of a race, of another run of the same cores, were made.
    pub(super) fn both(&self, race: &Race) -> bool {
        race.keys.iter().all(|key| self.known.contains_key(key))
    }

    /// Whether a use writes: a kernel does so where nothing else writes the buffer.
    pub(super) fn writes(&self, touch: &Touch) -> bool {
        match touch.effect {
            Effect::Reads => false,
            Effect::Writes => true,
            Effect::Either => !self.written.contains(&touch.buffer),
        }
    }
}
