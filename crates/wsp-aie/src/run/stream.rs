//! Streams: each moves bytes until one of its ends lacks something.

use super::chain::{Chain, Overflow};
use super::net::{Net, Pool, Role, StreamEnd};
use super::races;

/// What a stream's end waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lack {
    /// An object of a pool.
    Object(usize),
    /// A free slot of a pool.
    Room(usize),
    /// A transfer of the host, by the name of the fifo or channel.
    Transfer(usize),
    /// A lock.
    Lock(usize),
    /// More of a chain that has ended.
    Ended,
    /// The arbiter that another stream has.
    Arbiter(usize),
}

impl StreamEnd {
    /// Where the next bytes are: the buffer, the first byte, and how many follow it; or what it lacks.
    fn run(&self, net: &Net, at: usize) -> Result<(usize, i64, u64), Lack> {
        match self {
            StreamEnd::Chain(chain) => chain_run(chain, net),
            StreamEnd::Host { queue, .. } => {
                let task = queue.front().ok_or(Lack::Transfer(at))?;
                let (at, bytes) = if net.tokens { (0, task.bytes() - task.done) } else { task.run() };
                Ok((task.array, at, bytes))
            }
            StreamEnd::Pool { pool, role, from, len, order, done, .. } => {
                let held = &net.pools[*pool];
                let object = match role {
                    Role::Writer(writer) if held.has_room(*writer, 0) => held.written[*writer],
                    Role::Writer(_) => return Err(Lack::Room(*pool)),
                    Role::Reader(reader) if held.has_object(*reader, 0) => held.read[*reader],
                    Role::Reader(_) => return Err(Lack::Object(*pool)),
                };
                let order = order.as_ref().filter(|_| !net.tokens);
                let (at, bytes) = within(*from, *len, order, *done);
                Ok((held.slot(object), at as i64, bytes))
            }
        }
    }

    /// Whether it has ended an object, a descriptor or a round of a transfer, and not begun the next.
    fn is_between(&self) -> bool {
        match self {
            StreamEnd::Host { queue, .. } => {
                queue.front().is_none_or(|task| task.done.is_multiple_of(task.round_bytes))
            }
            StreamEnd::Pool { done, .. } => *done == 0,
            StreamEnd::Chain(chain) => chain.done == 0,
        }
    }

    /// Goes on by some bytes; an object or a transfer that is done is given on.
    fn advance(
        &mut self,
        bytes: u64,
        pools: &mut [Pool],
        locks: &mut [i64],
        finished_tasks: &mut Vec<usize>,
    ) -> Result<(), Overflow> {
        match self {
            StreamEnd::Chain(chain) => chain.advance(bytes, locks)?,
            StreamEnd::Host { queue, ended, .. } => {
                let Some(task) = queue.front_mut() else { return Ok(()) };
                task.done += bytes;
                if task.done == task.bytes() {
                    ended.extend(task.token.then_some(task.number));
                    finished_tasks.push(task.number);
                    queue.pop_front();
                }
            }
            StreamEnd::Pool { pool, role, len, repeat, sent, done, .. } => {
                *done += bytes;
                if *done < *len {
                    return Ok(());
                }
                *done = 0;
                *sent += 1;
                if *sent < *repeat {
                    return Ok(());
                }
                *sent = 0;
                match role {
                    Role::Writer(writer) => pools[*pool].written[*writer] += 1,
                    Role::Reader(reader) => pools[*pool].read[*reader] += 1,
                }
            }
        }
        Ok(())
    }
}

/// Where the byte `done` of a part of memory is, and how many follow it.
fn within(from: u64, len: u64, order: Option<&(Vec<u32>, u64)>, done: u64) -> (u64, u64) {
    match order {
        None => (from + done, len - done),
        Some((places, element)) => {
            let byte = done % element;
            (from + u64::from(places[(done / element) as usize]) * element + byte, element - byte)
        }
    }
}

fn chain_run(chain: &Chain, net: &Net) -> Result<(usize, i64, u64), Lack> {
    let bd = &chain.bds[chain.at.ok_or(Lack::Ended)?];
    if let Some(lock) = chain.lacks(&net.locks) {
        return Err(Lack::Lock(lock));
    }
    let order = bd.order.as_ref().filter(|_| !net.tokens);
    let (at, bytes) = within(bd.from, bd.len, order, chain.done);
    Ok((bd.buffer, at as i64, bytes))
}

/// What the ends of a stream lack; nothing where it can go on.
pub(super) fn lacks(net: &Net, at: usize) -> Vec<Lack> {
    let stream = &net.streams[at];
    let ends = std::iter::once(&stream.from).chain(&stream.to).enumerate();
    let mut lacks: Vec<Lack> = ends.filter_map(|(at, end)| end.run(net, at).err()).collect();
    let taken = net.arbiters.iter().filter(|(streams, _)| streams.contains(&at));
    lacks.extend(taken.filter_map(|(_, holder)| holder.filter(|holder| *holder != at)).map(Lack::Arbiter));
    lacks
}

/// What a stream did.
#[derive(Debug, Default)]
pub(super) struct Moved {
    /// Bytes, and in how many pieces.
    pub(super) bytes: u64,
    pub(super) pieces: u64,
    /// Transfers of the host that ended.
    pub(super) finished: Vec<usize>,
    /// A transfer that went beyond its array: the array, and the byte.
    pub(super) beyond: Option<(usize, i64)>,
    /// A lock that it released too often.
    pub(super) over: Option<Overflow>,
}

/// Copies bytes from one place to others; else which buffer they are beyond, and where.
fn copy(
    memory: &mut [Vec<u8>],
    scratch: &mut Vec<u8>,
    from: (usize, i64),
    to: &[(usize, i64, u64)],
    bytes: u64,
) -> Result<(), (usize, i64)> {
    let range = |at: i64, memory: &[u8]| {
        let start = usize::try_from(at).ok()?;
        let end = start.checked_add(bytes as usize)?;
        (end <= memory.len()).then_some(start..end)
    };
    let source = range(from.1, &memory[from.0]).ok_or(from)?;
    scratch.clear();
    scratch.extend_from_slice(&memory[from.0][source]);
    for (buffer, at, _) in to {
        let target = range(*at, &memory[*buffer]).ok_or((*buffer, *at))?;
        memory[*buffer][target].copy_from_slice(scratch);
    }
    Ok(())
}

/// Moves bytes until an end lacks something, or so many pieces were moved.
pub(super) fn go(
    net: &mut Net,
    at: usize,
    most: u64,
    (memory, scratch): (&mut [Vec<u8>], &mut Vec<u8>),
) -> Moved {
    let mut moved = Moved::default();
    while moved.pieces < most {
        let stream = &net.streams[at];
        let Ok((from, first, mut bytes)) = stream.from.run(net, 0) else { return moved };
        if !take_arbiter(&mut net.arbiters, at) {
            return moved;
        }
        let stream = &net.streams[at];
        let mut to = Vec::with_capacity(stream.to.len());
        for end in &stream.to {
            let Ok(run) = end.run(net, 0) else { return moved };
            bytes = bytes.min(run.2);
            to.push(run);
        }
        if !net.tokens
            && let Err(beyond) = copy(memory, scratch, (from, first), &to, bytes)
        {
            moved.beyond = Some(beyond);
            return moved;
        }
        moved.bytes += bytes;
        moved.pieces += 1;
        if let Some(order) = &mut net.order {
            races::piece(order, at, (&net.streams[at], &net.pools), bytes);
        }
        let stream = &mut net.streams[at];
        for end in std::iter::once(&mut stream.from).chain(&mut stream.to) {
            let done = end.advance(bytes, &mut net.pools, &mut net.locks, &mut moved.finished);
            if let Err(over) = done {
                moved.over = Some(over);
                return moved;
            }
        }
        if stream.from.is_between() {
            let held = net.arbiters.iter_mut().filter(|(_, holder)| *holder == Some(at));
            held.for_each(|(_, holder)| *holder = None);
        }
    }
    moved
}

/// Takes the arbiter that a stream needs, and holds it until the packet ends; whether it has it.
fn take_arbiter(arbiters: &mut [(Vec<usize>, Option<usize>)], at: usize) -> bool {
    let mut has = true;
    for (_, holder) in arbiters.iter_mut().filter(|(streams, _)| streams.contains(&at)) {
        has &= *holder.get_or_insert(at) == at;
    }
    has
}
