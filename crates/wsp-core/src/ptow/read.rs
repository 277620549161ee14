//! Reads the sections of a program from bytes.
//!
//! Total: any bytes give a [`Program`] or a [`ReadError`]. Only sizes are checked here; what the sections hold is the
//! verifier's business.

use super::{Counts, Header, MAGIC, MAX_NAME_BYTES, MAX_WORDS, PoolHeader, Program, VERSION};
use crate::words::{by_count, counted};
use core::fmt;
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// A part of a program's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Section {
    /// [`Header`].
    Header,
    /// Words of all bodies.
    Instructions,
    /// The table of axes.
    Axes,
    /// The table of kernels.
    Kernels,
    /// The table of tensors.
    Tensors,
    /// [`PoolHeader`].
    PoolHeader,
    /// Words of all expressions.
    Expressions,
    /// Names.
    Names,
}

impl Section {
    const fn text(self) -> &'static str {
        match self {
            Section::Header => "header",
            Section::Instructions => "instructions",
            Section::Axes => "table of axes",
            Section::Kernels => "table of kernels",
            Section::Tensors => "table of tensors",
            Section::PoolHeader => "header of the pools",
            Section::Expressions => "expressions",
            Section::Names => "names",
        }
    }
}

/// Why bytes are no program. Offsets and sizes are in bytes from the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadError {
    /// The bytes do not begin at a multiple of 4 in memory.
    Misaligned {
        /// The address modulo 4.
        remainder: u8,
    },
    /// The first word is not [`MAGIC`].
    Magic {
        /// What it is.
        found: u32,
    },
    /// The version is not [`VERSION`].
    Version {
        /// What it is.
        found: u32,
    },
    /// A count is beyond its limit.
    TooMany {
        /// Whose count.
        section: Section,
        /// Where the count stands.
        offset: usize,
        /// What it is.
        count: u32,
        /// The most that is allowed.
        most: u32,
    },
    /// The bytes end inside a section.
    TooShort {
        /// The section.
        section: Section,
        /// Where it begins.
        offset: usize,
        /// How many bytes it takes.
        need: usize,
        /// How many there are.
        have: usize,
    },
    /// Bytes follow the last section.
    Trailing {
        /// Where the last section ends.
        offset: usize,
        /// How many bytes follow.
        extra: usize,
    },
}

impl ReadError {
    /// The byte at which the fault was found.
    pub const fn offset(&self) -> usize {
        match *self {
            ReadError::Misaligned { .. } | ReadError::Magic { .. } => 0,
            ReadError::Version { .. } => 4,
            ReadError::TooMany { offset, .. }
            | ReadError::TooShort { offset, .. }
            | ReadError::Trailing { offset, .. } => offset,
        }
    }
}

/// The number that task graphs of this project begin with.
const GRAPH_MAGIC: u32 = 0x5054_4F47;

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ReadError::Misaligned { remainder } => write!(
                f,
                "the program begins {remainder} past a multiple of 4 in memory; copy it to an aligned buffer",
                remainder = counted(remainder, "byte")
            ),
            ReadError::Magic { found } => magic(f, found),
            ReadError::Version { found } => write!(
                f,
                "byte 4: version {found} of the format, this reader takes version {VERSION}; generate the program again"
            ),
            ReadError::TooMany { section, offset, count, most } => {
                write!(
                    f,
                    "byte {offset}: the count of the {} is {count}, at most {most} are allowed",
                    section.text()
                )
            }
            ReadError::TooShort { section, offset, need, have } => write!(
                f,
                "byte {offset}: {need} are needed for the {}, {have} left; the file is cut off or its counts are wrong",
                section.text(),
                need = counted(need, "byte")
            ),
            ReadError::Trailing { offset, extra } => {
                write!(
                    f,
                    "byte {offset}: {extra} {} the end of the program",
                    by_count(extra, "follows", "follow"),
                    extra = counted(extra, "byte")
                )
            }
        }
    }
}

fn magic(f: &mut fmt::Formatter<'_>, found: u32) -> fmt::Result {
    let bytes = found.to_le_bytes();
    if found == MAGIC.swap_bytes() {
        return write!(
            f,
            "byte 0: the program has its bytes in big-endian order; programs are little-endian, generate it again"
        );
    }
    if found == GRAPH_MAGIC {
        return write!(f, "byte 0: this is a task graph (PTOG), not a program that generates tasks (PTOW)");
    }
    if bytes.iter().all(|b| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
        return write!(
            f,
            "byte 0: this looks like text, not like bytecode; a text program is assembled first"
        );
    }
    write!(f, "byte 0: the first word is {found:#010x}, a PTOW program begins with {MAGIC:#010x}")
}

impl core::error::Error for ReadError {}

/// What is left of the bytes.
struct Cursor<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Cursor<'a> {
    /// Takes `count` records.
    fn take<T: FromBytes + Immutable + KnownLayout>(
        &mut self,
        section: Section,
        count: u32,
    ) -> Result<&'a [T], ReadError> {
        let count = count as usize;
        let short = ReadError::TooShort {
            section,
            offset: self.offset,
            need: count.saturating_mul(size_of::<T>()),
            have: self.rest.len(),
        };
        let (records, rest) = <[T]>::ref_from_prefix_with_elems(self.rest, count).map_err(|_| short)?;
        self.offset = self.offset.saturating_add(self.rest.len().saturating_sub(rest.len()));
        self.rest = rest;
        Ok(records)
    }

    /// Takes one record.
    fn one<T: FromBytes + Immutable + KnownLayout>(&mut self, section: Section) -> Result<&'a T, ReadError> {
        let short =
            ReadError::TooShort { section, offset: self.offset, need: size_of::<T>(), have: self.rest.len() };
        match self.take::<T>(section, 1)? {
            [record] => Ok(record),
            _ => Err(short),
        }
    }
}

/// Refuses a count, the `index`-th word from `base`, beyond its limit.
fn limited(section: Section, base: usize, index: usize, count: u32, most: u32) -> Result<(), ReadError> {
    let offset = base.saturating_add(index.saturating_mul(4));
    if count <= most { Ok(()) } else { Err(ReadError::TooMany { section, offset, count, most }) }
}

impl<'a> Program<'a> {
    /// The sections of a program. The bytes begin at a multiple of 4 in memory; nothing follows the last section.
    ///
    /// A program that ends behind its tables has no pools: no expressions, names, values, tables, slots, labels,
    /// generators and channels.
    ///
    /// # Errors
    /// As [`ReadError`] tells.
    pub fn read(bytes: &'a [u8]) -> Result<Program<'a>, ReadError> {
        let remainder = bytes.as_ptr().addr() % 4;
        if remainder != 0 {
            return Err(ReadError::Misaligned { remainder: remainder as u8 });
        }
        first_words(bytes)?;
        let mut cursor = Cursor { rest: bytes, offset: 0 };
        let header: &Header = cursor.one(Section::Header)?;
        let rows = u32::from(u16::MAX);
        limited(Section::Instructions, 0, 2, header.num_instructions, MAX_WORDS)?;
        limited(Section::Axes, 0, 3, header.num_axes, rows)?;
        limited(Section::Kernels, 0, 4, header.num_kernels, rows)?;
        limited(Section::Tensors, 0, 5, header.num_tensors, rows)?;
        let mut program = Program {
            header,
            words: cursor.take(Section::Instructions, header.num_instructions)?,
            axes: cursor.take(Section::Axes, header.num_axes)?,
            kernels: cursor.take(Section::Kernels, header.num_kernels)?,
            tensors: cursor.take(Section::Tensors, header.num_tensors)?,
            counts: Counts::default(),
            exprs: &[],
            names: &[],
        };
        if !cursor.rest.is_empty() {
            let base = cursor.offset;
            let pool: &PoolHeader = cursor.one(Section::PoolHeader)?;
            limited(Section::Expressions, base, 0, pool.num_words, MAX_WORDS)?;
            limited(Section::Names, base, 1, pool.name_bytes, MAX_NAME_BYTES)?;
            program.counts = Counts::from(pool);
            program.exprs = cursor.take(Section::Expressions, pool.num_words)?;
            program.names = cursor.take(Section::Names, pool.name_bytes)?;
        }
        match cursor.rest.len() {
            0 => Ok(program),
            extra => Err(ReadError::Trailing { offset: cursor.offset, extra }),
        }
    }
}

/// Checks magic and version as far as there are bytes, so that a file of another kind is named as such even when it is
/// short.
fn first_words(bytes: &[u8]) -> Result<(), ReadError> {
    let (words, _) = bytes.as_chunks::<4>();
    let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
    match words.next() {
        Some(found) if found != MAGIC => return Err(ReadError::Magic { found }),
        _ => {}
    }
    match words.next() {
        Some(found) if found != VERSION => Err(ReadError::Version { found }),
        _ => Ok(()),
    }
}
