//! Syntax of .pto source: WSP0001-WSP0099.

use super::{Code, CodeInfo};

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(1),
        title: "source file too large",
        explanation: "\
A `.pto` file has more bytes than a source file may have (`wsp config` prints the limit). Programs are written by
hand and stay far below it: check that the path names the file you mean.",
    },
    CodeInfo {
        code: Code(2),
        title: "too many errors",
        explanation: "\
More errors were found than are printed. They are shown in source order, so repair the first ones and compile
again; later ones often follow from them.",
    },
    CodeInfo {
        code: Code(3),
        title: "unexpected character",
        explanation: "\
A character starts no token of the language: `@`, `$`, a typographic quote or dash, a non-breaking space, a control
character. Such characters often come with text that is copied from a document.
Delete it or type the plain ASCII character.",
    },
    CodeInfo {
        code: Code(4),
        title: "comment without an end",
        explanation: "\
A `/*` has no `*/` before the end of the file. Comments do not nest: the first `*/` ends a comment.
Close the comment, or use `//`, which ends with its line.",
    },
    CodeInfo {
        code: Code(5),
        title: "string or character literal",
        explanation: "\
The language has no text values, so `\"…\"` and `'…'` have no meaning outside of `#include` lines.
Leave assertions and messages out; a fault of a run is reported with its position and values.",
    },
    CodeInfo {
        code: Code(6),
        title: "malformed number",
        explanation: "\
A word that starts with a digit is not a number. Integers are written `42`, `42u`, `0x2A`, `0b101010` or
`1'000'000`; floats `1.0`, `1.0f` or `1.5e-3f`. A leading 0, which C reads as octal, is refused, and so is the `f` of
`1f`: write `1.0f`.",
    },
    CodeInfo {
        code: Code(7),
        title: "number out of range",
        explanation: "\
An integer literal does not fit 64 bits, or a float literal rounds to infinity or, although it is not 0, to 0.
Write `INFINITY` for infinity and `0.0` for zero.",
    },
    CodeInfo {
        code: Code(8),
        title: "preprocessor line",
        explanation: "\
The language has no preprocessor. Three kinds of lines begin with `#`: `#include \"file.pto\"` adds the definitions of another
file, which is looked for beside the one that includes it; `#include <…>` and `#pragma …` are passed over.
Instead of `#define N 4` write `const uint32_t N = 4;`; instead of a macro, a function; instead of `#if`, a
`PTO_PARAM` and `if`.",
    },
    CodeInfo {
        code: Code(9),
        title: "name outside ASCII",
        explanation: "\
Names are made of the letters `a`-`z` and `A`-`Z`, digits and `_`. Comments may hold any text.",
    },
    CodeInfo {
        code: Code(10),
        title: "unexpected token",
        explanation: "\
The grammar needs something else at this place; the message says what. The place is marked behind the last thing
understood when the next thing stands on another line.",
    },
    CodeInfo {
        code: Code(11),
        title: "missing `;`",
        explanation: "\
A statement, field or constant ends with `;`. Forms such as `PTO_AXIS(…)` do not need one, calls such as
`TLOAD(…);` do. A field of a struct has no default value, which is also reported here.",
    },
    CodeInfo {
        code: Code(12),
        title: "unclosed delimiter",
        explanation: "\
A `(`, `[`, `{` or `<` has no partner where its list or block must end. The message also shows where it was opened;
for `{` indentation tells which of several was probably forgotten.",
    },
    CodeInfo {
        code: Code(13),
        title: "unmatched closing delimiter",
        explanation: "\
A `)`, `]` or `}` closes nothing. Delete it, or add what should open it; often a `}` further up is one too many.",
    },
    CodeInfo {
        code: Code(14),
        title: "expected an expression",
        explanation: "\
A value is needed here: a number, a name, a call, an operator with its operands. Brace lists `{a, b}` stand only as
arguments and first values.",
    },
    CodeInfo {
        code: Code(15),
        title: "expected a name",
        explanation: "\
A plain name is needed here. Keywords of C++ and names of types cannot be used, nor can names with `::`.",
    },
    CodeInfo {
        code: Code(16),
        title: "expected a type",
        explanation: "\
A type is needed here: `uint32_t`, `float`, `auto`, `const uint32_t*`, a struct of the file, or a tile such as
`VecTile<float, 1, 64>`. A function starts with its result type, `void` if it has none.",
    },
    CodeInfo {
        code: Code(17),
        title: "not a top-level construct",
        explanation: "\
At file level stand only `PTO_` forms, structs, constants and functions. Statements stand in the body of a function,
`PTO_KERNEL_IMPL` or `PTO_DESCRIPTOR_GEN`. When it is reported after a function, a `}` above may be one too many.",
    },
    CodeInfo {
        code: Code(18),
        title: "nested too deeply",
        explanation: "\
Statements, expressions and types together nest deeper than the front end accepts (`wsp config` prints the limit).
Each operator of a chain such as `a + b + …` counts as a level.
Name a part with a variable, or move it into a function.",
    },
    CodeInfo {
        code: Code(20),
        title: "unknown form",
        explanation: "\
A word stands where a `PTO_` form must stand, and no form of that place has this name. The message names the
nearest one, or all that are known there.",
    },
    CodeInfo {
        code: Code(21),
        title: "form out of place",
        explanation: "\
A form or declaration exists but belongs elsewhere: `PTO_AXIS` inside `PTO_SPACE`, `PTO_TIER` inside `PTO_TIER_DEF`,
`PTO_ORDER` inside `PTO_SCHEDULE`, `PTO_SHAPE` and `struct` at file level, `PTO_EMIT_DESCRIPTOR` in a function.",
    },
    CodeInfo {
        code: Code(22),
        title: "missing argument",
        explanation: "\
A `PTO_` form has too few arguments. The help line shows how the form is written.",
    },
    CodeInfo {
        code: Code(23),
        title: "too many arguments",
        explanation: "\
A `PTO_` form has more arguments than it takes. The help line shows how the form is written.",
    },
    CodeInfo {
        code: Code(24),
        title: "unknown policy",
        explanation: "\
The second argument of `PTO_AFFINITY` is `PTO_CORE_GROUP`, `PTO_CORE_LOCAL` or `PTO_SPREAD`; that of `PTO_ORDER` is
`PTO_SEQUENTIAL`, `PTO_SEQUENTIAL_STRICT`, `PTO_PARALLEL`, `PTO_INTERLEAVED(n)` or `PTO_BLOCKED(n)`; the third
argument of `PTO_TILE` is `PTO_PAD_LAST`.",
    },
    CodeInfo {
        code: Code(25),
        title: "count is no positive literal",
        explanation: "\
The `n` of `PTO_INTERLEAVED(n)` and `PTO_BLOCKED(n)` and the depth of `PTO_PREFETCH` are integer literals from 1 on,
because a schedule is fixed when the program is compiled.",
    },
    CodeInfo {
        code: Code(26),
        title: "not supported yet",
        explanation: "\
The form belongs to the language's design and does not run in this version. The help line says what to write
instead: the order itself for `PTO_PROFILE_GUIDED`, routing arrays as launch arguments for `PTO_COMPUTE`.",
    },
    CodeInfo {
        code: Code(27),
        title: "not a value",
        explanation: "\
`PTO_DYNAMIC`, `PTO_AUTO` and `PTO_PAD_LAST` mean something as one argument of one form and cannot be computed with.
`PTO_DYNAMIC` is the end of a `PTO_AXIS` or dimension 1 of a cache's `PTO_SHAPE`; `PTO_AUTO` is the size of a
`PTO_TILE`.",
    },
    CodeInfo {
        code: Code(30),
        title: "keyword that is not part of the language",
        explanation: "\
The language is a small part of C++. It has no classes, enumerations, namespaces, exceptions, `switch`, `goto`,
dynamic memory, storage classes or labels. The help line says what to write instead.",
    },
    CodeInfo {
        code: Code(31),
        title: "type parameter of a template",
        explanation: "\
Template parameters are integers: `template <uint32_t N>`. Tiles take the element type of a tensor with
`PTO_DTYPE(tensor)`.",
    },
    CodeInfo {
        code: Code(32),
        title: "range `for`",
        explanation: "\
There are no ranges to run over. Write `PTO_FOR_EACH(i, 0, n) { … }` or `for (uint32_t i = 0; i < n; ++i) { … }`.",
    },
    CodeInfo {
        code: Code(33),
        title: "lambda",
        explanation: "\
There are no lambdas. Write a function; every function of a file is visible everywhere in it.",
    },
    CodeInfo {
        code: Code(34),
        title: "assignment inside an expression",
        explanation: "\
An assignment is a statement. In a condition `==` is meant most of the time; `a = b = c` is two statements.",
    },
    CodeInfo {
        code: Code(35),
        title: "`++` or `--` inside an expression",
        explanation: "\
`++x` and `x--` are statements, or the last part of a `for`. Inside an expression write `x + 1`, and change the
variable in a statement of its own.",
    },
    CodeInfo {
        code: Code(36),
        title: "not assignable",
        explanation: "\
Only a variable can be assigned to, not a number, a call or the result of an operator.",
    },
    CodeInfo {
        code: Code(37),
        title: "comma between statements",
        explanation: "\
`,` separates arguments and the names of a declaration. It does not join statements: end each with `;`.",
    },
    CodeInfo {
        code: Code(38),
        title: "pointer operator",
        explanation: "\
`->`, `&x` and `nullptr` have no meaning: descriptors are values (`desc.field`), arrays are passed by name, and every
array is bound at launch. `p + n` is understood in `std::max_element(p, p + n)` and `std::accumulate` only.",
    },
    CodeInfo {
        code: Code(39),
        title: "array variable",
        explanation: "\
Variables are scalars and tiles. For several values use a tile, a `PTO_TENSOR`, or a variable each; an array
parameter is written `const uint32_t* p`.",
    },
    CodeInfo {
        code: Code(40),
        title: "function without a body",
        explanation: "\
Every function is visible in the whole file, before its definition too, so prototypes are not needed. Leave it out.",
    },
    CodeInfo {
        code: Code(41),
        title: "function inside a function",
        explanation: "\
Functions stand at file level. When the source was not meant so, a `}` is missing above.",
    },
    CodeInfo {
        code: Code(42),
        title: "default argument",
        explanation: "\
Parameters of functions and templates have no default values. Pass each value at the call.",
    },
    CodeInfo {
        code: Code(43),
        title: "variable at file level",
        explanation: "\
What stands at file level is known before the launch: `const T name = value;` for what is computed from shapes and
parameters, `PTO_PARAM(type, name, default)` for what the user sets with `--set name=value`.",
    },
    CodeInfo {
        code: Code(44),
        title: "method",
        explanation: "\
Structs hold fields only, and values have no methods. Write a function that takes the value: `f(x)` instead of
`x.f()`.",
    },
    CodeInfo {
        code: Code(45),
        title: "unnamed field",
        explanation: "\
The values of a descriptor are named: `Name{ .field = value, … }`. Named and unnamed values do not mix in one list.",
    },
    CodeInfo {
        code: Code(46),
        title: "missing first value",
        explanation: "\
`const` and `auto` variables and constants need a value where they are declared.",
    },
    CodeInfo {
        code: Code(47),
        title: "structured binding",
        explanation: "\
`auto [a, b] = …` has no meaning, because no expression has several values. Declare one variable per value.",
    },
    CodeInfo {
        code: Code(48),
        title: "first value in parentheses or braces",
        explanation: "\
A variable's first value is written with `=`: `uint32_t x = 5;` instead of `uint32_t x(5);` or `uint32_t x{5};`.",
    },
    CodeInfo {
        code: Code(49),
        title: "too many `*` or `&` in a type",
        explanation: "\
A type has at most one `*` or `&`: arrays are `const uint32_t* p`, tiles by reference `VecTile<…>& t`, descriptors
`const Name& d`.",
    },
    CodeInfo {
        code: Code(50),
        title: "`else` without `if`",
        explanation: "\
The statement before this `else` is not an `if`. An `if` without braces has one statement; wrap several in `{ … }`.",
    },
    CodeInfo {
        code: Code(51),
        title: "file that includes itself",
        explanation: "\
Files that include each other in a circle have no first one. All names of a program are visible in all of its files,
whatever their order, so a file need not include what another one brings; move what both need to a third file.",
    },
    CodeInfo {
        code: Code(52),
        title: "too many files",
        explanation: "\
A program is made of at most 64 files: the one that is compiled and those that it includes. Put some of them together.",
    },
    CodeInfo {
        code: Code(53),
        title: "included file out of reach",
        explanation: "\
The source is compiled from a text alone, beside which there are no files. Compile the file itself (`wsp run FILE`,
`Program.from_file`), or use `wsp_lang::compile_with`, which is given a way to read files.",
    },
    CodeInfo {
        code: Code(54),
        title: "`#include` without an end",
        explanation: "\
A local file is included with its path between two quotation marks, on one line: `#include \"common.pto\"`. The path
starts from the folder of the file that includes it. Lines with `<…>` are ignored.",
    },
];
