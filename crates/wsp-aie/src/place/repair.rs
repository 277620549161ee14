//! Exchanges that free tiles of what they have no room for, where descents end beside it: an array that is full has few placements that fit, and what is
//! between them costs more or fits less. The best exchange of a node around a tile with too much is made, whether or not it helps, and is not undone for a while
//! (tabu search: F. Glover, "Tabu Search, Part I", ORSA Journal on Computing 1(3), 1989); where it does not help, all that is too much counts more from then on
//! (P. Morris, "The breakout method for escaping from local minima", AAAI 1993).

use super::load::Load;
use super::search::{Score, Search};
use crate::device::Tile;
use crate::stop;

/// Rounds for which a node does not go back to a tile, at least, and how many more by chance.
const KEPT: (u64, u64) = (6, 20);
/// Rounds without less that is too much before one begins anew, anywhere.
const IN_VAIN: u64 = 4000;
/// One of so many exchanges that do not help makes what is too much count more: with each of them the way led around what fits.
const GROWS: u64 = 4;
/// What is too much after as many that no repair brings down, in pages of 4 KiB, channels and processes: two boxes of 16 KiB.
const HOPELESS: u64 = 8;
/// Times the steps of descents that a repair may take: that nothing fits is said of what was looked for at length.
const STEPS: u32 = 8;

/// Rounds until which nodes do not go back to tiles, by node and tile.
type Kept = Vec<Vec<u64>>;

impl Search<'_> {
    /// Makes exchanges until all fits, or the steps are over; the best placement that was seen stays.
    pub(super) fn repair(&mut self, tiles: &mut [Tile]) {
        let mut load = Load::of(self.graph, &super::all(tiles));
        let mut score = (load.over(), self.graph.cost(tiles));
        let (mut best, mut best_score) = (tiles.to_vec(), score);
        let device = self.graph.device;
        let mut kept: Kept = vec![vec![0; device.tiles().count()]; tiles.len()];
        let most = self.most.saturating_mul(STEPS);
        let (mut round, mut better) = (0, 0);
        while best_score.0 > 0 && self.steps < most && !stop::is_stopped() {
            round += 1;
            if round - better > IN_VAIN {
                if best_score.0 > HOPELESS {
                    break;
                }
                better = round;
                (0..4 * self.movable.len()).for_each(|_| self.kick(tiles));
                self.descend(tiles);
                load = Load::of(self.graph, &super::all(tiles));
                score = (load.over(), self.graph.cost(tiles));
            } else {
                let around = self.around_excess(tiles, &load);
                if around.is_empty() {
                    break;
                }
                let is_kept = |node: usize, tile: Tile| kept[node][device.index_of(tile)] > round;
                let next = self.next((tiles, &mut load), &around, score.1, is_kept);
                let Some((node, tile)) = next else { continue };
                let (from, other) = (tiles[node], self.on(tiles, node, tile));
                let before = score.0;
                score = self.exchange((tiles, &mut load), node, tile, score.1);
                if score.0 >= before && self.below(GROWS) == 0 {
                    load.weigh();
                    score.0 = load.over();
                }
                let until = round + KEPT.0 + self.below(KEPT.1);
                kept[node][device.index_of(from)] = until;
                if let Some(other) = other {
                    kept[other][device.index_of(tile)] = until;
                }
            }
            let found = (load.count(), score.1);
            if found < best_score {
                better = if found.0 < best_score.0 { round } else { better };
                best_score = found;
                best.copy_from_slice(tiles);
            }
        }
        tiles.copy_from_slice(&best);
    }

    /// The exchange of one of these nodes after which least is too much, by what it counts, then least is paid: of those that are kept, only one after which all fits.
    fn next(
        &mut self,
        (tiles, load): (&mut [Tile], &mut Load<'_>),
        around: &[usize],
        cost: u64,
        is_kept: impl Fn(usize, Tile) -> bool,
    ) -> Option<(usize, Tile)> {
        let mut next: Option<(Score, usize, Tile)> = None;
        for node in around.iter().copied() {
            for tile in self.of_kind(self.graph.nodes[node].kind).to_vec() {
                self.steps += 1;
                let from = tiles[node];
                if tile == from || !self.may_exchange(tiles, node, tile) {
                    continue;
                }
                let found = self.exchange((tiles, load), node, tile, cost);
                self.exchange((tiles, load), node, from, found.1);
                let is_out = found.0 > 0 && is_kept(node, tile);
                if !is_out && next.is_none_or(|(least, ..)| found < least) {
                    next = Some((found, node, tile));
                }
            }
        }
        next.map(|(_, node, tile)| (node, tile))
    }

    /// Nodes that may move on one of the tiles with too much, by chance, and at the other ends of its nets; none where there is no such node on any of them.
    fn around_excess(&mut self, tiles: &[Tile], load: &Load<'_>) -> Vec<usize> {
        let full: Vec<Tile> = self
            .graph
            .device
            .tiles()
            .filter(|tile| load.excess(*tile, |node| Some(tiles[node])).is_some())
            .collect();
        let first = self.below(full.len() as u64) as usize;
        let mut all = full[first..].iter().chain(&full[..first]).map(|tile| self.around_tile(tiles, *tile));
        all.find(|nodes| !nodes.is_empty()).unwrap_or_default()
    }

    fn around_tile(&self, tiles: &[Tile], tile: Tile) -> Vec<usize> {
        let is_there = |node: &usize| tiles[*node] == tile;
        let is_end = |node: &usize| {
            let mut nets = self.nets[*node].iter().map(|net| &self.graph.nets[*net]);
            is_there(node) || nets.any(|net| is_there(&net.from) || net.to.iter().any(is_there))
        };
        self.movable.iter().copied().filter(is_end).collect()
    }
}
