//! Where the rows of an operand begin, one by one.

use crate::simd::{Distance, MOST_TOGETHER};

/// Addresses of rows in the order in which they are used: those of an operand, then those to be asked for meanwhile.
#[derive(Default)]
pub(super) struct Order(Vec<*const u8>);

// SAFETY: the addresses are followed only by an operation of the same call that lists them anew.
unsafe impl Send for Order {}

impl Order {
    /// The addresses.
    pub(super) fn starts(&self) -> &[*const u8] {
        &self.0
    }

    /// Forgets every address; keeps the allocation.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds evenly spaced rows.
    pub(super) fn push_run(&mut self, first: *const u8, rows: usize, stride: usize) {
        self.0.extend((0..rows).map(|r| first.wrapping_add(r * stride)));
    }

    /// Adds rows of a view.
    pub(super) fn push(&mut self, starts: &[*mut u8]) {
        self.0.extend(starts.iter().map(|start| start.cast_const()));
    }

    /// Repeats the last row, so that as many follow the operand's as a kernel looks at.
    pub(super) fn end(&mut self, distance: Distance) {
        let last = self.0.last().copied().unwrap_or(core::ptr::null());
        self.0.resize(self.0.len() + distance.near.max(distance.far) + MOST_TOGETHER, last);
    }
}
