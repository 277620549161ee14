//! Diagnostic codes of the lexer and parser, WSP0001-WSP0099.

use wsp_ir::diag::Code;

/// The file is longer than a source file may be.
pub(crate) const SOURCE_TOO_LARGE: Code = Code(1);
/// More errors than are shown.
pub(crate) const TOO_MANY_ERRORS: Code = Code(2);
/// A character that starts no token.
pub(crate) const STRAY_CHARACTER: Code = Code(3);
/// `/*` without `*/`.
pub(crate) const UNTERMINATED_COMMENT: Code = Code(4);
/// A string or character literal.
pub(crate) const TEXT_LITERAL: Code = Code(5);
/// A number that is not written as C writes numbers.
pub(crate) const MALFORMED_NUMBER: Code = Code(6);
/// A number that no type holds.
pub(crate) const NUMBER_OUT_OF_RANGE: Code = Code(7);
/// A `#` line other than `#include` and `#pragma`.
pub(crate) const DIRECTIVE: Code = Code(8);
/// A name with characters outside ASCII.
pub(crate) const NON_ASCII_NAME: Code = Code(9);
/// Some other token was needed.
pub(crate) const EXPECTED_TOKEN: Code = Code(10);
/// A statement does not end.
pub(crate) const EXPECTED_SEMICOLON: Code = Code(11);
/// `(`, `[` or `{` without its partner.
pub(crate) const UNCLOSED: Code = Code(12);
/// `)`, `]` or `}` without its partner.
pub(crate) const UNMATCHED_CLOSER: Code = Code(13);
/// An expression was needed.
pub(crate) const EXPECTED_EXPRESSION: Code = Code(14);
/// A name was needed.
pub(crate) const EXPECTED_NAME: Code = Code(15);
/// A type was needed.
pub(crate) const EXPECTED_TYPE: Code = Code(16);
/// Something that cannot stand at file level.
pub(crate) const EXPECTED_ITEM: Code = Code(17);
/// Statements, expressions or types nest too deeply.
pub(crate) const NESTED_TOO_DEEPLY: Code = Code(18);
/// A `PTO_` form that does not exist.
pub(crate) const UNKNOWN_FORM: Code = Code(20);
/// A `PTO_` form where it has no meaning.
pub(crate) const MISPLACED_FORM: Code = Code(21);
/// A `PTO_` form with too few arguments.
pub(crate) const MISSING_ARGUMENT: Code = Code(22);
/// A `PTO_` form with too many arguments.
pub(crate) const TOO_MANY_ARGUMENTS: Code = Code(23);
/// A policy that does not exist, or one of another statement.
pub(crate) const UNKNOWN_POLICY: Code = Code(24);
/// A count that is not an integer literal from 1 on.
pub(crate) const BAD_COUNT: Code = Code(25);
/// A form of the language's design that does not run.
pub(crate) const NOT_SUPPORTED: Code = Code(26);
/// `PTO_DYNAMIC`, `PTO_AUTO` and the like inside an expression.
pub(crate) const MISPLACED_WORD: Code = Code(27);
/// A C++ keyword that is not part of the language.
pub(crate) const FOREIGN_KEYWORD: Code = Code(30);
/// `template <typename T>`.
pub(crate) const TYPE_PARAMETER: Code = Code(31);
/// `for (auto x : xs)`.
pub(crate) const RANGE_FOR: Code = Code(32);
/// `[…](…) { … }`.
pub(crate) const LAMBDA: Code = Code(33);
/// `=` or `+=` inside an expression.
pub(crate) const ASSIGNMENT_IN_EXPRESSION: Code = Code(34);
/// `++` or `--` inside an expression.
pub(crate) const INCREMENT_IN_EXPRESSION: Code = Code(35);
/// An assignment to something that is no variable, element or field.
pub(crate) const NOT_ASSIGNABLE: Code = Code(36);
/// `a = 1, b = 2;`.
pub(crate) const COMMA_OPERATOR: Code = Code(37);
/// `->`, `&x`, `nullptr`.
pub(crate) const POINTER_OPERATOR: Code = Code(38);
/// `uint32_t a[4];` in a function or at file level.
pub(crate) const ARRAY_VARIABLE: Code = Code(39);
/// A function without a body.
pub(crate) const PROTOTYPE: Code = Code(40);
/// A function inside a function.
pub(crate) const NESTED_FUNCTION: Code = Code(41);
/// `uint32_t n = 3` in a parameter list.
pub(crate) const DEFAULT_ARGUMENT: Code = Code(42);
/// A variable at file level.
pub(crate) const FILE_VARIABLE: Code = Code(43);
/// A method, called or defined.
pub(crate) const METHOD: Code = Code(44);
/// A descriptor with unnamed values.
pub(crate) const POSITIONAL_FIELD: Code = Code(45);
/// `const` or `auto` without a value.
pub(crate) const MISSING_VALUE: Code = Code(46);
/// `auto [a, b] = …`.
pub(crate) const STRUCTURED_BINDING: Code = Code(47);
/// `T x(5);` or `T x{5};`.
pub(crate) const CONSTRUCTOR_STYLE: Code = Code(48);
/// `**`, `&&` or `*&` in a type.
pub(crate) const BAD_INDIRECTION: Code = Code(49);
/// `else` without `if`.
pub(crate) const LONE_ELSE: Code = Code(50);
/// A file that includes itself, directly or by a detour.
pub(crate) const INCLUDE_CYCLE: Code = Code(51);
/// More files than a program may have.
pub(crate) const TOO_MANY_FILES: Code = Code(52);
/// An included file where the compiler is given one text only.
pub(crate) const NO_FILES: Code = Code(53);
/// `#include "…` without its second quotation mark.
pub(crate) const MALFORMED_INCLUDE: Code = Code(54);
/// A file that programs include, and that is none itself. A code of the inputs of command line and package, which ask for it.
pub(crate) const PART_OF_PROGRAMS: Code = Code(515);
