//! Who waits for whom where nothing goes on.

use super::chain::{Bd, lock_name};
use super::code::Inst;
use super::exec::{CoreState, Stop};
use super::net::{Net, Role, StreamEnd};
use super::sequence::{HostWait, Running};
use super::stream::{Lack, lacks};
use crate::codes;
use crate::design::Design;
use std::collections::BTreeSet;
use wsp_diag::Diagnostic;

/// One that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waits {
    /// What it is: the host, a core or the stream of a fifo.
    pub who: String,
    /// What it waits for.
    pub what: String,
    /// Who could help, by their places in [`Deadlock::waits`].
    pub on: Vec<usize>,
    /// Fifos in which it waits for room, by number.
    pub(crate) full: Vec<usize>,
}

/// A run that cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadlock {
    /// Everything that waits, and what it waits for.
    pub waits: Vec<Waits>,
    /// From what the host waits for to its cause, by places in `waits`.
    pub chain: Vec<usize>,
    /// Where the chain closes to a circle: the place in `chain` that its last waits for. None where the last waits for what never comes.
    pub circle: Option<usize>,
}

impl Deadlock {
    /// The fifos that are full in the circle, by number: with more objects it need not close.
    pub(crate) fn full(&self) -> BTreeSet<usize> {
        let circle = self.circle.map_or(&[][..], |begin| &self.chain[begin..]);
        circle.iter().flat_map(|at| self.waits[*at].full.iter().copied()).collect()
    }

    /// What is reported of it.
    pub fn diagnostic(&self) -> Diagnostic {
        let first = self.chain.first().map_or("nothing", |at| self.waits[*at].who.as_str());
        let kind = if self.circle.is_some() {
            "each waits for the next in a circle"
        } else {
            "what is waited for never comes"
        };
        let mut fault =
            Diagnostic::error(codes::DEADLOCK, format!("the design hangs: {kind}, and {first} waits for it"));
        for (i, at) in self.chain.iter().enumerate() {
            let waits = &self.waits[*at];
            let mark = if self.circle == Some(i) { " (the circle begins here)" } else { "" };
            fault = fault.note(format!("{}. {} waits for {}{mark}", i + 1, waits.who, waits.what));
        }
        if let (Some(circle), Some(_)) = (self.circle, self.chain.last()) {
            fault = fault.note(format!("… which is {} again", self.waits[self.chain[circle]].who));
        }
        fault.figure("waits", self.waits.len() as u64)
    }
}

/// Places of everything in a report.
struct Places {
    streams: usize,
}

impl Places {
    const HOST: usize = 0;

    fn stream(at: usize) -> usize {
        1 + at
    }

    fn core(&self, at: usize) -> usize {
        1 + self.streams + at
    }
}

/// The report of a run that stands still.
pub(super) fn report(
    design: &Design,
    net: &Net,
    running: &Running,
    stops: &[Stop],
    cores: &[CoreState],
) -> Deadlock {
    let places = Places { streams: net.streams.len() };
    let mut waits = vec![host(design, net, running)];
    for at in 0..net.streams.len() {
        waits.push(stream(design, net, running, at, cores, &places));
    }
    for (at, stop) in stops.iter().enumerate() {
        waits.push(core(design, net, at, *stop, cores, &places));
    }
    let start = if running.is_over() {
        let busy = |end: &StreamEnd| matches!(end, StreamEnd::Host { queue, .. } if !queue.is_empty());
        let stream = net.streams.iter().position(|stream| busy(&stream.from) || stream.to.iter().any(busy));
        let core = stops.iter().position(|stop| *stop != Stop::Ended);
        stream.map(Places::stream).or(core.map(|at| places.core(at))).unwrap_or(Places::HOST)
    } else {
        Places::HOST
    };
    let (chain, circle) = cause(&waits, start);
    Deadlock { waits, chain, circle }
}

fn host(design: &Design, net: &Net, running: &Running) -> Waits {
    let name = |stream: usize| net.streams[stream].name.as_str();
    let (what, on) = match running.waits(design, net) {
        Some(HostWait::End(at)) => {
            (format!("the end of a transfer of {}", name(at)), vec![Places::stream(at)])
        }
        Some(HostWait::Queue(at)) => (format!("room in the queue of {}", name(at)), vec![Places::stream(at)]),
        None => ("nothing".to_owned(), Vec::new()),
    };
    Waits { who: "the host".to_owned(), what, on, full: Vec::new() }
}

fn stream(
    design: &Design,
    net: &Net,
    running: &Running,
    at: usize,
    cores: &[CoreState],
    places: &Places,
) -> Waits {
    let mut what = Vec::new();
    let (mut on, mut full) = (Vec::new(), Vec::new());
    for lack in lacks(net, at) {
        match lack {
            Lack::Object(pool) => {
                what.push(format!("an object on tile {}", net.pools[pool].tile));
                on.extend(writers(net, pool, places));
            }
            Lack::Room(pool) => {
                let pool_of = &net.pools[pool];
                what.push(format!(
                    "room on tile {}, where all {} objects are in use",
                    pool_of.tile,
                    pool_of.slots.len()
                ));
                on.extend(readers(net, pool, places));
                full.extend(fifos(net, pool));
            }
            Lack::Lock(lock) => {
                what.push(lock_name(design, lock));
                on.extend(releases(net, cores, lock, places));
            }
            Lack::Arbiter(holder) => {
                what.push(format!("the arbiter that {} holds", net.streams[holder].name));
                on.push(Places::stream(holder));
            }
            Lack::Ended => what.push("more of a chain of descriptors that has ended".to_owned()),
            Lack::Transfer(end) => {
                if !running.will_start(design, net, (at, end)) {
                    what.push("a transfer of the host, whose sequence starts no other".to_owned());
                } else {
                    what.push("a transfer of the host".to_owned());
                    on.push(Places::HOST);
                }
            }
        }
    }
    Waits { who: net.streams[at].name.clone(), what: what.join(", and for "), on, full }
}

/// The fifos that have their objects in a pool, by number.
fn fifos(net: &Net, pool: usize) -> impl Iterator<Item = usize> {
    let is_there = move |ends: &Vec<Option<(usize, Role)>>| ends.iter().flatten().any(|(of, _)| *of == pool);
    net.of_fifo.iter().enumerate().filter(move |(_, ends)| is_there(ends)).map(|(fifo, _)| fifo)
}

/// Who is last to put objects into a pool.
fn writers(net: &Net, pool: usize, places: &Places) -> Vec<usize> {
    let full = net.pools[pool].full();
    users(
        net,
        pool,
        places,
        &|role| matches!(role, Role::Writer(writer) if net.pools[pool].written[writer] == full),
    )
}

/// Who is last to give objects of a pool back.
fn readers(net: &Net, pool: usize, places: &Places) -> Vec<usize> {
    let freed = net.pools[pool].freed();
    users(
        net,
        pool,
        places,
        &|role| matches!(role, Role::Reader(reader) if net.pools[pool].read[reader] == freed),
    )
}

fn users(net: &Net, pool: usize, places: &Places, wanted: &dyn Fn(Role) -> bool) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, stream) in net.streams.iter().enumerate() {
        for end in std::iter::once(&stream.from).chain(&stream.to) {
            if matches!(end, StreamEnd::Pool { pool: of, role, .. } if *of == pool && wanted(*role)) {
                found.push(Places::stream(at));
            }
        }
    }
    let ends = net.ends.iter().filter(|end| end.pool == pool && wanted(end.role));
    found.extend(ends.map(|end| places.core(end.core)));
    found
}

fn core(design: &Design, net: &Net, at: usize, stop: Stop, cores: &[CoreState], places: &Places) -> Waits {
    let who = format!("the core on tile {}", design.cores[at].tile);
    let mut full = Vec::new();
    let (what, on) = match stop {
        Stop::Ended => ("nothing: it has ended".to_owned(), Vec::new()),
        Stop::Steps => ("nothing".to_owned(), Vec::new()),
        Stop::End { end, count } => {
            let held = &net.ends[end];
            let name = &design.fifos[held.fifo].name;
            let depth = net.pools[held.pool].slots.len();
            match held.role {
                Role::Reader(_) => {
                    let what = format!(
                        "object {count} of `@{name}`, of which it holds {} and {depth} have a buffer",
                        held.held
                    );
                    (what, writers(net, held.pool, places))
                }
                Role::Writer(_) => {
                    full.extend(fifos(net, held.pool));
                    let what = format!(
                        "room for object {count} in `@{name}`, of which it holds {} and {depth} have a buffer",
                        held.held
                    );
                    (what, readers(net, held.pool, places))
                }
            }
        }
        Stop::Lock { lock, value, exact } => {
            let how = if exact { "to be" } else { "to be at least" };
            (format!("{} {how} {value}", lock_name(design, lock)), releases(net, cores, lock, places))
        }
    };
    Waits { who, what, on, full }
}

/// Who adds to a lock.
fn releases(net: &Net, cores: &[CoreState], lock: usize, places: &Places) -> Vec<usize> {
    let of_bd = |bd: &Bd| bd.release.iter().any(|(of, ..)| *of == lock);
    let in_chain = |end: &StreamEnd| matches!(end, StreamEnd::Chain(chain) if chain.bds.iter().any(of_bd));
    let streams = net.streams.iter().enumerate();
    let streams = streams.filter(|(_, stream)| in_chain(&stream.from) || stream.to.iter().any(in_chain));
    let release = |inst: &Inst| matches!(inst, Inst::Lock { lock: of, action: 1, .. } if *of == lock);
    let cores = cores.iter().enumerate().filter(|(_, core)| core.code.insts.iter().any(release));
    streams.map(|(at, _)| Places::stream(at)).chain(cores.map(|(at, _)| places.core(at))).collect()
}

/// The way from one that waits to a circle, or to one that waits for what never comes; of several the first that is met.
fn cause(waits: &[Waits], start: usize) -> (Vec<usize>, Option<usize>) {
    let mut path: Vec<(usize, usize)> = vec![(start, 0)];
    let mut seen = vec![false; waits.len()];
    seen[start] = true;
    let mut open = None;
    while let Some((at, next)) = path.last_mut() {
        let Some(on) = waits[*at].on.get(*next).copied() else {
            if waits[*at].on.is_empty() && open.is_none() {
                open = Some(path.iter().map(|(at, _)| *at).collect::<Vec<_>>());
            }
            path.pop();
            continue;
        };
        *next += 1;
        if let Some(circle) = path.iter().position(|(at, _)| *at == on) {
            return (path.iter().map(|(at, _)| *at).collect(), Some(circle));
        }
        if !seen[on] {
            seen[on] = true;
            path.push((on, 0));
        }
    }
    (open.unwrap_or_else(|| vec![start]), None)
}
