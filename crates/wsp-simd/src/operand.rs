//! The right operand of a matrix product: rows that are read where they lie, and the order in which that happens.
//!
//! The rows of a long operand are visited as [`Walk::STRETCHES`] stretches side by side, one row of each in turn. Processors
//! read ahead within a page of memory, in several pages at a time: one page after the other, as a paged cache would be read from
//! its first row to its last, leaves most of them idle. (Measured on 4 KiB pages in random order: 16 GB/s for eight at a
//! time, 10 for one, where memory read in order gives 18.)

use wsp_core::DType;

/// How far ahead of the row in use rows come next to the core, measured: memory delivers what the first-level cache can wait for.
const NEAR_BYTES: usize = 8 * 1024;

/// How far ahead they come into the second-level cache: what brings a line there fetches its neighbours along, for which the
/// first level has no room.
const FAR_BYTES: usize = 32 * 1024;

/// Most rows of a right operand that a kernel takes together.
pub(crate) const MOST_TOGETHER: usize = 8;

/// Rows of one operand that are visited before it is another's turn, where several lie side by side: one row of each stretch. All
/// operands read a row to its end before the next one is needed. (Measured on pages of 2 KiB per token: with 32 or 64 rows the first
/// level has no room for what comes back after a round.)
pub const TURN: usize = 8;

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// How many rows ahead of the one in use are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Distance {
    /// To be next to the core.
    pub near: usize,
    /// To be in the next larger cache.
    pub far: usize,
}

impl Distance {
    /// Of rows of which so many bytes are used.
    #[inline]
    pub fn of(bytes: usize) -> Distance {
        let bytes = bytes.max(LINE);
        Distance { near: NEAR_BYTES.div_ceil(bytes), far: FAR_BYTES.div_ceil(bytes) }
    }

    /// As [`Distance::of`], where so many operands are read in turns of [`TURN`] rows: the bytes of all of them count.
    #[inline]
    pub fn shared(bytes: usize, operands: usize) -> Distance {
        let all = Distance::of(bytes.max(LINE) * operands);
        match operands {
            0 | 1 => all,
            _ => Distance { near: all.near.max(TURN), far: all.far.max(2 * TURN) },
        }
    }
}

/// The order in which the rows of an operand are visited: one row of each stretch in turn, then the rows that are left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// Rows of each stretch; 0 for a short operand, which is visited from its first row to its last.
    length: usize,
}

impl Walk {
    /// Stretches of a long operand.
    pub const STRETCHES: usize = 8;

    /// Rows from which on an operand is long.
    const LONG: usize = 64;

    /// The order for so many rows: that depends on nothing else, so that neither do the bits of a result.
    #[inline]
    pub fn of(rows: usize) -> Walk {
        Walk { length: if rows < Walk::LONG { 0 } else { rows / Walk::STRETCHES } }
    }

    /// Rows of each stretch.
    #[inline]
    pub fn length(self) -> usize {
        self.length
    }

    /// Rows of all stretches.
    #[inline]
    pub fn visited(self) -> usize {
        Walk::STRETCHES * self.length
    }

    /// The row that is visited after `position` others.
    #[inline(always)]
    pub fn row(self, position: usize) -> usize {
        if position < self.visited() {
            position % Walk::STRETCHES * self.length + position / Walk::STRETCHES
        } else {
            position
        }
    }
}

/// The right operand of a matrix product, read where it lies.
///
/// **Contract:** `starts` lists the addresses of `rows` rows in the order of their [`Walk`], each valid for reads of as
/// many elements of `dtype`, side by side, as the product needs. At least [`Rows::beyond`] more follow, which are only prefetched.
/// Where it needs none there need not be any address.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Their addresses.
    pub starts: &'a [*const u8],
    /// How many there are.
    pub rows: usize,
    /// Type of their elements.
    pub dtype: DType,
    /// How far ahead of a row of this operand others are asked for.
    pub distance: Distance,
    /// Rows that were visited before, and those that will have been visited afterwards. The parts of an operand are taken in order,
    /// with everything else as it was, and no part is empty but of an empty operand.
    pub part: (usize, usize),
}

impl Rows<'_> {
    /// Addresses that follow those of the rows.
    pub fn beyond(distance: Distance) -> usize {
        distance.near.max(distance.far) + MOST_TOGETHER
    }
}
