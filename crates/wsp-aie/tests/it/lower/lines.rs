//! What is repeated, as loops.

use crate::randomised::Numbers;
use wsp_aie::lower::lines::{Code, Common, Count, Item, Line, fold};

/// What a launch does of common code.
fn unfold(common: &Common, launch: usize, code: &[Code], round: usize, out: &mut Vec<Item>) {
    let value = |count: &Count| match count {
        Count::Fixed(value) => *value,
        Count::Word(word) => common.words[*word][launch],
        Count::Step(first, step) => first + step * round as i64,
        Count::Left(tile, word) => (*tile).min(common.words[*word][launch] - tile * round as i64),
    };
    for code in code {
        match code {
            Code::Once(step, numbers) => out.push((*step, numbers.iter().map(value).collect())),
            Code::Loop(rounds, inner) => {
                (0..value(rounds) as usize).for_each(|round| unfold(common, launch, inner, round, out));
            }
        }
    }
}

fn plain(steps: &[usize]) -> Vec<Item> {
    steps.iter().map(|step| (*step, Vec::new())).collect()
}

#[test]
fn what_is_repeated_becomes_loops() {
    let once: Vec<usize> = [0, 1, 1, 1, 2].repeat(5);
    let loops = |lines| vec![Line::Loop(5, lines)];
    let inner = vec![Line::Once(0), Line::Loop(3, vec![Line::Once(1)]), Line::Once(2)];
    assert_eq!(fold(&once), loops(inner));
    assert_eq!(fold(&[]), []);
}

#[test]
fn loops_run_what_was_given() {
    let mut dice = Numbers::of_seed(7);
    for _ in 0..300 {
        let sequence: Vec<usize> = (0..1 + dice.below(40)).map(|_| dice.below(3) as usize).collect();
        let given = plain(&sequence);
        let common = Common::of(std::slice::from_ref(&given)).expect("one launch is like itself");
        let mut again = Vec::new();
        unfold(&common, 0, &common.code, 0, &mut again);
        assert!(common.words.is_empty() && again.len() <= given.len(), "{sequence:?}");
        let steps: Vec<usize> = again.iter().map(|(step, _)| *step).collect();
        assert_eq!(steps.repeat(given.len() / again.len()), sequence);
    }
}

/// Tiles of 32 elements, between a step before and one after.
fn tiles(total: i64) -> Vec<Item> {
    let mut items = vec![(0, Vec::new())];
    items.extend(
        (0..total.unsigned_abs().div_ceil(32) as i64).map(|t| (1, vec![32.min(total - 32 * t), 32 * t])),
    );
    items.push((2, Vec::new()));
    items
}

#[test]
fn launches_of_several_lengths_have_one_code_with_words_of_their_own() {
    let lengths = [1, 200, 8191, 64];
    let launches: Vec<Vec<Item>> = lengths.iter().map(|total| tiles(*total)).collect();
    let common = Common::of(&launches).expect("they are alike");
    assert_eq!(common.words, [vec![1, 200, 8191, 64], vec![1, 7, 256, 2]]);
    for (launch, given) in launches.iter().enumerate() {
        let mut again = Vec::new();
        unfold(&common, launch, &common.code, 0, &mut again);
        assert_eq!(again, *given);
    }
}

#[test]
fn what_is_repeated_as_a_whole_needs_no_word() {
    let common = Common::of(&[plain(&[0, 1, 0, 1, 0, 1]), plain(&[0, 1])]).expect("they are alike");
    assert_eq!(common.code, [Code::Once(0, vec![]), Code::Once(1, vec![])]);
    assert!(common.words.is_empty());
}

#[test]
fn launches_that_do_other_things_have_no_common_code() {
    assert!(Common::of(&[plain(&[0, 1, 1]), plain(&[1, 0, 0])]).is_none());
    assert!(Common::of(&[plain(&[0, 1, 1, 0, 1, 1]), plain(&[0, 1, 0, 1, 1])]).is_none());
    assert!(Common::of(&[vec![(0, vec![3]), (0, vec![5]), (0, vec![4])]]).is_none());
}
