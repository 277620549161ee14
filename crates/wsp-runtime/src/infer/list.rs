//! Linked lists in a common pool: no allocation per item.

use super::NIL;
use crate::handed_out::HandedOut;

#[derive(Clone, Copy, Debug)]
struct Node<T> {
    item: T,
    next: u32,
}

/// Nodes of many lists. A list is the `u32` of its first node, or [`NIL`].
#[derive(Debug)]
pub(super) struct ListPool<T> {
    nodes: Vec<Node<T>>,
    free: u32,
    free_count: usize,
    limit: usize,
    handed_out: HandedOut,
}

impl<T: Copy> ListPool<T> {
    /// At most `limit` nodes, of which `reserved` are allocated now.
    pub(super) fn new(reserved: usize, limit: usize) -> ListPool<T> {
        ListPool {
            nodes: Vec::with_capacity(reserved),
            free: NIL,
            free_count: 0,
            limit,
            handed_out: HandedOut::default(),
        }
    }

    /// Nodes that can still be taken.
    #[inline]
    pub(super) fn available(&self) -> usize {
        self.limit - self.nodes.len() + self.free_count
    }

    /// Nodes in use.
    #[inline]
    pub(super) fn used(&self) -> usize {
        self.nodes.len() - self.free_count
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node<T>>()
    }

    /// The list with `item` in front of it. The caller has looked at [`available`](Self::available).
    #[inline]
    pub(super) fn push(&mut self, list: u32, item: T) -> u32 {
        debug_assert!(self.available() > 0, "the caller checks `available`");
        let node = Node { item, next: list };
        let at = self.free;
        if let Some(free) = self.nodes.get_mut(at as usize) {
            self.free = free.next;
            self.free_count -= 1;
            *free = node;
            self.handed_out.take(at);
            return at;
        }
        self.nodes.push(node);
        let at = self.nodes.len() as u32 - 1;
        self.handed_out.take(at);
        at
    }

    /// The first item, its node's number and the rest of the list.
    #[inline]
    pub(super) fn first(&self, list: u32) -> Option<(T, u32)> {
        self.nodes.get(list as usize).map(|node| (node.item, node.next))
    }

    /// Frees the first node of a list; returns its item and the rest of the list.
    pub(super) fn pop(&mut self, list: u32) -> Option<(T, u32)> {
        let node = self.nodes.get_mut(list as usize)?;
        let rest = std::mem::replace(&mut node.next, self.free);
        self.free = list;
        self.free_count += 1;
        self.handed_out.give_back(list);
        Some((node.item, rest))
    }

    /// The first item of a list that has one.
    pub(super) fn item_mut(&mut self, list: u32) -> Option<&mut T> {
        self.nodes.get_mut(list as usize).map(|node| &mut node.item)
    }

    /// Shows the items of a list and frees it.
    #[inline]
    pub(super) fn consume(&mut self, list: u32, mut each: impl FnMut(T)) {
        let mut at = list;
        while let Some(node) = self.nodes.get_mut(at as usize) {
            each(node.item);
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = at;
            self.free_count += 1;
            self.handed_out.give_back(at);
            at = next;
        }
    }

    /// The list without the items for which `keep` is false, in the same order.
    pub(super) fn retain(&mut self, list: u32, mut keep: impl FnMut(T) -> bool) -> u32 {
        let (mut head, mut last, mut at) = (NIL, NIL, list);
        while let Some((item, next)) = self.first(at) {
            if keep(item) {
                match self.nodes.get_mut(last as usize) {
                    Some(node) => node.next = at,
                    None => head = at,
                }
                last = at;
            } else {
                self.nodes[at as usize].next = self.free;
                self.free = at;
                self.free_count += 1;
                self.handed_out.give_back(at);
            }
            at = next;
        }
        if let Some(node) = self.nodes.get_mut(last as usize) {
            node.next = NIL;
        }
        head
    }

    /// Changes every item, in use or not.
    pub(super) fn for_all(&mut self, change: impl FnMut(&mut T)) {
        self.nodes.iter_mut().map(|node| &mut node.item).for_each(change);
    }

    /// Empties all lists.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.free = NIL;
        self.free_count = 0;
        self.handed_out.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(pool: &ListPool<u32>, list: u32) -> Vec<u32> {
        let mut at = list;
        std::iter::from_fn(|| {
            let (item, next) = pool.first(at)?;
            at = next;
            Some(item)
        })
        .collect()
    }

    #[test]
    fn freed_nodes_are_taken_again() {
        let mut pool = ListPool::new(4, 4);
        for _ in 0..3 {
            let list = (0..4).fold(NIL, |list, i| pool.push(list, i));
            assert_eq!((items(&pool, list), pool.available()), (vec![3, 2, 1, 0], 0));
            pool.consume(list, |_| ());
            assert_eq!((pool.available(), pool.used()), (4, 0));
        }
    }

    #[test]
    fn retain_keeps_order_and_frees_the_rest() {
        for keep in 0..32u32 {
            let mut pool = ListPool::new(0, 9);
            let list = (0..5).fold(NIL, |list, i| pool.push(list, i));
            let list = pool.retain(list, |i| keep >> i & 1 == 1);
            let expected: Vec<u32> = (0..5).rev().filter(|i| keep >> i & 1 == 1).collect();
            assert_eq!(items(&pool, list), expected);
            assert_eq!(pool.used(), expected.len());
        }
    }
}
