//! The table of tile operations: one row each, for lowering, for reserved names and for suggestions.

use wsp_ir::{BinaryTileOp, ReduceOp, UnaryTileOp};

/// What a tile operation does and how its arguments are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TileForm {
    /// `(dst, tensor, {…}[, rows[, cols]])`
    Load,
    /// `(tensor, src, {…})`
    Store,
    /// `(dst, value)`
    Fill,
    /// `(dst, src)`
    Unary(UnaryTileOp),
    /// `(dst, a, b)`, `b` a tile or a scalar
    Binary(BinaryTileOp),
    /// `(dst, a, value)`
    Scalar(BinaryTileOp),
    /// `(dst, a, column)`
    Column(BinaryTileOp),
    /// `(dst, a, row)`
    Row(BinaryTileOp),
    /// `(dst, src)`, or `(src)` for its value
    RowReduce(ReduceOp),
    /// `(dst, src)`
    ColReduce(ReduceOp),
    /// `(dst, a, b)`
    MatMul,
    /// `(dst, a, b)`, added to `dst`
    MatMulAcc,
    /// `(dst, src)`
    Transpose,
    /// `(tile, cols, value)`
    MaskCols,
    /// `(tile, rows, value)`
    MaskRows,
    /// `(tile, cols, value)`
    MaskCausal,
    /// `(tile, begin, end, group, value)`
    MaskBand,
    /// `(dst, start[, cols])`
    Iota,
    /// `(dst, src, row, col)`
    Insert,
    /// `(dst, src, row, col)`
    Extract,
    /// `(values, indices, src, first)`
    TopK,
    /// `(tensor, value, {…})`
    StoreScalar,
}

/// A tile operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileRow {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) form: TileForm,
}

const fn row(name: &'static str, form: TileForm) -> TileRow {
    TileRow { name, form }
}

/// Every tile operation.
const TABLE: &[TileRow] = &[
    row("TLOAD", TileForm::Load),
    row("TSTORE", TileForm::Store),
    row("TASSIGN", TileForm::Fill),
    row("TMOV", TileForm::Unary(UnaryTileOp::Copy)),
    row("TCVT", TileForm::Unary(UnaryTileOp::Copy)),
    row("TNEG", TileForm::Unary(UnaryTileOp::Neg)),
    row("TABS", TileForm::Unary(UnaryTileOp::Abs)),
    row("TEXP", TileForm::Unary(UnaryTileOp::Exp)),
    row("TEXP2", TileForm::Unary(UnaryTileOp::Exp2)),
    row("TLOG", TileForm::Unary(UnaryTileOp::Log)),
    row("TLOG2", TileForm::Unary(UnaryTileOp::Log2)),
    row("TSQRT", TileForm::Unary(UnaryTileOp::Sqrt)),
    row("TRSQRT", TileForm::Unary(UnaryTileOp::Rsqrt)),
    row("TRECIP", TileForm::Unary(UnaryTileOp::Recip)),
    row("TRELU", TileForm::Unary(UnaryTileOp::Relu)),
    row("TTANH", TileForm::Unary(UnaryTileOp::Tanh)),
    row("TADD", TileForm::Binary(BinaryTileOp::Add)),
    row("TSUB", TileForm::Binary(BinaryTileOp::Sub)),
    row("TMUL", TileForm::Binary(BinaryTileOp::Mul)),
    row("TDIV", TileForm::Binary(BinaryTileOp::Div)),
    row("TMAX", TileForm::Binary(BinaryTileOp::Max)),
    row("TMIN", TileForm::Binary(BinaryTileOp::Min)),
    row("TADDS", TileForm::Scalar(BinaryTileOp::Add)),
    row("TSUBS", TileForm::Scalar(BinaryTileOp::Sub)),
    row("TMULS", TileForm::Scalar(BinaryTileOp::Mul)),
    row("TDIVS", TileForm::Scalar(BinaryTileOp::Div)),
    row("TMAXS", TileForm::Scalar(BinaryTileOp::Max)),
    row("TMINS", TileForm::Scalar(BinaryTileOp::Min)),
    row("TROWEXPANDADD", TileForm::Column(BinaryTileOp::Add)),
    row("TROWEXPANDSUB", TileForm::Column(BinaryTileOp::Sub)),
    row("TROWEXPANDMUL", TileForm::Column(BinaryTileOp::Mul)),
    row("TROWEXPANDDIV", TileForm::Column(BinaryTileOp::Div)),
    row("TCOLEXPANDADD", TileForm::Row(BinaryTileOp::Add)),
    row("TCOLEXPANDSUB", TileForm::Row(BinaryTileOp::Sub)),
    row("TCOLEXPANDMUL", TileForm::Row(BinaryTileOp::Mul)),
    row("TCOLEXPANDDIV", TileForm::Row(BinaryTileOp::Div)),
    row("TROWMAX", TileForm::RowReduce(ReduceOp::Max)),
    row("TROWMIN", TileForm::RowReduce(ReduceOp::Min)),
    row("TROWSUM", TileForm::RowReduce(ReduceOp::Sum)),
    row("TCOLMAX", TileForm::ColReduce(ReduceOp::Max)),
    row("TCOLMIN", TileForm::ColReduce(ReduceOp::Min)),
    row("TCOLSUM", TileForm::ColReduce(ReduceOp::Sum)),
    row("TMATMUL", TileForm::MatMul),
    row("TMATMUL_ACC", TileForm::MatMulAcc),
    row("TTRANS", TileForm::Transpose),
    row("TMASK", TileForm::MaskCols),
    row("TMASK_ROWS", TileForm::MaskRows),
    row("TMASK_CAUSAL", TileForm::MaskCausal),
    row("TMASK_BAND", TileForm::MaskBand),
    row("TCI", TileForm::Iota),
    row("TINSERT", TileForm::Insert),
    row("TEXTRACT", TileForm::Extract),
    row("TTOPK", TileForm::TopK),
    row("PTO_STORE_SCALAR", TileForm::StoreScalar),
];

impl TileForm {
    /// Fewest and most arguments of the statement form.
    pub(crate) fn arity(self) -> (usize, usize) {
        match self {
            TileForm::Load => (3, 5),
            TileForm::Fill => (2, 4),
            TileForm::Unary(_) | TileForm::RowReduce(_) | TileForm::ColReduce(_) | TileForm::Transpose => {
                (2, 2)
            }
            TileForm::Store
            | TileForm::Binary(_)
            | TileForm::Scalar(_)
            | TileForm::Column(_)
            | TileForm::Row(_)
            | TileForm::MatMul
            | TileForm::MatMulAcc
            | TileForm::MaskCols
            | TileForm::MaskRows
            | TileForm::MaskCausal
            | TileForm::StoreScalar => (3, 3),
            TileForm::Iota => (2, 3),
            TileForm::TopK | TileForm::Insert | TileForm::Extract => (4, 4),
            TileForm::MaskBand => (5, 5),
        }
    }
}

impl TileRow {
    /// How it is written.
    pub(crate) fn usage(&self) -> String {
        let arguments = match self.form {
            TileForm::Load => "dst, tensor, {index, …}, [rows], [cols]",
            TileForm::Store => "tensor, src, {index, …}",
            TileForm::Fill => "dst, value, [rows], [cols]",
            TileForm::Unary(_) | TileForm::RowReduce(_) | TileForm::ColReduce(_) | TileForm::Transpose => {
                "dst, src"
            }
            TileForm::Binary(_) | TileForm::MatMul | TileForm::MatMulAcc => "dst, a, b",
            TileForm::Scalar(_) => "dst, a, value",
            TileForm::Column(_) => "dst, a, column",
            TileForm::Row(_) => "dst, a, row",
            TileForm::MaskCols | TileForm::MaskCausal => "tile, cols, value",
            TileForm::MaskRows => "tile, rows, value",
            TileForm::MaskBand => "tile, begin, end, group, value",
            TileForm::Iota => "dst, start, [cols]",
            TileForm::Insert | TileForm::Extract => "dst, src, row, col",
            TileForm::TopK => "values, indices, src, first",
            TileForm::StoreScalar => "tensor, value, {index, …}",
        };
        format!("{}({arguments})", self.name)
    }
}

/// The tile operation with this name.
pub(crate) fn find(name: &str) -> Option<&'static TileRow> {
    TABLE.iter().find(|row| row.name == name)
}

/// The names of all tile operations.
pub(crate) fn names<'n>() -> impl Iterator<Item = &'n str> {
    TABLE.iter().map(|row| row.name)
}
