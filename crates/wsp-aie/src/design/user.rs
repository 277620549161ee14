//! Who uses what of a design.

use crate::device::{Direction, Tile};

/// Who uses a lock or a buffer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum User {
    /// The core of a tile.
    Core(Tile),
    /// A channel of a tile, by number, with its chain of descriptors.
    Channel(Tile, Direction, i64),
}

impl std::fmt::Display for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            User::Core(tile) => write!(f, "the core on tile {tile}"),
            User::Channel(tile, direction, number) => {
                write!(f, "channel {direction} {number} of tile {tile}")
            }
        }
    }
}
