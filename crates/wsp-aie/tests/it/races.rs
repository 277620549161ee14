//! Uses of a buffer that nothing orders: of cores and channels, by locks, fifos and streams.

use crate::support::{codes, design, floats, ints, run};
use wsp_aie::check;
use wsp_aie::run::{Allocation, Failure};
use wsp_diag::Diagnostic;

const PAIR: &str = include_str!("designs/pair.mlir");
const LOCKS: &str = include_str!("designs/locks.mlir");
const SCALE: &str = include_str!("designs/scale.mlir");

/// `PAIR` with a lock that begins with so much.
fn pair(name: &str, init: u32) -> String {
    let id = if name == "free" { 0 } else { 1 };
    let begin = |init: u32| format!("init = {init} : i32, lockID = {id}");
    PAIR.replace(&begin(1 - id), &begin(init))
}

fn only(text: &str) -> Diagnostic {
    let [found] = <[_; 1]>::try_from(check(&design(text))).unwrap_or_else(|all| panic!("{all:?}"));
    found
}

/// A check and a run say the same, with both places and the lock.
#[test]
fn a_lock_that_begins_with_one_more_lets_two_use_a_buffer_at_once() {
    let text = pair("free", 2);
    let found = only(&text);
    assert!(found.code.0 == 1856 && found.is_error(), "{found:?}");
    assert!(found.message.starts_with("buffer `@sh` of tile (0, 3) is "), "{}", found.message);
    assert!(
        found.message.contains("the core on tile (0, 2)")
            && found.message.contains("the core on tile (0, 3)")
    );
    let places = [&found.primary.as_ref().unwrap().span, &found.labels[0].span];
    let mut uses = places.map(|span| &text[span.start as usize..span.end as usize]);
    uses.sort_unstable();
    assert!(
        uses[0].starts_with("%v616 = memref.load %sh") && uses[1].starts_with("memref.store %v610, %sh"),
        "{uses:?}"
    );
    assert_eq!(
        found.notes,
        ["lock `@free` of tile (0, 3) begins at 2: that much of it is acquired without a wait"]
    );
    assert_eq!(found.help, ["have `@free` of tile (0, 3) begin at 1"]);
    let mut args = [floats((0..64).map(|at| at as f32)), floats(vec![0.0; 64])];
    let Err(Failure::Fault(fault)) = run(&design(&text), Allocation::Lowered, &mut args) else {
        panic!("it runs")
    };
    assert_eq!((fault.code, fault.message), (found.code, found.message));
    assert_eq!(codes(PAIR), Vec::<u16>::new());
    assert_eq!(codes(&pair("full", 1)), [1856]);
}

#[test]
fn a_channel_is_named_with_its_direction_and_number() {
    let text = LOCKS.replace("%free = aie.lock(%t, 0) {init = 1", "%free = aie.lock(%t, 0) {init = 2");
    let found = only(&text);
    assert!(found.message.contains("channel S2MM 0 of tile (1, 2)"), "{}", found.message);
    assert_eq!(found.help, ["have `@free` of tile (1, 2) begin at 1"]);
}

/// A core that uses a buffer behind its release of the lock, or before it acquires it.
#[test]
fn a_use_behind_a_release_is_found() {
    let done = "        aie.use_lock(%done, Release, 1)\n";
    let full = "        aie.use_lock(%full, AcquireGreaterEqual, 1)\n";
    let late = "        %late = memref.load %data[%c0] : memref<64xi32>\n";
    for (from, to) in [(done, [done, late].concat()), (full, [late, full].concat())] {
        assert_eq!(codes(&LOCKS.replace(from, &to)), [1856], "{to}");
    }
}

/// Both may have it at once, whichever of them a run lets on first.
#[test]
fn a_lock_around_a_sum_of_two_begins_with_one() {
    let text = |init: u32| {
        let lock = format!("    %m = aie.lock(%core, 15) {{init = {init} : i32, sym_name = \"m\"}}\n");
        let both = "    %both = aie.buffer(%core) {sym_name = \"both\"} : memref<4xi32>\n    %next = aie.tile(0, 3)\n";
        let uses = |at: &str| {
            format!(
                "      aie.use_lock(%m, AcquireGreaterEqual, 1)\n      %had{at} = memref.load %both[%c0{at}] : memref<4xi32>\n      memref.store %had{at}, %both[%c0{at}] : memref<4xi32>\n      aie.use_lock(%m, Release, 1)\n"
            )
        };
        let other = format!(
            "    %other = aie.core(%next) {{\n      %c0b = arith.constant 0 : index\n{}      aie.end\n    }}\n",
            uses("b")
        );
        let work = "    %work = aie.core(%core) {";
        let three = "      %three = arith.constant 3 : i32\n";
        SCALE
            .replace(work, &[&lock, both, &other, work].concat())
            .replace(three, &[three, &uses("")].concat())
    };
    assert_eq!(codes(&text(1)), Vec::<u16>::new());
    assert_eq!(codes(&text(2)), [1856]);
}

/// `PAIR` with two credits, whose cores use every second element from these on.
#[test]
fn elements_that_two_share_out_between_them_are_told_apart() {
    let text = |read: u32| {
        let begin = format!("%v611 = arith.constant {read} :");
        let steps = ["%v606", "%v613"]
            .map(|step| (format!("{step} = arith.constant 1"), format!("{step} = arith.constant 2")));
        let text = pair("free", 2).replace("%v611 = arith.constant 0 :", &begin);
        steps.iter().fold(text, |text, (one, two)| text.replace(one, two))
    };
    assert_eq!(codes(&text(1)), Vec::<u16>::new());
    assert_eq!(codes(&text(0)), [1856]);
}

/// What a fifo brings is behind what its producer did before.
#[test]
fn an_object_orders_what_stands_before_it() {
    let fifo = "    aie.objectfifo @in(";
    let text = |behind: bool| {
        let both = "    %both = aie.buffer(%core) {sym_name = \"both\"} : memref<4xi32>\n    %next = aie.tile(0, 3)\n    aie.objectfifo @go(%core, {%next}, 1 : i32) : !aie.objectfifo<memref<4xi32>>\n";
        let read = "      %seen = memref.load %both[%zero] : memref<4xi32>\n";
        let waits = "      %g = aie.objectfifo.acquire @go(Consume, 1) : !aie.objectfifosubview<memref<4xi32>>\n      aie.objectfifo.release @go(Consume, 1)\n";
        let body = if behind { [waits, read].concat() } else { [read, waits].concat() };
        let other = format!(
            "    %other = aie.core(%next) {{\n      %zero = arith.constant 0 : index\n{body}      aie.end\n    }}\n"
        );
        let work = "    %work = aie.core(%core) {";
        let three = "      %three = arith.constant 3 : i32\n";
        let gives = "      memref.store %three, %both[%c0] : memref<4xi32>\n      %o = aie.objectfifo.acquire @go(Produce, 1) : !aie.objectfifosubview<memref<4xi32>>\n      aie.objectfifo.release @go(Produce, 1)\n";
        SCALE
            .replacen(fifo, &[both, fifo].concat(), 1)
            .replace(work, &[&other, work].concat())
            .replace(three, &[three, gives].concat())
    };
    assert_eq!(codes(&text(true)), Vec::<u16>::new());
    assert_eq!(codes(&text(false)), [1856]);
    let mut args = [ints(0..1024), ints(vec![0; 1024])];
    run(&design(&text(true)), Allocation::Declared, &mut args)
        .unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
}

/// A place that an endless loop moves leaves the buffer at once; the check ends, and a run says where.
#[test]
fn places_beyond_a_buffer_are_faults_of_their_own() {
    let text = LOCKS.replace(
        "        scf.for %i = %c0 to %c64",
        "        %past = memref.load %data[%n] : memref<64xi32>\n        scf.for %i = %c0 to %c64",
    );
    assert_eq!(codes(&text), Vec::<u16>::new());
    let far = LOCKS.replace(
        "        scf.for %i = %c0 to %c64",
        "        %at = arith.muli %n, %forever : index\n        %past = memref.load %data[%at] : memref<64xi32>\n        scf.for %i = %c0 to %c64",
    );
    let mut args = [ints(0..256), ints(vec![0; 256])];
    let Err(Failure::Fault(fault)) = run(&design(&far), Allocation::Lowered, &mut args) else {
        panic!("it runs")
    };
    assert_eq!(fault.code.0, 1861);
}

/// What a branch decides is seen while it runs.
#[test]
fn a_use_in_a_branch_is_found_by_a_run() {
    let done = "        aie.use_lock(%done, Release, 1)\n";
    let late = "        %is = arith.cmpi eq, %c0, %c0 : index\n        scf.if %is {\n          %late = memref.load %data[%n] : memref<64xi32>\n        }\n";
    let text = LOCKS.replace(done, &[done, late].concat());
    assert_eq!(codes(&text), Vec::<u16>::new());
    let mut args = [ints(0..256), ints(vec![0; 256])];
    let Err(Failure::Fault(fault)) = run(&design(&text), Allocation::Lowered, &mut args) else {
        panic!("it runs")
    };
    assert_eq!(fault.code.0, 1856);
    let at = fault.primary.expect("a place").span;
    let other = fault.labels[0].span;
    let places = [at, other].map(|span| &text[span.start as usize..span.end as usize]);
    assert!(places.iter().any(|place| place.starts_with("%late = memref.load %data[%n]")), "{places:?}");
}
