//! The forms of tile operations, as data that macros take.

/// Hands all forms of tile operations to the macro `$then`: a name, the word in texts of the IR and in traces, the operands
/// with their roles, the shape of the result, the work and what it costs, and what is required where tiles must differ.
///
/// Roles of tiles: `In` is read, `Out` written, `Sum` written or added to, `InOut` changed in places, `List` a list of largest
/// values. Roles of numbers: `Count` and `MaybeCount` are `u32`, `Column` is `i32`, `Value` is `f64` where a tile of the operation is, else `f32`; beside a tile of
/// integers `i64`, or `u64`.
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
            } [gives AtMost(rows), AtMost(cols); work Each(dst), cost Transfer]

            /// `TSTORE(tensor, src, {…})`: the valid part; past the end of the tensor, or of `rows` or `cols`, stops the run.
            /// `TSTORE_ATOMIC_ADD`: the valid part is added, in `f64`, to what is there, and rounded once to the elements of the tensor; integers
            /// wrap.
            Store "store" {
                /// Destination.
                tensor: TensorId = To,
                /// Source.
                src: T = In,
                /// Where it starts.
                at: P = At,
                /// The rows of the place, where a slice ends before the tensor does; traces of Python have it.
                rows: Option<E> = MaybeCount,
                /// The columns of the place.
                cols: Option<E> = MaybeCount,
                /// Adds to what is there.
                add: bool = Flag,
            } [work Each(src), cost Transfer]

            /// `TASSIGN(dst, value[, rows[, cols]])`: every element of the valid part becomes the value. Valid rows are the smaller of
            /// the capacity and `rows`, columns likewise.
            Fill "fill" {
                /// Destination.
                dst: T = Out,
                /// A number of its type.
                value: E = Value,
                /// At most this many rows.
                rows: Option<E> = MaybeCount,
                /// At most this many columns.
                cols: Option<E> = MaybeCount,
            } [gives AtMost(rows), AtMost(cols); work Each(dst), cost Elementwise]

            /// An element-wise function of one tile.
            Unary "unary" {
                /// Which.
                op: UnaryTileOp = Unary,
                /// Destination; may be `src`.
                dst: T = Out,
                /// Operand.
                src: T = In,
            } [gives Rows(src), Cols(src); work Each(dst), cost Elementwise]

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
            } [gives Rows(a), Cols(a); work Each(dst), cost Elementwise]

            /// `TCLAMP(dst, src, low, high)`: `min(max(x, low), high)` of every element.
            Clamp "clamp" {
                /// Destination; may be `src`.
                dst: T = Out,
                /// Operand.
                src: T = In,
                /// The smallest result, unless `high` is less.
                low: E = Value,
                /// The largest result.
                high: E = Value,
            } [gives Rows(src), Cols(src); work Each(dst), cost Elementwise]

            /// `TSEL(dst, mask, a, b)`: `a` where the mask is not 0, else `b`. NaN is not 0.
            Select "select" {
                /// Destination; may be an operand.
                dst: T = Out,
                /// The mask.
                mask: T = In,
                /// What is taken where the mask is not 0.
                a: T = In,
                /// What is taken elsewhere.
                b: Operand<T, E> = Second,
            } [gives Rows(mask), Cols(mask); work Each(dst), cost Elementwise]

            /// `TROWMAX`, `TROWSUM`, `TROWARGMAX`, …: one column, a value per valid row.
            RowReduce "row_reduce" {
                /// Which.
                op: ReduceOp = Reduce,
                /// Destination.
                dst: T = Out,
                /// Operand.
                src: T = In,
            } [gives Rows(src), One(); work Each(src), cost RowReduce]

            /// `TCOLMAX`, `TCOLSUM`, `TCOLARGMAX`, …: one row, a value per valid column.
            ColReduce "col_reduce" {
                /// Which.
                op: ReduceOp = Reduce,
                /// Destination.
                dst: T = Out,
                /// Operand.
                src: T = In,
            } [gives One(), Cols(src); work Each(src), cost ColReduce]

            /// `TCUMSUM(dst, src)`: the sum of every element and those before it in its row.
            CumSum "cumsum" {
                /// Destination; may be `src`.
                dst: T = Out,
                /// Operand.
                src: T = In,
            } [gives Rows(src), Cols(src); work Each(dst), cost Scan]

            /// `TGATHER(dst, src, indices)`: `src[r][indices[r][c]]`, of rows that `src` and `indices` both have;
            /// `TGATHER_ROWS`: `src[indices[r][c]][c]`, of columns that both have. An index that is no whole number, or past the end, stops
            /// the run.
            Gather "gather" {
                /// Destination.
                dst: T = Out,
                /// What is taken from.
                src: T = In,
                /// Rows or columns of `src`, counted from 0, as real numbers or integers.
                indices: T = In,
                /// Indices are rows; else they are columns.
                by_row: bool = Flag,
            } [gives Rows(indices), Cols(indices); work Each(dst), cost Gather]

            /// `TRESHAPE(dst, src[, rows[, cols]])`: the elements of `src`, row by row, as so many rows and columns, which must have room
            /// for exactly these. What is left out is the capacity of `dst`.
            Reshape "reshape" {
                /// Destination.
                dst: T = Out,
                /// Operand.
                src: T = In,
                /// Rows of the result.
                rows: Option<E> = MaybeCount,
                /// Columns of the result.
                cols: Option<E> = MaybeCount,
            } [gives Exactly(rows), Exactly(cols); work Each(dst), cost Move]

            /// `TRANDOM(dst, seed, first, pitch[, rows[, cols]])`: element (`r`, `c`) of the valid part becomes number `first + r · pitch + c`
            /// of the seed's sequence, from 0 up to 1, exclusive: a multiple of 2⁻²⁴. Valid rows are the smaller of the capacity and
            /// `rows`, columns likewise.
            Random "random" {
                /// Destination.
                dst: T = Out,
                /// Which sequence.
                seed: E = Count "the seed of random numbers",
                /// The number of element (0, 0) in it.
                first: E = Count "the place of the first random number",
                /// How much further the first element of the next row is.
                pitch: E = Count "the distance of rows in random numbers",
                /// At most this many rows.
                rows: Option<E> = MaybeCount,
                /// At most this many columns.
                cols: Option<E> = MaybeCount,
            } [gives AtMost(rows), AtMost(cols); work Each(dst), cost Random]

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
            } [gives Rows(a), Outer(b, transpose_b); work Products(dst, a), cost Products]

            /// `TTRANS(dst, src)`.
            Transpose "transpose" {
                /// Destination.
                dst: T = Out,
                /// Operand.
                src: T = In,
            } [gives Cols(src), Rows(src); work Each(dst), cost Move]

            /// `TMASK(tile, cols, value)`, `TMASK_ROWS(tile, rows, value)`: elements of the valid part at or past the given row
            /// or column become the value.
            Mask "mask" {
                /// The tile.
                tile: T = InOut,
                /// First row to change.
                rows: Option<E> = MaybeCount,
                /// First column to change.
                cols: Option<E> = MaybeCount,
                /// A number of its type.
                value: E = Value,
            } [work Each(tile), cost Elementwise]

            /// `TMASK_CAUSAL(tile, cols, value)`: in row `r` of the valid part, elements at or past column `cols + r` become the
            /// value.
            MaskCausal "mask_causal" {
                /// The tile.
                tile: T = InOut,
                /// First column to change in row 0, `i32`; below 0 it lies to the left of the tile.
                cols: E = Column "the first column of row 0",
                /// A number of its type.
                value: E = Value,
            } [work Each(tile), cost Elementwise]

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
                /// A number of its type.
                value: E = Value,
            } [work Each(tile), cost Elementwise]

            /// `TCI(dst, start[, cols])`: column `c` of every row becomes `start + c`. All rows of the capacity become valid, and the
            /// smaller of its columns and `cols`.
            Iota "iota" {
                /// Destination.
                dst: T = Out,
                /// The value of column 0, `i32`.
                start: E = Column "the number of column 0",
                /// At most this many columns.
                cols: Option<E> = MaybeCount,
            } [gives Capacity(), AtMost(cols); work Each(dst), cost Elementwise]

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
            } [work Each(dst), cost Move; apart "a part of a tile goes to another tile"]

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
            } [gives Capacity(), Capacity(); work Each(dst), cost Move; apart "a part of a tile goes to another tile"]

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
            } [gives Rows(src), Capacity(); work Both(src, values), cost Sort; apart "a selection takes three different tiles"]
        }
    };
}
pub(crate) use tile_forms;
