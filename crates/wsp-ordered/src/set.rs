//! [`OrderedSet`].

use crate::iter::{Keys, SetIntoIter};
use crate::map::OrderedMap;
use std::borrow::Borrow;
use std::fmt;
use std::ops::RangeBounds;

/// A set in the order of its elements.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderedSet<K>(OrderedMap<K, ()>);

impl<K> OrderedSet<K> {
    /// A set without elements, which takes no memory.
    #[must_use]
    pub const fn new() -> Self {
        OrderedSet(OrderedMap::new())
    }

    /// The number of elements.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The elements in order.
    #[must_use]
    pub fn iter(&self) -> Keys<'_, K, ()> {
        self.0.keys()
    }

    /// The least element.
    #[must_use]
    pub fn first(&self) -> Option<&K> {
        self.0.first_key_value().map(|(key, ())| key)
    }

    /// The greatest element.
    #[must_use]
    pub fn last(&self) -> Option<&K> {
        self.0.last_key_value().map(|(key, ())| key)
    }

    /// Removes the least element.
    pub fn pop_first(&mut self) -> Option<K> {
        self.0.pop_first().map(|(key, ())| key)
    }

    /// Removes the greatest element.
    pub fn pop_last(&mut self) -> Option<K> {
        self.0.pop_last().map(|(key, ())| key)
    }

    /// Keeps the elements of which `keep` is true; asks in order.
    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        self.0.retain(|key, ()| keep(key));
    }
}

impl<K: Ord> OrderedSet<K> {
    /// Whether it has an element.
    #[must_use]
    pub fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(key)
    }

    /// The element that is equal.
    #[must_use]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&K>
    where
        K: Borrow<Q>,
    {
        self.0.get_key_value(key).map(|(key, ())| key)
    }

    /// Adds an element; whether it was not there.
    pub fn insert(&mut self, key: K) -> bool {
        self.0.insert(key, ()).is_none()
    }

    /// Removes an element; whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.remove(key).is_some()
    }

    /// The elements in a range, in order. A range that ends before it starts has none.
    pub fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> Keys<'_, K, ()>
    where
        K: Borrow<Q>,
    {
        Keys(self.0.range(range))
    }

    /// The elements that another set lacks, in order.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a K> + Clone {
        self.iter().filter(|key| !other.contains(*key))
    }

    /// The elements that another set has too, in order.
    pub fn intersection<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a K> + Clone {
        self.iter().filter(|key| other.contains(*key))
    }

    /// Whether no element is one of another set.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.intersection(other).next().is_none()
    }

    /// Whether every element is one of another set.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).next().is_none()
    }

    /// Moves the elements of at least `key` to a set of their own.
    #[must_use]
    pub fn split_off<Q: Ord + ?Sized>(&mut self, key: &Q) -> Self
    where
        K: Borrow<Q>,
    {
        OrderedSet(self.0.split_off(key))
    }

    /// Moves the elements of another set to this one, which it leaves empty.
    pub fn append(&mut self, other: &mut Self) {
        self.0.append(&mut other.0);
    }
}

impl<K: Ord> Extend<K> for OrderedSet<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, elements: I) {
        for element in elements {
            self.insert(element);
        }
    }
}

impl<'a, K: Ord + Copy> Extend<&'a K> for OrderedSet<K> {
    fn extend<I: IntoIterator<Item = &'a K>>(&mut self, elements: I) {
        self.extend(elements.into_iter().copied());
    }
}

impl<K: Ord> FromIterator<K> for OrderedSet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(elements: I) -> Self {
        let mut set = OrderedSet::new();
        set.extend(elements);
        set
    }
}

impl<K: Ord, const N: usize> From<[K; N]> for OrderedSet<K> {
    fn from(elements: [K; N]) -> Self {
        elements.into_iter().collect()
    }
}

impl<K> IntoIterator for OrderedSet<K> {
    type Item = K;
    type IntoIter = SetIntoIter<K>;

    fn into_iter(self) -> SetIntoIter<K> {
        self.0.into_keys()
    }
}

impl<'a, K> IntoIterator for &'a OrderedSet<K> {
    type Item = &'a K;
    type IntoIter = Keys<'a, K, ()>;

    fn into_iter(self) -> Keys<'a, K, ()> {
        self.iter()
    }
}

impl<K> Default for OrderedSet<K> {
    fn default() -> Self {
        OrderedSet::new()
    }
}

impl<K: fmt::Debug> fmt::Debug for OrderedSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
