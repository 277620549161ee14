//! Lists of records of tasks: what `wsp graph --emit pending` writes, `wsp graph` reads as the same graph.

use crate::command::{Folder, printed, run};
use crate::graph::{RECORDED, faults, file, summary};

/// Bytes of a record.
const RECORD: usize = 2592;

/// Writes the records of a graph; how many there are, and the lists of tasks, edges and accesses of the program and of the file.
#[track_caller]
fn back(folder: &Folder, args: &[&str]) -> (usize, String) {
    let at = folder.at("g.pending");
    assert_eq!(printed(&[&["graph"], args, &["--emit", "pending", "-o", &at]].concat()), "");
    let bytes = std::fs::read(&at).unwrap();
    let records = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    assert!(
        bytes.len() > records * RECORD && (bytes.len() - records * RECORD) < 4096,
        "{} bytes",
        bytes.len()
    );
    let mut edges = String::new();
    for list in ["--tasks", "--edges", "--args"] {
        let expected = printed(&[&["graph"], args, &[list, "-"]].concat());
        let found = printed(&["graph", &at, list, "-"]);
        let differ = found.lines().zip(expected.lines()).position(|(a, b)| a != b);
        assert!(found == expected, "{args:?} {list}: line {differ:?} differs");
        edges = if list == "--edges" { found } else { edges };
    }
    (records, edges)
}

#[test]
fn recorded_graphs_come_back_from_their_records() {
    let folder = Folder::with(&[]);
    for (name, workload, set) in RECORDED {
        let file = file(workload);
        let args = [&[file.as_str(), "--deps", "exact"], set].concat();
        let (records, edges) = back(&folder, &args);
        let told = summary(&args);
        assert_eq!(told["tasks"], records, "{name}");
        assert_eq!(told["edges"], edges.lines().count() - 1, "{name}");
        let again = summary(&[&folder.at("g.pending")]);
        for key in
            ["tasks", "edges", "distinct_edges", "critical_path", "max_fan_out", "kernels", "widest_level"]
        {
            assert_eq!(again[key], told[key], "{name}: {key}");
        }
        assert_eq!(again["deps"], "recorded");
    }
}

/// A task that 1,500 others wait for, two that 513 and 512 do, ordered steps, a cube kernel.
const WIDE: &str = "
    tensor x: f32[2000, 3]; tensor y: f32[2000];
    kernel begin(out x) on cube; kernel part(in x, inout y); kernel last(in y);
    workload main {
        begin(x[.., 0]); begin(x[.., 1]); begin(x[.., 2]);
        parallel for i in 0..1500 { part(x[0, 0], y[i]); }
        parallel for i in 1500..2000 { part(x[0..2, 1], y[i]); }
        parallel for i in 0..512 { part(x[i, 2], y[i]); }
        for i in 0..2 { last(y[i]); last(y[i]); }
    }";

#[test]
fn more_than_512_successors_are_reached_through_relays_which_the_reader_takes_away() {
    let folder = Folder::with(&[("wide.wsp", WIDE)]);
    let file = folder.at("wide.wsp");
    let (records, _) = back(&folder, &[&file]);
    let told = summary(&[&file]);
    let rows = told["tasks"].as_u64().unwrap() + told["barrier_nodes"].as_u64().unwrap();
    assert_eq!(told["max_fan_out"]["edges"], 1500, "{told}");
    assert_eq!(records as u64, rows + 3, "{told}");
}

#[test]
fn records_of_a_program_and_of_records_are_written() {
    let folder = Folder::with(&[]);
    back(&folder, &["examples/row_softmax.pto", "--generate", "rows=40,cols=64"]);
    let (first, second) = (folder.at("g.pending"), folder.at("h.pending"));
    assert_eq!(printed(&["graph", &first, "--emit", "pending", "-o", &second]), "");
    assert_eq!(std::fs::read(&first).unwrap(), std::fs::read(&second).unwrap());
    let text = printed(&["graph", &second]);
    assert!(text.contains("(deps = recorded)"), "{text}");
}

#[test]
fn what_records_cannot_say_and_damaged_records_are_refused() {
    let folder = Folder::with(&[
        ("deep.wsp", "tensor x: f32[2, 3, 4]; kernel k(in x); workload main { k(x); }"),
        ("flat.wsp", "tensor x: f32[3]; kernel k(in x); workload main { k(x); k(x); }"),
        ("empty.pending", ""),
    ]);
    let (flat, at) = (folder.at("flat.wsp"), folder.at("g.pending"));
    let emit = ["--emit", "pending", "-o", &at];
    let (codes, err) = faults(&[&["graph", &folder.at("deep.wsp")], &emit[..]].concat());
    assert!(codes == ["WSP0885"] && err.contains("`--emit pending` has rows"), "{err}");
    assert_eq!(printed(&[&["graph", &flat], &emit[..]].concat()), "");
    let good = std::fs::read(&at).unwrap();
    for (change, part) in [
        (&(|bytes: &mut Vec<u8>| bytes.truncate(100)) as &dyn Fn(&mut Vec<u8>), "cut off at byte"),
        (&|bytes| bytes.push(0), "more follows"),
        (&|bytes| bytes[4] = 2, "version 2"),
        (&|bytes| *bytes.iter_mut().rev().nth(3).unwrap() = 17, "record 1: `num_args` is 17"),
        (&|bytes| bytes[11] = 0xFF, "at most"),
    ] {
        let mut bytes = good.clone();
        change(&mut bytes);
        std::fs::write(&at, &bytes).unwrap();
        let (codes, err) = faults(&["graph", &at]);
        assert!(codes == ["WSP0887"] && err.contains(part) && err.contains("--emit pending"), "{err}");
    }
    std::fs::write(&at, &good).unwrap();
    for option in [
        &["--deps", "exact"][..],
        &["--set", "n=3"],
        &["--fill", "x"],
        &["--generate"],
        &["--schedule", "s"],
        &["--target", "cpu_sim"],
        &["--kernels", "k.pto"],
        &["--seed", "3"],
    ] {
        let (codes, err) = faults(&[&["graph", &at], option].concat());
        assert!(codes == ["WSP0882"] && err.contains(option[0]), "{option:?}: {err}");
    }
    for args in
        [&["run", &at][..], &["check", &at], &["asm", &at], &["disasm", &at], &["sim", &at, "--model", "cpu"]]
    {
        let (code, _, err) = run(args);
        assert!(code == 1 && err.contains("WSP1590") && err.contains("wsp graph"), "{args:?}: {err}");
    }
    let (codes, err) = faults(&["graph", &folder.at("empty.pending")]);
    assert!(codes == ["WSP0513"] && err.contains("--emit pending"), "{err}");
    for alone in [&["--emit", "pending"][..], &["-o", &at]] {
        assert_eq!(run(&[&["graph", &flat], alone].concat()).0, 2, "{alone:?}");
    }
    for to in [&flat, &folder.at("new.wsp")] {
        let (codes, err) = faults(&["graph", &flat, "--emit", "pending", "-o", to]);
        assert_eq!(codes, ["WSP0881"], "{err}");
    }
    let (codes, err) = faults(&["graph", &at, "--emit", "pending", "-o", &at]);
    assert!(codes == ["WSP0881"] && err.contains("would be overwritten"), "{err}");
    assert_eq!(std::fs::read(&at).unwrap(), good);
}
