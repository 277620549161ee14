//! A thread that looks for something gives its core to others meanwhile, as long as it gets it back soon.
//!
//! Beside threads of other programs that compute, a yield gives away a slice of milliseconds. A thread that sleeps is woken sooner than that, so no thread
//! yields for a while once a yield has taken so long.

use crate::clock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A yield that takes longer has given a slice to another program: threads of a run hand a core on within some microseconds.
const LONG_NS: u64 = 500_000;
/// Looks without a yield after that: each takes a microsecond or less, and a slice some milliseconds.
const LOOKS: u32 = 4096;

/// How many looks are left without a yield. Relaxed: whatever a thread sees of it, it goes on looking.
static LEFT: AtomicU32 = AtomicU32::new(0);

/// Between two looks: gives the core away, or does not where that has just cost much.
pub(crate) fn give_way() {
    #[cfg(loom)]
    crate::sync::thread::yield_now();
    #[cfg(not(loom))]
    look_away(&LEFT, || {
        let begun = clock::now();
        std::thread::yield_now();
        clock::nanos_since(begun)
    });
}

/// What `give_way` does, with what says how long a yield has taken.
fn look_away(left: &AtomicU32, yields: impl FnOnce() -> u64) {
    match left.load(Ordering::Relaxed) {
        0 if yields() > LONG_NS => left.store(LOOKS, Ordering::Relaxed),
        0 => {}
        looks => {
            left.store(looks - 1, Ordering::Relaxed);
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn after_a_yield_that_took_a_slice_threads_look_without_one_for_a_while() {
        let (left, count) = (AtomicU32::new(0), Cell::new(0));
        let looks = |looks: u32, taken: u64| {
            count.set(0);
            for _ in 0..looks {
                look_away(&left, || {
                    count.set(count.get() + 1);
                    taken
                });
            }
            count.get()
        };
        assert_eq!(looks(100, LONG_NS), 100);
        assert_eq!(looks(1, LONG_NS + 1), 1);
        assert_eq!((looks(LOOKS, 0), looks(3, 0)), (0, 3));
    }
}
