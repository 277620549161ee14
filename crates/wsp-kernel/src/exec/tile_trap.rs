//! What went wrong in a tile operation, in the words of the source.

use super::tile_code::{TileDecl, TileInst};
use super::tile_run::{PastEnd, TileRun};
use super::trap::{
    DIVISION_BY_ZERO, LOSSY_CONVERSION, TENSOR_BOUNDS, TILE_CAPACITY, TILE_ELEMENT, TILE_INDEX, TILE_SHAPE,
    TILE_SIZE, TILE_UNWRITTEN, never_stored,
};
use crate::Trap;
use crate::memory::{Fault, Shape};
use wsp_core::words::{by_count, counted};
use wsp_core::{DType, limits};
use wsp_diag::Span;
use wsp_ir::{Operand, TileOp};

/// A tile that cannot exist.
#[cold]
pub(crate) fn declaration(decl: &TileDecl, fault: Fault, span: Span) -> Trap {
    let message = format!("tile `{}` has a capacity of {} x {}", decl.name, decl.rows, decl.cols);
    match fault {
        Fault::TileTooLarge { bytes, .. } => Trap::new(TILE_SIZE, message, span).note(format!(
            "need {bytes}, have {} per tile",
            limits::MAX_TILE_BYTES,
            bytes = counted(bytes, "byte")
        )),
        other => Trap::internal(format!("tile `{}`: {other:?}", decl.name), span),
    }
}

/// A tile that is read too early.
#[cold]
pub(crate) fn unwritten(decl: &TileDecl, span: Span) -> Trap {
    Trap::new(TILE_UNWRITTEN, format!("tile `{}` is used before anything is written to it", decl.name), span)
        .note("a declaration makes its tile empty each time it is reached")
}

/// A tile that is used though the load into it yielded nothing.
#[cold]
pub(crate) fn past_end(decl: &TileDecl, load: &PastEnd, run: &TileRun<'_>, used: Span) -> Trap {
    let PastEnd { tensor, dim, index, extent, span, .. } = *load;
    let name = run.tensor_names.get(tensor as usize).map_or("?", String::as_str);
    let message =
        format!("a load past the end of dimension {dim} of `{name}` leaves tile `{}` empty", decl.name);
    let trap = Trap::new(TENSOR_BOUNDS, message, span)
        .note(format!("it begins at index {index}, where the dimension has {extent}"));
    match used == span {
        true => trap,
        false => trap.labelled(used, format!("`{}` is used here", decl.name)),
    }
}

/// An operation that could not be done.
#[cold]
pub(crate) fn operation(inst: &TileInst, run: &TileRun<'_>, fault: Fault, span: Span) -> Trap {
    match fault {
        Fault::ShapeMismatch { have, need } if matches!(inst, TileInst::Op(TileOp::Reshape { .. })) => {
            let count = |shape: Shape| u64::from(shape.rows) * u64::from(shape.cols);
            Trap::new(TILE_SHAPE, shape_message(inst, run), span)
                .note(format!(
                    "{need} are {}, what is valid of the operand is {have}, {}",
                    count(need),
                    count(have)
                ))
                .help("give rows and columns whose product is the number of valid elements")
        }
        Fault::ShapeMismatch { have, need } => {
            let mut trap = Trap::new(TILE_SHAPE, shape_message(inst, run), span)
                .note(format!("an operand's valid part is {have}, the operation needs {need}"));
            let tiles = inst.tiles();
            for (i, &tile) in tiles.iter().enumerate() {
                if tiles[..i].contains(&tile) {
                    continue;
                }
                let (valid, decl) = (run.set.tiles.shape(tile), &run.decls[tile]);
                trap = trap.note(format!(
                    "`{}` is {valid}, with a capacity of {} x {}",
                    decl.name, decl.rows, decl.cols
                ));
            }
            trap
        }
        Fault::Capacity { have, need } => {
            let name = inst.tiles().first().map_or("?", |tile| &run.decls[*tile].name);
            Trap::new(TILE_CAPACITY, format!("the result does not fit tile `{name}`"), span)
                .note(format!("need {need}, have {have}"))
        }
        Fault::IndexOutOfBounds { dim, index, extent } => {
            let name = tensor_name(inst, run);
            Trap::new(TENSOR_BOUNDS, format!("index {index} is outside of dimension {dim} of `{name}`"), span)
                .note(format!("dimension {dim} has {extent} here"))
        }
        Fault::StorePastEnd { dim, index, count, extent } => {
            let (name, left) = (tensor_name(inst, run), extent.saturating_sub(index));
            Trap::new(TENSOR_BOUNDS, format!("a store past the end of dimension {dim} of `{name}`"), span)
                .note(format!(
                    "{count} from index {index} on, where {left} of {extent} {are} left",
                    count = counted(count, "element"),
                    are = by_count(left, "is", "are")
                ))
        }
        Fault::StorePastSlice { have, rows, cols } => {
            let sizes = [("row", have.rows, rows), ("column", have.cols, cols)];
            let past = sizes.iter().filter_map(|(what, have, room)| {
                let room = (*room).filter(|room| have > room)?;
                let (have, room) = (counted(u64::from(*have), what), counted(u64::from(room), what));
                Some(format!("the tile has {have}, the slice {room}"))
            });
            let tile = inst.tiles().first().map_or("?", |tile| &run.decls[*tile].name);
            let name = tensor_name(inst, run);
            let message = format!("tile `{tile}` is larger than the slice of `{name}` that it is stored to");
            past.fold(Trap::new(TENSOR_BOUNDS, message, span), Trap::note)
        }
        Fault::NeverStored { at } => {
            let trap = never_stored(tensor_name(inst, run), span);
            match inst {
                TileInst::Op(TileOp::Load { .. } | TileOp::Store { .. }) => trap.note(format!(
                    "the first such element is in row {} and column {} of what is loaded",
                    at.rows, at.cols
                )),
                _ => trap,
            }
        }
        Fault::SlotMisaligned { offset, slot_bytes } => {
            let name = tensor_name(inst, run);
            Trap::new(TENSOR_BOUNDS, format!("{offset} is no workspace slot of `{name}`"), span).note(
                format!(
                    "slots are {slot_bytes} apart; `PTO_ALLOC_WS` gives their offsets",
                    slot_bytes = counted(slot_bytes, "byte")
                ),
            )
        }
        Fault::SlotsUneven => {
            let name = tensor_name(inst, run);
            Trap::new(TILE_SHAPE, format!("tile rows cannot follow the slots of `{name}`"), span).note(
                "tiers reserve different numbers of bytes per slot, so slots do not lie equally far apart",
            )
        }
        Fault::ColumnDimension { dim } => {
            let name = tensor_name(inst, run);
            Trap::new(TILE_SHAPE, format!("tile columns cannot follow dimension {dim} of `{name}`"), span)
                .note("its elements are not evenly spaced in memory")
        }
        Fault::NotFloat { dtype } => {
            let name = tensor_name(inst, run);
            Trap::new(TILE_ELEMENT, format!("`{name}` holds `{dtype}` elements"), span)
                .note("integers are loaded to and stored from tiles of their own type")
        }
        Fault::DivisionByZero { at } => {
            Trap::new(DIVISION_BY_ZERO, "division by zero in a tile of integers", span)
                .note(format!("the quotient is in row {} and column {}", at.rows, at.cols))
        }
        Fault::NoInteger { at, value, dtype } => {
            let value = f64::from_bits(value);
            Trap::new(LOSSY_CONVERSION, format!("{value} does not fit elements of `{dtype}`"), span)
                .note(format!("the element is in row {} and column {}", at.rows, at.cols))
                .note(range(dtype))
                .help("limit the numbers first, `TCLAMP`, and replace NaN, `TSEL`")
        }
        Fault::NumberRange { value, dtype } => Trap::new(
            LOSSY_CONVERSION,
            format!("the number {value} does not fit elements of `{dtype}`"),
            span,
        )
        .note(range(dtype)),
        Fault::IndexTooLarge { index } => {
            Trap::new(TILE_CAPACITY, format!("index {index} is too large for a tile of indices"), span)
                .note("from 16777216 = 2^24 on, `float` does not hold every whole number")
        }
        Fault::NoPlace { at, index, extent, by_row } => {
            let (index, what) = (f64::from_bits(index), if by_row { "row" } else { "column" });
            // All digits of a whole number, and few of what is close to 0.
            let index = match index.fract() == 0.0 {
                true => index.to_string(),
                false => format!("{index:?}"),
            };
            let tiles = inst.tiles();
            let [src, indices] =
                [1, 2].map(|place| tiles.get(place).map_or("?", |tile: &usize| &run.decls[*tile].name));
            Trap::new(TILE_INDEX, format!("index {index} of `{indices}` is no {what} of `{src}`"), span)
                .note(format!("the index is in row {} and column {} of `{indices}`", at.rows, at.cols))
                .note(match extent {
                    0 => format!("`{src}` has no {what} here"),
                    _ => format!("{what}s are the whole numbers from 0 to {}", extent - 1),
                })
        }
        Fault::Rank { .. }
        | Fault::PageMissing { .. }
        | Fault::OutsideBuffer { .. }
        | Fault::TileTooLarge { .. } => {
            Trap::internal(format!("access to `{}`: {fault:?}", tensor_name(inst, run)), span)
        }
    }
}

/// The numbers of an integer type.
fn range(dtype: DType) -> String {
    let (low, high) = dtype.bounds().unwrap_or_default();
    format!("they hold whole numbers from {low} to {high}")
}

fn shape_message(inst: &TileInst, run: &TileRun<'_>) -> String {
    let name = |tile: usize| &run.decls[tile].name;
    let op = match inst {
        TileInst::RowScalar { tile, .. } => return format!("tile `{}` has more than one row", name(*tile)),
        TileInst::Op(op) => op,
        _ => return "tiles do not go together".to_owned(),
    };
    match op {
        TileOp::Binary { a, b: Operand::Tile(b), .. } => {
            format!("tiles `{}` and `{}` have different shapes", name(*a), name(*b))
        }
        TileOp::Binary { a, b: Operand::Column(b), .. } => {
            format!("`{}` is no column with the rows of `{}`", name(*b), name(*a))
        }
        TileOp::Binary { a, b: Operand::Row(b), .. } => {
            format!("`{}` is no row with the columns of `{}`", name(*b), name(*a))
        }
        TileOp::Select { mask, .. } => {
            format!("the operands of a choice do not have the shape of its mask `{}`", name(*mask))
        }
        TileOp::MatMul { dst, a, b, accumulate: true, .. } => {
            let (a, b) = (name(*a), name(*b));
            format!("the product of `{a}` and `{b}` does not have the shape of `{}`", name(*dst))
        }
        TileOp::TopK { values, indices, src, .. } => {
            let (values, indices) = (name(*values), name(*indices));
            format!("`{values}` and `{indices}` do not hold one list per row of `{}`", name(*src))
        }
        TileOp::Insert { dst, src, .. } => {
            format!("`{}` does not fit into what is valid of `{}` from there on", name(*src), name(*dst))
        }
        TileOp::Store { src, .. } => {
            format!("tile `{}` does not fit its place in `{}`", name(*src), tensor_name(inst, run))
        }
        TileOp::Load { dst, .. } => {
            format!("tile `{}` does not fit its place in `{}`", name(*dst), tensor_name(inst, run))
        }
        TileOp::Gather { src, indices, by_row, .. } => {
            let what = if *by_row { "columns" } else { "rows" };
            format!("the indices `{}` do not have the {what} of `{}`", name(*indices), name(*src))
        }
        TileOp::Reshape { dst, src, .. } => {
            format!("the new shape, of `{}`, has not as many elements as `{}`", name(*dst), name(*src))
        }
        _ => "tiles do not go together".to_owned(),
    }
}

/// The tensor that an operation accesses.
fn tensor_name<'r>(inst: &TileInst, run: &TileRun<'r>) -> &'r str {
    match inst {
        TileInst::Op(TileOp::Load { at, .. } | TileOp::Store { at, .. })
        | TileInst::LoadScalar(at)
        | TileInst::StoreScalar { at, .. } => {
            run.tensor_names.get(at.tensor as usize).map_or("?", String::as_str)
        }
        _ => "?",
    }
}
