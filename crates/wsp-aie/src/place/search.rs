//! A placement that costs little: nodes next to those that they have traffic with, then moves and exchanges while they help, from many
//! starts. The same graph gives the same placement.

use super::load::{Change, Load, Meet};
use super::{Graph, distance};
use crate::device::{Tile, TileKind};
use crate::stop;

/// Moves and exchanges that are looked at, of a graph whose least placement is found after them.
const STEPS_TO_BEGIN: u32 = 20_000;
/// Exchanges at random before the next descent.
const KICKS: u64 = 4;

/// Moves and exchanges of descents, for each node, after which what does not fit is repaired: however many there may be, so that more of them lead on from where
/// fewer end.
const TO_REPAIR: u32 = 128;

/// Fewest excesses, then least cost.
pub(super) type Score = (u64, u64);

pub(super) struct Search<'g> {
    pub(super) graph: &'g Graph,
    /// By node, the nets that it is an end of.
    pub(super) nets: Vec<Vec<usize>>,
    /// By node, those of them that neighbours need no channel for.
    sharing: Vec<Vec<usize>>,
    /// By node, the nodes that it has traffic with.
    links: Vec<Vec<(usize, u64)>>,
    /// By tiles of the two ends of such a net, what it asks for.
    meets: Vec<Meet>,
    pub(super) movable: Vec<usize>,
    /// By kind of tile.
    tiles: [(TileKind, Vec<Tile>); 3],
    pub(super) steps: u32,
    pub(super) most: u32,
    random: u64,
}

/// By node, the nodes that it has traffic with, and how much.
fn links(graph: &Graph) -> Vec<Vec<(usize, u64)>> {
    let traffic = super::bound::traffic(graph);
    let of = |of: &Vec<u64>| of.iter().copied().enumerate().filter(|(_, traffic)| *traffic > 0).collect();
    traffic.iter().map(of).collect()
}

/// A placement with few excesses and little cost.
pub(super) fn best(graph: &Graph, steps: u32) -> Vec<Tile> {
    let ends = |node: usize| {
        let is_end = |(_, net): &(usize, &super::Net)| net.from == node || net.to.contains(&node);
        graph.nets.iter().enumerate().filter(is_end).map(|(at, _)| at).collect()
    };
    let nets: Vec<Vec<usize>> = (0..graph.nodes.len()).map(ends).collect();
    let movable = (0..graph.nodes.len()).filter(|node| graph.nodes[*node].at.is_none());
    let tiles = [TileKind::Shim, TileKind::Memory, TileKind::Compute]
        .map(|kind| (kind, graph.candidates(kind).collect()));
    let movable: Vec<usize> = movable.collect();
    let most = if movable.len() <= super::EXACT {
        STEPS_TO_BEGIN
    } else {
        steps.saturating_mul(movable.len() as u32)
    };
    let may_share =
        |nets: &Vec<usize>| nets.iter().copied().filter(|net| graph.may_share(&graph.nets[*net])).collect();
    let sharing = nets.iter().map(may_share).collect();
    let all: Vec<Tile> = graph.device.tiles().collect();
    let meets = all.iter().flat_map(|from| all.iter().map(|to| Meet::of(*from, *to))).collect();
    let links = links(graph);
    let mut search = Search {
        graph,
        nets,
        sharing,
        links,
        meets,
        movable,
        tiles,
        steps: 0,
        most,
        random: 0x9E37_79B9_7F4A_7C15,
    };
    let mut tiles = search.begin();
    let mut score = search.descend(&mut tiles);
    let bound = super::bound::root(graph);
    while search.steps < search.most && search.movable.len() > 1 && score != (0, bound) && !stop::is_stopped()
    {
        if score.0 > 0 && search.steps > TO_REPAIR * search.movable.len() as u32 {
            search.repair(&mut tiles);
            score = search.descend(&mut tiles);
            continue;
        }
        let mut other = tiles.clone();
        for _ in 0..1 + search.below(KICKS) {
            search.kick(&mut other);
        }
        let found = search.descend(&mut other);
        if found <= score {
            (tiles, score) = (other, found);
        }
    }
    tiles
}

impl Search<'_> {
    pub(super) fn of_kind(&self, kind: TileKind) -> &[Tile] {
        let found = self.tiles.iter().find(|(of, _)| *of == kind);
        found.map_or(&[][..], |(_, tiles)| tiles.as_slice())
    }

    /// A number below a limit: xorshift64*.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit.max(1)
    }

    /// Each node, those with most nets first, where it costs least beside those before it.
    fn begin(&self) -> Vec<Tile> {
        let mut at: Vec<Option<Tile>> = self.graph.nodes.iter().map(|node| node.at).collect();
        let mut left = self.movable.clone();
        let known = |node: usize, at: &[Option<Tile>]| {
            let ends = self.nets[node].iter().map(|net| &self.graph.nets[*net]);
            ends.filter(|net| net.to.iter().chain([&net.from]).any(|end| at[*end].is_some())).count()
        };
        while let Some(next) = (0..left.len())
            .max_by_key(|place| (known(left[*place], &at), self.nets[left[*place]].len(), usize::MAX - place))
        {
            let node = left.remove(next);
            let kind = self.graph.nodes[node].kind;
            let free = |tile: &&Tile| kind != TileKind::Compute || !at.contains(&Some(**tile));
            let cost = |tile: Tile, at: &[Option<Tile>]| -> u64 {
                let of = |net: &super::Net| {
                    let place = |end: usize| if end == node { Some(tile) } else { at[end] };
                    let hops = |to: &usize| Some(distance(place(net.from)?, place(*to)?));
                    net.traffic * net.to.iter().filter_map(hops).sum::<u64>()
                };
                self.nets[node].iter().map(|net| of(&self.graph.nets[*net])).sum()
            };
            let score = |tile: &&Tile| {
                let mut with = at.clone();
                with[node] = Some(**tile);
                // In the middle there is room around it.
                let middle = (tile.col * 2).abs_diff(self.graph.device.cols - 1) + (tile.row * 2).abs_diff(7);
                (self.graph.overload(&with), cost(**tile, &at), middle)
            };
            at[node] = self.of_kind(kind).iter().filter(free).min_by_key(score).copied();
        }
        at.into_iter().flatten().collect()
    }

    /// What a placement costs with a node on a tile and another one where it was.
    fn cost_after(
        &self,
        tiles: &[Tile],
        (node, other): (usize, Option<usize>),
        tile: Tile,
        cost: u64,
    ) -> u64 {
        let from = tiles[node];
        let (mut less, mut more) = (0, 0);
        let mut go = |node: usize, not: Option<usize>, from: Tile, to: Tile| {
            for (end, traffic) in self.links[node].iter().filter(|(end, _)| Some(*end) != not && *end != node)
            {
                less += traffic * distance(from, tiles[*end]);
                more += traffic * distance(to, tiles[*end]);
            }
        };
        go(node, other, from, tile);
        if let Some(other) = other {
            go(other, Some(node), tile, from);
        }
        cost + more - less
    }

    /// Moves and exchanges nodes while that helps, however many steps that takes: with more steps a search goes the same way further.
    pub(super) fn descend(&mut self, tiles: &mut [Tile]) -> Score {
        let mut load = Load::of(self.graph, &super::all(tiles));
        let mut score = (load.over(), self.graph.cost(tiles));
        loop {
            let before = score;
            for node in self.movable.clone() {
                if stop::is_stopped() {
                    return score;
                }
                for tile in self.of_kind(self.graph.nodes[node].kind).to_vec() {
                    self.steps += 1;
                    if tile != tiles[node] {
                        score = self.attempt((tiles, &mut load), node, tile, score);
                    }
                }
            }
            if score == before {
                // What is kept while nodes move is what is counted anew.
                debug_assert_eq!(score.0, self.graph.overload(&super::all(tiles)));
                return score;
            }
        }
    }

    /// Puts a node on a tile, and what stands there in its place, if that helps.
    fn attempt(
        &self,
        (tiles, load): (&mut [Tile], &mut Load<'_>),
        node: usize,
        tile: Tile,
        score: Score,
    ) -> Score {
        if !self.may_exchange(tiles, node, tile) {
            return score;
        }
        let from = tiles[node];
        let other = self.on(tiles, node, tile);
        if score.0 == 0 {
            // What tiles are asked for is not looked at where it costs no less.
            let cost = self.cost_after(tiles, (node, other), tile, score.1);
            if cost >= score.1 {
                return score;
            }
        }
        let now = self.exchange((tiles, load), node, tile, score.1);
        if now < score {
            return now;
        }
        self.exchange((tiles, load), node, from, now.1);
        score
    }

    /// Whether what stands on a tile may leave it for a node.
    pub(super) fn may_exchange(&self, tiles: &[Tile], node: usize, tile: Tile) -> bool {
        self.on(tiles, node, tile).is_none_or(|other| self.graph.nodes[other].at.is_none())
    }

    /// Puts a node on a tile, and what stands there in its place, of a placement that costs so much; what then holds.
    pub(super) fn exchange(
        &self,
        (tiles, load): (&mut [Tile], &mut Load<'_>),
        node: usize,
        tile: Tile,
        cost: u64,
    ) -> Score {
        let other = self.on(tiles, node, tile);
        let (from, cost) = (tiles[node], self.cost_after(tiles, (node, other), tile, cost));
        put(tiles, (node, other), tile);
        let was = |end: usize| match end {
            _ if end == node => from,
            _ if Some(end) == other => tile,
            _ => tiles[end],
        };
        if self.graph.nodes[node].kind == TileKind::Compute {
            if other.is_none() {
                load.stands(from, Change::Leaves);
                load.stands(tile, Change::Comes);
            }
            let others = other.map_or(&[][..], |other| &self.sharing[other]);
            let others = others.iter().filter(|net| !self.sharing[node].contains(net));
            for net in self.sharing[node].iter().chain(others) {
                let net = &self.graph.nets[*net];
                let (from, to) = (net.from, net.to[0]);
                let (before, after) = (self.meet(was(from), was(to)), self.meet(tiles[from], tiles[to]));
                if before != after {
                    load.meeting(net, before, Change::Leaves);
                    load.meeting(net, after, Change::Comes);
                }
            }
        } else {
            load.node(node, from, Change::Leaves);
            load.node(node, tile, Change::Comes);
            for net in self.nets[node].iter().map(|net| &self.graph.nets[*net]) {
                load.net(net, |end| Some(was(end)), Change::Leaves);
                load.net(net, |end| Some(tiles[end]), Change::Comes);
            }
        }
        (load.over(), cost)
    }

    fn meet(&self, from: Tile, to: Tile) -> Meet {
        let device = self.graph.device;
        self.meets[device.index_of(from) * (device.cols * device.rows) as usize + device.index_of(to)]
    }

    /// The node that stands on a compute tile.
    pub(super) fn on(&self, tiles: &[Tile], node: usize, tile: Tile) -> Option<usize> {
        let holds_one = self.graph.nodes[node].kind == TileKind::Compute;
        tiles.iter().position(|other| *other == tile).filter(|_| holds_one)
    }

    pub(super) fn kick(&mut self, tiles: &mut [Tile]) {
        let of = self.below(self.movable.len() as u64) as usize;
        let node = self.movable[of];
        let count = self.of_kind(self.graph.nodes[node].kind).len() as u64;
        let at = self.below(count) as usize;
        let tile = self.of_kind(self.graph.nodes[node].kind)[at];
        if self.may_exchange(tiles, node, tile) {
            let other = self.on(tiles, node, tile);
            put(tiles, (node, other), tile);
        }
    }
}

/// Puts a node on a tile, and the other one where it was.
fn put(tiles: &mut [Tile], (node, other): (usize, Option<usize>), tile: Tile) {
    if let Some(other) = other {
        tiles[other] = tiles[node];
    }
    tiles[node] = tile;
}
