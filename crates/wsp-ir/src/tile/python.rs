//! How kernels in Python write tile operations: functions of `pto`, with the documentation that users read.

use super::table::PythonForm;

/// An element-wise function of a tile or a number; `x` is either.
pub(super) const fn of_any(name: &'static str) -> PythonForm {
    PythonForm::Function { name, params: "x: Value", returns: "Value", doc: "" }
}

/// A function that makes a tile of another.
pub(super) const fn of_tile(name: &'static str, doc: &'static str) -> PythonForm {
    PythonForm::Function { name, params: "tile: Tile", returns: "Tile", doc }
}

/// A function of two tiles, of a tile and a number, or of two numbers.
pub(super) const fn of_two(name: &'static str) -> PythonForm {
    PythonForm::Function { name, params: "a: Value | Number, b: Value | Number", returns: "Value", doc: "" }
}

const fn function(
    name: &'static str,
    params: &'static str,
    returns: &'static str,
    doc: &'static str,
) -> PythonForm {
    PythonForm::Function { name, params, returns, doc }
}

pub(super) const CAST: PythonForm = function(
    "cast",
    "tile: Tile, dtype: DType",
    "Tile",
    "The values in another element type, real numbers to nearest, ties to even.\n\n\
     Integers wrap; real numbers that become integers lose their fraction, and one that does not fit then stops the run.",
);

pub(super) const LOAD: PythonForm = function(
    "load",
    "view: View, shape: tuple[int, int] | None = None, dtype: DType | None = None",
    "Tile",
    "A tile with the elements of a view.\n\n\
     The room of the tile is that of the view, where its extents are constants or bounded (`X[tile(i, 64)]`), \
     or what `shape = (rows, columns)` says: constants, or integers with a bound. What lies past the end of the \
     view is not valid. A view of one dimension is one row, or one column with `shape=(n, 1)`; `view.T` loads \
     transposed. `dtype` converts while loading; without it tiles have the type of the view.\n\n\
     Errors: an unknown extent without `shape`, an `Out` view.",
);

pub(super) const STORE: PythonForm = function(
    "store",
    "view: View, tile: Tile",
    "None",
    "Stores the valid part of a tile, rounded to the type of the view, from the first element of the view on.\n\n\
     The same as `view[...] = tile`. A tile that reaches past the end of the view stops the run; one that is known to be larger or smaller than the view is refused.",
);

pub(super) const ATOMIC_ADD: PythonForm = function(
    "atomic_add",
    "view: View, tile: Tile",
    "None",
    "Adds the valid part of a tile to what is there, from the first element of the view on, which is an `InOut`.\n\n\
     Each sum is computed in `f64` and rounded once to the type of the view; of integers it wraps. Tasks that add to the same elements do so one after the \
     other, in the order in which the workload has them, so that a sum has the same bits with any schedule. Errors are those of `store`.",
);

pub(super) const FULL: PythonForm = function(
    "full",
    "shape: tuple[int, int], value: Number, dtype: DType = f32",
    "Tile",
    "A tile of one value.\n\n\
     `shape = (rows, columns)`: constants, or integers with a bound, such as extents of views and tiles \
     (`x.shape[0]`, `t.rows`), which give the tile as many valid rows and columns as there are in the running task.",
);

pub(super) const ZEROS: PythonForm =
    function("zeros", "shape: tuple[int, int], dtype: DType = f32", "Tile", "`full(shape, 0.0, dtype)`.");

pub(super) const MATMUL: PythonForm = function(
    "matmul",
    "a: Tile, b: Tile, acc: Tile | None = None",
    "Tile",
    "`a · b`, or `acc + a · b`: `(m, k)` and `(k, n)` give `(m, n)`, `f32`, or `f64` where an operand is. `a @ b` is the same without `acc`.\n\n\
     `b.T` is read as it lies, without a copy. Where the valid inner sizes differ, the smaller counts. `acc = pto.matmul(a, b, acc)` adds in place.",
);

pub(super) const CLAMP: PythonForm = function(
    "clamp",
    "x: Value, low: Number, high: Number",
    "Value",
    "`minimum(maximum(x, low), high)`, of every element of a tile or of a number.",
);

pub(super) const WHERE: PythonForm = function(
    "where",
    "mask: Tile, a: Tile | Number, b: Tile | Number",
    "Tile",
    "`a` where the mask is not 0, else `b`, element by element. NaN is not 0.\n\n\
     `a` and `b` are numbers, or tiles with the shape of the mask, one column, one row or one element. Comparisons of tiles \
     give masks: `pto.where(x < 0.0, 0.0, x)`.",
);

pub(super) const MASK: PythonForm = function(
    "mask",
    "tile: Tile, rows: int | None = None, cols: int | None = None, value: Number = 0.0",
    "Tile",
    "The tile with every element from row `rows` on, and every element from column `cols` on, replaced by `value`.\n\n\
     Both are counted from the first row and column of the tile. Errors: neither is given.",
);

pub(super) const MASK_CAUSAL: PythonForm = function(
    "mask_causal",
    "tile: Tile, col: int, value: Number",
    "Tile",
    "The tile with the elements from column `col + r` on replaced by `value` in every row `r`. `col` may be below 0.\n\n\
     With queries `q0 ..` in rows and keys `k0 ..` in columns, `col = q0 + 1 - k0` hides the keys after each query.",
);

pub(super) const MASK_BAND: PythonForm = function(
    "mask_band",
    "tile: Tile, begin: int, end: int, group: int, value: Number",
    "Tile",
    "The tile with the elements outside of columns `begin + r // group` up to `end + r // group`, which is not kept, replaced by \
     `value` in every row `r`. `begin` and `end` may be below 0.\n\n\
     `group` rows in a row share a band, and the next ones have theirs a column further right; 0 counts as 1. With queries \
     `q0 ..` of `group` heads each in rows and keys `k0 ..` in columns, `end = q0 + 1 - k0` and `begin = end - window` keep the \
     `window` keys up to each query.",
);

pub(super) const IOTA: PythonForm = function(
    "iota",
    "shape: tuple[int, int], start: int = 0, dtype: DType = f32",
    "Tile",
    "A tile whose column `c` is `start + c` in every row; `start` may be below 0.\n\n\
     `shape` is as in `full`. Whole numbers are exact up to 2^53 in `f64`, 2^24 in `f32`, 2^11 in `f16`, 2^8 in `bf16`; beyond they are rounded.",
);

pub(super) const INSERT: PythonForm = function(
    "insert",
    "tile: Tile, part: Tile, row: int, col: int",
    "Tile",
    "The tile with `part` in it, from row `row` and column `col` on.\n\n\
     The valid part stays that of `tile`. A part that reaches past it stops the run; one that is \
     known to be larger is refused.",
);

pub(super) const EXTRACT: PythonForm = function(
    "extract",
    "tile: Tile, shape: tuple[int, int], row: int, col: int",
    "Tile",
    "What a tile has from row `row` and column `col` on.\n\n\
     `shape = (rows, columns)` is the room of the result, in constants. What lies past the end of the tile is not valid.",
);

pub(super) const GATHER: PythonForm = function(
    "gather",
    "tile: Tile, indices: Tile, axis: int = 1",
    "Tile",
    "With `axis=1`, the element of the same row and of the column that `indices` says; with `axis=0`, of the same column and of that row.\n\n\
     `indices` is a tile of integers, or an `f32` or `f64` tile of whole numbers, such as `rowargmax`, `topk` and `iota` give. It has the rows of `tile` (`axis=1`) or its columns \
     (`axis=0`), and its shape is that of the result. An index that is no whole number, or past what is valid of `tile`, stops the run.",
);

pub(super) const RESHAPE: PythonForm = function(
    "reshape",
    "tile: Tile, shape: tuple[int, int]",
    "Tile",
    "The elements of a tile, row by row, in another shape.\n\n\
     `shape` is as in `full`, and has as many elements as the valid part of `tile`.",
);

pub(super) const RANDOM: PythonForm = function(
    "random",
    "shape: tuple[int, int], seed: int, first: int = 0, pitch: int | None = None, dtype: DType = f32",
    "Tile",
    "Random numbers from 0 up to 1, exclusive, evenly distributed: multiples of 2^-24, rounded to `dtype`, which may give 1 in types narrower than `f32`.\n\n\
     Element `(r, c)` is number `first + r · pitch + c` of the sequence of `seed`; without `pitch` rows follow each other. A number depends on the seed \
     and its place in the sequence alone, so tiles of any size give an array the same numbers: with `first = i · n + j` and `pitch = n` for the \
     tile that begins in row `i` and column `j` of an array of `n` columns. `shape` is as in `full`. `seed`, `first` and `pitch` are below 2^32. \
     The generator is Philox-4x32 with 10 rounds.",
);

pub(super) const TOPK: PythonForm = function(
    "topk",
    "values: Tile, indices: Tile, src: Tile, first: int",
    "tuple[Tile, Tile]",
    "The lists of largest values with the row of `src` taken in: `values, indices = pto.topk(values, indices, src, first)`.\n\n\
     Column `c` of `src` has the index `first + c`. Each row of `values` and `indices`, `(rows, k)` and `f32`, \
     runs from the largest value to the smallest, equal values from the lower index to the higher; NaN counts as -inf. Begin \
     with `pto.full((rows, k), -math.inf)` and `pto.full((rows, k), -1.0)`. Indices are exact below 2^24.",
);
