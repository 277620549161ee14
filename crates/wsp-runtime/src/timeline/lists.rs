//! A list for each of many things, in two arrays.

/// Lists of values, by the place of what they belong to. What has no list has an empty one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lists<T> {
    ends: Vec<usize>,
    values: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists { ends: Vec::new(), values: Vec::new() }
    }
}

impl<T> Lists<T> {
    /// Adds the list of the next place.
    pub fn push(&mut self, values: impl IntoIterator<Item = T>) {
        self.values.extend(values);
        self.ends.push(self.values.len());
    }

    /// The list of a place.
    pub fn list(&self, place: usize) -> &[T] {
        let Some(&end) = self.ends.get(place) else { return &[] };
        let begin = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.values[begin..end]
    }

    /// Values of all lists.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}
