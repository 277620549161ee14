//! Who touched which bytes of which tensor.

use std::collections::HashMap;
use wsp_core::AccessKind;
use wsp_ordered::{Arrange, OrderedMap};

/// Bytes of a tensor, `first..end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bytes {
    /// The tensor, or a resource that is handled like one.
    pub(super) tensor: u32,
    pub(super) first: u64,
    pub(super) end: u64,
}

impl Bytes {
    /// All of a tensor.
    pub(super) fn all(tensor: u32) -> Bytes {
        Bytes { tensor, first: 0, end: u64::MAX }
    }
}

/// What a node does with bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Touch {
    pub(super) node: u32,
    pub(super) bytes: Bytes,
    pub(super) mode: AccessKind,
}

/// Bytes from the key on, and who touched them.
#[derive(Clone, Debug)]
struct Piece {
    end: u64,
    writers: Vec<u32>,
    readers: Vec<u32>,
}

/// Touches by their bytes: pieces of each tensor that do not overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct RangeMap {
    tensors: HashMap<u32, OrderedMap<u64, Piece>>,
}

impl RangeMap {
    /// Calls `found` with nodes that touched these bytes such that one of the two wrote; a node may come several times.
    pub(super) fn conflicts(&self, bytes: Bytes, mode: AccessKind, mut found: impl FnMut(u32)) {
        let Some(pieces) = self.tensors.get(&bytes.tensor) else { return };
        let before = pieces.range(..=bytes.first).next_back().map_or(bytes.first, |(&start, _)| start);
        for (_, piece) in pieces.range(before..bytes.end).filter(|(_, piece)| piece.end > bytes.first) {
            piece.writers.iter().for_each(|&node| found(node));
            if mode == AccessKind::Write {
                piece.readers.iter().for_each(|&node| found(node));
            }
        }
    }

    /// Adds a touch.
    pub(super) fn insert(&mut self, touch: Touch) {
        let Touch { node, bytes, mode } = touch;
        let pieces = self.tensors.entry(bytes.tensor).or_default();
        split(pieces, bytes.first);
        split(pieces, bytes.end);
        let mut at = bytes.first;
        let mut gaps = Vec::new();
        for (&start, piece) in pieces.range_mut(bytes.first..bytes.end) {
            if start > at {
                gaps.push((at, start));
            }
            at = piece.end;
            let list = if mode == AccessKind::Write { &mut piece.writers } else { &mut piece.readers };
            if list.last() != Some(&node) {
                list.push(node);
            }
        }
        if at < bytes.end {
            gaps.push((at, bytes.end));
        }
        for (start, end) in gaps {
            let (writers, readers) = match mode {
                AccessKind::Write => (vec![node], Vec::new()),
                AccessKind::Read => (Vec::new(), vec![node]),
            };
            pieces.insert(start, Piece { end, writers, readers });
        }
    }

    /// Forgets which nodes touched these bytes, of those that are `covered`.
    pub(super) fn forget(&mut self, bytes: Bytes, covered: impl Fn(u32) -> bool) {
        let Some(pieces) = self.tensors.get_mut(&bytes.tensor) else { return };
        split(pieces, bytes.first);
        split(pieces, bytes.end);
        let mut empty = Vec::new();
        for (&start, piece) in pieces.range_mut(bytes.first..bytes.end) {
            piece.writers.retain(|&node| !covered(node));
            piece.readers.retain(|&node| !covered(node));
            if piece.writers.is_empty() && piece.readers.is_empty() {
                empty.push(start);
            }
        }
        for start in empty {
            pieces.remove(&start);
        }
    }

    /// Every touch that is left, tensors in order.
    pub(super) fn touches(&self) -> Vec<Touch> {
        let mut tensors: Vec<u32> = self.tensors.keys().copied().collect();
        tensors.arrange();
        let mut touches = Vec::new();
        for tensor in tensors {
            for (&first, piece) in &self.tensors[&tensor] {
                let bytes = Bytes { tensor, first, end: piece.end };
                let written =
                    piece.writers.iter().map(|&node| Touch { node, bytes, mode: AccessKind::Write });
                touches.extend(written);
                touches.extend(piece.readers.iter().map(|&node| Touch {
                    node,
                    bytes,
                    mode: AccessKind::Read,
                }));
            }
        }
        touches
    }
}

/// Cuts the piece that has this byte inside, so that one begins there.
fn split(pieces: &mut OrderedMap<u64, Piece>, at: u64) {
    let Some((_, piece)) = pieces.range_mut(..at).next_back() else { return };
    if piece.end > at {
        let right = Piece { end: piece.end, writers: piece.writers.clone(), readers: piece.readers.clone() };
        piece.end = at;
        pieces.insert(at, right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(node: u32, first: u64, end: u64, mode: AccessKind) -> Touch {
        Touch { node, bytes: Bytes { tensor: 1, first, end }, mode }
    }

    fn found(map: &RangeMap, first: u64, end: u64, mode: AccessKind) -> Vec<u32> {
        let mut nodes = Vec::new();
        map.conflicts(Bytes { tensor: 1, first, end }, mode, |node| nodes.push(node));
        nodes.arrange();
        nodes.dedup();
        nodes
    }

    #[test]
    fn only_overlapping_touches_of_which_one_writes_conflict() {
        let mut map = RangeMap::default();
        map.insert(touch(1, 0, 8, AccessKind::Write));
        map.insert(touch(2, 4, 12, AccessKind::Read));
        map.insert(touch(3, 16, 20, AccessKind::Read));
        assert_eq!(found(&map, 0, 4, AccessKind::Read), [1]);
        assert!(found(&map, 8, 17, AccessKind::Read).is_empty());
        assert_eq!(found(&map, 8, 17, AccessKind::Write), [2, 3]);
        assert!(found(&map, 12, 16, AccessKind::Write).is_empty());
        assert_eq!(found(&map, 0, u64::MAX, AccessKind::Write), [1, 2, 3]);
    }

    #[test]
    fn what_is_forgotten_conflicts_no_more() {
        let mut map = RangeMap::default();
        map.insert(touch(1, 0, 16, AccessKind::Write));
        map.insert(touch(2, 6, 20, AccessKind::Read));
        map.forget(Bytes { tensor: 1, first: 4, end: 8 }, |node| node == 1);
        assert!(found(&map, 4, 8, AccessKind::Read).is_empty());
        assert_eq!(found(&map, 3, 5, AccessKind::Read), [1]);
        assert_eq!(found(&map, 6, 8, AccessKind::Write), [2]);
    }
}
