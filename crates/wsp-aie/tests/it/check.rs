//! Each rule of the checker with a change of a good design that it alone finds.

use crate::support::{codes, design};
use wsp_aie::check;
use wsp_aie::design::Design;
use wsp_aie::mlir::parse;
use wsp_aie::run::{Allocation, Arg, Machine};
use wsp_diag::FileId;

const SCALE: &str = include_str!("designs/scale.mlir");
const HALVES: &str = include_str!("designs/halves.mlir");
const STREAMS: &str = include_str!("designs/streams.mlir");
const LOCKS: &str = include_str!("designs/locks.mlir");
const LISTS: &str = include_str!("designs/lists.mlir");
const GOOD: [(&str, &str); 5] =
    [("scale", SCALE), ("halves", HALVES), ("streams", STREAMS), ("locks", LOCKS), ("lists", LISTS)];

#[test]
fn good_designs_pass() {
    for (name, text) in GOOD {
        let found = check(&design(text));
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

/// What the change is of, what is replaced by what (all places, pairs parted by `|`), and the only code that is found.
const CHANGES: &[(&str, &str, &str, u16)] = &[
    ("scale", "%core = aie.tile(0, 2)", "%core = aie.tile(8, 2)", 1820),
    ("scale", "%core = aie.tile(0, 2)", "%core = aie.tile(0, 6)", 1820),
    ("streams", "%t3 = aie.tile(0, 3)", "%t3 = aie.tile(0, 3)\n    %twice = aie.tile(0, 3)", 1820),
    ("streams", "%work = aie.core(%t2)", "%work = aie.core(%mem)", 1821),
    (
        "streams",
        "%t3 = aie.tile(0, 3)",
        "%t3 = aie.tile(0, 3)\n    %b = aie.buffer(%shim) : memref<4xi32>",
        1821,
    ),
    ("streams", "aie.shim_dma_allocation @given(%shim,", "aie.shim_dma_allocation @given(%t2,", 1821),
    ("scale", "aie.objectfifo @in(%shim, {%core}, 2", "aie.objectfifo @in(%shim, {%core, %core}, 2", 1821),
    ("halves", "([] [0, 32])", "([] [0, 33])", 1822),
    ("halves", "([] [0, 32])", "([] [0])", 1822),
    ("halves", "([0, 32] [])", "([-1, 32] [])", 1822),
    ("scale", "acquire @in(Consume, 1)", "acquire @in(Produce, 1)", 1823),
    ("scale", "memref<256xi32>", "memref<9000xi32>", 1825),
    ("scale", "stack_size = 2048", "stack_size = 65536", 1825),
    ("streams", "address = 4096", "address = 65500", 1825),
    ("scale", "%x[0, 0, 0, 0][1, 1, 1, 1024]", "%x[0, 0, 0, 1][1, 1, 1, 1024]", 1826),
    ("scale", "[1, 1, 1, 1024][0, 0, 0, 1]) {id = 0", "[1, 1, 2, 512][0, 0, 1024, 1]) {id = 0", 1826),
    ("streams", "%data : memref<64xi32>, 0, 64", "%data : memref<64xi32>, 1, 64", 1826),
    ("streams", "address = 4096", "address = 1020", 1825),
    ("streams", "aie.lock(%t2, 0)", "aie.lock(%t2, 16)", 1827),
    ("streams", "{init = 1 : i32, sym_name = \"free\"}", "{init = 64 : i32, sym_name = \"free\"}", 1827),
    ("scale", "{id = 0 : i64, metadata = @in}", "{id = 16 : i64, metadata = @in}", 1828),
    ("streams", "{bd_id = 0 : i32}", "{bd_id = 99 : i32}", 1828),
    ("halves", "@in(%shim, {%mem}, 2 : i32)", "@in(%shim, {%mem}, 25 : i32)", 1828),
    ("scale", "%x[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]", "%x[0, 0, 0, 0][1, 1, 1024, 1][0, 0, 0, 1]", 1829),
    ("scale", "%x[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]", "%x[0, 0, 0, 0][1, 1, 1, 0][0, 0, 0, 1]", 1829),
    (
        "scale",
        "%x: memref<1024xi32>|[1, 1, 1, 1024][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<1024xi32>",
        "%x: memref<9000000xi32>|[1, 1, 2, 512][0, 0, 2000000, 1]) {id = 0 : i64, metadata = @in} : memref<9000000xi32>",
        1830,
    ),
    ("scale", "i32|[1, 1, 1, 1024][0, 0, 0, 1]) {id = 0", "i16|[1, 1, 512, 2][0, 0, 1, 2]) {id = 0", 1831),
    ("scale", "i32|256", "i16|255", 1831),
    ("scale", "%x[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]", "%x[0, 0, 0, 0][65, 1, 1, 4][4, 0, 0, 1]", 1832),
    (
        "halves",
        "@part2(%mem, {%t2}",
        "@part2(%mem, {%t2 dimensionsFromStream [<size = 1, stride = 1>, <size = 2, stride = 16>, <size = 4, stride = 4>, <size = 4, stride = 1>]}",
        1833,
    ),
    ("streams", "aie.flow(%shim, DMA : 0,", "aie.flow(%shim, DMA : 7,", 1834),
    ("streams", "aie.dma_start(S2MM, 0", "aie.dma_start(S2MM, 2", 1834),
    ("streams", "(%shim, MM2S, 0)", "(%shim, MM2S, 2)", 1834),
    ("scale", "acquire @in(Consume, 1)", "acquire @in(Consume, 3)", 1835),
    ("scale", "%s[0] :", "%s[1] :", 1836),
    ("scale", "metadata = @in}", "metadata = @out}", 1837),
    ("scale", "aie.objectfifo.release @out(Produce, 1)", "", 1837),
    (
        "halves",
        "aie.objectfifo.link [@in] -> [@part2, @part3]([] [0, 32])",
        "aie.objectfifo.link [@in] -> [@part2]([] [])",
        1837,
    ),
    ("scale", "aie.objectfifo.release @in(Consume, 1)", "", 1838),
    ("halves", "@made3(%t3, {%mem}, 2 : i32)", "@made3(%t3, {%mem, %shim}, 2 : i32)", 1838),
    ("scale", "{%core}, 2 : i32) :", "{%core}, 2 : i32) {repeat_count = 2 : i32} :", 1840),
    ("halves", "@part2(%mem, {%t2}, 2 : i32)", "@part2(%mem, {%t2}, 2 : i32) {repeat_count = 0 : i32}", 1840),
    ("scale", "dma_wait {symbol = @out}", "dma_wait {symbol = @ou}", 1841),
    ("scale", "{id = 1 : i64, issue_token", "{id = 0 : i64, issue_token", 1842),
    ("scale", "dma_wait {symbol = @out}", "dma_wait {symbol = @in}", 1843),
    ("streams", "%work = aie.core(%t2)", "%work = aie.core(%far)", 1844),
    ("streams", "sym_name = \"free\"", "sym_name = \"given\"", 1845),
    (
        "streams",
        "aie.flow(%shim, DMA : 0, %t2, DMA : 0)",
        "aie.flow(%shim, DMA : 0, %t2, DMA : 0)\n    aie.flow(%shim, DMA : 1, %t2, DMA : 0)",
        1846,
    ),
    ("streams", "%mem, North : 2", "%mem, East : 0", 1846),
    ("streams", "aie.packet_flow(3)", "aie.packet_flow(32)", 1847),
    ("streams", "      aie.packet_dest<%shim, DMA : 1>\n", "", 1847),
    ("streams", "aie.cascade_flow(%t3, %t2)", "aie.cascade_flow(%t2, %t3)", 1848),
    ("streams", "aie.cascade_flow(%t3, %t2)", "aie.cascade_flow(%t3, %far)", 1848),
    ("scale", "%x[0, 0, 0, 0][1, 1, 1, 1024]", "%x[0, 0, 0, 0][1, 1, 1, 1020]", 1849),
    ("scale", "[1, 1, 1, 1024]", "[1, 1, 1, 768]", 1868),
    ("streams", "@kernel(memref<64xi32>) attributes", "@kernel(memref<63xi32>) attributes", 1850),
    ("streams", "call @kernel(", "call @kernels(", 1850),
    ("locks", "aie.use_lock(%done, Release, 1)", "", 1852),
    ("locks", "aie.use_lock(%free, Release, 1)", "", 1852),
    (
        "locks",
        "aie.use_lock(%full, AcquireGreaterEqual, 1)",
        "aie.use_lock(%full, AcquireGreaterEqual, 2)",
        1852,
    ),
    ("locks", "{init = 1 : i32, sym_name = \"free\"}", "{init = 0 : i32, sym_name = \"free\"}", 1852),
    ("locks", "aie.next_bd ^drain", "aie.next_bd ^end", 1852),
    ("locks", "aie.flow(%t, DMA : 0, %shim, DMA : 0)", "aie.flow(%t, DMA : 1, %shim, DMA : 0)", 1852),
    ("locks", "DMA : 0, %t, DMA : 0)", "DMA : 0, %t, DMA : 1)", 1852),
    (
        "halves",
        "%c0 to %forever step %c1|%c1 = arith.constant 1 : index",
        "%c0 to %c1 step %c1|%c1 = arith.constant 1 : index\n      %gone = arith.constant 9 : index",
        1852,
    ),
    ("lists", "{repeat_count = 0 : i32} [{", "{loop = false} [{", 1852),
    ("lists", "aie.use_lock(%full, Release)", "aie.use_lock(%empty, Release)", 1852),
    ("lists", "aie.dma(MM2S, 0)", "aie.dma(MM2S, 2)", 1834),
    ("halves", "([0, 32] [])", "([0, 32] [0])", 1822),
    ("halves", "([] [0, 32])", "([4] [0, 32])", 1822),
    (
        "scale",
        "        aie.objectfifo.release @in(Consume, 1)\n",
        "        aie.objectfifo.release @in(Consume, 1)\n        \"aie.objectfifo.release\"() <{objFifo_name = @in, port = -1 : i32, size = 1 : i32}> : () -> ()\n",
        1823,
    ),
    (
        "scale",
        "aie.objectfifo.release @in(Consume, 1)",
        "aie.objectfifo.release @in(Consume, 1)\n        aie.objectfifo.release @in(Consume, -1)",
        1835,
    ),
    ("streams", "mem_bank = 0 : i32", "mem_bank = 1 : i32", 1825),
    ("streams", "address = 4096 : i32, mem_bank = 0 : i32", "mem_bank = 4 : i32", 1825),
    (
        "streams",
        "%free = aie.lock",
        "%more = aie.buffer(%t2) {address = 4200 : i32} : memref<4xi32>\n    %free = aie.lock",
        1825,
    ),
    (
        "locks",
        "[<size = 2, stride = 1>, <size = 32, stride = 2>]",
        "[<size = 2, stride = 1>, <size = 32, stride = 3>]",
        1826,
    ),
    (
        "locks",
        "aie.dma_bd(%y : memref<256xi32>, 0, 256)",
        "aie.dma_bd(%y : memref<256xi32>, 0, 256, [<size = 2, stride = 64>, <size = 64, stride = 1>])",
        1826,
    ),
    ("streams", "aie.lock(%t2, 1)", "aie.lock(%t2, 0)", 1827),
    ("streams", "aie.use_lock(%free, Release, 1)", "aie.use_lock(%free, Release, 64)", 1827),
    (
        "streams",
        "aie.use_lock(%full, AcquireGreaterEqual, 1)",
        "aie.use_lock(%full, AcquireGreaterEqual, -1)",
        1827,
    ),
    ("streams", "{bd_id = 0 : i32}", "{bd_id = 0 : i32, next_bd_id = 16 : i32}", 1828),
    (
        "scale",
        "%x[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]",
        "%x[0, 0, 0, 0][1, 1, 2, 512][0, 0, 512, 0]",
        1830,
    ),
    (
        "scale",
        "%x: memref<1024xi32>|[1, 1, 1, 1024][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<1024xi32>",
        "%x: memref<9000000xi32>|[2, 1, 1, 512][2000000, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<9000000xi32>",
        1830,
    ),
    ("streams", "address = 4096", "address = 4098", 1831),
    ("scale", "i32|%x[0, 0, 0, 0][1, 1, 1, 1024]", "i16|%x[0, 0, 0, 1][1, 1, 1, 1022]", 1831),
    ("scale", "@in(%shim, {", "@in(%shim dimensionsToStream [<size = 256, stride = 1>], {", 1833),
    (
        "locks",
        "aiex.dma_start_task(%task)",
        "%again = aiex.dma_configure_task(%shim, S2MM, 0) {\n        aie.dma_bd(%y : memref<256xi32>, 0, 256) {bd_id = 1 : i32}\n        aie.end\n      }\n      aiex.dma_start_task(%task)",
        1842,
    ),
    ("streams", "aie.lock(%t2, 0)", "aie.lock(%t3, 0)", 1844),
    ("streams", "[0, 0, 0, 1]) {id = 0", "[0, 0, 0, 1], packet = <pkt_type = 8, pkt_id = 1>) {id = 0", 1847),
    ("streams", "[0, 0, 0, 1]) {id = 0", "[0, 0, 0, 1], packet = <pkt_type = 0, pkt_id = 32>) {id = 0", 1847),
    (
        "streams",
        "aie.use_lock(%full, Release, 1)",
        "aie.use_lock(%full, Release, 1)\n      aie.use_lock(%free, Release, 1)",
        1853,
    ),
    (
        "locks",
        "aie.dma_bd(%data : memref<64xi32>, 0, 64)",
        "aie.dma_bd(%data : memref<64xi32>, 0, 64)\n      aie.dma_bd(%data : memref<64xi32>, 0, 64)",
        1853,
    ),
    (
        "scale",
        "@out(%core, {%shim}, 2 : i32) : !aie.objectfifo<memref<256xi32>>",
        "@out(%core, {%shim}, 2 : i32) : !aie.objectfifo<memref<256xi32>> = [dense<0> : memref<256xi32>]",
        1854,
    ),
    (
        "scale",
        "@out(%core, {%shim}, 2 : i32) : !aie.objectfifo<memref<256xi32>>",
        "@out(%core, {%shim}, 2 : i32) : !aie.objectfifo<memref<256xi32>> = [dense<0> : memref<256xi32>, dense<[1, 2]> : memref<256xi32>]",
        1854,
    ),
    (
        "scale",
        "@in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<256xi32>>",
        "@in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<256xi32>> = [dense<0> : memref<256xi32>, dense<0> : memref<256xi32>]",
        1854,
    ),
    (
        "scale",
        "%y: memref<1024xi32>|%y[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<1024xi32>",
        "%y: memref<512xi32>|%y[0, 0, 0, 0][1, 1, 1, 512][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<512xi32>",
        1849,
    ),
    (
        "locks",
        "    aie.flow(%shim, DMA : 0, %t, DMA : 0)|        aie.use_lock(%done, Release, 1)",
        "    %more = aie.lock(%t, 3) {init = 0 : i32}\n    aie.flow(%shim, DMA : 0, %t, DMA : 0)|        aie.use_lock(%more, Release, 1)\n        aie.use_lock(%done, Release, 1)",
        1855,
    ),
    ("locks", "      aie.use_lock(%free, AcquireGreaterEqual, 1)\n", "", 1856),
    // A cascade is not run: credits are compared as they are written.
    ("streams", "%free = aie.lock(%t2, 0) {init = 1", "%free = aie.lock(%t2, 0) {init = 2", 1856),
    ("streams", "%full = aie.lock(%t2, 1) {init = 0", "%full = aie.lock(%t2, 1) {init = 1", 1856),
    ("locks", "%free = aie.lock(%t, 0) {init = 1", "%free = aie.lock(%t, 0) {init = 2", 1856),
    ("locks", "%full = aie.lock(%t, 1) {init = 0", "%full = aie.lock(%t, 1) {init = 1", 1856),
    (
        "scale",
        "    %work = aie.core(%core) {|%three = arith.constant 3 : i32",
        "    %next = aie.tile(0, 3)
    %both = aie.buffer(%core) {sym_name = \"both\"} : memref<4xi32>
    %other = aie.core(%next) {
      %zero = arith.constant 0 : index
      %seen = memref.load %both[%zero] : memref<4xi32>
      aie.end
    }
    %work = aie.core(%core) {|%three = arith.constant 3 : i32
      memref.store %three, %both[%c0] : memref<4xi32>",
        1856,
    ),
    ("scale", "      aiex.npu.dma_wait {symbol = @out}\n", "", 1869),
    ("locks", "      aiex.dma_await_task(%task)\n", "", 1869),
];

fn base(name: &str) -> &'static str {
    GOOD.iter().find(|(have, _)| *have == name).expect("there is one").1
}

#[test]
fn each_change_is_found_by_one_rule() {
    let mut wrong = Vec::new();
    for (name, from, to, code) in CHANGES {
        let mut text = base(name).to_owned();
        for (from, to) in from.split('|').zip(to.split('|')) {
            let changed = text.replace(from, to);
            if changed == text {
                wrong.push(format!("{from}: not in `{name}`"));
            }
            text = changed;
        }
        if let Err(fault) = parse(FileId(0), &text) {
            wrong.push(format!("{from} -> {to}: {fault:?}"));
        } else if codes(&text) != [*code] {
            wrong.push(format!(
                "{from} -> {to}: {code} expected\n{:#?}",
                check(&design(&text)).iter().map(|d| (d.code.0, &d.message)).collect::<Vec<_>>()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_is_on_the_page() {
    let page = include_str!("../../../../docs/reference/aie.md");
    for info in wsp_aie::CODES.iter().flat_map(|group| group.iter()) {
        assert!(page.contains(&info.code.0.to_string()), "{} is not on the page", info.code);
    }
}

#[test]
fn every_rule_has_a_change() {
    // The others have designs of their own: 1824 and 1839 in `ground`, 1851 below.
    let elsewhere = [1824, 1839, 1851];
    for code in (1820..=1856).chain([1869]) {
        let has = CHANGES.iter().any(|(.., found)| *found == code) || elsewhere.contains(&code);
        assert!(has, "{code} has no change");
    }
}

#[test]
fn a_program_of_more_than_16_kib_is_refused() {
    let many: String =
        (0..1100).map(|i| format!("          %z{i} = arith.addi %x, %three : i32\n")).collect();
    let text = SCALE.replace("          %y =", &format!("{many}          %y ="));
    assert_eq!(codes(&text), [1851]);
}

/// A core that holds weights which one sequence sends, and another sequence whose objects it works on.
const HELD: &str = "module {
  aie.device(npu2) {
    %s = aie.tile(0, 0)
    %s1 = aie.tile(1, 0)
    %t = aie.tile(0, 2)
    aie.objectfifo @w(%s1, {%t}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @x(%s, {%t}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @y(%t, {%s}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    %core = aie.core(%t) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %inf = arith.constant 9223372036854775807 : index
      %wa = aie.objectfifo.acquire @w(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
      scf.for %r = %c0 to %inf step %c1 {
        %xa = aie.objectfifo.acquire @x(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
        %ya = aie.objectfifo.acquire @y(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
        aie.objectfifo.release @x(Consume, 1)
        aie.objectfifo.release @y(Produce, 1)
      }
      aie.end
    }
    aie.runtime_sequence @step(%A: memref<64xi32>, %B: memref<64xi32>) {
      aiex.npu.dma_memcpy_nd(%A[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @x} : memref<64xi32>
      aiex.npu.dma_memcpy_nd(%B[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @y} : memref<64xi32>
      aiex.npu.dma_wait {symbol = @y}
    }
    aie.runtime_sequence @load(%W: memref<16xi32>) {
      aiex.npu.dma_memcpy_nd(%W[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 2 : i64, issue_token = true, metadata = @w} : memref<16xi32>
      aiex.npu.dma_wait {symbol = @w}
    }
  }
}
";

/// What each run refuses of a core: types of operands, indices of the first and the last round beyond a memory, steps of loops. What may never be done is left to the run.
#[test]
fn cores_that_no_run_takes_are_refused() {
    let with = |from: &str, to: &str| {
        assert!(SCALE.contains(from), "{from}");
        codes(&SCALE.replace(from, to))
    };
    assert_eq!(with("arith.muli %x, %three : i32", "arith.mulf %x, %three : i32"), [1805]);
    assert_eq!(with("memref.load %a[%i]", "memref.load %a[%three]"), [1805]);
    assert_eq!(with("%c256 = arith.constant 256", "%c256 = arith.constant 257"), [1861]);
    let load = "          %x = memref.load %a[%i] : memref<256xi32>\n";
    let back = |by: u32| {
        let before = format!(
            "          %back = arith.constant {by} : index\n          %at = arith.subi %i, %back : index\n"
        );
        with(load, &(before + &load.replace("%i]", "%at]")))
    };
    assert_eq!([back(0), back(1)], [vec![], vec![1861]]);
    assert_eq!(with("%c256 step %c1", "%c256 step %c0"), [1861]);
    // Rows of a vector are those of the memory; memory under another name is not followed.
    let rows = |shape: &str| {
        let buffer = "    %rows = aie.buffer(%core) : memref<4x4xi32>\n    %work = ";
        let text = SCALE.replace("    %work = ", buffer);
        codes(
            &text.replace(
                load,
                &[
                    &format!(
                        "          %r = vector.load %rows[%c0, %c0] : memref<4x4xi32>, vector<{shape}xi32>\n"
                    ),
                    load,
                ]
                .concat(),
            ),
        )
    };
    assert_eq!([rows("2x4"), rows("8x4"), rows("5")], [vec![], vec![1861], vec![1861]]);
    let never = "          %never = arith.cmpi slt, %i, %c0 : index\n          scf.if %never {\n            %past = memref.load %a[%c256] : memref<256xi32>\n          }\n";
    assert_eq!(with(load, &[never, load].concat()), Vec::<u16>::new());
}

#[test]
fn a_sequence_that_another_one_opens_is_a_warning() {
    let found = wsp_aie::check(&design(HELD));
    let told: Vec<(u16, bool, &str)> =
        found.iter().map(|of| (of.code.0, of.is_error(), of.message.as_str())).collect();
    assert_eq!(told, [(1852, false, "sequence `@step` hangs unless `@load` is launched before it")]);
    // A sequence that sends the core nothing opens none.
    let other = HELD
        .replace("metadata = @w", "metadata = @x")
        .replace("dma_wait {symbol = @w}", "dma_wait {symbol = @x}");
    assert!(wsp_aie::check(&design(&other)).iter().any(|of| of.is_error()));
}

/// Sequences are chosen by the names of arguments: one that has no name of its own cannot be.
#[test]
fn sequences_of_equal_arguments_are_told_to_be_renamed() {
    let text = HELD.replace("%W", "%A");
    let file = wsp_aie::DesignFile::read(wsp_diag::FileId(0), &text).expect("it is right");
    let help = file.sequence(&["A"]).expect_err("two fit").help.join(" ");
    assert!(help.starts_with("all arguments of `@load` are names of arguments of `@step` too"), "{help}");
}

/// The sequence of `scale` as a loop over its four objects.
const ROUNDS: &str = "      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c256 = arith.constant 256 : i64
      scf.for %i = %c0 to %c4 step %c1 {
        %j = arith.index_cast %i : index to i64
        %o = arith.muli %j, %c256 : i64
        aiex.npu.dma_memcpy_nd(%x[0, 0, 0, %o][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<1024xi32>
        aiex.npu.dma_memcpy_nd(%y[0, 0, 0, %o][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<1024xi32>
        aiex.npu.dma_wait {symbol = @out}
      }
";

#[test]
fn loops_of_a_sequence_are_checked_and_run() {
    let begin = SCALE.find("      aiex.npu").expect("it has transfers");
    let end = SCALE.find("    }\n  }\n}").expect("it ends");
    let text = |rounds: &str| [&SCALE[..begin], rounds, &SCALE[end..]].concat();
    let good = design(&text(ROUNDS));
    assert!(check(&good).is_empty(), "{:?}", check(&good));
    let bytes = |factor: i32| (0..1024).flat_map(|i: i32| (factor * i).to_le_bytes()).collect::<Vec<u8>>();
    let mut machine = Machine::new(&good, Allocation::Lowered).expect("it runs");
    // Twice: what the host counts of rounds ends with a launch.
    for _ in 0..2 {
        let mut given = [Arg::Array(bytes(1)), Arg::Array(vec![0; 4096])];
        machine.launch(None, &mut given, &mut crate::support::nothing).expect("it ends");
        assert_eq!(given[1], Arg::Array(bytes(3)));
    }
    for (from, into, code) in [
        ("        aiex.npu.dma_wait {symbol = @out}\n", "", 1842),
        ("metadata = @in", "metadata = @inn", 1841),
        ("%c4 step %c1", "%c4 step %c0", 1806),
        ("to %c4 step", "to %x step", 1806),
    ] {
        assert!(ROUNDS.contains(from), "{from}");
        let edited = text(&ROUNDS.replace(from, into));
        let found = match parse(FileId::default(), &edited) {
            Ok(_) => codes(&edited),
            Err(fault) => vec![fault.code.0],
        };
        assert!(found.contains(&code), "{from}: {found:?}");
    }
}

/// What is inside a loop is looked at as often as loops are around it, and not twice for each.
#[test]
fn loops_that_are_deep_are_checked() {
    let begin = SCALE.find("      aiex.npu").expect("it has transfers");
    let end = SCALE.find("    }\n  }\n}").expect("it ends");
    let depth = 50;
    let bounds = "%a = arith.constant 0 : index\n%b = arith.constant 1 : index\n";
    let open: String = (0..depth).map(|i| format!("scf.for %r{i} = %a to %b step %b {{\n")).collect();
    let text =
        [&SCALE[..begin], bounds, &open, &SCALE[begin..end], &"}\n".repeat(depth), &SCALE[end..]].concat();
    assert_eq!(codes(&text), Vec::<u16>::new());
    // Of two rounds each, the second uses the descriptors of the first.
    let reused = text.replace("aiex.npu.dma_wait {symbol = @out}", "").replace("to %b step", "to %c step");
    let reused = reused.replace(bounds, &format!("{bounds}%c = arith.constant 2 : index\n"));
    assert!(codes(&reused).contains(&1842), "{:?}", codes(&reused));
}

/// What has no place in a design is refused where the design is read, at its line.
#[test]
fn what_is_no_part_of_a_design_is_refused_at_its_place() {
    for (name, from, into, code) in [
        ("streams", "aie.mem(%t2)", "aie.mem(%mem)", 1821),
        ("streams", "aie.mem(%t2)", "aie.memtile_dma(%t2)", 1821),
        (
            "scale",
            "    %work =",
            "    aie.objectfifo.allocate @in(%core)\n    aie.objectfifo.allocate @in(%core)\n    %work =",
            1845,
        ),
        (
            "lists",
            "      aie.end\n    }\n    %work",
            "      aie.next_bd ^last\n    ^last:\n      aie.end\n    }\n    %work",
            1806,
        ),
        ("lists", "{repeat_count = 0 : i32} [{", "{other = 0 : i32} [{", 1806),
    ] {
        let text = base(name).replacen(from, into, 1);
        assert_ne!(text, base(name), "{from}");
        let module = parse(FileId(0), &text).expect("it is read");
        let fault = Design::read(&module).expect_err(into);
        assert_eq!(fault.code.0, code, "{into}: {fault:?}");
        assert!(fault.primary.is_some(), "{fault:?}");
    }
}

/// Channels and descriptors are counted, beside their numbers.
#[test]
fn more_channels_and_descriptors_than_there_are_are_found() {
    let third = "%m = aie.dma(MM2S, 1) [{\n aie.dma_bd(%data : memref<64xi32>)\n }]\n %n = aie.dma(MM2S, 2) [{\n aie.dma_bd(%data : memref<64xi32>)\n }]\n %o = aie.dma(MM2S, 0)";
    let text = LISTS.replace("%m = aie.dma(MM2S, 0)", third);
    assert_eq!(codes(&text), [1824, 1834]);
    let task = |at: usize| {
        format!(
            "%task{at} = aiex.dma_configure_task(%shim, MM2S, 1) {{\n aie.dma_bd(%x : memref<256xi32>, 0, 4)\n aie.end\n }}\n"
        )
    };
    let with = |many: usize, free: &str| {
        let tasks: String = (0..many).map(task).collect();
        LISTS.replace(
            "      aiex.npu.dma_wait {symbol = @out}",
            &format!("{tasks}{free}aiex.npu.dma_wait {{symbol = @out}}"),
        )
    };
    // The two transfers have two of the 16.
    assert_eq!(codes(&with(14, "")), Vec::<u16>::new());
    assert_eq!(codes(&with(15, "")), [1828]);
    let freed = with(14, &format!("aiex.dma_free_task(%task0)\n{}", task(14)));
    assert_eq!(codes(&freed), Vec::<u16>::new());
}

/// Memory tiles: half of the descriptors for each of even and odd channels, and memory of the tiles beside them.
#[test]
fn channels_of_memory_tiles_have_their_half_of_descriptors_and_reach_their_neighbours() {
    let text = |channel: i64, place: &str, many: usize, more: &str| {
        let list = vec![format!("{{\n aie.dma_bd(%held : memref<4xi32>, 0, 4) {more}\n }}"); many].join(", ");
        LISTS.replace(
            "    %dma =",
            &format!(
                "%beside = aie.tile({place})\n %here = aie.tile(1, 1)\n %held = aie.buffer(%beside) : memref<4xi32>\n %far = aie.memtile_dma(%here) {{\n %f = aie.dma(S2MM, {channel}) [{list}]\n aie.end\n }}\n    %dma ="
            ),
        )
    };
    assert_eq!(codes(&text(3, "2, 1", 24, "")), Vec::<u16>::new());
    assert_eq!(codes(&text(3, "2, 1", 25, "")), [1828]);
    assert_eq!(codes(&text(4, "2, 1", 1, "")), [1844]);
    assert_eq!(codes(&text(3, "3, 1", 1, "")), [1844]);
    assert_eq!(codes(&text(3, "2, 1", 1, "{bd_id = 24 : i32}")), Vec::<u16>::new());
    assert_eq!(codes(&text(3, "2, 1", 1, "{bd_id = 23 : i32}")), [1828]);
    assert_eq!(codes(&text(3, "2, 1", 1, "{packet = #aie.packet_info<pkt_type = 0, pkt_id = 32>}")), [1847]);
}

/// Rows that follow each other without a gap are one transfer, of any length.
#[test]
fn rows_without_gaps_need_no_fields() {
    let long = SCALE.replace("1024", "4096");
    let rows = long.replace("[1, 1, 1, 4096][0, 0, 0, 1]", "[1, 1, 2, 2048][0, 0, 2048, 1]");
    assert_eq!(codes(&rows), Vec::<u16>::new());
    let apart = rows.replace("[0, 0, 2048, 1]", "[0, 0, 2047, 1]");
    assert_eq!(codes(&apart), [1829]);
}

/// Descriptors in lists do what those in blocks do.
#[test]
fn descriptors_in_lists_run() {
    let good = design(LISTS);
    let bytes = |factor: i32| (0..256).flat_map(|i: i32| (factor * i).to_le_bytes()).collect::<Vec<u8>>();
    let mut machine = Machine::new(&good, Allocation::Lowered).expect("it runs");
    let mut given = [Arg::Array(bytes(1)), Arg::Array(vec![0; 1024])];
    machine.launch(None, &mut given, &mut crate::support::nothing).expect("it ends");
    assert_eq!(given[1], Arg::Array(bytes(2)));
}
