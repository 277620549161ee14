//! Why bytes are no task-graph unit.

use crate::tg::wire::{DOCUMENT_VERSION, HEADER_BYTES, MAGIC, Section, VERSION};
use crate::words::{by_count, counted};
use core::fmt;

/// Why bytes are no task-graph unit. Offsets and sizes are in bytes from the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadError {
    /// The first word is not [`MAGIC`].
    Magic {
        /// What it is.
        found: u32,
    },
    /// The version is none that this reader knows.
    Version {
        /// What it is.
        found: u32,
    },
    /// The unit is of another revision of the instruction set than its version says.
    Revision {
        /// Its revision: major in the upper half, minor in the lower.
        found: u32,
    },
    /// A field of the header that is not what it has to be.
    Header {
        /// Where it stands.
        offset: u64,
        /// Its name.
        field: &'static str,
        /// What it is.
        found: u64,
        /// What it has to be.
        expected: u64,
    },
    /// The bytes end inside a part.
    TooShort {
        /// The part.
        part: &'static str,
        /// Where it begins.
        offset: u64,
        /// How many bytes it takes.
        need: u64,
        /// How many there are.
        have: u64,
    },
    /// The bytes behind the tables of a file of version 1 are no whole bindings.
    NotIntegral {
        /// Where the bindings begin.
        offset: u64,
        /// How many bytes are left.
        left: u64,
    },
    /// Bytes follow the last section.
    Trailing {
        /// Where it ends.
        offset: u64,
        /// How many bytes follow.
        extra: u64,
    },
    /// The checksum is not that of the file.
    Checksum {
        /// What the file says.
        stored: u32,
        /// What it is.
        computed: u32,
    },
    /// A row of the directory.
    Directory {
        /// Where the row stands.
        offset: u64,
        /// The kind of its section.
        kind: u32,
        /// What is wrong with it.
        fault: DirectoryFault,
    },
    /// Strings that are not UTF-8, or ends of strings that do not rise or lie inside of characters.
    Strings {
        /// The string.
        string: u32,
    },
    /// A row of a section that cannot be.
    Row {
        /// The section.
        section: Section,
        /// The row.
        row: u32,
        /// The field or the operand.
        field: &'static str,
        /// What stands there.
        value: u64,
    },
    /// The program order names a section that has no instructions, or has no more.
    Order {
        /// The instruction.
        instr: u32,
        /// What stands there.
        section: u8,
    },
    /// The program order names fewer rows of a section than there are.
    NotOrdered {
        /// The section.
        section: Section,
        /// How many it leaves out.
        rows: u32,
    },
}

/// What is wrong with a row of the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirectoryFault {
    /// There are two sections of the kind.
    Twice,
    /// The section does not begin at a multiple of 8.
    Misaligned,
    /// The section begins before the end of what stands before it.
    Overlaps {
        /// Where it begins.
        offset: u64,
        /// Where what is before it ends.
        end: u64,
    },
    /// The section ends behind the file.
    Beyond {
        /// Where it ends.
        end: u64,
        /// The bytes of the file.
        have: u64,
    },
    /// The section's bytes are not those of so many rows.
    Size {
        /// Bytes that the section has.
        bytes: u64,
        /// Rows that it is said to have.
        count: u32,
    },
}

/// The number that generators of tasks of this project begin with.
const GENERATOR_MAGIC: u32 = 0x5054_4F57;

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ReadError::Magic { found } => magic(f, found),
            ReadError::Version { found } => {
                write!(
                    f,
                    "byte 4: version {found} of the format; this reader takes {DOCUMENT_VERSION}, the layout of document 000, and \
                     {VERSION}; "
                )?;
                match found {
                    0..VERSION => write!(
                        f,
                        "in version {found}, `&&` and `||` evaluate both sides. Assemble the unit again: `wsp asm FILE.tg -o FILE.ptog`. \
                         If its text is lost, `wsp disasm FILE.ptog` of the release that wrote the file prints it"
                    ),
                    _ => write!(f, "read it with a later release of the program"),
                }
            }
            ReadError::Revision { found } => write!(
                f,
                "byte 44: revision {}.{} of the instruction set does not go with version {VERSION} of the format",
                found >> 16,
                found & 0xffff
            ),
            ReadError::Header { offset, field, found, expected } => {
                write!(f, "byte {offset}: `{field}` is {found}, it has to be {expected}; the file is damaged")
            }
            ReadError::TooShort { part, offset, need, have } => write!(
                f,
                "byte {offset}: the {part} takes {need}, {have} {are} left; the file is cut off or its counts are wrong",
                need = counted(need, "byte"),
                are = by_count(have, "is", "are")
            ),
            ReadError::NotIntegral { offset, left } => write!(
                f,
                "byte {offset}: {left} {are} left for bindings of 32 bytes each; the file is cut off or its counts are \
                 wrong",
                are = by_count(left, "is", "are"),
                left = counted(left, "byte")
            ),
            ReadError::Trailing { offset, extra } => {
                write!(
                    f,
                    "byte {offset}: {extra} {} the last section",
                    by_count(extra, "follows", "follow"),
                    extra = counted(extra, "byte")
                )
            }
            ReadError::Checksum { stored, computed } => write!(
                f,
                "byte 40: the checksum is {stored:#010x}, that of the file is {computed:#010x}; the file is damaged, copy or \
                 assemble it again"
            ),
            ReadError::Directory { offset, kind, fault } => directory(f, offset, kind, fault),
            ReadError::Strings { string } => {
                write!(f, "string {string} is not UTF-8, or does not end where a character does")
            }
            ReadError::Row { section, row, field, value } => {
                write!(f, "row {row} of section {}: `{field}` cannot be {value}", section.name())
            }
            ReadError::Order { instr, section } => {
                write!(f, "instruction {instr} of the program order: there ")?;
                match Section::from_code(u32::from(section)) {
                    Some(section) => write!(f, "is no further row in section {}", section.name()),
                    None => write!(f, "are no instructions in section {section}"),
                }
            }
            ReadError::NotOrdered { section, rows } => {
                write!(
                    f,
                    "the program order leaves out {rows} of section {}",
                    section.name(),
                    rows = counted(rows, "row")
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
            "byte 0: this is a big-endian file; task graphs are little-endian, assemble the unit again"
        );
    }
    if found == GENERATOR_MAGIC {
        return write!(f, "byte 0: this is a program that generates tasks (PTOW), not a task graph (PTOG)");
    }
    if bytes.iter().all(|b| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
        return write!(
            f,
            "byte 0: this looks like text, not like a task graph's binary form; a text (`.tg`) is assembled first"
        );
    }
    write!(f, "byte 0: the first word is {found:#010x}, a task graph begins with {MAGIC:#010x}")
}

fn directory(f: &mut fmt::Formatter<'_>, offset: u64, kind: u32, fault: DirectoryFault) -> fmt::Result {
    write!(f, "byte {offset}: section ")?;
    match Section::from_code(kind) {
        Some(section) => write!(f, "{} ", section.name())?,
        None => write!(f, "{kind} ")?,
    }
    match fault {
        DirectoryFault::Twice => write!(f, "stands twice in the directory"),
        DirectoryFault::Misaligned => write!(f, "does not begin at a multiple of 8"),
        DirectoryFault::Overlaps { offset, end } => {
            write!(f, "begins at byte {offset}, before what precedes it ends at byte {end}")
        }
        DirectoryFault::Beyond { end, have } => {
            write!(f, "ends at byte {end}, the file has {have}; it is cut off")
        }
        DirectoryFault::Size { bytes, count } => {
            write!(
                f,
                "has {bytes}, which {count} do not take",
                bytes = counted(bytes, "byte"),
                count = counted(count, "row")
            )
        }
    }
}

impl core::error::Error for ReadError {}

impl ReadError {
    /// Whether the bytes are no task graph at all, or not one of this machine's byte order.
    pub const fn is_foreign(&self) -> bool {
        matches!(self, ReadError::Magic { .. })
    }
}

/// A part that does not lie within the bytes.
pub(super) const fn too_short(part: &'static str, offset: u64, need: u64, len: u64) -> ReadError {
    ReadError::TooShort { part, offset, need, have: len.saturating_sub(offset) }
}

/// Refuses a header whose size is another.
pub(super) const fn header_bytes(found: u32) -> Result<(), ReadError> {
    if found == HEADER_BYTES {
        return Ok(());
    }
    let (found, expected) = (found as u64, HEADER_BYTES as u64);
    Err(ReadError::Header { offset: 20, field: "header_bytes", found, expected })
}
