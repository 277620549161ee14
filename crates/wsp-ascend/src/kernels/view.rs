//! How an instruction sees the bytes of a buffer: the C++ types of tiles.

use super::memories::{L0A, L0B, L0C, L1, UB};
use super::scalars::Scalars;
use wsp_core::DType;
use wsp_tile::{BufferId, Extent, Tile, TileProgram};

/// Valid rows or columns in C++.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Valid {
    /// Known at emission.
    Known(u32),
    /// A `uint32_t`.
    Text(String),
}

impl Valid {
    pub(super) fn of(extent: Extent, scalars: &Scalars<'_>) -> Valid {
        match extent {
            Extent::Known(n) => Valid::Known(n),
            Extent::Value { local, .. } => Valid::Text(scalars.local(local)),
        }
    }

    /// As an expression of type `uint32_t`.
    pub(super) fn text(&self) -> String {
        match self {
            Valid::Known(n) => format!("{n}u"),
            Valid::Text(text) => text.clone(),
        }
    }

    /// As a constant of `float`; counts of tiles are below 2²⁴.
    pub(super) fn float(&self) -> String {
        match self {
            Valid::Known(n) => Scalars::float(f64::from(*n)),
            Valid::Text(text) => format!("static_cast<float>({text})"),
        }
    }
}

/// Element types of tiles in C++.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CElem {
    F32,
    F16,
    Bf16,
    I8,
    I16,
    I32,
    U32,
    U8,
    U16,
    I64,
    U64,
}

impl CElem {
    /// That of a buffer or a tensor; none where there is none.
    pub(super) fn of(elem: DType) -> Option<CElem> {
        Some(match elem {
            DType::F32 => CElem::F32,
            DType::F16 => CElem::F16,
            DType::Bf16 => CElem::Bf16,
            DType::I8 => CElem::I8,
            DType::I16 => CElem::I16,
            DType::I32 => CElem::I32,
            DType::U32 => CElem::U32,
            DType::U8 => CElem::U8,
            DType::U16 => CElem::U16,
            DType::I64 => CElem::I64,
            DType::U64 => CElem::U64,
            DType::F64 | DType::Bool | DType::F8E4m3 | DType::F8E5m2 => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            CElem::F32 => "float",
            CElem::F16 => "half",
            CElem::Bf16 => "bfloat16_t",
            CElem::I8 => "int8_t",
            CElem::I16 => "int16_t",
            CElem::I32 => "int32_t",
            CElem::U32 => "uint32_t",
            CElem::U8 => "uint8_t",
            CElem::U16 => "uint16_t",
            CElem::I64 => "int64_t",
            CElem::U64 => "uint64_t",
        }
    }

    pub(super) fn size(self) -> u32 {
        match self {
            CElem::I8 | CElem::U8 => 1,
            CElem::F16 | CElem::Bf16 | CElem::I16 | CElem::U16 => 2,
            CElem::F32 | CElem::I32 | CElem::U32 => 4,
            CElem::I64 | CElem::U64 => 8,
        }
    }

    /// Elements of the 32 bytes that rows of tiles are multiples of.
    pub(super) fn per_block(self) -> u32 {
        32 / self.size()
    }
}

/// Bytes that a tile lies in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// A buffer of the program.
    Buffer(BufferId),
    /// A scratch buffer of the instruction, by number.
    Scratch(u32),
}

/// In which order elements lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// Rows one after another.
    Rows,
    /// One column without gaps.
    Column,
    /// Fractals of a left operand or a plain right operand in L1.
    Nz,
    /// Fractals of a right operand in L1 that is transposed on the way there.
    Zn,
    /// Fractals in UB, on the way to L1.
    Boxed,
    /// A left operand.
    Left,
    /// A right operand.
    Right,
    /// An accumulator.
    Acc,
}

/// A tile of C++.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct View {
    pub(super) slot: Slot,
    pub(super) elem: CElem,
    pub(super) rows: u32,
    pub(super) cols: u32,
    pub(super) layout: Layout,
    pub(super) valid: [Valid; 2],
    /// Bytes from the slot's address to the first element, an expression; none for 0.
    pub(super) offset: Option<String>,
}

impl View {
    /// The type.
    pub(super) fn c_type(&self) -> String {
        let [rows, cols] = [&self.valid[0], &self.valid[1]].map(|valid| match valid {
            Valid::Known(n) => n.to_string(),
            Valid::Text(_) => "DYNAMIC".to_owned(),
        });
        let (elem, r, c) = (self.elem.name(), self.rows, self.cols);
        match self.layout {
            Layout::Rows => {
                format!("Tile<TileType::Vec, {elem}, {r}, {c}, BLayout::RowMajor, {rows}, {cols}>")
            }
            Layout::Column => format!("Tile<TileType::Vec, {elem}, {r}, 1, BLayout::ColMajor, {rows}, 1>"),
            Layout::Nz => format!(
                "Tile<TileType::Mat, {elem}, {r}, {c}, BLayout::ColMajor, {rows}, {cols}, SLayout::RowMajor, 512>"
            ),
            Layout::Boxed => format!(
                "Tile<TileType::Vec, {elem}, {r}, {c}, BLayout::ColMajor, {rows}, {cols}, SLayout::RowMajor, 512>"
            ),
            Layout::Zn => format!(
                "Tile<TileType::Mat, {elem}, {r}, {c}, BLayout::RowMajor, {rows}, {cols}, SLayout::ColMajor, 512>"
            ),
            Layout::Left => format!("TileLeft<{elem}, {r}, {c}, {rows}, {cols}>"),
            Layout::Right => format!("TileRight<{elem}, {r}, {c}, {rows}, {cols}>"),
            Layout::Acc => format!("TileAcc<{elem}, {r}, {c}, {rows}, {cols}>"),
        }
    }

    /// Arguments of the constructor: the valid extents that are not known, in brackets.
    pub(super) fn arguments(&self) -> String {
        let columns = if self.layout == Layout::Column { 1 } else { 2 };
        let given: Vec<&str> = self.valid[..columns]
            .iter()
            .filter_map(|valid| match valid {
                Valid::Known(_) => None,
                Valid::Text(text) => Some(text.as_str()),
            })
            .collect();
        if given.is_empty() { String::new() } else { format!("({})", given.join(", ")) }
    }

    /// The same bytes with other valid extents.
    pub(super) fn with_valid(&self, rows: Valid, cols: Valid) -> View {
        View { valid: [rows, cols], ..self.clone() }
    }

    /// Whether it has one column that lies without gaps.
    pub(super) fn is_column(&self) -> bool {
        self.layout == Layout::Column
    }

    /// One column without gaps as a row.
    pub(super) fn as_row(&self) -> View {
        if !self.is_column() {
            return self.clone();
        }
        let [rows, _] = self.valid.clone();
        View {
            rows: 1,
            cols: self.rows,
            layout: Layout::Rows,
            valid: [Valid::Known(1), rows],
            ..self.clone()
        }
    }

    /// One row as a column without gaps.
    pub(super) fn as_column(&self) -> View {
        let [_, cols] = self.valid.clone();
        View {
            rows: self.cols,
            cols: 1,
            layout: Layout::Column,
            valid: [cols, Valid::Known(1)],
            ..self.clone()
        }
    }
}

/// Makes views that differ in what is known of their valid extents, or in rows beyond them, views of one type: a host simulation of the
/// instruction set takes no others for some instructions.
pub(super) fn one_type(views: &mut [View]) {
    let rows = views.iter().map(|view| view.rows).min().unwrap_or_default();
    for axis in 0..2 {
        if views.iter().any(|view| matches!(view.valid[axis], Valid::Text(_))) {
            views.iter_mut().for_each(|view| view.valid[axis] = Valid::Text(view.valid[axis].text()));
        }
    }
    views.iter_mut().for_each(|view| view.rows = rows);
    // Of one row nothing lies behind the columns.
    if rows == 1 {
        let cols = views.iter().map(|view| view.cols).min().unwrap_or_default();
        views.iter_mut().for_each(|view| view.cols = cols);
    }
}

/// The tile of a buffer of UB as its elements lie: a column without gaps, or rows.
pub(super) fn in_ub(program: &TileProgram, tile: &Tile, elem: CElem, scalars: &Scalars<'_>) -> View {
    let buffer = program.buffer(tile.buffer);
    let valid = [tile.rows, tile.cols].map(|extent| Valid::of(extent, scalars));
    let slot = Slot::Buffer(tile.buffer);
    let whole = (buffer.bytes / u64::from(elem.size())) as u32;
    if buffer.cols == 1 && buffer.rows > 1 {
        return View { slot, elem, rows: whole, cols: 1, layout: Layout::Column, valid, offset: None };
    }
    let (rows, cols) = match buffer.rows {
        1 => (1, padded(buffer.cols, elem.per_block())),
        rows => (rows, (buffer.row_bytes / u64::from(elem.size())) as u32),
    };
    View { slot, elem, rows, cols, layout: Layout::Rows, valid, offset: None }
}

/// The tile of a buffer of the memories around the matrix unit. `transposed` exchanges rows and columns of a right operand.
pub(super) fn in_cube(
    program: &TileProgram,
    tile: &Tile,
    elem: CElem,
    transposed: bool,
    scalars: &Scalars<'_>,
) -> View {
    let buffer = program.buffer(tile.buffer);
    let mut dims = [padded(buffer.rows, FRACTAL), padded(buffer.cols, FRACTAL)];
    let mut valid = [tile.rows, tile.cols].map(|extent| Valid::of(extent, scalars));
    if transposed {
        dims.reverse();
        valid.reverse();
    }
    let layout = match buffer.memory {
        L0A => Layout::Left,
        L0B => Layout::Right,
        L0C => Layout::Acc,
        L1 if transposed => Layout::Zn,
        _ => Layout::Nz,
    };
    View { slot: Slot::Buffer(tile.buffer), elem, rows: dims[0], cols: dims[1], layout, valid, offset: None }
}

/// All of a buffer on the way from UB to L1, in one of these memories, as fractals: a transfer packs them by the rows that are valid.
pub(super) fn boxed(program: &TileProgram, id: BufferId, elem: CElem) -> View {
    let buffer = program.buffer(id);
    let [rows, cols] = [buffer.rows, buffer.cols].map(|n| padded(n, FRACTAL));
    let layout = if buffer.memory == UB { Layout::Boxed } else { Layout::Nz };
    let valid = [rows, cols].map(Valid::Known);
    View { slot: Slot::Buffer(id), elem, rows, cols, layout, valid, offset: None }
}

/// Rows and columns of fractals, whose elements are of 2 or 4 bytes.
pub(super) const FRACTAL: u32 = 16;

/// The next multiple.
pub(super) fn padded(n: u32, to: u32) -> u32 {
    n.div_ceil(to).saturating_mul(to)
}
