//! The table of tile operations.
//!
//! A row is everything that a language, a page or a test says of an operation by name. What follows from its operands is with
//! its form, in [`TileOp`](super::TileOp).

use super::python::*;
use super::special;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

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
    // Each call in a `.pto` file asks, those of other functions too.
    static WORDS: LazyLock<FxHashMap<&str, (&TileOpRow, &PtoWord)>> = LazyLock::new(|| {
        TILE_OPS.iter().flat_map(|row| row.pto.iter().map(move |word| (word.name, (row, word)))).collect()
    });
    WORDS.get(name).copied()
}

const fn pto(name: &'static str, args: &'static [&'static str]) -> PtoWord {
    PtoWord { name, args, flag: None }
}

const UNARY: &[&str] = &["dst", "src"];
const BINARY: &[&str] = &["dst", "a", "b"];
const WITH_INDICES: &[&str] = &["dst", "src", "indices"];
const TO_PLACE: &[&str] = &["tensor", "src", "{index, …}"];
const WITH_NUMBER: &[&str] = &["dst", "a", "value"];
const WITH_COLUMN: &[&str] = &["dst", "a", "column"];
const WITH_ROW: &[&str] = &["dst", "a", "row"];

/// Declares the operations of element-wise forms and reductions, and the table.
macro_rules! tile_ops {
    (
        unary { $($unary:ident $unary_word:literal [$($unary_pto:literal)*] [$($unary_python:expr)?] $unary_meaning:literal,
            $plain:expr, $exact:expr, $ulps:literal;)* }
        binary { $($binary:ident $binary_word:literal [$($binary_pto:expr),*] [$($binary_python:expr)?] $binary_meaning:literal,
            $combine:expr, $mirrored:expr;)* }
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

            /// The function itself, which is also its plain form on tiles of `f64`.
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

            /// Its plain form on tiles of `f64`.
            pub fn plain_f64(self) -> fn(f64, f64) -> f64 {
                match self {
                    $(BinaryTileOp::$binary => $combine,)*
                }
            }

            /// What gives the same of the operands in the other order, where one of them does.
            pub fn mirrored(self) -> Option<BinaryTileOp> {
                match self {
                    $(BinaryTileOp::$binary => $mirrored,)*
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

impl ReduceOp {
    /// Whether the result is a place in a row or column: a whole number, which narrow element types round.
    pub fn gives_places(self) -> bool {
        matches!(self, ReduceOp::ArgMax | ReduceOp::ArgMin)
    }
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
        Floor "floor" ["TFLOOR"] [of_tile("floor", "")] "the largest whole number that is not above `x`",
            f32::floor, f64::floor, 0;
        Ceil "ceil" ["TCEIL"] [of_tile("ceil", "")] "the smallest whole number that is not below `x`",
            f32::ceil, f64::ceil, 0;
        Sin "sin" ["TSIN"] [of_any("sin")] "the sine of an angle in radians", f32::sin, f64::sin, 0;
        Cos "cos" ["TCOS"] [of_any("cos")] "the cosine of an angle in radians", f32::cos, f64::cos, 0;
        Sigmoid "sigmoid" ["TSIGMOID"] [of_tile("sigmoid", "")] "`1 / (1 + e⁻ˣ)`",
            |x| special::sigmoid(f64::from(x)) as f32, special::sigmoid, 3;
        Silu "silu" ["TSILU"] [of_tile("silu", "")] "`x · sigmoid(x)`; 0 of -∞",
            |x| special::silu(f64::from(x)) as f32, special::silu, 4;
        Gelu "gelu" ["TGELU"] [of_tile("gelu", "")] "`x / 2 · (1 + erf(x / √2))`; 0 of -∞",
            |x| special::gelu(f64::from(x)) as f32, special::gelu, 8;
        GeluTanh "gelu_tanh" ["TGELU_TANH"] [of_tile("gelu_tanh", "")]
            "`x / 2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))`; 0 of -∞",
            |x| special::gelu_tanh(f64::from(x)) as f32, special::gelu_tanh, 4;
        Erf "erf" ["TERF"] [of_tile("erf", "")] "the error function, `2/√π ∫₀ˣ e^(-t²) dt`",
            |x| special::erf(f64::from(x)) as f32, special::erf, 3;
    }
    binary {
        Add "add" [pto("TADD", BINARY), pto("TADDS", WITH_NUMBER), pto("TROWEXPANDADD", WITH_COLUMN),
            pto("TCOLEXPANDADD", WITH_ROW)] [PythonForm::Written("a + b")] "the sum",
            |a, b| a + b, Some(BinaryTileOp::Add);
        Sub "sub" [pto("TSUB", BINARY), pto("TSUBS", WITH_NUMBER), pto("TROWEXPANDSUB", WITH_COLUMN),
            pto("TCOLEXPANDSUB", WITH_ROW)] [PythonForm::Written("a - b")] "the difference",
            |a, b| a - b, None;
        Mul "mul" [pto("TMUL", BINARY), pto("TMULS", WITH_NUMBER), pto("TROWEXPANDMUL", WITH_COLUMN),
            pto("TCOLEXPANDMUL", WITH_ROW)] [PythonForm::Written("a * b")] "the product",
            |a, b| a * b, Some(BinaryTileOp::Mul);
        Div "div" [pto("TDIV", BINARY), pto("TDIVS", WITH_NUMBER), pto("TROWEXPANDDIV", WITH_COLUMN),
            pto("TCOLEXPANDDIV", WITH_ROW)] [PythonForm::Written("a / b")] "the quotient",
            |a, b| a / b, None;
        Max "max" [pto("TMAX", BINARY), pto("TMAXS", WITH_NUMBER)] [of_two("maximum")]
            "the larger of two; NaN where one is NaN",
            |a, b| if a.is_nan() || a > b { a } else { b }, Some(BinaryTileOp::Max);
        Min "min" [pto("TMIN", BINARY), pto("TMINS", WITH_NUMBER)] [of_two("minimum")]
            "the smaller of two; NaN where one is NaN",
            |a, b| if a.is_nan() || a < b { a } else { b }, Some(BinaryTileOp::Min);
        Eq "eq" [pto("TCMP_EQ", BINARY), pto("TROWEXPANDCMP_EQ", WITH_COLUMN), pto("TCOLEXPANDCMP_EQ", WITH_ROW)]
            [PythonForm::Written("a == b")] "1 where `a = b`, else 0",
            |a, b| u8::from(a == b).into(), Some(BinaryTileOp::Eq);
        Ne "ne" [pto("TCMP_NE", BINARY), pto("TROWEXPANDCMP_NE", WITH_COLUMN), pto("TCOLEXPANDCMP_NE", WITH_ROW)]
            [PythonForm::Written("a != b")] "1 where `a ≠ b`, else 0",
            |a, b| u8::from(a != b).into(), Some(BinaryTileOp::Ne);
        Lt "lt" [pto("TCMP_LT", BINARY), pto("TROWEXPANDCMP_LT", WITH_COLUMN), pto("TCOLEXPANDCMP_LT", WITH_ROW)]
            [PythonForm::Written("a < b")] "1 where `a < b`, else 0",
            |a, b| u8::from(a < b).into(), Some(BinaryTileOp::Gt);
        Le "le" [pto("TCMP_LE", BINARY), pto("TROWEXPANDCMP_LE", WITH_COLUMN), pto("TCOLEXPANDCMP_LE", WITH_ROW)]
            [PythonForm::Written("a <= b")] "1 where `a ≤ b`, else 0",
            |a, b| u8::from(a <= b).into(), Some(BinaryTileOp::Ge);
        Gt "gt" [pto("TCMP_GT", BINARY), pto("TROWEXPANDCMP_GT", WITH_COLUMN), pto("TCOLEXPANDCMP_GT", WITH_ROW)]
            [PythonForm::Written("a > b")] "1 where `a > b`, else 0",
            |a, b| u8::from(a > b).into(), Some(BinaryTileOp::Lt);
        Ge "ge" [pto("TCMP_GE", BINARY), pto("TROWEXPANDCMP_GE", WITH_COLUMN), pto("TCOLEXPANDCMP_GE", WITH_ROW)]
            [PythonForm::Written("a >= b")] "1 where `a ≥ b`, else 0",
            |a, b| u8::from(a >= b).into(), Some(BinaryTileOp::Le);
    }
    reduce {
        Max "max" f32::NEG_INFINITY,
            row "TROWMAX" "rowmax" "one column: the largest element of every row; -∞ of none" "",
            col "TCOLMAX" "colmax" "one row: the largest element of every column; -∞ of none" "";
        Min "min" f32::INFINITY,
            row "TROWMIN" "rowmin" "one column: the smallest element of every row; ∞ of none" "",
            col "TCOLMIN" "colmin" "one row: the smallest element of every column; ∞ of none" "";
        Sum "sum" 0.0,
            row "TROWSUM" "rowsum" "one column: the sum of every row" "One column: the sum of every row, `f32`, of `f64` tiles `f64`.",
            col "TCOLSUM" "colsum" "one row: the sum of every column" "One row: the sum of every column, `f32`, of `f64` tiles `f64`.";
        Mean "mean" f32::NAN,
            row "TROWMEAN" "rowmean" "one column: the sum of every row, divided by its number of elements; NaN of none"
                "One column: the mean of every row, `f32`, of `f64` tiles `f64`; NaN of none.",
            col "TCOLMEAN" "colmean" "one row: the sum of every column, divided by its number of elements; NaN of none"
                "One row: the mean of every column, `f32`, of `f64` tiles `f64`; NaN of none.";
        ArgMax "argmax" -1.0,
            row "TROWARGMAX" "rowargmax" "one column: where each row has its first NaN, or else its first largest element; -1 of none"
                "One column: where each row has its first NaN, or else its first largest element, `f32`; -1 of none.",
            col "TCOLARGMAX" "colargmax" "one row: where each column has its first NaN, or else its first largest element; -1 of none"
                "One row: where each column has its first NaN, or else its first largest element, `f32`; -1 of none.";
        ArgMin "argmin" -1.0,
            row "TROWARGMIN" "rowargmin" "one column: where each row has its first NaN, or else its first smallest element; -1 of none"
                "One column: where each row has its first NaN, or else its first smallest element, `f32`; -1 of none.",
            col "TCOLARGMIN" "colargmin" "one row: where each column has its first NaN, or else its first smallest element; -1 of none"
                "One row: where each column has its first NaN, or else its first smallest element, `f32`; -1 of none.";
    }
    others {
        "load" [pto("TLOAD", &["dst", "tensor", "{index, …}", "[rows]", "[cols]"])] [LOAD]
            "loads what the tensor has from the index on, at most the capacity and `rows × cols`; using a tile of which nothing is left \
             is a fault, unless the load asks for 0 rows or columns or the dimension has no element";
        "store" [pto("TSTORE", TO_PLACE), PtoWord { name: "TSTORE_ATOMIC_ADD", args: TO_PLACE, flag: Some("add") }]
            [STORE, ATOMIC_ADD, PythonForm::Written("view[...] = tile")]
            "stores the valid part, or adds it to what is there: in `double`, rounded once to the elements of the tensor";
        "fill" [pto("TASSIGN", &["dst", "value", "[rows]", "[cols]"])] [FULL, ZEROS]
            "every element becomes the value, and valid; at most `rows × cols` of them";
        "matmul" [pto("TMATMUL", BINARY), PtoWord { name: "TMATMUL_ACC", args: BINARY, flag: Some("accumulate") }]
            [MATMUL, PythonForm::Written("a @ b")]
            "`a · b`, or that added to what is there; `b` may be `PTO_TRANSPOSE(tile)`, in Python `b.T`. Where the valid inner sizes differ, the smaller counts";
        "clamp" [pto("TCLAMP", &["dst", "src", "low", "high"])] [CLAMP]
            "`min(max(x, low), high)` of every element: `high` where `low` is larger, NaN where the element is NaN";
        "select" [pto("TSEL", &["dst", "mask", "a", "b"])] [WHERE]
            "`a` where the mask is not 0, else `b`";
        "cumsum" [pto("TCUMSUM", UNARY)] [of_tile("cumsum", "")]
            "the sum of every element and those before it in its row, added from the first on";
        "gather" [pto("TGATHER", WITH_INDICES), PtoWord { name: "TGATHER_ROWS", args: WITH_INDICES, flag: Some("by_row") }] [GATHER]
            "the element of `src` in the same row and the column that the index says; with `TGATHER_ROWS` in the same column and that row. \
             Indices are a tile of `float`, `double` or integers, counted from 0: one that is no whole number or past the end is a fault";
        "reshape" [pto("TRESHAPE", &["dst", "src", "[rows]", "[cols]"])] [RESHAPE]
            "the elements of `src`, row by row, as `rows × cols`, which must be as many; without these numbers, as the capacity of `dst`";
        "random" [pto("TRANDOM", &["dst", "seed", "first", "pitch", "[rows]", "[cols]"])] [RANDOM]
            "element (`r`, `c`) becomes number `first + r · pitch + c` of the sequence of `seed`, evenly distributed in [0, 1)";
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
