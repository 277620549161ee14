//! Iterators over maps and sets, in the order of the keys, from both ends.

use crate::map::{OrderedMap, Place};
use std::iter::FusedIterator;
use std::{slice, vec};

/// Entries of a map, in order.
pub struct Iter<'a, K, V> {
    front: slice::Iter<'a, (K, V)>,
    chunks: slice::Iter<'a, Vec<(K, V)>>,
    back: slice::Iter<'a, (K, V)>,
    /// The entries left.
    len: usize,
}

impl<'a, K, V> Iter<'a, K, V> {
    pub(crate) fn of(chunks: &'a [Vec<(K, V)>], len: usize) -> Self {
        Iter { front: [].iter(), chunks: chunks.iter(), back: [].iter(), len }
    }

    /// The entries from one place on and before another, which is not before the first.
    pub(crate) fn between(chunks: &'a [Vec<(K, V)>], from: Place, to: Place) -> Self {
        let part = |at: usize| chunks.get(at).map_or(&[][..], Vec::as_slice);
        let (front, middle, back) = match from.0 == to.0 {
            true => (&part(from.0)[from.1..to.1], &[][..], &[][..]),
            false => (&part(from.0)[from.1..], &chunks[from.0 + 1..to.0], &part(to.0)[..to.1]),
        };
        let len = front.len() + middle.iter().map(Vec::len).sum::<usize>() + back.len();
        Iter { front: front.iter(), chunks: middle.iter(), back: back.iter(), len }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.front.next() {
                self.len -= 1;
                return Some((key, value));
            }
            match self.chunks.next() {
                Some(chunk) => self.front = chunk.iter(),
                None if self.back.len() == 0 => return None,
                None => self.front = std::mem::replace(&mut self.back, [].iter()),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.back.next_back() {
                self.len -= 1;
                return Some((key, value));
            }
            match self.chunks.next_back() {
                Some(chunk) => self.back = chunk.iter(),
                None if self.front.len() == 0 => return None,
                None => self.back = std::mem::replace(&mut self.front, [].iter()),
            }
        }
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}
impl<K, V> FusedIterator for Iter<'_, K, V> {}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        let (front, chunks, back) = (self.front.clone(), self.chunks.clone(), self.back.clone());
        Iter { front, chunks, back, len: self.len }
    }
}

/// Entries of a map, in order, the values to be changed.
pub struct IterMut<'a, K, V> {
    front: slice::IterMut<'a, (K, V)>,
    chunks: slice::IterMut<'a, Vec<(K, V)>>,
    back: slice::IterMut<'a, (K, V)>,
}

impl<'a, K, V> IterMut<'a, K, V> {
    pub(crate) fn of(chunks: &'a mut [Vec<(K, V)>]) -> Self {
        IterMut { front: [].iter_mut(), chunks: chunks.iter_mut(), back: [].iter_mut() }
    }

    /// The entries from one place on and before another, which is not before the first.
    pub(crate) fn between(chunks: &'a mut [Vec<(K, V)>], from: Place, to: Place) -> Self {
        let (rest, last) = chunks.split_at_mut(to.0);
        let back = last.first_mut().map_or(&mut [][..], |chunk| &mut chunk[..to.1]);
        match rest.get_mut(from.0..) {
            Some([first, rest @ ..]) => {
                IterMut { front: first[from.1..].iter_mut(), chunks: rest.iter_mut(), back: back.iter_mut() }
            }
            // One chunk has both ends, or there is none.
            _ => IterMut {
                front: [].iter_mut(),
                chunks: [].iter_mut(),
                back: back.get_mut(from.1..).unwrap_or_default().iter_mut(),
            },
        }
    }
}

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.front.next() {
                return Some((key, value));
            }
            self.front = match self.chunks.next() {
                Some(chunk) => chunk.iter_mut(),
                None if self.back.len() == 0 => return None,
                None => std::mem::replace(&mut self.back, [].iter_mut()),
            };
        }
    }
}

impl<K, V> DoubleEndedIterator for IterMut<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.back.next_back() {
                return Some((key, value));
            }
            self.back = match self.chunks.next_back() {
                Some(chunk) => chunk.iter_mut(),
                None if self.front.len() == 0 => return None,
                None => std::mem::replace(&mut self.front, [].iter_mut()),
            };
        }
    }
}

/// Entries of a map that is used up, in order.
pub struct IntoIter<K, V> {
    front: vec::IntoIter<(K, V)>,
    chunks: vec::IntoIter<Vec<(K, V)>>,
    back: vec::IntoIter<(K, V)>,
    len: usize,
}

impl<K, V> IntoIter<K, V> {
    pub(crate) fn of(map: OrderedMap<K, V>) -> Self {
        let (front, back) = (Vec::new().into_iter(), Vec::new().into_iter());
        IntoIter { front, chunks: map.chunks.into_iter(), back, len: map.len }
    }
}

impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<(K, V)> {
        loop {
            if let Some(entry) = self.front.next() {
                self.len -= 1;
                return Some(entry);
            }
            match self.chunks.next() {
                Some(chunk) => self.front = chunk.into_iter(),
                None if self.back.len() == 0 => return None,
                None => self.front = std::mem::replace(&mut self.back, Vec::new().into_iter()),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl<K, V> DoubleEndedIterator for IntoIter<K, V> {
    fn next_back(&mut self) -> Option<(K, V)> {
        loop {
            if let Some(entry) = self.back.next_back() {
                self.len -= 1;
                return Some(entry);
            }
            match self.chunks.next_back() {
                Some(chunk) => self.back = chunk.into_iter(),
                None if self.front.len() == 0 => return None,
                None => self.back = std::mem::replace(&mut self.front, Vec::new().into_iter()),
            }
        }
    }
}

impl<K, V> ExactSizeIterator for IntoIter<K, V> {}
impl<K, V> FusedIterator for IntoIter<K, V> {}

/// An iterator that gives a part of what another gives.
macro_rules! part {
    ($(#[$doc:meta])* $name:ident $(<$lifetime:lifetime>)? of $inner:ident: $item:ty, $pick:expr) => {
        $(#[$doc])*
        pub struct $name<$($lifetime,)? K, V>(pub(crate) $inner<$($lifetime,)? K, V>);

        impl<$($lifetime,)? K, V> Iterator for $name<$($lifetime,)? K, V> {
            type Item = $item;

            fn next(&mut self) -> Option<$item> {
                self.0.next().map($pick)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }
    };
}

/// The other end of such an iterator.
macro_rules! part_back {
    ($name:ident $(<$lifetime:lifetime>)?, $pick:expr) => {
        impl<$($lifetime,)? K, V> DoubleEndedIterator for $name<$($lifetime,)? K, V> {
            fn next_back(&mut self) -> Option<Self::Item> {
                self.0.next_back().map($pick)
            }
        }

        impl<$($lifetime,)? K, V> ExactSizeIterator for $name<$($lifetime,)? K, V> {}
    };
}

part! {
    /// Keys of a map, or elements of a set, in order.
    Keys<'a> of Iter: &'a K, |(key, _)| key
}
part! {
    /// Values of a map, in the order of their keys.
    Values<'a> of Iter: &'a V, |(_, value)| value
}
part! {
    /// Values of a map, in the order of their keys, to be changed.
    ValuesMut<'a> of IterMut: &'a mut V, |(_, value)| value
}
part! {
    /// Keys of a map that is used up, in order.
    IntoKeys of IntoIter: K, |(key, _)| key
}
part! {
    /// Values of a map that is used up, in the order of their keys.
    IntoValues of IntoIter: V, |(_, value)| value
}
part_back!(Keys<'a>, |(key, _)| key);
part_back!(Values<'a>, |(_, value)| value);
part_back!(IntoKeys, |(key, _)| key);
part_back!(IntoValues, |(_, value)| value);

impl<K, V> Clone for Keys<'_, K, V> {
    fn clone(&self) -> Self {
        Keys(self.0.clone())
    }
}

impl<K, V> Clone for Values<'_, K, V> {
    fn clone(&self) -> Self {
        Values(self.0.clone())
    }
}

/// Elements of a set that is used up, in order.
pub type SetIntoIter<K> = IntoKeys<K, ()>;
