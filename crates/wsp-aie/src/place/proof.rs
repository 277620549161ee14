//! What shows that a placement costs least, and a check of it that has nothing of the search: costs, legality and bounds are computed
//! here anew, by their definitions.

use super::{Graph, Net, Placement};
use crate::device::{STACK, Tile, TileKind};
use std::fmt;

/// A tree over all placements: which node is placed next, and why no placement below a tile costs less.
#[derive(Clone, PartialEq, Debug)]
pub enum Proof {
    /// What stands where it does costs as much at least, wherever the others stand.
    Bound,
    /// A tile is asked for more than it has, wherever the others stand.
    Illegal,
    /// The node stands on one of these tiles. The first node of a graph without fixed nodes need not stand on both of two tiles that mirror
    /// each other in the middle of the array.
    Branch {
        /// The node.
        node: usize,
        /// Tiles, each with what holds of it.
        children: Vec<(Tile, Proof)>,
    },
}

/// Why a proof does not show what it is to show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unproven {
    /// The placement itself asks a tile for more than it has, or has nodes on tiles of other kinds.
    Placement,
    /// Its cost is another one.
    Cost,
    /// A node is placed twice, or none is that is fixed.
    Node(usize),
    /// A tile is left out for a node.
    Tile(usize, Tile),
    /// Placements with these nodes where they are may cost less.
    Bound(Vec<(usize, Tile)>),
    /// Nothing shows that these nodes cannot stand where they do.
    Legal(Vec<(usize, Tile)>),
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unproven::Placement => write!(f, "the placement asks a tile for more than it has"),
            Unproven::Cost => write!(f, "the placement has another cost"),
            Unproven::Node(node) => write!(f, "node {node} is placed twice, or is fixed"),
            Unproven::Tile(node, tile) => write!(f, "nothing is said of node {node} on tile {tile}"),
            Unproven::Bound(at) => {
                write!(f, "placements of {} nodes on these tiles may cost less: {at:?}", at.len())
            }
            Unproven::Legal(at) => write!(f, "{} nodes may stand on these tiles: {at:?}", at.len()),
        }
    }
}

impl Proof {
    /// Whether it shows that a placement of a graph costs least.
    ///
    /// # Errors
    /// The first thing that it does not show.
    pub fn check(&self, graph: &Graph, placement: &Placement) -> Result<(), Unproven> {
        let full: Vec<Option<Tile>> = placement.tiles.iter().copied().map(Some).collect();
        let kinds = placement.tiles.iter().zip(&graph.nodes);
        let on_their_kinds = kinds.clone().all(|(tile, node)| graph.device.kind(*tile) == Some(node.kind));
        let as_fixed = kinds.clone().all(|(tile, node)| node.at.is_none_or(|at| at == *tile));
        if placement.tiles.len() != graph.nodes.len() || !on_their_kinds || !as_fixed || is_over(graph, &full)
        {
            return Err(Unproven::Placement);
        }
        let between = between(graph);
        if least(graph, &between, &full) != placement.cost {
            return Err(Unproven::Cost);
        }
        let mut at: Vec<Option<Tile>> = graph.nodes.iter().map(|node| node.at).collect();
        self.holds((graph, &between), placement.cost, &mut at)
    }

    fn holds(&self, of: (&Graph, &[Vec<u64>]), cost: u64, at: &mut [Option<Tile>]) -> Result<(), Unproven> {
        let (graph, between) = of;
        let known = |at: &[Option<Tile>]| -> Vec<(usize, Tile)> {
            at.iter().enumerate().filter_map(|(node, tile)| Some((node, (*tile)?))).collect()
        };
        match self {
            Proof::Bound if least(graph, between, at) >= cost => Ok(()),
            Proof::Bound => Err(Unproven::Bound(known(at))),
            Proof::Illegal if is_over(graph, at) => Ok(()),
            Proof::Illegal => Err(Unproven::Legal(known(at))),
            Proof::Branch { node, children } => {
                let Some(None) = at.get(*node) else { return Err(Unproven::Node(*node)) };
                let is_first = at.iter().all(Option::is_none);
                for tile in graph.device.tiles() {
                    let mirrored = Tile::new(graph.device.cols - 1 - tile.col, tile.row);
                    let is_said = |tile: Tile| children.iter().any(|(child, _)| *child == tile);
                    let is_taken = graph.nodes[*node].kind == TileKind::Compute && at.contains(&Some(tile));
                    let is_of_kind = graph.device.kind(tile) == Some(graph.nodes[*node].kind);
                    let is_covered = is_taken || is_said(tile) || is_first && is_said(mirrored);
                    if is_of_kind && !is_covered {
                        return Err(Unproven::Tile(*node, tile));
                    }
                }
                for (tile, proof) in children {
                    at[*node] = Some(*tile);
                    let holds = proof.holds(of, cost, at);
                    at[*node] = None;
                    holds?;
                }
                Ok(())
            }
        }
    }
}

fn hops(a: Tile, b: Tile) -> u64 {
    u64::from(a.col.max(b.col) - a.col.min(b.col)) + u64::from(a.row.max(b.row) - a.row.min(b.row))
}

/// The traffic of each two nodes, in both directions.
fn between(graph: &Graph) -> Vec<Vec<u64>> {
    let of = |a: usize, b: usize| {
        let ends = |net: &Net| {
            net.to.iter().filter(|to| (net.from, **to) == (a, b) || (**to, net.from) == (a, b)).count()
        };
        graph.nets.iter().map(|net| net.traffic * ends(net) as u64).sum()
    };
    let nodes = 0..graph.nodes.len();
    nodes.clone().map(|a| nodes.clone().map(|b| of(a, b)).collect()).collect()
}

/// What placements with these nodes where they are cost at least; exact where all are placed.
fn least(graph: &Graph, between: &[Vec<u64>], at: &[Option<Tile>]) -> u64 {
    let fixed = |a: usize, b: usize| at[a].zip(at[b]).map_or(0, |(x, y)| between[a][b] * hops(x, y));
    let nodes = 0..at.len();
    let placed: u64 = nodes.clone().map(|a| (0..a).map(|b| fixed(a, b)).sum::<u64>()).sum();
    let mut halves = 0;
    for node in nodes.clone().filter(|node| at[*node].is_none()) {
        let free = |tile: &Tile| {
            graph.device.kind(*tile) == Some(graph.nodes[node].kind)
                && !(graph.nodes[node].kind == TileKind::Compute && at.contains(&Some(*tile)))
        };
        let at_tile = |tile: Tile| {
            let to_placed = |other: usize| at[other].map_or(0, |of| between[node][other] * hops(tile, of));
            let sum: u64 = nodes.clone().map(to_placed).sum();
            let mut open: Vec<(TileKind, u64)> = nodes
                .clone()
                .filter(|other| *other != node && at[*other].is_none())
                .map(|other| (graph.nodes[other].kind, between[node][other]))
                .filter(|(_, traffic)| *traffic > 0)
                .collect();
            open.sort_by(|a, b| b.cmp(a));
            let mut taken = vec![tile];
            let mut half = 0;
            for (kind, traffic) in open {
                let is_core = kind == TileKind::Compute;
                let is_open = |to: &Tile| {
                    graph.device.kind(*to) == Some(kind)
                        && !(is_core && (taken.contains(to) || at.contains(&Some(*to))))
                };
                let nearest = graph.device.tiles().filter(is_open).min_by_key(|to| hops(tile, *to));
                let Some(nearest) = nearest else { continue };
                half += traffic * hops(tile, nearest);
                if is_core {
                    taken.push(nearest);
                }
            }
            2 * sum + half
        };
        halves += graph.device.tiles().filter(free).map(at_tile).min().unwrap_or(0);
    }
    placed + halves.div_ceil(2)
}

/// Whether a tile is asked for more than it has, whatever is not placed yet.
fn is_over(graph: &Graph, at: &[Option<Tile>]) -> bool {
    graph.device.tiles().any(|tile| {
        let here = |node: usize| at[node] == Some(tile);
        let Some(kind) = graph.device.kind(tile) else { return false };
        let (mut into, mut out) = (0u32, 0u32);
        let own = |node: usize| graph.nodes[node].bytes + if kind == TileKind::Compute { STACK } else { 0 };
        let nodes: Vec<usize> = (0..at.len()).filter(|node| here(*node)).collect();
        let mut bytes: u64 = nodes.iter().map(|node| own(*node)).sum();
        for net in &graph.nets {
            let is_core = |node: usize| graph.nodes[node].kind == TileKind::Compute;
            let one = if let [to] = net.to[..] { Some(to) } else { None };
            let pair = one.filter(|to| !net.via_dma && is_core(net.from) && is_core(*to));
            // By channels, or in the memory of one of two cores; undecided where one of them is not placed.
            let both = pair.and_then(|to| at[net.from].zip(at[to]));
            let apart = pair.is_none() || both.is_some_and(|(x, y)| !(x.reaches(y) || y.reaches(x)));
            let home = both.filter(|_| !apart).map(|(x, y)| if y.reaches(x) { x } else { y });
            out += u32::from(apart && here(net.from));
            if apart && here(net.from) || home == Some(tile) {
                bytes += net.bytes;
            }
            for _ in net.to.iter().filter(|to| apart && here(**to)) {
                into += 1;
                bytes += net.bytes;
            }
        }
        let model = kind.model();
        let crowded = kind == TileKind::Compute && nodes.len() > 1;
        crowded
            || into > model.channels
            || out > model.channels
            || (kind != TileKind::Shim && bytes > model.memory)
    })
}
