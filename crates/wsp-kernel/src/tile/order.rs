//! Where the rows of an operand begin, one by one.

use wsp_simd::{Distance, Rows, Walk};

/// Addresses of rows in the order in which they are visited: those of an operand, then those to be asked for meanwhile.
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

    /// Lists rows, and those of an operand that probably comes next.
    pub(super) fn list(&mut self, rows: &[*mut u8], next: &[*mut u8], distance: Distance) {
        self.0.clear();
        self.visit(rows, rows.len());
        self.visit(next, distance.far);
        self.end(distance);
    }

    /// Lists evenly spaced rows.
    pub(super) fn list_run(&mut self, first: *const u8, rows: usize, stride: usize, distance: Distance) {
        self.0.clear();
        let walk = Walk::of(rows);
        self.0.extend((0..rows).map(|position| first.wrapping_add(walk.row(position) * stride)));
        self.end(distance);
    }

    /// Adds the first `most` of some rows in the order of their visit, or one for each stretch more.
    fn visit(&mut self, rows: &[*mut u8], most: usize) {
        let walk = Walk::of(rows.len());
        let length = walk.length();
        let turns = length.min(most.div_ceil(Walk::STRETCHES));
        let before = self.0.len();
        self.0.resize(before + turns * Walk::STRETCHES, core::ptr::null());
        for stretch in 0..Walk::STRETCHES {
            let listed = self.0[before..].iter_mut().skip(stretch).step_by(Walk::STRETCHES);
            let rows = &rows[stretch * length..][..turns];
            listed.zip(rows).for_each(|(to, from)| *to = from.cast_const());
        }
        if turns == length {
            let left = &rows[walk.visited()..];
            let most = most.saturating_sub(walk.visited());
            self.0.extend(left.iter().take(most).map(|start| start.cast_const()));
        }
    }

    /// Repeats the last row, so that as many follow the operand's as a kernel looks at.
    fn end(&mut self, distance: Distance) {
        let last = self.0.last().copied().unwrap_or(core::ptr::null());
        self.0.resize(self.0.len() + Rows::beyond(distance), last);
    }
}
