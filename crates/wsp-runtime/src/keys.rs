//! A sorted set of 64-bit keys in two levels.
//!
//! Keys lie in sorted chunks, and the first key of each chunk in a directory. At the sizes of a window of tasks this
//! beats a tree: adding at the end and looking past the end, which is what tasks in elaboration order mostly do, touch
//! one chunk, and removing many keys is one pass.

/// Most keys of a chunk: moving half of them costs about as much as finding the place.
const CHUNK: usize = 128;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct SortedKeys {
    /// No chunk is empty.
    chunks: Vec<Vec<u64>>,
    /// The first key of each chunk, or less.
    firsts: Vec<u64>,
    /// The largest key, or more; 0 when there is none.
    last: u64,
}

impl SortedKeys {
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// All keys, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        self.chunks.iter().flatten().copied()
    }

    /// Adds a key that is not there.
    pub(crate) fn insert(&mut self, key: u64) {
        if key >= self.last || self.chunks.is_empty() {
            return self.append(key);
        }
        let at = self.chunk_of(key);
        let chunk = &mut self.chunks[at];
        let place = chunk.partition_point(|&other| other < key);
        chunk.insert(place, key);
        self.firsts[at] = self.firsts[at].min(key);
        if chunk.len() > CHUNK {
            let upper = chunk.split_off(CHUNK / 2);
            self.firsts.insert(at + 1, upper[0]);
            self.chunks.insert(at + 1, upper);
        }
    }

    fn append(&mut self, key: u64) {
        self.last = key;
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(key),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK + 1);
                chunk.push(key);
                self.chunks.push(chunk);
                self.firsts.push(key);
            }
        }
    }

    /// Shows the keys of `[from, to)` in ascending order and removes those for which `keep` is false.
    pub(crate) fn scan(&mut self, from: u64, to: u64, mut keep: impl FnMut(u64) -> bool) {
        if from > self.last || from >= to || self.chunks.is_empty() {
            return;
        }
        let mut emptied = false;
        for at in self.chunk_of(from)..self.chunks.len() {
            if self.firsts[at] >= to {
                break;
            }
            emptied |= scan_chunk(&mut self.chunks[at], from, to, &mut keep);
        }
        if emptied {
            self.drop_empty();
        }
    }

    /// Removes the keys for which `keep` is false.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(u64) -> bool) {
        for chunk in &mut self.chunks {
            chunk.retain(|&key| keep(key));
        }
        self.drop_empty();
    }

    /// The chunk in which `key` is, or would be inserted. There must be a chunk.
    fn chunk_of(&self, key: u64) -> usize {
        self.firsts.partition_point(|&first| first <= key).saturating_sub(1)
    }

    fn drop_empty(&mut self) {
        let mut full = self.chunks.iter().map(|chunk| !chunk.is_empty());
        self.firsts.retain(|_| full.next().unwrap_or(false));
        self.chunks.retain(|chunk| !chunk.is_empty());
        self.last = self.chunks.last().and_then(|chunk| chunk.last()).copied().unwrap_or(0);
    }
}

/// Scans one chunk; true if that left it empty.
fn scan_chunk(chunk: &mut Vec<u64>, from: u64, to: u64, keep: &mut impl FnMut(u64) -> bool) -> bool {
    let begin = if chunk[0] >= from { 0 } else { chunk.partition_point(|&key| key < from) };
    let mut kept = begin;
    let mut at = begin;
    while let Some(&key) = chunk.get(at).filter(|&&key| key < to) {
        at += 1;
        if keep(key) {
            chunk[kept] = key;
            kept += 1;
        }
    }
    if kept < at {
        chunk.drain(kept..at);
    }
    chunk.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[derive(Clone, Debug)]
    enum Op {
        Insert(u64),
        Scan(u64, u64, u64),
        Retain(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        let key = 0..600u64;
        prop_oneof![
            20 => key.clone().prop_map(Op::Insert),
            5 => (key.clone(), 0..200u64, 1..4u64).prop_map(|(from, len, m)| Op::Scan(from, from + len, m)),
            1 => (2..5u64).prop_map(Op::Retain),
        ]
    }

    proptest! {
        #[test]
        fn it_behaves_as_a_tree_set(ops in proptest::collection::vec(op(), 0..800), ascending in any::<bool>()) {
            let (mut keys, mut set, mut next) = (SortedKeys::default(), BTreeSet::new(), 600);
            for op in ops {
                match op {
                    Op::Insert(key) => {
                        next += 1;
                        let key = if ascending { next } else { key };
                        if set.insert(key) {
                            keys.insert(key);
                        }
                    }
                    Op::Scan(from, to, m) => {
                        let mut seen = Vec::new();
                        keys.scan(from, to, |key| {
                            seen.push(key);
                            key % m != 0
                        });
                        prop_assert!(seen.iter().copied().eq(set.range(from..to).copied()));
                        set.retain(|key| !(from..to).contains(key) || key % m != 0);
                    }
                    Op::Retain(m) => {
                        keys.retain(|key| key % m == 0);
                        set.retain(|key| key % m == 0);
                    }
                }
                prop_assert!(keys.iter().eq(set.iter().copied()));
                prop_assert_eq!(keys.is_empty(), set.is_empty());
            }
        }
    }

    #[test]
    fn the_extreme_keys_are_keys() {
        let mut keys = SortedKeys::default();
        keys.insert(u64::MAX);
        keys.insert(0);
        assert!(keys.iter().eq([0, u64::MAX]));
        keys.scan(0, 1, |_| false);
        assert!(keys.iter().eq([u64::MAX]));
    }
}
