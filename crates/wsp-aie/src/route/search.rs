//! Trees of links by negotiation (McMurchie and Ebeling, PathFinder, 1995): every stream takes the cheapest tree, links that are crowded
//! cost more from round to round, until none is.

use super::{ROUNDS, SIDES, Stream, Tree, neighbour};
use crate::device::{Device, PACKETS, Tile};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wsp_ordered::Arrange;

/// What a link costs, before it is crowded. What is added is a part of it, so that ways are as short as they can be.
const STEP: u64 = 64;

struct Link {
    from: Tile,
    to: Tile,
    ports: u32,
    circuits: u32,
    packets: u32,
    /// From rounds in which it was crowded.
    history: u64,
}

impl Link {
    /// Ports beyond those that there are.
    fn excess(&self) -> u32 {
        let shared = self.packets.div_ceil(PACKETS as u32);
        (self.circuits + shared).saturating_sub(self.ports) + shared.saturating_sub(1)
    }

    fn cost(&self, packets: bool, round: u64) -> u64 {
        let room = !self.packets.is_multiple_of(PACKETS as u32);
        let more = if packets && room { 0 } else { 1 };
        let used = self.circuits + self.packets.div_ceil(PACKETS as u32) + more;
        STEP + self.history + u64::from(used.saturating_sub(self.ports)) * STEP * (1 + round)
    }
}

struct Search<'d> {
    device: &'d Device,
    links: Vec<Link>,
    /// By tile, the numbers of the links out of it.
    out: Vec<Vec<usize>>,
}

/// The tree of each stream, or the links that stay crowded.
pub(super) fn trees(device: &Device, streams: &[Stream]) -> Result<Vec<Tree>, Vec<(Tile, Tile)>> {
    let mut search = Search { device, links: Vec::new(), out: Vec::new() };
    for tile in device.tiles() {
        let mut out = Vec::new();
        for side in SIDES {
            let (ports, _) = device.ports(tile, side);
            if let Some(to) = neighbour(device, tile, side).filter(|_| ports > 0) {
                out.push(search.links.len());
                search.links.push(Link { from: tile, to, ports, circuits: 0, packets: 0, history: 0 });
            }
        }
        search.out.push(out);
    }
    let mut trees: Vec<Vec<usize>> = vec![Vec::new(); streams.len()];
    let mut order: Vec<usize> = (0..streams.len()).collect();
    for round in 0..ROUNDS {
        for at in &order {
            let crowded = trees[*at].iter().any(|link| search.links[*link].excess() > 0);
            if round > 0 && !crowded {
                continue;
            }
            search.change(&trees[*at], streams[*at].packets, false);
            trees[*at] = search.tree(&streams[*at], round.into()).unwrap_or_default();
            search.change(&trees[*at], streams[*at].packets, true);
        }
        let mut done = true;
        for link in &mut search.links {
            let excess = u64::from(link.excess());
            link.history += excess * STEP / 2;
            done &= excess == 0;
        }
        if done {
            let pair = |link: &usize| (search.links[*link].from, search.links[*link].to);
            return Ok(trees.iter().map(|tree| tree.iter().map(pair).collect()).collect());
        }
        // Of streams that meet, another one is first in the next round.
        order.arrange_by_key(|at| (*at as u32 * 7 + round * 5) % (streams.len() as u32 | 1));
    }
    Err(search.links.iter().filter(|link| link.excess() > 0).map(|link| (link.from, link.to)).collect())
}

impl Search<'_> {
    fn number(&self, tile: Tile) -> usize {
        self.device.index_of(tile)
    }

    fn change(&mut self, tree: &[usize], packets: bool, more: bool) {
        for link in tree {
            let link = &mut self.links[*link];
            let count = if packets { &mut link.packets } else { &mut link.circuits };
            *count = if more { *count + 1 } else { *count - 1 };
        }
    }

    /// A cheap tree: to the end that is nearest to what it has, until it has all.
    fn tree(&self, stream: &Stream, round: u64) -> Option<Vec<usize>> {
        let mut has = vec![false; self.out.len()];
        has[self.number(stream.from)] = true;
        let mut ends: Vec<usize> = stream.to.iter().map(|to| self.number(*to)).collect();
        let mut tree = Vec::new();
        while !ends.is_empty() {
            let mut cost = vec![u64::MAX; self.out.len()];
            let mut by: Vec<Option<usize>> = vec![None; self.out.len()];
            let mut open = BinaryHeap::new();
            for at in (0..has.len()).filter(|at| has[*at]) {
                cost[at] = 0;
                open.push(Reverse((0, at)));
            }
            let mut found = None;
            while let Some(Reverse((so_far, at))) = open.pop() {
                if so_far > cost[at] {
                    continue;
                }
                if ends.contains(&at) {
                    found = Some(at);
                    break;
                }
                for link in &self.out[at] {
                    let next = self.number(self.links[*link].to);
                    let total = so_far + self.links[*link].cost(stream.packets, round);
                    if total < cost[next] {
                        (cost[next], by[next]) = (total, Some(*link));
                        open.push(Reverse((total, next)));
                    }
                }
            }
            let mut at = found?;
            ends.retain(|end| *end != at);
            let before = tree.len();
            while let Some(link) = by[at].filter(|_| !has[at]) {
                has[at] = true;
                tree.push(link);
                at = self.number(self.links[link].from);
            }
            // From where it begins to where it ends.
            tree[before..].reverse();
        }
        Some(tree)
    }
}
