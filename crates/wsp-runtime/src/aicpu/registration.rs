//! Who waits for a task of another AICPU: one word per slot of a window.
//!
//! # Protocol
//!
//! The high half is the slot's *generation*: how many tasks of the slot are complete. The low half is a mask of AICPUs that
//! wait for the task that is in it. A consumer adds itself by compare-exchange, if the generation is still that of the task
//! it found; so it is either in the mask before the task is complete, or learns that it is. The producer completes the
//! task by one swap to the next generation with an empty mask: that takes every consumer that added itself before, and
//! refuses all later ones. Both are read-modify-writes of one word, so no consumer is lost, and each gets one notice.
//! The swap releases what the task wrote; a consumer that finds the task complete acquires it.
//!
//! Nobody refers to a generation after its task's accesses have left the map, so that 2³² tasks of one slot later the
//! number can serve again.

use crate::sync::{AtomicU64, Fault, Ordering, has, weakened};

/// The word of one slot.
#[derive(Debug)]
pub(super) struct Registration(AtomicU64);

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
    pub(super) fn new() -> Registration {
        Registration(AtomicU64::new(0))
    }

    /// Owner: the generation of the task in the slot, or of the next.
    pub(super) fn generation(&self) -> u32 {
        // Only the owner changes it.
        generation_of(self.0.load(Ordering::Relaxed))
    }

    /// Whether the task of this generation is complete; what it wrote is then visible.
    pub(super) fn is_complete(&self, generation: u32) -> bool {
        generation_of(self.0.load(Ordering::Acquire)) != generation
    }

    /// Consumer: asks to be told when the task of this generation is complete.
    pub(super) fn register(&self, generation: u32, aicpu: u16) -> Registered {
        let mut word = self.0.load(Ordering::Acquire);
        loop {
            if generation_of(word) != generation {
                return Registered::Complete;
            }
            let added = word | 1 << aicpu;
            if has(Fault::StoredRegistration) {
                self.0.store(added, Ordering::Release);
                return Registered::Waits;
            }
            // Acquire in either case: what is found is the task's completion, or is overwritten.
            match self.0.compare_exchange_weak(word, added, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Registered::Waits,
                Err(found) => word = found,
            }
        }
    }

    /// Owner: the task in the slot is complete. Returns the mask of AICPUs to tell.
    pub(super) fn complete(&self) -> u32 {
        let next = u64::from(self.generation().wrapping_add(1)) << GENERATION;
        mask_of(self.0.swap(next, weakened(Fault::UnpublishedCompletion, Ordering::AcqRel)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn consumers_before_the_completion_are_told_and_later_ones_learn_it() {
        let word = Registration::new();
        assert_eq!((word.register(0, 3), word.register(0, 31)), (Registered::Waits, Registered::Waits));
        assert_eq!(word.register(0, 3), Registered::Waits);
        assert!(!word.is_complete(0));
        assert_eq!(word.complete(), 1 << 3 | 1 << 31);
        assert_eq!((word.register(0, 3), word.is_complete(0)), (Registered::Complete, true));
        assert_eq!((word.generation(), word.complete()), (1, 0));
    }

    #[test]
    fn a_consumer_of_an_earlier_task_is_not_put_on_the_next() {
        let word = Registration::new();
        word.complete();
        assert_eq!(word.register(0, 1), Registered::Complete);
        assert_eq!(word.complete(), 0);
    }

    #[test]
    fn generations_wrap() {
        let word = Registration::new();
        word.0.store(u64::from(u32::MAX) << GENERATION, Ordering::Relaxed);
        assert_eq!(word.register(u32::MAX, 0), Registered::Waits);
        assert_eq!((word.complete(), word.generation()), (1, 0));
        assert!(word.is_complete(u32::MAX) && !word.is_complete(0));
    }
}
