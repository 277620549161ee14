//! What tiles are asked for while nodes move, kept from one move to the next: a move costs what it changes, and not what the graph has.

use super::{Demand, Graph, Net};
use crate::device::Tile;

/// Processes, channels into the memory and out of it, and bytes.
type Parts = [u128; 4];

const NODES: usize = 0;
const INTO: usize = 1;
const OUT: usize = 2;
const BYTES: usize = 3;

pub(super) struct Load<'g> {
    graph: &'g Graph,
    /// By tile of the array.
    asked: Vec<Parts>,
    has: Vec<Parts>,
}

impl<'g> Load<'g> {
    pub(super) fn of(graph: &'g Graph, tiles: &[Tile]) -> Load<'g> {
        let has = |tile| {
            let parts = graph.device.kind(tile).map(|kind| Demand::default().parts(kind));
            parts.map_or([u128::MAX; 4], |parts| parts.map(|(_, have, ..)| u128::from(have)))
        };
        let has: Vec<Parts> = graph.device.tiles().map(has).collect();
        let mut load = Load { graph, asked: vec![[0; 4]; has.len()], has };
        (0..tiles.len()).for_each(|node| load.node(node, tiles[node], true));
        graph.nets.iter().for_each(|net| load.net(net, tiles, true));
        load
    }

    fn change(&mut self, tile: Tile, part: usize, count: u128, more: bool) {
        let asked = &mut self.asked[self.graph.device.index_of(tile)][part];
        *asked = if more { *asked + count } else { *asked - count };
    }

    /// A node comes to a tile, or leaves it.
    pub(super) fn node(&mut self, node: usize, tile: Tile, more: bool) {
        let bytes = self.graph.least_bytes(&self.graph.nodes[node]);
        self.change(tile, NODES, 1, more);
        self.change(tile, BYTES, bytes.into(), more);
    }

    /// A net comes between tiles, or is taken away.
    pub(super) fn net(&mut self, net: &Net, tiles: &[Tile], more: bool) {
        let from = tiles[net.from];
        let mut any = false;
        for to in &net.to {
            if self.graph.uses_channels(net, Some(from), Some(tiles[*to])) {
                any = true;
                self.change(tiles[*to], INTO, 1, more);
                self.change(tiles[*to], BYTES, net.bytes.into(), more);
            }
        }
        self.change(from, BYTES, net.bytes.into(), more);
        self.change(from, OUT, u128::from(any), more);
    }

    /// How much more than they have tiles are asked for, as [`Graph::overload`] has it.
    pub(super) fn over(&self) -> u64 {
        let of = |(asked, has): (&Parts, &Parts)| {
            let over = |part: usize| asked[part].saturating_sub(has[part]);
            over(NODES) + over(INTO) + over(OUT) + over(BYTES).div_ceil(4096)
        };
        u64::try_from(self.asked.iter().zip(&self.has).map(of).sum::<u128>()).unwrap_or(u64::MAX)
    }
}
