//! Diagnostic codes of the lexer and parser, WSP0001-WSP0099.

wsp_diag::codes! {
    /// The file is longer than a source file may be.
    pub(crate) SOURCE_TOO_LARGE = 1, "source file too large",
        "\
A `.pto` file has more bytes than a source file may have (`wsp config` prints the limit). Programs are written by
hand and stay far below it: check that the path names the file you mean.";
    /// More errors than are shown.
    pub(crate) TOO_MANY_ERRORS = 2, "too many errors",
        "\
More errors were found than are printed. They are shown in source order, so repair the first ones and compile
again; later ones often follow from them.";
    /// A character that starts no token.
    pub(crate) STRAY_CHARACTER = 3, "unexpected character",
        "\
A character starts no token of the language: `@`, `$`, a typographic quote or dash, a non-breaking space, a control
character. Such characters often come with text that is copied from a document.
Delete it or type the plain ASCII character.";
    /// `/*` without `*/`.
    pub(crate) UNTERMINATED_COMMENT = 4, "comment without an end",
        "\
A `/*` has no `*/` before the end of the file. Comments do not nest: the first `*/` ends a comment.
Close the comment, or use `//`, which ends with its line.";
    /// A string or character literal.
    pub(crate) TEXT_LITERAL = 5, "string or character literal",
        "\
The language has no text values, so `\"…\"` and `'…'` have no meaning outside of `#include` lines.
Leave assertions and messages out; a fault of a run is reported with its position and values.";
    /// A number that is not written as C writes numbers.
    pub(crate) MALFORMED_NUMBER = 6, "malformed number",
        "\
A word that starts with a digit is not a number. Integers are written `42`, `42u`, `0x2A`, `0b101010` or
`1'000'000`; floats `1.0`, `1.0f` or `1.5e-3f`. A leading 0, which C reads as octal, is refused, and so is the `f` of
`1f`: write `1.0f`.";
    /// A number that no type holds.
    pub(crate) NUMBER_OUT_OF_RANGE = 7, "number out of range",
        "\
An integer literal does not fit 64 bits, or a float literal rounds to infinity or, although it is not 0, to 0.
Write `INFINITY` for infinity and `0.0` for zero.";
    /// A `#` line other than `#include` and `#pragma`.
    pub(crate) DIRECTIVE = 8, "preprocessor line",
        "\
The language has no preprocessor. Three kinds of lines begin with `#`: `#include \"file.pto\"` adds the definitions of another
file, which is looked for beside the one that includes it; `#include <…>` and `#pragma …` are passed over.
Instead of `#define N 4` write `const uint32_t N = 4;`; instead of a macro, a function; instead of `#if`, a
`PTO_PARAM` and `if`.";
    /// A name with characters outside ASCII.
    pub(crate) NON_ASCII_NAME = 9, "name outside ASCII",
        "\
Names are made of the letters `a`-`z` and `A`-`Z`, digits and `_`. Comments may hold any text.";
    /// Some other token was needed.
    pub(crate) EXPECTED_TOKEN = 10, "unexpected token",
        "\
The grammar needs something else at this place; the message says what. The place is marked behind the last thing
understood when the next thing stands on another line.";
    /// A statement does not end.
    pub(crate) EXPECTED_SEMICOLON = 11, "missing `;`",
        "\
A statement, field or constant ends with `;`. Forms such as `PTO_AXIS(…)` do not need one, calls such as
`TLOAD(…);` do. A field of a struct has no default value, which is also reported here.";
    /// `(`, `[` or `{` without its partner.
    pub(crate) UNCLOSED = 12, "unclosed delimiter",
        "\
A `(`, `[`, `{` or `<` has no partner where its list or block must end. The message also shows where it was opened;
for `{` indentation tells which of several was probably forgotten.";
    /// `)`, `]` or `}` without its partner.
    pub(crate) UNMATCHED_CLOSER = 13, "unmatched closing delimiter",
        "\
A `)`, `]` or `}` closes nothing. Delete it, or add what should open it; often a `}` further up is one too many.";
    /// An expression was needed.
    pub(crate) EXPECTED_EXPRESSION = 14, "expected an expression",
        "\
A value is needed here: a number, a name, a call, an operator with its operands. Brace lists `{a, b}` stand only as
arguments and first values.";
    /// A name was needed.
    pub(crate) EXPECTED_NAME = 15, "expected a name",
        "\
A plain name is needed here. Keywords of C++ and names of types cannot be used, nor can names with `::`.";
    /// A type was needed.
    pub(crate) EXPECTED_TYPE = 16, "expected a type",
        "\
A type is needed here: `uint32_t`, `float`, `auto`, `const uint32_t*`, a struct of the file, or a tile such as
`VecTile<float, 1, 64>`. A function starts with its result type, `void` if it has none.";
    /// Something that cannot stand at file level.
    pub(crate) EXPECTED_ITEM = 17, "not a top-level construct",
        "\
At file level stand only `PTO_` forms, structs, constants and functions. Statements stand in the body of a function,
`PTO_KERNEL_IMPL` or `PTO_DESCRIPTOR_GEN`. When it is reported after a function, a `}` above may be one too many.";
    /// Statements, expressions or types nest too deeply.
    pub(crate) NESTED_TOO_DEEPLY = 18, "nested too deeply",
        "\
Statements, or the operators and calls of one expression or type, nest deeper than the front end accepts (`wsp config` prints the
limit; parentheses may double the depth). A sum or a product may have any number of terms; each operator of another chain, such as
`a | b | …`, counts as a level. Name a part with a variable, or move it into a function.";
    /// A `PTO_` form that does not exist.
    pub(crate) UNKNOWN_FORM = 20, "unknown form",
        "\
A word stands where a `PTO_` form must stand, and no form of that place has this name. The message names the
nearest one, or all that are known there.";
    /// A `PTO_` form where it has no meaning.
    pub(crate) MISPLACED_FORM = 21, "form out of place",
        "\
A form or declaration exists but belongs elsewhere: `PTO_AXIS` inside `PTO_SPACE`, `PTO_TIER` inside `PTO_TIER_DEF`,
`PTO_ORDER` inside `PTO_SCHEDULE`, `PTO_SHAPE` and `struct` at file level, `PTO_EMIT_DESCRIPTOR` in a function.";
    /// A `PTO_` form with too few arguments.
    pub(crate) MISSING_ARGUMENT = 22, "missing argument",
        "\
A `PTO_` form has too few arguments. The help line shows how the form is written.";
    /// A `PTO_` form with too many arguments.
    pub(crate) TOO_MANY_ARGUMENTS = 23, "too many arguments",
        "\
A `PTO_` form has more arguments than it takes. The help line shows how the form is written.";
    /// A policy that does not exist, or one of another statement.
    pub(crate) UNKNOWN_POLICY = 24, "unknown policy",
        "\
The second argument of `PTO_AFFINITY` is `PTO_CORE_GROUP`, `PTO_CORE_LOCAL` or `PTO_SPREAD`; that of `PTO_ORDER` is
`PTO_SEQUENTIAL`, `PTO_SEQUENTIAL_STRICT`, `PTO_PARALLEL`, `PTO_INTERLEAVED(n)` or `PTO_BLOCKED(n)`; the third
argument of `PTO_TILE` is `PTO_PAD_LAST`.";
    /// A count that is not an integer literal from 1 on.
    pub(crate) BAD_COUNT = 25, "count is no positive literal",
        "\
The `n` of `PTO_INTERLEAVED(n)` and `PTO_BLOCKED(n)` and the depth of `PTO_PREFETCH` are integer literals from 1 on,
because a schedule is fixed when the program is compiled.";
    /// A form of the language's design that does not run.
    pub(crate) NOT_SUPPORTED = 26, "not supported yet",
        "\
The form belongs to the language's design and does not run in this version. The help line says what to write
instead: the order itself for `PTO_PROFILE_GUIDED`, routing arrays as launch arguments for `PTO_COMPUTE`.";
    /// `PTO_DYNAMIC`, `PTO_AUTO` and the like inside an expression.
    pub(crate) MISPLACED_WORD = 27, "not a value",
        "\
`PTO_DYNAMIC`, `PTO_AUTO` and `PTO_PAD_LAST` mean something as one argument of one form and cannot be computed with.
`PTO_DYNAMIC` is the end of a `PTO_AXIS` or dimension 1 of a cache's `PTO_SHAPE`; `PTO_AUTO` is the size of a
`PTO_TILE`.";
    /// A C++ keyword that is not part of the language.
    pub(crate) FOREIGN_KEYWORD = 30, "keyword that is not part of the language",
        "\
The language is a small part of C++. It has no classes, enumerations, namespaces, exceptions, `switch`, `goto`,
dynamic memory, storage classes or labels. The help line says what to write instead.";
    /// `template <typename T>`.
    pub(crate) TYPE_PARAMETER = 31, "type parameter of a template",
        "\
Template parameters are integers: `template <uint32_t N>`. Tiles take the element type of a tensor with
`PTO_DTYPE(tensor)`.";
    /// `for (auto x : xs)`.
    pub(crate) RANGE_FOR = 32, "range `for`",
        "\
There are no ranges to run over. Write `PTO_FOR_EACH(i, 0, n) { … }` or `for (uint32_t i = 0; i < n; ++i) { … }`.";
    /// `[…](…) { … }`.
    pub(crate) LAMBDA = 33, "lambda",
        "\
There are no lambdas. Write a function; every function of a file is visible everywhere in it.";
    /// `=` or `+=` inside an expression.
    pub(crate) ASSIGNMENT_IN_EXPRESSION = 34, "assignment inside an expression",
        "\
An assignment is a statement. In a condition `==` is meant most of the time; `a = b = c` is two statements.";
    /// `++` or `--` inside an expression.
    pub(crate) INCREMENT_IN_EXPRESSION = 35, "`++` or `--` inside an expression",
        "\
`++x` and `x--` are statements, or the last part of a `for`. Inside an expression write `x + 1`, and change the
variable in a statement of its own.";
    /// An assignment to something that is no variable, element or field.
    pub(crate) NOT_ASSIGNABLE = 36, "not assignable",
        "\
Only a variable can be assigned to, not a number, a call or the result of an operator.";
    /// `a = 1, b = 2;`.
    pub(crate) COMMA_OPERATOR = 37, "comma between statements",
        "\
`,` separates arguments and the names of a declaration. It does not join statements: end each with `;`.";
    /// `->`, `&x`, `nullptr`.
    pub(crate) POINTER_OPERATOR = 38, "pointer operator",
        "\
`->`, `&x` and `nullptr` have no meaning: descriptors are values (`desc.field`), arrays are passed by name, and every
array is bound at launch. `p + n` is understood in `std::max_element(p, p + n)` and `std::accumulate` only.";
    /// `uint32_t a[4];` in a function or at file level.
    pub(crate) ARRAY_VARIABLE = 39, "array variable",
        "\
Variables are scalars and tiles. For several values use a tile, a `PTO_TENSOR`, or a variable each; an array
parameter is written `const uint32_t* p`.";
    /// A function without a body.
    pub(crate) PROTOTYPE = 40, "function without a body",
        "\
Every function is visible in the whole file, before its definition too, so prototypes are not needed. Leave it out.";
    /// A function inside a function.
    pub(crate) NESTED_FUNCTION = 41, "function inside a function",
        "\
Functions stand at file level. When the source was not meant so, a `}` is missing above.";
    /// `uint32_t n = 3` in a parameter list.
    pub(crate) DEFAULT_ARGUMENT = 42, "default argument",
        "\
Parameters of functions and templates have no default values. Pass each value at the call.";
    /// A variable at file level.
    pub(crate) FILE_VARIABLE = 43, "variable at file level",
        "\
What stands at file level is known before the launch: `const T name = value;` for what is computed from shapes and
parameters, `PTO_PARAM(type, name, default)` for what the user sets with `--set name=value`.";
    /// A method, called or defined.
    pub(crate) METHOD = 44, "method",
        "\
Structs hold fields only, and values have no methods. Write a function that takes the value: `f(x)` instead of
`x.f()`.";
    /// A descriptor with unnamed values.
    pub(crate) POSITIONAL_FIELD = 45, "unnamed field",
        "\
The values of a descriptor are named: `Name{ .field = value, … }`. Named and unnamed values do not mix in one list.";
    /// `const` or `auto` without a value.
    pub(crate) MISSING_VALUE = 46, "missing first value",
        "\
`const` and `auto` variables and constants need a value where they are declared.";
    /// `auto [a, b] = …`.
    pub(crate) STRUCTURED_BINDING = 47, "structured binding",
        "\
`auto [a, b] = …` has no meaning, because no expression has several values. Declare one variable per value.";
    /// `T x(5);` or `T x{5};`.
    pub(crate) CONSTRUCTOR_STYLE = 48, "first value in parentheses or braces",
        "\
A variable's first value is written with `=`: `uint32_t x = 5;` instead of `uint32_t x(5);` or `uint32_t x{5};`.";
    /// `**`, `&&` or `*&` in a type.
    pub(crate) BAD_INDIRECTION = 49, "too many `*` or `&` in a type",
        "\
A type has at most one `*` or `&`: arrays are `const uint32_t* p`, tiles by reference `VecTile<…>& t`, descriptors
`const Name& d`.";
    /// `else` without `if`.
    pub(crate) LONE_ELSE = 50, "`else` without `if`",
        "\
The statement before this `else` is not an `if`. An `if` without braces has one statement; wrap several in `{ … }`.";
    /// A file that includes itself, directly or by a detour.
    pub(crate) INCLUDE_CYCLE = 51, "file that includes itself",
        "\
Files that include each other in a cycle have no first one. All names of a program are visible in all of its files,
whatever their order, so a file need not include what another one brings; move what both need to a third file.";
    /// More files than a program may have.
    pub(crate) TOO_MANY_FILES = 52, "too many files",
        "\
A program is made of at most 64 files: the one that is compiled and those that it includes. Put some of them together.";
    /// An included file where the compiler is given one text only.
    pub(crate) NO_FILES = 53, "included file out of reach",
        "\
The source is compiled from a text alone, beside which there are no files. Compile the file itself (`wsp run FILE`,
`Program.from_file`), or use `wsp_lang::compile_with`, which is given a way to read files.";
    /// `#include "…` without its second quotation mark.
    pub(crate) MALFORMED_INCLUDE = 54, "`#include` without an end",
        "\
A local file is included with its path between two quotation marks, on one line: `#include \"common.pto\"`. The path
starts from the folder of the file that includes it. Lines with `<…>` are ignored.";
    /// A file that programs include, and that is none itself. A code of the inputs of command line and package, which ask for it.
    pub(crate) PART_OF_PROGRAMS = 515, "a file is part of programs, and none itself",
        "The file has no host entry and does not compile by itself: it uses what the programs that include it with \
            `#include` define. The message names those of its folder; run one of them.";
}
