//! Places of array-sized programs, beside the best of many that are drawn and improved.

use super::examples::example;
use super::{Simulated, args, array, plan};
use wsp_aie::Simulation as _;
use wsp_aie::device::{Tile, TileKind, XDNA2};
use wsp_aie::lower::{Launch, Listed, Lowered, Placed, lower};
use wsp_aie::place::{Graph, Net, STEPS};
use wsp_backend::{Args, Detail, GraphOptions, RunOptions};
use wsp_memory::Array;
use wsp_plan::PlanSource;

/// The design of a launch.
fn lowered(plan: &PlanSource, launch: Args) -> Lowered {
    let simulated = Simulated.compile(plan).unwrap_or_else(|found| panic!("{found}"));
    let options =
        GraphOptions { detail: Detail { accesses: true, ..Detail::default() }, ..GraphOptions::default() };
    let graph = simulated.graph(&launch, &options).expect("it is listed");
    let table = simulated.table(&launch, &RunOptions::default()).expect("it is listed");
    let form = |(name, array): (&String, &Array)| wsp_backend::ArrayForm {
        name: name.clone(),
        elem: array.dtype(),
        shape: array.shape().to_vec(),
    };
    let arrays = launch.arrays.iter().map(form).collect();
    let launch = Launch {
        name: String::new(),
        listed: Listed { graph, table },
        arrays,
        values: launch.values.clone(),
    };
    lower(plan, &[launch], (XDNA2, STEPS)).unwrap_or_else(|found| panic!("{found}"))
}

/// Numbers at random, the same in each run: xorshift64*.
fn below(state: &mut u64, limit: usize) -> usize {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
}

/// The least cost of legal placements, this many of which are drawn, each improved by as many moves and exchanges as there are nodes and tiles.
fn drawn(graph: &Graph, count: usize) -> u64 {
    let (mut state, mut best) = (7, u64::MAX);
    let of_kind: Vec<Vec<Tile>> = graph
        .nodes
        .iter()
        .map(|node| graph.device.tiles().filter(|tile| graph.device.kind(*tile) == Some(node.kind)).collect())
        .collect();
    let nets_of = |node: usize| {
        let ends = |net: &Net| net.from == node || net.to.contains(&node);
        (0..graph.nets.len()).filter(|at| ends(&graph.nets[*at])).collect::<Vec<usize>>()
    };
    let nets: Vec<Vec<usize>> = (0..graph.nodes.len()).map(nets_of).collect();
    let hops = |a: Tile, b: Tile| u64::from(a.col.abs_diff(b.col) + a.row.abs_diff(b.row));
    // Ends of nets at a node, into it and out of it: what it takes of the channels of a tile, but for cores, which share memory with neighbours.
    let ends_of = |node: usize| {
        let into = graph.nets.iter().filter(|net| net.to.contains(&node)).count() as u32;
        [into, graph.nets.iter().filter(|net| net.from == node).count() as u32]
    };
    let ends: Vec<[u32; 2]> = (0..graph.nodes.len()).map(ends_of).collect();
    let has_room = |tiles: &[Tile], tile: Tile| {
        let Some(kind) = graph.device.kind(tile).filter(|kind| *kind != TileKind::Compute) else {
            return true;
        };
        let there = tiles.iter().zip(&ends).filter(|(at, _)| **at == tile).map(|(_, ends)| ends);
        let taken = there.fold([0, 0], |sum, ends| [sum[0] + ends[0], sum[1] + ends[1]]);
        taken.iter().all(|ends| *ends <= kind.model().channels)
    };
    // What the nets of two nodes cost.
    let around = |tiles: &[Tile], node: usize, other: usize| -> u64 {
        let others = nets[other].iter().filter(|at| other != node && !nets[node].contains(at));
        let of = |at: &usize| {
            let net = &graph.nets[*at];
            net.traffic * net.to.iter().map(|to| hops(tiles[net.from], tiles[*to])).sum::<u64>()
        };
        nets[node].iter().chain(others).map(of).sum()
    };
    for _ in 0..count {
        let mut tiles: Vec<Tile> = Vec::new();
        for (node, kind) in graph.nodes.iter().zip(&of_kind) {
            let mut tile = kind[below(&mut state, kind.len())];
            tiles.push(tile);
            let last = tiles.len() - 1;
            let is_free = |tiles: &[Tile]| match node.kind {
                TileKind::Compute => !tiles[..last].contains(&tiles[last]),
                _ => has_room(tiles, tiles[last]),
            };
            for _ in 0..256 {
                if is_free(&tiles) {
                    break;
                }
                tile = kind[below(&mut state, kind.len())];
                tiles[last] = tile;
            }
        }
        let mut cost = graph.cost(&tiles);
        for _ in 0..4 * graph.nodes.len() {
            let node = below(&mut state, tiles.len());
            let (from, tile) = (tiles[node], of_kind[node][below(&mut state, of_kind[node].len())]);
            let same_kind = |at: &usize| graph.nodes[*at].kind == graph.nodes[node].kind;
            let other = (0..tiles.len()).filter(same_kind).find(|at| tiles[*at] == tile).unwrap_or(node);
            let before = around(&tiles, node, other);
            (tiles[other], tiles[node]) = (from, tile);
            let after = around(&tiles, node, other);
            if after < before && has_room(&tiles, tile) && has_room(&tiles, from) {
                cost = cost + after - before;
            } else {
                (tiles[node], tiles[other]) = (from, tile);
                tiles[node] = from;
            }
        }
        if cost < best && graph.is_legal(&tiles) {
            best = cost;
        }
    }
    best
}

#[allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "`cargo xtask deep` asks for more; what is printed are figures"
)]
fn is_near(name: &str, found: &Placed) {
    assert_eq!(found.cost, found.graph.cost(&found.tiles), "{name}");
    assert!(found.graph.is_legal(&found.tiles), "{name}");
    assert!(found.graph.nodes.iter().all(|node| node.at.is_none()), "{name} has a place by a pin");
    let count = std::env::var("WSP_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(3_000);
    let best = drawn(&found.graph, count);
    println!(
        "{name}: cost {}, best of {count} drawn {best}, at most {:.1} % above the least",
        found.cost,
        100.0 * found.gap
    );
    assert!(best < u64::MAX, "{name}: none of {count} drawn is legal");
    assert!(found.cost as f64 <= 1.05 * best as f64, "{name}: {} beside {best}", found.cost);
}

#[test]
fn a_product_on_all_cores_is_placed_as_well_as_the_best_that_is_drawn() {
    let (a, b) = (array(&[128, 64], 1), array(&[64, 256], 2));
    let found = lowered(&example!("gemm", "xdna2"), args(&[("a", &a), ("b", &b)], &[]));
    assert!(found.placed.graph.nodes.len() > 32 + 8, "32 cores, and what feeds them");
    is_near("gemm", &found.placed);
    links_are_counted_once(&found);
}

/// What nets have of memory tiles is what the objects of links take there: two of each.
fn links_are_counted_once(found: &Lowered) {
    let graph = &found.placed.graph;
    let is_memory = |node: &&usize| graph.nodes[**node].kind == TileKind::Memory;
    let ends = |net: &Net| std::iter::once(&net.from).chain(&net.to).filter(is_memory).count() as u64;
    let counted: u64 = graph.nets.iter().map(|net| net.bytes * ends(net)).sum();
    let links =
        found.design.links.iter().map(|link| if link.join.is_empty() { &link.ins } else { &link.outs });
    let whole = |names: &Vec<String>| found.design.fifos.iter().find(|fifo| fifo.name == names[0]);
    let objects: u64 = links.filter_map(whole).map(|fifo| 2 * fifo.bytes()).sum();
    assert!(objects > 0 && counted == objects, "{counted} bytes, {objects} of objects");
}

/// The kernels of `decode.pto` with a core for each of several heads.
fn heads(kernels: &str) -> String {
    let mut text = kernels.to_owned();
    for (from, to) in [
        ("PTO_SHAPE(q, one, dim)", "PTO_SHAPE(q, heads, dim)"),
        ("PTO_SHAPE(keys, room, dim)", "PTO_SHAPE(keys, heads, room, dim)"),
        ("PTO_SHAPE(values, room, dim)", "PTO_SHAPE(values, heads, room, dim)"),
        ("PTO_SHAPE(o, one, dim)", "PTO_SHAPE(o, heads, dim)"),
        ("PTO_TENSOR(best, float, 1, 1)", "PTO_TENSOR(best, float, 8, 1)"),
        ("PTO_TENSOR(sum,  float, 1, 1)", "PTO_TENSOR(sum,  float, 8, 1)"),
        ("PTO_TENSOR(acc,  float, 1, dim)", "PTO_TENSOR(acc,  float, 8, dim)"),
        ("struct Begin { uint32_t none; }", "struct Begin { uint32_t head; }"),
        ("uint32_t first, count;", "uint32_t head, first, count;"),
        ("struct End   { uint32_t none; }", "struct End   { uint32_t head; }"),
        ("desc.none", "desc.head"),
        ("{desc.first, 0}", "{desc.head, desc.first, 0}"),
        (", {0, 0}", ", {desc.head, 0}"),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

#[test]
fn eight_heads_are_placed_as_well_as_the_best_that_is_drawn() {
    let workload = "use \"decode.pto\"; workload main {
        parallel for h in 0..8 {
            begin(head = h);
            parallel for t in 0..2 { attend(head = h, first = 32 * t, count = 32); }
            finish(head = h);
        }
    }";
    let kernels = heads(include_str!("../../../../../examples/aie/decode.pto"));
    let (q, k, v) = (array(&[8, 64], 1), array(&[8, 64, 64], 2), array(&[8, 64, 64], 3));
    let found =
        lowered(&plan(workload, &kernels, "xdna2"), args(&[("q", &q), ("keys", &k), ("values", &v)], &[]));
    is_near("decode of eight heads", &found.placed);
}

const STAGES: &str = "
PTO_SHAPE(x, rows, cols)
PTO_SHAPE(y, rows, cols)
PTO_TENSOR(between, float, rows, cols)
struct One { uint32_t tile; };
struct Two { uint32_t tile; };
PTO_KERNEL_IMPL(first) {
    auto desc = PTO_GET_DESCRIPTOR<One>();
    VecTile<float, 16, 16> t;
    TLOAD(t, x, {desc.tile * 16});
    TADDS(t, t, 1.0f);
    TSTORE(between, t, {desc.tile * 16});
}
PTO_KERNEL_IMPL(second) {
    auto desc = PTO_GET_DESCRIPTOR<Two>();
    VecTile<float, 16, 16> t;
    TLOAD(t, between, {desc.tile * 16});
    TADDS(t, t, 2.0f);
    TSTORE(y, t, {desc.tile * 16});
}
";

/// An odd number of tiles on two columns: each core makes boxes for the other before it takes any, so that both wait for room in fifos of two objects.
#[test]
fn fifos_between_cores_are_as_deep_as_a_design_needs() {
    let text = "use \"k.pto\"; param rows; schedule { spatial_map((2, 1)); } workload main {
        parallel for i in 0..rows / 16 { first(i); }
        parallel for i in 0..rows / 16 { second(i); }
    }";
    let plan = plan(text, STAGES, "xdna2");
    for tiles in [5, 7, 9, 15, 31] {
        let x = array(&[16 * tiles, 16], 3);
        let outcome = super::run(&plan, args(&[("x", &x)], &[])).unwrap_or_else(|fault| panic!("{fault}"));
        let wanted: Vec<f64> = super::numbers(&x).iter().map(|x| f64::from(*x as f32 + 1.0 + 2.0)).collect();
        assert_eq!(super::numbers(&outcome.outputs["y"]), wanted, "{tiles} tiles");
    }
}
