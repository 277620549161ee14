//! The placement that costs least: nodes are placed one after the other, on every tile that may still lead to less than the best known.

use super::bound::Pairs;
use super::{Graph, Placement, Proof, refused};
use crate::device::{Tile, TileKind};
use crate::stop;
use wsp_diag::Diagnostic;
use wsp_ordered::Arrange;

struct Search<'g> {
    graph: &'g Graph,
    pairs: Pairs,
    /// Nodes that may move, those with most traffic to earlier ones first.
    order: Vec<usize>,
    placed: Vec<Option<usize>>,
    /// The least cost so far, with the tiles of all nodes.
    best: Option<(u64, Vec<Tile>)>,
}

/// The least placement of a graph, from one to begin with, which need not be legal.
pub(super) fn least(graph: &Graph, start: Vec<Tile>) -> Result<Placement, Diagnostic> {
    let pairs = Pairs::of(graph);
    let placed = pairs.pinned(graph);
    let best = graph.is_legal(&start).then(|| (graph.cost(&start), start.clone()));
    let mut search = Search { graph, order: order(graph, &pairs), pairs, placed, best };
    let proof = search.descend(0);
    stop::look()?;
    let Some((cost, tiles)) = search.best else {
        let found = "no placement fits";
        return Err(match graph.excess(&super::all(&start)) {
            Some(excess) => excess(found),
            None => refused(found.to_owned()),
        });
    };
    Ok(Placement { tiles, cost, bound: cost, proof: Some(proof) })
}

/// Nodes that may move: after each the one with most traffic to those before it.
fn order(graph: &Graph, pairs: &Pairs) -> Vec<usize> {
    let mut known: Vec<bool> = graph.nodes.iter().map(|node| node.at.is_some()).collect();
    let mut order = Vec::new();
    let next = |known: &[bool]| {
        (0..known.len()).filter(|node| !known[*node]).max_by_key(|node| {
            let to = |all: bool| {
                let others = (0..known.len()).filter(|other| all || known[*other]);
                others.map(|other| pairs.traffic[*node][other]).sum::<u64>()
            };
            (to(false), to(true), usize::MAX - node)
        })
    };
    while let Some(node) = next(&known) {
        known[node] = true;
        order.push(node);
    }
    order
}

impl Search<'_> {
    /// Everything below the nodes that are placed; what shows that the best is not above any of it.
    fn descend(&mut self, depth: usize) -> Proof {
        let Some(node) = self.order.get(depth).copied() else { return self.all_placed() };
        let kind = self.graph.nodes[node].kind;
        let mut children = Vec::new();
        let mut open: Vec<(u64, usize)> = Vec::new();
        let tiles: Vec<usize> = self.pairs.of_kind(kind).collect();
        for tile in tiles {
            if kind == TileKind::Compute && self.placed.contains(&Some(tile)) {
                continue;
            }
            if depth == 0
                && mirror(self.graph, self.pairs.tiles[tile])
                    .is_some_and(|other| other < self.pairs.tiles[tile])
            {
                continue;
            }
            self.placed[node] = Some(tile);
            if self.graph.overload(&self.known()) > 0 {
                children.push((self.pairs.tiles[tile], Proof::Illegal));
            } else {
                open.push((self.pairs.bound(self.graph, &self.placed), tile));
            }
        }
        open.arrange();
        for (bound, tile) in open {
            self.placed[node] = Some(tile);
            let proof = match &self.best {
                Some((best, _)) if bound >= *best => Proof::Bound,
                // The search was stopped: its bound is no proof, and the error of the stop takes its place.
                _ if stop::is_stopped() => Proof::Bound,
                _ => self.descend(depth + 1),
            };
            children.push((self.pairs.tiles[tile], proof));
        }
        self.placed[node] = None;
        Proof::Branch { node, children }
    }

    fn known(&self) -> Vec<Option<Tile>> {
        self.placed.iter().map(|at| at.map(|at| self.pairs.tiles[at])).collect()
    }

    fn all_placed(&mut self) -> Proof {
        let tiles: Vec<Tile> = self.known().into_iter().flatten().collect();
        if !self.graph.is_legal(&tiles) {
            return Proof::Illegal;
        }
        let cost = self.graph.cost(&tiles);
        if self.best.as_ref().is_none_or(|(best, _)| cost < *best) {
            self.best = Some((cost, tiles));
        }
        Proof::Bound
    }
}

/// The tile on the other side of the array, where no node has a tile that it has to stand on: all that holds of one holds of the other.
fn mirror(graph: &Graph, tile: Tile) -> Option<Tile> {
    let is_free = graph.nodes.iter().all(|node| node.at.is_none());
    is_free.then(|| Tile::new(graph.device.cols - 1 - tile.col, tile.row))
}
