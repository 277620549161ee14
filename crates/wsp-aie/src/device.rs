//! The arrays as data: tiles, memories, locks, buffer descriptors and their fields, channels, ports, and what reaches what.

/// What an array has at a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TileKind {
    /// Row 0: transfers from and to the memory of the host.
    Shim,
    /// Row 1: memory without a core.
    Memory,
    /// The rows above: a core and its memory.
    Compute,
}

/// A place in an array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tile {
    /// Counted from the west.
    pub col: u32,
    /// Counted from the south.
    pub row: u32,
}

/// Where a port of a stream switch leads to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bundle {
    /// The core.
    Core,
    /// The channels of the tile.
    Dma,
    /// The switch's own buffers.
    Fifo,
    /// The tile below.
    South,
    /// The tile to the left.
    West,
    /// The tile above.
    North,
    /// The tile to the right.
    East,
    /// Trace units.
    Trace,
    /// The tile's registers.
    Control,
}

/// Which way data flows through a channel of a tile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// From the stream into memory.
    S2mm,
    /// From memory into the stream.
    Mm2s,
}

/// As texts of designs have it.
impl std::fmt::Display for Direction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Direction::S2mm { "S2MM" } else { "MM2S" })
    }
}

/// What tiles of a kind have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TileModel {
    /// Bytes of memory; 0 without.
    pub memory: u64,
    /// Banks that the memory has.
    pub banks: u32,
    /// Locks.
    pub locks: u32,
    /// Buffer descriptors.
    pub descriptors: u32,
    /// Channels into memory, and as many out of it.
    pub channels: u32,
    /// Bits of a size in a descriptor.
    pub size_bits: u32,
    /// Bits of a stride in a descriptor.
    pub stride_bits: u32,
    /// Dimensions of a descriptor, without the one that iterates.
    pub dims: u32,
}

/// Bytes of the memory of a compute tile.
pub const TILE_MEMORY: u64 = 64 << 10;
/// Largest value of a lock.
pub const LOCK_MAX: i64 = 63;
/// Bytes of a core's stack where a design says nothing.
pub const STACK: u64 = 1024;
/// Bytes of a core's program memory.
pub const PROGRAM: u64 = 16 << 10;
/// Most times that a descriptor is repeated by its iteration.
pub const ITERATIONS: u64 = 64;
/// Numbers of packets that share a link.
pub const PACKETS: i64 = 32;
/// Bits of the stride of an iteration.
pub const ITERATION_STRIDE_BITS: u32 = 20;
/// Transfers that wait in the queue of a channel of a shim tile, beside the one that runs.
pub const QUEUE: usize = 4;

const COMPUTE: TileModel = TileModel {
    memory: TILE_MEMORY,
    banks: 4,
    locks: 16,
    descriptors: 16,
    channels: 2,
    size_bits: 8,
    stride_bits: 13,
    dims: 3,
};
const MEMORY: TileModel = TileModel {
    memory: 512 << 10,
    banks: 8,
    locks: 64,
    descriptors: 48,
    channels: 6,
    size_bits: 10,
    stride_bits: 17,
    dims: 4,
};
const SHIM: TileModel = TileModel {
    memory: 0,
    banks: 0,
    locks: 16,
    descriptors: 16,
    channels: 2,
    size_bits: 10,
    stride_bits: 20,
    dims: 3,
};

/// An array, or the part of one that a design has for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    /// Its name in the text of designs.
    pub name: &'static str,
    /// Its number there.
    pub number: i64,
    /// Columns.
    pub cols: u32,
    /// Rows, with those of shim and memory tiles.
    pub rows: u32,
}

/// Every array that designs are made for.
pub const DEVICES: [Device; 12] = [
    device("npu1", 4, 4),
    device("npu1_1col", 5, 1),
    device("npu1_2col", 6, 2),
    device("npu1_3col", 7, 3),
    device("npu2", 8, 8),
    device("npu2_1col", 9, 1),
    device("npu2_2col", 10, 2),
    device("npu2_3col", 11, 3),
    device("npu2_4col", 12, 4),
    device("npu2_5col", 13, 5),
    device("npu2_6col", 14, 6),
    device("npu2_7col", 15, 7),
];

const fn device(name: &'static str, number: i64, cols: u32) -> Device {
    Device { name, number, cols, rows: 6 }
}

/// XDNA1: four columns.
pub const XDNA1: Device = DEVICES[0];
/// XDNA2: eight columns.
pub const XDNA2: Device = DEVICES[4];

impl TileKind {
    /// What tiles of the kind have.
    pub const fn model(self) -> TileModel {
        match self {
            TileKind::Shim => SHIM,
            TileKind::Memory => MEMORY,
            TileKind::Compute => COMPUTE,
        }
    }

    /// What it is called in messages.
    pub const fn name(self) -> &'static str {
        match self {
            TileKind::Shim => "shim tile",
            TileKind::Memory => "memory tile",
            TileKind::Compute => "compute tile",
        }
    }
}

impl TileModel {
    /// The largest size that a descriptor's field holds.
    pub const fn size_max(self) -> u64 {
        (1 << self.size_bits) - 1
    }

    /// The largest stride that a descriptor's field holds: it has the stride less 1.
    pub const fn stride_max(self) -> u64 {
        1 << self.stride_bits
    }

    /// Whether a channel can use a descriptor: of a memory tile, those below 24 are for even channels, the others for odd ones.
    pub const fn takes(self, channel: u32, descriptor: u32) -> bool {
        let half = self.descriptors / 2;
        descriptor < self.descriptors
            && (self.descriptors != MEMORY.descriptors || (descriptor < half) == (channel.is_multiple_of(2)))
    }
}

impl std::fmt::Display for Tile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}, {})", self.col, self.row)
    }
}

impl Tile {
    /// The tile at a place.
    pub const fn new(col: u32, row: u32) -> Tile {
        Tile { col, row }
    }

    /// Whether the core of this tile reads and writes the memory of another: its own, and those to the west, north and south.
    pub fn reaches(self, memory: Tile) -> bool {
        let here = self == memory;
        let west = memory.row == self.row && memory.col.wrapping_add(1) == self.col;
        let north = memory.col == self.col && memory.row == self.row.wrapping_add(1);
        let south = memory.col == self.col && memory.row.wrapping_add(1) == self.row;
        memory.row >= 2 && (here || west || north || south)
    }

    /// Whether two cores can pass data through a memory that both reach: that of one of them.
    pub fn shares_with(self, other: Tile) -> bool {
        self.reaches(other) || other.reaches(self)
    }
}

impl Device {
    /// The array of a number in the text of designs.
    pub fn of_number(number: i64) -> Option<Device> {
        DEVICES.into_iter().find(|device| device.number == number)
    }

    /// What the array has at a place, if it is a place of it.
    pub fn kind(&self, tile: Tile) -> Option<TileKind> {
        if tile.col >= self.cols || tile.row >= self.rows {
            return None;
        }
        Some(match tile.row {
            0 => TileKind::Shim,
            1 => TileKind::Memory,
            _ => TileKind::Compute,
        })
    }

    /// Every tile, column by column from the south.
    pub fn tiles(&self) -> impl Iterator<Item = Tile> + use<> {
        let rows = self.rows;
        (0..self.cols).flat_map(move |col| (0..rows).map(move |row| Tile { col, row }))
    }

    /// The place of a tile among [`tiles`](Self::tiles).
    pub const fn index_of(&self, tile: Tile) -> usize {
        (tile.col * self.rows + tile.row) as usize
    }

    /// How many ports of a bundle a tile's switch has out of it (master) and into it (slave).
    pub fn ports(&self, tile: Tile, bundle: Bundle) -> (u32, u32) {
        let Some(kind) = self.kind(tile) else { return (0, 0) };
        let at_edge = match bundle {
            Bundle::West => tile.col == 0,
            Bundle::East => tile.col + 1 == self.cols,
            Bundle::North => tile.row + 1 == self.rows,
            _ => false,
        };
        if at_edge {
            return (0, 0);
        }
        match (bundle, kind) {
            (Bundle::North, _) => (6, 4),
            (Bundle::South, TileKind::Shim) => (6, 8),
            (Bundle::South, _) => (4, 6),
            (Bundle::East | Bundle::West, TileKind::Memory) => (0, 0),
            (Bundle::East | Bundle::West, _) => (4, 4),
            (Bundle::Dma, _) => (kind.model().channels, kind.model().channels),
            (Bundle::Core, TileKind::Compute) | (Bundle::Control, _) => (1, 1),
            (Bundle::Fifo, TileKind::Memory) | (Bundle::Core, _) => (0, 0),
            (Bundle::Fifo, _) => (1, 1),
            (Bundle::Trace, TileKind::Compute) => (0, 2),
            (Bundle::Trace, _) => (0, 1),
        }
    }

    /// Whether a tile's switch can pass what comes in at one port out at another.
    pub fn connects(&self, tile: Tile, from: (Bundle, u32), to: (Bundle, u32)) -> bool {
        let (_, slaves) = self.ports(tile, from.0);
        let (masters, _) = self.ports(tile, to.0);
        if from.1 >= slaves || to.1 >= masters {
            return false;
        }
        let is_side = |bundle| matches!(bundle, Bundle::North | Bundle::South | Bundle::East | Bundle::West);
        if from.0 == to.0 && is_side(from.0) {
            return from.1 == to.1;
        }
        let is_vertical = |bundle| matches!(bundle, Bundle::North | Bundle::South);
        match self.kind(tile) {
            Some(TileKind::Memory) if is_vertical(from.0) && is_vertical(to.0) => from.1 == to.1,
            Some(TileKind::Memory) if from.0 == Bundle::Dma && to.0 == Bundle::Dma => from.1 == to.1,
            _ => true,
        }
    }
}
