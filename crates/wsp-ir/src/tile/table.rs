//! The table of tile operations.
//!
//! A row is everything that a language, a page or a test says of an operation by name. What follows from its operands is with
//! its form, in [`TileOp`](super::TileOp).

/// A tile operation.
#[derive(Clone, Copy, Debug)]
pub struct TileOpRow {
    /// The word of its form.
    pub form: &'static str,
    /// Which operation of the form.
    pub kind: TileOpKind,
    /// How `.pto` files write it.
    pub pto: &'static [PtoWord],
    /// How kernels in Python write it.
    pub python: &'static [PythonForm],
    /// What it does.
    pub meaning: &'static str,
}

impl TileOpRow {
    /// Its word in texts of the IR and in traces.
    pub fn word(&self) -> &'static str {
        match self.kind {
            TileOpKind::Unary(op) => op.word(),
            TileOpKind::Binary(op) => op.word(),
            TileOpKind::Reduce(op) => op.word(),
            TileOpKind::Only => self.form,
        }
    }
}

/// Which operation of a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TileOpKind {
    /// Of the element-wise functions of one tile.
    Unary(UnaryTileOp),
    /// Of the element-wise functions of two operands.
    Binary(BinaryTileOp),
    /// Of the reductions.
    Reduce(ReduceOp),
    /// The form has one operation.
    Only,
}

/// A call of a tile operation in a `.pto` file.
#[derive(Clone, Copy, Debug)]
pub struct PtoWord {
    /// Its name.
    pub name: &'static str,
    /// Its arguments: fields of the form, in brackets where they may be left out. `{index, …}` is the field `at`; `b` of an
    /// element-wise operation is a tile or a number, and `value`, `column` and `row` stand for it, too.
    pub args: &'static [&'static str],
    /// The flag of the form that it sets.
    pub flag: Option<&'static str>,
}

impl PtoWord {
    /// Fewest and most arguments.
    pub fn arity(&self) -> (usize, usize) {
        let optional = self.args.iter().filter(|arg| arg.starts_with('[')).count();
        (self.args.len() - optional, self.args.len())
    }

    /// The position of the argument for a field.
    pub fn position(&self, field: &str) -> Option<usize> {
        self.args.iter().position(|arg| match field {
            "at" => arg.starts_with('{'),
            _ => arg.trim_matches(['[', ']']) == field,
        })
    }

    /// How it is written.
    pub fn usage(&self) -> String {
        format!("{}({})", self.name, self.args.join(", "))
    }
}

/// How kernels in Python write an operation.
#[derive(Clone, Copy, Debug)]
pub enum PythonForm {
    /// A function of `pto`.
    Function {
        /// Its name.
        name: &'static str,
        /// Its parameters, as a `def` has them.
        params: &'static str,
        /// The type of its result.
        returns: &'static str,
        /// Its documentation; empty where [`TileOpRow::meaning`] says it all.
        doc: &'static str,
    },
    /// Another notation.
    Written(&'static str),
}

/// The row and the call with a name of `.pto` files.
pub fn find_pto(name: &str) -> Option<(&'static TileOpRow, &'static PtoWord)> {
    let words = TILE_OPS.iter().flat_map(|row| row.pto.iter().map(move |word| (row, word)));
    words.into_iter().find(|(_, word)| word.name == name)
}

const fn pto(name: &'static str, args: &'static [&'static str]) -> PtoWord {
    PtoWord { name, args, flag: None }
}

/// An element-wise function of a tile or a number; `x` is either.
const fn of_any(name: &'static str) -> PythonForm {
    PythonForm::Function { name, params: "x: Value", returns: "Value", doc: "" }
}

/// A function that makes a tile of another.
const fn of_tile(name: &'static str, doc: &'static str) -> PythonForm {
    PythonForm::Function { name, params: "tile: Tile", returns: "Tile", doc }
}

const UNARY: &[&str] = &["dst", "src"];
const BINARY: &[&str] = &["dst", "a", "b"];
const WITH_NUMBER: &[&str] = &["dst", "a", "value"];
const WITH_COLUMN: &[&str] = &["dst", "a", "column"];
const WITH_ROW: &[&str] = &["dst", "a", "row"];

/// Declares the operations of element-wise forms and reductions, and the table.
macro_rules! tile_ops {
    (
        unary { $($unary:ident $unary_word:literal [$($unary_pto:literal)*] [$($unary_python:expr)?] $unary_meaning:literal,
            $plain:expr, $exact:expr, $ulps:literal;)* }
        binary { $($binary:ident $binary_word:literal [$($binary_pto:expr),*] [$($binary_python:expr)?] $binary_meaning:literal,
            $combine:expr, $commutes:literal;)* }
        reduce { $($reduce:ident $reduce_word:literal $neutral:expr,
            row $by_row:literal $row_python:literal $row_meaning:literal $row_doc:literal,
            col $by_col:literal $col_python:literal $col_meaning:literal $col_doc:literal;)* }
        others { $($form:literal [$($pto:expr),*] [$($python:expr),*] $meaning:literal;)* }
    ) => {
        /// Element-wise functions of one tile.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum UnaryTileOp {
            $(
                #[doc = $unary_meaning]
                $unary,
            )*
        }

        impl UnaryTileOp {
            /// All of them.
            pub const ALL: &'static [UnaryTileOp] = &[$(UnaryTileOp::$unary),*];

            /// Its word in texts of the IR and in traces.
            pub fn word(self) -> &'static str {
                match self {
                    $(UnaryTileOp::$unary => $unary_word,)*
                }
            }

            /// Its plain form.
            pub fn plain(self) -> fn(f32) -> f32 {
                match self {
                    $(UnaryTileOp::$unary => $plain,)*
                }
            }

            /// The function itself.
            pub fn exact(self) -> fn(f64) -> f64 {
                match self {
                    $(UnaryTileOp::$unary => $exact,)*
                }
            }

            /// How far vector units are from the function at most, in units in the last place of a normal result; 0 where they give
            /// the bits of the plain form.
            pub fn ulps(self) -> u32 {
                match self {
                    $(UnaryTileOp::$unary => $ulps,)*
                }
            }
        }

        /// Element-wise functions of two operands.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum BinaryTileOp {
            $(
                #[doc = $binary_meaning]
                $binary,
            )*
        }

        impl BinaryTileOp {
            /// All of them.
            pub const ALL: &'static [BinaryTileOp] = &[$(BinaryTileOp::$binary),*];

            /// Its word in texts of the IR and in traces.
            pub fn word(self) -> &'static str {
                match self {
                    $(BinaryTileOp::$binary => $binary_word,)*
                }
            }

            /// Its plain form.
            pub fn plain(self) -> fn(f32, f32) -> f32 {
                match self {
                    $(BinaryTileOp::$binary => $combine,)*
                }
            }

            /// Whether the operands may change places.
            pub fn commutes(self) -> bool {
                match self {
                    $(BinaryTileOp::$binary => $commutes,)*
                }
            }
        }

        /// Reductions.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ReduceOp {
            $(
                #[doc = concat!("The operation `", $reduce_word, "`.")]
                $reduce,
            )*
        }

        impl ReduceOp {
            /// All of them.
            pub const ALL: &'static [ReduceOp] = &[$(ReduceOp::$reduce),*];

            /// Its word in texts of the IR and in traces.
            pub fn word(self) -> &'static str {
                match self {
                    $(ReduceOp::$reduce => $reduce_word,)*
                }
            }

            /// What it makes of no elements.
            pub fn neutral(self) -> f32 {
                match self {
                    $(ReduceOp::$reduce => $neutral,)*
                }
            }
        }

        /// Every tile operation.
        pub const TILE_OPS: &[TileOpRow] = &[
            $(TileOpRow {
                form: "unary",
                kind: TileOpKind::Unary(UnaryTileOp::$unary),
                pto: &[$(pto($unary_pto, UNARY)),*],
                python: &[$($unary_python)?],
                meaning: $unary_meaning,
            },)*
            $(TileOpRow {
                form: "binary",
                kind: TileOpKind::Binary(BinaryTileOp::$binary),
                pto: &[$($binary_pto),*],
                python: &[$($binary_python)?],
                meaning: $binary_meaning,
            },)*
            $(TileOpRow {
                form: "row_reduce",
                kind: TileOpKind::Reduce(ReduceOp::$reduce),
                pto: &[pto($by_row, UNARY)],
                python: &[of_tile($row_python, $row_doc)],
                meaning: $row_meaning,
            },
            TileOpRow {
                form: "col_reduce",
                kind: TileOpKind::Reduce(ReduceOp::$reduce),
                pto: &[pto($by_col, UNARY)],
                python: &[of_tile($col_python, $col_doc)],
                meaning: $col_meaning,
            },)*
            $(TileOpRow {
                form: $form,
                kind: TileOpKind::Only,
                pto: &[$($pto),*],
                python: &[$($python),*],
                meaning: $meaning,
            },)*
        ];
    };
}

tile_ops! {
    unary {
        Copy "copy" ["TMOV" "TCVT"] [CAST] "the same values, rounded to the element type of the destination",
            |x| x, |x| x, 0;
        Neg "neg" ["TNEG"] [of_any("neg")] "`-x`", |x| -x, |x| -x, 0;
        Abs "abs" ["TABS"] [of_any("abs")] "`|x|`", f32::abs, f64::abs, 0;
        Exp "exp" ["TEXP"] [of_any("exp")] "`eˣ`", f32::exp, f64::exp, 2;
        Exp2 "exp2" ["TEXP2"] [of_any("exp2")] "`2ˣ`", f32::exp2, f64::exp2, 2;
        Log "log" ["TLOG"] [of_any("log")] "the natural logarithm; -∞ of 0, NaN below", f32::ln, f64::ln, 0;
        Log2 "log2" ["TLOG2"] [of_any("log2")] "the logarithm to base 2; -∞ of 0, NaN below",
            f32::log2, f64::log2, 0;
        Sqrt "sqrt" ["TSQRT"] [of_any("sqrt")] "the square root; NaN below 0", f32::sqrt, f64::sqrt, 0;
        Rsqrt "rsqrt" ["TRSQRT"] [of_any("rsqrt")] "`1 / √x`", |x| 1.0 / x.sqrt(), |x| 1.0 / x.sqrt(), 0;
        Recip "recip" ["TRECIP"] [of_any("recip")] "`1 / x`", |x| 1.0 / x, |x| 1.0 / x, 0;
        Relu "relu" ["TRELU"] [of_any("relu")] "`max(x, 0)`",
            |x| if x.is_nan() || x > 0.0 { x } else { 0.0 }, |x| if x < 0.0 { 0.0 } else { x }, 0;
        Tanh "tanh" ["TTANH"] [of_tile("tanh", "")] "the hyperbolic tangent", f32::tanh, f64::tanh, 4;
        Round "round" ["TROUND"] [of_tile("round", "")] "the nearest whole number, of two the even one",
            f32::round_ties_even, f64::round_ties_even, 0;
    }
    binary {
        Add "add" [pto("TADD", BINARY), pto("TADDS", WITH_NUMBER), pto("TROWEXPANDADD", WITH_COLUMN),
            pto("TCOLEXPANDADD", WITH_ROW)] [PythonForm::Written("a + b")] "the sum",
            |a, b| a + b, true;
        Sub "sub" [pto("TSUB", BINARY), pto("TSUBS", WITH_NUMBER), pto("TROWEXPANDSUB", WITH_COLUMN),
            pto("TCOLEXPANDSUB", WITH_ROW)] [PythonForm::Written("a - b")] "the difference",
            |a, b| a - b, false;
        Mul "mul" [pto("TMUL", BINARY), pto("TMULS", WITH_NUMBER), pto("TROWEXPANDMUL", WITH_COLUMN),
            pto("TCOLEXPANDMUL", WITH_ROW)] [PythonForm::Written("a * b")] "the product",
            |a, b| a * b, true;
        Div "div" [pto("TDIV", BINARY), pto("TDIVS", WITH_NUMBER), pto("TROWEXPANDDIV", WITH_COLUMN),
            pto("TCOLEXPANDDIV", WITH_ROW)] [PythonForm::Written("a / b")] "the quotient",
            |a, b| a / b, false;
        Max "max" [pto("TMAX", BINARY), pto("TMAXS", WITH_NUMBER)] [of_two("maximum")]
            "the larger of two; NaN where one is NaN",
            |a, b| if a.is_nan() || a > b { a } else { b }, true;
        Min "min" [pto("TMIN", BINARY), pto("TMINS", WITH_NUMBER)] [of_two("minimum")]
            "the smaller of two; NaN where one is NaN",
            |a, b| if a.is_nan() || a < b { a } else { b }, true;
    }
    reduce {
        Max "max" f32::NEG_INFINITY,
            row "TROWMAX" "rowmax" "one column: the largest element of every row; -∞ of none" "",
            col "TCOLMAX" "colmax" "one row: the largest element of every column; -∞ of none" "";
        Min "min" f32::INFINITY,
            row "TROWMIN" "rowmin" "one column: the smallest element of every row; ∞ of none" "",
            col "TCOLMIN" "colmin" "one row: the smallest element of every column; ∞ of none" "";
        Sum "sum" 0.0,
            row "TROWSUM" "rowsum" "one column: the sum of every row" "One column: the sum of every row, `f32`.",
            col "TCOLSUM" "colsum" "one row: the sum of every column" "One row: the sum of every column, `f32`.";
    }
    others {
        "load" [pto("TLOAD", &["dst", "tensor", "{index, …}", "[rows]", "[cols]"])] [LOAD]
            "loads what the tensor has from the index on, at most the capacity and `rows × cols`; using a tile of which nothing is left \
             is a fault, unless the load asks for 0 rows or columns or the dimension has no element";
        "store" [pto("TSTORE", &["tensor", "src", "{index, …}"])] [STORE, PythonForm::Written("view[...] = tile")]
            "stores the valid part";
        "fill" [pto("TASSIGN", &["dst", "value", "[rows]", "[cols]"])] [FULL, ZEROS]
            "every element becomes the value, and valid; at most `rows × cols` of them";
        "matmul" [pto("TMATMUL", BINARY), PtoWord { name: "TMATMUL_ACC", args: BINARY, flag: Some("accumulate") }]
            [MATMUL, PythonForm::Written("a @ b")]
            "`a · b`, or that added to what is there; `b` may be `PTO_TRANSPOSE(tile)`, in Python `b.T`. Where the valid inner sizes differ, the smaller counts";
        "transpose" [pto("TTRANS", UNARY)]
            [of_tile("transpose", "Rows and columns exchanged; the same as `tile.T`."), PythonForm::Written("tile.T")] "rows and columns exchanged";
        "mask" [pto("TMASK", &["tile", "cols", "value"]), pto("TMASK_ROWS", &["tile", "rows", "value"])] [MASK]
            "elements from that column or row on become the value";
        "mask_causal" [pto("TMASK_CAUSAL", &["tile", "cols", "value"])] [MASK_CAUSAL]
            "in row `r`, elements from that column plus `r` on become the value; the column may be below 0";
        "mask_band" [pto("TMASK_BAND", &["tile", "begin", "end", "group", "value"])] [MASK_BAND]
            "in row `r`, elements outside of columns `begin + r / group` up to `end + r / group`, which is not kept, become the value; \
             `begin` and `end` may be below 0, and a `group` of 0 counts as 1";
        "iota" [pto("TCI", &["dst", "start", "[cols]"])] [IOTA]
            "column `c` of every row becomes `start + c`; `start` may be below 0";
        "insert" [pto("TINSERT", &["dst", "src", "row", "col"])] [INSERT]
            "what is valid of one tile replaces as much of another, which has it, from that row and column on";
        "extract" [pto("TEXTRACT", &["dst", "src", "row", "col"])] [EXTRACT]
            "what a tile has from that row and column on, at most the capacity of the result";
        "top_k" [pto("TTOPK", &["values", "indices", "src", "first"])] [TOPK]
            "each row of `values` and `indices` keeps the largest of what it holds and of the row of `src`, whose column `c` has the \
             index `first + c`; as many as fit";
    }
}

/// A function of two tiles, of a tile and a number, or of two numbers.
const fn of_two(name: &'static str) -> PythonForm {
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

const CAST: PythonForm = function(
    "cast",
    "tile: Tile, dtype: DType",
    "Tile",
    "The values rounded to another element type, to nearest, ties to even.",
);

const LOAD: PythonForm = function(
    "load",
    "view: View, shape: tuple[int, int] | None = None, dtype: DType | None = None",
    "Tile",
    "A tile with the elements of a view.\n\n\
     The room of the tile is that of the view, where its extents are constants or bounded (`X[tile(i, 64)]`), \
     or what `shape = (rows, columns)` says: constants, or integers with a bound. What lies past the end of the \
     view is not valid. A view of one dimension is one row, or one column with `shape=(n, 1)`; `view.T` loads \
     transposed. `dtype` converts while loading; without it tiles have the type of the view.\n\n\
     Errors: an unknown extent without `shape`, a view of integers or of `f64`, an `Out` view.",
);

const STORE: PythonForm = function(
    "store",
    "view: View, tile: Tile",
    "None",
    "Stores the valid part of a tile, rounded to the type of the view, from the first element of the view on.\n\n\
     The same as `view[...] = tile`. A tile that reaches past the end of the view stops the run; one that is known to be larger or smaller than the view is refused.",
);

const FULL: PythonForm = function(
    "full",
    "shape: tuple[int, int], value: Number, dtype: DType = f32",
    "Tile",
    "A tile of one value.\n\n\
     `shape = (rows, columns)`: constants, or integers with a bound, such as extents of views and tiles \
     (`x.shape[0]`, `t.rows`), which give the tile as many valid rows and columns as there are in the running task.",
);

const ZEROS: PythonForm =
    function("zeros", "shape: tuple[int, int], dtype: DType = f32", "Tile", "`full(shape, 0.0, dtype)`.");

const MATMUL: PythonForm = function(
    "matmul",
    "a: Tile, b: Tile, acc: Tile | None = None",
    "Tile",
    "`a · b`, or `acc + a · b`: `(m, k)` and `(k, n)` give `(m, n)`, `f32`. `a @ b` is the same without `acc`.\n\n\
     `b.T` is read as it lies, without a copy. Where the valid inner sizes differ, the smaller counts. `acc = pto.matmul(a, b, acc)` adds in place.",
);

const MASK: PythonForm = function(
    "mask",
    "tile: Tile, rows: int | None = None, cols: int | None = None, value: Number = 0.0",
    "Tile",
    "The tile with every element from row `rows` on, and every element from column `cols` on, replaced by `value`.\n\n\
     Both are counted from the first row and column of the tile. Errors: neither is given.",
);

const MASK_CAUSAL: PythonForm = function(
    "mask_causal",
    "tile: Tile, col: int, value: Number",
    "Tile",
    "The tile with the elements from column `col + r` on replaced by `value` in every row `r`. `col` may be below 0.\n\n\
     With queries `q0 ..` in rows and keys `k0 ..` in columns, `col = q0 + 1 - k0` hides the keys after each query.",
);

const MASK_BAND: PythonForm = function(
    "mask_band",
    "tile: Tile, begin: int, end: int, group: int, value: Number",
    "Tile",
    "The tile with the elements outside of columns `begin + r // group` up to `end + r // group`, which is not kept, replaced by \
     `value` in every row `r`. `begin` and `end` may be below 0.\n\n\
     `group` rows in a row share a band, and the next ones have theirs a column further right; 0 counts as 1. With queries \
     `q0 ..` of `group` heads each in rows and keys `k0 ..` in columns, `end = q0 + 1 - k0` and `begin = end - window` keep the \
     `window` keys up to each query.",
);

const IOTA: PythonForm = function(
    "iota",
    "shape: tuple[int, int], start: int = 0, dtype: DType = f32",
    "Tile",
    "A tile whose column `c` is `start + c` in every row; `start` may be below 0.\n\n\
     `shape` is as in `full`. Whole numbers are exact up to 2^24 in `f32`, 2^11 in `f16`, 2^8 in `bf16`; beyond they are rounded.",
);

const INSERT: PythonForm = function(
    "insert",
    "tile: Tile, part: Tile, row: int, col: int",
    "Tile",
    "The tile with `part` in it, from row `row` and column `col` on.\n\n\
     The valid part stays that of `tile`. A part that reaches past it stops the run; one that is \
     known to be larger is refused.",
);

const EXTRACT: PythonForm = function(
    "extract",
    "tile: Tile, shape: tuple[int, int], row: int, col: int",
    "Tile",
    "What a tile has from row `row` and column `col` on.\n\n\
     `shape = (rows, columns)` is the room of the result, in constants. What lies past the end of the tile is not valid.",
);

const TOPK: PythonForm = function(
    "topk",
    "values: Tile, indices: Tile, src: Tile, first: int",
    "tuple[Tile, Tile]",
    "The lists of largest values with the row of `src` taken in: `values, indices = pto.topk(values, indices, src, first)`.\n\n\
     Column `c` of `src` has the index `first + c`. Each row of `values` and `indices`, `(rows, k)` and `f32`, \
     runs from the largest value to the smallest, equal values from the lower index to the higher; NaN counts as -inf. Begin \
     with `pto.full((rows, k), -math.inf)` and `pto.full((rows, k), -1.0)`. Indices are exact below 2^24.",
);
