//! Units as bytes.

use super::codes::{DOES_NOT_FIT, INCONSISTENT};
use wsp_core::tg::crc::{crc32, crc32_without};
use wsp_core::tg::read::{CHECKSUM_OFFSET, Ptog};
use wsp_core::tg::wire::{
    AllocRow, ArgRow, BindRow, CodeRow, DebugHeader, DependRow, ExprRow, ExternRow, HEADER_BYTES, Header,
    HeaderTail, KernelRow, LITTLE_ENDIAN, MAGIC, NO_DTYPE, NameRow, ReferenceArgRow, ReferenceRow,
    SECTION_ALIGNMENT, Section, SectionRow, SpanRow, TableRow, VERSION, WordRow, bind_mode,
};
use wsp_core::tg::{
    Direction, ExprId, ISA_REVISION, Instr, KernelNo, PartitionNo, Scalar, Symbol, TensorNo, TensorRef,
};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::tg::{RefValue, TgModule};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{Immutable, IntoBytes};

/// The text that a unit comes from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'s> {
    /// The name of its file.
    pub name: &'s str,
    /// The text.
    pub text: &'s str,
}

/// A unit as bytes, in version 3 of the format. The same unit gives the same bytes.
///
/// # Errors
/// A unit with more rows, strings or partitions than the format can count, or one that refers to what it does not have.
pub fn encode(module: &TgModule) -> Result<Vec<u8>, Diagnostic> {
    encode_from(module, None)
}

/// As [`encode`], with name, size and checksum of the source beside the places of instructions, so that whoever reads the
/// bytes can find the text and see whether it is still the same.
///
/// # Errors
/// As [`encode`].
pub fn encode_with_source(module: &TgModule, source: Source<'_>) -> Result<Vec<u8>, Diagnostic> {
    encode_from(module, Some(source))
}

fn encode_from(module: &TgModule, source: Option<Source<'_>>) -> Result<Vec<u8>, Diagnostic> {
    let mut writer = Writer { entries: vec![None; module.strings.len()], ..Writer::default() };
    for instr in &module.instrs {
        writer.instr(instr)?;
    }
    writer.declarations(module)?;
    writer.debug(module, source)?;
    let bytes = writer.finish(module)?;
    match Ptog::read(&bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Diagnostic::error(INCONSISTENT, "the unit refers to what it does not have")
            .note(error.to_string())
            .help("put the unit together with the builder or write it as text")),
    }
}

/// The sections of a file while it is put together.
#[derive(Default)]
struct Writer {
    kernels: Vec<KernelRow>,
    depends: Vec<DependRow>,
    allocs: Vec<AllocRow>,
    binds: Vec<BindRow>,
    tables: Vec<TableRow>,
    codes: Vec<CodeRow>,
    /// Rows of words, by section.
    words: [Vec<U32>; Section::COUNT],
    order: Vec<u8>,
    /// The row of `CODE` of each string.
    entries: Vec<Option<u32>>,
    uses: Vec<U32>,
    externs: Vec<ExternRow>,
    extents: Vec<U64>,
    events: Vec<U32>,
    args: Vec<ArgRow>,
    references: Vec<ReferenceRow>,
    reference_args: Vec<ReferenceArgRow>,
    names: Vec<NameRow>,
    debug: Vec<u8>,
    spans: u32,
}

impl Writer {
    fn instr(&mut self, instr: &Instr) -> Result<(), Diagnostic> {
        let section = Section::of(instr.op());
        self.order.push(section as u8);
        match *instr {
            Instr::TgKernel { kernel_id, entry_symbol, block_dim, core_type, workspace_size, partition } => {
                let row = KernelRow {
                    kernel_id: U32::new(kernel_id.0),
                    entry_offset: U32::new(self.entry(entry_symbol)),
                    block_dim: U32::new(block_dim),
                    core_type: U32::new(core_type as u32 | partition_bits(kernel_id, partition)?),
                    workspace_size: U64::new(workspace_size),
                };
                self.kernels.push(row);
            }
            Instr::TgDepend { src_kernel, dst_kernel, dep_type, tensor_id } => self.depends.push(DependRow {
                src: U32::new(src_kernel.0),
                dst: U32::new(dst_kernel.0),
                dep_type: U32::new(dep_type as u32),
                tensor_id: U32::new(tensor_id.0),
            }),
            Instr::McAlloc { tensor_id, size, alignment, location } => self.allocs.push(AllocRow {
                tensor_id: U32::new(tensor_id.0),
                zero: U32::ZERO,
                size: U64::new(size),
                alignment: U32::new(alignment),
                location: U32::new(location as u32),
            }),
            Instr::McBind { kernel_id, arg_index, tensor_id, offset, size, direction } => {
                let bind = Bind { kernel_id, arg_index, tensor_id, offset, size, direction };
                self.bind(bind)?;
            }
            _ => {
                let words = WordRow::new(instr);
                let row = words.words(section.row_words().unwrap_or(1));
                if let Some(rows) = self.words.get_mut(section as usize) {
                    rows.extend_from_slice(row);
                }
            }
        }
        Ok(())
    }

    /// The byte in `CODE` of an entry's row, which is added if need be.
    fn entry(&mut self, symbol: Symbol) -> u32 {
        let next = self.codes.len();
        let row = match self.entries.get_mut(symbol.0 as usize) {
            Some(Some(row)) => return *row,
            Some(place) => {
                let row = (next * size_of::<CodeRow>()) as u32;
                *place = Some(row);
                row
            }
            // A string that the unit does not have is found when the bytes are read.
            None => (next * size_of::<CodeRow>()) as u32,
        };
        self.codes.push(CodeRow { symbol: U32::new(symbol.0), zero: U32::ZERO });
        row
    }

    fn bind(&mut self, bind: Bind) -> Result<(), Diagnostic> {
        let mut mode = (bind.direction as u32) << bind_mode::DIRECTION_SHIFT;
        let tensor = match bind.tensor_id {
            TensorRef::Tensor(tensor) => tensor.0,
            TensorRef::Table { first, len, index } => {
                mode |= bind_mode::TABLE;
                let [first, len, index] = [first, len, index.0].map(U32::new);
                self.tables.push(TableRow { first, len, index, zero: U32::ZERO });
                count("tables of bindings", self.tables.len())? - 1
            }
        };
        let mut scalar = |scalar, bit| match scalar {
            Scalar::Const(value) => U64::new(value as u64),
            Scalar::Expr(ExprId(expr)) => {
                mode |= bit;
                U64::new(u64::from(expr))
            }
        };
        let offset = scalar(bind.offset, bind_mode::OFFSET);
        let size = scalar(bind.size, bind_mode::SIZE);
        let [kernel_id, arg_index, tensor_id, mode] =
            [bind.kernel_id.0, bind.arg_index, tensor, mode].map(U32::new);
        self.binds.push(BindRow { kernel_id, arg_index, tensor_id, mode, offset, size });
        Ok(())
    }

    fn declarations(&mut self, module: &TgModule) -> Result<(), Diagnostic> {
        self.uses.extend(module.uses.iter().map(|file| U32::new(file.path.0)));
        self.events.extend(module.extern_events.iter().map(|(event, _)| U32::new(event.0)));
        for tensor in &module.externs {
            self.externs.push(ExternRow {
                tensor_id: U32::new(tensor.tensor.0),
                dtype: U32::new(tensor.dtype.map_or(NO_DTYPE, |dtype| u32::from(dtype.code()))),
                first: U32::new(count("extents", self.extents.len())?),
                rank: U32::new(count("dimensions", tensor.shape.len())?),
            });
            self.extents.extend(tensor.shape.iter().copied().map(U64::new));
        }
        self.args.extend(module.args.iter().map(|arg| ArgRow {
            name: U32::new(arg.name.0),
            source: arg.source as u8,
            ty: arg.ty as u8,
            has_default: u8::from(arg.default.is_some()),
            zero: 0,
            default: U64::new(arg.default.unwrap_or(0) as u64),
        }));
        for reference in &module.references {
            self.references.push(ReferenceRow {
                name: U32::new(reference.name.0),
                first: U32::new(count("parameters of references", self.reference_args.len())?),
                len: U32::new(count("parameters of a reference", reference.bindings.len())?),
                zero: U32::ZERO,
            });
            self.reference_args.extend(reference.bindings.iter().map(reference_arg));
        }
        self.names.extend(module.names.iter().map(|(space, graph, number, name)| NameRow {
            space: U32::new(space as u32),
            graph: U32::new(graph.0),
            number: U32::new(number),
            name: U32::new(name.0),
        }));
        Ok(())
    }

    /// Places, if any is known.
    fn debug(&mut self, module: &TgModule, source: Option<Source<'_>>) -> Result<(), Diagnostic> {
        let declared: Vec<Span> = (module.uses.iter().map(|file| file.span))
            .chain(module.externs.iter().map(|tensor| tensor.span))
            .chain(module.extern_events.iter().map(|(_, span)| *span))
            .chain(module.args.iter().map(|arg| arg.span))
            .chain(module.references.iter().map(|reference| reference.span))
            .collect();
        let placed = if module.spans.is_empty() { 0 } else { module.instrs.len() };
        if placed == 0 && source.is_none() && declared.iter().all(|span| *span == Span::default()) {
            return Ok(());
        }
        let known = source.unwrap_or(Source { name: "", text: "" });
        let header = DebugHeader {
            instrs: U32::new(count("instructions", placed)?),
            name_bytes: U32::new(count("bytes of the source's name", known.name.len())?),
            source_bytes: U32::new(count("bytes of the source", known.text.len())?),
            source_crc32: U32::new(if source.is_some() { crc32(known.text.as_bytes()) } else { 0 }),
        };
        let spans: Vec<SpanRow> = (0..placed)
            .map(|at| module.span(at))
            .chain(declared)
            .map(|span| SpanRow {
                file: U32::new(span.file.0),
                start: U32::new(span.start),
                end: U32::new(span.end),
            })
            .collect();
        self.spans = count("places in the source", spans.len())?;
        self.debug = [header.as_bytes(), spans.as_bytes(), known.name.as_bytes()].concat();
        Ok(())
    }

    fn finish(&self, module: &TgModule) -> Result<Vec<u8>, Diagnostic> {
        let strings = (0..count("strings", module.strings.len())?).map(|at| module.str(Symbol(at)));
        let text: String = strings.clone().collect();
        count("bytes of strings", text.len())?;
        let mut end = 0;
        let ends: Vec<U32> = strings
            .map(|string| {
                end += string.len() as u32;
                U32::new(end)
            })
            .collect();
        let exprs: Vec<ExprRow> = module.exprs.iter().map(|op| ExprRow::new(*op)).collect();
        let kernels: Vec<U32> =
            module.sets.kernels.iter().map(|KernelNo(kernel)| U32::new(*kernel)).collect();
        let tensors: Vec<U32> =
            module.sets.tensors.iter().map(|TensorNo(tensor)| U32::new(*tensor)).collect();
        let strtab = [ends.as_bytes(), text.as_bytes()].concat();
        let mut file = File::default();
        for (section, _, _) in Section::ALL.iter().copied() {
            match section {
                Section::Kernel => file.rows(section, &self.kernels)?,
                Section::Depend => file.rows(section, &self.depends)?,
                Section::Alloc => file.rows(section, &self.allocs)?,
                Section::Bind => file.rows(section, &self.binds)?,
                Section::Strtab => file.section(section, ends.len(), &strtab)?,
                Section::Code => file.rows(section, &self.codes)?,
                Section::Event => file.rows(section, &self.events)?,
                Section::Scalar => file.rows(section, &exprs)?,
                Section::Debug => file.section(section, self.spans as usize, &self.debug)?,
                Section::Order => file.rows(section, &self.order)?,
                Section::Table => file.rows(section, &self.tables)?,
                Section::KernelSet => file.rows(section, &kernels)?,
                Section::TensorSet => file.rows(section, &tensors)?,
                Section::Name => file.rows(section, &self.names)?,
                Section::Use => file.rows(section, &self.uses)?,
                Section::Extern => file.rows(section, &self.externs)?,
                Section::Extent => file.rows(section, &self.extents)?,
                Section::Arg => file.rows(section, &self.args)?,
                Section::Reference => file.rows(section, &self.references)?,
                Section::ReferenceArg => file.rows(section, &self.reference_args)?,
                Section::Ctrl
                | Section::Core
                | Section::Sync
                | Section::Copy
                | Section::Fence
                | Section::Host => {
                    let words: &[U32] = self.words.get(section as usize).map_or(&[], |words| words);
                    file.section(section, words.len() / section.row_words().unwrap_or(1), words.as_bytes())?;
                }
            }
        }
        file.finish(self.header(module)?)
    }

    fn header(&self, module: &TgModule) -> Result<(Header, HeaderTail), Diagnostic> {
        let first = module.instrs.iter().find_map(|instr| match instr {
            Instr::TgBegin { graph_id } => Some(graph_id.0),
            _ => None,
        });
        let header = Header {
            magic: U32::new(MAGIC),
            version: U32::new(VERSION),
            kernel_count: U32::new(count("kernels", self.kernels.len())?),
            depend_count: U32::new(count("dependences", self.depends.len())?),
            alloc_count: U32::new(count("allocations", self.allocs.len())?),
        };
        let (major, minor) = ISA_REVISION;
        let tail = HeaderTail {
            header_bytes: U32::new(HEADER_BYTES),
            flags: U32::new(LITTLE_ENDIAN),
            graph_id: U32::new(first.unwrap_or(0)),
            binding_count: U32::new(count("bindings", self.binds.len())?),
            section_count: U32::ZERO,
            crc32: U32::ZERO,
            revision: U32::new(u32::from(major) << 16 | u32::from(minor)),
        };
        Ok((header, tail))
    }
}

/// Operands of an `MC_BIND`.
struct Bind {
    kernel_id: KernelNo,
    arg_index: u32,
    tensor_id: TensorRef,
    offset: Scalar,
    size: Scalar,
    direction: Direction,
}

/// A number of rows or bytes.
fn count(what: &str, count: usize) -> Result<u32, Diagnostic> {
    u32::try_from(count).map_err(|_| {
        Diagnostic::error(DOES_NOT_FIT, format!("the unit has {count} {what}"))
            .note(format!("the binary form counts to {}", u32::MAX))
            .help("split the unit")
    })
}

/// The bits of a partition in a kernel's row.
fn partition_bits(kernel: KernelNo, partition: PartitionNo) -> Result<u32, Diagnostic> {
    if partition == PartitionNo::NONE {
        return Ok(0);
    }
    if partition.0 >= 0xffff {
        return Err(Diagnostic::error(
            DOES_NOT_FIT,
            format!("partition {} of kernel {}", partition.0, kernel.0),
        )
        .note("the binary form has 16 bits for the partition of a kernel: numbers up to 65534")
        .help("give the partition a smaller number"));
    }
    Ok((partition.0 + 1) << 16)
}

fn reference_arg((name, value): &(Symbol, RefValue)) -> ReferenceArgRow {
    let (kind, value) = match *value {
        RefValue::Tensor(tensor) => (0, u64::from(tensor.0)),
        RefValue::Const(value) => (1, value as u64),
        RefValue::Arg(arg) => (2, u64::from(arg)),
    };
    ReferenceArgRow { name: U32::new(name.0), kind: U32::new(kind), value: U64::new(value) }
}

/// Sections and their directory. Sections without rows are left out.
#[derive(Default)]
struct File {
    directory: Vec<SectionRow>,
    /// Sections, each padded to a multiple of 8 bytes.
    body: Vec<u8>,
}

impl File {
    fn rows<T: IntoBytes + Immutable>(&mut self, section: Section, rows: &[T]) -> Result<(), Diagnostic> {
        self.section(section, rows.len(), rows.as_bytes())
    }

    fn section(&mut self, section: Section, rows: usize, bytes: &[u8]) -> Result<(), Diagnostic> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.directory.push(SectionRow {
            kind: U32::new(section as u32),
            count: U32::new(count(section.name(), rows)?),
            offset: U64::new(self.body.len() as u64),
            bytes: U64::new(bytes.len() as u64),
        });
        self.body.extend_from_slice(bytes);
        self.body.resize(self.body.len().next_multiple_of(SECTION_ALIGNMENT as usize), 0);
        Ok(())
    }

    fn finish(mut self, (header, mut tail): (Header, HeaderTail)) -> Result<Vec<u8>, Diagnostic> {
        let begin = HEADER_BYTES as usize + size_of_val(self.directory.as_slice());
        for row in &mut self.directory {
            row.offset += U64::new(begin as u64);
        }
        tail.section_count = U32::new(count("sections", self.directory.len())?);
        let mut bytes = Vec::with_capacity(begin + self.body.len());
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(tail.as_bytes());
        bytes.extend_from_slice(self.directory.as_bytes());
        bytes.extend_from_slice(&self.body);
        let checksum = crc32_without(&bytes, CHECKSUM_OFFSET);
        if let Some(place) = bytes.get_mut(CHECKSUM_OFFSET..CHECKSUM_OFFSET + 4) {
            place.copy_from_slice(&checksum.to_le_bytes());
        }
        Ok(bytes)
    }
}
