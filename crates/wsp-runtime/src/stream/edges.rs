//! Edges between tasks in flight.

use super::segmented::Segmented;
use super::slot::{CLOSED, NIL, Slot};
use crate::handed_out::HandedOut;
use crate::sync::{AtomicU64, Fault, Ordering, weakened};

/// Edges per slot of the window, on average: bounds the memory of a program in which everything depends on everything.
const PER_SLOT: u32 = 16;
/// Edges in the first segment, as a power of two; models can do with few.
const FIRST_EDGES: u32 = if cfg!(loom) { 1 } else { 8 };
/// Small windows still get this many.
const AT_LEAST: u32 = 4096;

/// Storage of the edges, shared with the workers. An edge is the next edge of its predecessor's list (high half) and the
/// successor's slot (low half).
pub(crate) struct EdgePool {
    edges: Segmented<AtomicU64, FIRST_EDGES>,
}

impl EdgePool {
    pub(crate) fn new() -> EdgePool {
        EdgePool { edges: Segmented::new() }
    }

    /// Storage for a few edges.
    #[cfg(all(test, loom))]
    pub(crate) fn grow_for_model(&self) {
        self.edges.grow(0);
    }

    /// The next edge and the successor's slot. Relaxed: taking the list ordered it.
    pub(crate) fn get(&self, edge: u32) -> (u32, u32) {
        let both = self.edges.get(edge).load(Ordering::Relaxed);
        ((both >> 32) as u32, both as u32)
    }

    /// Puts `edge` to `successor` into the list of `predecessor`; false if that has completed. Planner only.
    pub(crate) fn link(&self, predecessor: &Slot, edge: u32, successor: u32) -> bool {
        // Acquire: finding CLOSED makes the predecessor's writes visible.
        let mut head = predecessor.successors.load(Ordering::Acquire);
        while head != CLOSED {
            self.edges.get(edge).store(u64::from(head) << 32 | u64::from(successor), Ordering::Relaxed);
            // Release: publishes the edge and the successor's record. Acquire on failure, as above.
            let publish = weakened(Fault::UnpublishedEdge, Ordering::Release);
            match predecessor.successors.compare_exchange(head, edge, publish, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => head = now,
            }
        }
        false
    }
}

/// The planner's account of the edges.
///
/// An edge belongs to its successor and is free again with the successor's slot: by then every predecessor has
/// completed, and a completing worker reads an edge before it counts the successor down. So the planner alone
/// allocates and frees.
pub(crate) struct EdgeBook {
    /// Per edge, the next free one, or the next of the same successor.
    next: Vec<u32>,
    free: u32,
    in_use: u32,
    limit: u32,
    handed_out: HandedOut,
}

impl EdgeBook {
    /// For a window of this many slots. Any one task, which has fewer predecessors than that, can be linked.
    pub(crate) fn new(window: u32) -> EdgeBook {
        EdgeBook {
            next: Vec::new(),
            free: NIL,
            in_use: 0,
            limit: window.saturating_mul(PER_SLOT).max(AT_LEAST),
            handed_out: HandedOut::default(),
        }
    }

    /// Edges that can still be taken.
    pub(crate) fn available(&self) -> usize {
        (self.limit - self.in_use) as usize
    }

    /// Allows for so many more edges than are taken, whatever the limit.
    pub(crate) fn reserve(&mut self, edges: usize) {
        self.limit = self.limit.max(self.in_use.saturating_add(edges as u32));
    }

    /// A free edge, put in front of `chain`.
    pub(crate) fn take(&mut self, pool: &EdgePool, chain: u32) -> u32 {
        debug_assert!(self.in_use < self.limit, "the caller checks `available`");
        if self.free == NIL {
            let len = self.next.len() as u32;
            let grown = pool.edges.grow(len);
            self.next.extend((len..grown).map(|edge| edge + 1));
            self.next[grown as usize - 1] = NIL;
            self.free = len;
        }
        let edge = self.free;
        self.free = self.next[edge as usize];
        self.next[edge as usize] = chain;
        self.in_use += 1;
        self.handed_out.take(edge);
        edge
    }

    /// Gives back all edges of a chain.
    pub(crate) fn release(&mut self, chain: u32) {
        let mut edge = chain;
        while edge != NIL {
            self.handed_out.give_back(edge);
            let next = std::mem::replace(&mut self.next[edge as usize], self.free);
            self.free = edge;
            self.in_use -= 1;
            edge = next;
        }
    }

    /// Gives back the first edge of a chain and returns the rest.
    pub(crate) fn release_first(&mut self, chain: u32) -> u32 {
        let rest = std::mem::replace(&mut self.next[chain as usize], NIL);
        self.release(chain);
        rest
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use wsp_core::KernelId;

    #[test]
    fn released_edges_are_taken_again() {
        let (pool, mut book) = (EdgePool::new(), EdgeBook::new(1));
        let all = book.available();
        for _ in 0..3 {
            let chain = (0..all).fold(NIL, |chain, _| book.take(&pool, chain));
            assert_eq!(book.available(), 0);
            let rest = book.release_first(chain);
            assert_eq!(book.available(), 1);
            book.release(rest);
            assert_eq!(book.available(), all);
        }
    }

    #[test]
    fn a_completed_predecessor_takes_no_edge() {
        let (pool, mut book) = (EdgePool::new(), EdgeBook::new(1));
        let slot = Slot::default();
        slot.fill(0, KernelId(0), &[], crate::placement::Placement::default(), 0);
        let (a, b) = (book.take(&pool, NIL), book.take(&pool, NIL));
        assert!(pool.link(&slot, a, 5));
        assert!(pool.link(&slot, b, 6));
        let first = slot.successors.swap(CLOSED, Ordering::AcqRel);
        assert_eq!((pool.get(first), pool.get(a)), ((a, 6), (NIL, 5)));
        assert!(!pool.link(&slot, a, 7));
    }
}
