//! The bytes of a buffer that one use is of.

use crate::design::Effect;
use crate::mlir::Dim;
use wsp_diag::Span;

/// Most ranges of bytes of one use; one with more is taken as all that is between the first and the last.
const MOST_RANGES: u64 = 1 << 20;

/// A use of a buffer, as it is written.
#[derive(Clone, Debug)]
pub(super) struct Touch {
    pub(super) buffer: usize,
    /// Bytes of the buffer.
    size: u64,
    pub(super) effect: Effect,
    /// The first byte of each part, and the first one behind it, in their order.
    ranges: Vec<(i64, i64)>,
    pub(super) span: Span,
}

impl Touch {
    /// One of so many bytes at a place, again at these distances, of a buffer of so many.
    pub(super) fn new(
        (buffer, size): (usize, u64),
        (effect, span): (Effect, Span),
        (first, width): (i64, u64),
        dims: &[Dim],
    ) -> Touch {
        let mut ranges = vec![(first, first.saturating_add_unsigned(width))];
        let mut dims = dims.to_vec();
        dims.sort_by_key(|dim| dim.stride);
        for dim in dims {
            // What is beyond the buffer is a fault of its own.
            let count = dim.size.min(size / dim.stride.max(1) + 1);
            let shift = |at: u64| i64::try_from(at.saturating_mul(dim.stride)).unwrap_or(i64::MAX);
            if count.saturating_mul(ranges.len() as u64) > MOST_RANGES {
                let last = ranges[ranges.len() - 1].1.saturating_add(shift(count - 1));
                ranges = vec![(ranges[0].0, last)];
                continue;
            }
            let at = |i: u64| {
                ranges
                    .iter()
                    .map(move |(from, to)| (from.saturating_add(shift(i)), to.saturating_add(shift(i))))
            };
            ranges = merged((0..count).flat_map(at).collect());
        }
        Touch { buffer, size, effect, ranges, span }
    }

    /// One of elements of so many bytes, by their places.
    pub(super) fn of_places(
        (buffer, size): (usize, u64),
        (effect, span): (Effect, Span),
        places: &[u32],
        (first, element): (u64, u64),
    ) -> Touch {
        let range = |place: &u32| {
            let from = (first + u64::from(*place) * element) as i64;
            (from, from.saturating_add_unsigned(element))
        };
        Touch { buffer, size, effect, ranges: merged(places.iter().map(range).collect()), span }
    }

    /// How many parts it has.
    pub(super) fn parts(&self) -> usize {
        self.ranges.len()
    }

    /// The same so many bytes further; none where that is not all in the buffer.
    pub(super) fn moved(&self, by: i64) -> Option<Touch> {
        let (first, last) = (self.ranges.first()?.0, self.ranges.last()?.1);
        let size = i64::try_from(self.size).unwrap_or(i64::MAX);
        if first.saturating_add(by) < 0 || last.saturating_add(by) > size {
            return None;
        }
        let further = |(from, to): &(i64, i64)| (from.saturating_add(by), to.saturating_add(by));
        Some(Touch { ranges: self.ranges.iter().map(further).collect(), ..self.clone() })
    }

    /// Whether two have a byte in common.
    pub(super) fn meets(&self, other: &Touch) -> bool {
        let (mut one, mut other) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some((from, to)), Some((begin, end))) = (one.peek(), other.peek()) {
            if from < end && begin < to {
                return true;
            }
            if to <= end {
                one.next()
            } else {
                other.next()
            };
        }
        false
    }
}

/// Ranges in their order, as few as there can be.
fn merged(mut ranges: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    ranges.sort_unstable();
    let mut made: Vec<(i64, i64)> = Vec::new();
    for (from, to) in ranges {
        match made.last_mut() {
            Some((_, end)) if *end >= from => *end = to.max(*end),
            _ => made.push((from, to)),
        }
    }
    made
}
