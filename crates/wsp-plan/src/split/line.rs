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
    pub(super) fn cuts(self) -> Cuts<'a> {
        Cuts { line: self, next: 1, from: 0 }
    }

    /// Where each share but the last ends on the line, after it was moved.
    pub(super) fn share_ends(&self) -> Vec<u64> {
        let (mut ends, mut cuts) = (Vec::new(), self.clone().cuts());
        for &length in self.work.lengths {
            for _ in 0..self.work.heads {
                let from = cuts.from;
                while let Some(offset) = cuts.next_in(length) {
                    ends.push(from + u64::from(offset));
                }
                cuts.from += u64::from(length);
            }
        }
        ends
    }
}

/// Goes along the line.
pub(super) struct Cuts<'a> {
    line: Line<'a>,
    /// The share whose end comes next, from 1.
    next: u64,
    /// Where the range at hand begins.
    from: u64,
}

impl Cuts<'_> {
    /// Adds the cuts inside of the next range, which has so many elements.
    pub(super) fn next_range(&mut self, length: u32, ends: &mut Vec<u32>) {
        while let Some(offset) = self.next_in(length) {
            if offset > 0 && offset < length {
                ends.push(offset);
            }
        }
        self.from += u64::from(length);
    }

    /// The moved end of the next share that ends in the range at hand.
    fn next_in(&mut self, length: u32) -> Option<u32> {
        let Line { align, total, shares, .. } = self.line;
        // In parts of an element, so that nothing is rounded before the nearest multiple is looked for.
        let place = u128::from(self.next) * u128::from(total);
        let from = u128::from(self.from) * u128::from(shares);
        if self.next >= shares || place >= from + u128::from(length) * u128::from(shares) {
            return None;
        }
        self.next += 1;
        let offset = place - from + u128::from(align / 2) * u128::from(shares);
        let unit = u128::from(align) * u128::from(shares);
        let moved = offset / unit * u128::from(align);
        Some(moved.min(u128::from(length)) as u32)
    }
}
