//! Every task has one owner, and what comes next is found without a look at what lies between.

use proptest::prelude::*;
use wsp_core::ExecPool;
use wsp_core::ptow::dispatch::{Filter, Level, PastPartition, Ranges, Rule, Source, mix, solve, solve_loop};
use wsp_core::ptow::{Counts, Header, MAX_AICPUS, Op, Program, Word};

fn integers() -> impl Strategy<Value = i64> {
    prop_oneof![-9..10i64, any::<i64>(), prop::sample::select(vec![i64::MIN, i64::MAX, i64::MIN + 1])]
}

fn ordinals() -> impl Strategy<Value = u64> {
    prop_oneof![0..50u64, any::<u64>(), (u64::MAX - 50)..=u64::MAX]
}

fn aicpus() -> impl Strategy<Value = u16> {
    prop_oneof![1..20u16, 1..=MAX_AICPUS]
}

fn words(ends: &[u32]) -> Vec<Word> {
    ends.iter()
        .map(|end| Word { opcode: Op::ExtWord.code(), flags: 0, operand1: 0, operand2: *end })
        .collect()
}

fn leaves(a: i64, b: i64, i: u64, n: u16) -> i128 {
    (i128::from(a) * i128::from(i) + i128::from(b)).rem_euclid(n.into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn congruences_have_all_their_solutions(a in integers(), b in integers(), n in aicpus(), me in any::<u16>()) {
        let me = me % n;
        let found = solve(a, b, n, me);
        let expected: Vec<u64> = (0..2 * u64::from(n)).filter(|i| leaves(a, b, *i, n) == i128::from(me)).collect();
        match found {
            None => prop_assert!(expected.is_empty()),
            Some(stride) => {
                let listed: Vec<u64> = (stride.first..2 * u64::from(n)).step_by(stride.period as usize).collect();
                prop_assert_eq!(&listed, &expected);
                prop_assert_eq!(stride.count(0, 2 * u64::from(n)), expected.len() as u64);
                for from in [0, 1, stride.first, u64::from(n) / 2] {
                    let next = expected.iter().find(|i| **i >= from).copied();
                    prop_assert_eq!(stride.next_from(from), next);
                }
            }
        }
    }

    #[test]
    fn loops_are_solved_in_whole_numbers(
        scale in integers(), offset in integers(), start in integers(), step in integers(), n in 1..40u16, me in 0..40u16,
    ) {
        let found = solve_loop(scale, offset, (start, step), n, me);
        let owned = |i: &u64| {
            let wide = i128::from(n);
            let variable = (i128::from(start) + i128::from(step) * i128::from(*i)).rem_euclid(wide);
            (i128::from(scale).rem_euclid(wide) * variable + i128::from(offset).rem_euclid(wide)).rem_euclid(wide)
                == i128::from(me)
        };
        let expected: Vec<u64> = (0..u64::from(n)).filter(owned).collect();
        let listed: Vec<u64> = found.map_or(Vec::new(), |stride| {
            (stride.first..u64::from(n)).step_by(stride.period as usize).collect()
        });
        prop_assert_eq!(listed, expected);
    }

    #[test]
    fn every_ordinal_has_one_owner(ordinal in ordinals(), n in aicpus(), mut ends in prop::collection::vec(0..60u32, 0..9)) {
        ends.sort_unstable();
        let words = words(&ends);
        let ranges = Ranges::new(&words);
        let owners = |rule: Rule<'_>| (0..n).filter(|me| rule.by_ordinal(ordinal, n, *me) == Ok(true)).count();
        prop_assert_eq!(owners(Rule::RoundRobin), 1);
        let end = u64::from(ends.last().copied().unwrap_or(0));
        if ordinal < end {
            prop_assert_eq!(owners(Rule::Ranges(ranges)), 1);
        } else {
            prop_assert_eq!(Rule::Ranges(ranges).by_ordinal(ordinal, n, 0), Err(PastPartition { end }));
        }
    }

    #[test]
    fn every_value_has_one_owner(value in integers(), n in aicpus()) {
        let owner = Rule::Affinity(0).by_value(value, n);
        prop_assert_eq!(i128::from(owner), i128::from(value).rem_euclid(n.into()));
        prop_assert_eq!(Rule::Key(0).by_value(value, n), owner);
        prop_assert_eq!(u64::from(Rule::Hash(0).by_value(value, n)), mix(value as u64) % u64::from(n));
    }

    #[test]
    fn the_next_own_ordinal_is_the_first_that_is_owned(
        from in prop_oneof![0..70u64, (u64::MAX - 70)..=u64::MAX],
        n in 1..9u16,
        me in 0..9u16,
        mut ends in prop::collection::vec(0..60u32, 0..9),
    ) {
        ends.sort_unstable();
        let (me, words) = (me % n, words(&ends));
        let own = Rule::Own { start: u64::from(ends.first().copied().unwrap_or(3)), end: 40 };
        for rule in [Rule::RoundRobin, Rule::Ranges(Ranges::new(&words)), own] {
            let near = from..=from.saturating_add(70);
            let expected = near.clone().find(|ordinal| rule.by_ordinal(*ordinal, n, me) == Ok(true));
            prop_assert_eq!(rule.next_owned(from, n, me), expected, "{:?}", rule);
        }
    }
}

#[test]
fn numbers_of_the_hash_are_fixed() {
    assert_eq!([mix(0), mix(1), mix(u64::MAX)], [0, 0x4179_b061_e0c0_e0d0, 0x448e_29ce_d410_3459]);
}

/// A filter with these extension words, as `(operand1, operand2)`.
fn filtered<T>(policy: u16, ext: &[(u16, u32)], test: impl FnOnce(Option<Filter<'_>>) -> T) -> T {
    let head =
        Word { opcode: Op::DispatchFilter.code(), flags: ext.len() as u8, operand1: policy, operand2: 0 };
    let mut words = vec![head];
    words.extend(ext.iter().map(|(operand1, operand2)| Word {
        opcode: Op::ExtWord.code(),
        flags: 0,
        operand1: *operand1,
        operand2: *operand2,
    }));
    let header = Header::default();
    let program = Program {
        header: &header,
        words: &words,
        axes: &[],
        kernels: &[],
        tensors: &[],
        counts: Counts::default(),
        exprs: &[],
        names: &[],
    };
    test(Filter::parse(&program, 0))
}

#[test]
fn filters_are_read_from_their_words() {
    filtered(0, &[], |filter| assert_eq!(filter, Some(Filter::Rule(Rule::RoundRobin))));
    filtered(1, &[(0, 3)], |filter| assert_eq!(filter, Some(Filter::Rule(Rule::Affinity(3)))));
    filtered(4, &[(0, 9)], |filter| assert_eq!(filter, Some(Filter::Rule(Rule::Key(9)))));
    filtered(5, &[(0, 9)], |filter| assert_eq!(filter, Some(Filter::Rule(Rule::Hash(9)))));
    filtered(3, &[(0, 4), (0, 4), (0, 9)], |filter| {
        let Some(Filter::Rule(Rule::Ranges(ranges))) = filter else { panic!("ranges") };
        let found: Vec<_> = (0..4).map(|range| ranges.get(range)).collect();
        assert_eq!(found, [Some((0, 4)), Some((4, 4)), Some((4, 9)), None]);
        assert_eq!([3, 4, 8, 9].map(|ordinal| ranges.find(ordinal)), [Some(0), Some(2), Some(2), None]);
    });
    filtered(6, &[], |filter| assert_eq!(filter, None));
    filtered(2, &[], |filter| assert_eq!(filter, None));
    filtered(2, &[(9, 0)], |filter| assert_eq!(filter, None));
}

#[test]
fn a_level_is_the_number_of_bounds_that_are_not_above_the_metric() {
    let ext = [(3, 7), (0, (-5i32) as u32), (0, 0), (0, 100), (1, 2), (17, 0), (5, 8), (0, 0)];
    filtered(2, &ext, |filter| {
        let Some(Filter::Threshold(threshold)) = filter else { panic!("a threshold") };
        assert_eq!(threshold.metric, 7);
        let levels = [
            (i64::MIN, Level::Rule(Rule::Affinity(2))),
            (-6, Level::Rule(Rule::Affinity(2))),
            (-5, Level::Pool(ExecPool::Cube)),
            (0, Level::Rule(Rule::Hash(8))),
            (99, Level::Rule(Rule::Hash(8))),
            (100, Level::Rule(Rule::RoundRobin)),
            (i64::MAX, Level::Rule(Rule::RoundRobin)),
        ];
        for (metric, level) in levels {
            assert_eq!(threshold.level(metric), level, "{metric}");
        }
        assert_eq!(threshold.levels().count(), 4);
    });
}

#[test]
fn rules_say_what_they_look_at() {
    let sources =
        [Rule::RoundRobin, Rule::Own { start: 0, end: 1 }, Rule::Affinity(2), Rule::Key(3), Rule::Hash(4)]
            .map(|rule| rule.source());
    let expected = [Source::Ordinal, Source::Ordinal, Source::Variable(2), Source::Key(3), Source::Key(4)];
    assert_eq!(sources, expected);
}
