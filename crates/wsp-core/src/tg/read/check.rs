//! What rows refer to, and that nothing is left out.

use super::error::ReadError;
use super::instrs::Fault;
use super::{Ptog, expr_op};
use crate::DType;
use crate::tg::wire::{
    ExprRow, Header, HeaderTail, LITTLE_ENDIAN, NAMESPACES, NO_DTYPE, OperandFault, Pools, REVISIONS,
    Section, VERSION,
};
use crate::tg::{ExprOp, Instr, ScalarType};

/// Rows of instructions stand in these.
const INSTRUCTIONS: [Section; 10] = [
    Section::Kernel,
    Section::Depend,
    Section::Alloc,
    Section::Bind,
    Section::Ctrl,
    Section::Core,
    Section::Sync,
    Section::Copy,
    Section::Fence,
    Section::Host,
];

/// The header of version 3 against the sections.
pub(super) fn header(header: &Header, tail: &HeaderTail, unit: &Ptog<'_>) -> Result<(), ReadError> {
    let (_, (major, minor)) = REVISIONS[REVISIONS.len() - 1];
    debug_assert!(REVISIONS[REVISIONS.len() - 1].0 == VERSION);
    if tail.revision.get() != u32::from(major) << 16 | u32::from(minor) {
        return Err(ReadError::Revision { found: tail.revision.get() });
    }
    let first = unit.instrs().find_map(|instr| match instr {
        Instr::TgBegin { graph_id } => Some(graph_id.0),
        _ => None,
    });
    let fields = [
        (8, "kernel_count", header.kernel_count.get(), unit.kernels.len()),
        (12, "depend_count", header.depend_count.get(), unit.depends.len()),
        (16, "alloc_count", header.alloc_count.get(), unit.allocs.len()),
        (24, "flags", tail.flags.get(), LITTLE_ENDIAN as usize),
        (28, "graph_id", tail.graph_id.get(), first.unwrap_or(0) as usize),
        (32, "binding_count", tail.binding_count.get(), unit.binds.len()),
    ];
    for (offset, field, found, expected) in fields {
        let (found, expected) = (u64::from(found), expected as u64);
        if found != expected {
            return Err(ReadError::Header { offset, field, found, expected });
        }
    }
    Ok(())
}

/// A row that cannot be.
fn wrong(section: Section, row: usize, field: &'static str, value: u32) -> ReadError {
    ReadError::Row { section, row: row as u32, field, value: u64::from(value) }
}

/// Every row that is no instruction.
pub(super) fn rows(unit: &Ptog<'_>) -> Result<(), ReadError> {
    let pools = unit.pools();
    for (row, code) in unit.codes.iter().enumerate() {
        zero(Section::Code, row, code.zero.get())?;
        string(Section::Code, row, "symbol", code.symbol.get(), &pools)?;
    }
    for (row, path) in unit.uses.iter().enumerate() {
        string(Section::Use, row, "path", path.get(), &pools)?;
    }
    for (row, table) in unit.tables.iter().enumerate() {
        zero(Section::Table, row, table.zero.get())?;
    }
    for (row, name) in unit.names.iter().enumerate() {
        string(Section::Name, row, "name", name.name.get(), &pools)?;
        if name.space.get() >= NAMESPACES {
            return Err(wrong(Section::Name, row, "space", name.space.get()));
        }
    }
    exprs(unit.exprs, &pools)?;
    declarations(unit, &pools)
}

fn declarations(unit: &Ptog<'_>, pools: &Pools) -> Result<(), ReadError> {
    let mut extents = 0;
    for (row, tensor) in unit.externs.iter().enumerate() {
        let dtype = tensor.dtype.get();
        if dtype != NO_DTYPE && u8::try_from(dtype).ok().and_then(DType::from_code).is_none() {
            return Err(wrong(Section::Extern, row, "dtype", dtype));
        }
        extents = next_run(Section::Extern, row, tensor.first.get(), tensor.rank.get(), extents)?;
    }
    whole(Section::Extern, extents, unit.extents.len())?;
    for (row, arg) in unit.args.iter().enumerate() {
        string(Section::Arg, row, "name", arg.name.get(), pools)?;
        zero(Section::Arg, row, u32::from(arg.zero))?;
        for (field, value, limit) in [
            ("source", arg.source, 2),
            ("ty", arg.ty, ScalarType::ALL.len() as u8),
            ("has_default", arg.has_default, 2),
        ] {
            if value >= limit {
                return Err(wrong(Section::Arg, row, field, u32::from(value)));
            }
        }
    }
    let mut parameters = 0;
    for (row, reference) in unit.references.iter().enumerate() {
        string(Section::Reference, row, "name", reference.name.get(), pools)?;
        zero(Section::Reference, row, reference.zero.get())?;
        parameters =
            next_run(Section::Reference, row, reference.first.get(), reference.len.get(), parameters)?;
    }
    whole(Section::Reference, parameters, unit.reference_args.len())?;
    for (row, arg) in unit.reference_args.iter().enumerate() {
        string(Section::ReferenceArg, row, "name", arg.name.get(), pools)?;
        let value = arg.value.get();
        let fits = match arg.kind.get() {
            0 => u32::try_from(value).is_ok(),
            1 => true,
            2 => value < u64::from(pools.args),
            kind => return Err(wrong(Section::ReferenceArg, row, "kind", kind)),
        };
        if !fits {
            return Err(ReadError::Row {
                section: Section::ReferenceArg,
                row: row as u32,
                field: "value",
                value,
            });
        }
    }
    Ok(())
}

/// The end of a row's run, which begins where that of the row before it ends: what a unit takes in memory is bounded by the
/// bytes that it has.
fn next_run(section: Section, row: usize, first: u32, len: u32, end: u32) -> Result<u32, ReadError> {
    if first != end {
        return Err(wrong(section, row, "first", first));
    }
    first.checked_add(len).ok_or(wrong(section, row, "first", first))
}

/// Runs end where what they are runs of ends.
fn whole(section: Section, end: u32, have: usize) -> Result<(), ReadError> {
    if end as usize == have { Ok(()) } else { Err(wrong(section, 0, "end of the last run", end)) }
}

fn zero(section: Section, row: usize, value: u32) -> Result<(), ReadError> {
    if value == 0 { Ok(()) } else { Err(wrong(section, row, "zero", value)) }
}

fn string(
    section: Section,
    row: usize,
    field: &'static str,
    symbol: u32,
    pools: &Pools,
) -> Result<(), ReadError> {
    if symbol < pools.strings { Ok(()) } else { Err(wrong(section, row, field, symbol)) }
}

/// Every operation is one, refers to what there is, skips lead out of no expression, and the last operation ends the last one.
fn exprs(rows: &[ExprRow], pools: &Pools) -> Result<(), ReadError> {
    // The skip of the expression that leads furthest, and where to.
    let mut furthest = (0, 0);
    for (at, row) in rows.iter().enumerate() {
        let op = expr_op(row).ok_or(wrong(Section::Scalar, at, "op", u32::from(row.op)))?;
        if matches!(op, ExprOp::Arg(arg) if arg >= pools.args) {
            return Err(wrong(Section::Scalar, at, "number", row.number.get()));
        }
        if *row != ExprRow::new(op) {
            return Err(wrong(Section::Scalar, at, "zero", 1));
        }
        if let ExprOp::SkipZero(past) | ExprOp::SkipNonZero(past) = op {
            let to = (at + 1).saturating_add(past as usize);
            furthest = if to > furthest.1 { (at, to) } else { furthest };
        }
        if op == ExprOp::End && furthest.1 > at {
            return Err(wrong(Section::Scalar, furthest.0, "number", rows[furthest.0].number.get()));
        }
    }
    match rows.last() {
        Some(last) if last.op != 0 => Err(wrong(Section::Scalar, rows.len() - 1, "op", u32::from(last.op))),
        _ => Ok(()),
    }
}

/// Every instruction; the program order names every row once.
pub(super) fn instrs(unit: &Ptog<'_>) -> Result<(), ReadError> {
    let all = unit.instrs();
    let mut rest = all.clone();
    let mut count = 0u32;
    loop {
        match rest.checked_next() {
            Ok(Some(_)) => count += 1,
            Ok(None) => break,
            Err(Fault::Order(section)) => return Err(ReadError::Order { instr: count, section }),
            Err(Fault::Row(section, OperandFault { operand, value })) => {
                let row = all.rows_left(section).saturating_sub(rest.rows_left(section)).saturating_sub(1);
                return Err(ReadError::Row { section, row: row as u32, field: operand, value });
            }
        }
    }
    for section in INSTRUCTIONS {
        let rows = rest.rows_left(section) as u32;
        if rows > 0 {
            return Err(ReadError::NotOrdered { section, rows });
        }
    }
    places(unit, count)
}

/// There is a place for every instruction or for none, and for every declaration.
fn places(unit: &Ptog<'_>, instrs: u32) -> Result<(), ReadError> {
    let Some(debug) = unit.debug else { return Ok(()) };
    let placed = debug.header.instrs.get();
    if placed != 0 && placed != instrs {
        return Err(wrong(Section::Debug, 0, "instrs", placed));
    }
    let declared = unit.uses.len()
        + unit.externs.len()
        + unit.extern_events.len()
        + unit.args.len()
        + unit.references.len();
    if debug.spans.len() != placed as usize + declared {
        return Err(wrong(Section::Debug, 0, "spans", debug.spans.len() as u32));
    }
    Ok(())
}
