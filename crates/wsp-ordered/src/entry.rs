//! The place of a key in a map.

use crate::map::{OrderedMap, Place};

/// The place of a key in a map: with a value, or without one.
pub enum Entry<'a, K, V> {
    /// The key has a value.
    Occupied(OccupiedEntry<'a, K, V>),
    /// The key has none.
    Vacant(VacantEntry<'a, K, V>),
}

/// The place of a key that has a value.
pub struct OccupiedEntry<'a, K, V> {
    pub(crate) map: &'a mut OrderedMap<K, V>,
    pub(crate) place: Place,
    pub(crate) key: K,
}

/// The place of a key that has no value.
pub struct VacantEntry<'a, K, V> {
    pub(crate) map: &'a mut OrderedMap<K, V>,
    pub(crate) place: Place,
    pub(crate) key: K,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// The value, which is `default` if there was none.
    pub fn or_insert(self, default: V) -> &'a mut V {
        self.or_insert_with(|| default)
    }

    /// The value, which is made if there was none.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(make()),
        }
    }

    /// The value, which is its type's default if there was none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value if there is one.
    #[must_use]
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }

    /// The key.
    pub fn key(&self) -> &K {
        match self {
            Entry::Occupied(entry) => &entry.key,
            Entry::Vacant(entry) => &entry.key,
        }
    }
}

impl<'a, K, V> OccupiedEntry<'a, K, V> {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The value.
    #[must_use]
    pub fn get(&self) -> &V {
        &self.map.chunks[self.place.0][self.place.1].1
    }

    /// The value, to be changed.
    pub fn get_mut(&mut self) -> &mut V {
        &mut self.map.chunks[self.place.0][self.place.1].1
    }

    /// The value, to be changed for as long as the map is borrowed.
    #[must_use]
    pub fn into_mut(self) -> &'a mut V {
        &mut self.map.chunks[self.place.0][self.place.1].1
    }

    /// Gives the key another value; returns the one of before.
    pub fn insert(&mut self, value: V) -> V {
        std::mem::replace(self.get_mut(), value)
    }

    /// Removes the entry; returns its value.
    #[must_use]
    pub fn remove(self) -> V {
        self.map.remove_at(self.place).1
    }
}

impl<'a, K, V> VacantEntry<'a, K, V> {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Gives the key a value.
    pub fn insert(self, value: V) -> &'a mut V {
        let (at, index) = self.map.insert_at(self.place, self.key, value);
        &mut self.map.chunks[at][index].1
    }
}
