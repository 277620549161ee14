//! What no placement is below.
//!
//! Of a node that is not placed, at a tile: what its nets to placed nodes cost there, and half of what those to others do at least, when
//! the heaviest goes to the nearest tile that is free, the next one to the next (the bound of Gilmore and Lawler, with the tile of each
//! node chosen for itself, which can only be less).

use super::{Graph, distance};
use crate::device::{Tile, TileKind};
use wsp_ordered::Arrange;

/// Traffic between pairs of nodes, in both directions, and tiles of the array.
pub(super) struct Pairs {
    /// By node and node.
    pub(super) traffic: Vec<Vec<u64>>,
    pub(super) tiles: Vec<Tile>,
    kinds: Vec<TileKind>,
    /// By tile, all tiles, nearest first.
    near: Vec<Vec<usize>>,
}

impl Pairs {
    pub(super) fn of(graph: &Graph) -> Pairs {
        let traffic = traffic(graph);
        let tiles: Vec<Tile> = graph.device.tiles().collect();
        let kinds = tiles.iter().filter_map(|tile| graph.device.kind(*tile)).collect();
        let near = |from: &Tile| {
            let mut all: Vec<usize> = (0..tiles.len()).collect();
            all.arrange_by_key(|to| (distance(*from, tiles[*to]), *to));
            all
        };
        Pairs { traffic, near: tiles.iter().map(near).collect(), tiles, kinds }
    }

    /// The numbers of the tiles that nodes have to stand on.
    pub(super) fn pinned(&self, graph: &Graph) -> Vec<Option<usize>> {
        let number = |tile: Tile| self.tiles.iter().position(|other| *other == tile);
        graph.nodes.iter().map(|node| node.at.and_then(number)).collect()
    }

    /// The numbers of the tiles of a kind.
    pub(super) fn of_kind(&self, kind: TileKind) -> impl Iterator<Item = usize> {
        self.kinds.iter().enumerate().filter(move |(_, other)| **other == kind).map(|(at, _)| at)
    }

    /// A bound of every placement that has these nodes where they are.
    pub(super) fn bound(&self, graph: &Graph, placed: &[Option<usize>]) -> u64 {
        let mut twice = 0;
        for (a, at) in placed.iter().enumerate() {
            for (b, of) in placed.iter().enumerate() {
                if let (Some(at), Some(of)) = (at, of) {
                    twice += self.traffic[a][b] * distance(self.tiles[*at], self.tiles[*of]);
                }
            }
        }
        let used = |tile: usize| self.kinds[tile] == TileKind::Compute && placed.contains(&Some(tile));
        let free: Vec<bool> = (0..self.tiles.len()).map(|tile| !used(tile)).collect();
        for (node, _) in placed.iter().enumerate().filter(|(_, at)| at.is_none()) {
            let others = self.open_by_kind(graph, placed, node);
            let tiles = self.of_kind(graph.nodes[node].kind).filter(|tile| free[*tile]);
            let least = tiles.map(|tile| self.at(node, tile, placed, &free, &others)).min();
            twice += least.unwrap_or(0);
        }
        twice.div_ceil(2)
    }

    /// By kind of tile, the traffic of a node to others that are not placed, heaviest first.
    fn open_by_kind(
        &self,
        graph: &Graph,
        placed: &[Option<usize>],
        node: usize,
    ) -> [(TileKind, Vec<u64>); 3] {
        [TileKind::Shim, TileKind::Memory, TileKind::Compute].map(|kind| {
            let open = |other: &usize| {
                let is_other = *other != node && placed[*other].is_none();
                is_other && graph.nodes[*other].kind == kind && self.traffic[node][*other] > 0
            };
            let mut traffic: Vec<u64> =
                (0..placed.len()).filter(open).map(|other| self.traffic[node][other]).collect();
            traffic.arrange_by(|a, b| b.cmp(a));
            (kind, traffic)
        })
    }

    /// Twice what the nets to placed nodes cost at a tile, and what those to others do at least.
    fn at(
        &self,
        node: usize,
        tile: usize,
        placed: &[Option<usize>],
        free: &[bool],
        others: &[(TileKind, Vec<u64>)],
    ) -> u64 {
        let to = |other: usize| distance(self.tiles[tile], self.tiles[other]);
        let known =
            placed.iter().zip(&self.traffic[node]).filter_map(|(at, traffic)| Some(traffic * to((*at)?)));
        let mut cost = 2 * known.sum::<u64>();
        for (kind, traffic) in others {
            if traffic.is_empty() {
                continue;
            }
            // Compute tiles hold one node each; of the others one may take all.
            let mut nearest = self.near[tile].iter().filter(|other| self.kinds[**other] == *kind);
            if *kind == TileKind::Compute {
                let open = nearest.filter(|other| free[**other] && **other != tile);
                cost += traffic.iter().zip(open).map(|(traffic, other)| traffic * to(*other)).sum::<u64>();
            } else if let Some(other) = nearest.next() {
                cost += traffic.iter().sum::<u64>() * to(*other);
            }
        }
        cost
    }
}

/// By node and node, the traffic between them, in both directions.
pub(super) fn traffic(graph: &Graph) -> Vec<Vec<u64>> {
    let count = graph.nodes.len();
    let mut traffic = vec![vec![0; count]; count];
    for net in &graph.nets {
        for to in &net.to {
            traffic[net.from][*to] += net.traffic;
            traffic[*to][net.from] += net.traffic;
        }
    }
    traffic
}

/// A bound of all placements of a graph.
pub(super) fn root(graph: &Graph) -> u64 {
    let pairs = Pairs::of(graph);
    pairs.bound(graph, &pairs.pinned(graph))
}
