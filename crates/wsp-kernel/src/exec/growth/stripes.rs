//! Words of many descriptors that change alike, at equal distances.

use super::Growing;

/// The same fields of descriptors at equal distances.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stripe {
    /// The first word of all.
    first: usize,
    /// Words from one descriptor to the next.
    distance: usize,
    /// Descriptors.
    count: usize,
    /// Words of each descriptor, from the first one that changes on, with their change per token modulo 2^32.
    lanes: Vec<(usize, u32)>,
}

impl Stripe {
    /// Changes the words for one token more; how many.
    pub fn advance(&self, words: &mut [u32]) -> u32 {
        match self.lanes[..] {
            [(0, rate)] => self.each(words, |words| words[0] = words[0].wrapping_add(rate)),
            // Words side by side are one load and one store.
            [(0, one), (1, two)] => self.each(words, |words| {
                let pair: &mut [u32; 2] =
                    words.first_chunk_mut().expect("a descriptor should have the words that change");
                *pair = [pair[0].wrapping_add(one), pair[1].wrapping_add(two)];
            }),
            ref more => {
                let (fours, rest) = more.as_chunks::<4>();
                self.each(words, |words| {
                    for four in fours {
                        for &(at, rate) in four {
                            words[at] = words[at].wrapping_add(rate);
                        }
                    }
                    for &(at, rate) in rest {
                        words[at] = words[at].wrapping_add(rate);
                    }
                });
            }
        }
        (self.count * self.lanes.len()) as u32
    }

    /// Gives `change` the words from each descriptor's first one that changes up to that of the next.
    #[inline]
    fn each(&self, words: &mut [u32], change: impl Fn(&mut [u32])) {
        let mut rest = &mut words[self.first..];
        for _ in 1..self.count {
            let (one, others) = rest.split_at_mut(self.distance);
            change(one);
            rest = others;
        }
        // The last descriptor of all may end before the distance does.
        let end = rest.len().min(self.distance);
        change(&mut rest[..end]);
    }
}

/// Most words of one period: a request of several pieces and a merge has some.
const MOST_LANES: usize = 16;
/// A period that repeats so often is not looked for any further.
const OFTEN: usize = 8;
/// Fewer repetitions may be those of words that lie apart by chance, and hide the period behind them.
const SOME: usize = 3;

/// The words that change, in stripes; per stage with the stage's first word.
pub fn stripes(growing: &[(usize, Growing)]) -> Vec<Stripe> {
    let of_stage = |(first, growing): &(usize, Growing)| {
        let first = *first;
        growing.words.iter().map(move |word| (first + word.word, word.rate as u32)).collect::<Vec<_>>()
    };
    let words: Vec<(usize, u32)> = growing.iter().flat_map(of_stage).collect();
    let (mut all, mut rest) = (Vec::new(), &words[..]);
    while let Some(&(first, _)) = rest.first() {
        let (period, count) = repeated(rest);
        let lanes: Vec<_> = rest[..period].iter().map(|(at, rate)| (at - first, *rate)).collect();
        let distance = if count > 1 { rest[period].0 - first } else { 1 };
        all.push(Stripe { first, distance, count, lanes });
        rest = &rest[period * count..];
    }
    all
}

/// How many words, which are given with their changes, are a period at the beginning, and how often it stands there.
fn repeated(words: &[(usize, u32)]) -> (usize, usize) {
    let mut best = (1, 1);
    for period in 1..=MOST_LANES {
        let count = repetitions(words, period);
        if count >= SOME && period * count > best.0 * best.1 {
            best = (period, count);
        }
        if count >= OFTEN {
            break;
        }
    }
    best
}

/// How often the first `period` words stand at the beginning, each time as far behind the time before.
fn repetitions(words: &[(usize, u32)], period: usize) -> usize {
    let Some((second, _)) = words.get(period) else { return 1 };
    let distance = second - words[0].0;
    let pairs = words.iter().zip(&words[period..]);
    let same = pairs.take_while(|(a, b)| (a.0 + distance, a.1) == **b).count();
    1 + same / period
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GrowingWord;
    use proptest::prelude::*;

    fn growing(words: &[(usize, i64)]) -> Growing {
        let word = |&(word, rate): &(usize, i64)| GrowingWord { word, rate };
        let mut growing = Growing::default();
        growing.words.extend(words.iter().map(word));
        growing
    }

    #[test]
    fn two_fields_of_many_descriptors_are_one_stripe() {
        let words: Vec<_> = (0..50).flat_map(|d| [(7 * d + 3, 1), (7 * d + 4, -2)]).collect();
        let found = stripes(&[(100, growing(&words))]);
        let want =
            Stripe { first: 103, distance: 7, count: 50, lanes: vec![(0, 1), (1, 2u32.wrapping_neg())] };
        assert_eq!(found, [want]);
    }

    #[test]
    fn a_request_that_is_cut_leaves_stripes_before_and_behind_it() {
        // Of its two pieces the second one alone has an end that changes, and a merge of four words follows.
        let uncut =
            |first: usize| (0..20).flat_map(move |d| [(first + 7 * d + 3, 1), (first + 7 * d + 4, 1)]);
        let words: Vec<_> = uncut(0).chain([(144, 1), (150, 1), (151, 1)]).chain(uncut(158)).collect();
        let counts = stripes(&[(0, growing(&words))]).iter().map(|s| (s.first, s.count)).collect::<Vec<_>>();
        assert_eq!(counts, [(3, 20), (144, 1), (150, 1), (151, 1), (161, 20)]);
    }

    #[test]
    fn requests_of_several_pieces_and_a_merge_are_one_stripe() {
        // Of two pieces both know the length, the second one ends there; the merge knows neither.
        let words: Vec<_> =
            (0..20).flat_map(|d| [(18 * d + 4, 1), (18 * d + 10, 1), (18 * d + 11, 1)]).collect();
        let want = Stripe { first: 4, distance: 18, count: 20, lanes: vec![(0, 1), (6, 1), (7, 1)] };
        assert_eq!(stripes(&[(0, growing(&words))]), [want]);
    }

    proptest! {
        #[test]
        fn stripes_change_the_words_that_are_listed_and_no_others(
            descriptors in prop::collection::vec((1usize..6, prop::collection::vec((any::<bool>(), -2i64..3), 5)), 0..40),
        ) {
            let (mut at, mut list) = (0, Vec::new());
            for (fields, changes) in &descriptors {
                let of_one = changes.iter().take(*fields).enumerate().filter(|(_, (grows, _))| *grows);
                list.extend(of_one.map(|(field, (_, rate))| (at + field, *rate)));
                at += fields;
            }
            let (mut have, mut want) = (vec![10u32; at], vec![10u32; at]);
            list.iter().for_each(|(word, rate)| want[*word] = want[*word].wrapping_add(*rate as u32));
            let found = stripes(&[(0, growing(&list))]);
            let changed: u32 = found.iter().map(|stripe| stripe.advance(&mut have)).sum();
            prop_assert_eq!(have, want);
            prop_assert_eq!(changed as usize, list.len());
        }
    }
}
