//! Ways of streams, against ways that are known, and checks against changed ones.

use crate::randomised::{Numbers, cases};
use wsp_aie::device::{Bundle, DEVICES, Device, Tile, XDNA1, XDNA2};
use wsp_aie::route::{Across, Cut, Misrouted, Outcome, Route, Stream, route, verify};
use wsp_ordered::OrderedMap;

fn stream(from: (u32, u32), to: &[(u32, u32)], packets: bool) -> Stream {
    let tile = |(col, row): (u32, u32)| Tile::new(col, row);
    Stream { name: "s".to_owned(), from: tile(from), to: to.iter().copied().map(tile).collect(), packets }
}

fn routed(device: &Device, streams: &[Stream]) -> Vec<Route> {
    let Outcome::Routed(routes) = route(device, streams) else { panic!("{:?}", route(device, streams)) };
    verify(device, streams, &routes).unwrap();
    routes
}

#[test]
fn cores_are_joined_by_the_shortest_ways_and_one_source_by_a_tree() {
    let cores: Vec<Tile> = XDNA2.tiles().filter(|tile| tile.row > 1).collect();
    for from in &cores {
        for to in cores.iter().filter(|to| *to != from) {
            let one = Stream { name: "s".to_owned(), from: *from, to: vec![*to], packets: false };
            let hops = from.col.abs_diff(to.col) + from.row.abs_diff(to.row);
            assert_eq!(routed(&XDNA2, &[one])[0].links(), hops as usize);
        }
    }
    let broadcast = stream((0, 1), &[(0, 2), (0, 3), (0, 4), (0, 5), (3, 2)], false);
    assert_eq!(routed(&XDNA2, &[broadcast])[0].links(), 7);
    let from_host = stream((2, 0), &[(2, 1), (2, 4)], false);
    assert_eq!(routed(&XDNA2, &[from_host])[0].links(), 4);
}

/// A side of a tile, and the place there.
fn beside(tile: Tile, side: u64) -> (Bundle, Tile) {
    let (bundle, col, row) =
        [(Bundle::North, 0, 1), (Bundle::South, 0, -1), (Bundle::East, 1, 0), (Bundle::West, -1, 0)]
            [side as usize];
    (bundle, Tile::new(tile.col.wrapping_add_signed(col), tile.row.wrapping_add_signed(row)))
}

/// Streams whose ways are drawn at random, on links that have room for them.
fn planted(dice: &mut Numbers, device: &Device, wanted: usize) -> Vec<Stream> {
    let tiles: Vec<Tile> = device.tiles().collect();
    let mut links: OrderedMap<(Tile, Tile), u32> = OrderedMap::new();
    let mut channels: OrderedMap<(Tile, bool), u32> = OrderedMap::new();
    let mut streams = Vec::new();
    for _ in 0..wanted * 4 {
        let from = tiles[dice.below(tiles.len() as u64) as usize];
        let (mut at, mut way) = (from, Vec::new());
        for _ in 0..1 + dice.below(9) {
            let (side, next) = beside(at, dice.below(4));
            if device.kind(next).is_none() {
                continue;
            }
            let (ports, _) = device.ports(at, side);
            let used = links.get(&(at, next)).copied().unwrap_or(0);
            if used < ports && next != from && !way.iter().any(|(a, _)| *a == next) {
                way.push((at, next));
                at = next;
            }
        }
        let of = |tile: Tile, into: bool| channels.get(&(tile, into)).copied().unwrap_or(0);
        let limit = |tile: Tile| device.kind(tile).unwrap().model().channels;
        if way.is_empty() || of(from, false) == limit(from) || of(at, true) == limit(at) {
            continue;
        }
        *channels.entry((from, false)).or_default() += 1;
        *channels.entry((at, true)).or_default() += 1;
        way.iter().for_each(|link| *links.entry(*link).or_default() += 1);
        streams.push(Stream { name: format!("s{}", streams.len()), from, to: vec![at], packets: false });
        if streams.len() == wanted {
            break;
        }
    }
    streams
}

#[test]
fn streams_that_ways_are_known_for_are_routed() {
    let mut dice = Numbers::of_seed(5);
    let (mut done, all) = (0, cases(60));
    for case in 0..all {
        let device = [XDNA1, XDNA2, DEVICES[5], DEVICES[6]][(case % 4) as usize];
        let wanted = [8, 16, 48, 96][dice.below(4) as usize];
        let streams = planted(&mut dice, &device, wanted);
        match route(&device, &streams) {
            Outcome::Routed(routes) => {
                verify(&device, &streams, &routes).unwrap();
                done += 1;
            }
            Outcome::Infeasible(cut) => panic!("case {case}: {cut}"),
            Outcome::GaveUp { .. } => {}
        }
    }
    assert!(done * 100 >= all * 99, "{done} of {all}");
    println!("{done} of {all} routed");
}

#[test]
fn more_streams_than_ports_are_refused_with_the_cut() {
    let down: Vec<Stream> = (0..5).map(|at| stream((0, 2 + at % 4), &[(0, 1)], false)).collect();
    let Outcome::Infeasible(cut) = route(&DEVICES[5], &down) else { panic!() };
    assert!(cut.holds(&DEVICES[5], &down), "{cut:?}");
    assert!(
        !cut.holds(&DEVICES[5], &down[1..])
            && !Cut { has: cut.has + 1, ..cut.clone() }.holds(&DEVICES[5], &down)
    );
    assert_eq!(
        cut.to_string(),
        "5 streams go into the tiles from (0, 0) to (0, 1), which have 4 ports to tiles around"
    );
    let shared: Vec<Stream> = down.iter().map(|stream| Stream { packets: true, ..stream.clone() }).collect();
    let routes = routed(&DEVICES[5], &shared);
    let mut ids: Vec<Option<u32>> = routes.iter().map(|route| route.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    let out = vec![stream((1, 3), &[(1, 4)], false); 3];
    let Outcome::Infeasible(cut) = route(&XDNA1, &out) else { panic!() };
    assert!(cut.holds(&XDNA1, &out) && cut.across == Across::Channels);
    assert_eq!(cut.to_string(), "3 streams go into tile (1, 4), which has 2 channels");
}

#[test]
fn any_change_of_a_connection_is_found() {
    let streams = [
        stream((0, 0), &[(0, 3), (1, 2)], false),
        stream((0, 1), &[(2, 2)], false),
        stream((1, 4), &[(0, 1)], true),
        stream((1, 5), &[(0, 1)], true),
    ];
    let routes = routed(&XDNA1, &streams);
    for at in 0..routes.len() {
        for hop in 0..routes[at].hops.len() {
            let mut fewer = routes.clone();
            fewer[at].hops.remove(hop);
            assert!(verify(&XDNA1, &streams, &fewer).is_err(), "{at} {hop}");
            for number in 0..8 {
                let mut other = routes.clone();
                let port = &mut other[at].hops[hop].to;
                if port.0 != Bundle::Dma && port.1 != number {
                    port.1 = number;
                    assert!(verify(&XDNA1, &streams, &other).is_err(), "{at} {hop} {number}");
                }
            }
        }
        let mut numbered = routes.clone();
        numbered[at].id = if streams[at].packets { None } else { Some(1) };
        assert_eq!(verify(&XDNA1, &streams, &numbered), Err(Misrouted::Number(at)));
    }
    let mut same = routes.clone();
    same[3].id = same[2].id;
    assert!(matches!(verify(&XDNA1, &streams, &same), Err(Misrouted::Shared(2, 3, _))));
    assert_eq!(verify(&XDNA1, &streams, &routes[1..]), Err(Misrouted::Count));
}
