//! Which port of a side each stream has: any that is free, but a memory tile passes streams up and down without a change of number.

use super::{Hop, Route, Stream, Tree, opposite, side, towards};
use crate::device::{Bundle, Device, PACKETS, Tile, TileKind};
use wsp_ordered::OrderedMap;

/// A side of a tile, out of it.
type Link = (Tile, Tile);

/// The number of a stream on each link, or none where two memories' worth of packets meet.
struct Ports<'s> {
    streams: &'s [Stream],
    /// By link, who has each port: a circuit, or all packets.
    taken: OrderedMap<Link, Vec<Option<User>>>,
}

/// Who has a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum User {
    Circuit(usize),
    Packets,
}

/// Connections of all streams, where every link has ports enough.
pub(super) fn assign(device: &Device, streams: &[Stream], trees: &[Tree]) -> Option<Vec<Route>> {
    let mut ports = Ports { streams, taken: OrderedMap::new() };
    // Those that pass a memory tile first: packets, then circuits, each with one number below and above.
    for packets in [true, false] {
        for (at, tree) in trees.iter().enumerate().filter(|(at, _)| streams[*at].packets == packets) {
            for (from, through, to) in passing(device, tree) {
                ports.give(device, at, &[(from, through), (through, to)])?;
            }
        }
    }
    for packets in [true, false] {
        for (at, tree) in trees.iter().enumerate().filter(|(at, _)| streams[*at].packets == packets) {
            for link in tree {
                ports.give(device, at, &[*link])?;
            }
        }
    }
    let ids = ids(streams, trees)?;
    let channels = channels(device, streams)?;
    let routes = trees.iter().enumerate().map(|(at, tree)| {
        let hops = ports.hops(at, tree, &channels[at])?;
        Some(Route { hops, id: ids[at] })
    });
    routes.collect()
}

/// Where a tree goes straight through memory tiles: the tile before, the memory tile, the one behind.
fn passing<'t>(device: &'t Device, tree: &'t Tree) -> impl Iterator<Item = (Tile, Tile, Tile)> + 't {
    tree.iter().filter(|(_, to)| device.kind(*to) == Some(TileKind::Memory)).flat_map(
        move |(from, through)| {
            let behind = tree.iter().filter(move |(next, _)| next == through);
            behind.map(move |(_, to)| (*from, *through, *to))
        },
    )
}

impl Ports<'_> {
    fn user(&self, stream: usize) -> User {
        if self.streams[stream].packets { User::Packets } else { User::Circuit(stream) }
    }

    fn number(&self, stream: usize, link: Link) -> Option<u32> {
        let user = Some(self.user(stream));
        let at = self.taken.get(&link)?.iter().position(|taken| *taken == user)?;
        Some(at as u32)
    }

    /// Gives a stream the first number that is free on all of some links, where it has none.
    fn give(&mut self, device: &Device, stream: usize, links: &[Link]) -> Option<()> {
        let user = self.user(stream);
        for (from, to) in links {
            if self.taken.get(&(*from, *to)).is_none() {
                let (ports, _) = device.ports(*from, towards(*from, *to));
                self.taken.insert((*from, *to), vec![None; ports as usize]);
            }
        }
        let have: Vec<Option<u32>> = links.iter().map(|link| self.number(stream, *link)).collect();
        let number = match have.iter().flatten().next() {
            Some(number) => *number as usize,
            None => (0..).find(|number| {
                let free = |link: &Link| self.taken.get(link).and_then(|taken| taken.get(*number)).copied();
                // Beyond the last port nothing is free.
                let open = links.iter().map(free);
                open.clone().any(|port| port.is_none()) || open.clone().all(|port| port == Some(None))
            })?,
        };
        for (link, have) in links.iter().zip(have) {
            let port = self.taken.get_mut(link)?.get_mut(number)?;
            if have.is_none_or(|have| have as usize != number) && port.replace(user).is_some() {
                return None;
            }
        }
        Some(())
    }

    /// The connections of a stream whose channels are known: out of where it begins, then into each end.
    fn hops(&self, stream: usize, tree: &Tree, channels: &(u32, Vec<u32>)) -> Option<Vec<Hop>> {
        let Stream { from, to, .. } = &self.streams[stream];
        let mut hops = Vec::new();
        let mut entered = vec![(*from, (Bundle::Dma, channels.0))];
        for (a, b) in tree {
            let number = self.number(stream, (*a, *b))?;
            entered.push((*b, (opposite(towards(*a, *b)), number)));
        }
        for (tile, port) in &entered {
            for (_, b) in tree.iter().filter(|(a, _)| a == tile) {
                let number = self.number(stream, (*tile, *b))?;
                hops.push(Hop { tile: *tile, from: *port, to: (towards(*tile, *b), number) });
            }
            for (_, channel) in to.iter().zip(&channels.1).filter(|(end, _)| *end == tile) {
                hops.push(Hop { tile: *tile, from: *port, to: (Bundle::Dma, *channel) });
            }
        }
        debug_assert!(hops.iter().all(|hop| side(hop.from.0).is_some() || hop.tile == *from));
        Some(hops)
    }
}

/// Numbers of packets: those that share a link, or a channel, differ.
fn ids(streams: &[Stream], trees: &[Tree]) -> Option<Vec<Option<u32>>> {
    let mut ids: Vec<Option<u32>> = vec![None; streams.len()];
    for at in (0..streams.len()).filter(|at| streams[*at].packets) {
        let meets = |other: usize| {
            let (a, b) = (&streams[at], &streams[other]);
            a.from == b.from
                || a.to.iter().any(|to| b.to.contains(to))
                || trees[at].iter().any(|link| trees[other].contains(link))
        };
        let taken: Vec<u32> = (0..at).filter(|other| meets(*other)).filter_map(|other| ids[other]).collect();
        ids[at] = Some((0..PACKETS as u32).find(|id| !taken.contains(id))?);
    }
    Some(ids)
}

/// By stream, its channel out of where it begins, and into each end. Packets of a tile share one.
fn channels(device: &Device, streams: &[Stream]) -> Option<Vec<(u32, Vec<u32>)>> {
    let mut taken: OrderedMap<(Tile, bool), Vec<User>> = OrderedMap::new();
    let mut next = |tile: Tile, into: bool, user: User| {
        let users = taken.entry((tile, into)).or_default();
        let at = users.iter().position(|other| *other == user).unwrap_or(users.len());
        if at == users.len() {
            users.push(user);
        }
        let has = device.kind(tile)?.model().channels;
        Some(at as u32).filter(|at| *at < has)
    };
    let of = |(at, stream): (usize, &Stream)| {
        let user = if stream.packets { User::Packets } else { User::Circuit(at) };
        let out = next(stream.from, false, user)?;
        let into: Option<Vec<u32>> = stream.to.iter().map(|to| next(*to, true, user)).collect();
        Some((out, into?))
    };
    streams.iter().enumerate().map(of).collect()
}
