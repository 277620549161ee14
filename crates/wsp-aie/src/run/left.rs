//! Objects that a launch leaves in fifos, and that no core holds: the next launch takes them for its own.

use super::net::{CoreEnd, Net, Role, StreamEnd};
use super::own;
use crate::check::rates;
use crate::codes;
use crate::design::{Design, Sequence};
use std::collections::BTreeSet;
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedMap;

/// A warning for each fifo of the host in which a launch that has come to rest leaves objects: those out of which it takes too few, else those into which it sends too many.
pub(super) fn left(design: &Design, net: &Net, sequence: &Sequence) -> Vec<Diagnostic> {
    // What a core makes of nothing is the same in each launch where it does not tell one from the other.
    let changing = (0..design.cores.len()).filter(|core| own::differs(design, *core)).collect();
    let out: BTreeSet<usize> = near(net, Host::Empties).intersection(&fed(net, &changing)).copied().collect();
    let out = objects(net, &out);
    let (left, is_out) = match out.is_empty() {
        false => (out, true),
        true => (objects(net, &near(net, Host::Fills)), false),
    };
    let by_host = fed(net, &BTreeSet::new());
    let told = |(pool, count): &(usize, u64)| {
        let of_pool = |ends: &Vec<Option<(usize, Role)>>| ends.iter().flatten().any(|(at, _)| at == pool);
        let fifo = &design.fifos[net.of_fifo.iter().position(of_pool)?];
        let (name, tile) = (&fifo.name, net.pools[*pool].tile);
        let message = format!(
            "sequence `@{}` leaves {} of fifo `@{name}` on tile {tile}, which nothing takes: the next launch begins with them",
            sequence.name,
            wsp_core::words::counted(*count, "object")
        );
        let help = if is_out && !by_host.contains(pool) {
            "have the core take an object of the host for each that it makes: it makes as many ahead as the fifo holds else, however many are taken".to_owned()
        } else if is_out {
            format!("take {count} more out of it, or have the core make as many fewer")
        } else {
            format!("send {count} fewer into it, or have the core take as many more")
        };
        Some(Diagnostic::warning(codes::BALANCE, message).at(fifo.span, "").help(help).figure("left", *count))
    };
    left.iter().filter_map(told).chain(torn(design, net, sequence)).collect()
}

/// A warning for each core that makes unlike objects in a round, of nothing, and out of which a launch takes a part of a round.
fn torn(design: &Design, net: &Net, sequence: &Sequence) -> Vec<Diagnostic> {
    let fed = fed(net, &BTreeSet::new());
    let mut found = Vec::new();
    for (at, core) in design.cores.iter().enumerate() {
        let made =
            || net.ends.iter().filter(move |end| end.core == at && matches!(end.role, Role::Writer(_)));
        if own::differs(design, at)
            || !own::differs_within(design, at)
            || made().any(|end| fed.contains(&end.pool))
        {
            continue;
        }
        let Some(rates) = rates(core) else { continue };
        for end in made() {
            let fifo = &design.fifos[end.fifo];
            let key = (fifo.name.clone(), true);
            let of = |rates: &OrderedMap<(String, bool), u64>| rates.get(&key).copied().unwrap_or(0);
            let (once, each) = (of(&rates.once), of(&rates.each) / own::parts(design, at));
            let Some(taken) = taken((design, net, &fed), end.pool, net.pools.len()) else { continue };
            if each == 0 || taken <= once || (taken - once).is_multiple_of(each) {
                continue;
            }
            let more = each - (taken - once) % each;
            let message = format!(
                "sequence `@{}` takes {} of fifo `@{}`, of which the core on tile {} makes {each} in a round: the next launch begins in the middle of one",
                sequence.name,
                wsp_core::words::counted(taken, "object"),
                fifo.name,
                core.tile
            );
            let help = format!("take {more} more out of it, or {} fewer", each - more);
            found.push(Diagnostic::warning(codes::BALANCE, message).at(fifo.span, "").help(help));
        }
    }
    found
}

/// Objects of a pool that a launch has taken out of it, in equal parts: those that streams have handed on to the host, and those that cores give back which the host feeds too.
fn taken((design, net, fed): (&Design, &Net, &BTreeSet<usize>), pool: usize, left: usize) -> Option<u64> {
    let left = left.checked_sub(1)?;
    let mut found = None;
    for end in net.ends.iter().filter(|end| end.pool == pool) {
        let Role::Reader(reader) = end.role else { continue };
        let key = (design.fifos[end.fifo].name.clone(), false);
        let again = rates(&design.cores[end.core])?.each.get(&key).is_some_and(|each| *each > 0);
        let is_fed = net
            .ends
            .iter()
            .any(|other| other.core == end.core && other.role.reads() && fed.contains(&other.pool));
        let objects = net.pools[pool].read[reader];
        if !again || !is_fed || found.is_some_and(|found| found != objects) {
            return None;
        }
        found = Some(objects);
    }
    for stream in &net.streams {
        let StreamEnd::Pool { pool: from, role: Role::Reader(reader), len, repeat, .. } = &stream.from else {
            continue;
        };
        for end in stream.to.iter().filter(|_| *from == pool) {
            let objects = match end {
                StreamEnd::Host { .. } => net.pools[pool].read[*reader],
                StreamEnd::Pool { pool: next, len: part, .. } => {
                    let bytes = taken((design, net, fed), *next, left)?.checked_mul(*part)?;
                    let each = len * u64::from(*repeat);
                    (each > 0 && bytes.is_multiple_of(each)).then(|| bytes / each)?
                }
                StreamEnd::Chain(_) => return None,
            };
            if found.is_some_and(|found| found != objects) {
                return None;
            }
            found = Some(objects);
        }
    }
    found
}

/// What the host does at the other end of streams.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    Fills,
    Empties,
}

/// The pools that streams alone join to the host: those that it fills, or those that it empties.
fn near(net: &Net, host: Host) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let is_host = |end: &StreamEnd| matches!(end, StreamEnd::Host { .. });
    loop {
        let before = found.len();
        for stream in &net.streams {
            let is_near = |end: &StreamEnd| is_host(end) || pool(end).is_some_and(|at| found.contains(&at));
            let reached: Vec<usize> = if host == Host::Fills {
                if is_near(&stream.from) { stream.to.iter().filter_map(pool).collect() } else { Vec::new() }
            } else {
                let any = stream.to.iter().any(is_near);
                pool(&stream.from).into_iter().filter(|_| any).collect()
            };
            found.extend(reached);
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The pools that streams and cores fill with what comes of the host, or of cores that change by themselves.
fn fed(net: &Net, changing: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut found = near(net, Host::Fills);
    loop {
        let before = found.len();
        let reads = |core: usize| {
            // What a core takes and holds for ever feeds no round of it.
            let gives = |end: &CoreEnd| matches!(end.role, Role::Reader(reader) if net.pools[end.pool].read[reader] > 0);
            let is = |end: &&CoreEnd| end.core == core && found.contains(&end.pool);
            net.ends.iter().filter(is).any(gives)
        };
        let is_changed = |end: &&CoreEnd| {
            matches!(end.role, Role::Writer(_)) && (changing.contains(&end.core) || reads(end.core))
        };
        let written = net.ends.iter().filter(is_changed);
        let mut next: BTreeSet<usize> = written.map(|end| end.pool).collect();
        for stream in &net.streams {
            if pool(&stream.from).is_some_and(|at| found.contains(&at)) {
                next.extend(stream.to.iter().filter_map(pool));
            }
        }
        found.extend(next);
        if found.len() == before {
            return found;
        }
    }
}

fn pool(end: &StreamEnd) -> Option<usize> {
    if let StreamEnd::Pool { pool, .. } = end { Some(*pool) } else { None }
}

/// Objects of pools that are full and that none of their readers has or holds.
fn objects(net: &Net, pools: &BTreeSet<usize>) -> Vec<(usize, u64)> {
    let held = |pool: usize, reader: usize| {
        let is = |end: &&CoreEnd| end.pool == pool && end.role == Role::Reader(reader);
        net.ends.iter().find(is).map_or(0, |end| end.held)
    };
    let count = |pool: &usize| {
        let of = &net.pools[*pool];
        let open = |(reader, read): (usize, &u64)| of.full().saturating_sub(read + held(*pool, reader));
        let most = of.read.iter().enumerate().map(open).max().unwrap_or(0);
        (most > 0).then_some((*pool, most))
    };
    pools.iter().filter_map(count).collect()
}
