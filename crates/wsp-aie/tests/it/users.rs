//! Who uses memory at once, and which waits of loops are for which transfers.

use crate::support::codes;

const SCALE: &str = include_str!("designs/scale.mlir");

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
