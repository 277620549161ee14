//! What tiles are asked for, kept from one move of a node to the next: a move costs what it changes, and not what the graph has.

use super::{Graph, MISSING_CHANNELS, Net};
use crate::device::{Tile, TileKind};

/// What a tile is asked for, and what it has.
type Parts = [u128; 4];

const NODES: usize = 0;
const INTO: usize = 1;
const OUT: usize = 2;
const BYTES: usize = 3;

/// What each part is, and the figure that says how much of it is missing.
const NAMES: [(&str, &str); 4] = [
    ("processes", "missing_processes"),
    ("channels into its memory", MISSING_CHANNELS),
    ("channels out of its memory", MISSING_CHANNELS),
    ("bytes", "missing_bytes"),
];

/// What is asked of a tile changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// More is.
    Comes,
    /// Less is.
    Leaves,
}

/// More than a tile has.
pub(super) struct Excess {
    pub(super) need: u128,
    pub(super) have: u128,
    pub(super) what: &'static str,
    pub(super) figure: &'static str,
}

pub(super) struct Load<'g> {
    graph: &'g Graph,
    /// By tile of the array.
    asked: Vec<Parts>,
    has: Vec<Parts>,
    /// How much more than they have tiles are asked for.
    over: u128,
}

/// How much more than it has a tile is asked for of a part: processes, channels, or 4 KiB of memory.
fn over(part: usize, asked: u128, has: u128) -> u128 {
    let over = asked.saturating_sub(has);
    if part == BYTES { over.div_ceil(4096) } else { over }
}

impl<'g> Load<'g> {
    /// What is asked for at least when these nodes stand where they do.
    pub(super) fn of(graph: &'g Graph, tiles: &[Option<Tile>]) -> Load<'g> {
        let has: Vec<Parts> = graph.device.tiles().map(|tile| has(graph.device.kind(tile))).collect();
        let mut load = Load { graph, asked: vec![[0; 4]; has.len()], has, over: 0 };
        for (node, tile) in tiles.iter().enumerate() {
            if let Some(tile) = tile {
                load.node(node, *tile, Change::Comes);
            }
        }
        graph.nets.iter().for_each(|net| load.net(net, |node| tiles[node], Change::Comes));
        load
    }

    fn change(&mut self, tile: Tile, part: usize, count: u128, change: Change) {
        let at = self.graph.device.index_of(tile);
        let (asked, has) = (&mut self.asked[at][part], self.has[at][part]);
        let before = over(part, *asked, has);
        *asked = match change {
            Change::Comes => *asked + count,
            Change::Leaves => *asked - count,
        };
        self.over = self.over + over(part, *asked, has) - before;
    }

    /// A node comes to a tile, or leaves it.
    pub(super) fn node(&mut self, node: usize, tile: Tile, change: Change) {
        let bytes = self.graph.least_bytes(&self.graph.nodes[node]);
        self.change(tile, NODES, 1, change);
        self.change(tile, BYTES, bytes.into(), change);
    }

    /// A net comes between the tiles of its nodes, or leaves them.
    pub(super) fn net(&mut self, net: &Net, at: impl Fn(usize) -> Option<Tile>, change: Change) {
        let from = at(net.from);
        let mut any = false;
        for to in net.to.iter().map(|to| at(*to)) {
            if !self.graph.uses_channels(net, from, to) {
                continue;
            }
            any = true;
            if let Some(to) = to {
                self.change(to, INTO, 1, change);
                self.change(to, BYTES, net.bytes.into(), change);
            }
        }
        if let Some(home) = self.graph.home(net, from, at(net.to[0])) {
            self.change(home, BYTES, net.bytes.into(), change);
        }
        if let Some(from) = from {
            self.change(from, OUT, u128::from(any), change);
        }
    }

    /// What a tile is asked for that it does not have.
    pub(super) fn excess(&self, tile: Tile) -> Option<Excess> {
        let at = self.graph.device.index_of(tile);
        let part = (0..NAMES.len()).find(|part| self.asked[at][*part] > self.has[at][*part])?;
        let (what, figure) = NAMES[part];
        Some(Excess { need: self.asked[at][part], have: self.has[at][part], what, figure })
    }

    /// How much more than they have tiles are asked for: processes, channels, and 4 KiB of memory.
    pub(super) fn over(&self) -> u64 {
        u64::try_from(self.over).unwrap_or(u64::MAX)
    }
}

/// What a tile of a kind has: one process on a compute tile, and the memory of the host at a shim tile.
fn has(kind: Option<TileKind>) -> Parts {
    let Some(kind) = kind else { return [u128::MAX; 4] };
    let model = kind.model();
    let channels = u128::from(model.channels);
    [
        if kind == TileKind::Compute { 1 } else { u128::MAX },
        channels,
        channels,
        if kind == TileKind::Shim { u128::MAX } else { model.memory.into() },
    ]
}
