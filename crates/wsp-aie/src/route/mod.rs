//! Ways of streams through the switches of an array.
//!
//! A stream leaves a tile by a channel, and reaches each of its ends by one: a tree of links between neighbouring tiles. A circuit has its
//! ports for itself; streams of packets share them, up to [`PACKETS`](crate::device::PACKETS) on a link. A link has as many streams as the switch has ports to that
//! side. [`route`] ends in one of three ways: every stream has a way that [`verify`] accepts, a [`Cut`] shows that there are none, or the
//! search gave up and says what was left.

mod check;
mod cut;
mod ports;
mod search;

pub use check::{Misrouted, verify};
pub use cut::{Across, Cut};

use crate::device::{Bundle, Device, Tile};

/// Rounds after which the search gives up.
pub const ROUNDS: u32 = 200;

/// What flows from a channel of one tile to channels of others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    /// What messages call it.
    pub name: String,
    /// Where it begins.
    pub from: Tile,
    /// Where it ends, each tile once; not empty, and without the one where it begins.
    pub to: Vec<Tile>,
    /// Whether it shares ports with others of this kind.
    pub packets: bool,
}

/// A port of a switch: where it leads to, and its number there.
pub type Port = (Bundle, u32);

/// A connection in the switch of a tile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Hop {
    /// The tile.
    pub tile: Tile,
    /// Where data comes in.
    pub from: Port,
    /// Where it goes out.
    pub to: Port,
}

/// The way of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// Connections, those of a tile behind those of the tile before it.
    pub hops: Vec<Hop>,
    /// The number of its packets, where it has some.
    pub id: Option<u32>,
}

impl Route {
    /// Links that it uses.
    pub fn links(&self) -> usize {
        self.hops.iter().filter(|hop| side(hop.to.0).is_some()).count()
    }
}

/// How the search ended.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// The ways of all streams, in their order.
    Routed(Vec<Route>),
    /// There are none.
    Infeasible(Cut),
    /// Nothing shows that there are none.
    GaveUp {
        /// Rounds that were tried.
        rounds: u32,
        /// Links with more streams than ports in the last of them.
        crowded: Vec<(Tile, Tile)>,
    },
}

/// Finds a way for each stream.
pub fn route(device: &Device, streams: &[Stream]) -> Outcome {
    if let Some(cut) = cut::find(device, streams) {
        return Outcome::Infeasible(cut);
    }
    match search::trees(device, streams) {
        Ok(trees) => match ports::assign(device, streams, &trees) {
            Some(routes) => Outcome::Routed(routes),
            None => Outcome::GaveUp { rounds: 0, crowded: Vec::new() },
        },
        Err(crowded) => Outcome::GaveUp { rounds: ROUNDS, crowded },
    }
}

/// A stream's links, each from the tile that is nearer to where it begins.
type Tree = Vec<(Tile, Tile)>;

/// The step to the neighbour on a side, in columns and rows.
fn side(bundle: Bundle) -> Option<(i32, i32)> {
    Some(match bundle {
        Bundle::North => (0, 1),
        Bundle::South => (0, -1),
        Bundle::East => (1, 0),
        Bundle::West => (-1, 0),
        _ => return None,
    })
}

/// The side of a tile on which another one lies, next to it.
fn towards(from: Tile, to: Tile) -> Bundle {
    if to.row > from.row {
        Bundle::North
    } else if to.row < from.row {
        Bundle::South
    } else if to.col > from.col {
        Bundle::East
    } else {
        Bundle::West
    }
}

fn opposite(bundle: Bundle) -> Bundle {
    match bundle {
        Bundle::North => Bundle::South,
        Bundle::South => Bundle::North,
        Bundle::East => Bundle::West,
        _ => Bundle::East,
    }
}

/// The neighbour of a tile on a side.
fn neighbour(device: &Device, tile: Tile, bundle: Bundle) -> Option<Tile> {
    let (col, row) = side(bundle)?;
    let next = Tile::new(tile.col.checked_add_signed(col)?, tile.row.checked_add_signed(row)?);
    device.kind(next).map(|_| next)
}

const SIDES: [Bundle; 4] = [Bundle::North, Bundle::South, Bundle::East, Bundle::West];
