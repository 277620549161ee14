//! Tile operations: their forms with the roles of their operands, and [`TILE_OPS`], the table of their names.
//!
//! A *form* is a set of operations with the same operands; `tile_forms` lists all of them. What is read and written, which
//! type a number has, what shape a result has, and how much there is to do follow from that list. An element-wise function or
//! a reduction is an operation of a form, and a row of the table.

mod table;

pub use table::{
    BinaryTileOp, PtoWord, PythonForm, ReduceOp, TILE_OPS, TileOpKind, TileOpRow, UnaryTileOp, find_pto,
};

use crate::{Expr, ScalarTy};
use wsp_core::{AccessKind, LocalId, TensorId};

/// Where a tile lies in a tensor.
///
/// `index` has one `u32` per dimension of the tensor. Tile rows run along `row_dim`, columns along `col_dim`, both starting
/// at the index given; without a `row_dim` the tile is one row, without a `col_dim` one column.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// First element, one index per dimension.
    pub index: Vec<Expr>,
    /// Dimension that tile rows follow.
    pub row_dim: Option<u8>,
    /// Dimension that tile columns follow.
    pub col_dim: Option<u8>,
}

/// The second operand of an element-wise operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operand<T = LocalId, E = Expr> {
    /// A tile of the same valid shape.
    Tile(T),
    /// A one-column tile: its row `i` meets every element of row `i`.
    Column(T),
    /// A one-row tile: its column `j` meets every element of column `j`.
    Row(T),
    /// One value, `f32`.
    Scalar(E),
}

/// What an operation does to a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TileUse {
    /// Its elements are read.
    Read,
    /// It gets elements, and their number.
    Written,
    /// It gets elements from others and from its own, which it must have.
    Added,
    /// Some of its elements are replaced; it keeps their number.
    Changed,
    /// It gets elements from others and from its own, if it has any; its own are `f32`.
    Listed,
}

impl TileUse {
    /// Whether the tile must have elements before.
    pub fn reads(self) -> bool {
        matches!(self, TileUse::Read | TileUse::Added | TileUse::Changed)
    }

    /// Whether the tile has elements of the operation afterwards.
    pub fn writes(self) -> bool {
        self != TileUse::Read
    }

    /// Whether the valid part of the tile becomes that of the result.
    pub fn resizes(self) -> bool {
        self.writes() && self != TileUse::Changed
    }
}

/// An operand of a tile operation: [`TilePart`] or [`TilePartMut`].
#[derive(Clone, Copy, Debug)]
pub enum Part<T, E, N, P> {
    /// A tile.
    Tile(T, TileUse),
    /// A number of this type, and what it is in messages.
    Number(E, ScalarTy, &'static str),
    /// A tensor.
    Tensor(N, AccessKind),
    /// Where in the tensor.
    Place(P),
}

/// An operand of a tile operation.
pub type TilePart<'a, T = LocalId, E = Expr, P = Place> = Part<&'a T, &'a E, &'a TensorId, &'a P>;

/// An operand of a tile operation, for change in place.
pub type TilePartMut<'a, T = LocalId, E = Expr, P = Place> =
    Part<&'a mut T, &'a mut E, &'a mut TensorId, &'a mut P>;

/// Rows or columns of a result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TileExtent<'a, T = LocalId, E = Expr> {
    /// The valid rows of a tile.
    Rows(T),
    /// The valid columns of a tile.
    Cols(T),
    /// The valid columns of a tile, or its rows where it counts as transposed.
    Outer(T, bool),
    /// One.
    One,
    /// All that the destination has room for, or less.
    Room,
    /// All that the destination has room for, or the number where that is smaller.
    AtMost(Option<&'a E>),
}

/// How much an operation does at most.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TileWork<T = LocalId> {
    /// Something with each element of a tile.
    Each(T),
    /// Something with each element of two tiles.
    Both(T, T),
    /// For each element of the first, a product per column of the second.
    Products(T, T),
}

/// Where the operands of an operation come from, by the names of the fields of [`TileOp`]; see [`TileOp::build`].
pub trait TileSource<T, E, P> {
    /// What is wrong with an operand.
    type Error;

    /// A tile.
    fn tile(&mut self, field: &'static str) -> Result<T, Self::Error>;
    /// A number of a type.
    fn number(&mut self, field: &'static str, ty: ScalarTy) -> Result<E, Self::Error>;
    /// A number of a type that may be left out.
    fn optional(&mut self, field: &'static str, ty: ScalarTy) -> Result<Option<E>, Self::Error>;
    /// A tensor, which the operation loads from or stores to.
    fn tensor(&mut self, field: &'static str, access: AccessKind) -> Result<TensorId, Self::Error>;
    /// A place in the tensor.
    fn place(&mut self, field: &'static str) -> Result<P, Self::Error>;
    /// The second operand of an element-wise operation.
    fn operand(&mut self, field: &'static str) -> Result<Operand<T, E>, Self::Error>;
    /// A truth value, false where it is left out.
    fn flag(&mut self, field: &'static str) -> Result<bool, Self::Error>;
    /// Which element-wise function of one tile.
    fn unary(&mut self) -> Result<UnaryTileOp, Self::Error>;
    /// Which element-wise function of two operands.
    fn binary(&mut self) -> Result<BinaryTileOp, Self::Error>;
    /// Which reduction.
    fn reduce(&mut self) -> Result<ReduceOp, Self::Error>;
}

/// What the operands of an operation become; see [`TileOp::map`].
pub trait TileMap<'a, T, E, P, T2, E2, P2> {
    /// What is wrong with an operand.
    type Error;

    /// A tile.
    fn tile(&mut self, tile: &'a T) -> Result<T2, Self::Error>;
    /// A number of a type.
    fn number(&mut self, number: &'a E, ty: ScalarTy) -> Result<E2, Self::Error>;
    /// A place in a tensor.
    fn place(&mut self, tensor: TensorId, place: &'a P) -> Result<P2, Self::Error>;
}

/// Hands all forms of tile operations to the macro `$then`: a name, the word in texts of the IR and in traces, the operands
/// with their roles, the shape of the result, the work, and what is required where tiles must differ.
///
/// Roles of tiles: `In` is read, `Out` written, `Sum` written or added to, `InOut` changed in places, `List` a list of largest
/// values. Roles of numbers: `Count` and `MaybeCount` are `u32`, `Column` is `i32`, `Value` is `f32`.
macro_rules! tile_forms {
    ($then:ident) => {
        $then! {
            /// `TLOAD(dst, tensor, {…}[, rows[, cols]])`. Valid rows are the smallest of the capacity, `rows`, and what the tensor
            /// has from the index on; columns likewise. An index past the end of any other dimension stops the run.
            Load "load" {
                /// Destination.
                dst: T = Out,
                /// Source.
                tensor: TensorId = From,
                /// Where it starts.
                at: P = At,
                /// At most this many rows.
                rows: Option<E> = MaybeCount,
                /// At most this many columns.
                cols: Option<E> = MaybeCount,
            } [gives AtMost(rows), AtMost(cols); work Each(dst)]

            /// `TSTORE(tensor, src, {…})`: the valid part; past the end of the tensor stops the run.
            Store "store" {
                /// Destination.
                tensor: TensorId = To,
                /// Source.
                src: T = In,
                /// Where it starts.
                at: P = At,
            } [work Each(src)]

            /// `TASSIGN(dst, value[, rows[, cols]])`: every element of the valid part becomes the value. Valid rows are the smaller of
            /// the capacity and `rows`, columns likewise.
            Fill "fill" {
                /// Destination.
                dst: T = Out,
                /// An `f32`.
                value: E = Value,
                /// At most this many rows.
                rows: Option<E> = MaybeCount,
                /// At most this many columns.
                cols: Option<E> = MaybeCount,
            } [gives AtMost(rows), AtMost(cols); work Each(dst)]

            /// An element-wise function of one tile.
            Unary "unary" {
                /// Which.
                op: UnaryTileOp = Unary,
                /// Destination; may be `src`.
                dst: T = Out,
                /// Operand.
                src: T = In,
            } [gives Rows(src), Cols(src); work Each(dst)]

            /// An element-wise function of two operands.
            Binary "binary" {
                /// Which.
                op: BinaryTileOp = Binary,
                /// Destination; may be an operand.
                dst: T = Out,
                /// Left operand.
                a: T = In,
                /// Right operand.
                b: Operand<T, E> = Second,
            } [gives Rows(a), Cols(a); work Each(dst)]

            /// `TROWMAX`, `TROWMIN`, `TROWSUM`: one column, a value per valid row.
            RowReduce "row_reduce" {
                /// Which.
                op: ReduceOp = Reduce,
                /// Destination.
                dst: T = Out,
                /// Operand.
                src: T = In,
            } [gives Rows(src), One(); work Each(src)]

            /// `TCOLMAX`, `TCOLMIN`, `TCOLSUM`: one row, a value per valid column.
            ColReduce "col_reduce" {
                /// Which.
                op: ReduceOp = Reduce,
                /// Destination.
                dst: T = Out,
                /// Operand.
                src: T = In,
            } [gives One(), Cols(src); work Each(src)]

            /// `TMATMUL`, `TMATMUL_ACC`: `dst (+)= a · b`. The inner dimension is the smaller of the operands' valid ones.
            MatMul "matmul" {
                /// Destination; with `accumulate` its valid part must have the result's shape.
                dst: T = Sum,
                /// Left operand.
                a: T = In,
                /// Right operand.
                b: T = In,
                /// The right operand is stored transposed (`PTO_TRANSPOSE(b)`).
                transpose_b: bool = Flag,
                /// Adds to what is there.
                accumulate: bool = Flag,
            } [gives Rows(a), Outer(b, transpose_b); work Products(dst, a)]

            /// `TTRANS(dst, src)`.
            Transpose "transpose" {
                /// Destination.
                dst: T = Out,
                /// Operand.
                src: T = In,
            } [gives Cols(src), Rows(src); work Each(dst)]

            /// `TMASK(tile, cols, value)`, `TMASK_ROWS(tile, rows, value)`: elements of the valid part at or past the given row
            /// or column become the value.
            Mask "mask" {
                /// The tile.
                tile: T = InOut,
                /// First row to change.
                rows: Option<E> = MaybeCount,
                /// First column to change.
                cols: Option<E> = MaybeCount,
                /// An `f32`.
                value: E = Value,
            } [work Each(tile)]

            /// `TMASK_CAUSAL(tile, cols, value)`: in row `r` of the valid part, elements at or past column `cols + r` become the
            /// value.
            MaskCausal "mask_causal" {
                /// The tile.
                tile: T = InOut,
                /// First column to change in row 0, `i32`; below 0 it lies to the left of the tile.
                cols: E = Column "the first column of row 0",
                /// An `f32`.
                value: E = Value,
            } [work Each(tile)]

            /// `TMASK_BAND(tile, begin, end, group, value)`: in row `r` of the valid part, the elements outside of columns
            /// `begin + r / group .. end + r / group` become the value: `group` rows in a row share a band, and the next ones have
            /// theirs a column further right.
            MaskBand "mask_band" {
                /// The tile.
                tile: T = InOut,
                /// First column kept in row 0, `i32`; may lie outside of the tile.
                begin: E = Column "the first column of a band",
                /// One past the last column kept in row 0, `i32`.
                end: E = Column "the end of a band",
                /// Rows per band, `u32`; 0 counts as 1.
                group: E = Count,
                /// An `f32`.
                value: E = Value,
            } [work Each(tile)]

            /// `TCI(dst, start[, cols])`: column `c` of every row becomes `start + c`. All rows of the capacity become valid, and the
            /// smaller of its columns and `cols`.
            Iota "iota" {
                /// Destination.
                dst: T = Out,
                /// The value of column 0, `i32`.
                start: E = Column "the number of column 0",
                /// At most this many columns.
                cols: Option<E> = MaybeCount,
            } [gives Room(), AtMost(cols); work Each(dst)]

            /// `TINSERT(dst, src, row, col)`: the valid part of `src` replaces as many elements of the valid part of `dst`, from
            /// (`row`, `col`) on, which must have room for it.
            Insert "insert" {
                /// Destination; keeps its valid part.
                dst: T = InOut,
                /// What is put in; not `dst`.
                src: T = In,
                /// First row, `u32`.
                row: E = Count,
                /// First column, `u32`.
                col: E = Count,
            } [work Each(dst); apart "a part of a tile goes to another tile"]

            /// `TEXTRACT(dst, src, row, col)`: what the valid part of `src` has from (`row`, `col`) on, at most the capacity of `dst`.
            Extract "extract" {
                /// Destination.
                dst: T = Out,
                /// What is taken from; not `dst`.
                src: T = In,
                /// First row, `u32`.
                row: E = Count,
                /// First column, `u32`.
                col: E = Count,
            } [gives Room(), Room(); work Each(dst); apart "a part of a tile goes to another tile"]

            /// `TTOPK(values, indices, src, first)`: each row of `values` and `indices` keeps the largest of what it holds and of
            /// the row of `src`, whose column `c` has the index `first + c`; as many as fit. Rows run from the largest value to
            /// the smallest, equal values from the lower index to the higher; NaN counts as -∞.
            TopK "top_k" {
                /// The largest values so far; its valid part has the rows of `src`, or is empty.
                values: T = List,
                /// Their indices as real numbers, `f32`; its valid part is that of `values`.
                indices: T = List,
                /// What is taken in.
                src: T = In,
                /// Index of column 0 of `src`, `u32`; indices stay below 2^24, where `f32` holds every whole number.
                first: E = Count,
            } [gives Rows(src), Room(); work Both(src, values); apart "a selection takes three different tiles"]
        }
    };
}
pub(crate) use tile_forms;

/// What the role of a field says: how it is built, what it becomes, and what it is.
macro_rules! role {
    (build $from:ident $field:ident Count) => {
        $from.number(stringify!($field), ScalarTy::U32)?
    };
    (build $from:ident $field:ident MaybeCount) => {
        $from.optional(stringify!($field), ScalarTy::U32)?
    };
    (build $from:ident $field:ident Column) => {
        $from.number(stringify!($field), ScalarTy::I32)?
    };
    (build $from:ident $field:ident Value) => {
        $from.number(stringify!($field), ScalarTy::F32)?
    };
    (build $from:ident $field:ident From) => {
        $from.tensor(stringify!($field), AccessKind::Read)?
    };
    (build $from:ident $field:ident To) => {
        $from.tensor(stringify!($field), AccessKind::Write)?
    };
    (build $from:ident $field:ident At) => {
        $from.place(stringify!($field))?
    };
    (build $from:ident $field:ident Second) => {
        $from.operand(stringify!($field))?
    };
    (build $from:ident $field:ident Flag) => {
        $from.flag(stringify!($field))?
    };
    (build $from:ident $field:ident Unary) => {
        $from.unary()?
    };
    (build $from:ident $field:ident Binary) => {
        $from.binary()?
    };
    (build $from:ident $field:ident Reduce) => {
        $from.reduce()?
    };
    (build $from:ident $field:ident $tile:ident) => {
        $from.tile(stringify!($field))?
    };

    (map $map:ident $tensor:ident $field:ident Count) => {
        $map.number($field, ScalarTy::U32)?
    };
    (map $map:ident $tensor:ident $field:ident Column) => {
        $map.number($field, ScalarTy::I32)?
    };
    (map $map:ident $tensor:ident $field:ident Value) => {
        $map.number($field, ScalarTy::F32)?
    };
    (map $map:ident $tensor:ident $field:ident MaybeCount) => {
        $field.as_ref().map(|number| $map.number(number, ScalarTy::U32)).transpose()?
    };
    (map $map:ident $tensor:ident $field:ident Second) => {
        match $field {
            Operand::Tile(tile) => Operand::Tile($map.tile(tile)?),
            Operand::Column(tile) => Operand::Column($map.tile(tile)?),
            Operand::Row(tile) => Operand::Row($map.tile(tile)?),
            Operand::Scalar(value) => Operand::Scalar($map.number(value, ScalarTy::F32)?),
        }
    };
    (map $map:ident $tensor:ident $field:ident At) => {
        $map.place($tensor, $field)?
    };
    (map $map:ident $tensor:ident $field:ident From) => {
        *$field
    };
    (map $map:ident $tensor:ident $field:ident To) => {
        *$field
    };
    (map $map:ident $tensor:ident $field:ident Flag) => {
        *$field
    };
    (map $map:ident $tensor:ident $field:ident Unary) => {
        *$field
    };
    (map $map:ident $tensor:ident $field:ident Binary) => {
        *$field
    };
    (map $map:ident $tensor:ident $field:ident Reduce) => {
        *$field
    };
    (map $map:ident $tensor:ident $field:ident $tile:ident) => {
        $map.tile($field)?
    };

    (part $f:ident $adds:ident $field:ident In) => {
        $f(Part::Tile($field, TileUse::Read))
    };
    (part $f:ident $adds:ident $field:ident Out) => {
        $f(Part::Tile($field, TileUse::Written))
    };
    (part $f:ident $adds:ident $field:ident InOut) => {
        $f(Part::Tile($field, TileUse::Changed))
    };
    (part $f:ident $adds:ident $field:ident List) => {
        $f(Part::Tile($field, TileUse::Listed))
    };
    (part $f:ident $adds:ident $field:ident Sum) => {
        $f(Part::Tile($field, if $adds { TileUse::Added } else { TileUse::Written }))
    };
    (part $f:ident $adds:ident $field:ident From) => {
        $f(Part::Tensor($field, AccessKind::Read))
    };
    (part $f:ident $adds:ident $field:ident To) => {
        $f(Part::Tensor($field, AccessKind::Write))
    };
    (part $f:ident $adds:ident $field:ident At) => {
        $f(Part::Place($field))
    };
    (part $f:ident $adds:ident $field:ident Count) => {
        $f(Part::Number($field, ScalarTy::U32, COUNT))
    };
    (part $f:ident $adds:ident $field:ident MaybeCount) => {
        if let Some(number) = $field {
            $f(Part::Number(number, ScalarTy::U32, COUNT));
        }
    };
    (part $f:ident $adds:ident $field:ident Column $what:literal) => {
        $f(Part::Number($field, ScalarTy::I32, $what))
    };
    (part $f:ident $adds:ident $field:ident Value) => {
        $f(Part::Number($field, ScalarTy::F32, VALUE))
    };
    (part $f:ident $adds:ident $field:ident Second) => {
        match $field {
            Operand::Tile(tile) | Operand::Column(tile) | Operand::Row(tile) => {
                $f(Part::Tile(tile, TileUse::Read));
            }
            Operand::Scalar(value) => $f(Part::Number(value, ScalarTy::F32, VALUE)),
        }
    };
    (part $f:ident $adds:ident $field:ident Flag) => {
        let _ = $field;
    };
    (part $f:ident $adds:ident $field:ident Unary) => {
        let _ = $field;
    };
    (part $f:ident $adds:ident $field:ident Binary) => {
        let _ = $field;
    };
    (part $f:ident $adds:ident $field:ident Reduce) => {
        let _ = $field;
    };

    (extent AtMost($number:ident)) => {
        TileExtent::AtMost($number.as_ref())
    };
    (extent Outer($tile:ident, $flag:ident)) => {
        TileExtent::Outer(*$tile, *$flag)
    };
    (extent $extent:ident()) => {
        TileExtent::$extent
    };
    (extent $extent:ident($tile:ident)) => {
        TileExtent::$extent(*$tile)
    };
}

const COUNT: &str = "a row or column count";
const VALUE: &str = "a value that meets a tile";

macro_rules! declare {
    ($($(#[$doc:meta])* $form:ident $word:literal {
        $($(#[$field_doc:meta])* $field:ident: $ty:ty = $role:ident $($what:literal)?,)*
    } [
        $(gives $rows:ident($($of_rows:ident),*), $cols:ident($($of_cols:ident),*);)?
        work $work:ident($($of_work:ident),*) $(; apart $apart:literal)?
    ])*) => {
        /// A tile operation.
        ///
        /// A tile has a capacity (its type) and a valid part `rows × cols`. Operations read and write valid parts only; a
        /// destination's valid part becomes that of the result, which must fit its capacity. Arithmetic is in `f32`; a result is
        /// rounded to the element type of its destination.
        ///
        /// `T` is a tile, `E` a number, `P` a place in a tensor: variables and expressions in the IR, what they were resolved to
        /// in a kernel that runs.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub enum TileOp<T = LocalId, E = Expr, P = Place> {
            $($(#[$doc])* $form { $($(#[$field_doc])* $field: $ty,)* },)*
        }

        impl<T, E, P> TileOp<T, E, P> {
            /// The words of all forms.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// The word of its form.
            pub fn word(&self) -> &'static str {
                match self {
                    $(TileOp::$form { .. } => $word,)*
                }
            }

            /// The operation of the form with this word, from operands that are asked for in the order of the fields; none where
            /// there is no such form.
            ///
            /// # Errors
            /// The first of an operand.
            pub fn build<S: TileSource<T, E, P>>(word: &str, from: &mut S) -> Result<Option<Self>, S::Error> {
                Ok(Some(match word {
                    $($word => TileOp::$form { $($field: role!(build from $field $role)),* },)*
                    _ => return Ok(None),
                }))
            }

            /// The same operation on other operands.
            ///
            /// # Errors
            /// The first of an operand.
            pub fn map<'a, T2, E2, P2, M>(&'a self, map: &mut M) -> Result<TileOp<T2, E2, P2>, M::Error>
            where
                M: TileMap<'a, T, E, P, T2, E2, P2>,
            {
                let tensor = self.tensor().map_or(TensorId(0), |(tensor, _)| tensor);
                Ok(match self {
                    $(TileOp::$form { $($field),* } => {
                        TileOp::$form { $($field: role!(map map tensor $field $role)),* }
                    })*
                })
            }

            /// Whether its result is added to what is there.
            fn adds(&self) -> bool {
                matches!(self, TileOp::MatMul { accumulate: true, .. })
            }

            /// Calls `f` on every operand, in the order of the fields.
            pub fn each<'a>(&'a self, mut f: impl FnMut(TilePart<'a, T, E, P>)) {
                let adds = self.adds();
                match self {
                    $(TileOp::$form { $($field),* } => { $(role!(part f adds $field $role $($what)?);)* })*
                }
            }

            /// Calls `f` on every operand, for change in place.
            pub fn each_mut<'a>(&'a mut self, mut f: impl FnMut(TilePartMut<'a, T, E, P>)) {
                let adds = self.adds();
                match self {
                    $(TileOp::$form { $($field),* } => { $(role!(part f adds $field $role $($what)?);)* })*
                }
            }

            /// Why no two of its tiles may be the same, where that is so.
            pub fn apart(&self) -> Option<&'static str> {
                let apart: &[&'static str] = match self {
                    $(TileOp::$form { .. } => &[$($apart)?],)*
                };
                apart.first().copied()
            }
        }

        impl<T: Copy, E, P> TileOp<T, E, P> {
            /// Rows and columns of its results; none where nothing gets a new valid part.
            pub fn gives(&self) -> Option<(TileExtent<'_, T, E>, TileExtent<'_, T, E>)> {
                let mut found = None;
                match self {
                    $(TileOp::$form { $($field),* } => {
                        $(let _ = $field;)*
                        $(found = Some((
                            role!(extent $rows($($of_rows),*)),
                            role!(extent $cols($($of_cols),*)),
                        ));)?
                    })*
                }
                found
            }

            /// How much it does at most.
            pub fn work(&self) -> TileWork<T> {
                match self {
                    $(TileOp::$form { $($of_work,)* .. } => TileWork::$work($(*$of_work),*),)*
                }
            }

            /// Its tiles: what it reads first, what it changes last.
            fn tiles_that(&self, test: impl Fn(TileUse) -> bool) -> impl Iterator<Item = T> {
                let (mut tiles, mut changed) = (Vec::new(), Vec::new());
                self.each(|part| match part {
                    Part::Tile(tile, TileUse::Read) if test(TileUse::Read) => tiles.push(*tile),
                    Part::Tile(tile, used) if test(used) => changed.push(*tile),
                    _ => {}
                });
                tiles.into_iter().chain(changed)
            }

            /// The tiles that must have elements; those that it writes as well come last.
            pub fn reads(&self) -> impl Iterator<Item = T> {
                self.tiles_that(TileUse::reads)
            }

            /// The tiles that have elements of it afterwards.
            pub fn writes(&self) -> impl Iterator<Item = T> {
                self.tiles_that(TileUse::writes)
            }

            /// The tiles whose valid part becomes that of the result.
            pub fn resizes(&self) -> impl Iterator<Item = T> {
                self.tiles_that(TileUse::resizes)
            }
        }
    };
}

tile_forms!(declare);

impl<T, E, P> TileOp<T, E, P> {
    /// The tensor that it loads from or stores to.
    pub fn tensor(&self) -> Option<(TensorId, AccessKind)> {
        let mut found = None;
        self.each(|part| {
            if let Part::Tensor(tensor, access) = part {
                found = Some((*tensor, access));
            }
        });
        found
    }

    /// The tensor that it loads from or stores to, for change in place.
    pub fn tensor_mut(&mut self) -> Option<&mut TensorId> {
        let mut found = None;
        self.each_mut(|part| {
            if let Part::Tensor(tensor, _) = part {
                found = Some(tensor);
            }
        });
        found
    }
}

impl TileOp {
    /// Calls `f` on every expression, those of indices included.
    pub fn exprs<'a>(&'a self, mut f: impl FnMut(&'a Expr)) {
        self.each(|part| match part {
            Part::Number(number, ..) => f(number),
            Part::Place(place) => place.index.iter().for_each(&mut f),
            Part::Tile(..) | Part::Tensor(..) => {}
        });
    }

    /// Calls `f` on every expression, for change in place.
    pub fn exprs_mut(&mut self, mut f: impl FnMut(&mut Expr)) {
        self.each_mut(|part| match part {
            Part::Number(number, ..) => f(number),
            Part::Place(place) => place.index.iter_mut().for_each(&mut f),
            Part::Tile(..) | Part::Tensor(..) => {}
        });
    }
}
