//! Addresses for ranges of time: the lowest one that is free all the time, in several orders of the buffers.

use wsp_ordered::Arrange;

/// Bytes that are needed for some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) bytes: u64,
}

impl Item {
    fn meets(&self, other: &Item) -> bool {
        self.from <= other.to && other.from <= self.to
    }
}

/// An address for each item, or none where no order of the items fits.
pub(super) fn fit(items: &[Item], capacity: u64, alignment: u64) -> Option<Vec<u64>> {
    type Key = fn(&Item) -> (u64, u64);
    let largest: Key = |item| (u64::MAX - item.bytes, u64::from(item.from));
    let longest: Key = |item| (u64::from(u32::MAX - (item.to - item.from)), u64::MAX - item.bytes);
    let first: Key = |item| (u64::from(item.from), u64::MAX - item.bytes);
    let last: Key = |item| (u64::from(u32::MAX - item.to), u64::MAX - item.bytes);
    let area: Key = |item| (u64::MAX - item.bytes.saturating_mul(u64::from(item.to - item.from) + 1), 0);
    [largest, longest, area, first, last].into_iter().find_map(|key| {
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.arrange_by_key(|at| (key(&items[*at]), *at));
        in_order(items, &order, capacity, alignment)
    })
}

fn in_order(items: &[Item], order: &[usize], capacity: u64, alignment: u64) -> Option<Vec<u64>> {
    let mut at: Vec<Option<u64>> = vec![None; items.len()];
    for &next in order {
        let mut taken: Vec<(u64, u64)> = (0..items.len())
            .filter(|other| items[*other].meets(&items[next]))
            .filter_map(|other| at[other].map(|from| (from, from + items[other].bytes)))
            .collect();
        taken.arrange();
        let mut free = 0u64;
        for (from, to) in taken {
            if free.checked_add(items[next].bytes)? <= from {
                break;
            }
            free = free.max(to.checked_next_multiple_of(alignment)?);
        }
        if free.checked_add(items[next].bytes)? > capacity {
            return None;
        }
        at[next] = Some(free);
    }
    at.into_iter().collect()
}

/// The step at which most bytes are needed, and how many.
pub(super) fn peak(items: &[Item]) -> (u32, u64) {
    let at = |step: u32| {
        let live = items.iter().filter(|item| (item.from..=item.to).contains(&step));
        live.fold(0u64, |sum, item| sum.saturating_add(item.bytes))
    };
    // The number of bytes in use rises only where an item begins.
    items
        .iter()
        .map(|item| (item.from, at(item.from)))
        .max_by_key(|(step, bytes)| (*bytes, u32::MAX - step))
        .unwrap_or((0, 0))
}
