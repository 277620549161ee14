//! How `PTO_SPLIT` cuts requests into items, as plain functions: what a generator emits is compared with this, and a
//! planner outside of a program may call it.
//!
//! A request has a length, in elements of the split axis, and is worked on once per head: a *range* is one request under
//! one head. Ranges stand in the order of requests, those of one request in the order of heads. A range without elements
//! has one item without elements, so that its outputs are written.

mod growth;
mod line;

pub use growth::tokens_in_balance;
pub use line::Line;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wsp_core::policy::SplitPolicy;

/// How ranges are cut; places where a cut may be lie at multiples of the alignment, in elements of the range.
pub type Policy = SplitPolicy<u32>;

/// What there is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work<'a> {
    /// Elements per request.
    pub lengths: &'a [u32],
    /// Ranges per request.
    pub heads: u32,
    /// Cores that share the work, at least 1.
    pub cores: u32,
}

/// A part of a range that one core works on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Item {
    /// The request.
    pub request: u32,
    /// The head.
    pub head: u32,
    /// Which item of its range this is.
    pub index: u32,
    /// How many items its range has.
    pub count: u32,
    /// First element.
    pub begin: u32,
    /// End, exclusive.
    pub end: u32,
}

impl Item {
    /// Its elements.
    pub fn elements(&self) -> u32 {
        self.end - self.begin
    }
}

impl Work<'_> {
    /// Elements of all ranges.
    pub fn elements(&self) -> u64 {
        self.lengths.iter().map(|&n| u64::from(n)).sum::<u64>() * u64::from(self.heads)
    }

    /// The items of all ranges, in the order of the ranges.
    ///
    /// Takes time and memory in proportion to items and cores.
    pub fn items(&self, policy: Policy) -> Vec<Item> {
        match policy {
            Policy::Whole => self.ranges(0, |_, _| {}),
            Policy::Fixed(size) => {
                self.ranges(0, |length, ends| ends.extend((1..length.div_ceil(size)).map(|i| i * size)))
            }
            Policy::Balanced(align) => {
                let line = Line::new(self, align);
                let shares = line.shares();
                let mut cuts = line.cuts();
                self.ranges(shares, |length, ends| {
                    if !cuts.is_clear(length) {
                        cuts.inside(length, ends);
                    }
                    cuts.pass(length);
                })
            }
        }
    }

    /// The items of all ranges, which `cut` cuts: it adds the cuts inside of the next range, which has so many elements. `more`
    /// is how many items there may be beside one per range, as far as that is known.
    fn ranges(&self, more: u64, mut cut: impl FnMut(u32, &mut Vec<u32>)) -> Vec<Item> {
        let mut items = Vec::with_capacity(self.lengths.len() * self.heads as usize + more as usize);
        let mut ends = Vec::new();
        for (request, &length) in (0u32..).zip(self.lengths) {
            for head in 0..self.heads {
                cut(length, &mut ends);
                if ends.is_empty() {
                    items.push(Item { request, head, index: 0, count: 1, begin: 0, end: length });
                    continue;
                }
                ends.push(length);
                push_range(&mut items, request, head, &ends);
                ends.clear();
            }
        }
        items
    }
}

fn push_range(items: &mut Vec<Item>, request: u32, head: u32, ends: &[u32]) {
    let count = ends.len() as u32;
    let mut begin = 0;
    for (index, &end) in ends.iter().enumerate() {
        items.push(Item { request, head, index: index as u32, count, begin, end });
        begin = end;
    }
}

/// Indices of the requests by falling length, equal ones by rising index: the order of `PTO_LONGEST_FIRST`.
pub fn longest_first(lengths: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..lengths.len() as u32).collect();
    order.sort_by_key(|&request| Reverse(lengths[request as usize]));
    order
}

/// Elements of the fullest core over those of a core on average, when each core in turn takes the next item as soon
/// as it is free and an item takes as long as it has elements; 1 when there are no elements.
pub fn balance(items: impl IntoIterator<Item = Item>, cores: u32) -> f64 {
    let mut free: BinaryHeap<Reverse<u64>> = (0..cores.max(1)).map(|_| Reverse(0)).collect();
    let (mut fullest, mut total) = (0u64, 0u64);
    for item in items {
        let Reverse(busy) = free.pop().expect("there should be a core");
        let busy = busy + u64::from(item.elements());
        fullest = fullest.max(busy);
        total += u64::from(item.elements());
        free.push(Reverse(busy));
    }
    ratio(fullest, total, cores)
}

/// The same when every item stays on the core whose share of the line it is, as `PTO_BALANCED` cuts it.
pub fn balance_of_shares(work: &Work<'_>, items: &[Item], align: u32) -> f64 {
    let mut loads = vec![0u64; Line::new(work, align).shares() as usize];
    for (item, share) in items.iter().zip(shares_of(work, items, align)) {
        loads[share] += u64::from(item.elements());
    }
    ratio(loads.into_iter().max().unwrap_or(0), work.elements(), work.cores)
}

/// The share, from 0, that each item of the line lies in; `items` are those of [`Policy::Balanced`] in their order.
pub fn shares_of(work: &Work<'_>, items: &[Item], align: u32) -> Vec<usize> {
    let mut ends = Line::new(work, align).share_ends().into_iter().peekable();
    let (mut share, mut place) = (0, 0);
    let of = |item: &Item| {
        // An item that begins where a share ends is the next core's.
        while ends.next_if(|&end| end <= place).is_some() {
            share += 1;
        }
        place += u64::from(item.elements());
        share
    };
    items.iter().map(of).collect()
}

fn ratio(fullest: u64, total: u64, cores: u32) -> f64 {
    if total == 0 { 1.0 } else { fullest as f64 * f64::from(cores.max(1)) / total as f64 }
}

/// Workspace slots that the items need: one per item of a range that has several.
pub fn workspace_slots(items: &[Item]) -> u64 {
    items.iter().filter(|item| item.count > 1).count() as u64
}

/// Ranges of several items, whose partial results are merged.
pub fn merges(items: &[Item]) -> u64 {
    items.iter().filter(|item| item.count > 1 && item.index == 0).count() as u64
}
