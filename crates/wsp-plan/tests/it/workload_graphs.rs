//! The workloads of `examples/graphs` generate exactly the tasks and accesses of the reference graphs.

use crate::workload_support::{Seen, bound, expanded, module, tasks};
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use wsp_core::Region;
use wsp_ir::workload::{ExecPool, WorkloadModule};
use wsp_plan::workload::count;

fn path(parts: &[&str]) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../.."].iter().chain(parts).collect()
}

#[expect(clippy::disallowed_methods, reason = "a test reads the examples")]
fn example(name: &str) -> String {
    let file = format!("{name}.wsp");
    std::fs::read_to_string(path(&["examples", "graphs", &file])).expect("the example is there")
}

/// The rows of a reference file, without its header.
fn rows(name: &str) -> Vec<Vec<String>> {
    let file =
        File::open(path(&["testdata", "graphs", &format!("{name}.csv.gz")])).expect("the file is there");
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("text");
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// A task: kernel, whether it is a cube one, and its accesses: direction, tensor, offsets and extents.
type Row = (String, bool, Vec<(String, String, [i64; 4])>);

/// The tasks of a reference graph, row offsets counted in `unit` rows.
fn reference(name: &str, unit: i64) -> Vec<Row> {
    let task = |row: Vec<String>| (row[1].clone(), row[2] == "1", Vec::new());
    let mut tasks: Vec<Row> = rows(&format!("{name}.tasks")).into_iter().map(task).collect();
    for row in rows(&format!("{name}.args")) {
        let number = |at: usize| row[at].parse::<i64>().expect("a number");
        let (mut tensor, mut offset) = (row[3].clone(), number(4));
        // `P#n` is buffer n of P.
        if let Some((base, index)) = row[3].split_once('#') {
            offset += index.parse::<i64>().expect("a number");
            tensor = base.to_owned();
        }
        let place = [offset * unit, number(5), number(6), number(7)];
        let accesses = &mut tasks[number(0) as usize].2;
        assert_eq!(number(1) as usize, accesses.len(), "accesses are in order");
        accesses.push((row[2].clone(), tensor, place));
    }
    tasks
}

fn listed(module: &WorkloadModule, tasks: &[Seen]) -> Vec<Row> {
    let row = |task: &Seen| {
        let kernel = &module.kernels[task.kernel as usize];
        // Arguments that are read stand before those that are written.
        let accesses = task.regions.iter().enumerate().map(|(n, region)| {
            let dir = if n < task.reads.len() { "in" } else { "out" };
            (dir.to_owned(), module.tensors[region.tensor.index()].name.clone(), place(region))
        });
        let accesses: Vec<_> = accesses.collect();
        (kernel.name.clone(), kernel.unit == ExecPool::Cube, accesses)
    };
    tasks.iter().map(row).collect()
}

fn place(region: &Region) -> [i64; 4] {
    let [r, c] = [0, 1].map(|d| (i64::from(region.lo[d]), i64::from(region.hi[d])));
    [r.0, c.0, r.1 - r.0, c.1 - c.0]
}

/// Asserts that an example generates a reference graph.
#[track_caller]
fn check(example_name: &str, set: &[(&str, i64)], reference_name: &str, unit: i64) {
    let source = example(example_name);
    let module = module(&source);
    let ours = tasks(&source, set);
    for task in &ours {
        assert_eq!([&task.reads[..], &task.writes[..]].concat(), task.regions, "reads stand before writes");
    }
    let (ours, theirs) = (listed(&module, &ours), reference(reference_name, unit));
    for (id, (our, their)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(our, their, "task {id}");
    }
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn llama_table_is_the_reference() {
    check("llama_table", &[], "llama_table_1K", 1);
}

#[test]
fn llama_flat_is_the_reference() {
    check("llama_flat", &[], "llama_flat_1K", 32);
}

#[test]
fn bgemm_tree_is_the_reference() {
    check("bgemm_tree", &[], "bgemm_tree_k8_32tiles", 64);
}

#[test]
fn bgemm_loops_is_the_reference() {
    check("bgemm_loops", &[], "bgemm_loops_b4m4k4n4", 32);
}

#[test]
fn softmax_is_the_reference() {
    check("softmax", &[], "softmax_8tiles", 1);
    check("softmax", &[("tiles", 9)], "softmax_8tiles_tail", 1);
}

/// Asserts the number of tasks of an example, generated and counted.
#[track_caller]
fn sized(name: &str, param: &str, value: i64, expected: i64) {
    let module = module(&example(name));
    let bindings = bound(&module, &[(param, value)]);
    assert_eq!(count(&module, &bindings), Some(expected as u64), "{name} {value}, counted");
    let (record, result) = expanded(&module, &bindings, &[]);
    assert!(result.is_ok());
    assert_eq!(record.tasks().len() as i64, expected, "{name} {value}");
}

#[test]
fn other_sizes_have_as_many_tasks_as_the_formulas_say() {
    for seq in [0, 64, 128, 2048, 4096] {
        let (m, k) = (seq / 64, seq / 32);
        sized("llama_table", "seq", seq, 16 * m + 3 * m * m);
        sized("llama_flat", "seq", seq, 16 * k + 3 * k * k);
    }
    for tiles in [0, 1, 7, 64] {
        sized("bgemm_tree", "tiles", tiles, 15 * tiles);
        sized("softmax", "tiles", tiles, 5 * tiles);
    }
    for n in [0, 1, 2, 3, 6] {
        sized("bgemm_loops", "n", n, 2 * n * n * n * n);
    }
}

#[test]
fn sixteen_thousand_tokens_are_counted_without_generating_them() {
    let module = module(&example("llama_table"));
    assert_eq!(count(&module, &bound(&module, &[("seq", 16384)])), Some(200_704));
}
