//! Who waits for a task of another AICPU: words of each slot of a window, one for each 32 AICPUs.
//!
//! # Protocol
//!
//! The high half of a word is the slot's *generation*: how many tasks of the slot are complete. The low half is a mask of those of its AICPUs
//! that wait for the task that is in it. A consumer adds itself to its word by compare-exchange, if the generation is still that of the task
//! it found; so it is either in the mask before the task is complete, or learns that it is. The producer completes the
//! task by one swap of each word to the next generation with an empty mask: that takes every consumer that added itself to the word before, and
//! refuses all later ones. Both are read-modify-writes of one word, so no consumer is lost, and each gets one notice. Words need not agree:
//! a consumer deals with its own alone, and one that still finds the generation there gets its notice when the producer comes to that word.
//! The swap releases what the task wrote; a consumer that finds the task complete acquires it.
//!
//! Nobody refers to a generation after its task's accesses have left the map, so that 2³² tasks of one slot later the
//! number can serve again.

use crate::sync::{AtomicU64, Fault, Ordering, has, weakened};

/// AICPUs that a word has bits for.
const PER_WORD: u16 = 32;

/// The words of one slot. Runs of up to 32 AICPUs have the first alone.
#[derive(Debug)]
pub(super) struct Registration {
    first: AtomicU64,
    more: Box<[AtomicU64]>,
}

/// What became of a consumer that asked to be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Registered {
    /// It will get one notice for this task.
    Waits,
    /// The task is complete, and what it wrote is visible.
    Complete,
}

const GENERATION: u32 = 32;

const fn generation_of(word: u64) -> u32 {
    (word >> GENERATION) as u32
}

const fn mask_of(word: u64) -> u32 {
    word as u32
}

impl Registration {
    /// That of a slot in a run of so many AICPUs.
    pub(super) fn new(aicpus: u16) -> Registration {
        let more = (1..aicpus.div_ceil(PER_WORD)).map(|_| AtomicU64::new(0));
        Registration { first: AtomicU64::new(0), more: more.collect() }
    }

    /// The word that has a bit for an AICPU.
    fn word(&self, aicpu: u16) -> &AtomicU64 {
        match usize::from(aicpu / PER_WORD) {
            0 => &self.first,
            at => &self.more[at - 1],
        }
    }

    /// Owner: the generation of the task in the slot, or of the next.
    pub(super) fn generation(&self) -> u32 {
        // Only the owner changes it.
        generation_of(self.first.load(Ordering::Relaxed))
    }

    /// Whether the task of this generation is complete; what it wrote is then visible.
    pub(super) fn is_complete(&self, generation: u32) -> bool {
        generation_of(self.first.load(Ordering::Acquire)) != generation
    }

    /// Consumer: asks to be told when the task of this generation is complete.
    pub(super) fn register(&self, generation: u32, aicpu: u16) -> Registered {
        let own = self.word(aicpu);
        let mut word = own.load(Ordering::Acquire);
        loop {
            if generation_of(word) != generation {
                return Registered::Complete;
            }
            let added = word | 1 << (aicpu % PER_WORD);
            if has(Fault::StoredRegistration) {
                own.store(added, Ordering::Release);
                return Registered::Waits;
            }
            // Acquire in either case: what is found is the task's completion, or is overwritten.
            match own.compare_exchange_weak(word, added, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Registered::Waits,
                Err(found) => word = found,
            }
        }
    }

    /// Owner: the task in the slot is complete. Appends the AICPUs to tell.
    pub(super) fn complete(&self, told: &mut Vec<u16>) {
        let next = u64::from(self.generation().wrapping_add(1)) << GENERATION;
        let words = std::iter::once(&self.first).chain(&self.more);
        for (first, word) in (0..).step_by(PER_WORD.into()).zip(words) {
            let mut mask = mask_of(word.swap(next, weakened(Fault::UnpublishedCompletion, Ordering::AcqRel)));
            while mask != 0 {
                told.push(first + mask.trailing_zeros() as u16);
                mask &= mask - 1;
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn complete(slot: &Registration) -> Vec<u16> {
        let mut told = Vec::new();
        slot.complete(&mut told);
        told
    }

    #[test]
    fn consumers_before_the_completion_are_told_and_later_ones_learn_it() {
        for (aicpus, all) in [(32, vec![3, 31]), (33, vec![3, 31, 32]), (1024, vec![3, 31, 32, 64, 1023])] {
            let slot = Registration::new(aicpus);
            assert_eq!(slot.more.len(), usize::from(aicpus).div_ceil(32) - 1);
            for &aicpu in all.iter().rev().chain(&all) {
                assert_eq!(slot.register(0, aicpu), Registered::Waits);
            }
            assert!(!slot.is_complete(0));
            assert_eq!(complete(&slot), all);
            for &aicpu in &all {
                assert_eq!((slot.register(0, aicpu), slot.is_complete(0)), (Registered::Complete, true));
            }
            assert_eq!((slot.generation(), complete(&slot)), (1, vec![]));
        }
    }

    #[test]
    fn a_consumer_of_an_earlier_task_is_not_put_on_the_next() {
        let slot = Registration::new(40);
        complete(&slot);
        assert_eq!([1, 33].map(|aicpu| slot.register(0, aicpu)), [Registered::Complete; 2]);
        assert_eq!(complete(&slot), []);
    }

    #[test]
    fn generations_wrap() {
        let slot = Registration::new(33);
        for word in [&slot.first, &slot.more[0]] {
            word.store(u64::from(u32::MAX) << GENERATION, Ordering::Relaxed);
        }
        assert_eq!([0, 32].map(|aicpu| slot.register(u32::MAX, aicpu)), [Registered::Waits; 2]);
        assert_eq!((complete(&slot), slot.generation()), (vec![0, 32], 0));
        assert!(slot.is_complete(u32::MAX) && !slot.is_complete(0));
    }
}
