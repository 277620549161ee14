//! What shows that streams have no ways: tiles that more streams leave, or enter, than there are ports for.

use super::{SIDES, Stream, neighbour};
use crate::device::{Bundle, Device, Tile};
use std::fmt;

/// What streams cross.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Across {
    /// Ports to tiles around.
    Links,
    /// Channels of the one tile.
    Channels,
}

/// Tiles with more streams out of them, or into them, than ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The tiles.
    pub tiles: Vec<Tile>,
    /// Whether the streams come from outside.
    pub into: bool,
    /// What they cross.
    pub across: Across,
    /// Ports that the streams need: one each, and one for those of packets together.
    pub needs: u32,
    /// Ports that there are.
    pub has: u32,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cut { tiles, into, across, needs, has } = self;
        let (way, what) = (
            if *into { "into" } else { "out of" },
            match across {
                Across::Links => "ports to tiles around",
                Across::Channels => "channels",
            },
        );
        match tiles[..] {
            [one] => write!(f, "{needs} streams go {way} tile {one}, which has {has} {what}"),
            [first, .., last] => write!(
                f,
                "{needs} streams go {way} the tiles from {first} to {last}, which have {has} {what}"
            ),
            [] => write!(f, "{needs} streams go {way} no tile"),
        }
    }
}

impl Cut {
    /// Whether it shows that the streams have no ways on an array: its numbers are those of its tiles, and too many.
    pub fn holds(&self, device: &Device, streams: &[Stream]) -> bool {
        let inside = |tile: &Tile| self.tiles.contains(tile);
        let whole = self.across == Across::Links || self.tiles.len() == 1;
        let crosses = |stream: &&Stream| match (self.across, self.into) {
            (Across::Links, true) => !inside(&stream.from) && stream.to.iter().any(inside),
            (Across::Links, false) => inside(&stream.from) && !stream.to.iter().all(inside),
            (Across::Channels, true) => stream.to.iter().any(inside),
            (Across::Channels, false) => inside(&stream.from),
        };
        let crossing: Vec<&Stream> = streams.iter().filter(crosses).collect();
        let circuits = crossing.iter().filter(|stream| !stream.packets).count() as u32;
        let needs = circuits + u32::from(crossing.len() as u32 > circuits);
        let mut has = 0;
        for tile in device.tiles().filter(inside) {
            if self.across == Across::Channels {
                let (into, out) = device.ports(tile, Bundle::Dma);
                has += channels(device, tile, if self.into { into } else { out });
                continue;
            }
            for side in SIDES {
                if neighbour(device, tile, side).is_some_and(|next| !inside(&next)) {
                    let (out, into) = device.ports(tile, side);
                    has += if self.into { into } else { out };
                }
            }
        }
        whole
            && self.tiles.iter().all(|tile| device.kind(*tile).is_some())
            && (needs, has) == (self.needs, self.has)
            && needs > has
    }
}

/// Those of a shim tile lead through a multiplexer beside its switch, and are as many.
fn channels(device: &Device, tile: Tile, ports: u32) -> u32 {
    device.kind(tile).map_or(0, |kind| kind.model().channels.max(ports))
}

/// The first cut of a rectangle of tiles, or of the channels of one.
pub(super) fn find(device: &Device, streams: &[Stream]) -> Option<Cut> {
    let ways =
        [(true, Across::Channels), (false, Across::Channels), (true, Across::Links), (false, Across::Links)];
    let spans = |end: u32| (0..end).flat_map(move |first| (first..end).map(move |last| (first, last)));
    for (into, across) in ways {
        for (west, east) in spans(device.cols) {
            for (south, north) in spans(device.rows) {
                if across == Across::Channels && (west, south) != (east, north) {
                    continue;
                }
                let tiles = (west..=east).flat_map(|col| (south..=north).map(move |row| Tile::new(col, row)));
                let mut cut = Cut { tiles: tiles.collect(), into, across, needs: 0, has: 0 };
                (cut.needs, cut.has) = count(device, streams, &cut, [west, east, south, north]);
                if cut.needs > cut.has {
                    return Some(cut);
                }
            }
        }
    }
    None
}

/// The ports that are needed and there, of a rectangle.
fn count(device: &Device, streams: &[Stream], cut: &Cut, [west, east, south, north]: [u32; 4]) -> (u32, u32) {
    let inside = |tile: &Tile| (west..=east).contains(&tile.col) && (south..=north).contains(&tile.row);
    let (mut circuits, mut packets) = (0, 0);
    for stream in streams {
        let (starts, ends) = (inside(&stream.from), stream.to.iter().filter(|to| inside(to)).count());
        let crosses = match (cut.across, cut.into) {
            (Across::Links, true) => !starts && ends > 0,
            (Across::Links, false) => starts && ends < stream.to.len(),
            (Across::Channels, true) => ends > 0,
            (Across::Channels, false) => starts,
        };
        if crosses && stream.packets {
            packets = 1;
        } else if crosses {
            circuits += 1;
        }
    }
    let mut has = 0;
    for tile in &cut.tiles {
        if cut.across == Across::Channels {
            has += device.kind(*tile).map_or(0, |kind| kind.model().channels);
            continue;
        }
        let edges = [
            (Bundle::West, tile.col == west && west > 0),
            (Bundle::East, tile.col == east && east + 1 < device.cols),
            (Bundle::South, tile.row == south && south > 0),
            (Bundle::North, tile.row == north && north + 1 < device.rows),
        ];
        for (side, _) in edges.into_iter().filter(|(_, is_edge)| *is_edge) {
            let (out, into) = device.ports(*tile, side);
            has += if cut.into { into } else { out };
        }
    }
    (circuits + packets, has)
}
