//! Tile programs: structured control flow over instructions of units.

use crate::{MemoryId, UnitId};
use wsp_core::{DType, LocalId, TensorId};
use wsp_diag::Span;
use wsp_ir::{ArrayRef, Expr, Local, ReduceOp, TileOp};

/// A buffer; an index into [`TileProgram::buffers`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BufferId(pub u32);

/// A loop of one program; ids count from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LoopId(pub u32);

impl BufferId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LoopId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Valid rows or columns of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Known at emission.
    Known(u32),
    /// The value of a `u32` variable, from `low` to `high`.
    Value {
        /// The variable.
        local: LocalId,
        /// It is never less.
        low: u32,
        /// It is never more.
        high: u32,
    },
}

impl Extent {
    /// The smallest value.
    pub fn low(self) -> u32 {
        match self {
            Extent::Known(n) | Extent::Value { low: n, .. } => n,
        }
    }

    /// The largest value.
    pub fn high(self) -> u32 {
        match self {
            Extent::Known(n) | Extent::Value { high: n, .. } => n,
        }
    }

    /// The variable, where a launch decides.
    pub(crate) fn local(self) -> Option<LocalId> {
        match self {
            Extent::Known(_) => None,
            Extent::Value { local, .. } => Some(local),
        }
    }
}

/// A buffer as an operand: its first `rows × cols` elements count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tile {
    /// The buffer.
    pub buffer: BufferId,
    /// Valid rows.
    pub rows: Extent,
    /// Valid columns.
    pub cols: Extent,
}

/// Bytes of a memory that hold a tile.
///
/// Element `(r, c)` is at byte `(r * row_bytes / size + c) * size` from the buffer's address; a row takes
/// [`Buffer::row_bytes`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// The source's name.
    pub name: String,
    /// Element type.
    pub elem: DType,
    /// Rows that there is room for.
    pub rows: u32,
    /// Columns that there is room for.
    pub cols: u32,
    /// Bytes from one row to the next.
    pub row_bytes: u64,
    /// Bytes in all, a multiple of the memory's granule.
    pub bytes: u64,
    /// The memory.
    pub memory: MemoryId,
    /// The loop whose odd rounds use the second address.
    pub rotates: Option<LoopId>,
    /// Addresses: none before placement, one, or two of a buffer that rotates.
    pub at: Vec<u64>,
    /// Where the tile is declared.
    pub span: Span,
}

/// What an instruction does.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all instructions of a program are the large variant")]
pub enum Op {
    /// An operation on tiles. [`TileOp::Load`] and [`TileOp::Store`] are transfers from and to global memory, with the extents
    /// of their tile and no others.
    Tile(TileOp<Tile>),
    /// A transfer between two memories.
    Move {
        /// Destination.
        dst: Tile,
        /// Source, of the same extents.
        src: Tile,
    },
    /// The largest element or the sum of a tile of one row, as `f32`.
    Reduce {
        /// The variable that gets it.
        local: LocalId,
        /// Which.
        op: ReduceOp,
        /// The tile.
        src: Tile,
    },
    /// One element of a tensor.
    LoadScalar {
        /// The variable that gets it.
        local: LocalId,
        /// The tensor.
        tensor: TensorId,
        /// An index per dimension.
        index: Vec<Expr>,
    },
    /// One element of a tensor.
    StoreScalar {
        /// The tensor.
        tensor: TensorId,
        /// An index per dimension.
        index: Vec<Expr>,
        /// Its value.
        value: Expr,
    },
}

/// An instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Instruction {
    /// Its number: instructions are numbered from 0 in the order of the text.
    pub id: u32,
    /// What it does.
    pub op: Op,
    /// The unit that runs it.
    pub unit: UnitId,
    /// A second unit that works in it, once the first is done with its part.
    pub then: Option<UnitId>,
    /// Buffers that it needs while it runs: it may write all of their bytes, and leaves nothing of use there.
    pub scratch: Vec<BufferId>,
    /// Where it comes from.
    pub span: Span,
}

/// Which event of a pair of units.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EventId {
    /// This one.
    One(u32),
    /// One in the even rounds of a loop around, another in the odd rounds.
    Parity {
        /// The loop.
        of: LoopId,
        /// In rounds 0, 2, ….
        even: u32,
        /// In rounds 1, 3, ….
        odd: u32,
    },
}

/// A flag between two units.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Event {
    /// Sets it.
    pub from: UnitId,
    /// Waits for it, and clears it.
    pub to: UnitId,
    /// Which.
    pub id: EventId,
}

/// Order between instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sync {
    /// The unit sets the event when all its earlier instructions are complete.
    Set(Event),
    /// The unit starts nothing before the event is set, and clears it.
    Wait(Event),
    /// Later instructions of a unit start when its earlier ones are complete.
    Barrier(UnitId),
    /// Later instructions of every unit of the core of this unit start when the earlier ones of all its units are complete.
    BarrierAll(UnitId),
}

/// What repeats.
#[derive(Clone, PartialEq, Debug)]
pub enum Head {
    /// `var` runs from `start` while below `end` in steps of `step`; all are evaluated once.
    Counted {
        /// The variable.
        var: LocalId,
        /// First value.
        start: Expr,
        /// Bound, exclusive.
        end: Expr,
        /// Increment, at least 1.
        step: Expr,
    },
    /// While a condition holds.
    While {
        /// The condition.
        cond: Expr,
    },
}

/// A loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    /// Its number.
    pub id: LoopId,
    /// How long it goes on. No rounds at all are possible.
    pub head: Head,
    /// What is repeated.
    pub body: Vec<Node>,
    /// Where it stands.
    pub span: Span,
}

/// A step of a program.
#[derive(Clone, PartialEq, Debug)]
pub enum Node {
    /// A scalar variable gets a value.
    Set {
        /// The variable.
        local: LocalId,
        /// Its value.
        value: Expr,
    },
    /// An array variable stands for an array.
    Name {
        /// The variable.
        local: LocalId,
        /// What it stands for.
        array: ArrayRef,
    },
    /// Two ways.
    If {
        /// A `bool`.
        cond: Expr,
        /// When true.
        then: Vec<Node>,
        /// When false.
        otherwise: Vec<Node>,
    },
    /// A loop.
    Loop(Loop),
    /// An instruction.
    Run(Instruction),
    /// Order.
    Sync(Sync),
}

/// A tile function as instructions of units on buffers of memories.
#[derive(Clone, PartialEq, Debug)]
pub struct TileProgram {
    /// Name of the kernel.
    pub name: String,
    /// Variables of the specialised function, then those that were added; [`LocalId`] is the index. Tiles among them are buffers
    /// now.
    pub locals: Vec<Local>,
    /// Buffers.
    pub buffers: Vec<Buffer>,
    /// Number of loops.
    pub loops: u32,
    /// What it does.
    pub body: Vec<Node>,
}

/// What an instruction touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// What.
    pub what: Touched,
    /// Whether it reads there.
    pub reads: bool,
    /// Whether it writes there.
    pub writes: bool,
    /// Whether what it reads must have been written: a list of largest values may be empty before.
    pub needs: bool,
}

/// A buffer or a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touched {
    /// A buffer.
    Buffer(BufferId),
    /// A tensor in global memory.
    Tensor(TensorId),
}

impl TileProgram {
    /// A buffer.
    ///
    /// # Panics
    /// When the id is not of this program.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.index()]
    }

    /// Calls `f` on every instruction in the order of the text.
    pub fn instructions<'a>(&'a self, f: &mut dyn FnMut(&'a Instruction)) {
        fn walk<'a>(nodes: &'a [Node], f: &mut dyn FnMut(&'a Instruction)) {
            for node in nodes {
                if let Node::Run(instruction) = node {
                    f(instruction);
                }
                node.blocks().for_each(|block| walk(block, f));
            }
        }
        walk(&self.body, f);
    }

    /// Numbers instructions anew, in the order of the text.
    pub fn number(&mut self) {
        fn walk(nodes: &mut [Node], next: &mut u32) {
            for node in nodes {
                if let Node::Run(instruction) = node {
                    instruction.id = *next;
                    *next += 1;
                }
                node.blocks_mut().for_each(|block| walk(block, next));
            }
        }
        walk(&mut self.body, &mut 0);
    }
}

impl Node {
    /// The blocks inside.
    pub fn blocks(&self) -> impl Iterator<Item = &Vec<Node>> {
        let (first, second) = match self {
            Node::If { then, otherwise, .. } => (Some(then), Some(otherwise)),
            Node::Loop(inner) => (Some(&inner.body), None),
            Node::Set { .. } | Node::Name { .. } | Node::Run(_) | Node::Sync(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The blocks inside, for change in place.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Vec<Node>> {
        let (first, second) = match self {
            Node::If { then, otherwise, .. } => (Some(then), Some(otherwise)),
            Node::Loop(inner) => (Some(&mut inner.body), None),
            Node::Set { .. } | Node::Name { .. } | Node::Run(_) | Node::Sync(_) => (None, None),
        };
        first.into_iter().chain(second)
    }
}

impl Instruction {
    /// The units that work in it.
    pub fn units(&self) -> impl Iterator<Item = UnitId> {
        [self.unit].into_iter().chain(self.then)
    }

    /// What it touches: the operands of its operation, then its scratch buffers.
    pub fn touches(&self) -> Vec<Touch> {
        let mut found = Vec::with_capacity(4);
        self.each_touch(&mut |touch| found.push(touch));
        found
    }

    /// Calls `f` on each of these.
    pub(crate) fn each_touch(&self, f: &mut dyn FnMut(Touch)) {
        let scratch =
            |id: &BufferId| Touch { what: Touched::Buffer(*id), reads: false, writes: true, needs: false };
        self.op.each_touch(f);
        self.scratch.iter().map(scratch).for_each(f);
    }
}

impl Op {
    /// Calls `f` on every tile, in the order of the operands, with what the operation does to it.
    pub fn tiles<'a>(&'a self, f: &mut dyn FnMut(&'a Tile, wsp_ir::TileUse)) {
        match self {
            Op::Tile(op) => op.each(&mut |part| {
                if let wsp_ir::Part::Tile(tile, used) = part {
                    f(tile, used);
                }
            }),
            Op::Move { dst, src } => {
                f(dst, wsp_ir::TileUse::Written);
                f(src, wsp_ir::TileUse::Read);
            }
            Op::Reduce { src, .. } => f(src, wsp_ir::TileUse::Read),
            Op::LoadScalar { .. } | Op::StoreScalar { .. } => {}
        }
    }

    /// Calls `f` on what it touches, in the order of its operands. What is only partly written counts as read, too.
    fn each_touch(&self, f: &mut dyn FnMut(Touch)) {
        let touch = |what, reads, writes| Touch { what, reads, writes, needs: reads };
        let buffer = |tile: &Tile, reads, writes| touch(Touched::Buffer(tile.buffer), reads, writes);
        match self {
            Op::Tile(op) => op.each(&mut |part| match part {
                wsp_ir::Part::Tile(tile, used) => {
                    let reads = used.reads() || used == wsp_ir::TileUse::Listed;
                    f(Touch { needs: used.reads(), ..buffer(tile, reads, used.writes()) });
                }
                wsp_ir::Part::Tensor(tensor, access) => {
                    let reads = op.accesses().any(|(_, kind)| kind == wsp_core::AccessKind::Read);
                    let writes = access != wsp_core::AccessKind::Read;
                    f(touch(Touched::Tensor(*tensor), reads, writes));
                }
                wsp_ir::Part::Number(..) | wsp_ir::Part::Place(_) => {}
            }),
            Op::Move { dst, src } => {
                f(buffer(dst, false, true));
                f(buffer(src, true, false));
            }
            Op::Reduce { src, .. } => f(buffer(src, true, false)),
            Op::LoadScalar { tensor, .. } => f(touch(Touched::Tensor(*tensor), true, false)),
            Op::StoreScalar { tensor, .. } => f(touch(Touched::Tensor(*tensor), false, true)),
        }
    }
}
