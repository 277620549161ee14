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

/// `PAIR` whose users acquire two units at once.
#[test]
fn locks_that_go_by_two_begin_at_two() {
    let text = |init: u32| {
        let by_two = PAIR.replace("blocking = 1 : i32, value = 1", "blocking = 1 : i32, value = 2");
        by_two.replace("init = 1 : i32, lockID = 0", &format!("init = {init} : i32, lockID = 0"))
    };
    assert_eq!(codes(&text(2)), Vec::<u16>::new());
    assert_eq!(only(&text(4)).help, ["have `@free` of tile (0, 3) begin at 3"]);
}

/// Two cores that write an element each and release a lock, and one that reads both when it has acquired so many units, once for each of these counts.
fn gather(acquires: &[u32]) -> String {
    let writer = |name: &str, at: u32| {
        format!(
            "    %{name} = aie.core(%t_{name}) {{\n      %at = arith.constant {at} : index\n      %v = arith.constant 1 : i32\n      %g = aie.objectfifo.acquire @go_{name}(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>\n      memref.store %v, %both[%at] : memref<2xi32>\n      aie.use_lock(%u, Release, 1)\n      aie.objectfifo.release @go_{name}(Consume, 1)\n      aie.end\n    }}\n"
        )
    };
    let reads = acquires.iter().enumerate().map(|(at, count)| {
        format!(
            "      aie.use_lock(%u, AcquireGreaterEqual, {count})\n      %v{at} = memref.load %both[%i{at}] : memref<2xi32>\n      memref.store %v{at}, %b[%i{at}] : memref<16xi32>\n"
        )
    });
    let reads: String = reads.collect();
    let fifo = |name: &str, from: &str, to: &str| {
        format!("    aie.objectfifo @{name}({from}, {{{to}}}, 2 : i32) : !aie.objectfifo<memref<16xi32>>\n")
    };
    let start = |at: u32, name: &str, token: &str| {
        format!(
            "      aiex.npu.dma_memcpy_nd(%x{at}[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {{id = {at} : i64, {token}metadata = @{name}}} : memref<16xi32>\n"
        )
    };
    [
        "module {\n  aie.device(npu2) @gather {\n    %s0 = aie.tile(0, 0)\n    %s1 = aie.tile(1, 0)\n    %s2 = aie.tile(2, 0)\n    %t_one = aie.tile(0, 2)\n    %t = aie.tile(0, 3)\n    %t_two = aie.tile(0, 4)\n    %both = aie.buffer(%t) {sym_name = \"both\"} : memref<2xi32>\n    %u = aie.lock(%t, 0) {init = 0 : i32, sym_name = \"u\"}\n",
        &fifo("go_one", "%s1", "%t_one"),
        &fifo("go_two", "%s2", "%t_two"),
        &fifo("out", "%t", "%s0"),
        &writer("one", 0),
        &writer("two", 1),
        "    %sum = aie.core(%t) {\n      %i0 = arith.constant 0 : index\n      %i1 = arith.constant 1 : index\n      %o = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>\n      %b = aie.objectfifo.subview.access %o[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>\n",
        &reads,
        "      aie.objectfifo.release @out(Produce, 1)\n      aie.end\n    }\n    aie.runtime_sequence @sequence(%x0: memref<16xi32>, %x1: memref<16xi32>, %x2: memref<16xi32>) {\n",
        &start(0, "go_one", ""),
        &start(1, "go_two", ""),
        &start(2, "out", "issue_token = true, "),
        "      aiex.npu.dma_wait {symbol = @out}\n    }\n  }\n}\n",
    ]
    .concat()
}

/// One unit of a lock that two release may be of either, whichever of them a run lets on first; two are of both. Users of different elements are followed: nothing warns of them.
#[test]
fn a_unit_of_a_lock_that_several_release_may_be_of_any() {
    assert_eq!(codes(&gather(&[2, 0])), Vec::<u16>::new());
    for order in [["one", "two"], ["two", "one"]] {
        let text = gather(&[1, 1]);
        let text =
            text.replace("@go_one(%s1", "@go_x(%s1").replace("@go_two(%s2", &format!("@go_{}(%s2", order[1]));
        let text = text.replace("@go_x(%s1", &format!("@go_{}(%s1", order[0]));
        let text = match order[0] {
            "one" => text,
            _ => text
                .replace("{%t_one}", "{%t_x}")
                .replace("{%t_two}", "{%t_one}")
                .replace("{%t_x}", "{%t_two}"),
        };
        assert_eq!(codes(&text), [1856], "{order:?}");
    }
}

/// Cores that acquire one lock, which the others release, go on in turns.
#[test]
fn a_use_behind_the_release_of_a_lock_of_three_is_found() {
    const MUTEX: &str = include_str!("designs/mutex.mlir");
    assert_eq!(codes(MUTEX), [1856]);
    let (acquire, release) =
        ("        aie.use_lock(%m, AcquireGreaterEqual, 1)\n", "        aie.use_lock(%m, Release, 1)\n");
    let last = "        aie.objectfifo.release @x2(Consume, 1)\n";
    let behind =
        MUTEX.replace(&[acquire, release].concat(), acquire).replace(last, &[release, last].concat());
    assert_eq!(codes(&behind), Vec::<u16>::new());
}

/// A release of less than none takes units out without a wait: another one may acquire them before. One of none leaves the lock as it is.
#[test]
fn units_that_another_takes_out_may_be_acquired_before() {
    let release = "      aie.use_lock(%u, Release, 1)\n";
    let out = "      aie.use_lock(%u, Release, -1)\n";
    let none = "      aie.use_lock(%u, Release, 0)\n";
    let acquire = "      aie.use_lock(%u, AcquireGreaterEqual, 2)\n";
    let text = gather(&[2, 0]);
    let by_who_acquires = text.replace(acquire, &[acquire, release, none, out].concat());
    assert_eq!(codes(&by_who_acquires), Vec::<u16>::new());
    let by_who_release = text.replace(release, &[release, none, release, out].concat());
    assert_eq!(codes(&by_who_release), [1856]);
}

/// Locks around those of a pair, which begin with more than the pair lets on.
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
        pair("free", free)
            .replace("%core_0_2 =", &(lock("go", 3, 2) + &lock("gone", 0, 3) + "%core_0_2 ="))
            .replace(&acquire("free"), &(acquire("go") + &acquire("free")))
            .replace(&release("full"), &(release("full") + &release("gone")))
            .replace(&release("free"), &(release("free") + &acquire("gone") + &release("go")))
    };
    assert_eq!(codes(&text(1)), Vec::<u16>::new());
    assert_eq!(codes(&text(2)), [1856]);
}

/// A wait is behind the transfer that it is for, and not behind later ones of its channel.
#[test]
fn a_wait_is_for_one_transfer() {
    const DRAINED: &str = include_str!("designs/drained.mlir");
    assert_eq!(codes(DRAINED), Vec::<u16>::new());
    let ways = [
        ("      aiex.npu.dma_wait {symbol = @drain}\n", "waits"),
        ("      aiex.dma_await_task(%k1)\n", "awaits"),
    ];
    for (wait, name) in ways {
        let (before, of) = DRAINED.split_at(DRAINED.find(&format!("@{name}(")).expect("it is there"));
        let end = of.find("\n    }").expect("it ends") + 1;
        let late = [before, &of[..end].replacen(wait, "", 1), wait, &of[end..]].concat();
        assert_eq!(codes(&late), [1856], "{name}");
    }
}

/// Cores that wait until nothing else goes on may release what others of them acquire, so that each of them may be the first.
#[test]
fn any_of_several_that_acquire_may_be_the_first() {
    const PATIENT: &str = include_str!("designs/patient.mlir");
    let of = |core: &str| PATIENT.find(core).expect("it is there");
    let (first, second, third) = (of("    %c0 = "), of("    %c1 = "), of("    %c2 = "));
    let exchanged =
        [&PATIENT[..first], &PATIENT[second..third], &PATIENT[first..second], &PATIENT[third..]].concat();
    assert_eq!([codes(PATIENT), codes(&exchanged)], [[1856], [1856]]);
}

#[test]
fn a_hang_of_another_order_is_a_warning() {
    const FIFO: &str = include_str!("designs/mutex_fifo.mlir");
    let found = only(FIFO);
    assert!(found.code.0 == 1852 && !found.is_error(), "{found:?}");
    let lock = "        aie.use_lock(%g, AcquireGreaterEqual, 1)\n";
    let object =
        "        %v17 = aie.objectfifo.acquire @t(Consume, 1) : !aie.objectfifosubview<memref<16xf32>>\n";
    let behind = FIFO.replace(&[lock, object].concat(), &[object, lock].concat());
    assert_ne!(behind, FIFO);
    assert_eq!(codes(&behind), Vec::<u16>::new());
}

/// A value of a lock is a way out only where both come to their uses with it.
#[test]
fn a_value_with_which_a_use_is_never_reached_is_not_named() {
    const APART: &str = include_str!("designs/apart.mlir");
    let found = check(&design(APART));
    let race = found.iter().find(|found| found.code.0 == 1856).expect("it is found");
    assert!(race.help.iter().all(|help| !help.contains("begin at")), "{race:?}");
}

/// Two channels that fill each other's buffers for ever, without a lock.
#[test]
fn streams_that_never_rest_end_a_check() {
    let end = |name: &str, direction: &str, tile: &str, buffer: &str| {
        format!(
            "    %m{name} = aie.mem({tile}) {{\n      %s = aie.dma_start({direction}, 0, ^again, ^end)\n    ^again:\n      aie.dma_bd({buffer} : memref<16xi32>, 0, 16)\n      aie.next_bd ^again\n    ^end:\n      aie.end\n    }}\n"
        )
    };
    let begin = "module {\n  aie.device(npu2) @ring {\n    %t = aie.tile(0, 2)\n    %u = aie.tile(0, 3)\n    %x = aie.buffer(%t) : memref<16xi32>\n    %y = aie.buffer(%u) : memref<16xi32>\n    aie.flow(%t, DMA : 0, %u, DMA : 0)\n";
    let text = begin.to_owned() + &end("a", "MM2S", "%t", "%x") + &end("b", "S2MM", "%u", "%y") + "  }\n}\n";
    assert_eq!(codes(&text), Vec::<u16>::new());
}

/// One unit of a lock that two release, each behind one who wrote: whichever of them it is.
#[test]
fn what_all_that_release_know_is_certain() {
    let uses = |name: &str, of: &str| format!("      aie.use_lock(%{name}, {of}, 1)\n");
    let (acquire, release) = (|name| uses(name, "AcquireGreaterEqual"), |name| uses(name, "Release"));
    let core = |name: &str, body: &str| {
        format!(
            "    %core_{name} = aie.core(%t_{name}) {{\n      %c0 = arith.constant 0 : index\n      %v = arith.constant 1 : i32\n{body}      aie.end\n    }}\n"
        )
    };
    let (store, load) = (
        "      memref.store %v, %x[%c0] : memref<16xi32>\n",
        "      %r = memref.load %x[%c0] : memref<16xi32>\n",
    );
    let text = |to_c: &str| {
        let lock =
            |(at, name): (usize, &str)| format!("    %{name} = aie.lock(%t_a, {at}) {{init = 0 : i32}}\n");
        [
            "module {\n  aie.device(npu2) @meet {\n    %t_a = aie.tile(0, 3)\n    %t_w = aie.tile(0, 2)\n    %t_b = aie.tile(0, 4)\n    %t_c = aie.tile(1, 3)\n    %x = aie.buffer(%t_a) : memref<16xi32>\n",
            &["b", "c", "m"].into_iter().enumerate().map(lock).collect::<String>(),
            &core("w", &[store, &release("b"), &release("c")].concat()),
            &core("b", &[acquire("b"), release("m")].concat()),
            &core("c", &(to_c.to_owned() + &release("m"))),
            &core("a", &(acquire("m") + load)),
            "  }\n}\n",
        ]
        .concat()
    };
    assert_eq!(codes(&text(&acquire("c"))), Vec::<u16>::new());
    assert!(codes(&text("")).contains(&1856));
}

/// Two sequences that fill one buffer by two channels: each by itself is right.
#[test]
fn a_sequence_meets_what_another_one_does() {
    const TWO: &str = include_str!("designs/two_sequences.mlir");
    assert_eq!(codes(TWO), [1856]);
}

/// Behind a channel at which no stream ends nothing is followed: what is written between the users is looked at.
#[test]
fn a_channel_that_is_not_there_hides_no_use() {
    let core = |name: &str| {
        format!(
            "    %{name} = aie.core(%t_{name}) {{\n      %c0 = arith.constant 0 : index\n      %v = arith.constant 1 : i32\n      memref.store %v, %both[%c0] : memref<4xi32>\n      aie.end\n    }}\n"
        )
    };
    let text = "module {\n  aie.device(npu2) @gone {\n    %s = aie.tile(0, 0)\n    %t_one = aie.tile(0, 3)\n    %t_two = aie.tile(0, 2)\n    %both = aie.buffer(%t_one) : memref<4xi32>\n    aie.shim_dma_allocation @in(%s, MM2S, 0)\n"
        .to_owned()
        + &core("one")
        + &core("two")
        + "    aie.runtime_sequence @sequence(%x: memref<4xi32>) {\n      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 4][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<4xi32>\n    }\n  }\n}\n";
    assert_eq!(codes(&text), [1856, 1808]);
}

/// A use in a branch is not followed: what is written between its users is looked at.
#[test]
fn a_use_that_is_not_followed_is_looked_at_by_what_is_written() {
    let text = gather(&[2, 0]);
    let store = "      memref.store %v, %both[%at] : memref<2xi32>\n";
    let branch = "      %is = arith.cmpi eq, %at, %at : index\n      scf.if %is {\n        memref.store %v, %both[%at] : memref<2xi32>\n      }\n";
    let found = only(&text.replacen(store, branch, 1));
    assert!(found.code.0 == 1856 && !found.is_error(), "{found:?}");
    assert_eq!(codes(&text), Vec::<u16>::new());
}

/// Words that the host writes are read by the kernels that take them.
#[test]
fn kernels_read_what_the_host_writes() {
    const WORDS: &str = include_str!("designs/host_words.mlir");
    assert_eq!(codes(WORDS), Vec::<u16>::new());
    assert_eq!(codes(&WORDS.replace("      aiex.npu.rtp_write(@x, 0, 7)\n", "")), [1856]);
}

/// A lock that is released beyond what it counts, or below, whatever the data is.
#[test]
fn a_lock_beyond_its_values_is_found_before_a_run() {
    let release = |value: i32| gather(&[2, 0]).replace("%u, Release, 1)", &format!("%u, Release, {value})"));
    assert_eq!([40, -1].map(|value| codes(&release(value))), [[1861], [1861]]);
}

/// A lock that only one of the two has to do with is no way out: the design would wait for it.
#[test]
fn a_lock_of_one_of_the_two_is_not_named() {
    let lock = "    %d = aie.lock(%t, 1) {init = 1 : i32, sym_name = \"d\"}\n    %u =";
    let store = "      memref.store %v, %both[%at]";
    let text = gather(&[0, 0]).replace("    %u =", lock).replacen(
        store,
        &["      aie.use_lock(%d, AcquireGreaterEqual, 1)\n", store].concat(),
        1,
    );
    let found = check(&design(&text));
    let race = found.iter().find(|found| found.code.0 == 1856).expect("it is found");
    assert!(race.help.iter().all(|help| !help.contains("@d")), "{race:?}");
}

/// Sums that share their parts, of indices of a buffer that two use, and sums that wrap.
#[test]
fn an_index_of_shared_sums_is_followed_at_once() {
    let sums = |ty: &str, first: &str| {
        let sum = |at: u32| format!("      %q{} = arith.addi %q{at}, %q{at} : {ty}\n", at + 1);
        [format!("      %q0 = arith.constant {first} : {ty}\n"), (0..60).map(sum).collect()].concat()
    };
    let at = "      %at = arith.constant 1 : index\n";
    let with = |sums: String, last: &str| gather(&[2, 0]).replace(at, &[sums, last.to_owned()].concat());
    let zero = with(
        sums("index", "0"),
        "      %r = arith.constant 1 : index\n      %at = arith.addi %q60, %r : index\n",
    );
    assert_eq!(codes(&zero), Vec::<u16>::new());
    // 2^60 is 0 of 32 bits.
    let wraps = with(sums("i32", "1"), "      %at = arith.index_cast %q60 : i32 to index\n");
    assert_eq!(codes(&wraps), [1856]);
}

/// Places that loops move are compared up to a limit, and a warning says where that ends.
#[test]
fn more_uses_than_are_compared_are_told() {
    let text = gather(&[2, 0]).replace("memref<2xi32>", "memref<8192xi32>");
    let store = "      memref.store %v, %both[%at] : memref<8192xi32>\n";
    let many = "      %c0 = arith.constant 0 : index\n      %c1 = arith.constant 1 : index\n      %c2 = arith.constant 2 : index\n      %n = arith.constant 4096 : index\n      %m = arith.constant 2048 : index\n      scf.for %r = %c0 to %m step %c1 {\n        aie.use_lock(%w, AcquireGreaterEqual, 1)\n        scf.for %i = %c0 to %m step %c1 {\n          %k = arith.muli %i, %c2 : index\n          %j = arith.addi %k, %at : index\n          %l = arith.addi %j, %r : index\n          %p = arith.addi %l, %r : index\n          memref.store %v, %both[%p] : memref<8192xi32>\n        }\n        aie.use_lock(%w, Release, 1)\n      }\n";
    let lock = "    %w = aie.lock(%t, 1) {init = 2 : i32, sym_name = \"w\"}\n    %u =";
    let text = text.replace(store, many).replace("    %u =", lock);
    let found = check(&design(&text));
    let is_cut = |found: &[Diagnostic]| {
        found.iter().any(|found| found.message.contains("more places than are compared"))
    };
    assert!(is_cut(&found), "{found:?}");
    // Cores alone, with as many places by two locks that say nothing of each other.
    let core = |name: &str, first: u32| {
        format!(
            "    %lock_{name} = aie.lock(%t_one, {first}) {{init = 1 : i32}}\n    %{name} = aie.core(%t_{name}) {{\n      %c0 = arith.constant 0 : index\n      %c1 = arith.constant 1 : index\n      %c2 = arith.constant 2 : index\n      %n = arith.constant 9000 : index\n      %v = arith.constant 1 : i8\n      scf.for %r = %c0 to %n step %c1 {{\n        aie.use_lock(%lock_{name}, AcquireGreaterEqual, 1)\n        %k = arith.muli %r, %c2 : index\n        %j = arith.addi %k, %c{first} : index\n        memref.store %v, %both[%j] : memref<20000xi8>\n        aie.use_lock(%lock_{name}, Release, 1)\n      }}\n      aie.end\n    }}\n"
        )
    };
    let begin = "module {\n  aie.device(npu2) @alone {\n    %t_one = aie.tile(0, 3)\n    %t_two = aie.tile(0, 2)\n    %both = aie.buffer(%t_one) : memref<20000xi8>\n";
    let alone = check(&design(&(begin.to_owned() + &core("one", 0) + &core("two", 1) + "  }\n}\n")));
    assert!(is_cut(&alone), "{alone:?}");
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
