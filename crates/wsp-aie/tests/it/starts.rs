//! Where buffers and locks lie, and what objects begin with.

use crate::support::{codes, design};
use wsp_aie::check;

const SCALE: &str = include_str!("designs/scale.mlir");
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
