//! Chains of descriptors that a tile's channel runs by itself, and the locks that they share with cores.

use super::bytes::Touch;
use crate::design::{Design, Effect};
use crate::device::LOCK_MAX;
use wsp_diag::Span;

/// A change of a lock: its number, what is done as text has it, and the value.
pub(super) type Change = (usize, i64, i64);

/// Adds to a lock; else the value that it cannot have.
pub(super) fn release(locks: &mut [i64], (lock, value): (usize, i64)) -> Result<(), Overflow> {
    let sum = locks[lock].saturating_add(value);
    if !(0..=LOCK_MAX).contains(&sum) {
        return Err(Overflow { lock, value: sum });
    }
    locks[lock] = sum;
    Ok(())
}

/// A lock, and a value beyond those that it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Overflow {
    pub(super) lock: usize,
    value: i64,
}

impl Overflow {
    pub(super) fn told(self, who: &str, design: &Design) -> String {
        let name = lock_name(design, self.lock);
        format!("{who} releases {name} to {}, and a lock has values from 0 to {LOCK_MAX}", self.value)
    }
}

/// What a lock is called.
pub(super) fn lock_name(design: &Design, lock: usize) -> String {
    let lock = &design.locks[lock];
    match &lock.name {
        Some(name) => format!("lock `@{name}` of tile {}", lock.tile),
        None => format!("a lock of tile {}", lock.tile),
    }
}

/// One descriptor.
#[derive(Clone, Debug)]
pub(super) struct Bd {
    pub(super) acquire: Vec<Change>,
    pub(super) release: Vec<Change>,
    pub(super) buffer: usize,
    /// Bytes of the buffer.
    pub(super) bytes: u64,
    /// The first byte, and how many.
    pub(super) from: u64,
    pub(super) len: u64,
    /// The place of each element, where the order is not that of memory; with the bytes of an element.
    pub(super) order: Option<(Vec<u32>, u64)>,
    /// The number of the packets that it makes.
    pub(super) packet: Option<i64>,
    /// The next of the chain.
    pub(super) next: Option<usize>,
    /// Where it is written.
    pub(super) span: Span,
}

impl Bd {
    /// What it uses of its buffer, which it fills where it is at the end of a stream.
    pub(super) fn touch(&self, fills: bool) -> Touch {
        let how = (if fills { Effect::Writes } else { Effect::Reads }, self.span);
        match &self.order {
            Some((places, element)) => {
                Touch::of_places((self.buffer, self.bytes), how, places, (self.from, *element))
            }
            None => Touch::new((self.buffer, self.bytes), how, (self.from as i64, self.len), &[]),
        }
    }
}

/// A chain, where it is.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// The channel that runs it.
    pub(super) name: String,
    pub(super) bds: Vec<Bd>,
    /// The current descriptor; none at the end.
    pub(super) at: Option<usize>,
    pub(super) done: u64,
    /// Its locks are taken.
    pub(super) holds: bool,
    /// How often the chain begins again.
    pub(super) again: i64,
}

impl Chain {
    /// The lock that the current descriptor waits for.
    pub(super) fn lacks(&self, locks: &[i64]) -> Option<usize> {
        let bd = &self.bds[self.at?];
        let waits = bd.acquire.iter().find(|(lock, action, value)| match action {
            0 => locks[*lock] != *value,
            _ => locks[*lock] < *value,
        });
        waits.filter(|_| !self.holds).map(|(lock, ..)| *lock)
    }

    pub(super) fn advance(&mut self, bytes: u64, locks: &mut [i64]) -> Result<(), Overflow> {
        let Some(at) = self.at else { return Ok(()) };
        let bd = &self.bds[at];
        if !self.holds {
            bd.acquire.iter().for_each(|(lock, _, value)| locks[*lock] = locks[*lock].saturating_sub(*value));
            self.holds = true;
        }
        self.done += bytes;
        if self.done < bd.len {
            return Ok(());
        }
        bd.release.iter().try_for_each(|(lock, _, value)| release(locks, (*lock, *value)))?;
        (self.done, self.holds) = (0, false);
        self.at = bd.next;
        if self.at.is_none() && self.again > 0 {
            self.again -= 1;
            self.at = Some(0);
        }
        Ok(())
    }
}
