//! Where buffers and locks lie, and what objects begin with.

use crate::support::{codes, design, ints, run};
use wsp_aie::check;
use wsp_aie::design::Design;
use wsp_aie::mlir::parse;
use wsp_aie::run::{Allocation, Arg};
use wsp_diag::FileId;

const SCALE: &str = include_str!("designs/scale.mlir");
const LOCKS: &str = include_str!("designs/locks.mlir");
const HALVES: &str = include_str!("designs/halves.mlir");

fn with(inside: &str) -> String {
    format!("module {{\n aie.device(npu2) {{\n %t = aie.tile(0, 1)\n{inside} }}\n}}\n")
}

/// Each pair of neighbours in memory is compared, and a long buffer with all that lie in it.
#[test]
fn buffers_that_overlap_are_found_in_any_order() {
    let buffer = |(at, (from, bytes)): (usize, &(u32, u32))| {
        format!("%b{at} = aie.buffer(%t) {{address = {from} : i32}} : memref<{bytes}xi8>\n")
    };
    let found = |places: &[(u32, u32)]| {
        let text = with(&places.iter().enumerate().map(buffer).collect::<String>());
        let all = check(&design(&text)).into_iter().map(|found| found.message);
        all.filter(|message| message.contains("another")).collect::<Vec<_>>()
    };
    assert_eq!(found(&[(64, 32), (0, 64), (96, 4), (128, 0)]), Vec::<String>::new());
    let told = "a buffer has bytes 0 to 68 of tile (0, 1), and another one those from 64 to 96";
    assert_eq!(found(&[(64, 32), (0, 68)]), [told]);
    let within = found(&[(0, 1024), (4, 4), (16, 4), (1020, 8), (2048, 4)]);
    assert_eq!(within.len(), 3, "{within:?}");
    let many: Vec<(u32, u32)> = (0..30_000).map(|at| (4 * at, 4)).collect();
    assert_eq!(found(&many), Vec::<String>::new());
}

#[test]
fn locks_of_tiles_that_are_not_there_are_no_fault_of_the_lock() {
    assert_eq!(codes(&with("%gone = aie.tile(9, 2)\n%l = aie.lock(%gone, 3)\n")), [1820]);
    let many: String = (0..20_000).map(|at| format!("%l{at} = aie.lock(%t, {at})\n")).collect();
    assert_eq!(codes(&with(&many)), [1827]);
    assert_eq!(codes(&with("%a = aie.lock(%t, 3)\n%b = aie.lock(%t, 4)\n%c = aie.lock(%t, 3)\n")), [1827]);
}

/// Locks count the objects of a fifo.
#[test]
fn a_fifo_has_at_most_as_many_objects_as_a_lock_counts() {
    let told = |depth: u32| {
        let fifo =
            format!("aie.objectfifo @f(%a, {{%b}}, [{depth}, {depth}]) : !aie.objectfifo<memref<4xi32>>\n");
        let text = with(&format!("%a = aie.tile(0, 2)\n%b = aie.tile(0, 3)\n{fifo}"));
        let found = check(&design(&text)).into_iter().filter(|found| found.code.0 == 1827);
        found.map(|found| found.message).collect::<Vec<_>>()
    };
    assert_eq!(told(63), Vec::<String>::new());
    let of = |tile| {
        format!(
            "fifo `@f` has 64 objects on tile {tile}, whose lock counts them, and a lock has values from 0 to 63"
        )
    };
    assert_eq!(told(64), [of("(0, 2)")]);
}

/// A fifo is in one link at each end, whichever link has it first.
#[test]
fn a_fifo_in_two_links_is_found() {
    let link = "aie.objectfifo.link [@in] -> [@part2, @part3]([] [0, 32])";
    let found = check(&design(&HALVES.replace(link, &format!("{link}\n{link}"))));
    let twice = found.iter().filter(|found| found.message.ends_with("is in two links"));
    assert_eq!(twice.count(), 3, "{found:?}");
}

/// Parts that are joined, or that an object is distributed to, lie one behind the other.
#[test]
fn parts_of_a_link_that_overlap_or_leave_a_gap_are_refused() {
    for (offsets, told) in [
        ("[0, 0]", "begins at element 0 of an object of `@out`, and the parts before it end at 32"),
        ("[0, 16]", "begins at element 16 of an object of `@out`, and the parts before it end at 32"),
        ("[1, 32]", "begins at element 1 of an object of `@out`, and the parts before it end at 0"),
    ] {
        for (link, whole) in [(format!("({offsets} [])"), "@out"), (format!("([] {offsets})"), "@in")] {
            let (old, told) = (link.replace(offsets, "[0, 32]"), told.replace("@out", whole));
            let found = check(&design(&HALVES.replace(&old, &link)));
            assert!(found.iter().all(|found| found.code.0 == 1822), "{found:?}");
            assert!(found.iter().any(|found| found.message.ends_with(&told)), "{link}: {found:?}");
        }
    }
}

/// What an object begins with are numbers of its type.
#[test]
fn initial_objects_have_numbers_of_the_type() {
    let of = |design: &str, ty: &str, value: &str| {
        let fifo = format!("2 : i32) : !aie.objectfifo<{ty}>");
        let (before, after) = design.split_once("aie.objectfifo @out(").expect("there is one");
        let initial = format!("{fifo} = [dense<{value}> : {ty}, dense<{value}> : {ty}]");
        let text = format!("{before}aie.objectfifo @out({}", after.replacen(&fifo, &initial, 1));
        assert!(text.contains("dense"), "{text}");
        codes(&text)
    };
    let bytes = SCALE
        .replace("i32", "i8")
        .replace("size = 2048 : i8", "size = 2048 : i32")
        .replace("2 : i8", "2 : i32");
    for (design, ty, value, good) in [
        (SCALE, "memref<256xi32>", "-2147483648", true),
        (SCALE, "memref<256xi32>", "4294967295", true),
        (SCALE, "memref<256xi32>", "4294967296", false),
        (SCALE, "memref<256xi32>", "99999999999", false),
        (SCALE, "memref<256xi32>", "0.5", false),
        (SCALE, "memref<256xi32>", "\"x\"", false),
        (SCALE, "memref<256xi32>", "true", false),
        (bytes.as_str(), "memref<256xi8>", "255", true),
        (bytes.as_str(), "memref<256xi8>", "-129", false),
    ] {
        let found = of(design, ty, value);
        assert_eq!(found.contains(&1854), !good, "{ty}: {value}: {found:?}");
    }
}

/// Descriptors of one task of the host go on to each other: all are moved, and the last tells the end.
#[test]
fn a_task_of_several_descriptors_moves_them_all() {
    let bd = "        aie.dma_bd(%y : memref<256xi32>, 0, 256) {bd_id = 1 : i32}\n        aie.end\n";
    let first =
        "        aie.dma_bd(%y : memref<256xi32>, 0, 100) {bd_id = 1 : i32}\n        aie.next_bd ^rest\n";
    let rest = "      ^rest:\n        aie.dma_bd(%y : memref<256xi32>, 100, 156) {bd_id = 2 : i32}\n";
    let end = "        aie.end\n";
    let chained = |rest: &[&str]| {
        assert!(LOCKS.contains(bd));
        LOCKS.replace(bd, &[&[first], rest].concat().concat())
    };
    let right = chained(&[rest, end]);
    assert_eq!(codes(&right), Vec::<u16>::new());
    let outputs = [LOCKS, &right].map(|text| {
        let mut args = [ints(0..256), ints(vec![0; 256])];
        run(&design(text), Allocation::Lowered, &mut args)
            .unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
        let Arg::Array(bytes) = &args[1] else { panic!("an array") };
        bytes.clone()
    });
    assert_eq!(outputs[0], outputs[1]);
    // For ever, to none, a second descriptor in one block, and one that none goes on to.
    let twice = rest.replace("      ^rest:\n", "");
    for wrong in [
        chained(&[rest, "        aie.next_bd ^rest\n"]),
        LOCKS.replace(bd, &[&first.replace("        aie.next_bd ^rest\n", ""), &twice, end].concat()),
        LOCKS.replace(bd, &[&first.replace("aie.next_bd ^rest", "aie.end"), rest, end].concat()),
    ] {
        assert_eq!(codes(&wrong), [1806], "{wrong}");
    }
    let repeated = right.replace("} {issue_token = true}", "} {issue_token = true, repeat_count = 1 : i32}");
    assert_eq!(codes(&repeated), [1806]);
}

/// What stands behind the block that is read would be lost.
#[test]
fn sequences_and_devices_of_several_blocks_are_refused() {
    let told = |before: &str| {
        let text = LOCKS.replace(before, &["  ^more:\n", before].concat());
        let module = parse(FileId(0), &text).unwrap_or_else(|fault| panic!("{fault:?}"));
        Design::read(&module).expect_err("it is refused").message
    };
    assert_eq!(told("      %task = "), "`aie.runtime_sequence` has 2 blocks, and one is read");
    assert_eq!(told("    aie.runtime_sequence"), "`aie.device` has 2 blocks, and one is read");
}

/// `LOCKS`, whose input and output are tasks of these descriptors, by elements, and what the sequence does with them.
fn tasks(ins: &[u32], outs: &[u32], steps: &[&str]) -> String {
    let task = |name: &str, direction: &str, array: &str, (first, lens): (u32, &[u32])| {
        let mut at = 0;
        let blocks = lens.iter().enumerate().map(|(nth, len)| {
            let end = if nth + 1 == lens.len() { "aie.end".to_owned() } else { format!("aie.next_bd ^{name}{nth}") };
            let label = if nth == 0 { String::new() } else { format!("      ^{name}{}:\n", nth - 1) };
            at += len;
            format!("{label}        aie.dma_bd(%{array} : memref<256xi32>, {}, {len}) {{bd_id = {} : i32}}\n        {end}\n", at - len, first + nth as u32)
        });
        let blocks: String = blocks.collect();
        format!(
            "      %{name} = aiex.dma_configure_task(%shim, {direction}, 0) {{\n{blocks}      }} {{issue_token = true}}\n"
        )
    };
    let begin = LOCKS.find("      aiex.npu.dma_memcpy_nd(").expect("it has an input");
    let steps: String = steps.iter().map(|step| format!("      aiex.{step}\n")).collect();
    [
        &LOCKS[..begin],
        &task("i", "MM2S", "x", (0, ins)),
        &task("o", "S2MM", "y", (8, outs)),
        &steps,
        "    }\n  }\n}\n",
    ]
    .concat()
}

/// A task has one place of a channel's queue, is moved as often as it is started, and tells its end to waits of its channel.
#[test]
fn tasks_count_as_they_are_started() {
    let output = |text: &str| {
        let mut args = [ints(0..256), ints(vec![0; 256])];
        run(&design(text), Allocation::Lowered, &mut args)
            .unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
        args[1].clone()
    };
    let both = ["dma_start_task(%o)", "dma_start_task(%i)", "dma_await_task(%o)"];
    let long = tasks(&[64; 4], &[32, 32, 64, 28, 36, 64], &both);
    assert_eq!(codes(&long), Vec::<u16>::new());
    assert_eq!(output(&long), output(LOCKS));
    let waits =
        tasks(&[256], &[256], &["dma_start_task(%o)", "dma_start_task(%i)", "npu.dma_wait {symbol = @out}"]);
    assert_eq!(codes(&waits), Vec::<u16>::new());
    assert_eq!(output(&waits), output(LOCKS));
    let never = tasks(&[256], &[256], &["dma_start_task(%i)", "dma_await_task(%o)"]);
    assert_eq!(codes(&never), [1843]);
    // What a wait for the task has taken no other wait takes.
    let twice = tasks(&[256], &[256], &[&both[..], &["npu.dma_wait {symbol = @out}"]].concat());
    assert_eq!(codes(&twice), [1843]);
    // Rounds of a loop leave as many ends as they are.
    let begin = LOCKS.find("      aiex.npu.dma_memcpy_nd(").expect("it has an input");
    let rounds = |waits: usize| {
        let round = "      %lo = arith.constant 0 : index\n      %hi = arith.constant 4 : index\n      %st = arith.constant 1 : index\n      scf.for %n = %lo to %hi step %st {\n        aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<256xi32>\n        aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<256xi32>\n      }\n";
        let waits = "      aiex.npu.dma_wait {symbol = @out}\n".repeat(waits);
        codes(&[&LOCKS[..begin], round, &waits, "    }\n  }\n}\n"].concat()).contains(&1843)
    };
    assert!(!rounds(4));
    // A transfer beyond its array that nothing starts is a warning.
    let beyond = tasks(&[256], &[256, 64], &["dma_start_task(%i)"]);
    let found = check(&design(&beyond));
    assert!(found.iter().any(|found| found.code.0 == 1826 && !found.is_error()), "{found:?}");
}

/// Objects of a fifo are counted for each start of a task.
#[test]
fn a_task_that_is_started_twice_fills_twice() {
    let begin = SCALE.find("      aiex.npu.dma_memcpy_nd(%x").expect("it has an input");
    let end = SCALE.find("      aiex.npu.dma_memcpy_nd(%y").expect("it has an output");
    let text = |starts: usize| {
        let task = "      %i = aiex.dma_configure_task_for @in {\n        aie.dma_bd(%x : memref<1024xi32>, 0, 512)\n        aie.end\n      }\n";
        [&SCALE[..begin], task, &"      aiex.dma_start_task(%i)\n".repeat(starts), &SCALE[end..]].concat()
    };
    assert_eq!(codes(&text(2)), Vec::<u16>::new());
    assert_eq!(codes(&text(1)), [1849]);
}
