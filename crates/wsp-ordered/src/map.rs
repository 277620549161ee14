//! [`OrderedMap`].

use crate::entry::{Entry, OccupiedEntry, VacantEntry};
use crate::iter::{IntoIter, IntoKeys, IntoValues, Iter, IterMut, Keys, Values, ValuesMut};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Bound, Index, RangeBounds};

/// The most entries of a chunk. Half of them are moved by a change on average: 2 KB at 32 bytes an entry.
pub(crate) const CHUNK: usize = 128;

/// A map in the order of its keys.
#[derive(Clone)]
pub struct OrderedMap<K, V> {
    /// Sorted, none empty, the keys of one below those of the next.
    pub(crate) chunks: Vec<Vec<(K, V)>>,
    pub(crate) len: usize,
}

/// A place in a map: the chunk and the index in it.
pub(crate) type Place = (usize, usize);

impl<K, V> OrderedMap<K, V> {
    /// A map without entries, which takes no memory.
    #[must_use]
    pub const fn new() -> Self {
        OrderedMap { chunks: Vec::new(), len: 0 }
    }

    /// The number of entries.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no entries.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.chunks.clear();
        self.len = 0;
    }

    /// The entries in the order of their keys.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter::of(&self.chunks, self.len)
    }

    /// The entries in the order of their keys, the values to be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut::of(&mut self.chunks)
    }

    /// The keys in their order.
    #[must_use]
    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys(self.iter())
    }

    /// The values in the order of their keys.
    #[must_use]
    pub fn values(&self) -> Values<'_, K, V> {
        Values(self.iter())
    }

    /// The values in the order of their keys, to be changed.
    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V> {
        ValuesMut(self.iter_mut())
    }

    /// The keys in their order.
    #[must_use]
    pub fn into_keys(self) -> IntoKeys<K, V> {
        IntoKeys(self.into_iter())
    }

    /// The values in the order of their keys.
    #[must_use]
    pub fn into_values(self) -> IntoValues<K, V> {
        IntoValues(self.into_iter())
    }

    /// The entry with the least key.
    #[must_use]
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.chunks.first()?.first().map(|(key, value)| (key, value))
    }

    /// The entry with the greatest key.
    #[must_use]
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.chunks.last()?.last().map(|(key, value)| (key, value))
    }

    /// Removes the entry with the least key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (self.len > 0).then(|| self.remove_at((0, 0)))
    }

    /// Removes the entry with the greatest key.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        let chunk = self.chunks.len().checked_sub(1)?;
        Some(self.remove_at((chunk, self.chunks[chunk].len() - 1)))
    }

    /// Keeps the entries of which `keep` is true; asks in the order of the keys.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        let mut len = 0;
        self.chunks.retain_mut(|chunk| {
            chunk.retain_mut(|(key, value)| keep(key, value));
            len += chunk.len();
            !chunk.is_empty()
        });
        self.len = len;
    }

    /// Removes the entry at a place.
    pub(crate) fn remove_at(&mut self, (at, index): Place) -> (K, V) {
        let entry = self.chunks[at].remove(index);
        self.len -= 1;
        let left = self.chunks[at].len();
        if left == 0 {
            self.chunks.remove(at);
        } else if self.chunks.get(at + 1).is_some_and(|next| left + next.len() <= CHUNK / 2) {
            let next = self.chunks.remove(at + 1);
            self.chunks[at].extend(next);
        }
        entry
    }

    /// Puts an entry where [`OrderedMap::place`] said that its key belongs; returns where it is then.
    pub(crate) fn insert_at(&mut self, (mut at, mut index): Place, key: K, value: V) -> Place {
        self.len += 1;
        if at == self.chunks.len() {
            self.chunks.push(Vec::new());
        } else if self.chunks[at].len() >= CHUNK {
            // Keys that come in ascending order leave full chunks behind; others leave halves.
            let behind = if index == CHUNK { Vec::new() } else { self.chunks[at].split_off(CHUNK / 2) };
            let first = self.chunks[at].len();
            self.chunks.insert(at + 1, behind);
            if index > first || first == CHUNK {
                (at, index) = (at + 1, index - first);
            }
        }
        self.chunks[at].insert(index, (key, value));
        (at, index)
    }
}

impl<K: Ord, V> OrderedMap<K, V> {
    /// The place of the first entry of which `order` is not `Less`: where it is `Equal`, or where such an entry belongs.
    fn search(&self, mut order: impl FnMut(&K) -> Ordering) -> Result<Place, Place> {
        let Some(last) = self.chunks.len().checked_sub(1) else { return Err((0, 0)) };
        // What is greater than all belongs behind the last chunk's entries.
        let (mut at, mut end) = (0, last);
        while at < end {
            let middle = at.midpoint(end);
            match self.chunks[middle].last().map(|(key, _)| order(key)) {
                Some(Ordering::Less) => at = middle + 1,
                _ => end = middle,
            }
        }
        match self.chunks[at].binary_search_by(|(key, _)| order(key)) {
            Ok(index) => Ok((at, index)),
            Err(index) => Err((at, index)),
        }
    }

    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<Place, Place>
    where
        K: Borrow<Q>,
    {
        self.search(|other| other.borrow().cmp(key))
    }

    /// The value of a key.
    #[must_use]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    /// The entry of a key.
    #[must_use]
    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (at, index) = self.place(key).ok()?;
        let (key, value) = &self.chunks[at][index];
        Some((key, value))
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (at, index) = self.place(key).ok()?;
        Some(&mut self.chunks[at][index].1)
    }

    /// Whether a key has a value.
    #[must_use]
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Gives a key a value; returns the one that it had. The key of before stays.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok((at, index)) => Some(std::mem::replace(&mut self.chunks[at][index].1, value)),
            Err(place) => {
                self.insert_at(place, key, value);
                None
            }
        }
    }

    /// Removes a key; returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.remove_entry(key).map(|(_, value)| value)
    }

    /// Removes a key; returns it with its value.
    pub fn remove_entry<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| self.remove_at(place))
    }

    /// The place of a key in the map, to be filled, read or changed.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        match self.place(&key) {
            Ok(place) => Entry::Occupied(OccupiedEntry { map: self, place, key }),
            Err(place) => Entry::Vacant(VacantEntry { map: self, place, key }),
        }
    }

    /// The entries with keys in a range, in order. A range that ends before it starts has none.
    pub fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (from, to) = self.places_of(&range);
        Iter::between(&self.chunks, from, to)
    }

    /// The entries with keys in a range, in order, the values to be changed.
    pub fn range_mut<Q: Ord + ?Sized>(&mut self, range: impl RangeBounds<Q>) -> IterMut<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (from, to) = self.places_of(&range);
        IterMut::between(&mut self.chunks, from, to)
    }

    /// The places of the first entry of a range, and of the first behind it.
    fn places_of<Q: Ord + ?Sized>(&self, range: &impl RangeBounds<Q>) -> (Place, Place)
    where
        K: Borrow<Q>,
    {
        // An order that is never `Equal` gives the place before, or behind, an equal key.
        let before = |key: &Q| self.search(|other| other.borrow().cmp(key).then(Ordering::Greater));
        let behind = |key: &Q| self.search(|other| other.borrow().cmp(key).then(Ordering::Less));
        let from = match range.start_bound() {
            Bound::Unbounded => Err((0, 0)),
            Bound::Included(key) => before(key),
            Bound::Excluded(key) => behind(key),
        };
        let to = match range.end_bound() {
            Bound::Unbounded => Err((self.chunks.len(), 0)),
            Bound::Included(key) => behind(key),
            Bound::Excluded(key) => before(key),
        };
        let (Ok(from) | Err(from), Ok(to) | Err(to)) = (from, to);
        (from, to.max(from))
    }

    /// Moves the entries with keys of at least `key` to a map of their own.
    #[must_use]
    pub fn split_off<Q: Ord + ?Sized>(&mut self, key: &Q) -> Self
    where
        K: Borrow<Q>,
    {
        let (Ok((at, index)) | Err((at, index))) = self.place(key);
        if at == self.chunks.len() {
            return OrderedMap::new();
        }
        let mut chunks = self.chunks.split_off(at);
        let behind = chunks[0].split_off(index);
        let before = std::mem::replace(&mut chunks[0], behind);
        self.chunks.extend((!before.is_empty()).then_some(before));
        chunks.retain(|chunk| !chunk.is_empty());
        let len = chunks.iter().map(Vec::len).sum();
        self.len -= len;
        OrderedMap { chunks, len }
    }

    /// Moves the entries of another map to this one, which it leaves empty; values of this one for the same keys are lost.
    pub fn append(&mut self, other: &mut Self) {
        self.extend(std::mem::take(other));
    }
}

impl<K: Ord, V> Extend<(K, V)> for OrderedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<'a, K: Ord + Copy, V: Copy> Extend<(&'a K, &'a V)> for OrderedMap<K, V> {
    fn extend<I: IntoIterator<Item = (&'a K, &'a V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(*key, *value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for OrderedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = OrderedMap::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for OrderedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K, V> IntoIterator for OrderedMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> IntoIter<K, V> {
        IntoIter::of(self)
    }
}

impl<'a, K, V> IntoIterator for &'a OrderedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut OrderedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> IterMut<'a, K, V> {
        self.iter_mut()
    }
}

impl<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized> Index<&Q> for OrderedMap<K, V> {
    type Output = V;

    /// # Panics
    /// If the key has no value.
    #[expect(clippy::expect_used, reason = "indexing is for keys that are there")]
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("no entry found for key")
    }
}

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> Self {
        OrderedMap::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for OrderedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for OrderedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for OrderedMap<K, V> {}

impl<K: PartialOrd, V: PartialOrd> PartialOrd for OrderedMap<K, V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.iter().partial_cmp(other.iter())
    }
}

impl<K: Ord, V: Ord> Ord for OrderedMap<K, V> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl<K: Hash, V: Hash> Hash for OrderedMap<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len.hash(state);
        for entry in self {
            entry.hash(state);
        }
    }
}
