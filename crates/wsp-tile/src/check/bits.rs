//! Rows of sets of numbers below a fixed bound, a bit each, in one piece of memory.

use std::ops::Range;

#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Rows {
    /// Words of a row.
    width: usize,
    words: Vec<u64>,
}

impl Clone for Rows {
    fn clone(&self) -> Rows {
        Rows { width: self.width, words: self.words.clone() }
    }

    /// In the memory that it has.
    fn clone_from(&mut self, other: &Rows) {
        self.width = other.width;
        self.words.clone_from(&other.words);
    }
}

impl Rows {
    /// Empty sets, for numbers below `end`.
    pub(crate) fn none(rows: usize, end: usize) -> Rows {
        let width = end.div_ceil(64);
        Rows { width, words: vec![0; rows * width] }
    }

    /// The words of a row.
    pub(crate) fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.width..][..self.width]
    }

    fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.words[row * self.width..][..self.width]
    }

    /// Puts all numbers below `end` into a row.
    pub(crate) fn fill(&mut self, row: usize, end: usize) {
        self.row_mut(row)[..end / 64].fill(!0);
        if !end.is_multiple_of(64) {
            self.row_mut(row)[end / 64] = (1 << (end % 64)) - 1;
        }
    }

    #[inline]
    pub(crate) fn has(&self, row: usize, number: usize) -> bool {
        self.words[row * self.width + number / 64] >> (number % 64) & 1 == 1
    }

    #[inline]
    pub(crate) fn insert(&mut self, row: usize, number: usize) {
        self.words[row * self.width + number / 64] |= 1 << (number % 64);
    }

    pub(crate) fn remove(&mut self, row: usize, number: usize) {
        self.words[row * self.width + number / 64] &= !(1 << (number % 64));
    }

    /// Removes a number from the rows before `end`, and from those whose distance from `end` is in row `listed`.
    pub(crate) fn remove_from(&mut self, end: usize, listed: usize, number: usize) {
        let (word, mask) = (number / 64, !(1 << (number % 64)));
        let rows = &mut self.words[..end * self.width];
        rows.chunks_exact_mut(self.width).for_each(|row| row[word] &= mask);
        for at in 0..self.width {
            let mut left = self.words[listed * self.width + at];
            while left != 0 {
                let row = end + at * 64 + left.trailing_zeros() as usize;
                self.words[row * self.width + word] &= mask;
                left &= left - 1;
            }
        }
    }

    /// Adds another set to a row.
    pub(crate) fn add(&mut self, row: usize, other: &[u64]) {
        self.row_mut(row).iter_mut().zip(other).for_each(|(a, b)| *a |= b);
    }

    /// Two rows, if they are not one.
    fn two(&mut self, one: usize, other: usize) -> Option<[&mut [u64]; 2]> {
        let words = |row: usize| row * self.width..(row + 1) * self.width;
        self.words.get_disjoint_mut([words(one), words(other)]).ok()
    }

    /// Adds a row to another one.
    pub(crate) fn add_row(&mut self, row: usize, from: usize) {
        let Some([row, from]) = self.two(row, from) else { return };
        row.iter_mut().zip(from).for_each(|(a, b)| *a |= *b);
    }

    /// Adds a row to another one, without a set.
    pub(crate) fn add_row_without(&mut self, row: usize, from: usize, without: &[u64]) {
        let Some([row, from]) = self.two(row, from) else { return };
        row.iter_mut().zip(from).zip(without).for_each(|((a, b), without)| *a |= *b & !without);
    }

    /// Makes a row of another one and a set.
    pub(crate) fn put(&mut self, row: usize, from: usize, more: &[u64]) {
        let Some([row, from]) = self.two(row, from) else { return self.add(row, more) };
        row.iter_mut().zip(from).zip(more).for_each(|((a, b), more)| *a = *b | more);
    }

    /// Adds a row to another one, and empties it.
    pub(crate) fn pour(&mut self, from: usize, into: usize) {
        let Some([from, into]) = self.two(from, into) else { return };
        from.iter_mut().zip(into).for_each(|(a, b)| *b |= std::mem::take(a));
    }

    /// Keeps in the rows before `end`, in those whose distance from `end` is in row `listed`, and in that one, what the rows of the other
    /// have, too; whether one had more.
    pub(crate) fn keep(&mut self, other: &Rows, end: usize, listed: usize) -> bool {
        let mut more = self.keep_words(other, 0..end * self.width);
        for at in 0..self.width {
            let mut left = self.words[listed * self.width + at];
            while left != 0 {
                let row = end + at * 64 + left.trailing_zeros() as usize;
                more |= self.keep_words(other, row * self.width..(row + 1) * self.width);
                left &= left - 1;
            }
        }
        more | self.keep_words(other, listed * self.width..(listed + 1) * self.width)
    }

    fn keep_words(&mut self, other: &Rows, words: Range<usize>) -> bool {
        let mut more = 0;
        for (a, b) in self.words[words.clone()].iter_mut().zip(&other.words[words]) {
            more |= *a & !b;
            *a &= b;
        }
        more != 0
    }

    /// The numbers of a row.
    pub(crate) fn numbers(&self, row: usize) -> impl Iterator<Item = usize> {
        numbers(self.row(row).iter().copied())
    }

    /// The numbers of a set that a row lacks.
    pub(crate) fn lacking(&self, row: usize, set: &[u64]) -> impl Iterator<Item = usize> {
        numbers(self.row(row).iter().zip(set).map(|(have, set)| set & !have))
    }

    /// The numbers that one row has of this one and of the other, and not both.
    pub(crate) fn apart(&self, row: usize, other: &Rows) -> Vec<usize> {
        numbers(self.row(row).iter().zip(other.row(row)).map(|(a, b)| a ^ b)).collect()
    }
}

fn numbers(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    let has = |word: u64, bit: usize| word >> bit & 1 == 1;
    let filled = words.enumerate().filter(|(_, word)| *word != 0);
    filled
        .flat_map(move |(at, word)| (0..64).filter(move |bit| has(word, *bit)).map(move |bit| at * 64 + bit))
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn sets_of_any_bound_have_what_was_put_in() {
        for end in [1, 63, 64, 65, 130] {
            let mut rows = Rows::none(4, end);
            (0..end).step_by(3).for_each(|number| rows.insert(1, number));
            rows.fill(2, end);
            assert_eq!(rows.numbers(0).count(), 0);
            assert!(rows.numbers(1).eq((0..end).step_by(3)) && rows.numbers(2).eq(0..end));
            let some = rows.row(1).to_vec();
            rows.add_row_without(0, 2, &some);
            assert!((0..end).all(|number| rows.has(0, number) != rows.has(1, number)));
            let mut other = rows.clone();
            other.add(0, &some);
            assert_eq!(other.row(0), other.row(2));
            assert!(rows.apart(0, &other).into_iter().eq((0..end).step_by(3)));
            assert!(other.keep(&rows, 3, 3) && !other.keep(&rows, 3, 3));
            assert_eq!(other, rows);
            assert!(rows.lacking(0, rows.row(2)).eq((0..end).step_by(3)));
            rows.remove(1, 0);
            assert!(!rows.has(1, 0));
            let mut listed = Rows::none(4, end);
            (0..3).for_each(|row| listed.fill(row, end));
            listed.insert(3, 0);
            listed.remove_from(1, 3, end - 1);
            assert!([0, 1, 2].map(|row| listed.has(row, end - 1)) == [false, false, true]);
            let mut all = Rows::none(4, end);
            (0..3).for_each(|row| all.fill(row, end));
            all.insert(3, 0);
            assert!(all.keep(&listed, 1, 3) && !all.keep(&listed, 1, 3));
            assert!([0, 1, 2].map(|row| all.has(row, end - 1)) == [false, false, true]);
            rows.pour(2, 3);
            assert!(rows.numbers(2).count() == 0 && rows.numbers(3).eq(0..end));
            rows.put(2, 0, &some);
            assert!(rows.numbers(2).eq(0..end));
            rows.add_row(1, 2);
            assert_eq!(rows.row(1), rows.row(2));
            // Of one row nothing comes to itself.
            rows.pour(2, 2);
            rows.add_row(2, 2);
            assert!(rows.numbers(2).eq(0..end));
        }
    }
}
