//! Placements against all that there are, and proofs against changed ones.

use crate::randomised::{Numbers, cases};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_aie::device::{DEVICES, Device, Tile, TileKind, XDNA1, XDNA2};
use wsp_aie::place::{EXACT, place, place_again, place_within};
use wsp_aie::place::{Graph, Net, Node, Placement, Proof, Unproven};

fn node(name: &str, kind: TileKind) -> Node {
    Node { name: name.to_owned(), kind, bytes: 0, at: None }
}

fn net(from: usize, to: &[usize], traffic: u64) -> Net {
    Net { name: format!("n{from}"), from, to: to.to_vec(), traffic, bytes: 1024, via_dma: false }
}

fn hops(a: Tile, b: Tile) -> u64 {
    u64::from(a.col.abs_diff(b.col) + a.row.abs_diff(b.row))
}

/// A graph of so many nodes, with kinds, bytes and nets at random.
fn random(numbers: &mut Numbers, device: Device, count: usize, cores_only: bool) -> Graph {
    let kinds = [TileKind::Compute, TileKind::Compute, TileKind::Compute, TileKind::Memory, TileKind::Shim];
    let nodes = (0..count).map(|at| {
        let kind = if cores_only { TileKind::Compute } else { kinds[numbers.below(5) as usize] };
        let bytes = [0, 0, 20_000, 30_000][numbers.below(4) as usize];
        Node { bytes, ..node(&format!("p{at}"), kind) }
    });
    let nodes: Vec<Node> = nodes.collect();
    let nets = (0..count / 2 + numbers.below(count as u64) as usize).map(|_| {
        let from = numbers.below(count as u64) as usize;
        let others: Vec<usize> = (0..count).filter(|to| *to != from).collect();
        let mut to: Vec<usize> = (0..1 + numbers.below(4) / 3)
            .map(|_| others[numbers.below(others.len() as u64) as usize])
            .collect();
        to.dedup();
        let bytes = [512, 4096, 16384][numbers.below(3) as usize];
        Net { bytes, via_dma: numbers.below(8) == 0, ..net(from, &to, 1 + numbers.below(20)) }
    });
    Graph { device, nodes, nets: nets.collect() }
}

/// The least cost of all placements, by trying each; none where no placement is legal.
fn brute(graph: &Graph, at: &mut Vec<Tile>, known: u64, best: &mut Option<u64>) {
    if best.is_some_and(|best| known >= best) {
        return;
    }
    let node = at.len();
    if node == graph.nodes.len() {
        if graph.is_legal(at) {
            *best = Some(known);
        }
        return;
    }
    for tile in graph.device.tiles().filter(|tile| graph.device.kind(*tile) == Some(graph.nodes[node].kind)) {
        if graph.nodes[node].kind == TileKind::Compute && at.contains(&tile) {
            continue;
        }
        at.push(tile);
        let ends = |net: &Net| -> u64 {
            let far = |to: &usize| {
                let is_new = net.from.max(*to) == node;
                if is_new { hops(at[net.from], at[*to]) } else { 0 }
            };
            net.to.iter().map(far).sum::<u64>() * net.traffic
        };
        let more: u64 = graph.nets.iter().map(ends).sum();
        brute(graph, at, known + more, best);
        at.pop();
    }
}

#[test]
fn the_least_placement_is_the_least_of_all_and_is_proven() {
    let mut dice = Numbers::of_seed(7);
    let (mut placed, mut refused) = (0, 0);
    for case in 0..cases(24) {
        let (device, most) = if case % 2 == 0 { (XDNA1, 5 + u64::from(case >= 24)) } else { (DEVICES[5], 8) };
        let count = 2 + dice.below(most - 1) as usize;
        let graph = random(&mut dice, device, count, case % 3 == 0);
        let mut want = None;
        brute(&graph, &mut Vec::new(), 0, &mut want);
        match place(&graph) {
            Ok(found) => {
                assert_eq!(Some(found.cost), want, "{graph:?}");
                assert_eq!((graph.cost(&found.tiles), found.bound), (found.cost, found.cost));
                found.proof.as_ref().unwrap().check(&graph, &found).unwrap();
                placed += 1;
            }
            Err(diagnostic) => {
                assert_eq!(want, None, "{diagnostic:?} {graph:?}");
                refused += 1;
            }
        }
    }
    assert!(placed > refused, "{placed} placed, {refused} refused");
    println!("{placed} placed, {refused} refused");
}

#[test]
fn a_proof_with_anything_less_shows_nothing() {
    let mut graph = random(&mut Numbers::of_seed(3), XDNA1, 5, true);
    graph.nodes.iter_mut().for_each(|node| node.bytes = 0);
    let found = place(&graph).unwrap();
    let proof = found.proof.clone().unwrap();
    let Proof::Branch { node, children } = proof.clone() else { panic!("{proof:?}") };
    for at in 0..children.len() {
        let mut fewer = children.clone();
        let (tile, _) = fewer.remove(at);
        let mirrored = Tile::new(3 - tile.col, tile.row);
        assert!(!children.iter().any(|(other, _)| *other == mirrored));
        assert_eq!(
            Proof::Branch { node, children: fewer }.check(&graph, &found),
            Err(Unproven::Tile(node, tile.min(mirrored)))
        );
        let mut bound = children.clone();
        if let Proof::Branch { .. } = bound[at].1 {
            bound[at].1 = Proof::Bound;
            let proof = Proof::Branch { node, children: bound };
            assert!(matches!(proof.check(&graph, &found), Err(Unproven::Bound(_))));
        }
        let mut illegal = children.clone();
        illegal[at].1 = Proof::Illegal;
        let proof = Proof::Branch { node, children: illegal };
        assert!(matches!(proof.check(&graph, &found), Err(Unproven::Legal(_))));
    }
    assert_eq!(
        proof.check(&graph, &Placement { cost: found.cost - 1, ..found.clone() }),
        Err(Unproven::Cost)
    );
    let mut crowded = found.clone();
    crowded.tiles[0] = crowded.tiles[1];
    assert_eq!(proof.check(&graph, &crowded), Err(Unproven::Placement));
}

/// Cores in a legal arrangement of so many nodes on the array, with nets that it has channels for.
fn planted(dice: &mut Numbers, device: Device, count: usize) -> Graph {
    let mut tiles: Vec<Tile> = device.tiles().filter(|tile| tile.row > 1).collect();
    for at in (1..tiles.len()).rev() {
        tiles.swap(at, dice.below(at as u64 + 1) as usize);
    }
    tiles.truncate(count);
    let nodes = (0..count).map(|at| node(&format!("p{at}"), TileKind::Compute)).collect();
    let mut graph = Graph { device, nodes, nets: Vec::new() };
    for _ in 0..4 * count {
        let from = dice.below(count as u64) as usize;
        let near: Vec<usize> =
            (0..count).filter(|to| *to != from && hops(tiles[from], tiles[*to]) < 3).collect();
        let Some(to) = near.get(dice.below(near.len().max(1) as u64) as usize) else { continue };
        graph.nets.push(net(from, &[*to], 1 + dice.below(9)));
        if !graph.is_legal(&tiles) {
            graph.nets.pop();
        }
    }
    graph
}

#[test]
fn graphs_that_an_arrangement_is_known_for_are_placed() {
    let mut dice = Numbers::of_seed(11);
    let all = cases(5);
    // Of the array that is full, descents alone find no placement.
    let full = 49;
    for case in 0..all.max(full + 1) {
        let device = if case % 2 == 0 { XDNA1 } else { XDNA2 };
        let count = [4, 12, 16, 24, 32][dice.below(5) as usize].min(4 * device.cols as usize);
        let graph = planted(&mut dice, device, count);
        if case >= all && case != full {
            continue;
        }
        // All steps begin as a part of them does, and keep what fits.
        let few = [1000, 5000].iter().find_map(|steps| place_within(&graph, *steps).ok());
        let found = few.map_or_else(|| place(&graph), Ok);
        let found = found.unwrap_or_else(|d| panic!("case {case} of {all}: {} {graph:?}", d.message));
        assert!(graph.is_legal(&found.tiles) && found.bound <= found.cost, "case {case}");
    }
    println!("{all} graphs that fit");
}

/// Between placements of a full array that fit there are none that do: what is too much counts more where exchanges do not help.
#[test]
fn a_full_array_that_few_arrangements_fit_is_placed() {
    for seed in [66, 198] {
        let graph = planted(&mut Numbers::of_seed(seed), XDNA2, 32);
        let found = place_within(&graph, 6000).expect("an arrangement is known");
        assert!(graph.is_legal(&found.tiles));
    }
}

#[test]
fn a_chain_stands_on_neighbours_and_fixed_nodes_where_they_are_to() {
    let mut graph = Graph {
        device: XDNA2,
        nodes: (0..4).map(|at| node(&format!("p{at}"), TileKind::Compute)).collect(),
        nets: (0..3).map(|at| net(at, &[at + 1], 5)).collect(),
    };
    assert_eq!(place(&graph).unwrap().cost, 15);
    graph.nodes[0].at = Some(Tile::new(7, 5));
    graph.nodes[3].at = Some(Tile::new(2, 2));
    let found = place(&graph).unwrap();
    assert_eq!((found.tiles[0], found.tiles[3], found.cost), (Tile::new(7, 5), Tile::new(2, 2), 40));
    assert_eq!(found.gap(), 0.0);
}

#[test]
fn what_does_not_fit_is_refused_with_numbers() {
    let chain = |count: usize| Graph {
        device: XDNA1,
        nodes: (0..count).map(|at| node(&format!("p{at}"), TileKind::Compute)).collect(),
        nets: Vec::new(),
    };
    let refused = |graph: &Graph| place(graph).unwrap_err().message;
    assert_eq!(refused(&chain(17)), "17 processes need a core each, 1 more than the 16 of npu1");
    let mut large = chain(2);
    large.nodes[1].bytes = 65_000;
    assert_eq!(refused(&large), "`p1` needs 66024 bytes, 488 more than the 65536 of a compute tile");
    let mut elsewhere = chain(1);
    elsewhere.nodes[0].at = Some(Tile::new(1, 1));
    assert_eq!(
        refused(&elsewhere),
        "`p0` is to stand on a compute tile at (1, 1), where npu1 has a memory tile"
    );
    elsewhere.nodes[0].at = Some(Tile::new(4, 2));
    assert_eq!(refused(&elsewhere), "`p0` is to stand on a compute tile at (4, 2), where npu1 has no tile");
    let mut twice = chain(2);
    twice.nodes.iter_mut().for_each(|node| node.at = Some(Tile::new(1, 2)));
    assert_eq!(refused(&twice), "`p0` and `p1` are to stand on one tile, (1, 2)");
    let mut wide = chain(9);
    wide.nets = (1..9).map(|from| Net { via_dma: true, ..net(from, &[0], 1) }).collect();
    assert_eq!(place(&wide).unwrap_err().figures, [("missing_channels", 6)]);
    let text = refused(&wide);
    assert!(text.contains("is asked for 8 channels into its memory and has 2"), "{text}");
    let mut none = chain(1);
    none.nets = vec![net(0, &[], 1)];
    assert_eq!(refused(&none), "net `n0` has an end that is no node");
    let mut vast = chain(2);
    vast.nets = vec![Net { bytes: u64::MAX, ..net(0, &[1], 1) }];
    let bytes = "net `n0` has objects of 18446744073709551615 bytes, more than any tile has";
    assert_eq!(refused(&vast), bytes);
    vast.nets = vec![net(0, &[1], u64::MAX)];
    let traffic = "net `n0` has a traffic of 18446744073709551615, and 1099511627776 is the most";
    assert_eq!(refused(&vast), traffic);
}

/// Objects of two neighbours are in the memory that both reach: that of the western one, whichever makes them.
#[test]
fn what_neighbours_pass_is_counted_where_both_reach_it() {
    for (from, to) in [(0, 1), (1, 0)] {
        let tiles = [Tile::new(1, 2), Tile::new(2, 2)];
        let mut graph = Graph {
            device: XDNA1,
            nodes: (0..2)
                .map(|at| Node { at: Some(tiles[at]), ..node(&format!("p{at}"), TileKind::Compute) })
                .collect(),
            nets: vec![Net { bytes: 8_000, ..net(from, &[to], 1) }],
        };
        let home = if tiles[1].reaches(tiles[0]) { 0 } else { 1 };
        graph.nodes[1 - home].bytes = 60_000;
        let found = place(&graph).expect("there is room at the other");
        found.proof.as_ref().expect("it is proven").check(&graph, &found).expect("the proof holds");
        (graph.nodes[0].bytes, graph.nodes[1].bytes) = (0, 0);
        graph.nodes[home].bytes = 60_000;
        assert!(place(&graph).is_err(), "{from} to {to}");
    }
}

/// Bytes of nets decide where nodes fit, and not what a placement costs.
#[test]
fn a_placement_is_kept_where_nets_have_more_bytes_and_there_is_room() {
    let mut graph = Graph {
        device: XDNA1,
        nodes: (0..10).map(|at| node(&format!("p{at}"), TileKind::Compute)).collect(),
        nets: (1..10).map(|to| net(to - 1, &[to], 1)).collect(),
    };
    let found = place(&graph).unwrap();
    graph.nets.iter_mut().for_each(|net| net.bytes = 1024);
    let again = place_again(&graph, &found.tiles, None).expect("there is room");
    assert_eq!((&again.tiles, again.cost, again.bound), (&found.tiles, found.cost, found.bound));
    graph.nets[3].bytes = 70_000;
    assert!(place_again(&graph, &found.tiles, None).is_none());
    assert!(place_again(&graph, &found.tiles[1..], None).is_none());
}

/// What is kept while nodes move is what is counted anew at the end of each descent, which debug assertions compare, also where more is asked for than there is.
#[test]
fn what_tiles_are_asked_for_follows_moves() {
    let count = EXACT + 4;
    for bytes in [30_000, 40_000] {
        let nodes = (0..count).map(|at| node(&format!("p{at}"), TileKind::Compute)).collect();
        let nets = (1..count).map(|to| Net { bytes, ..net(to - 1, &[to, (to + 5) % count], 1) });
        let graph = Graph { device: XDNA2, nodes, nets: nets.collect() };
        let refused = place_within(&graph, 50).expect_err("nodes have two inputs, and some an output");
        assert!(refused.figures.iter().all(|(_, missing)| *missing > 0) && !refused.figures.is_empty());
    }
}

/// A search that is stopped has no proof and no placement, of few nodes as of many.
#[test]
fn a_placement_is_stopped() {
    let flag = Arc::new(AtomicBool::new(true));
    for count in [4, EXACT + 4] {
        let nodes = (0..count).map(|at| node(&format!("p{at}"), TileKind::Compute)).collect();
        let nets = (1..count).map(|to| net(0, &[to], 1)).take(2).collect();
        let graph = Graph { device: XDNA2, nodes, nets };
        let placed = || place_within(&graph, 1).map_err(|fault| fault.code.0);
        assert!(placed().is_ok());
        wsp_aie::stoppable(Some(&flag), || assert_eq!(placed(), Err(574)));
    }
}

#[test]
fn what_was_seen_to_be_stopped_stays_so_until_its_end() {
    let nodes = vec![node("p", TileKind::Compute)];
    let graph = Graph { device: XDNA2, nodes, nets: Vec::new() };
    let placed = || place(&graph).is_ok();
    let flag = Arc::new(AtomicBool::new(true));
    wsp_aie::stoppable(Some(&flag), || {
        assert!(!placed());
        flag.store(false, Ordering::Relaxed);
        assert!(!placed());
        wsp_aie::stoppable(None, || assert!(placed()));
        assert!(!placed());
    });
    assert!(placed());
}
