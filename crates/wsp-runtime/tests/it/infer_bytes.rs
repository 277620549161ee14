//! What a map says that it has allocated.
#![allow(unsafe_code, reason = "counts allocated bytes")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use wsp_runtime::infer::{Capacity, Matching, RegionMap};

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

/// Counts for this thread; one that is going away has no counter any more.
fn count(change: impl Fn(usize) -> usize) {
    let _ = ALLOCATED.try_with(|count| count.set(change(count.get())));
}

// SAFETY: hands every request to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(|bytes| bytes.wrapping_add(layout.size()));
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(|bytes| bytes.wrapping_sub(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Each store is the largest in one of them, or next to it.
#[test]
fn a_map_tells_the_bytes_that_it_has_allocated() {
    let few = Capacity { tensors: 1, regions: 1, readers: 1, overlaps: 1, accesses: 1 };
    for capacity in [
        few,
        Capacity { tensors: 7 << 10, ..few },
        Capacity { regions: 10_000, ..few },
        Capacity { readers: 10_000, ..few },
        Capacity { overlaps: 10_000, ..few },
        Capacity { accesses: 100_000, ..few },
    ] {
        let before = ALLOCATED.get();
        let map = RegionMap::<u32>::fixed(Matching::Overlap, capacity);
        let allocated = ALLOCATED.get().wrapping_sub(before);
        let said = map.bytes();
        // A hash table has more places than it takes entries.
        assert!(
            said <= allocated && allocated - said <= allocated / 16,
            "{capacity:?}: {said} of {allocated}"
        );
    }
}
