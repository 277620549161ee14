//! Tasks that name tiles of registered tensors, on both stores.

use crate::common::{Scripted, cells, config};
use proptest::prelude::*;
use wsp_core::{Region, TaskId, TensorId};
use wsp_runtime::infer::{MapError, TileRef, TiledTensor, TilingError};
use wsp_runtime::{Deps, Ready, RunConfig, Stopped, Submitter, TaskGraph, TaskRunner, TaskSpec, run};

const SHAPES: [([u32; 2], [u32; 2]); 3] = [([6, 5], [2, 2]), ([9, 1], [4, 1]), ([3, 3], [3, 3])];

/// One access: the tensor, its tile by position, the tile after it for a region of two tiles, and how it is given.
#[derive(Clone, Copy, Debug)]
struct GivenAccess {
    tensor: usize,
    row: u32,
    column: u32,
    wide: bool,
    as_tile: bool,
}

#[derive(Clone, Debug)]
struct Task {
    reads: Vec<GivenAccess>,
    writes: Vec<GivenAccess>,
    after: Vec<usize>,
}

fn access() -> impl Strategy<Value = GivenAccess> {
    (0..3usize, 0..3u32, 0..3u32, prop::bool::weighted(0.2), any::<bool>())
        .prop_map(|(tensor, row, column, wide, as_tile)| GivenAccess { tensor, row, column, wide, as_tile })
}

fn program() -> impl Strategy<Value = Vec<Task>> {
    let list = || prop::collection::vec(access(), 0..4);
    let after = prop::collection::vec(0..1000usize, 0..2);
    let task = (list(), list(), after).prop_map(|(reads, writes, after)| Task { reads, writes, after });
    prop::collection::vec(task, 1..60)
}

fn tiled(
    mut register: impl FnMut(TensorId, &[u32], &[u32]) -> Result<TiledTensor, TilingError>,
) -> Vec<TiledTensor> {
    let tensors = (0u32..).zip(SHAPES);
    tensors
        .map(|(tensor, (shape, tile))| {
            register(TensorId(tensor), &shape, &tile).expect("tiles of the shapes above are valid")
        })
        .collect()
}

/// The tiles and regions of some accesses; regions only, if `tiles` gives no tile.
fn given(
    tensors: &[TiledTensor],
    list: &[GivenAccess],
    tiles: impl Fn(&GivenAccess) -> bool,
) -> (Vec<TileRef>, Vec<Region>) {
    let (mut refs, mut regions) = (Vec::new(), Vec::new());
    for access in list {
        let tensor = &tensors[access.tensor];
        let at = [access.row % tensor.counts()[0], access.column % tensor.counts()[1]];
        let mut region = tensor.region(&at).expect("tiles of the shapes above are valid");
        if access.wide {
            region.hi[0] += 1;
            regions.push(region);
        } else if tiles(access) {
            refs.push(tensor.tile(&at).expect("tiles of the shapes above are valid"));
        } else {
            regions.push(region);
        }
    }
    (refs, regions)
}

/// Shows every task with its accesses as tiles where `tiles` says so.
fn submit(
    program: &[Task],
    tensors: &[TiledTensor],
    tiles: fn(&GivenAccess) -> bool,
    edges: bool,
    mut task: impl FnMut(TaskSpec<'_>),
) {
    for (id, Task { reads, writes, after }) in program.iter().enumerate() {
        let (tile_reads, reads) = given(tensors, reads, tiles);
        let (tile_writes, writes) = given(tensors, writes, tiles);
        let after: Vec<TaskId> = after
            .iter()
            .filter(|_| edges && id > 0)
            .map(|before| TaskId((before % id.max(1)) as u32))
            .collect();
        task(TaskSpec {
            reads: &reads,
            writes: &writes,
            tile_reads: &tile_reads,
            tile_writes: &tile_writes,
            after: &after,
            ..TaskSpec::default()
        });
    }
}

fn graph_of(deps: Deps, program: &[Task], tiles: fn(&GivenAccess) -> bool) -> TaskGraph {
    let mut graph = TaskGraph::new(deps);
    let tensors = tiled(|tensor, shape, tile| graph.tiled(tensor, shape, tile));
    submit(program, &tensors, tiles, deps.takes_edges(), |spec| assert!(graph.submit(spec).is_ok()));
    graph
}

/// Edges as they were made; those of equal regions are made in order of reads, so tiles and regions are sorted first.
fn edges(deps: Deps, graph: &TaskGraph) -> Vec<(TaskId, TaskId)> {
    let mut edges: Vec<_> = graph.edges().collect();
    if deps == Deps::Exact {
        edges.sort_unstable();
    }
    edges
}

proptest! {
    #[test]
    fn tiles_mean_their_regions(program in program()) {
        for deps in [Deps::Exact, Deps::Overlap, Deps::Hybrid, Deps::Explicit] {
            let regions = graph_of(deps, &program, |_| false);
            for tiles in [|_: &GivenAccess| true, |access: &GivenAccess| access.as_tile] {
                let graph = graph_of(deps, &program, tiles);
                prop_assert_eq!(edges(deps, &graph), edges(deps, &regions));
                prop_assert_eq!(graph.edge_stats(), regions.edge_stats());
            }
        }
    }

    #[test]
    fn a_stream_orders_tiles_as_a_graph_does(program in program(), window in 1..9u32) {
        let graph = graph_of(Deps::Overlap, &program, |access| access.as_tile);
        let runner = Scripted::new(|_| Ok(()));
        let config = RunConfig { deps: Deps::Overlap, ..config(2, window, Ready::Fifo) };
        let stats = run(&config, &runner, |submitter| {
            let tensors = tiled(|tensor, shape, tile| submitter.tiled(tensor, shape, tile));
            submit(&program, &tensors, |access| access.as_tile, false, |spec| assert!(submitter.submit(spec).is_ok()));
            Ok::<(), Stopped>(())
        }).unwrap();
        prop_assert_eq!(stats.tasks, program.len() as u64);
        let ran = runner.ran();
        let mut at = vec![0; ran.len()];
        ran.iter().enumerate().for_each(|(i, &task)| at[task as usize] = i);
        prop_assert!(graph.edges().all(|(from, to)| at[from.index()] < at[to.index()]));
    }
}

#[test]
fn an_unknown_tile_is_refused_and_the_next_task_takes_the_id() {
    let unknown = TileRef(9);
    let spec = TaskSpec { tile_reads: &[unknown], ..TaskSpec::default() };
    let error = Stopped::Map(MapError::UnknownTile(unknown));
    let refused = Err(error);
    let mut graph = TaskGraph::new(Deps::Overlap);
    assert_eq!(graph.submit(spec), refused);
    assert_eq!((graph.len(), graph.submit(TaskSpec::default())), (0, Ok(TaskId(0))));
    fn twice<R: TaskRunner>(
        submitter: &mut Submitter<'_, R>,
        spec: TaskSpec<'_>,
    ) -> [Result<TaskId, Stopped>; 2] {
        [submitter.submit(spec), submitter.submit(TaskSpec::default())]
    }
    let runner = Scripted::new(|_| Ok(()));
    let stats = run(&config(1, 1, Ready::Fifo), &runner, |submitter| {
        assert_eq!(twice(submitter, spec), [refused, Ok(TaskId(0))]);
        Ok::<(), Stopped>(())
    });
    assert_eq!((stats.unwrap().tasks, runner.ran()), (1, vec![0]));
    assert_eq!(
        error.to_string(),
        "tile 9 is of no tensor registered with this map; register its tensor first"
    );
}

#[test]
fn tiles_stay_registered_when_a_graph_is_cleared() {
    let mut graph = TaskGraph::new(Deps::Overlap);
    let x = graph.tiled(TensorId(0), &[4], &[2]).unwrap();
    for _ in 0..3 {
        graph.clear();
        let tile = [x.tile(&[1]).unwrap()];
        graph.submit(TaskSpec { tile_reads: &tile, ..TaskSpec::default() }).unwrap();
        graph.submit(TaskSpec { writes: &[cells(0, 3, 4)], ..TaskSpec::default() }).unwrap();
        graph.submit(TaskSpec { writes: &[cells(0, 0, 2)], ..TaskSpec::default() }).unwrap();
        assert!(graph.edges().eq([(TaskId(0), TaskId(1))]));
    }
    assert_eq!(graph.tiled(TensorId(0), &[4], &[2]), Err(TilingError::InUse(TensorId(0))));
}

#[test]
fn a_fence_hides_what_was_accessed_before_it() {
    let mut graph = TaskGraph::new(Deps::Overlap);
    let cell = [cells(0, 0, 1)];
    for round in 0..3u32 {
        graph.submit(TaskSpec { writes: &cell, ..TaskSpec::default() }).unwrap();
        graph.submit(TaskSpec { reads: &cell, ..TaskSpec::default() }).unwrap();
        assert_eq!(graph.edge_stats().hazards(), u64::from(round) + 1);
        graph.fence().unwrap();
    }
}
