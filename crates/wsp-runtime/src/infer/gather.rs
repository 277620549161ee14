//! Collects the predecessors of one task: each once, in ascending order, under its strongest hazard.

use super::{Hazard, TaskHandle};
use std::marker::PhantomData;

/// As many are kept at hand: most tasks have fewer.
const FEW: usize = 16;

/// One that was found: the bits of its handle, and below them its hazard. They sort by task, and then by hazard.
type Found = u64;

fn hazard_of(found: Found) -> Hazard {
    match found & 3 {
        0 => Hazard::Raw,
        1 => Hazard::Waw,
        _ => Hazard::War,
    }
}

/// The predecessors found so far, possibly several times.
#[derive(Debug)]
pub(super) struct Gather<H> {
    /// Sorted.
    few: [Found; FEW],
    len: usize,
    /// The others, in no order.
    many: Vec<Found>,
    /// Length of `many` at which repetitions are taken out: in a fixed map, twice as many as there can be tasks.
    compact_at: usize,
    handles: PhantomData<H>,
}

impl<H: TaskHandle> Gather<H> {
    pub(super) fn new(reserved: usize) -> Gather<H> {
        let reserved = if reserved == 0 { 0 } else { reserved + FEW };
        Gather {
            few: [0; FEW],
            len: 0,
            many: Vec::with_capacity(reserved),
            compact_at: reserved.max(1024),
            handles: PhantomData,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.many.capacity() * size_of::<Found>()
    }

    /// Adds a task, if it is one.
    #[inline]
    pub(super) fn push(&mut self, task: H, hazard: Hazard) {
        let Some(bits) = task.to_bits() else { return };
        let (found, mut at) = (bits << 2 | hazard as u64, self.len);
        if at >= FEW {
            return self.push_to_many(found);
        }
        while at > 0 && self.few[at - 1] > found {
            self.few[at] = self.few[at - 1];
            at -= 1;
        }
        self.few[at] = found;
        self.len += 1;
    }

    #[inline(never)]
    fn push_to_many(&mut self, found: Found) {
        if self.many.len() >= self.compact_at {
            self.compact();
            self.compact_at = self.compact_at.max(2 * self.many.len());
        }
        self.many.push(found);
    }

    fn compact(&mut self) {
        self.many.sort_unstable();
        self.many.dedup_by_key(|found| *found >> 2);
    }

    /// Shows them and starts anew.
    #[inline]
    pub(super) fn finish(&mut self, mut show: impl FnMut(H, Hazard)) {
        if self.len >= FEW {
            return self.finish_many(show);
        }
        let mut last = u64::MAX;
        for &found in &self.few[..self.len] {
            if found >> 2 != last {
                last = found >> 2;
                show(H::from_bits(last), hazard_of(found));
            }
        }
        self.len = 0;
    }

    #[inline(never)]
    fn finish_many(&mut self, mut show: impl FnMut(H, Hazard)) {
        self.many.extend_from_slice(&self.few);
        self.len = 0;
        self.compact();
        self.many.iter().for_each(|&found| show(H::from_bits(found >> 2), hazard_of(found)));
        self.many.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_comes_once_in_order_with_its_strongest_hazard() {
        use Hazard::{Raw, War, Waw};
        let all = [(4, War), (2, Waw), (4, Raw), (2, War), (9, Raw), (4, Waw)];
        let longer: Vec<(u32, Hazard)> =
            (0..40).map(|i| (i * 7 % 23, [Waw, War, Raw][i as usize % 3])).collect();
        let mut gather = Gather::<u32>::new(0);
        for given in (0..=6).map(|n| &all[..n]).chain((6..40).map(|n| &longer[..n])) {
            given.iter().for_each(|&(task, hazard)| gather.push(task, hazard));
            let mut expected = given.to_vec();
            expected.sort_unstable();
            expected.dedup_by_key(|(task, _)| *task);
            let mut shown = Vec::new();
            gather.finish(|task, hazard| shown.push((task, hazard)));
            assert_eq!(shown, expected);
            gather.finish(|_, _| panic!("nothing is left"));
        }
    }

    #[test]
    fn repetitions_take_no_memory() {
        let mut gather = Gather::<u32>::new(64);
        (0..100_000).for_each(|i| gather.push(i % 32, Hazard::War));
        assert!(gather.bytes() <= 2048 * size_of::<Found>());
        let mut count = 0;
        gather.finish(|_, _| count += 1);
        assert_eq!(count, 32);
    }
}
