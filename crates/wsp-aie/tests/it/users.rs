//! Who uses memory at once, and which waits of loops are for which transfers.

use crate::support::{codes, design};
use wsp_aie::check;

const SCALE: &str = include_str!("designs/scale.mlir");
const STREAMS: &str = include_str!("designs/streams.mlir");

/// `SCALE`, and a second core that reads a buffer of the first, which does this with it.
fn with_second_core(first: &str) -> String {
    let second = "    %next = aie.tile(0, 3)
    %both = aie.buffer(%core) {sym_name = \"both\"} : memref<4xi32>
    %other = aie.core(%next) {
      %zero = arith.constant 0 : index
      %seen = memref.load %both[%zero] : memref<4xi32>
      aie.end
    }
    %work = aie.core(%core) {";
    let three = "%three = arith.constant 3 : i32";
    let text = SCALE.replace("    %work = aie.core(%core) {", second);
    text.replace(three, &format!("{three}\n      {first}"))
}

#[test]
fn a_buffer_that_cores_only_read_needs_no_lock() {
    let read = with_second_core("%have = memref.load %both[%c0] : memref<4xi32>");
    assert_eq!(codes(&read), Vec::<u16>::new());
    assert_eq!(codes(&with_second_core("memref.store %three, %both[%c0] : memref<4xi32>")), [1856]);
}

#[test]
fn a_channel_is_named_with_its_direction_and_number() {
    let text = STREAMS.replace("%free = aie.lock(%t2, 0) {init = 1", "%free = aie.lock(%t2, 0) {init = 2");
    let found = check(&design(&text));
    let users = "with 1 buffer between channel S2MM 0 of tile (0, 2) and the core on tile (0, 2)";
    assert!(found[0].message.ends_with(users), "{}", found[0].message);
}

const PAIR: &str = include_str!("designs/pair.mlir");

/// A credit is what is acquired at once.
#[test]
fn locks_that_go_by_two_have_half_the_credits() {
    let text = |init: u32| {
        let by_two = PAIR.replace("blocking = 1 : i32, value = 1", "blocking = 1 : i32, value = 2");
        by_two.replace("init = 1 : i32, lockID = 0", &format!("init = {init} : i32, lockID = 0"))
    };
    assert_eq!(codes(&text(2)), Vec::<u16>::new());
    let found = check(&design(&text(4)));
    let told = "`@free` and `@full` of tile (0, 3) begin at 4 together for 2 uses, with 1 buffer between ";
    assert!(found[0].code.0 == 1856 && found[0].message.starts_with(told), "{found:?}");
    assert_eq!(found[0].help, ["have them begin at 2 together: both use a buffer at once else"]);
}

/// Two locks around a buffer keep it, so that two more that begin higher say only how far one user is ahead.
#[test]
fn locks_around_others_may_begin_higher() {
    let text = |free: u32| {
        let lock = |name: &str, init: u32, id: u32| {
            format!(
                "%{name} = \"aie.lock\"(%t0_3) <{{init = {init} : i32, lockID = {id} : i32, sym_name = \"{name}\"}}> : (index) -> index\n"
            )
        };
        let uses = |name: &str, action: u32| {
            format!(
                "\"aie.use_lock\"(%{name}) <{{action = {action} : i32, blocking = 1 : i32, value = 1 : i32}}> : (index) -> ()\n"
            )
        };
        let (acquire, release) = (|name| uses(name, 2), |name| uses(name, 1));
        let begin = format!("init = {free} : i32, lockID = 0");
        PAIR.replace("%core_0_2 =", &(lock("go", 3, 2) + &lock("gone", 0, 3) + "%core_0_2 ="))
            .replace("init = 1 : i32, lockID = 0", &begin)
            .replace(&acquire("free"), &(acquire("go") + &acquire("free")))
            .replace(&release("full"), &(release("full") + &release("gone")))
            .replace(&release("free"), &(release("free") + &acquire("gone") + &release("go")))
    };
    assert_eq!(codes(&text(1)), Vec::<u16>::new());
    assert!(codes(&text(2)).contains(&1856), "{:?}", codes(&text(2)));
}

/// More credits than buffers that both use are told of two cores too.
#[test]
fn locks_of_two_cores_begin_at_one_for_each_buffer_between_them() {
    let pair = |free: u32, full: u32| {
        let text = PAIR.replace("init = 0", &format!("init = {full}"));
        codes(&text.replace("init = 1 : i32, lockID = 0", &format!("init = {free} : i32, lockID = 0")))
    };
    // What begins full gives the host an object that is none of the sequence, which is left to the next launch.
    assert_eq!([pair(1, 0), pair(2, 0), pair(1, 1)], [vec![], vec![1856], vec![1849, 1856]]);
}

/// `SCALE` with so many transfers into `y`, and a loop of so many waits.
fn rounds(starts: u32, waits: u32) -> String {
    let begin = SCALE.find("      aiex.npu.dma_memcpy_nd(%y").expect("it has an output");
    let wait = SCALE.find("      aiex.npu.dma_wait").expect("it waits");
    let end = SCALE.find("    }\n  }\n}").expect("it ends");
    let task = SCALE[begin..wait].replace("[1, 1, 1, 1024]", "[1, 1, 1, 256]");
    let tasks: String = (1..=starts).map(|id| task.replace("id = 1", &format!("id = {id}"))).collect();
    let turn = format!("{}{}      }}\n", turn(waits), &SCALE[wait..end]);
    [&SCALE[..begin], &tasks, &turn, &SCALE[end..]].concat()
}

/// The head of a loop of so many rounds.
fn turn(rounds: u32) -> String {
    let bound = |name: &str, value: u32| format!("      %{name} = arith.constant {value} : index\n");
    let bounds = bound("from", 0) + &bound("by", 1) + &bound("to", rounds);
    bounds + "      scf.for %r = %from to %to step %by {\n"
}

#[test]
fn loops_with_written_bounds_are_followed_round_by_round() {
    for (start, wait, more) in [(4, 4, false), (3, 3, false), (1, 1, false), (4, 3, true), (4, 0, true)] {
        let found = codes(&rounds(start, wait));
        assert_eq!(found.contains(&1869), more, "{start} starts, {wait} waits: {found:?}");
    }
}

#[test]
fn a_loop_of_one_round_uses_a_descriptor_once() {
    let text = |rounds: u32| {
        let begin = SCALE.find("      aiex.npu.dma_memcpy_nd(%y").expect("it has an output");
        let wait = SCALE.find("      aiex.npu.dma_wait").expect("it waits");
        [&SCALE[..begin], &turn(rounds), &SCALE[begin..wait], "      }\n", &SCALE[wait..]].concat()
    };
    assert_eq!(codes(&text(1)), Vec::<u16>::new());
    assert!(codes(&text(2)).contains(&1842), "{:?}", codes(&text(2)));
    assert!(!codes(&text(0)).contains(&1842), "{:?}", codes(&text(0)));
}
