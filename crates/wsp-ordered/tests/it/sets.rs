//! Sets beside `BTreeSet`.

use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;
use wsp_ordered::OrderedSet;

fn of(elements: &[u16]) -> (OrderedSet<u16>, BTreeSet<u16>) {
    (elements.iter().copied().collect(), elements.iter().copied().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn two_sets_give_what_the_standard_library_gives(a in vec(0..600u16, 0..500), b in vec(0..600u16, 0..500), at in 0..620u16) {
        let ((mut ours, mut std), (other, other_std)) = (of(&a), of(&b));
        prop_assert!(ours.iter().eq(&std) && ours.iter().rev().eq(std.iter().rev()));
        prop_assert!(ours.difference(&other).eq(std.difference(&other_std)));
        prop_assert!(ours.intersection(&other).eq(std.intersection(&other_std)));
        prop_assert_eq!(ours.is_subset(&other), std.is_subset(&other_std));
        prop_assert_eq!(ours.is_disjoint(&other), std.is_disjoint(&other_std));
        prop_assert_eq!((ours.first(), ours.last(), ours.get(&at)), (std.first(), std.last(), std.get(&at)));
        prop_assert!(ours.range(at..).rev().eq(std.range(at..).rev()));
        prop_assert_eq!(format!("{ours:?}"), format!("{std:?}"));
        prop_assert_eq!(ours.cmp(&other), std.cmp(&other_std));
        prop_assert_eq!((ours.remove(&at), ours.insert(at), ours.contains(&at)), (std.remove(&at), std.insert(at), true));
        let (mut behind, mut behind_std) = (ours.split_off(&at), std.split_off(&at));
        prop_assert!(ours.iter().eq(&std) && behind.iter().eq(&behind_std));
        behind.extend(&other);
        behind_std.extend(&other_std);
        ours.append(&mut behind);
        std.append(&mut behind_std);
        ours.retain(|element| element % 3 != 0);
        std.retain(|element| element % 3 != 0);
        prop_assert_eq!((ours.pop_first(), ours.pop_last()), (std.pop_first(), std.pop_last()));
        prop_assert!(ours.into_iter().eq(std));
    }
}

#[test]
fn a_subset_is_one_whose_elements_are_all_in_the_other() {
    let (small, _) = of(&[1, 5]);
    let (large, _) = of(&[0, 1, 5, 9]);
    assert!(small.is_subset(&large) && !large.is_subset(&small) && !small.is_disjoint(&large));
    assert!(OrderedSet::new().is_subset(&small));
}
