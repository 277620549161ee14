//! What can be wrong with an access or an operation at run time.

use core::fmt;
use wsp_core::DType;

/// Valid or possible rows and columns of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub cols: u32,
}

impl Shape {
    /// Rows and columns.
    pub const fn new(rows: u32, cols: u32) -> Shape {
        Shape { rows, cols }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.rows, self.cols)
    }
}

/// Why an access or a tile operation could not be done. Nothing has been written when one is returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An index lies past the end of its dimension.
    IndexOutOfBounds {
        /// Dimension of the tensor.
        dim: u8,
        /// The index; a byte offset for the slot dimension of a workspace field.
        index: u64,
        /// Elements the dimension has here; bytes for the slot dimension.
        extent: u64,
    },
    /// The byte offset that selects a workspace slot is not a multiple of the slot's size.
    SlotMisaligned {
        /// The offset.
        offset: u32,
        /// Bytes per slot.
        slot_bytes: u32,
    },
    /// Rows of a tile follow workspace slots that do not all lie equally far apart.
    SlotsUneven,
    /// A store would run past the end of a dimension.
    StorePastEnd {
        /// Dimension of the tensor.
        dim: u8,
        /// First index.
        index: u64,
        /// Rows or columns of the tile.
        count: u64,
        /// Elements the dimension has here.
        extent: u64,
    },
    /// A store would run past the end of the slice that it is given.
    StorePastSlice {
        /// The valid part of the tile.
        have: Shape,
        /// Rows of the slice, where it ends before the tensor does.
        rows: Option<u32>,
        /// Columns likewise.
        cols: Option<u32>,
    },
    /// An index list does not have one index per dimension, or names a dimension that the tensor does not have.
    Rank {
        /// Indices given.
        have: u32,
        /// Dimensions.
        need: u32,
    },
    /// Tile columns cannot follow this dimension: its elements are not evenly spaced in memory.
    ColumnDimension {
        /// Dimension of the tensor.
        dim: u8,
    },
    /// The page table has no page for a position below the request's length.
    PageMissing {
        /// The request.
        batch: u32,
        /// The position.
        position: u64,
    },
    /// The layout leads outside the array's memory: strides, starts or a page id do not fit the buffer.
    OutsideBuffer {
        /// One past the last byte asked for; `u64::MAX` when it is not even representable.
        end: u64,
        /// Bytes of the array.
        bytes: u64,
    },
    /// The array holds integers, and what is moved real numbers or integers of another type, or the other way round.
    NotFloat {
        /// Element type of the array.
        dtype: DType,
    },
    /// A tile type is larger than [`wsp_core::limits::MAX_TILE_BYTES`], rows padded to 64 bytes.
    TileTooLarge {
        /// The capacity asked for.
        shape: Shape,
        /// Bytes it needs; `u64::MAX` when not representable.
        bytes: u64,
    },
    /// A result does not fit the capacity of its destination.
    Capacity {
        /// The destination's capacity.
        have: Shape,
        /// The result's shape.
        need: Shape,
    },
    /// A load of elements that no task has stored.
    NeverStored {
        /// First row and column of the load that were not.
        at: Shape,
    },
    /// An index that a tile of indices cannot hold.
    IndexTooLarge {
        /// The index.
        index: u64,
    },
    /// An index of a tile of indices that is no row or column of the tile that is taken from.
    NoPlace {
        /// Row and column of the index.
        at: Shape,
        /// The bits of the index, an `f64`.
        index: u64,
        /// Rows or columns that there are.
        extent: u32,
        /// Indices are rows.
        by_row: bool,
    },
    /// A division of integers by 0.
    DivisionByZero {
        /// Row and column of the quotient.
        at: Shape,
    },
    /// A real number that becomes an element of integers, and does not fit.
    NoInteger {
        /// Row and column of the element.
        at: Shape,
        /// The bits of the number, an `f64`.
        value: u64,
        /// The type of the elements.
        dtype: DType,
    },
    /// A number that meets a tile of integers, and that its elements do not hold.
    NumberRange {
        /// The number.
        value: i128,
        /// The type of the elements.
        dtype: DType,
    },
    /// An operand's valid part does not have the shape that the operation needs.
    ShapeMismatch {
        /// The operand's valid part.
        have: Shape,
        /// What it should be.
        need: Shape,
    },
}
