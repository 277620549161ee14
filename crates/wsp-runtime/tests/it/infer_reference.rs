//! Inference against recorded graphs, and against hazard counts known for them.

use crate::infer_common::{TileAccess, bgemm_loops, llama, llama_flat, llama_table};
use std::collections::BTreeMap;
use std::io::Read;
use wsp_core::{Region, TensorId};
use wsp_runtime::infer::{Accesses, Capacity, Hazard, Matching, RegionMap, TensorMap};

#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Task {
    reads: Vec<Region>,
    writes: Vec<Region>,
}

#[allow(clippy::disallowed_methods, reason = "a test reads its reference files")]
pub(crate) fn lines(file: &str) -> Vec<Vec<String>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/graphs").join(file);
    let packed = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).expect("it is gzip");
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The tasks of a graph; `row` is what its row offsets count.
pub(crate) fn tasks(graph: &str, row: u32) -> Vec<Task> {
    let mut tensors = BTreeMap::new();
    let mut tasks: Vec<Task> = Vec::new();
    for line in lines(&format!("{graph}.args.csv.gz")) {
        let number = |field: usize| line[field].parse::<u32>().expect("a number");
        let next = tensors.len() as u32;
        let tensor = TensorId(*tensors.entry(line[3].clone()).or_insert(next));
        let lo = [number(4) * row, number(5)];
        let region = Region::new(tensor, &lo, &[lo[0] + number(6), lo[1] + number(7)]).expect("ranks agree");
        tasks.resize(tasks.len().max(number(0) as usize + 1), Task::default());
        let task = tasks.last_mut().expect("there is one");
        match line[2].as_str() {
            "in" => task.reads.push(region),
            "out" => task.writes.push(region),
            other => panic!("direction {other}"),
        }
    }
    tasks
}

fn generated(generate: impl FnOnce(&mut dyn FnMut(&[TileAccess], &[TileAccess]))) -> Vec<Task> {
    let mut tasks = Vec::new();
    generate(&mut |reads, writes| {
        let regions = |list: &[TileAccess]| list.iter().map(|access| access.region()).collect();
        tasks.push(Task { reads: regions(reads), writes: regions(writes) });
    });
    tasks
}

/// Edges in order of their making.
pub(crate) fn edges(map: &mut RegionMap<u32>, tasks: &[Task]) -> Vec<(u32, u32, Hazard)> {
    let mut edges = Vec::new();
    for (id, task) in (0..).zip(tasks) {
        let found = |from: u32, hazard| edges.push((from, id, hazard));
        map.infer(id, Accesses::new(&task.reads, &task.writes), |_| true, found).expect("there is room");
    }
    edges
}

/// The recorded graphs.
pub(crate) const GRAPHS: [&str; 6] = [
    "bgemm_loops_b4m4k4n4",
    "bgemm_tree_k8_32tiles",
    "llama_flat_1K",
    "llama_table_1K",
    "softmax_8tiles",
    "softmax_8tiles_tail",
];

const FIXED: Capacity =
    Capacity { tensors: 400, regions: 6000, readers: 60_000, overlaps: 100_000, accesses: 8 };

#[test]
fn the_newest_writers_of_equal_regions_are_the_recorded_edges_edge_for_edge() {
    for graph in GRAPHS {
        for mut map in [RegionMap::growing(Matching::EqualRaw), RegionMap::fixed(Matching::EqualRaw, FIXED)] {
            let mut made = edges(&mut map, &tasks(graph, 1));
            // The files list edges by source, and those of one source as they were made.
            made.sort_by_key(|(from, _, _)| *from);
            let made: Vec<[u32; 2]> = made.iter().map(|&(from, to, _)| [from, to]).collect();
            let recorded: Vec<[u32; 2]> = lines(&format!("{graph}.edges.csv.gz"))
                .iter()
                .map(|line| [line[0].parse().unwrap(), line[1].parse().unwrap()])
                .collect();
            assert_eq!(made, recorded, "{graph}");
        }
    }
}

fn hazards(tasks: &[Task]) -> usize {
    let growing = edges(&mut RegionMap::growing(Matching::Overlap), tasks);
    assert_eq!(growing, edges(&mut RegionMap::fixed(Matching::Overlap, FIXED), tasks));
    growing.len()
}

#[test]
fn full_hazards_come_in_the_known_numbers() {
    assert_eq!(hazards(&tasks("llama_table_1K", 1)), 2368);
    assert_eq!(hazards(&tasks("llama_flat_1K", 32)), 10_848);
    assert_eq!(hazards(&generated(|task| llama_flat(2048, task))), 42_176);
    assert_eq!(hazards(&tasks("softmax_8tiles", 1)), 110);
}

#[test]
fn recorded_edges_have_the_known_formulas_for_other_sizes_too() {
    for tiles in [1u32, 2, 5, 40] {
        let (m, k) = (tiles, 2 * tiles);
        let table = generated(|task| llama_table(64 * m, task));
        assert_eq!(table.len() as u32, 16 * m + 3 * m * m);
        assert_eq!(
            edges(&mut RegionMap::growing(Matching::EqualRaw), &table).len() as u32,
            14 * m + 5 * m * m
        );
        let flat = generated(|task| llama_flat(32 * k, task));
        assert_eq!(flat.len() as u32, 16 * k + 3 * k * k);
        let mut recorded = edges(&mut RegionMap::growing(Matching::EqualRaw), &flat);
        assert_eq!(recorded.len() as u32, 17 * k + 9 * k * k);
        recorded.sort_unstable();
        recorded.dedup();
        assert_eq!(recorded.len() as u32, 17 * k + 7 * k * k);
    }
}

/// Tasks with tensors renumbered in order of appearance.
fn renumbered(mut tasks: Vec<Task>) -> Vec<Task> {
    let mut tensors = BTreeMap::new();
    for region in tasks.iter_mut().flat_map(|task| task.reads.iter_mut().chain(&mut task.writes)) {
        let next = tensors.len() as u32;
        region.tensor = TensorId(*tensors.entry(region.tensor).or_insert(next));
    }
    tasks
}

#[test]
fn graphs_made_by_formula_are_the_recorded_ones() {
    assert_eq!(llama::name(llama::OUTPUT), "output");
    assert_eq!(renumbered(generated(|task| llama_table(1024, task))), renumbered(tasks("llama_table_1K", 1)));
    assert_eq!(renumbered(generated(|task| llama_flat(1024, task))), renumbered(tasks("llama_flat_1K", 32)));
    let loops = generated(|task| bgemm_loops(4, 4, None, task));
    assert_eq!(edges(&mut RegionMap::growing(Matching::EqualRaw), &loops).len(), 448);
    assert_eq!(loops.len(), tasks("bgemm_loops_b4m4k4n4", 32).len());
}
