//! The line of all elements, and where it is cut.

use super::Work;

/// All ranges in one line, cut into shares of equal length. Share `k` of `n` ends `total · k / n` elements into the line;
/// its end is moved to the nearest multiple of `align` elements of the range that it falls into, or to the end of the
/// range if that is nearer.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    work: Work<'a>,
    align: u32,
    total: u64,
    shares: u64,
}

impl<'a> Line<'a> {
    /// The line of this work. Fewer shares than cores are cut where they would be shorter than `align`.
    pub fn new(work: &Work<'a>, align: u32) -> Line<'a> {
        let (align, total) = (align.max(1), work.elements());
        let shares = (total / u64::from(align)).clamp(1, u64::from(work.cores.max(1)));
        Line { work: *work, align, total, shares }
    }

    /// Shares that are not empty.
    pub fn shares(&self) -> u64 {
        self.shares
    }

    /// The cuts, range by range.
    pub(super) fn cuts(self) -> Cuts {
        let Line { align, total, shares, .. } = self;
        let mut cuts = Cuts { align, total, shares, next: 0, due: 0, from: 0 };
        cuts.go_on();
        cuts
    }

    /// Where each share but the last ends on the line, after it was moved.
    pub(super) fn share_ends(&self) -> Vec<u64> {
        let (mut ends, mut cuts, mut from) = (Vec::new(), self.clone().cuts(), 0);
        for &length in self.work.lengths {
            for _ in 0..self.work.heads {
                while let Some(offset) = cuts.next_in(length) {
                    ends.push(from + u64::from(offset));
                }
                cuts.pass(length);
                from += u64::from(length);
            }
        }
        ends
    }
}

/// Goes along the line. Places are in parts of an element, one per share, so that nothing is rounded before the nearest multiple
/// is looked for.
pub(super) struct Cuts {
    align: u32,
    total: u64,
    shares: u64,
    /// The share whose end comes next, from 1.
    next: u64,
    /// That end; past the line behind the last one that is a cut.
    due: u128,
    /// Where the range at hand begins.
    from: u128,
}

impl Cuts {
    /// Whether no share ends in the range at hand, which has so many elements.
    #[inline]
    pub(super) fn is_clear(&self, length: u32) -> bool {
        self.due >= self.from + u128::from(length) * u128::from(self.shares)
    }

    /// Goes to the next range.
    #[inline]
    pub(super) fn pass(&mut self, length: u32) {
        self.from += u128::from(length) * u128::from(self.shares);
    }

    /// Adds the cuts inside of the range at hand, which has so many elements.
    pub(super) fn inside(&mut self, length: u32, ends: &mut Vec<u32>) {
        while let Some(offset) = self.next_in(length) {
            if offset > 0 && offset < length {
                ends.push(offset);
            }
        }
    }

    /// The moved end of the next share that ends in the range at hand.
    fn next_in(&mut self, length: u32) -> Option<u32> {
        if self.is_clear(length) {
            return None;
        }
        let (align, shares) = (u128::from(self.align), u128::from(self.shares));
        let offset = self.due - self.from + u128::from(self.align / 2) * shares;
        self.go_on();
        let moved = offset / (align * shares) * align;
        Some(moved.min(u128::from(length)) as u32)
    }

    /// To the next share.
    fn go_on(&mut self) {
        self.next += 1;
        let is_cut = self.next < self.shares;
        self.due = if is_cut { u128::from(self.next) * u128::from(self.total) } else { u128::MAX };
    }
}
