//! Designs that are right although a core or a chain takes something once, or nothing.

use crate::support::{codes, design, ints, run, to_ints};
use wsp_aie::check;
use wsp_aie::run::{Allocation, Failure};

const SCALE: &str = include_str!("designs/scale.mlir");
const LOCKS: &str = include_str!("designs/locks.mlir");

/// A design with other lines.
fn edited(text: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

const TAKES: &str = "        %s = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<256xi32>>\n        %a = aie.objectfifo.subview.access %s[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>\n";
const LOOP: &str = "      scf.for %round = %c0 to %forever step %c1 {\n";
const GIVES: &str = "        aie.objectfifo.release @in(Consume, 1)\n";

#[test]
fn weights_that_a_core_holds_for_ever_need_no_release_and_are_those_of_the_first_launch() {
    let text = edited(
        SCALE,
        &[
            (TAKES, ""),
            (LOOP, &format!("{TAKES}{LOOP}")),
            (GIVES, ""),
            ("%x: memref<1024xi32>", "%x: memref<256xi32>"),
            ("%x[0, 0, 0, 0][1, 1, 1, 1024]", "%x[0, 0, 0, 0][1, 1, 1, 256]"),
            ("metadata = @in} : memref<1024xi32>", "metadata = @in} : memref<256xi32>"),
        ],
    );
    let held = design(&text);
    let [found] = <[_; 1]>::try_from(check(&held)).unwrap();
    assert_eq!((found.code.0, found.is_error()), (1849, false));
    assert_eq!(
        found.message,
        "each launch sends objects of fifo `@in`, and the core on tile (0, 2) takes those of the first and gives none back: a second launch computes with them"
    );
    let mut args = [ints(0..256), ints(vec![0; 1024])];
    run(&held, Allocation::Lowered, &mut args).unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
    assert_eq!(to_ints(&args[1]), (0..1024).map(|at| at % 256 * 3).collect::<Vec<i32>>());
    // In a loop it would have the same object each time.
    let again = design(&edited(SCALE, &[(GIVES, "")]));
    assert_eq!(check(&again)[0].code.0, 1838);
}

#[test]
fn a_lock_that_one_chain_acquires_and_nothing_releases_ends_that_chain() {
    let text = edited(
        LOCKS,
        &[
            ("      aie.use_lock(%free, Release, 1)\n", ""),
            ("%x: memref<256xi32>, %y: memref<256xi32>", "%x: memref<64xi32>, %y: memref<64xi32>"),
            ("%x[0, 0, 0, 0][1, 1, 1, 256]", "%x[0, 0, 0, 0][1, 1, 1, 64]"),
            ("metadata = @in} : memref<256xi32>", "metadata = @in} : memref<64xi32>"),
            ("aie.dma_bd(%y : memref<256xi32>, 0, 256)", "aie.dma_bd(%y : memref<64xi32>, 0, 64)"),
        ],
    );
    let once = design(&text);
    assert!(check(&once).iter().all(|found| found.code.0 != 1855), "{:?}", check(&once));
    let mut args = [ints(0..64), ints(vec![0; 64])];
    run(&once, Allocation::Lowered, &mut args).unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
    assert_eq!(to_ints(&args[1]).iter().sum::<i32>(), 64 * 63);
}

/// Of a lock that is released twice and acquired once a round the value grows, on a tile to 63 at most.
#[test]
fn a_lock_that_is_released_beyond_63_ends_a_run() {
    let of_core = "        aie.use_lock(%done, Release, 1)\n";
    let more = "    %more = aie.lock(%t, 3) {init = 0 : i32, sym_name = \"more\"}\n    %dma = aie.mem";
    let twice = format!("{of_core}        aie.use_lock(%more, Release, 16)\n");
    let text = edited(LOCKS, &[(of_core, &twice), ("    %dma = aie.mem", more)]);
    let mut args = [ints(0..256), ints(vec![0; 256])];
    let Err(Failure::Fault(fault)) = run(&design(&text), Allocation::Lowered, &mut args) else {
        panic!("it is a fault")
    };
    assert_eq!(fault.code.0, 1861);
    assert_eq!(
        fault.message,
        "the core releases lock `@more` of tile (1, 2) to 64, and a lock has values from 0 to 63"
    );
    assert!(fault.primary.is_some());
    // A channel that gives the tile's one buffer back 64 times.
    let text = edited(
        LOCKS,
        &[("      aie.use_lock(%free, Release, 1)\n", "      aie.use_lock(%free, Release, 64)\n")],
    );
    let mut args = [ints(0..256), ints(vec![0; 256])];
    let Err(Failure::Fault(fault)) = run(&design(&text), Allocation::Lowered, &mut args) else {
        panic!("it is a fault")
    };
    assert!(fault.message.contains("releases lock `@free` of tile (1, 2) to 64"), "{}", fault.message);
    assert!(fault.primary.is_some());
    let below = format!("{of_core}        aie.use_lock(%more, Release, -1)\n");
    let text = edited(LOCKS, &[(of_core, &below), ("    %dma = aie.mem", more)]);
    let mut args = [ints(0..256), ints(vec![0; 256])];
    let Err(Failure::Fault(fault)) = run(&design(&text), Allocation::Lowered, &mut args) else {
        panic!("it is a fault")
    };
    assert!(fault.message.contains("releases lock `@more` of tile (1, 2) to -1"), "{}", fault.message);
}

#[test]
fn a_core_that_acquires_more_than_a_lock_begins_with_and_gets_none_is_told() {
    let lock = |init: u32| {
        let has = format!("    %gate = aie.lock(%core, 15) {{init = {init} : i32, sym_name = \"gate\"}}\n");
        let waits = "      aie.use_lock(%gate, AcquireGreaterEqual, 1)\n";
        // What the memory holds decides how many rounds there are.
        let bound = "      %held = memref.load %n[%c0] : memref<1xi32>\n      %some = arith.index_cast %held : i32 to index\n      scf.for %round = %c0 to %some step %c1 {\n";
        let memory = "    %n = aie.buffer(%core) {sym_name = \"n\"} : memref<1xi32>\n";
        let work = "    %work = aie.core";
        edited(SCALE, &[(work, &format!("{has}{memory}{work}")), (LOOP, &format!("{waits}{bound}"))])
    };
    assert_eq!((codes(&lock(0)), codes(&lock(1))), (vec![1855], vec![]));
    // A loop acquires it until there is none, in this launch or a later one.
    let gate = "    %gate = aie.lock(%core, 15) {init = 8 : i32, sym_name = \"gate\"}\n    %work = aie.core";
    let takes = "        aie.use_lock(%gate, AcquireGreaterEqual, 1)\n";
    let again = edited(SCALE, &[("    %work = aie.core", gate), (LOOP, &format!("{LOOP}{takes}"))]);
    assert_eq!(codes(&again), [1855]);
}

/// A core that a channel feeds by locks makes other objects in each launch.
#[test]
fn what_a_core_makes_of_memory_of_a_channel_is_left_to_the_next_launch() {
    let text = include_str!("designs/fed.mlir");
    let all = edited(text, &[("memref<128xi32>", "memref<256xi32>"), ("[1, 1, 1, 128]", "[1, 1, 1, 256]")]);
    assert_eq!((codes(text), codes(&all)), (vec![1849], vec![]));
}

#[test]
fn what_a_core_makes_of_nothing_is_not_left_to_the_next_launch() {
    let text = edited(
        SCALE,
        &[
            (TAKES, ""),
            (GIVES, ""),
            ("          %x = memref.load %a[%i] : memref<256xi32>\n", ""),
            ("arith.muli %x, %three", "arith.muli %three, %three"),
            ("    aie.objectfifo @in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<256xi32>>\n", ""),
            ("%x: memref<1024xi32>, ", ""),
            (
                "      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<1024xi32>\n",
                "",
            ),
        ],
    );
    let made = design(&text);
    assert_eq!(check(&made), []);
    // One that counts makes others in the next launch.
    let counts =
        edited(&text, &[("arith.muli %three, %three : i32", "arith.index_cast %round : index to i32")]);
    assert_eq!(codes(&counts), [1849]);
    // Nothing is left of one that counts as many as the host takes; of one that counts in each of its rounds where the host takes whole rounds.
    let rounds = |count: u32| {
        format!("      %count = arith.constant {count} : index\n{}", LOOP.replace("%forever", "%count"))
    };
    let counted = |count: u32| edited(&counts, &[(LOOP, &rounds(count))]);
    assert_eq!((codes(&counted(4)), codes(&counted(8))), (vec![], vec![1849]));
    let again = |count: u32| {
        let around = LOOP.replace("%round", "%all");
        edited(
            &counts,
            &[
                (LOOP, &format!("{around}{}", rounds(count))),
                ("      aie.end\n    } {stack", "      }\n      aie.end\n    } {stack"),
            ],
        )
    };
    assert_eq!([1, 2, 4].map(|count| codes(&again(count))), [const { Vec::<u16>::new() }; 3]);
    let [found] = <[_; 1]>::try_from(check(&design(&again(3)))).unwrap();
    assert_eq!((found.code.0, found.is_error()), (1849, false));
    assert_eq!(
        found.message,
        "sequence `@sequence` takes 4 objects of fifo `@out`, of which the core on tile (0, 2) makes 3 in a round: the next launch begins in the middle of one"
    );
    assert_eq!(found.help, ["take 2 more out of it, or 1 fewer"]);
    // The help is right.
    for elements in [1536, 768] {
        let to = [("1024]", format!("{elements}]")), ("<1024x", format!("<{elements}x"))];
        let to: Vec<(&str, &str)> = to.iter().map(|(from, to)| (*from, to.as_str())).collect();
        assert_eq!(codes(&edited(&again(3), &to)), const { Vec::<u16>::new() });
    }
    // Rounds of a loop around it that are all the same make no longer one.
    let twice = LOOP.replace("%round", "%twice").replace("%forever", "%two");
    let inner = format!("      %two = arith.constant 2 : index\n{twice}      %count =");
    let nested = |count: u32| {
        let more = ("      aie.end\n    } {stack", "      }\n      aie.end\n    } {stack");
        codes(&edited(&again(count), &[("      %count =", &inner), more]))
    };
    assert_eq!((nested(4), nested(3)), (vec![], vec![1849]));
    // More of what a core makes ahead leaves as many in the fifo.
    let help = &check(&design(&counts))[0].help;
    assert!(
        help[0].starts_with("have the core take an object of the host for each that it makes"),
        "{help:?}"
    );
    // A core that is fed leaves what is made of what it was given.
    let fewer = edited(
        SCALE,
        &[
            ("%y: memref<1024xi32>", "%y: memref<512xi32>"),
            ("%y[0, 0, 0, 0][1, 1, 1, 1024]", "%y[0, 0, 0, 0][1, 1, 1, 512]"),
            ("metadata = @out} : memref<1024xi32>", "metadata = @out} : memref<512xi32>"),
        ],
    );
    assert_eq!(check(&design(&fewer))[0].code.0, 1849);
}

/// `SCALE`, whose core takes an object of another one beside each of the host's: one of as many unlike ones in a round.
#[test]
fn a_round_of_objects_that_meet_those_of_the_host_is_taken_as_a_whole() {
    let text = |count: u32| {
        let object = "!aie.objectfifo<memref<4xi32>>";
        let other = format!(
            "    %next = aie.tile(0, 3)
    aie.objectfifo @g(%next, {{%core}}, 2 : i32) : {object}
    %other = aie.core(%next) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %ever = arith.constant 9223372036854775807 : index
      %count = arith.constant {count} : index
      scf.for %all = %zero to %ever step %one {{
        scf.for %each = %zero to %count step %one {{
          %s = aie.objectfifo.acquire @g(Produce, 1) : !aie.objectfifosubview<memref<4xi32>>
          %a = aie.objectfifo.subview.access %s[0] : !aie.objectfifosubview<memref<4xi32>> -> memref<4xi32>
          %n = arith.index_cast %each : index to i32
          memref.store %n, %a[%zero] : memref<4xi32>
          aie.objectfifo.release @g(Produce, 1)
        }}
      }}
      aie.end
    }}
    %work = aie.core"
        );
        let takes =
            "        %g = aie.objectfifo.acquire @g(Consume, 1) : !aie.objectfifosubview<memref<4xi32>>\n";
        let gives = "        aie.objectfifo.release @g(Consume, 1)\n";
        edited(
            SCALE,
            &[
                ("    %work = aie.core", &other),
                (TAKES, &[takes, TAKES].concat()),
                (GIVES, &[gives, GIVES].concat()),
            ],
        )
    };
    assert_eq!([1, 2, 4].map(|count| codes(&text(count))), [const { Vec::<u16>::new() }; 3]);
    let found = check(&design(&text(3)));
    assert_eq!(
        found[0].message,
        "sequence `@sequence` takes 4 objects of fifo `@g`, of which the core on tile (0, 3) makes 3 in a round: the next launch begins in the middle of one"
    );
}

/// What is missing is said with what to write.
#[test]
fn a_fifo_that_gets_too_few_objects_has_a_help() {
    let twice = edited(SCALE, &[(GIVES, "        aie.objectfifo.release @in(Consume, 2)\n")]);
    let found = check(&design(&twice));
    assert_eq!(found[0].code.0, 1849);
    assert_eq!(
        found[0].help,
        [
            "have the sequence send 4 more, or have the core on tile (0, 2), which gives 2 objects back in each round, give back fewer"
        ]
    );
}

/// Values that a loop hands on are all read before one of them is written.
#[test]
fn a_loop_exchanges_the_values_that_it_carries() {
    let inner =
        "          %x = memref.load %a[%i] : memref<256xi32>\n          %y = arith.muli %x, %three : i32\n";
    let text = edited(
        SCALE,
        &[(
            inner,
            "          %x = memref.load %a[%i] : memref<256xi32>
          %p, %q = scf.for %k = %c0 to %i step %c1 iter_args(%f = %x, %g = %three) -> (i32, i32) {
            scf.yield %g, %f : i32, i32
          }
          %y = scf.for %k2 = %c0 to %i step %c1 iter_args(%h = %p) -> (i32) {
            %more = arith.addi %h, %q : i32
            scf.yield %more : i32
          }
",
        )],
    );
    let mut args = [ints(0..1024), ints(vec![0; 1024])];
    run(&design(&text), Allocation::Lowered, &mut args)
        .unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
    let wanted = |x: i32| {
        let i = x % 256;
        let (p, q) = if i % 2 == 0 { (x, 3) } else { (3, x) };
        p + i * q
    };
    assert_eq!(to_ints(&args[1]), (0..1024).map(wanted).collect::<Vec<i32>>());
}

/// The value of a branch whose `else` ends in an operator is handed on by both of its ways.
#[test]
fn a_loop_carries_the_value_of_either_way_of_a_branch() {
    let inner =
        "          %x = memref.load %a[%i] : memref<256xi32>\n          %y = arith.muli %x, %three : i32\n";
    let text = edited(
        SCALE,
        &[(
            inner,
            "          %x = memref.load %a[%i] : memref<256xi32>
          %ten = arith.constant 10 : i32
          %four = arith.constant 4 : index
          %y = scf.for %k = %c0 to %four step %c1 iter_args(%f = %x) -> (i32) {
            %c = arith.cmpi slt, %f, %ten : i32
            %r = scf.if %c -> (i32) {
              scf.yield %three : i32
            } else {
              %z = arith.muli %f, %three : i32
              scf.yield %z : i32
            }
            scf.yield %r : i32
          }
",
        )],
    );
    let mut args = [ints(0..1024), ints(vec![0; 1024])];
    run(&design(&text), Allocation::Lowered, &mut args)
        .unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
    let wanted = |x: i32| (0..4).fold(x, |x, _| if x < 10 { 3 } else { x * 3 });
    assert_eq!(to_ints(&args[1]), (0..1024).map(wanted).collect::<Vec<i32>>());
}
