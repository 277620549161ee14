//! Lengths, rounds, packets and chains of descriptors.

use crate::support::{codes, design, ints, nothing, to_ints};
use wsp_aie::check;
use wsp_aie::run::{Allocation, Machine};

const SCALE: &str = include_str!("designs/scale.mlir");
const STREAMS: &str = include_str!("designs/streams.mlir");

/// `scale` with tasks of this length and sizes, repeated so often.
fn tasks(len: &str, sizes: &str, repeat: i64) -> String {
    let begin = SCALE.find("      aiex.npu").expect("it has transfers");
    let task = |name: &str, array: &str| {
        format!(
            "%{name} = aiex.dma_configure_task_for @{name} {{
        aie.dma_bd(%{array} : memref<1024xi32>, 0, {len}, [{sizes}])
        aie.end
      }} {{issue_token = true, repeat_count = {repeat} : i32}}
      aiex.dma_start_task(%{name})\n"
        )
    };
    let tasks = task("in", "x") + &task("out", "y");
    [&SCALE[..begin], &tasks, "aiex.dma_await_task(%out)\n    }\n  }\n}\n"].concat()
}

const FOUR: &str =
    "<size = 4, stride = 256>, <size = 1, stride = 0>, <size = 1, stride = 0>, <size = 256, stride = 1>";

/// The outermost of four sizes is that of repeats, and no part of the length.
#[test]
fn the_length_of_a_task_is_that_of_its_lowest_three_sizes() {
    let good = design(&tasks("256", FOUR, 3));
    assert_eq!(check(&good), []);
    let mut given = [ints(0..1024), ints([0; 1024])];
    let mut machine = Machine::new(&good, Allocation::Lowered).expect("it runs");
    machine.launch(None, &mut given, &mut nothing).expect("it ends");
    assert_eq!(to_ints(&given[1]), (0..1024).map(|i| 3 * i).collect::<Vec<i32>>());
    let found = check(&design(&tasks("1024", FOUR, 3)));
    assert_eq!(found.iter().map(|found| found.code.0).collect::<Vec<_>>(), [1826, 1826]);
    let told = "a transfer of `@in` is of 1024 elements, and its lowest three sizes are of 256";
    assert_eq!(found[0].message, told);
    assert_eq!(found[0].help, ["write 256 as its length"]);
    let rows = "<size = 4, stride = 256>, <size = 256, stride = 1>";
    assert_eq!(codes(&tasks("1024", rows, 0)), Vec::<u16>::new());
    assert_eq!(codes(&tasks("256", rows, 0)), [1826]);
}

/// What a task does not repeat, it does not write.
#[test]
fn arrays_are_written_as_far_as_tasks_are_repeated() {
    for (repeat, written) in [(0, Some(256)), (2, Some(768)), (3, None), (4, None)] {
        let found = check(&design(&tasks("256", FOUR, repeat)));
        let told =
            written.map(|some| format!("transfers of `@sequence` write {some} of the 1024 elements of `y`"));
        let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(messages, told.as_deref().into_iter().collect::<Vec<_>>(), "{repeat}");
    }
    for repeat in [-1, 256] {
        assert!(codes(&tasks("256", FOUR, repeat)).contains(&1806), "{repeat}");
    }
}

#[test]
fn types_of_packets_are_numbers_of_three_bits() {
    for (ty, found) in [("7", &[][..]), ("0x9", &[1847]), ("-1", &[1847]), ("99999999999999999999", &[1847])]
    {
        let packet = format!("[0, 0, 0, 1], packet = <pkt_type = {ty}, pkt_id = 1>) {{id = 0");
        let mut all = codes(&STREAMS.replace("[0, 0, 0, 1]) {id = 0", &packet));
        all.retain(|code| *code == 1847);
        assert_eq!(all, found, "{ty}");
    }
}

/// Many starts of one long chain are one walk through it.
#[test]
fn long_chains_that_are_started_often_are_checked() {
    let (starts, blocks) = (1000, 10_000);
    let started: String = (0..starts)
        .map(|i| {
            let next = if i + 1 < starts { format!("^s{}", i + 1) } else { "^end".to_owned() };
            format!("%d{i} = aie.dma_start(S2MM, 0, ^b0, {next})\n^s{}:\n", i + 1)
        })
        .collect();
    let started = started.trim_end_matches(&format!("^s{starts}:\n"));
    let chain: String = (0..blocks)
        .map(|i| {
            let next = (i + 1) % blocks;
            format!("^b{i}:\naie.dma_bd(%b : memref<16xi32>, 0, 16)\naie.next_bd ^b{next}\n")
        })
        .collect();
    let text = format!(
        "module {{\n aie.device(npu2) {{\n %t = aie.tile(0, 1)\n %b = aie.buffer(%t) : memref<16xi32>\n %m = aie.memtile_dma(%t) {{\n{started}{chain}^end:\n aie.end\n }}\n }}\n}}\n"
    );
    assert_eq!(codes(&text), [1828]);
}

/// A transfer goes through its dimensions, and again for each of its rounds.
#[test]
fn transfers_go_through_their_dimensions() {
    let rows = "%x[0, 0, 0, 2][2, 1, 2, 3][25, 0, 4, 1]";
    let text = SCALE
        .replace("%x[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]", rows)
        .replace("[1, 1, 1, 1024]", "[1, 1, 1, 12]")
        .replace("1024x", "64x")
        .replace("256", "12");
    let mut given = [ints(0..64), ints([0; 64])];
    let design = design(&text);
    let mut machine = Machine::new(&design, Allocation::Lowered).expect("it is made");
    machine.launch(None, &mut given, &mut nothing).expect("it ends");
    let read = [2, 3, 4, 6, 7, 8, 27, 28, 29, 31, 32, 33];
    assert_eq!(to_ints(&given[1])[..13], [read.map(|at| 3 * at).as_slice(), &[0]].concat());
}

/// Dimensions of a stream name the elements of an object, and none beyond it.
#[test]
fn dimensions_of_a_stream_name_elements_of_an_object() {
    let with = |rows: u64, stride: u64| {
        let dims =
            format!("%core dimensionsToStream [<size = 2, stride = 1>, <size = {rows}, stride = {stride}>]");
        design(&SCALE.replace("@out(%core", &format!("@out({dims}")))
    };
    let mut given = [ints(0..1024), ints([0; 1024])];
    let good = with(128, 2);
    let mut machine = Machine::new(&good, Allocation::Lowered).expect("it is made");
    machine.launch(None, &mut given, &mut nothing).expect("it ends");
    let wanted = (0..1024).map(|i| 3 * (i / 256 * 256 + i % 128 * 2 + i % 256 / 128));
    assert_eq!(to_ints(&given[1]), wanted.collect::<Vec<i32>>());
    for (rows, stride) in [(129, 2), (u64::MAX, 0), (1 << 62, 0), (1 << 23, 0)] {
        let mut far = with(128, 2);
        let fifo = far.fifos.iter_mut().find(|fifo| !fifo.producer.dims.is_empty()).expect("it has them");
        (fifo.producer.dims[1].size, fifo.producer.dims[1].stride) = (rows, stride);
        let found = Machine::new(&far, Allocation::Lowered).expect_err("it is refused");
        assert_eq!(found.message, "the dimensions of fifo `@out` name elements that its objects do not have");
    }
}
