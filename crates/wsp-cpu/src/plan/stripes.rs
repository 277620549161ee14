//! Words of many descriptors that change alike.

use wsp_kernel::Growing;

/// The same fields of descriptors at equal distances.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stripe {
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
    pub(super) fn advance(&self, words: &mut [u32]) -> u32 {
        // The last descriptor of all may end before the distance does.
        let descriptors = words[self.first..].chunks_mut(self.distance).take(self.count);
        match self.lanes[..] {
            [(0, rate)] => {
                for words in descriptors {
                    words[0] = words[0].wrapping_add(rate);
                }
            }
            // Words side by side are one load and one store.
            [(0, one), (1, two)] => {
                for words in descriptors {
                    let [first, second] =
                        words.first_chunk_mut().expect("a descriptor should have the words that change");
                    (*first, *second) = (first.wrapping_add(one), second.wrapping_add(two));
                }
            }
            ref more => {
                for words in descriptors {
                    for &(at, rate) in more {
                        words[at] = words[at].wrapping_add(rate);
                    }
                }
            }
        }
        (self.count * self.lanes.len()) as u32
    }

    /// How far it begins behind another one of the same descriptors; none if it is of others.
    fn follows(&self, other: &Stripe) -> Option<usize> {
        let apart = self.first.checked_sub(other.first)?;
        let fits = apart < self.distance && self.distance == other.distance && self.count == other.count;
        fits.then_some(apart)
    }
}

/// The words that change, in stripes; per stage with the stage's first word.
pub(super) fn stripes(growing: &[(usize, Growing)]) -> Vec<Stripe> {
    let mut done: Vec<Stripe> = Vec::new();
    // The stripe that each field is adding to.
    let mut open: Vec<Option<Stripe>> = Vec::new();
    for (first, growing) in growing {
        for word in &growing.words {
            let (at, rate) = (first + word.word, word.rate as u32);
            open.resize_with(open.len().max(word.field + 1), || None);
            let slot = &mut open[word.field];
            if let Some(stripe) = slot
                && stripe.lanes[0].1 == rate
            {
                if stripe.count == 1 {
                    stripe.distance = at - stripe.first;
                }
                if at == stripe.first + stripe.count * stripe.distance {
                    stripe.count += 1;
                    continue;
                }
            }
            done.extend(slot.replace(Stripe { first: at, distance: 1, count: 1, lanes: vec![(0, rate)] }));
        }
    }
    done.extend(open.into_iter().flatten());
    joined(done)
}

/// Stripes of the same descriptors as one, so that each descriptor is gone to once.
fn joined(mut stripes: Vec<Stripe>) -> Vec<Stripe> {
    stripes.sort_unstable_by_key(|stripe| stripe.first);
    let mut all: Vec<Stripe> = Vec::with_capacity(stripes.len());
    for stripe in stripes {
        match all.last_mut().and_then(|last| Some((stripe.follows(last)?, last))) {
            Some((apart, last)) => last.lanes.push((apart, stripe.lanes[0].1)),
            None => all.push(stripe),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wsp_kernel::GrowingWord;

    fn growing(words: &[(usize, usize, i64)]) -> Growing {
        let word = |&(word, field, rate): &(usize, usize, i64)| GrowingWord { word, field, rate };
        let mut growing = Growing::default();
        growing.words.extend(words.iter().map(word));
        growing
    }

    #[test]
    fn two_fields_of_many_descriptors_are_one_stripe() {
        let words: Vec<_> = (0..50).flat_map(|d| [(7 * d + 3, 3, 1), (7 * d + 4, 4, -2)]).collect();
        let found = stripes(&[(100, growing(&words))]);
        let want =
            Stripe { first: 103, distance: 7, count: 50, lanes: vec![(0, 1), (1, 2u32.wrapping_neg())] };
        assert_eq!(found, [want]);
    }

    proptest! {
        #[test]
        fn stripes_change_the_words_that_are_listed_and_no_others(
            descriptors in prop::collection::vec((1usize..6, prop::collection::vec((any::<bool>(), -2i64..3), 5)), 0..40),
        ) {
            let (mut at, mut list) = (0, Vec::new());
            for (fields, changes) in &descriptors {
                let of_one = changes.iter().take(*fields).enumerate().filter(|(_, (grows, _))| *grows);
                list.extend(of_one.map(|(field, (_, rate))| (at + field, field, *rate)));
                at += fields;
            }
            let (mut have, mut want) = (vec![10u32; at], vec![10u32; at]);
            list.iter().for_each(|(word, _, rate)| want[*word] = want[*word].wrapping_add(*rate as u32));
            let found = stripes(&[(0, growing(&list))]);
            let changed: u32 = found.iter().map(|stripe| stripe.advance(&mut have)).sum();
            prop_assert_eq!(have, want);
            prop_assert_eq!(changed as usize, list.len());
        }
    }
}
