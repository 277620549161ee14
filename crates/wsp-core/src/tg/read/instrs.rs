//! Instructions of a unit in program order.

use super::Ptog;
use crate::tg::wire::{
    AllocRow, BindRow, CodeRow, DOCUMENT_VERSION, DependRow, KernelRow, OperandFault, Pools, Section,
    TableRow, bind_mode,
};
use crate::tg::wire::{read_row, scalar, table};
use crate::tg::{
    CoreType, DependencyType, Direction, Instr, KernelNo, MemLocation, NodeNo, Op, PartitionNo, Scalar,
    Symbol, TensorNo, TensorRef,
};
use core::slice::{ChunksExact, Iter};
use zerocopy::little_endian::U32;

/// Beginning and end of the graph of a file of version 1.
pub(super) static DOCUMENT_HOST: [U32; 8] = [
    U32::new(Op::TgBegin as u32),
    U32::ZERO,
    U32::ZERO,
    U32::ZERO,
    U32::new(Op::TgEnd as u32),
    U32::ZERO,
    U32::ZERO,
    U32::ZERO,
];

/// The program order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order<'a> {
    /// The section of each instruction.
    Bytes(&'a [u8]),
    /// Sections, and how many instructions of each.
    Runs([(Section, u32); 6]),
}

impl Default for Order<'_> {
    fn default() -> Self {
        Order::Bytes(&[])
    }
}

/// The instructions of a unit in program order.
///
/// What makes the next one is inlined at every level of optimisation, so that the caller's memory is where it is made: a copy of an instruction
/// whose fields were just written one by one waits for them, which takes as long as reading it.
#[derive(Clone, Debug)]
pub struct Instrs<'a> {
    order: Order<'a>,
    /// Instructions that come yet.
    left: usize,
    version: u32,
    pools: Pools,
    kernels: Iter<'a, KernelRow>,
    depends: Iter<'a, DependRow>,
    allocs: Iter<'a, AllocRow>,
    binds: Iter<'a, BindRow>,
    codes: &'a [CodeRow],
    tables: &'a [TableRow],
    host: ChunksExact<'a, U32>,
    ctrl: ChunksExact<'a, U32>,
    core: ChunksExact<'a, U32>,
    sync: ChunksExact<'a, U32>,
    copy: ChunksExact<'a, U32>,
    fence: ChunksExact<'a, U32>,
}

/// Why there is no next instruction although there should be one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// This section has no instructions, or no more.
    Order(u8),
    /// A row cannot be.
    Row(Section, OperandFault),
}

impl<'a> Instrs<'a> {
    pub(super) fn new(unit: &Ptog<'a>) -> Instrs<'a> {
        let rows = |words: &'a [U32], section: Section| words.chunks_exact(section.row_words().unwrap_or(1));
        let left = match unit.order {
            Order::Bytes(bytes) => bytes.len(),
            Order::Runs(runs) => runs.iter().map(|(_, count)| *count as usize).sum(),
        };
        Instrs {
            order: unit.order,
            left,
            version: unit.version,
            pools: unit.pools(),
            kernels: unit.kernels.iter(),
            depends: unit.depends.iter(),
            allocs: unit.allocs.iter(),
            binds: unit.binds.iter(),
            codes: unit.codes,
            tables: unit.tables,
            host: rows(unit.words.host, Section::Host),
            ctrl: rows(unit.words.ctrl, Section::Ctrl),
            core: rows(unit.words.core, Section::Core),
            sync: rows(unit.words.sync, Section::Sync),
            copy: rows(unit.words.copy, Section::Copy),
            fence: rows(unit.words.fence, Section::Fence),
        }
    }

    /// The next instruction.
    #[inline(always)]
    pub(super) fn checked_next(&mut self) -> Result<Option<Instr>, Fault> {
        let Some(section) = self.next_section() else { return Ok(None) };
        self.left = self.left.saturating_sub(1);
        self.take(section).map(Some)
    }

    /// The section of the next instruction.
    #[inline(always)]
    fn next_section(&mut self) -> Option<u8> {
        match &mut self.order {
            Order::Bytes(bytes) => {
                let (first, rest) = bytes.split_first()?;
                *bytes = rest;
                Some(*first)
            }
            Order::Runs(runs) => {
                let (section, count) = runs.iter_mut().find(|(_, count)| *count > 0)?;
                *count -= 1;
                Some(*section as u8)
            }
        }
    }

    /// The instruction of the next row of a section.
    #[inline(always)]
    fn take(&mut self, code: u8) -> Result<Instr, Fault> {
        let none = Fault::Order(code);
        let section = Section::from_code(u32::from(code)).ok_or(none)?;
        let instr = match section {
            Section::Kernel => {
                let row = self.kernels.next().ok_or(none)?;
                self.kernel(row)
            }
            Section::Bind => {
                let row = self.binds.next().ok_or(none)?;
                self.bind(row)
            }
            Section::Depend => depend(self.depends.next().ok_or(none)?),
            Section::Alloc => alloc(self.allocs.next().ok_or(none)?),
            _ => {
                let row = self.rows(section).ok_or(none)?.next().ok_or(none)?;
                self.words(section, row)
            }
        };
        instr.map_err(|fault| Fault::Row(section, fault))
    }

    /// The rows of a section of words.
    fn rows(&mut self, section: Section) -> Option<&mut ChunksExact<'a, U32>> {
        Some(match section {
            Section::Host => &mut self.host,
            Section::Ctrl => &mut self.ctrl,
            Section::Core => &mut self.core,
            Section::Sync => &mut self.sync,
            Section::Copy => &mut self.copy,
            Section::Fence => &mut self.fence,
            _ => return None,
        })
    }

    /// Rows of a section that are left.
    pub(super) fn rows_left(&self, section: Section) -> usize {
        match section {
            Section::Kernel => self.kernels.len(),
            Section::Bind => self.binds.len(),
            Section::Depend => self.depends.len(),
            Section::Alloc => self.allocs.len(),
            Section::Host => self.host.len(),
            Section::Ctrl => self.ctrl.len(),
            Section::Core => self.core.len(),
            Section::Sync => self.sync.len(),
            Section::Copy => self.copy.len(),
            Section::Fence => self.fence.len(),
            _ => 0,
        }
    }

    fn words(&self, section: Section, row: &[U32]) -> Result<Instr, OperandFault> {
        let instr = read_row(row, &self.pools)?;
        if Section::of(instr.op()) == section {
            Ok(instr)
        } else {
            Err(OperandFault { operand: "opcode", value: u64::from(instr.op() as u8) })
        }
    }

    #[inline(always)]
    fn kernel(&self, row: &KernelRow) -> Result<Instr, OperandFault> {
        let (core, entry) = (row.core_type.get(), row.entry_offset.get());
        let (core_type, partition) = match (self.version, core >> 16) {
            (DOCUMENT_VERSION, _) => (core, PartitionNo::NONE),
            (_, 0) => (core, PartitionNo::NONE),
            (_, partition) => (core & 0xffff, PartitionNo(partition - 1)),
        };
        let entry_symbol = match self.version {
            DOCUMENT_VERSION => Symbol(entry),
            _ => self.entry(entry).ok_or(wrong("entry_offset", entry))?,
        };
        Ok(Instr::TgKernel {
            kernel_id: KernelNo(row.kernel_id.get()),
            entry_symbol,
            block_dim: row.block_dim.get(),
            core_type: CoreType::from_code(core_type).ok_or(wrong("core_type", core_type))?,
            workspace_size: row.workspace_size.get(),
            partition,
        })
    }

    /// The symbol of the entry at a byte of `CODE`.
    #[inline]
    fn entry(&self, offset: u32) -> Option<Symbol> {
        let at = offset as usize / size_of::<CodeRow>();
        let row = self.codes.get(at).filter(|_| (offset as usize).is_multiple_of(size_of::<CodeRow>()))?;
        Some(Symbol(row.symbol.get()))
    }

    #[inline(always)]
    fn bind(&self, row: &BindRow) -> Result<Instr, OperandFault> {
        let (mode, tensor) = (row.mode.get(), row.tensor_id.get());
        if mode & !bind_mode::ALL != 0 || mode != 0 && self.version == DOCUMENT_VERSION {
            return Err(wrong("mode", mode));
        }
        let tensor_id = if mode & bind_mode::TABLE == 0 {
            TensorRef::Tensor(TensorNo(tensor))
        } else {
            let row = self.tables.get(tensor as usize).ok_or(wrong("tensor_id", tensor))?;
            table(row.first.get(), row.len.get(), row.index.get(), &self.pools)
                .ok_or(wrong("tensor_id", tensor))?
        };
        let direction = mode >> bind_mode::DIRECTION_SHIFT;
        Ok(Instr::McBind {
            kernel_id: KernelNo(row.kernel_id.get()),
            arg_index: row.arg_index.get(),
            tensor_id,
            offset: self.scalar("offset", row.offset.get(), mode & bind_mode::OFFSET)?,
            size: self.scalar("size", row.size.get(), mode & bind_mode::SIZE)?,
            direction: Direction::from_code(direction).ok_or(wrong("mode", mode))?,
        })
    }

    /// A scalar of a binding. Version 1 has numbers of bytes only, without sign.
    #[inline(always)]
    fn scalar(&self, operand: &'static str, value: u64, mode: u32) -> Result<Scalar, OperandFault> {
        let too_large = self.version == DOCUMENT_VERSION && i64::try_from(value).is_err();
        let found = if too_large { None } else { scalar(value, mode != 0, &self.pools) };
        found.ok_or(OperandFault { operand, value })
    }
}

impl Iterator for Instrs<'_> {
    type Item = Instr;

    #[inline(always)]
    fn next(&mut self) -> Option<Instr> {
        // Rows are checked when the unit is read.
        self.checked_next().ok().flatten()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Instrs<'_> {}

fn wrong(operand: &'static str, value: u32) -> OperandFault {
    OperandFault { operand, value: u64::from(value) }
}

#[inline(always)]
fn depend(row: &DependRow) -> Result<Instr, OperandFault> {
    let dep_type = row.dep_type.get();
    Ok(Instr::TgDepend {
        src_kernel: NodeNo(row.src.get()),
        dst_kernel: NodeNo(row.dst.get()),
        dep_type: DependencyType::from_code(dep_type).ok_or(wrong("dep_type", dep_type))?,
        tensor_id: TensorNo(row.tensor_id.get()),
    })
}

#[inline(always)]
fn alloc(row: &AllocRow) -> Result<Instr, OperandFault> {
    let location = row.location.get();
    if row.zero.get() != 0 {
        return Err(wrong("zero", row.zero.get()));
    }
    Ok(Instr::McAlloc {
        tensor_id: TensorNo(row.tensor_id.get()),
        size: row.size.get(),
        alignment: row.alignment.get(),
        location: MemLocation::from_code(location).ok_or(wrong("location", location))?,
    })
}
