//! Reads task-graph units from bytes.
//!
//! Total and without allocation: any bytes give a [`Ptog`] or a [`ReadError`]. Everything that rows refer to is checked here
//! once; whether the unit keeps the rules of the instruction set is the verifier's business.

mod check;
mod error;
mod instrs;
mod section;

pub use error::{DirectoryFault, ReadError};
pub use instrs::Instrs;

use self::error::{header_bytes, too_short};
use self::instrs::{DOCUMENT_HOST, Order};
use self::section::{Found, Sections};
use super::crc::crc32_without;
use super::wire::{
    AllocRow, ArgRow, BindRow, CodeRow, DOCUMENT_VERSION, DebugHeader, DependRow, ExprRow, ExternRow,
    HEADER_BYTES, Header, HeaderTail, KernelRow, MAGIC, NameRow, Pools, ReferenceArgRow, ReferenceRow,
    Section, SpanRow, TableRow, VERSION,
};
use super::{ExprOp, IterNo, ScalarType, Symbol, TensorNo};
use zerocopy::FromBytes;
use zerocopy::little_endian::{U32, U64};

/// Where the checksum stands in a file of version 3.
pub const CHECKSUM_OFFSET: usize = 40;

/// A task-graph unit in bytes: its sections, checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ptog<'a> {
    /// [`DOCUMENT_VERSION`] or [`VERSION`].
    pub version: u32,
    /// Rows of `TG_KERNEL`.
    pub kernels: &'a [KernelRow],
    /// Rows of `TG_DEPEND`.
    pub depends: &'a [DependRow],
    /// Rows of `MC_ALLOC`.
    pub allocs: &'a [AllocRow],
    /// Rows of `MC_BIND`.
    pub binds: &'a [BindRow],
    /// Entries of kernels; none in version 1.
    pub codes: &'a [CodeRow],
    /// Tables of bindings.
    pub tables: &'a [TableRow],
    /// Operations of expressions.
    pub exprs: &'a [ExprRow],
    /// Kernels of sets.
    pub set_kernels: &'a [U32],
    /// Tensors of tables.
    pub set_tensors: &'a [U32],
    /// Names of numbers.
    pub names: &'a [NameRow],
    /// Files of kernels.
    pub uses: &'a [U32],
    /// Tensors that whoever runs the unit provides.
    pub externs: &'a [ExternRow],
    /// Extents of those.
    pub extents: &'a [U64],
    /// Events that whoever runs the unit signals.
    pub extern_events: &'a [U32],
    /// Scalars that whoever runs the unit provides.
    pub args: &'a [ArgRow],
    /// What outputs are compared with.
    pub references: &'a [ReferenceRow],
    /// Parameters of those.
    pub reference_args: &'a [ReferenceArgRow],
    /// Where each string ends in [`Ptog::text`].
    pub string_ends: &'a [U32],
    /// All strings, one after another.
    pub text: &'a str,
    /// Where things stand in the source, if the file says so.
    pub debug: Option<Debug<'a>>,
    /// Words of instructions without rows of their own, by section.
    words: Words<'a>,
    order: Order<'a>,
}

/// Rows of words of each section that has such.
#[derive(Clone, Copy, Debug, Default)]
struct Words<'a> {
    host: &'a [U32],
    ctrl: &'a [U32],
    core: &'a [U32],
    sync: &'a [U32],
    copy: &'a [U32],
    fence: &'a [U32],
}

/// Where things stand in the source.
#[derive(Clone, Copy, Debug)]
pub struct Debug<'a> {
    /// Sizes, and what is known of the source.
    pub header: &'a DebugHeader,
    /// Of each instruction or of none, then of each row of `USE`, `EXTERN`, `EVENT`, `ARG`, `REFERENCE`.
    pub spans: &'a [SpanRow],
    /// The source's name; empty if it is not known.
    pub source: &'a str,
}

impl<'a> Ptog<'a> {
    /// The unit that bytes hold. They may begin anywhere in memory.
    ///
    /// # Errors
    /// As [`ReadError`] tells.
    pub fn read(bytes: &'a [u8]) -> Result<Ptog<'a>, ReadError> {
        first_words(bytes)?;
        let (header, _) = Header::ref_from_prefix(bytes)
            .map_err(|_| too_short("header", 0, size_of::<Header>() as u64, bytes.len() as u64))?;
        let unit = match header.version.get() {
            DOCUMENT_VERSION => document(header, bytes)?,
            _ => directory(header, bytes)?,
        };
        check::rows(&unit)?;
        check::instrs(&unit)?;
        Ok(unit)
    }

    /// The instructions in program order. Of a file of version 1: `TG_BEGIN(0)`, its allocations, kernels, bindings and
    /// dependences, `TG_END(0)`; there the [`Symbol`] of a kernel is its entry offset.
    pub fn instrs(&self) -> Instrs<'a> {
        Instrs::new(self)
    }

    /// A string; nothing for one that is not there.
    pub fn str(&self, symbol: Symbol) -> &'a str {
        let at = symbol.0 as usize;
        let end = |at: usize| self.string_ends.get(at).map(|end| end.get() as usize);
        let start = if at == 0 { Some(0) } else { end(at - 1) };
        match (start, end(at)) {
            (Some(start), Some(end)) => self.text.get(start..end).unwrap_or(""),
            _ => "",
        }
    }

    /// The operations of all expressions.
    pub fn expr_ops(&self) -> impl ExactSizeIterator<Item = ExprOp> + 'a {
        // Rows are checked when the unit is read.
        self.exprs.iter().map(|row| expr_op(row).unwrap_or(ExprOp::End))
    }

    fn pools(&self) -> Pools {
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        Pools {
            exprs: count(self.exprs.len()),
            strings: count(self.string_ends.len()),
            kernels: count(self.set_kernels.len()),
            tensors: count(self.set_tensors.len()),
            args: count(self.args.len()),
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
        Some(found) if found != DOCUMENT_VERSION && found != VERSION => Err(ReadError::Version { found }),
        _ => Ok(()),
    }
}

/// The tables of a file of version 1. They follow the header at once, or at the next multiple of 8: rows take multiples of 8
/// bytes, so that the size tells which.
fn document<'a>(header: &Header, bytes: &'a [u8]) -> Result<Ptog<'a>, ReadError> {
    let len = bytes.len() as u64;
    let header_bytes: u64 = if len.is_multiple_of(8) { 24 } else { size_of::<Header>() as u64 };
    let padding = bytes.get(size_of::<Header>()..header_bytes as usize).unwrap_or(&[]);
    if padding.iter().any(|byte| *byte != 0) {
        let offset = size_of::<Header>() as u64;
        return Err(ReadError::Header { offset, field: "padding", found: 1, expected: 0 });
    }
    let mut at = header_bytes;
    let kernels = table::<KernelRow>("table of kernels", bytes, &mut at, header.kernel_count.get())?;
    let depends = table::<DependRow>("table of dependences", bytes, &mut at, header.depend_count.get())?;
    let allocs = table::<AllocRow>("table of allocations", bytes, &mut at, header.alloc_count.get())?;
    let left = len.saturating_sub(at);
    let rest = bytes.get(at as usize..).unwrap_or(&[]);
    let binds = <[BindRow]>::ref_from_bytes(rest).map_err(|_| ReadError::NotIntegral { offset: at, left })?;
    let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
    let order = Order::Runs([
        (Section::Host, 1),
        (Section::Alloc, count(allocs.len())),
        (Section::Kernel, count(kernels.len())),
        (Section::Bind, count(binds.len())),
        (Section::Depend, count(depends.len())),
        (Section::Host, 1),
    ]);
    let words = Words { host: &DOCUMENT_HOST, ..Words::default() };
    Ok(Ptog { version: DOCUMENT_VERSION, kernels, depends, allocs, binds, words, order, ..Ptog::default() })
}

/// The next table of a file of version 1.
fn table<'a, T: FromBytes + zerocopy::KnownLayout + zerocopy::Immutable>(
    part: &'static str,
    bytes: &'a [u8],
    at: &mut u64,
    count: u32,
) -> Result<&'a [T], ReadError> {
    let need = u64::from(count) * size_of::<T>() as u64;
    let short = too_short(part, *at, need, bytes.len() as u64);
    let rest = bytes.get(*at as usize..).ok_or(short)?;
    let (rows, _) = <[T]>::ref_from_prefix_with_elems(rest, count as usize).map_err(|_| short)?;
    *at += need;
    Ok(rows)
}

/// The sections of a file of version 3.
fn directory<'a>(header: &Header, bytes: &'a [u8]) -> Result<Ptog<'a>, ReadError> {
    let len = bytes.len() as u64;
    let short = too_short("header", 0, u64::from(HEADER_BYTES), len);
    let rest = bytes.get(size_of::<Header>()..).ok_or(short)?;
    let (tail, rest) = HeaderTail::ref_from_prefix(rest).map_err(|_| short)?;
    header_bytes(tail.header_bytes.get())?;
    let sections = Sections::find(rest, tail.section_count.get(), bytes)?;
    let (stored, computed) = (tail.crc32.get(), crc32_without(bytes, CHECKSUM_OFFSET));
    if stored != computed {
        return Err(ReadError::Checksum { stored, computed });
    }
    let unit = unit(&sections)?;
    check::header(header, tail, &unit)?;
    Ok(unit)
}

fn unit<'a>(sections: &Sections<'a>) -> Result<Ptog<'a>, ReadError> {
    let (string_ends, text) = strings(sections.get(Section::Strtab))?;
    Ok(Ptog {
        version: VERSION,
        kernels: sections.rows(Section::Kernel)?,
        depends: sections.rows(Section::Depend)?,
        allocs: sections.rows(Section::Alloc)?,
        binds: sections.rows(Section::Bind)?,
        codes: sections.rows(Section::Code)?,
        tables: sections.rows(Section::Table)?,
        exprs: sections.rows(Section::Scalar)?,
        set_kernels: sections.rows(Section::KernelSet)?,
        set_tensors: sections.rows(Section::TensorSet)?,
        names: sections.rows(Section::Name)?,
        uses: sections.rows(Section::Use)?,
        externs: sections.rows(Section::Extern)?,
        extents: sections.rows(Section::Extent)?,
        extern_events: sections.rows(Section::Event)?,
        args: sections.rows(Section::Arg)?,
        references: sections.rows(Section::Reference)?,
        reference_args: sections.rows(Section::ReferenceArg)?,
        string_ends,
        text,
        debug: debug(sections.get(Section::Debug))?,
        words: Words {
            host: sections.words(Section::Host)?,
            ctrl: sections.words(Section::Ctrl)?,
            core: sections.words(Section::Core)?,
            sync: sections.words(Section::Sync)?,
            copy: sections.words(Section::Copy)?,
            fence: sections.words(Section::Fence)?,
        },
        order: Order::Bytes(sections.rows(Section::Order)?),
    })
}

/// Strings: where they end, and their text. Ends rise and lie between characters.
fn strings<'a>(found: Found<'a>) -> Result<(&'a [U32], &'a str), ReadError> {
    let (ends, text) = <[U32]>::ref_from_prefix_with_elems(found.bytes, found.count as usize)
        .map_err(|_| found.wrong_size())?;
    let text = core::str::from_utf8(text).map_err(|error| {
        let at = error.valid_up_to();
        ReadError::Strings { string: ends.partition_point(|end| end.get() as usize <= at) as u32 }
    })?;
    let mut last = 0;
    for (string, end) in ends.iter().enumerate() {
        let end = end.get() as usize;
        if end < last || !text.is_char_boundary(end) {
            return Err(ReadError::Strings { string: string as u32 });
        }
        last = end;
    }
    if last == text.len() { Ok((ends, text)) } else { Err(found.wrong_size()) }
}

/// Places in the source. Their number is checked beside the instructions.
fn debug<'a>(found: Found<'a>) -> Result<Option<Debug<'a>>, ReadError> {
    if found.bytes.is_empty() {
        return if found.count == 0 { Ok(None) } else { Err(found.wrong_size()) };
    }
    let wrong = |_| found.wrong_size();
    let (header, rest) = DebugHeader::ref_from_prefix(found.bytes).map_err(|_| found.wrong_size())?;
    let (spans, name) = <[SpanRow]>::ref_from_prefix_with_elems(rest, found.count as usize)
        .map_err(|_| found.wrong_size())?;
    let source = core::str::from_utf8(name).map_err(wrong)?;
    if source.len() != header.name_bytes.get() as usize {
        return Err(found.wrong_size());
    }
    Ok(Some(Debug { header, spans, source }))
}

/// The operation of a row, with what it refers to unchecked.
fn expr_op(row: &ExprRow) -> Option<ExprOp> {
    let number = row.number.get();
    Some(match row.op {
        0 => ExprOp::End,
        1 => ExprOp::Const(row.value.get() as i64),
        2 => ExprOp::Iter(IterNo(number)),
        3 => ExprOp::Arg(number),
        4 => ExprOp::Load(TensorNo(number), ScalarType::ALL.get(usize::from(row.ty))?.0),
        SKIP_ZERO => ExprOp::SkipZero(number),
        SKIP_NON_ZERO => ExprOp::SkipNonZero(number),
        code => *ExprOp::PLAIN.get(usize::from(code).checked_sub(FIRST_PLAIN_OP)?)?,
    })
}

/// The code of the first of [`ExprOp::PLAIN`].
const FIRST_PLAIN_OP: usize = 5;
/// The codes of skips.
const SKIP_ZERO: u8 = (FIRST_PLAIN_OP + ExprOp::PLAIN.len()) as u8;
const SKIP_NON_ZERO: u8 = SKIP_ZERO + 1;

impl ExprRow {
    /// The row of an operation.
    pub fn new(op: ExprOp) -> ExprRow {
        let mut row = ExprRow::default();
        match op {
            ExprOp::End => {}
            ExprOp::Const(value) => (row.op, row.value) = (1, U64::new(value as u64)),
            ExprOp::Iter(iter) => (row.op, row.number) = (2, U32::new(iter.0)),
            ExprOp::Arg(arg) => (row.op, row.number) = (3, U32::new(arg)),
            ExprOp::Load(tensor, ty) => (row.op, row.ty, row.number) = (4, ty as u8, U32::new(tensor.0)),
            ExprOp::SkipZero(past) => (row.op, row.number) = (SKIP_ZERO, U32::new(past)),
            ExprOp::SkipNonZero(past) => (row.op, row.number) = (SKIP_NON_ZERO, U32::new(past)),
            plain => {
                let at = ExprOp::PLAIN.iter().position(|op| *op == plain).unwrap_or(ExprOp::PLAIN.len());
                row.op = (at + FIRST_PLAIN_OP) as u8;
            }
        }
        row
    }
}
