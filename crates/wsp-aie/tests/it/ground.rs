//! Designs like those that others measured on arrays, and what they saw: the checker and the interpreter say the same, or what they cannot say.

use crate::support::{design, hangs, ints, run};
use std::fmt::Write as _;
use wsp_aie::check;
use wsp_aie::design::Design;
use wsp_aie::run::{Allocation, Arg, Failure, Machine, run_both};

const BOTH: [Allocation; 2] = [Allocation::Declared, Allocation::Lowered];

fn codes(design: &Design) -> Vec<u16> {
    let mut codes: Vec<u16> = check(design).iter().map(|found| found.code.0).collect();
    codes.dedup();
    codes
}

/// A body that is repeated for ever.
fn core(tile: &str, body: &str) -> String {
    let lines: String = body.lines().map(|line| format!("      {}\n", line.trim())).collect();
    format!(
        "  %core_{tile} = aie.core(%{tile}) {{\n    %c0 = arith.constant 0 : index\n    %c1 = arith.constant 1 : index\n    \
         %c4 = arith.constant 4 : index\n    %c8 = arith.constant 8 : index\n    %ever = arith.constant 9223372036854775807 : index\n    \
         scf.for %n = %c0 to %ever step %c1 {{\n{lines}    }}\n    aie.end\n  }}\n"
    )
}

fn acquire(fifo: &str, port: &str, count: u32) -> String {
    format!(
        "%a{fifo}{count} = aie.objectfifo.acquire @{fifo}({port}, {count}) : !aie.objectfifosubview<memref<16xi32>>\n"
    )
}

fn release(fifo: &str, port: &str, count: u32) -> String {
    format!("aie.objectfifo.release @{fifo}({port}, {count})\n")
}

fn fifo(name: &str, from: &str, to: &str, depth: u32, more: &str) -> String {
    format!(
        "  aie.objectfifo @{name}(%{from}, {{{to}}}, {depth} : i32) {more} : !aie.objectfifo<memref<16xi32>>\n"
    )
}

/// `objects` of a fifo from the host's only array, or to it.
fn transfer(id: usize, fifo: &str, objects: usize, token: bool) -> String {
    let token = if token { "issue_token = true, " } else { "" };
    format!(
        "    aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, {}][0, 0, 0, 1]) {{id = {id} : i64, {token}metadata = @{fifo}}} : memref<8192xi32>\n",
        16 * objects
    )
}

fn device(name: &str, tiles: &[(String, u32, u32)], body: &str, sequence: &str) -> Design {
    let tiles: String =
        tiles.iter().map(|(name, col, row)| format!("  %{name} = aie.tile({col}, {row})\n")).collect();
    design(&format!(
        "aie.device(npu2) @{name} {{\n{tiles}{body}  aie.runtime_sequence @sequence(%x: memref<8192xi32>) {{\n{sequence}  }}\n}}\n"
    ))
}

fn array() -> [Arg; 1] {
    [ints(0..8192)]
}

/// Two products one after the other over `rows` pairs of cores: weights are broadcast to rows of at most four, what a first core makes goes through a
/// memory tile, which sends it `trips` times, to the second.
fn two_products(rows: usize, trips: usize) -> Design {
    let (mut tiles, mut body, mut sequence) = (Vec::new(), String::new(), String::new());
    for col in 0..8 {
        tiles.push((format!("s{col}"), col, 0));
        tiles.push((format!("m{col}"), col, 1));
    }
    for i in 0..rows {
        tiles.push((format!("p{i}"), i as u32, 2));
        tiles.push((format!("q{i}"), i as u32, 3));
        let repeat = if trips > 1 { format!("{{repeat_count = {trips} : i32}}") } else { String::new() };
        for (from, to, name, depth, more) in [
            (format!("s{i}"), format!("m{i}"), "inA", 2, ""),
            (format!("m{i}"), format!("p{i}"), "memA", 2, ""),
            (format!("p{i}"), format!("m{i}"), "ofH", 2, ""),
            (format!("m{i}"), format!("q{i}"), "memH", 8, repeat.as_str()),
            (format!("q{i}"), format!("m{i}"), "memC", 2, ""),
            (format!("m{i}"), format!("s{i}"), "outC", 2, ""),
        ] {
            body += &fifo(&format!("{name}{i}"), &from, &format!("%{to}"), depth, more);
        }
        for (a, b) in [("inA", "memA"), ("ofH", "memH"), ("memC", "outC")] {
            let _ = writeln!(body, "  aie.objectfifo.link [@{a}{i}] -> [@{b}{i}]([] [])");
        }
    }
    for half in 0..rows.div_ceil(4) {
        for (weights, cores, col) in [("W1", "p", 4 * half), ("W2", "q", 4 * half + 1)] {
            let ends: Vec<String> =
                (4 * half..rows.min(4 * half + 4)).map(|i| format!("%{cores}{i}")).collect();
            body += &fifo(&format!("in{weights}_{half}"), &format!("s{col}"), &format!("%m{col}"), 4, "");
            body += &fifo(&format!("mem{weights}_{half}"), &format!("m{col}"), &ends.join(", "), 4, "");
            let _ = writeln!(
                body,
                "  aie.objectfifo.link [@in{weights}_{half}] -> [@mem{weights}_{half}]([] [])"
            );
        }
    }
    for i in 0..rows {
        let half = i / 4;
        let (h, a, w) = (format!("ofH{i}"), format!("memA{i}"), format!("memW1_{half}"));
        let inner = acquire(&a, "Consume", 1)
            + &acquire(&w, "Consume", 1)
            + &release(&a, "Consume", 1)
            + &release(&w, "Consume", 1);
        let first = format!(
            "scf.for %p = %c0 to %c8 step %c1 {{\n{}scf.for %k = %c0 to %c4 step %c1 {{\n{inner}}}\n{}}}\n",
            acquire(&h, "Produce", 1),
            release(&h, "Produce", 1)
        );
        body += &core(&format!("p{i}"), &first);
        let (h, c, w) = (format!("memH{i}"), format!("memC{i}"), format!("memW2_{half}"));
        let take = acquire(&h, "Consume", 1)
            + &acquire(&w, "Consume", 1)
            + &release(&h, "Consume", 1)
            + &release(&w, "Consume", 1);
        let take: String = (0..trips).map(|trip| take.replace(" = ", &format!("_{trip} = "))).collect();
        let second = format!(
            "{}scf.for %p = %c0 to %c8 step %c1 {{\n{take}}}\n{}",
            acquire(&c, "Produce", trips as u32),
            release(&c, "Produce", trips as u32)
        );
        body += &core(&format!("q{i}"), &second);
    }
    for i in 0..rows {
        sequence += &transfer(0, &format!("outC{i}"), trips, true);
        sequence += &transfer(1, &format!("inA{i}"), 32, false);
    }
    for half in 0..rows.div_ceil(4) {
        sequence += &transfer(2, &format!("inW1_{half}"), 32, false);
        sequence += &transfer(2, &format!("inW2_{half}"), 8 * trips, false);
    }
    for i in 0..rows {
        let _ = writeln!(sequence, "    aiex.npu.dma_wait {{symbol = @outC{i}}}");
    }
    device("products", &tiles, &body, &sequence)
}

/// Of five designs one hung on XDNA2: eight rows whose results are sent twice. The bound of the checker tells it; to an interpreter without times the
/// rows wait for nothing that does not come, and all five run.
#[test]
fn two_products_are_refused_where_they_hung() {
    for (rows, trips, hung) in [(8, 2, true), (4, 2, false), (2, 2, false), (1, 2, false), (8, 1, false)] {
        let design = two_products(rows, trips);
        let wanted: &[u16] = if hung { &[1839] } else { &[] };
        assert_eq!(codes(&design), wanted, "{rows} rows, {trips} trips: {:#?}", check(&design));
        for allocation in BOTH {
            run(&design, allocation, &mut array())
                .unwrap_or_else(|fault| panic!("{rows}, {trips}: {:?}", fault.diagnostic()));
        }
    }
}

/// Tiles of one column.
fn column() -> Vec<(String, u32, u32)> {
    [("s", 0), ("m", 1), ("c", 2), ("d", 3)].iter().map(|(name, row)| ((*name).to_owned(), 0, *row)).collect()
}

/// Two memory tiles hold the same tensor for two cores, and only the first gets it from the host.
#[test]
fn a_replica_without_a_transfer_hangs_and_is_refused() {
    let mut tiles = column();
    tiles.extend([("s1", 0), ("m1", 1)].map(|(name, row)| (name.to_owned(), 1, row)));
    let mut body = String::new();
    for (i, (shim, memory, tile)) in [("s", "m", "c"), ("s1", "m1", "d")].into_iter().enumerate() {
        body += &fifo(&format!("in{i}"), shim, &format!("%{memory}"), 2, "");
        body += &fifo(&format!("mem{i}"), memory, &format!("%{tile}"), 2, "");
        body += &fifo(&format!("out{i}"), tile, &format!("%{shim}"), 2, "");
        let _ = writeln!(body, "  aie.objectfifo.link [@in{i}] -> [@mem{i}]([] [])");
        let (input, output) = (format!("mem{i}"), format!("out{i}"));
        let lines = acquire(&input, "Consume", 1) + &acquire(&output, "Produce", 1);
        body += &core(tile, &(lines + &release(&input, "Consume", 1) + &release(&output, "Produce", 1)));
    }
    let waits = "    aiex.npu.dma_wait {symbol = @out0}\n    aiex.npu.dma_wait {symbol = @out1}\n";
    let outs = transfer(1, "out0", 4, true) + &transfer(1, "out1", 4, true) + waits;
    let good = device(
        "replicas",
        &tiles,
        &body,
        &(transfer(0, "in0", 4, false) + &transfer(0, "in1", 4, false) + &outs),
    );
    assert_eq!(codes(&good), [] as [u16; 0], "{:#?}", check(&good));
    let bad = device("replicas", &tiles, &body, &(transfer(0, "in0", 4, false) + &outs));
    assert_eq!(codes(&bad), [1837]);
    for allocation in BOTH {
        run(&good, allocation, &mut array()).unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
        let told = hangs(run(&bad, allocation, &mut array()));
        assert!(
            told.last().is_some_and(|last| last.contains(
                "the stream of `@in1` waits for a transfer of the host, whose sequence starts no other"
            )),
            "{told:#?}"
        );
    }
}

/// A memory tile holds an object for two readings of a core; it sends each object once, unless it is asked to repeat it.
#[test]
fn a_memory_tile_that_outlives_its_reader_hangs_and_is_refused() {
    let make = |repeat: &str| {
        let mut body = fifo("in", "s", "%m", 2, "")
            + &fifo("held", "m", "%c", 2, repeat)
            + &fifo("out", "c", "%s", 2, "");
        body += "  aie.objectfifo.link [@in] -> [@held]([] [])\n";
        let reading = acquire("held", "Consume", 1) + &release("held", "Consume", 1);
        let lines = acquire("out", "Produce", 1)
            + &reading
            + &reading.replace("%aheld", "%bheld")
            + &release("out", "Produce", 1);
        body += &core("c", &lines);
        let sequence = transfer(0, "in", 4, false)
            + &transfer(1, "out", 4, true)
            + "    aiex.npu.dma_wait {symbol = @out}\n";
        device("held", &column(), &body, &sequence)
    };
    let (good, bad) = (make("{repeat_count = 2 : i32}"), make(""));
    assert_eq!((codes(&good), codes(&bad)), (vec![], vec![1849]));
    let message = &check(&bad)[0].message;
    assert_eq!(message, "what the host takes needs 8 objects of fifo `@in`, and the sequence gives it 4");
    for allocation in BOTH {
        run(&good, allocation, &mut array()).unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
        let told = hangs(run(&bad, allocation, &mut array()));
        assert!(
            told.iter().any(|line| line.contains("the core on tile (0, 2) waits for object 1 of `@held`")),
            "{told:#?}"
        );
    }
}

/// A placer put more streams on a memory tile than it has channels for, and the next pass refused it; over two memory tiles they have room.
#[test]
fn streams_of_merged_memory_tiles_are_counted() {
    let make = |tiles_of_memory: usize| {
        let mut tiles = Vec::new();
        for col in 0..4 {
            tiles.extend([(format!("s{col}"), col, 0), (format!("m{col}"), col, 1)]);
            tiles.extend([(format!("u{col}"), col, 2), (format!("v{col}"), col, 3)]);
        }
        let (mut body, mut sequence, mut waits) = (String::new(), String::new(), String::new());
        for i in 0..7 {
            let (shim, memory) = (format!("s{}", i / 2), format!("m{}", i % tiles_of_memory));
            let tile = format!("{}{}", if i % 2 == 0 { "u" } else { "v" }, i / 2);
            body += &fifo(&format!("in{i}"), &shim, &format!("%{memory}"), 2, "");
            body += &fifo(&format!("mem{i}"), &memory, &format!("%{tile}"), 2, "");
            body += &fifo(&format!("out{i}"), &tile, &format!("%{shim}"), 2, "");
            let _ = writeln!(body, "  aie.objectfifo.link [@in{i}] -> [@mem{i}]([] [])");
            let (input, output) = (format!("mem{i}"), format!("out{i}"));
            let lines = acquire(&input, "Consume", 1) + &acquire(&output, "Produce", 1);
            body += &core(&tile, &(lines + &release(&input, "Consume", 1) + &release(&output, "Produce", 1)));
            sequence += &transfer(2 * (i % 2), &format!("in{i}"), 4, false);
            sequence += &transfer(2 * (i % 2) + 1, &format!("out{i}"), 4, true);
            let _ = writeln!(waits, "    aiex.npu.dma_wait {{symbol = @out{i}}}");
        }
        device("merged", &tiles, &body, &(sequence + &waits))
    };
    let merged = make(1);
    let found = check(&merged);
    let channels: Vec<&str> =
        found.iter().filter(|found| found.code.0 == 1824).map(|found| found.message.as_str()).collect();
    assert_eq!(
        channels,
        [
            "7 streams go into the memory of tile (0, 1), and a memory tile has 6 channels for them",
            "7 streams go out of the memory of tile (0, 1), and a memory tile has 6 channels for them",
        ],
        "{found:#?}"
    );
    assert_eq!(codes(&merged), [1824]);
    let spread = make(2);
    assert_eq!(codes(&spread), [] as [u16; 0], "{:#?}", check(&spread));
    run(&spread, Allocation::Lowered, &mut array())
        .unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
}

/// A core that gives three objects before the other takes one: two are declared, and lowering makes three.
#[test]
fn a_design_that_lives_by_an_extra_buffer_is_told() {
    let make = |depth: u32| {
        let mut body = fifo("in", "s", "%c", 2, "") + &fifo("many", "c", "%d", depth, "");
        body += &(fifo("go", "c", "%d", 1, "") + &fifo("out", "d", "%s", 2, ""));
        let give = acquire("many", "Produce", 2)
            + &release("many", "Produce", 2)
            + &acquire("many", "Produce", 1)
            + &release("many", "Produce", 1);
        let go = acquire("go", "Produce", 1) + &release("go", "Produce", 1);
        let input = acquire("in", "Consume", 1) + &release("in", "Consume", 1);
        body += &core("c", &(input + &give + &go));
        let begin = acquire("go", "Consume", 1) + &release("go", "Consume", 1);
        let take = acquire("many", "Consume", 1) + &release("many", "Consume", 1);
        let take: String = (0..3).map(|i| take.replace("%amany", &format!("%b{i}many"))).collect();
        body += &core("d", &(begin + &take + &acquire("out", "Produce", 1) + &release("out", "Produce", 1)));
        let sequence = transfer(0, "in", 4, false)
            + &transfer(1, "out", 4, true)
            + "    aiex.npu.dma_wait {symbol = @out}\n";
        device("extra", &column(), &body, &sequence)
    };
    let shallow = make(2);
    assert_eq!(codes(&shallow), [1863]);
    assert_eq!(codes(&make(3)), [] as [u16; 0]);
    let (_, warnings) = run_both(&shallow, None, &mut array(), &mut crate::support::nothing, None)
        .expect("it runs as lowered");
    let told: Vec<&str> = warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(told, ["the design runs only by a buffer more of fifo `@many` than it has"]);
    let told = hangs(run(&shallow, Allocation::Declared, &mut array()));
    assert_eq!(told[0], "the design hangs: each waits for the next in a circle, and the host waits for it");
    assert_eq!(told.last().map(String::as_str), Some("… which is the core on tile (0, 3) again"));
    let deep = make(3);
    let (_, warnings) =
        run_both(&deep, None, &mut array(), &mut crate::support::nothing, None).expect("it runs");
    assert!(warnings.is_empty());
    assert!(matches!(run(&make(1), Allocation::Declared, &mut array()), Err(Failure::Deadlock(_))));
    assert_eq!(codes(&make(1)), [1835]);
}

/// Whether two bodies that are repeated end four rounds, by counts of objects alone. A body is a row of fifos, each for one object given or taken.
fn ends(gives: &[usize], takes: &[usize], room: &[u32]) -> bool {
    let mut full = vec![0; room.len()];
    let (mut given, mut taken) = (0, 0);
    loop {
        let before = (given, taken);
        while given < 4 * gives.len() && full[gives[given % gives.len()]] < room[gives[given % gives.len()]] {
            full[gives[given % gives.len()]] += 1;
            given += 1;
        }
        while taken < 4 * takes.len() && full[takes[taken % takes.len()]] > 0 {
            full[takes[taken % takes.len()]] -= 1;
            taken += 1;
        }
        if (given, taken) == before {
            return taken == 4 * takes.len();
        }
    }
}

#[test]
fn random_pairs_of_cores_hang_where_counts_say_so() {
    let mut seed = 0x9e37_79b9_u64;
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    let mut hung = 0;
    for case in 0..150 {
        let count = 1 + below(3);
        let depths: Vec<u32> = (0..count).map(|_| 1 + below(3) as u32).collect();
        let gives: Vec<usize> = (0..count).flat_map(|fifo| vec![fifo; 1 + fifo % 3]).collect();
        let mut orders = [gives.clone(), gives];
        for order in &mut orders {
            for i in (1..order.len()).rev() {
                order.swap(i, below(i + 1));
            }
        }
        let mut body = fifo("in", "s", "%c", 2, "") + &fifo("out", "d", "%s", 2, "");
        for (i, depth) in depths.iter().enumerate() {
            body += &fifo(&format!("f{i}"), "c", "%d", *depth, "");
        }
        let moves = |order: &[usize], port: &str| -> String {
            let one = |(at, i): (usize, &usize)| {
                let name = format!("f{i}");
                acquire(&name, port, 1).replace("%af", &format!("%a{at}f")) + &release(&name, port, 1)
            };
            order.iter().enumerate().map(one).collect()
        };
        body += &core(
            "c",
            &(acquire("in", "Consume", 1) + &release("in", "Consume", 1) + &moves(&orders[0], "Produce")),
        );
        body += &core(
            "d",
            &(moves(&orders[1], "Consume") + &acquire("out", "Produce", 1) + &release("out", "Produce", 1)),
        );
        let sequence = transfer(0, "in", 4, false)
            + &transfer(1, "out", 4, true)
            + "    aiex.npu.dma_wait {symbol = @out}\n";
        let design = device("pair", &column(), &body, &sequence);
        let lowered: Vec<u32> = depths.iter().map(|depth| (*depth).min(2)).collect();
        let wanted = [ends(&orders[0], &orders[1], &depths), ends(&orders[0], &orders[1], &lowered)];
        for (allocation, wanted) in BOTH.into_iter().zip(wanted) {
            let made = run(&design, allocation, &mut array());
            assert!(made.is_ok() || matches!(made, Err(Failure::Deadlock(_))), "{case}: {made:?}");
            assert_eq!(made.is_ok(), wanted, "{case}, {allocation:?}: {orders:?} with {depths:?}");
        }
        let found: &[u16] = if wanted[1] { &[] } else { &[1852] };
        assert_eq!(codes(&design), found, "{case}");
        hung += usize::from(!wanted[0]);
    }
    assert!((15..135).contains(&hung), "{hung} of 150 hang");
}

/// Three streams of packets down a column: to a core, to the next, and back to the host. Where the first and the last share an arbiter, the last waits
/// for the first, which waits for room that comes once the last goes on.
#[test]
fn packets_that_share_an_arbiter_hang() {
    let mut body = String::new();
    for (name, tile, packet) in [("a", "c", 1), ("b", "d", 2)] {
        let _ = write!(
            body,
            "  %{name}in = aie.buffer(%{tile}) : memref<16xi32>\n  %{name}out = aie.buffer(%{tile}) : memref<16xi32>\n"
        );
        for (at, (lock, init)) in [("free", 1), ("full", 0), ("room", 1), ("made", 0)].into_iter().enumerate()
        {
            let _ = writeln!(
                body,
                "  %{name}{lock} = aie.lock(%{tile}, {at}) {{init = {init} : i32, sym_name = \"{name}{lock}\"}}"
            );
        }
        let lock = |lock: &str, action: &str| format!("      aie.use_lock(%{name}{lock}, {action}, 1)\n");
        let chain = |take: &str, buffer: &str, packet: &str, give: &str, label: &str| {
            lock(take, "AcquireGreaterEqual")
                + &format!("      aie.dma_bd(%{name}{buffer} : memref<16xi32>, 0, 16) {packet}\n")
                + &lock(give, "Release")
                + &format!("      aie.next_bd ^{label}\n")
        };
        let _ = write!(
            body,
            "  %dma{name} = aie.mem(%{tile}) {{\n      %one = aie.dma_start(S2MM, 0, ^fill, ^next)\n    ^fill:\n{}    ^next:\n      %two = aie.dma_start(MM2S, 0, ^drain, ^end)\n    \
             ^drain:\n{}    ^end:\n      aie.end\n  }}\n",
            chain("free", "in", "", "full", "fill"),
            chain(
                "made",
                "out",
                &format!("{{packet = #aie.packet_info<pkt_type = 0, pkt_id = {packet}>}}"),
                "room",
                "drain"
            ),
        );
        let lines = lock("full", "AcquireGreaterEqual")
            + &lock("room", "AcquireGreaterEqual")
            + &format!("memref.copy %{name}in, %{name}out : memref<16xi32> to memref<16xi32>\n")
            + &lock("free", "Release")
            + &lock("made", "Release");
        body += &core(tile, &lines);
    }
    for (packet, from, to) in [(0, "s", "c"), (1, "c", "d"), (2, "d", "s")] {
        let _ = writeln!(
            body,
            "  aie.packet_flow({packet}) {{\n    aie.packet_source<%{from}, DMA : 0>\n    aie.packet_dest<%{to}, DMA : 0>\n  }}"
        );
    }
    body += "  aie.shim_dma_allocation @in(%s, MM2S, 0)\n  aie.shim_dma_allocation @out(%s, S2MM, 0)\n";
    let input = transfer(0, "in", 8, false).replace("1]) {", "1], packet = <pkt_type = 0, pkt_id = 0>) {");
    let output = transfer(1, "out", 8, true);
    let design =
        device("arbiter", &column(), &body, &(input + &output + "    aiex.npu.dma_wait {symbol = @out}\n"));
    assert_eq!(codes(&design), [] as [u16; 0], "{:#?}", check(&design));
    run(&design, Allocation::Lowered, &mut array())
        .unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
    let mut machine = Machine::new(&design, Allocation::Lowered).expect("it is made");
    machine.share_arbiter(&[0, 2]);
    let told = hangs(machine.launch(None, &mut array(), &mut crate::support::nothing));
    assert!(told[0].contains("each waits for the next in a circle"), "{told:#?}");
    let last = "the stream from channel 0 of tile (0, 3) waits for the arbiter that the stream from channel 0 of tile (0, 0) holds";
    assert!(told.iter().any(|line| line.contains(last)), "{told:#?}");
    let mut apart = Machine::new(&design, Allocation::Lowered).expect("it is made");
    (0..3).for_each(|packets| apart.share_arbiter(&[packets]));
    assert!(apart.launch(None, &mut array(), &mut crate::support::nothing).is_ok());
}
