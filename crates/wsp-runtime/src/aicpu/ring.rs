//! Completion notices from one AICPU to another: a ring with one writer and one reader.
//!
//! # Protocol
//!
//! `written` and `read` count entries and wrap; an entry lies at its count modulo the capacity, a power of two. The writer
//! stores an entry (relaxed) and then `written` (release); a reader that loads it (acquire) sees the entry, and what the
//! writer did before. The reader loads an entry and then stores `read` (release); a writer that loads it (acquire) may
//! overwrite the entry. Each entry carries the low half of its count, so that a reader notices one that it did not expect.
//! A full ring takes nothing: its writer keeps the notice and tries again.

use crate::sync::{AtomicU32, Fault, Ordering, has, weakened};
use crossbeam_utils::CachePadded;
use std::sync::OnceLock;
use wsp_core::local_queue::Notification;

/// The ring between two AICPUs.
#[derive(Debug)]
pub(super) struct NotifyRing {
    /// Made when the first notice is written.
    entries: OnceLock<Box<[AtomicU32]>>,
    capacity: u32,
    written: CachePadded<AtomicU32>,
    read: CachePadded<AtomicU32>,
}

/// A reader found an entry that it did not expect: writer and reader disagree on what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OutOfSequence {
    pub(super) expected: u16,
    pub(super) found: u16,
}

impl NotifyRing {
    /// An empty ring; the capacity is a power of two.
    pub(super) fn new(capacity: u32) -> NotifyRing {
        NotifyRing {
            entries: OnceLock::new(),
            capacity,
            written: CachePadded::new(AtomicU32::new(0)),
            read: CachePadded::new(AtomicU32::new(0)),
        }
    }

    fn entry(&self, count: u32) -> &AtomicU32 {
        // Most pairs of AICPUs never tell each other anything.
        let entries = self.entries.get_or_init(|| (0..self.capacity).map(|_| AtomicU32::new(0)).collect());
        &entries[(count & (self.capacity - 1)) as usize]
    }

    /// Writer: whether there was room.
    pub(super) fn push(&self, task_id: u16) -> bool {
        // Only this side writes it.
        let written = self.written.load(Ordering::Relaxed);
        let read = self.read.load(Ordering::Acquire);
        let is_full = written.wrapping_sub(read) >= self.capacity;
        if is_full && !has(Fault::OverwrittenNotice) {
            return false;
        }
        let notification = Notification { task_id, sequence: written as u16 };
        self.entry(written).store(notification.to_word(), Ordering::Relaxed);
        self.written.store(written.wrapping_add(1), weakened(Fault::UnpublishedNotice, Ordering::Release));
        true
    }

    /// Puts an entry with this sequence number next, for tests.
    #[cfg(all(test, not(loom)))]
    pub(super) fn forge(&self, task_id: u16, sequence: u16) {
        let written = self.written.load(Ordering::Relaxed);
        self.entry(written).store(Notification { task_id, sequence }.to_word(), Ordering::Relaxed);
        self.written.store(written.wrapping_add(1), Ordering::Release);
    }

    /// Reader: the next notice, if there is one.
    pub(super) fn pop(&self) -> Result<Option<u16>, OutOfSequence> {
        // Only this side writes it.
        let read = self.read.load(Ordering::Relaxed);
        if self.written.load(Ordering::Acquire) == read {
            return Ok(None);
        }
        let found = Notification::from_word(self.entry(read).load(Ordering::Relaxed));
        if found.sequence != read as u16 {
            return Err(OutOfSequence { expected: read as u16, found: found.sequence });
        }
        self.read.store(read.wrapping_add(1), Ordering::Release);
        Ok(Some(found.task_id))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_takes_nothing_and_keeps_what_it_has() {
        for capacity in [1, 2, 8] {
            let ring = NotifyRing::new(capacity);
            for task in 0..capacity {
                assert!(ring.push(task as u16));
            }
            assert!(!ring.push(99));
            for task in 0..capacity {
                assert_eq!(ring.pop(), Ok(Some(task as u16)));
            }
            assert_eq!(ring.pop(), Ok(None));
        }
    }

    #[test]
    fn order_and_sequence_survive_the_wrap_of_the_sequence() {
        let ring = NotifyRing::new(2);
        for task in 0..200_000u32 {
            assert!(ring.push(task as u16));
            assert_eq!(ring.pop(), Ok(Some(task as u16)));
        }
    }

    #[test]
    fn counts_wrap_with_the_ring_part_full() {
        let ring = NotifyRing::new(4);
        ring.written.store(u32::MAX - 1, Ordering::Relaxed);
        ring.read.store(u32::MAX - 1, Ordering::Relaxed);
        for task in 0..4 {
            assert!(ring.push(task));
        }
        assert!(!ring.push(4));
        assert_eq!([ring.pop(), ring.pop(), ring.pop()], [Ok(Some(0)), Ok(Some(1)), Ok(Some(2))]);
    }

    #[test]
    fn an_entry_that_was_overwritten_is_noticed() {
        let ring = NotifyRing::new(2);
        assert!(ring.push(5));
        ring.entry(0).store(Notification { task_id: 6, sequence: 2 }.to_word(), Ordering::Relaxed);
        assert_eq!(ring.pop(), Err(OutOfSequence { expected: 0, found: 2 }));
    }
}
