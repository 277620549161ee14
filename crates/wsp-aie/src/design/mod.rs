//! A design: what is on which tile of an array, how data moves between them, and what the host starts.
//!
//! Lowering builds a [`Design`], [`Design::module`] writes it as operations for the printer, and [`Design::read`] takes the operations of a parsed file back.
//! Checker and interpreter see designs only.

mod effect;
mod ends;
mod lists;
mod read;
mod step;
mod user;
mod write;

pub(crate) use effect::Effect;
pub(crate) use step::packet;
pub use step::{Length, Move, Parameter, Repeat, Step, steps};
pub(crate) use user::User;

use crate::device::{Bundle, Device, Direction, Tile};
use crate::mlir::{Attr, Dim, Module, Op, Region, Type, Value, text_of};
use wsp_diag::Span;

/// A design for one device.
#[derive(Clone, PartialEq, Debug)]
pub struct Design {
    /// Its name; empty without.
    pub name: String,
    /// The array.
    pub device: Device,
    /// The values of its operations. Those of bodies are numbers of this list, and its operations are empty.
    pub module: Module,
    /// Tiles that it uses.
    pub tiles: Vec<TileUse>,
    /// Functions that its cores call: kernels that are linked, by their names.
    pub kernels: Vec<Kernel>,
    /// Memory of its own on tiles.
    pub buffers: Vec<Buffer>,
    /// Locks of its own.
    pub locks: Vec<Lock>,
    /// Fifos of objects.
    pub fifos: Vec<Fifo>,
    /// Fifos that go on in others through a tile's memory.
    pub links: Vec<Link>,
    /// Streams that own their ports.
    pub flows: Vec<Flow>,
    /// Streams of packets, which share ports.
    pub packets: Vec<PacketFlow>,
    /// Streams between neighbouring cores.
    pub cascades: Vec<Cascade>,
    /// Channels of shim tiles by name.
    pub allocations: Vec<Allocation>,
    /// What cores run.
    pub cores: Vec<Core>,
    /// What channels of tiles run.
    pub dmas: Vec<TileDma>,
    /// What the host starts.
    pub sequences: Vec<Sequence>,
}

/// A tile that a design uses.
#[derive(Clone, PartialEq, Debug)]
pub struct TileUse {
    /// The value that stands for it.
    pub value: Value,
    /// Where it is.
    pub tile: Tile,
    /// `allocation_scheme`, where it is given.
    pub scheme: Option<String>,
    /// Where it is written.
    pub span: Span,
}

/// A function that cores call.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// Its symbol.
    pub name: String,
    /// Types of its arguments.
    pub inputs: Vec<Type>,
    /// Types of its results.
    pub outputs: Vec<Type>,
    /// The object file that has it, where that is said here.
    pub link_with: Option<String>,
    /// Where it is written.
    pub span: Span,
}

/// Memory of a tile.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// The value that stands for it; its type is that of the memory.
    pub value: Value,
    /// The tile.
    pub tile: Tile,
    /// Its symbol, where it has one.
    pub name: Option<String>,
    /// Where it begins, in bytes, where that is fixed.
    pub address: Option<u64>,
    /// Its bank, where that is fixed.
    pub bank: Option<u32>,
    /// Where it is written.
    pub span: Span,
}

/// A counter that cores and channels wait for.
#[derive(Clone, PartialEq, Debug)]
pub struct Lock {
    /// The value that stands for it.
    pub value: Value,
    /// The tile.
    pub tile: Tile,
    /// Its number on the tile, where that is fixed.
    pub id: Option<i64>,
    /// Its value at the start.
    pub init: i64,
    /// Its symbol, where it has one.
    pub name: Option<String>,
    /// Where it is written.
    pub span: Span,
}

/// One end of a fifo.
#[derive(Clone, PartialEq, Debug)]
pub struct End {
    /// The tile.
    pub tile: Tile,
    /// The order in which an object's elements go into the stream, or come out of it; empty for that of memory.
    pub dims: Vec<Dim>,
}

/// A fifo of objects from one tile to others, each of which gets every object.
#[derive(Clone, PartialEq, Debug)]
pub struct Fifo {
    /// Its symbol.
    pub name: String,
    /// Where objects are made.
    pub producer: End,
    /// Where they are used.
    pub consumers: Vec<End>,
    /// Objects in memory: of all ends, or of the producer and then of each consumer.
    pub depths: Vec<u32>,
    /// The type of an object, a memory reference.
    pub object: Type,
    /// Neighbours use channels too.
    pub via_dma: bool,
    /// How often the producer's channel sends each object.
    pub repeat: Option<u32>,
    /// Where neighbours keep the objects, if that is said.
    pub home: Option<Tile>,
    /// Where that is written.
    pub home_span: Span,
    /// Attributes that are kept and not interpreted: a run refuses them by name.
    pub others: Vec<(String, Attr)>,
    /// Where it is written.
    pub span: Span,
}

/// Fifos that end on a tile and go on from it.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    /// Fifos that end there.
    pub ins: Vec<String>,
    /// Fifos that begin there.
    pub outs: Vec<String>,
    /// Where the objects of each of several `ins` lie in one of `outs`, in elements.
    pub join: Vec<i64>,
    /// Where the objects of each of several `outs` lie in one of `ins`, in elements.
    pub distribute: Vec<i64>,
    /// Where it is written.
    pub span: Span,
}

/// A port of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port {
    /// The tile.
    pub tile: Tile,
    /// Where it leads.
    pub bundle: Bundle,
    /// Which of those.
    pub channel: i64,
}

/// A stream between two ports.
#[derive(Clone, PartialEq, Debug)]
pub struct Flow {
    /// Where it begins.
    pub from: Port,
    /// Where it ends.
    pub to: Port,
    /// Where it is written.
    pub span: Span,
}

/// A stream of packets.
#[derive(Clone, PartialEq, Debug)]
pub struct PacketFlow {
    /// The number in the header.
    pub id: i64,
    /// Where they begin.
    pub from: Vec<Port>,
    /// Where they end.
    pub to: Vec<Port>,
    /// The header goes with the data, where that is said.
    pub keep_header: Option<bool>,
    /// Where it is written.
    pub span: Span,
}

/// A stream between neighbouring cores.
#[derive(Clone, PartialEq, Debug)]
pub struct Cascade {
    /// The core that writes.
    pub from: Tile,
    /// The core that reads.
    pub to: Tile,
    /// Where it is written.
    pub span: Span,
}

/// The name of a channel of a shim tile.
#[derive(Clone, PartialEq, Debug)]
pub struct Allocation {
    /// Its symbol.
    pub name: String,
    /// The tile.
    pub tile: Tile,
    /// Which way.
    pub direction: Direction,
    /// The channel.
    pub channel: i64,
    /// Where it is written.
    pub span: Span,
}

/// What a core runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Core {
    /// The value that stands for it.
    pub value: Value,
    /// The tile.
    pub tile: Tile,
    /// Bytes of the stack, where that is said.
    pub stack: Option<u64>,
    /// The object file that its kernels are in, where that is said.
    pub link_with: Option<String>,
    /// The body, which ends with `aie.end`.
    pub body: Region,
    /// Where it is written.
    pub span: Span,
}

/// What the channels of a tile run.
#[derive(Clone, PartialEq, Debug)]
pub struct TileDma {
    /// The value that stands for it.
    pub value: Value,
    /// The tile.
    pub tile: Tile,
    /// The chains of descriptors.
    pub body: Region,
    /// Where it is written.
    pub span: Span,
}

/// What the host starts, one after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct Sequence {
    /// Its symbol; empty without.
    pub name: String,
    /// The values that it is given: arrays, and numbers that a launch decides.
    pub args: Vec<Value>,
    /// The first and the last value that its last argument, a number, may have, where they are said.
    pub lengths: Option<(i64, i64)>,
    /// Its operations.
    pub body: Vec<Op>,
    /// Where it is written.
    pub span: Span,
}

impl Design {
    /// A design without anything.
    pub fn new(name: impl Into<String>, device: Device) -> Design {
        Design {
            name: name.into(),
            device,
            module: Module::default(),
            tiles: Vec::new(),
            kernels: Vec::new(),
            buffers: Vec::new(),
            locks: Vec::new(),
            fifos: Vec::new(),
            links: Vec::new(),
            flows: Vec::new(),
            packets: Vec::new(),
            cascades: Vec::new(),
            allocations: Vec::new(),
            cores: Vec::new(),
            dmas: Vec::new(),
            sequences: Vec::new(),
        }
    }

    /// The fifo of a name.
    pub fn fifo(&self, name: &str) -> Option<&Fifo> {
        self.fifos.iter().find(|fifo| fifo.name == name)
    }

    /// The value of a tile, which is added where the design does not use it yet.
    pub fn tile(&mut self, tile: Tile) -> Value {
        if let Some(used) = self.tiles.iter().find(|used| used.tile == tile) {
            return used.value;
        }
        let value = self.module.value(format!("tile_{}_{}", tile.col, tile.row), Type::Index);
        self.tiles.push(TileUse { value, tile, scheme: None, span: Span::default() });
        value
    }

    /// The buffer that a value stands for.
    pub fn buffer(&self, value: Value) -> Option<&Buffer> {
        self.buffers.iter().find(|buffer| buffer.value == value)
    }

    /// The lock that a value stands for.
    pub fn lock(&self, value: Value) -> Option<&Lock> {
        self.locks.iter().find(|lock| lock.value == value)
    }
}

impl Fifo {
    /// A fifo of one depth on all ends.
    pub fn new(
        name: impl Into<String>,
        producer: Tile,
        consumers: &[Tile],
        depth: u32,
        object: Type,
    ) -> Fifo {
        let end = |tile: Tile| End { tile, dims: Vec::new() };
        Fifo {
            name: name.into(),
            producer: end(producer),
            consumers: consumers.iter().map(|tile| end(*tile)).collect(),
            depths: vec![depth],
            object,
            via_dma: false,
            repeat: None,
            home: None,
            home_span: Span::default(),
            others: Vec::new(),
            span: Span::default(),
        }
    }

    /// Objects at the producer's end.
    pub fn producer_depth(&self) -> u32 {
        self.depths.first().copied().unwrap_or(0)
    }

    /// Objects at a consumer's end.
    pub fn consumer_depth(&self, consumer: usize) -> u32 {
        self.depths.get(consumer + 1).or(self.depths.first()).copied().unwrap_or(0)
    }

    /// Whether its cores pass objects through a memory that both reach, without channels.
    pub fn is_shared(&self) -> bool {
        let [consumer] = self.consumers.as_slice() else { return false };
        let plain = self.producer.dims.is_empty()
            && consumer.dims.is_empty()
            && !self.via_dma
            && self.repeat.is_none();
        plain
            && self.producer.tile.row >= 2
            && consumer.tile.row >= 2
            && self.producer.tile.shares_with(consumer.tile)
    }

    /// Where neighbours keep the objects unless the design says it: with the producer if the consumer reaches that, else with the consumer.
    pub fn shared_home(&self) -> Tile {
        let consumer = self.consumers.first().map_or(self.producer.tile, |end| end.tile);
        if consumer.reaches(self.producer.tile) { self.producer.tile } else { consumer }
    }

    /// Which way its objects go at the host, if it begins or ends there.
    pub fn host_direction(&self) -> Option<Direction> {
        if self.producer.tile.row == 0 {
            return Some(Direction::Mm2s);
        }
        self.consumers.iter().any(|end| end.tile.row == 0).then_some(Direction::S2mm)
    }

    /// Elements of an object; 0 where the type has none.
    pub fn elements(&self) -> u64 {
        self.object.elements().unwrap_or(0)
    }

    /// Bytes of an object; 0 where the type has none.
    pub fn bytes(&self) -> u64 {
        self.object.bytes().unwrap_or(0)
    }
}

/// The least and the greatest integer of a type; none of other types.
pub(crate) fn integers(ty: &Type) -> Option<(i64, i64)> {
    match ty {
        Type::Int(1) => Some((0, 1)),
        Type::Int(bits @ 2..=64) => Some((i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))),
        Type::Unsigned(bits @ 1..=63) => Some((0, i64::MAX >> (63 - bits))),
        Type::Unsigned(64) => Some((0, i64::MAX)),
        Type::Index => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}

impl Sequence {
    /// Whether a number may be the value of an argument.
    ///
    /// # Errors
    /// What it may be.
    pub(crate) fn takes(&self, module: &Module, value: Value, number: i64) -> Result<(), String> {
        let (name, ty) = (module.name(value), module.ty(value));
        let Some((least, most)) = self.bounds(value, ty) else {
            return Err(format!("`{name}` is `{}`, and a launch gives arrays and integers", text_of(ty)));
        };
        if (least..=most).contains(&number) {
            return Ok(());
        }
        Err(format!(
            "`{name}` is {number}, and `@{}` takes {least} to {most} as `{}`",
            self.name,
            text_of(ty)
        ))
    }

    /// The least and the greatest value of an argument of this type; none where it is no integer.
    pub(crate) fn bounds(&self, value: Value, ty: &Type) -> Option<(i64, i64)> {
        let (least, most) = integers(ty)?;
        let own = self.lengths.filter(|_| self.args.last() == Some(&value));
        Some(own.map_or((least, most), |(first, last)| (first.max(least), last.min(most))))
    }

    /// Which of its arguments a value is.
    pub fn argument(&self, value: Value) -> Option<usize> {
        self.args.iter().position(|arg| *arg == value)
    }
}
