//! The memory of fifos, and what moves objects between tiles.
//!
//! Objects lie in *pools*, rings of buffers on a tile with writers and readers. A slot is free for a writer once every reader has given it back, and full
//! for a reader once every writer has put in its part. Writers and readers are cores, which hold slots, and *streams*, which move bytes from one pool,
//! or from the host, to others.

use super::chain::Chain;
use super::order::Order;
use super::places::places;
use super::uses::Clock;
use super::{Allocation, not_run};
use crate::codes;
use crate::design::{Design, Fifo, Link};
use crate::device::{Direction, Tile};
use crate::mlir::{Dim, Op};
use std::collections::VecDeque;
use wsp_diag::{Diagnostic, Span};
use wsp_ordered::OrderedMap;

pub(super) type Made<T> = Result<T, Box<Diagnostic>>;

/// Most objects of a fifo on a tile: a memory tile has room for as many words.
const MOST_OBJECTS: u32 = 1 << 17;

/// A ring of buffers on a tile.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) tile: Tile,
    /// The buffers.
    pub(crate) slots: Vec<usize>,
    /// Objects that each writer has put in.
    pub(super) written: Vec<u64>,
    /// Objects that each reader has given back.
    pub(super) read: Vec<u64>,
    /// Bytes of an object.
    pub(crate) bytes: u64,
}

impl Pool {
    /// Objects that all writers have put in.
    pub(super) fn full(&self) -> u64 {
        self.written.iter().copied().min().unwrap_or(0)
    }

    /// Objects that all readers have given back.
    pub(super) fn freed(&self) -> u64 {
        self.read.iter().copied().min().unwrap_or(0)
    }

    /// The buffer of an object.
    pub(super) fn slot(&self, object: u64) -> usize {
        self.slots[(object % self.slots.len() as u64) as usize]
    }

    /// Whether a writer may fill its object `ahead` of those that it has put in.
    pub(super) fn has_room(&self, writer: usize, ahead: u64) -> bool {
        self.written[writer] + ahead < self.freed() + self.slots.len() as u64
    }

    /// Whether a reader may use its object `ahead` of those that it has given back.
    pub(super) fn has_object(&self, reader: usize, ahead: u64) -> bool {
        self.read[reader] + ahead < self.full()
    }
}

/// Who puts objects into a pool, or takes them: `usize` is the place among writers or readers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Writer(usize),
    Reader(usize),
}

impl Role {
    /// Whether it takes objects.
    pub(super) fn reads(self) -> bool {
        matches!(self, Role::Reader(_))
    }
}

/// A core's end of a fifo.
#[derive(Debug)]
pub(super) struct CoreEnd {
    pub(super) fifo: usize,
    pub(super) pool: usize,
    pub(super) role: Role,
    /// Objects that the core holds.
    pub(super) held: u64,
    pub(super) core: usize,
}

/// A transfer of the host.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// The buffer of the host's array.
    pub(super) array: usize,
    /// Where it begins, in bytes.
    pub(super) offset: i64,
    /// How often the whole is done, and how far apart: the place counts up to the size and begins again.
    pub(super) rounds: u64,
    pub(super) iteration: (u64, i64),
    /// Sizes, and strides in bytes, the outermost first.
    pub(super) dims: Vec<(u64, i64)>,
    pub(super) element: u64,
    /// Bytes of one round, and bytes that are done.
    pub(super) round_bytes: u64,
    pub(super) done: u64,
    /// It is done behind the one before it, in its place of the queue.
    pub(super) follows: bool,
    /// Its end can be waited for.
    pub(super) token: bool,
    /// Its number among all transfers of a launch.
    pub(super) number: usize,
    /// After what the host started it.
    pub(super) after: Clock,
}

impl Task {
    pub(super) fn bytes(&self) -> u64 {
        self.rounds * self.round_bytes
    }

    /// Where the next byte is, and how many follow it in memory.
    pub(super) fn run(&self) -> (i64, u64) {
        let (round, mut within) = (self.done / self.round_bytes, self.done % self.round_bytes);
        let byte = within % self.element;
        within /= self.element;
        let iterated = ((round % self.iteration.0.max(1)) as i64).saturating_mul(self.iteration.1);
        let mut at = self.offset.saturating_add(iterated).saturating_add(byte as i64);
        let mut left = 1;
        for (i, (size, stride)) in self.dims.iter().rev().enumerate() {
            let index = within % size;
            at = at.saturating_add((index as i64).saturating_mul(*stride));
            if i == 0 && *stride == self.element as i64 {
                left = size - index;
            }
            within /= size;
        }
        (at, left * self.element - byte)
    }
}

/// One end of a stream.
#[derive(Debug)]
pub(super) enum StreamEnd {
    /// Objects of a pool.
    Pool {
        pool: usize,
        role: Role,
        /// The part of the object, in bytes.
        from: u64,
        len: u64,
        /// The place of each element of the object, where the order is not that of memory; with the bytes of an element.
        order: Option<(Vec<u32>, u64)>,
        /// How often an object is sent.
        repeat: u32,
        /// How often the current one was, and how many of its bytes are.
        sent: u32,
        done: u64,
    },
    /// A chain of descriptors of a tile's own.
    Chain(Chain),
    /// Memory of the host, by the name of the fifo or channel; and the channel, where it is known.
    Host {
        symbol: String,
        channel: Option<(Tile, Direction, i64)>,
        queue: VecDeque<Task>,
        /// Transfers that told their end and were not waited for, by number.
        ended: VecDeque<usize>,
    },
}

/// A stream from one end to others, each of which gets every byte.
#[derive(Debug)]
pub(super) struct Stream {
    /// What it is called in messages.
    pub(super) name: String,
    /// Which packets of the design it carries.
    pub(super) packets: Option<usize>,
    pub(super) from: StreamEnd,
    pub(super) to: Vec<StreamEnd>,
}

/// Everything that moves objects.
#[derive(Debug, Default)]
pub(crate) struct Net {
    pub(crate) pools: Vec<Pool>,
    pub(super) streams: Vec<Stream>,
    pub(super) ends: Vec<CoreEnd>,
    /// Only whether objects come is looked at, and not what they are.
    pub(super) tokens: bool,
    /// Streams that share an arbiter, and which of them has it.
    pub(super) arbiters: Vec<(Vec<usize>, Option<usize>)>,
    /// Values of locks.
    pub(super) locks: Vec<i64>,
    /// Bytes of each buffer.
    pub(super) buffers: Vec<u64>,
    /// Pools of the ends of fifos: of the producer, and of each consumer.
    pub(super) of_fifo: Vec<Vec<Option<(usize, Role)>>>,
    made: OrderedMap<(usize, usize, bool), usize>,
    /// What is ordered after what, where several use a buffer.
    pub(super) order: Option<Box<Order>>,
    /// The core that acquires what several release, while nothing else goes on.
    pub(super) eager: Option<usize>,
}

/// The most objects that a core holds of a fifo at once.
fn most_acquired(design: &Design, tile: Tile, fifo: &str) -> u32 {
    let mut most = 0;
    let mut see = |op: &Op| {
        if op.name == "aie.objectfifo.acquire" && op.find_name("objFifo_name") == Some(fifo) {
            most = most.max(op.find_int("size").and_then(|size| u32::try_from(size).ok()).unwrap_or(0));
        }
    };
    for core in design.cores.iter().filter(|core| core.tile == tile) {
        for op in core.body.blocks.iter().flat_map(|block| &block.ops) {
            op.walk(&mut see);
        }
    }
    most
}

/// How many objects an end has room for.
pub(crate) fn depth(design: &Design, fifo: &Fifo, tile: Tile, declared: u32, allocation: Allocation) -> u32 {
    let most = most_acquired(design, tile, &fifo.name);
    // A list of depths is taken as it is, as is one object of which one is held.
    let as_declared = match allocation {
        Allocation::Declared => true,
        Allocation::Lowered => false,
        Allocation::LoweredBut(other) => design.fifos.get(other).is_some_and(|other| other.name == fifo.name),
    };
    if as_declared || most == 0 || fifo.depths.len() > 1 || most == 1 && declared == 1 {
        return declared;
    }
    most.saturating_add(1)
}

impl Net {
    /// The net of a design.
    pub(crate) fn new(design: &Design, allocation: Allocation) -> Made<Net> {
        let mut net = Net::default();
        for buffer in &design.buffers {
            net.buffers.push(design.module.ty(buffer.value).bytes().unwrap_or(0));
        }
        net.locks = design.locks.iter().map(|lock| lock.init).collect();
        net.of_fifo = design.fifos.iter().map(|fifo| vec![None; fifo.consumers.len() + 1]).collect();
        for link in &design.links {
            net.link(design, link, allocation)?;
        }
        for (i, fifo) in design.fifos.iter().enumerate() {
            net.fifo(design, i, fifo, allocation)?;
        }
        Ok(net)
    }

    fn pool(
        &mut self,
        tile: Tile,
        depth: u32,
        fifo: &Fifo,
        bytes: u64,
        users: (usize, usize),
    ) -> Made<usize> {
        if depth == 0 || depth > MOST_OBJECTS {
            let message = format!(
                "fifo `@{}` has {depth} objects on tile {tile}; 1 to {MOST_OBJECTS} are taken",
                fifo.name
            );
            return Err(Box::new(Diagnostic::error(codes::DEPTH, message).at(fifo.span, "")));
        }
        let first = self.buffers.len();
        self.buffers.extend(std::iter::repeat_n(bytes, depth as usize));
        let slots = (first..self.buffers.len()).collect();
        let (writers, readers) = users;
        self.pools.push(Pool { tile, slots, written: vec![0; writers], read: vec![0; readers], bytes });
        Ok(self.pools.len() - 1)
    }

    /// The pool that fifos share on the tile where some end and others begin.
    fn link(&mut self, design: &Design, link: &Link, allocation: Allocation) -> Made<()> {
        let find = |name: &String| {
            let found = design.fifos.iter().position(|fifo| fifo.name == *name);
            found.ok_or_else(|| {
                Box::new(Diagnostic::error(codes::SYMBOL, format!("no fifo `@{name}`")).at(link.span, ""))
            })
        };
        let ins = link.ins.iter().map(find).collect::<Made<Vec<usize>>>()?;
        let outs = link.outs.iter().map(find).collect::<Made<Vec<usize>>>()?;
        let Some(tile) = outs.first().map(|out| design.fifos[*out].producer.tile) else {
            return Err(not_run("a link without fifos that begin there", link.span));
        };
        let mut largest: Option<(u64, u32)> = None;
        let mut consider = |bytes: u64, depth: u32| {
            largest = Some(largest.map_or((bytes, depth), |have| have.max((bytes, depth))))
        };
        let mut in_ends = Vec::new();
        for i in &ins {
            let fifo = &design.fifos[*i];
            let Some(end) = fifo.consumers.iter().position(|end| end.tile == tile) else {
                return Err(not_run(
                    &format!("a link of `@{}`, which does not end on tile {tile}", fifo.name),
                    link.span,
                ));
            };
            consider(fifo.bytes(), depth(design, fifo, tile, fifo.consumer_depth(end), allocation));
            in_ends.push(end);
        }
        for out in &outs {
            let fifo = &design.fifos[*out];
            consider(fifo.bytes(), depth(design, fifo, tile, fifo.producer_depth(), allocation));
        }
        let (bytes, depth) = largest.unwrap_or((0, 0));
        let pool = self.pool(tile, depth, &design.fifos[outs[0]], bytes, (ins.len(), outs.len()))?;
        for (writer, (fifo, end)) in ins.iter().zip(in_ends).enumerate() {
            self.of_fifo[*fifo][end + 1] = Some((pool, Role::Writer(writer)));
        }
        for (reader, fifo) in outs.iter().enumerate() {
            self.of_fifo[*fifo][0] = Some((pool, Role::Reader(reader)));
        }
        Ok(())
    }

    fn fifo(&mut self, design: &Design, at: usize, fifo: &Fifo, allocation: Allocation) -> Made<()> {
        let depth_at = |tile, declared| depth(design, fifo, tile, declared, allocation);
        let linked = self.of_fifo[at].iter().any(Option::is_some);
        if fifo.is_shared() && !linked {
            let (producer, consumer) = (fifo.producer.tile, fifo.consumers[0].tile);
            let depth =
                depth_at(producer, fifo.producer_depth()).max(depth_at(consumer, fifo.producer_depth()));
            let pool =
                self.pool(fifo.home.unwrap_or(fifo.shared_home()), depth, fifo, fifo.bytes(), (1, 1))?;
            self.of_fifo[at] = vec![Some((pool, Role::Writer(0))), Some((pool, Role::Reader(0)))];
            return Ok(());
        }
        let from = match (fifo.producer.tile.row, self.of_fifo[at][0]) {
            (0, _) => host(fifo),
            (_, Some((pool, role))) => {
                self.part(design, at, pool, role, &fifo.producer.dims, fifo.repeat.unwrap_or(1))?
            }
            (_, None) => {
                let depth = depth_at(fifo.producer.tile, fifo.producer_depth());
                let pool = self.pool(fifo.producer.tile, depth, fifo, fifo.bytes(), (1, 1))?;
                self.of_fifo[at][0] = Some((pool, Role::Writer(0)));
                self.part(design, at, pool, Role::Reader(0), &fifo.producer.dims, fifo.repeat.unwrap_or(1))?
            }
        };
        let mut to = Vec::new();
        for (i, end) in fifo.consumers.iter().enumerate() {
            to.push(match (end.tile.row, self.of_fifo[at][i + 1]) {
                (0, _) => host(fifo),
                (_, Some((pool, role))) => self.part(design, at, pool, role, &end.dims, 1)?,
                (_, None) => {
                    let depth = depth_at(end.tile, fifo.consumer_depth(i));
                    let pool = self.pool(end.tile, depth, fifo, fifo.bytes(), (1, 1))?;
                    self.of_fifo[at][i + 1] = Some((pool, Role::Reader(0)));
                    self.part(design, at, pool, Role::Writer(0), &end.dims, 1)?
                }
            });
        }
        let name = format!("the stream of `@{}`", fifo.name);
        self.streams.push(Stream { name, packets: None, from, to });
        Ok(())
    }

    /// The end of a stream at a pool.
    fn part(
        &self,
        design: &Design,
        at: usize,
        pool: usize,
        role: Role,
        dims: &[Dim],
        repeat: u32,
    ) -> Made<StreamEnd> {
        let fifo = &design.fifos[at];
        let size = self.pools[pool].bytes;
        let element = fifo.object.element_bytes().unwrap_or(1).max(1);
        let (offset, part) = offset_of(design, &fifo.name, role);
        let from = offset.saturating_mul(element);
        let mut len = if part { fifo.bytes() } else { size };
        let mut order = None;
        if !dims.is_empty() {
            let places = places(dims, fifo.elements()).ok_or_else(|| {
                let message = format!(
                    "the dimensions of fifo `@{}` name elements that its objects do not have",
                    fifo.name
                );
                Box::new(Diagnostic::error(codes::TRANSFER, message).at(fifo.span, ""))
            })?;
            if part || size == fifo.bytes() {
                len = places.len() as u64 * element;
            } else {
                return Err(not_run(
                    "dimensions of a fifo whose objects are parts of those of another",
                    fifo.span,
                ));
            }
            order = Some((places, element));
        }
        if from.saturating_add(len.max(fifo.bytes().min(size))) > size && order.is_none() || len == 0 {
            let message =
                format!("fifo `@{}` has no part of {len} bytes at byte {from} of {size}", fifo.name);
            return Err(Box::new(Diagnostic::error(codes::LINK, message).at(fifo.span, "")));
        }
        Ok(StreamEnd::Pool { pool, role, from, len, order, repeat: repeat.max(1), sent: 0, done: 0 })
    }

    /// The number of the first object that a core's end holds.
    pub(super) fn first(&self, end: &CoreEnd) -> u64 {
        let pool = &self.pools[end.pool];
        match end.role {
            Role::Writer(writer) => pool.written[writer],
            Role::Reader(reader) => pool.read[reader],
        }
    }

    /// The end that a core has of a fifo.
    pub(super) fn core_end(
        &mut self,
        design: &Design,
        core: usize,
        name: &str,
        produces: bool,
        span: Span,
    ) -> Made<usize> {
        let tile = design.cores[core].tile;
        let fault = |message: String| Err(Box::new(Diagnostic::error(codes::PORT, message).at(span, "")));
        let Some(fifo) = design.fifos.iter().position(|fifo| fifo.name == name) else {
            return Err(Box::new(
                Diagnostic::error(codes::SYMBOL, format!("no fifo `@{name}`")).at(span, ""),
            ));
        };
        let at = match produces {
            true => (design.fifos[fifo].producer.tile == tile).then_some(0),
            false => design.fifos[fifo].consumers.iter().position(|end| end.tile == tile).map(|at| at + 1),
        };
        let Some(at) = at else {
            let what = if produces { "produce" } else { "consume" };
            return fault(format!("the core on tile {tile} does not {what} objects of `@{name}`"));
        };
        if let Some(end) = self.made.get(&(core, fifo, produces)) {
            return Ok(*end);
        }
        let (pool, role) = match self.of_fifo[fifo][at] {
            Some((pool, role @ Role::Writer(_))) if produces => (pool, role),
            Some((pool, role @ Role::Reader(_))) if !produces => (pool, role),
            _ => {
                return fault(format!(
                    "objects of `@{name}` go on through a link; the core on tile {tile} has none of them"
                ));
            }
        };
        self.ends.push(CoreEnd { fifo, pool, role, held: 0, core });
        self.made.insert((core, fifo, produces), self.ends.len() - 1);
        Ok(self.ends.len() - 1)
    }
}

/// The host's end of a fifo.
fn host(fifo: &Fifo) -> StreamEnd {
    StreamEnd::Host {
        symbol: fifo.name.clone(),
        channel: None,
        queue: VecDeque::new(),
        ended: VecDeque::new(),
    }
}

/// Where objects of a fifo lie in those of the pool that a link makes, in elements, and whether they are a part of them.
fn offset_of(design: &Design, name: &str, role: Role) -> (u64, bool) {
    for link in &design.links {
        let (names, offsets, of) = match role {
            Role::Writer(_) => (&link.ins, &link.join, &link.outs),
            Role::Reader(_) => (&link.outs, &link.distribute, &link.ins),
        };
        let Some(at) = names.iter().position(|have| have == name) else { continue };
        let offset = offsets.get(at).and_then(|offset| u64::try_from(*offset).ok()).unwrap_or(0);
        return (offset, names.len() > 1 && of.len() == 1);
    }
    (0, false)
}
