//! What tiles are asked for, kept from one move of a node to the next: a move costs what it changes, and not what the graph has.

use super::{Graph, MISSING_CHANNELS, Net};
use crate::device::{Tile, TileKind};

/// What a tile is asked for, and what it has.
type Parts = [u64; 4];

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

/// Bytes of a node or a net that count, more than any tile has: sums of them do not overflow.
pub(super) const MOST: u64 = 1 << 32;

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
    pub(super) need: u64,
    pub(super) have: u64,
    pub(super) what: &'static str,
    pub(super) figure: &'static str,
}

/// How the cores on two tiles pass objects on: through channels, or a memory, that of the first or of the second one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meet {
    Apart,
    AtFirst,
    AtSecond,
}

impl Meet {
    pub(super) fn of(from: Tile, to: Tile) -> Meet {
        match (from.shares_with(to), to.reaches(from)) {
            (false, _) => Meet::Apart,
            (true, true) => Meet::AtFirst,
            (true, false) => Meet::AtSecond,
        }
    }
}

/// By place: first nodes of compute tiles, which each have a tile of their own that goes with them, then the tiles of the array, for how many nodes stand on them,
/// and all that other tiles are asked for. A node that moves changes only what hangs on where it stands.
pub(super) struct Load<'g> {
    graph: &'g Graph,
    asked: Vec<Parts>,
    has: Vec<Parts>,
    /// What each excess counts.
    weights: Vec<u64>,
    /// How much more than they have places are asked for, by weight.
    over: u64,
}

/// How much more than it has a tile is asked for of a part: processes, channels, or 4 KiB of memory.
fn over(part: usize, asked: u64, has: u64) -> u64 {
    let over = asked.saturating_sub(has);
    if part == BYTES { over.div_ceil(4096) } else { over }
}

impl<'g> Load<'g> {
    /// What is asked for at least when these nodes stand where they do.
    pub(super) fn of(graph: &'g Graph, tiles: &[Option<Tile>]) -> Load<'g> {
        let own = graph.nodes.iter().map(|_| has(Some(TileKind::Compute)));
        let has: Vec<Parts> =
            own.chain(graph.device.tiles().map(|tile| has(graph.device.kind(tile)))).collect();
        let (asked, weights) = (vec![[0; 4]; has.len()], vec![1; has.len()]);
        let mut load = Load { graph, asked, has, weights, over: 0 };
        for (node, tile) in tiles.iter().enumerate() {
            if let Some(tile) = tile {
                load.node(node, *tile, Change::Comes);
            }
        }
        graph.nets.iter().for_each(|net| load.net(net, |node| tiles[node], Change::Comes));
        load
    }

    /// The place of what a node asks of the tile that it stands on.
    fn place(&self, node: usize, tile: Tile) -> usize {
        if self.graph.nodes[node].kind == TileKind::Compute { node } else { self.tile(tile) }
    }

    fn tile(&self, tile: Tile) -> usize {
        self.graph.nodes.len() + self.graph.device.index_of(tile)
    }

    #[inline]
    fn change(&mut self, at: usize, part: usize, count: u64, change: Change) {
        let (asked, has) = (&mut self.asked[at][part], self.has[at][part]);
        let before = over(part, *asked, has);
        *asked = match change {
            Change::Comes => *asked + count,
            Change::Leaves => *asked - count,
        };
        self.over = self.over + self.weights[at] * over(part, *asked, has) - self.weights[at] * before;
    }

    /// A node comes to a tile, or leaves it.
    pub(super) fn node(&mut self, node: usize, tile: Tile, change: Change) {
        let bytes = self.graph.least_bytes(&self.graph.nodes[node]);
        self.stands(tile, change);
        self.change(self.place(node, tile), BYTES, bytes.min(MOST), change);
    }

    /// A node of a compute tile comes to another one, or leaves it, without its nets.
    pub(super) fn stands(&mut self, tile: Tile, change: Change) {
        self.change(self.tile(tile), NODES, 1, change);
    }

    /// A net comes between the tiles of its nodes, or leaves them.
    pub(super) fn net(&mut self, net: &Net, at: impl Fn(usize) -> Option<Tile>, change: Change) {
        let from = at(net.from);
        let mut any = false;
        for to in net.to.iter().copied() {
            if !self.graph.uses_channels(net, from, at(to)) {
                continue;
            }
            any = true;
            if let Some(tile) = at(to) {
                let place = self.place(to, tile);
                self.change(place, INTO, 1, change);
                self.change(place, BYTES, net.bytes.min(MOST), change);
            }
        }
        if let Some((home, tile)) = self.graph.home(net, &at).and_then(|home| Some((home, at(home)?))) {
            self.change(self.place(home, tile), BYTES, net.bytes.min(MOST), change);
        }
        if let Some(from) = from {
            self.change(self.place(net.from, from), OUT, u64::from(any), change);
        }
    }

    /// A net comes between the tiles of two cores that may share a memory, or leaves them: what [`net`](Self::net) does, at a part of its cost.
    pub(super) fn meeting(&mut self, net: &Net, meet: Meet, change: Change) {
        let (from, to, bytes) = (net.from, net.to[0], net.bytes.min(MOST));
        self.change(if meet == Meet::AtSecond { to } else { from }, BYTES, bytes, change);
        if meet == Meet::Apart {
            self.change(from, OUT, 1, change);
            self.change(to, INTO, 1, change);
            self.change(to, BYTES, bytes, change);
        }
    }

    /// What a tile is asked for that it does not have.
    pub(super) fn excess(&self, tile: Tile, at: impl Fn(usize) -> Option<Tile>) -> Option<Excess> {
        let is_on =
            |node: &usize| self.graph.nodes[*node].kind == TileKind::Compute && at(*node) == Some(tile);
        let places = [self.tile(tile)].into_iter().chain((0..self.graph.nodes.len()).filter(is_on));
        places.into_iter().find_map(|place| {
            let (asked, has) = (&self.asked[place], &self.has[place]);
            let part = (0..NAMES.len()).find(|part| asked[*part] > has[*part])?;
            let (what, figure) = NAMES[part];
            Some(Excess { need: asked[part], have: has[part], what, figure })
        })
    }

    fn over_of(&self, place: usize) -> u64 {
        (0..NAMES.len()).map(|part| over(part, self.asked[place][part], self.has[place][part])).sum()
    }

    /// What is too much now counts more from now on.
    pub(super) fn weigh(&mut self) {
        for place in 0..self.asked.len() {
            let more = self.over_of(place);
            self.weights[place] += u64::from(more > 0);
            self.over += more;
        }
    }

    /// How much more than they have tiles are asked for, whatever it counts.
    pub(super) fn count(&self) -> u64 {
        (0..self.asked.len()).map(|place| self.over_of(place)).sum()
    }

    /// How much more than they have tiles are asked for: processes, channels, and 4 KiB of memory.
    pub(super) fn over(&self) -> u64 {
        self.over
    }
}

/// What a tile of a kind has: one process on a compute tile, and the memory of the host at a shim tile.
fn has(kind: Option<TileKind>) -> Parts {
    let Some(kind) = kind else { return [u64::MAX; 4] };
    let model = kind.model();
    let channels = u64::from(model.channels);
    [
        if kind == TileKind::Compute { 1 } else { u64::MAX },
        channels,
        channels,
        if kind == TileKind::Shim { u64::MAX } else { model.memory },
    ]
}
