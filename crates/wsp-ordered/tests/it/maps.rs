//! Maps beside `BTreeMap`: the same results after the same calls, with few keys and with many chunks.

use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as StdEntry;
use std::ops::Bound;
use wsp_ordered::{Entry, OrderedMap};

/// One call of a map.
#[derive(Clone, Debug)]
enum Call {
    Insert(u16, u32),
    Remove(u16),
    Add(u16, u32),
    PopFirst,
    PopLast,
    /// Keeps the keys that are not multiples of a number.
    Retain(u16),
    SplitOff(u16),
    /// Ascending keys from one on: chunks that stay full.
    Run(u16, u16),
    TakeOut(u16),
    Change(u16, u16),
}

fn call(keys: u16) -> impl Strategy<Value = Call> {
    let key = 0..keys;
    prop_oneof![
        8 => (key.clone(), any::<u32>()).prop_map(|(key, value)| Call::Insert(key, value)),
        6 => key.clone().prop_map(Call::Remove),
        3 => (key.clone(), any::<u32>()).prop_map(|(key, value)| Call::Add(key, value)),
        2 => Just(Call::PopFirst),
        2 => Just(Call::PopLast),
        1 => (2..9u16).prop_map(Call::Retain),
        1 => key.clone().prop_map(Call::SplitOff),
        2 => (key.clone(), 1..700u16).prop_map(|(from, many)| Call::Run(from, many)),
        2 => key.clone().prop_map(Call::TakeOut),
        1 => (key.clone(), key).prop_map(|(from, to)| Call::Change(from.min(to), from.max(to))),
    ]
}

/// Makes one call of both maps and compares what they give.
fn both(call: &Call, ours: &mut OrderedMap<u16, u32>, std: &mut BTreeMap<u16, u32>) {
    match *call {
        Call::Insert(key, value) => assert_eq!(ours.insert(key, value), std.insert(key, value)),
        Call::Remove(key) => assert_eq!(ours.remove_entry(&key), std.remove_entry(&key)),
        Call::Add(key, value) => {
            let add = |old: &mut u32| *old = old.wrapping_mul(3).wrapping_add(value);
            let ours = *ours.entry(key).and_modify(add).or_insert(value);
            assert_eq!(ours, *std.entry(key).and_modify(add).or_insert(value));
        }
        Call::PopFirst => assert_eq!(ours.pop_first(), std.pop_first()),
        Call::PopLast => assert_eq!(ours.pop_last(), std.pop_last()),
        Call::Retain(of) => {
            let (mut asked, mut asked_std) = (Vec::new(), Vec::new());
            ours.retain(|&key, value| {
                asked.push(key);
                *value ^= 1;
                key % of != 0
            });
            std.retain(|&key, value| {
                asked_std.push(key);
                *value ^= 1;
                key % of != 0
            });
            assert_eq!(asked, asked_std);
        }
        Call::SplitOff(key) => {
            let (mut behind, mut behind_std) = (ours.split_off(&key), std.split_off(&key));
            same(&behind, &behind_std);
            behind.insert(0, 1);
            behind_std.insert(0, 1);
            ours.append(&mut behind);
            std.append(&mut behind_std);
            assert!(behind.is_empty());
        }
        Call::Run(from, many) => {
            ours.extend((from..from.saturating_add(many)).map(|key| (key, u32::from(key))));
            std.extend((from..from.saturating_add(many)).map(|key| (key, u32::from(key))));
        }
        Call::TakeOut(key) => match (ours.entry(key), std.entry(key)) {
            (Entry::Occupied(mut ours), StdEntry::Occupied(mut std)) => {
                assert_eq!((ours.key(), ours.get()), (std.key(), std.get()));
                assert_eq!(ours.insert(7), std.insert(7));
                assert_eq!(ours.remove(), std.remove());
            }
            (Entry::Vacant(ours), StdEntry::Vacant(std)) => assert_eq!(ours.insert(5), std.insert(5)),
            _ => panic!("{key} is in one of the two"),
        },
        Call::Change(from, to) => {
            for (key, value) in ours.range_mut(from..to) {
                *value = value.wrapping_add(u32::from(*key));
            }
            for (key, value) in std.range_mut(from..to) {
                *value = value.wrapping_add(u32::from(*key));
            }
            let last =
                |value: Option<(&u16, &mut u32)>| value.map(|(key, value)| (*key, std::mem::take(value)));
            assert_eq!(
                last(ours.range_mut(from..=to).next_back()),
                last(std.range_mut(from..=to).next_back())
            );
        }
    }
}

/// Compares all that reading gives.
fn same(ours: &OrderedMap<u16, u32>, std: &BTreeMap<u16, u32>) {
    assert_eq!((ours.len(), ours.is_empty()), (std.len(), std.is_empty()));
    assert_eq!(
        (ours.first_key_value(), ours.last_key_value()),
        (std.first_key_value(), std.last_key_value())
    );
    assert!(ours.iter().eq(std) && ours.iter().rev().eq(std.iter().rev()));
    assert!(ours.keys().eq(std.keys()) && ours.values().rev().eq(std.values().rev()));
    assert_eq!(ours.iter().len(), std.len());
    assert!(
        ours.clone().into_iter().eq(std.clone())
            && ours.clone().into_keys().rev().eq(std.keys().rev().copied())
    );
    assert_eq!(format!("{ours:?}"), format!("{std:?}"));
}

/// The bounds of all kinds between two keys.
fn bounds(from: u16, to: u16) -> Vec<(Bound<u16>, Bound<u16>)> {
    let ends = |key| [Bound::Included(key), Bound::Excluded(key), Bound::Unbounded];
    ends(from).into_iter().flat_map(|start| ends(to).map(|end| (start, end))).collect()
}

fn run(calls: &[Call], reads: &[(u16, u16)]) {
    let (mut ours, mut std) = (OrderedMap::new(), BTreeMap::new());
    for call in calls {
        both(call, &mut ours, &mut std);
        assert_eq!(ours.len(), std.len(), "{call:?}");
    }
    same(&ours, &std);
    for &(from, to) in reads {
        assert_eq!((ours.get(&from), ours.contains_key(&to)), (std.get(&from), std.contains_key(&to)));
        assert_eq!(ours.get_mut(&to), std.get_mut(&to));
        // The standard library's map panics where a range ends before it starts, or is empty between excluded ends.
        for bounds in bounds(from.min(to), from.max(to).max(from.min(to).saturating_add(1))) {
            let (mut left, mut left_std) = (ours.range(bounds), std.range(bounds));
            assert_eq!(left.len(), std.range(bounds).count(), "{bounds:?}");
            assert!(ours.range(bounds).rev().eq(std.range(bounds).rev()), "{bounds:?}");
            for step in 0..=left.len() {
                let (mine, theirs) = match step % 3 {
                    0 => (left.next_back(), left_std.next_back()),
                    _ => (left.next(), left_std.next()),
                };
                assert_eq!(mine, theirs, "{bounds:?}, step {step}");
            }
            assert_eq!((left.next(), left.next_back()), (None, None));
            let mut change = ours.clone();
            assert!(
                change
                    .range_mut(bounds)
                    .rev()
                    .map(|(key, _)| *key)
                    .eq(std.range(bounds).rev().map(|(key, _)| *key))
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_map_of_few_keys_gives_what_the_standard_library_gives(calls in vec(call(24), 0..80), reads in vec((0..26u16, 0..26u16), 0..6)) {
        run(&calls, &reads);
    }

    #[test]
    fn a_map_of_many_chunks_gives_what_the_standard_library_gives(
        calls in vec(call(3000), 0..120),
        more in vec((0..3000u16, any::<u32>()).prop_map(|(key, value)| Call::Insert(key, value)), 0..1500),
        reads in vec((0..3100u16, 0..3100u16), 0..4),
    ) {
        let calls: Vec<Call> = more.into_iter().chain(calls).collect();
        run(&calls, &reads);
    }
}

#[test]
fn the_worst_orders_of_insertion_and_removal_keep_order() {
    let orders: [fn(u32) -> u32; 4] =
        [|i| i, |i| 4999 - i, |i| (i * 2357) % 5000, |i| if i % 2 == 0 { i / 2 } else { 4999 - i / 2 }];
    for order in orders {
        let (mut ours, mut std) = (OrderedMap::new(), BTreeMap::new());
        for i in 0..5000 {
            assert_eq!(ours.insert(order(i), i), std.insert(order(i), i));
        }
        assert!(ours.iter().eq(&std));
        for i in (0..5000).filter(|i| i % 97 != 0) {
            assert_eq!(ours.remove(&order(i)), std.remove(&order(i)));
        }
        assert!(ours.iter().eq(&std) && ours.len() == std.len());
    }
}

#[test]
fn a_range_that_ends_before_it_starts_has_no_entries() {
    let map: OrderedMap<u32, ()> = (0..1000).map(|key| (key, ())).collect();
    let ends = [(500, 400), (999, 0), (700, 699)];
    for (from, to) in ends {
        assert_eq!(map.range(from..to).count(), 0);
        assert_eq!(map.range((Bound::Excluded(from), Bound::Excluded(from))).next_back(), None);
        assert_eq!(map.clone().range_mut(from..=to).next_back(), None);
    }
}

#[test]
fn keys_are_looked_up_by_what_they_borrow() {
    let mut map: OrderedMap<String, u32> = [("b".to_owned(), 2), ("a".to_owned(), 1)].into();
    assert_eq!((map["a"], map.get("c")), (1, None));
    assert_eq!(map.remove("b"), Some(2));
    assert_eq!(map, OrderedMap::from([("a".to_owned(), 1)]));
    assert!(map < OrderedMap::from([("a".to_owned(), 2)]));
}
