//! From numbers of a program to places in a list.

use rustc_hash::FxHashMap;

/// Places by number. Numbers below a limit, as programs and assemblers give them, stand in an array.
#[derive(Clone, Debug, Default)]
pub struct NumberMap {
    dense: Vec<u32>,
    sparse: FxHashMap<u32, u32>,
    limit: u32,
}

/// Marks a number without a place.
const ABSENT: u32 = u32::MAX;
/// Numbers below this are always kept in the array.
const LEAST_LIMIT: usize = 1024;

impl NumberMap {
    /// An empty map for a unit of so many instructions: its array holds at most four times as many numbers.
    pub fn new(instructions: usize) -> NumberMap {
        let limit = instructions.saturating_mul(4).clamp(LEAST_LIMIT, 1 << 28) as u32;
        NumberMap { limit, ..NumberMap::default() }
    }

    /// The place of a number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<u32> {
        match self.dense.get(number as usize) {
            Some(&place) if place != ABSENT => Some(place),
            Some(_) => None,
            None if self.sparse.is_empty() => None,
            None => self.sparse.get(&number).copied(),
        }
    }

    /// Sets the place of a number, which is not `u32::MAX`.
    pub fn insert(&mut self, number: u32, place: u32) {
        if number >= self.limit {
            self.sparse.insert(number, place);
            return;
        }
        let at = number as usize;
        if at >= self.dense.len() {
            self.dense.resize((at + 1).next_power_of_two().min(self.limit as usize), ABSENT);
        }
        self.dense[at] = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_numbers_are_found() {
        let mut map = NumberMap::new(10);
        for (place, number) in [0, 7, 1023, 1024, u32::MAX, 5_000_000].into_iter().enumerate() {
            assert_eq!(map.get(number), None);
            map.insert(number, place as u32);
            assert_eq!(map.get(number), Some(place as u32));
        }
        map.insert(7, 9);
        assert_eq!((map.get(7), map.get(8), map.get(6_000_000)), (Some(9), None, None));
    }
}
