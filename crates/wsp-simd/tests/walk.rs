//! The order in which rows of a right operand are visited, and how far ahead they are asked for.

use wsp_simd::{Distance, TURN, Walk};

#[test]
fn every_row_is_visited_once() {
    for rows in 0..300 {
        let walk = Walk::of(rows);
        let mut visited: Vec<usize> = (0..rows).map(|position| walk.row(position)).collect();
        visited.sort_unstable();
        assert!(visited.into_iter().eq(0..rows), "{rows} rows");
    }
}

#[test]
fn operands_that_take_turns_ask_a_turn_ahead_and_for_no_more_bytes_in_all() {
    let alone = Distance::of(256);
    assert_eq!(Distance::shared(256, 1), alone);
    let two = Distance::shared(256, 2);
    assert_eq!((two.near, two.far), (alone.near / 2, alone.far / 2));
    let sixteen = Distance::shared(256, 16);
    assert_eq!((sixteen.near, sixteen.far), (TURN, 2 * TURN));
}

#[test]
fn long_operands_are_visited_in_several_places_in_turn() {
    let walk = Walk::of(131);
    let first: Vec<usize> = (0..10).map(|position| walk.row(position)).collect();
    assert_eq!(first, [0, 16, 32, 48, 64, 80, 96, 112, 1, 17]);
    assert_eq!((walk.row(127), walk.row(128), walk.row(130)), (127, 128, 130));
    assert_eq!(Walk::of(63).row(5), 5);
}
