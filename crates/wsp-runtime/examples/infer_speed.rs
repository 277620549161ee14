//! Measures dependence inference: nanoseconds per access, with complete hazards, on one core.
//!
//! `cargo run --release -p wsp-runtime --example infer_speed`
//!
//! Every graph is inferred again and again into one map that is cleared in between; the best round counts. "regions" builds a
//! `Region` per access and looks it up, "tiles" passes tile numbers of registered tensors; "graph" builds a stored graph with
//! all edges. Making the accesses is timed alone and shown, not taken off. Arguments choose lines that contain one of them.
#![allow(clippy::print_stdout, reason = "it reports to a person")]

#[path = "../tests/it/infer_common/mod.rs"]
mod infer_common;

use infer_common::{TileAccess, bgemm_loops, llama, llama_flat, llama_table};
use std::hint::black_box;
use wsp_core::{KernelId, Region, TaskId, TensorId};
use wsp_runtime::infer::{
    Accesses, Capacity, Matching, RegionMap, SlotTask, TensorMap, TileRef, TiledTensor,
};
use wsp_runtime::{Deps, RunConfig, TaskGraph, TaskRunner, TaskSpec, clock, run};

/// A graph as tile numbers: a task is its reads and its writes.
#[derive(Default)]
struct Graph {
    tasks: Vec<(u32, u8, u8)>,
    accesses: Vec<TileAccess>,
}

impl Graph {
    fn of(generate: impl FnOnce(&mut dyn FnMut(&[TileAccess], &[TileAccess]))) -> Graph {
        let mut graph = Graph::default();
        generate(&mut |reads, writes| {
            graph.tasks.push((graph.accesses.len() as u32, reads.len() as u8, writes.len() as u8));
            graph.accesses.extend_from_slice(reads);
            graph.accesses.extend_from_slice(writes);
        });
        graph
    }

    /// Builds the regions of each task in a small buffer and shows them.
    fn regions(&self, mut task: impl FnMut(u32, &[Region], &[Region])) {
        let mut buffer = [Region { tensor: TensorId(0), lo: [0; 6], hi: [1; 6] }; 16];
        for (id, &(first, reads, writes)) in (0..).zip(&self.tasks) {
            let (reads, all) = (usize::from(reads), usize::from(reads + writes));
            for (region, access) in
                buffer.iter_mut().zip(&self.accesses[first as usize..first as usize + all])
            {
                region.tensor = TensorId(access.tensor);
                region.lo[0] = access.row;
                region.hi[0] = access.row + access.rows;
                region.hi[1] = access.cols;
            }
            task(id, &buffer[..reads], &buffer[reads..all]);
        }
    }
}

/// Whether the arguments ask for a line.
fn wanted(name: &str, what: &str) -> bool {
    let line = format!("{name} {what}");
    std::env::args().len() < 2 || std::env::args().skip(1).any(|part| line.contains(&part))
}

/// Nanoseconds that this thread has run, where the system tells.
#[allow(clippy::disallowed_methods, reason = "a measurement, not a library")]
fn run_time() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split(' ').next()?.parse().ok()
}

/// What a round takes, in nanoseconds: of some rounds the shortest or, if that is less because other programs keep the
/// processor busy, the mean of the time that this thread ran.
fn best(mut round: impl FnMut()) -> f64 {
    let (begin, ran) = (clock::now(), run_time());
    let (mut shortest, mut rounds) = (u64::MAX, 0);
    while rounds < 3 || clock::nanos_since(begin) < 700_000_000 {
        let start = clock::now();
        round();
        shortest = shortest.min(clock::nanos_since(start));
        rounds += 1;
    }
    let mean = run_time().zip(ran).map(|(end, start)| (end - start) as f64 / f64::from(rounds));
    mean.unwrap_or(f64::INFINITY).min(shortest as f64)
}

fn report(name: &str, what: &str, tasks: usize, accesses: usize, edges: u64, nanos: f64) {
    println!(
        "{name:<28} {what:<22} {:>7.2} ns/access {:>7.1} ns/task {:>7.0} tasks/ms  ({tasks} tasks, {accesses} accesses, {edges} edges)",
        nanos / accesses as f64,
        nanos / tasks as f64,
        tasks as f64 / nanos * 1e6
    );
}

fn measure_regions(name: &str, what: &str, graph: &Graph, map: &mut RegionMap<u32>) {
    if !wanted(name, what) {
        return;
    }
    let mut edges = 0;
    let nanos = best(|| {
        edges = 0;
        map.clear();
        graph.regions(|task, reads, writes| {
            let done = map.infer(
                task,
                Accesses::new(reads, writes),
                |_| true,
                |pred, hazard| {
                    black_box((pred, hazard));
                    edges += 1;
                },
            );
            done.expect("the map grows");
        });
    });
    report(name, what, graph.tasks.len(), graph.accesses.len(), edges, nanos);
}

/// Into a map that knows no region yet.
fn measure_first(name: &str, graph: &Graph) {
    if !wanted(name, "regions, first time") {
        return;
    }
    let mut edges = 0;
    let nanos = best(|| {
        edges = 0;
        let mut map = RegionMap::<u32>::growing(Matching::Overlap);
        graph.regions(|task, reads, writes| {
            let done = map.infer(
                task,
                Accesses::new(reads, writes),
                |_| true,
                |pred, hazard| {
                    black_box((pred, hazard));
                    edges += 1;
                },
            );
            done.expect("the map grows");
        });
    });
    report(name, "regions, first time", graph.tasks.len(), graph.accesses.len(), edges, nanos);
}

/// As a stream: only the last tasks are live.
fn measure_window(name: &str, graph: &Graph) {
    let what = "regions, window of 8192";
    if !wanted(name, what) {
        return;
    }
    let mut map = RegionMap::<SlotTask>::growing(Matching::Overlap);
    let mut edges = 0;
    let nanos = best(|| {
        edges = 0;
        map.clear();
        graph.regions(|task, reads, writes| {
            let oldest = task.saturating_sub(8192);
            let done = map.infer(
                SlotTask { task, slot: task % 8192 },
                Accesses::new(reads, writes),
                |other| other.task >= oldest,
                |pred, hazard| {
                    black_box((pred, hazard));
                    edges += 1;
                },
            );
            done.expect("the map grows");
        });
    });
    report(name, what, graph.tasks.len(), graph.accesses.len(), edges, nanos);
}

/// The accesses of a graph as tile numbers, with its tensors registered. `None` where a region is no tile.
fn tiles_of(
    graph: &Graph,
    pitch: u32,
    mut register: impl FnMut(TensorId, &[u32], &[u32]) -> Option<TiledTensor>,
) -> Option<Vec<TileRef>> {
    let mut rows: Vec<(u32, TileAccess)> = Vec::new();
    for access in &graph.accesses {
        if access.tensor as usize >= rows.len() {
            rows.resize(access.tensor as usize + 1, (0, *access));
        }
        let known = &mut rows[access.tensor as usize];
        known.0 = known.0.max(access.row + access.rows);
    }
    let tensors: Option<Vec<TiledTensor>> = (0..)
        .zip(&rows)
        .map(|(tensor, (rows, one))| register(TensorId(tensor), &[*rows, one.cols], &[pitch, one.cols]))
        .collect();
    let tensors = tensors?;
    let tile = |access: &TileAccess| tensors[access.tensor as usize].tile(&[access.row / pitch, 0]);
    graph.accesses.iter().map(tile).collect()
}

fn measure_tiles(name: &str, graph: &Graph, pitch: u32) {
    if !wanted(name, "tiles") {
        return;
    }
    let mut map = RegionMap::<u32>::growing(Matching::Overlap);
    let register = |tensor, shape: &[u32], tile: &[u32]| map.register(tensor, shape, tile).ok();
    let Some(tiles) = tiles_of(graph, pitch, register) else { return };
    let mut edges = 0;
    let nanos = best(|| {
        edges = 0;
        map.clear();
        for (task, &(first, reads, writes)) in (0..).zip(&graph.tasks) {
            let mine = &tiles[first as usize..first as usize + usize::from(reads + writes)];
            let (reads, writes) = mine.split_at(usize::from(reads));
            let done = map.infer(
                task,
                Accesses::tiles(reads, writes),
                |_| true,
                |pred, hazard| {
                    black_box((pred, hazard));
                    edges += 1;
                },
            );
            done.expect("the map grows");
        }
    });
    report(name, "tiles", graph.tasks.len(), graph.accesses.len(), edges, nanos);
}

fn measure(name: &str, graph: &Graph, pitch: u32) {
    if wanted(name, "making regions only") {
        let nanos = best(|| {
            graph.regions(|task, reads, writes| {
                black_box((task, reads, writes));
            });
        });
        report(name, "making regions only", graph.tasks.len(), graph.accesses.len(), 0, nanos);
    }
    measure_first(name, graph);
    measure_regions(name, "regions", graph, &mut RegionMap::growing(Matching::Overlap));
    let capacity =
        Capacity { tensors: 1 << 18, regions: 1 << 18, readers: 1 << 21, overlaps: 1 << 18, accesses: 64 };
    measure_regions(name, "regions, fixed map", graph, &mut RegionMap::fixed(Matching::Overlap, capacity));
    measure_regions(name, "regions, equal", graph, &mut RegionMap::growing(Matching::Equal));
    measure_window(name, graph);
    measure_tiles(name, graph, pitch);
    measure_graph(name, graph, pitch);
}

/// As a stored graph, built in warm memory with all its edges.
fn measure_graph(name: &str, graph: &Graph, pitch: u32) {
    let mut built = TaskGraph::new(Deps::Overlap);
    if wanted(name, "graph, regions") {
        let nanos = best(|| {
            built.clear();
            graph.regions(|_, reads, writes| {
                built.submit(TaskSpec { reads, writes, ..TaskSpec::default() }).expect("the graph has room");
            });
        });
        report(name, "graph, regions", graph.tasks.len(), graph.accesses.len(), built.edge_count(), nanos);
    }
    let mut built = TaskGraph::new(Deps::Overlap);
    if wanted(name, "graph, tiles")
        && let Some(tiles) =
            tiles_of(graph, pitch, |tensor, shape, tile| built.tiled(tensor, shape, tile).ok())
    {
        let nanos = best(|| {
            built.clear();
            for &(first, reads, writes) in &graph.tasks {
                let mine = &tiles[first as usize..first as usize + usize::from(reads + writes)];
                let (tile_reads, tile_writes) = mine.split_at(usize::from(reads));
                let spec = TaskSpec { tile_reads, tile_writes, ..TaskSpec::default() };
                built.submit(spec).expect("the graph has room");
            }
        });
        report(name, "graph, tiles", graph.tasks.len(), graph.accesses.len(), built.edge_count(), nanos);
    }
}

/// Runs nothing.
struct Nothing;

impl TaskRunner for Nothing {
    type Failure = ();
    fn run(&self, _: usize, _: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
        Ok(())
    }
}

/// A stream of independent tasks that access one region, or nothing.
fn measure_stream(what: &str, tasks: u32, regions: usize) {
    if !wanted("stream, independent", what) {
        return;
    }
    let nanos = best(|| {
        let stats = run(&RunConfig::default(), &Nothing, |submitter| {
            let mut region = Region { tensor: TensorId(0), lo: [0; 6], hi: [1; 6] };
            (0..tasks).try_for_each(|task| {
                let row = task % 4096 * 32;
                (region.lo[0], region.hi[0], region.hi[1]) = (row, row + 32, 128);
                region.tensor = TensorId(task / 4096 % 4);
                let writes = &[region][..regions];
                submitter.submit(TaskSpec { writes, ..TaskSpec::default() }).map(drop)
            })
        });
        assert_eq!(stats.map(|stats| stats.tasks), Ok(u64::from(tasks)));
    });
    report("stream, independent", what, tasks as usize, tasks as usize, 0, nanos);
}

/// Random regions of two dimensions; `step` 1 puts them anywhere.
fn random(tasks: u32, step: u32, mut task: impl FnMut(&[Region], &[Region])) {
    let mut state = 0x2545_F491u32;
    let mut next = |below: u32| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % below
    };
    let mut region = || {
        let lo = [next(4096 / step) * step, next(4096 / step) * step];
        Region::new(TensorId(next(4)), &lo, &[lo[0] + 32, lo[1] + 32]).expect("ranks agree")
    };
    for _ in 0..tasks {
        let (reads, write) = ([region(), region()], [region()]);
        task(&reads, &write);
    }
}

fn measure_random(name: &str, tasks: u32, step: u32) {
    let mut regions: Vec<Region> = Vec::new();
    random(tasks, step, |reads, writes| regions.extend(reads.iter().chain(writes)));
    let round = |map: &mut RegionMap<u32>| {
        let mut edges = 0u64;
        map.clear();
        for (task, mine) in (0..).zip(regions.chunks_exact(3)) {
            let accesses = Accesses::new(&mine[..2], &mine[2..]);
            map.infer(task, accesses, |_| true, |_, _| edges += 1).expect("the map grows");
        }
        black_box(edges)
    };
    let mut edges = 0;
    if wanted(name, "regions, first time") {
        let nanos = best(|| edges = round(&mut RegionMap::growing(Matching::Overlap)));
        report(name, "regions, first time", tasks as usize, regions.len(), edges, nanos);
    }
    if wanted(name, "regions") {
        let mut map = RegionMap::growing(Matching::Overlap);
        let nanos = best(|| edges = round(&mut map));
        report(name, "regions", tasks as usize, regions.len(), edges, nanos);
    }
}

fn main() {
    assert_eq!(llama::TENSORS, 30);
    measure("llama_table 2K", &Graph::of(|task| llama_table(2 << 10, task)), 64);
    measure("llama_table 16K", &Graph::of(|task| llama_table(16 << 10, task)), 64);
    measure("llama_flat 1K", &Graph::of(|task| llama_flat(1 << 10, task)), 32);
    measure("llama_flat 8K", &Graph::of(|task| llama_flat(8 << 10, task)), 32);
    measure("bgemm_loops 4x32, tensors", &Graph::of(|task| bgemm_loops(4, 32, None, task)), 32);
    measure("bgemm_loops 4x4, tensors", &Graph::of(|task| bgemm_loops(4, 4, None, task)), 32);
    measure("bgemm_loops 4x8, ring", &Graph::of(|task| bgemm_loops(4, 8, Some(256), task)), 32);
    measure("bgemm_loops 4x32, ring", &Graph::of(|task| bgemm_loops(4, 32, Some(1024), task)), 32);
    measure_random("random tiles", 20_000, 32);
    measure_random("random regions", 2_000, 1);
    measure_stream("no region", 1 << 18, 0);
    measure_stream("one region", 1 << 18, 1);
}
