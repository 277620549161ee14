//! Whether connections take streams where they are to go, and switches have them. Nothing here is of the search.

use super::{Hop, Route, Stream};
use crate::device::{Bundle, Device, PACKETS, Tile};
use std::fmt;
use wsp_ordered::{OrderedMap, OrderedSet};

/// What is wrong with the ways of streams.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Misrouted {
    /// There are more or fewer ways than streams.
    Count,
    /// A switch has no such connection.
    Switch(usize, Hop),
    /// A connection gets nothing, as none before it leads there.
    Dry(usize, Hop),
    /// A stream comes to a tile twice, or where it has no end.
    Arrives(usize, Tile),
    /// A stream does not come to an end.
    Misses(usize, Tile),
    /// Two streams have one port, or more packets one than there are numbers for, or two packets one number.
    Shared(usize, usize, Hop),
    /// A stream of packets has no number, or a circuit has one.
    Number(usize),
}

impl fmt::Display for Misrouted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misrouted::Count => write!(f, "there are more or fewer ways than streams"),
            Misrouted::Switch(at, hop) => {
                write!(f, "the switch at {} has no connection of stream {at}: {hop:?}", hop.tile)
            }
            Misrouted::Dry(at, hop) => {
                write!(f, "nothing of stream {at} comes to a connection at {}: {hop:?}", hop.tile)
            }
            Misrouted::Arrives(at, tile) => {
                write!(f, "stream {at} comes to {tile}, where it has no end, or twice")
            }
            Misrouted::Misses(at, tile) => write!(f, "stream {at} does not come to {tile}"),
            Misrouted::Shared(a, b, hop) => {
                write!(f, "streams {a} and {b} share a port at {}: {hop:?}", hop.tile)
            }
            Misrouted::Number(at) => {
                write!(f, "stream {at} has no number of packets, or should not have one")
            }
        }
    }
}

/// Checks the ways of all streams.
///
/// # Errors
/// The first thing that is wrong.
pub fn verify(device: &Device, streams: &[Stream], routes: &[Route]) -> Result<(), Misrouted> {
    if streams.len() != routes.len() {
        return Err(Misrouted::Count);
    }
    // By tile, port and whether it goes out: the streams that have it.
    let mut users: OrderedMap<(Tile, Bundle, u32, bool), Vec<usize>> = OrderedMap::new();
    for (at, (stream, route)) in streams.iter().zip(routes).enumerate() {
        if route.id.is_some() != stream.packets || route.id.is_some_and(|id| i64::from(id) >= PACKETS) {
            return Err(Misrouted::Number(at));
        }
        follow(device, at, stream, route)?;
        for hop in &route.hops {
            for (port, out) in [(hop.from, false), (hop.to, true)] {
                let have = users.entry((hop.tile, port.0, port.1, out)).or_default();
                let clash = |other: &&usize| {
                    let both = stream.packets && streams[**other].packets;
                    **other != at && (!both || routes[**other].id == route.id)
                };
                if let Some(other) = have.iter().find(clash) {
                    return Err(Misrouted::Shared(*other, at, *hop));
                }
                // What comes in at one port may go out at several; no port gets a stream twice.
                if out && have.contains(&at) {
                    return Err(Misrouted::Shared(at, at, *hop));
                }
                if !have.contains(&at) {
                    have.push(at);
                }
            }
        }
    }
    Ok(())
}

/// Follows a stream from where it begins.
fn follow(device: &Device, at: usize, stream: &Stream, route: &Route) -> Result<(), Misrouted> {
    let mut dry: Vec<Hop> = route.hops.clone();
    if let Some(hop) =
        dry.iter().find(|hop| !device.connects(hop.tile, hop.from, hop.to) && !by_shim(device, hop))
    {
        return Err(Misrouted::Switch(at, *hop));
    }
    let starts: OrderedSet<(Bundle, u32)> = dry
        .iter()
        .filter(|hop| hop.tile == stream.from && hop.from.0 == Bundle::Dma)
        .map(|hop| hop.from)
        .collect();
    let mut wet: Vec<(Tile, Bundle, u32)> =
        starts.iter().take(1).map(|(bundle, n)| (stream.from, *bundle, *n)).collect();
    let mut ends: Vec<Tile> = stream.to.clone();
    while let Some((tile, bundle, number)) = wet.pop() {
        let is_here = |hop: &Hop| (hop.tile, hop.from) == (tile, (bundle, number));
        for hop in dry.iter().copied().filter(is_here).collect::<Vec<_>>() {
            let next = match hop.to.0 {
                Bundle::North => (Tile::new(tile.col, tile.row + 1), Bundle::South),
                Bundle::South => (Tile { col: tile.col, row: tile.row.wrapping_sub(1) }, Bundle::North),
                Bundle::East => (Tile::new(tile.col + 1, tile.row), Bundle::West),
                Bundle::West => (Tile { col: tile.col.wrapping_sub(1), row: tile.row }, Bundle::East),
                Bundle::Dma => {
                    let Some(end) = ends.iter().position(|end| *end == tile) else {
                        return Err(Misrouted::Arrives(at, tile));
                    };
                    ends.remove(end);
                    continue;
                }
                _ => return Err(Misrouted::Switch(at, hop)),
            };
            wet.push((next.0, next.1, hop.to.1));
        }
        dry.retain(|hop| !is_here(hop));
    }
    if let Some(hop) = dry.first() {
        return Err(Misrouted::Dry(at, *hop));
    }
    ends.first().map_or(Ok(()), |tile| Err(Misrouted::Misses(at, *tile)))
}

/// Whether a connection of a shim tile is one of its channels, which a multiplexer beside the switch leads to.
fn by_shim(device: &Device, hop: &Hop) -> bool {
    let channels =
        device.kind(hop.tile).filter(|_| hop.tile.row == 0).map_or(0, |kind| kind.model().channels);
    let [is_from, is_to] = [hop.from, hop.to].map(|port| port.0 == Bundle::Dma);
    let rest = if is_from { hop.to } else { hop.from };
    let (out, into) = device.ports(hop.tile, rest.0);
    is_from != is_to
        && (if is_from { hop.from.1 } else { hop.to.1 }) < channels
        && rest.1 < if is_from { out } else { into }
}
